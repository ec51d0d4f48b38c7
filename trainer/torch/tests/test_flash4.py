"""Tests when FlashAttention 4 is used. The tests need no GPU."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Iterator

import pytest
import torch

from ajet_torch import flash4
from ajet_torch.attention import check_attention
from ajet_torch.errors import WorkerError


@pytest.fixture
def hopper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Returns a folder on the import path. The machine claims to have a Hopper GPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in list(sys.modules):
        if name.split(".")[0] in ("flash_attn", "cutlass"):
            monkeypatch.delitem(sys.modules, name)
    flash4.is_available.cache_clear()
    yield tmp_path
    flash4.is_available.cache_clear()
    for name in list(sys.modules):
        if name.split(".")[0] in ("flash_attn", "cutlass"):
            del sys.modules[name]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


PACKAGE = {"flash_attn/__init__.py": "", "flash_attn/cute/__init__.py": "", "flash_attn/cute/interface.py": "import cutlass", "flash_attn/cute/block_sparsity.py": ""}


def test_without_cutlass_other_kernels_are_used_and_the_log_says_so(hopper: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(hopper, PACKAGE | {"cutlass/__init__.py": "raise ImportError('no libcuda_dialect')"})
    with caplog.at_level(logging.WARNING, logger="ajet_torch"):
        assert not flash4.is_available()
    assert "no libcuda_dialect" in caplog.text


def test_whole_packages_are_used(hopper: Path) -> None:
    write(hopper, PACKAGE | {"cutlass/__init__.py": "", "cutlass/cute/__init__.py": ""})
    assert flash4.is_available()


def test_an_older_flash_attn_is_not_taken_for_it(hopper: Path) -> None:
    write(hopper, {"flash_attn/__init__.py": ""})
    assert not flash4.is_available()


@pytest.mark.parametrize(("kind", "reason"), [("flex", "'flex' needs a GPU, and this run computes on the CPU"), ("flash4", "'flash4' needs a GPU of compute capability 9 or 10")])
def test_kernels_that_the_device_does_not_have_are_refused_by_name(kind: str, reason: str) -> None:
    with pytest.raises(WorkerError, match=reason):
        check_attention(kind, torch.device("cpu"))


@pytest.mark.parametrize("kind", ["auto", "dense", "rows"])
def test_other_kernels_are_accepted_on_a_cpu(kind: str) -> None:
    check_attention(kind, torch.device("cpu"))

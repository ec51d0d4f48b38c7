"""Tests that nodes which see other storage are named before anything is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from ajet_torch.config import WorkerConfig
from ajet_torch.errors import WorkerError
from ajet_torch.ranks import Ranks
from ajet_torch.shared_storage import check_shared


def config(tmp_path: Path, text: str = "abc") -> WorkerConfig:
    (tmp_path / "model").mkdir()
    (tmp_path / "model/config.json").write_text("{}")
    (tmp_path / "probe").write_text("abc")
    return WorkerConfig(model_dir=str(tmp_path / "model"), shared_file=str(tmp_path / "probe"), shared_text=text)


def test_a_node_that_sees_all_passes(tmp_path: Path) -> None:
    check_shared(config(tmp_path), Ranks(0, 1, 0))


@pytest.mark.parametrize(("missing", "words"), [("model/config.json", "no config.json in .*model"), ("probe", "probe, which the control plane has just written, cannot be read")])
def test_what_a_node_does_not_see_is_named(tmp_path: Path, missing: str, words: str) -> None:
    wanted = config(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(WorkerError, match=f"storage that every node .*{words}"):
        check_shared(wanted, Ranks(0, 1, 0))


def test_a_file_of_another_storage_is_not_taken_for_the_right_one(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="does not have the content"):
        check_shared(config(tmp_path, "xyz"), Ranks(0, 1, 0))

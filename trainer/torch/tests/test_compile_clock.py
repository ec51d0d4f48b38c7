"""Tests that the seconds of the compiler are counted once each."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
import torch

from ajet_torch.compile_clock import CompileClock


def compiled():
    """Compiles without a C++ compiler, so the test takes no time."""
    return torch.compile(lambda x: (x * 2).sin(), backend="aot_eager", dynamic=True)


def test_the_clock_counts_a_compilation_and_not_the_calls_after_it() -> None:
    clock, function, begin = CompileClock(), compiled(), time.perf_counter()
    function(torch.ones(4))
    passed, first = time.perf_counter() - begin, clock.take()
    assert 0 < first <= passed
    assert clock.times == 1
    function(torch.ones(4))
    assert clock.take() == 0
    assert clock.seconds == first


def test_the_clock_counts_kernels_that_triton_compiles_outside_of_torch_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    compilation = pytest.importorskip("triton").knobs.compilation
    heard: list[float] = []
    monkeypatch.setattr(compilation, "listener", lambda times, **_: heard.append(times.total))
    clock = CompileClock()
    compilation.listener(times=SimpleNamespace(total=2_000_000), cache_hit=False)
    assert clock.take() == 2 and heard == [2_000_000]
    clock.is_compiling = True
    compilation.listener(times=SimpleNamespace(total=1_000_000), cache_hit=False)
    assert clock.take() == 0

"""Tests the parts of the driver that need no running Ray."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ajet_verl import cluster

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


def test_a_ray_that_did_not_come_up_leaves_no_process_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def init(*_args: object, **_kwargs: object) -> None:
        if started:
            assert started[0].poll() is not None
            return
        started.append(subprocess.Popen(SLEEPER))
        raise RuntimeError("The current node timed out during startup.")

    monkeypatch.setattr(cluster.ray, "init", init)
    cluster.start_ray(1)
    assert len(started) == 1


def test_a_ray_that_fails_otherwise_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def init(*_args: object, **_kwargs: object) -> None:
        nonlocal calls
        calls += 1
        raise ValueError("no room on the disk")

    monkeypatch.setattr(cluster.ray, "init", init)
    with pytest.raises(ValueError, match="no room"):
        cluster.start_ray(1)
    assert calls == 1

"""Tests a worker whose sampler has separate GPUs: answers continue during a step, and each comes from one version of
the weights."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))

from control_plane import ControlPlane, answer  # noqa: E402
from run_rank import make_packs  # noqa: E402
from tiny import tiny_folder  # noqa: E402

FAKE = str(Path(__file__).parent / "fake_vllm")
PROMPT = np.asarray([3, 1, 4], np.int32)


def logprobs(plane: ControlPlane, ids: np.ndarray) -> np.ndarray:
    row = np.concatenate([PROMPT, ids]).astype(np.int32)
    return np.frombuffer(plane.result(plane.ask({"kind": "logprobs", "rows": [row.tobytes()]}))[0], np.float32)[len(PROMPT) :]


def test_each_answer_says_which_weights_it_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VLLM_VERSION", "0.33.0")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([FAKE, str(Path(__file__).parent)]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    folder, kept = tiny_folder(tmp_path / "model"), str(tmp_path / "kept")
    inference = {"server": "vllm", "colocated": False, "kv_tokens": 64}
    plane = ControlPlane({"model_dir": str(folder), "device": "cpu", "dtype": "float32", "inference": inference, "optimizer": {"learning_rate": 0.05}}, 2)
    try:
        plane.result(plane.ask({"kind": "save", "dir": kept}))
        before = [plane.generate(PROMPT, 40, seed) for seed in range(3)]
        step = plane.train_step(make_packs(6), {"kind": "sft"})
        meanwhile = [plane.generate(PROMPT, 40, 10 + seed) for seed in range(3)]
        assert plane.result(step)["policy_version"] == 1
        after = [plane.generate(PROMPT, 8, 20)]
        found = [answer(plane.result(number)) for number in before + meanwhile + after]
        assert [version for _, _, version in found[:3]] == [0, 0, 0] and found[-1][2] == 1
        for version in (1, 0):
            if version == 0:
                plane.result(plane.ask({"kind": "load", "dir": kept}))
            for ids, heard, _ in [one for one in found if one[2] == version]:
                assert logprobs(plane, ids) == pytest.approx(heard, abs=1e-4)
    finally:
        plane.close()

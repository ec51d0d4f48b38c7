"""Tests weights without float32 masters. Rounding must be unbiased, and a model must learn as with masters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ajet_torch.checkpoint import load_checkpoint, save_checkpoint
from ajet_torch.config import OptimizerConfig, WorkerConfig
from ajet_torch.errors import WorkerError
from ajet_torch.losses import LossConfig
from ajet_torch.optimizer import RoundedAdamW, SplitAdamW, round_at_random
from ajet_torch.training import Trainer, rows_pack
from tiny import cpu_placement, random_rows, supervise, tiny_lm, tiny_trainer, tree_pack


def test_the_mean_of_rounded_values_is_the_value() -> None:
    for value in (1.0 + 3 / 1024, -0.337, 5e-9):
        near = round_at_random(torch.full((200_000,), value), torch.tensor(12345)).double()
        assert len(near.unique()) == 2
        step = float(near.max() - near.min())
        assert abs(float(near.mean()) - value) < 4 * step / 2 / 200_000**0.5
        assert abs(near - value).max() <= step
    exact = torch.tensor([1.5, -2.0, 0.0, float("inf")])
    assert round_at_random(exact, torch.tensor(7)).float().tolist() == exact.tolist()


def test_updates_too_small_for_bfloat16_are_not_lost() -> None:
    config = OptimizerConfig(learning_rate=1e-4, weight_decay=0.0, max_grad_norm=0.0)
    start = torch.full((4096,), 1.0, dtype=torch.bfloat16)
    rounded, split = (kind({"w": torch.nn.Parameter(start.clone())}, config, *rest) for kind, rest in ((RoundedAdamW, (3,)), (SplitAdamW, ())))
    for optimizer in (rounded, split):
        for _ in range(20):
            optimizer.parameters["w"].grad = torch.ones_like(start)
            optimizer.update(1e-4)
            optimizer.num_steps += 1
    moved = [1.0 - float(optimizer.state("w")["master"].mean()) for optimizer in (rounded, split)]
    assert moved[1] == pytest.approx(20e-4, rel=1e-3)
    assert moved[0] == pytest.approx(moved[1], rel=0.1)


def test_a_norm_that_is_not_finite_changes_nothing() -> None:
    weight = torch.nn.Parameter(torch.randn(64).bfloat16())
    before = weight.detach().clone()
    optimizer = RoundedAdamW({"w": weight}, OptimizerConfig(), 0)
    weight.grad = torch.full_like(weight, torch.inf)
    assert not torch.isfinite(optimizer.update(1e-2))
    assert torch.equal(weight, before) and not optimizer.mean["w"].any()


def losses(kind: str, steps: int = 60) -> list[float]:
    """Trains by SFT on sentences that follow a rule, with new batches each step, and returns the losses."""
    config = WorkerConfig(master_weights=kind, optimizer=OptimizerConfig(learning_rate=3e-3, weight_decay=0.0), seed=5)
    trainer = Trainer(config, cpu_placement(torch.bfloat16), tiny_lm("qwen2", torch.bfloat16))
    rng = np.random.default_rng(0)
    found = []
    for _ in range(steps):
        starts, strides = rng.integers(0, 61, 16), rng.integers(1, 4, 16)
        pack = rows_pack([((start + stride * np.arange(12)) % 61).astype(np.int32) for start, stride in zip(starts, strides)])
        pack.terms.weights[:] = 1 / len(pack.terms.weights)
        found.append(trainer.step([pack], LossConfig(kind="sft"))["loss"])
    return found


def test_a_model_learns_as_with_float32_masters() -> None:
    rounded, split = losses("bfloat16"), losses("float32")
    assert np.mean(split[-10:]) < 0.7 * np.mean(split[:3])
    assert np.mean(rounded[-10:]) == pytest.approx(np.mean(split[-10:]), rel=0.05)


def test_a_loaded_run_rounds_as_the_one_that_went_on(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = random_rows(rng)
    pack = tree_pack(rows, supervise(rng, rows))
    options = {"master_weights": "bfloat16", "optimizer": OptimizerConfig(learning_rate=1e-2)}
    first = tiny_trainer(dtype=torch.bfloat16, **options)
    first.step([pack], LossConfig(kind="sft"))
    save_checkpoint(first, str(tmp_path / "kept"))
    second = tiny_trainer(dtype=torch.bfloat16, lm=tiny_lm("qwen2", torch.bfloat16, seed=4), **options)
    load_checkpoint(second, str(tmp_path / "kept"))
    for trainer in (first, second):
        trainer.step([pack], LossConfig(kind="sft"))
    for one, other in zip(first.policy.lm.parameters(), second.policy.lm.parameters()):
        assert torch.equal(one, other)


def test_without_bfloat16_compute_it_is_refused() -> None:
    with pytest.raises(WorkerError, match="master_weights is .bfloat16., which needs dtype bfloat16"):
        tiny_trainer(dtype=torch.float32, master_weights="bfloat16")

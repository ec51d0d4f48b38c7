"""Tests masters that begin off the bfloat16 grid, from a file or drawn. The bfloat16 weights do not change."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from ajet_torch.checkpoint import load_checkpoint, save_checkpoint
from ajet_torch.config import LoraConfig, OptimizerConfig, WorkerConfig
from ajet_torch.errors import WorkerError
from ajet_torch.losses import LossConfig
from ajet_torch.master_start import CELL, draw_low, low_of
from ajet_torch.optimizer import join_halves
from ajet_torch.training import Trainer
from tiny import cpu_placement, random_rows, rows_packs, supervise, tiny_folder, tiny_lm


def open_with(folder: Path, start: str, **options: object) -> Trainer:
    config = WorkerConfig(model_dir=str(folder), device="cpu", dtype="bfloat16", master_start=start, optimizer=OptimizerConfig(learning_rate=1e-5), **options)
    return Trainer(config, cpu_placement(torch.bfloat16))


def bfloat16_folder(path: Path) -> Path:
    tiny_lm("llama", torch.float32, attention="eager").to(torch.bfloat16).save_pretrained(path)
    return path


def masters(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {name: trainer.optimizer.state(name)["master"].clone() for name in trainer.optimizer.parameters}


def test_every_drawn_master_rounds_to_the_weight_that_it_was_drawn_for() -> None:
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)
    for salt in range(5):
        low = draw_low(every, salt, 0)
        master = join_halves(every, low)
        finite = torch.isfinite(every)
        assert torch.equal(master[finite].bfloat16().view(torch.int16), every[finite].view(torch.int16))
        assert torch.equal(low[every == 0], torch.zeros(2, dtype=torch.int16)) and (low[~finite] == 0).all()
        chosen = low[finite & (every != 0)].float()
        assert chosen.abs().max() <= CELL and chosen.mean().abs() < 600 and abs(float(chosen.std()) / (2 * CELL / 12**0.5) - 1) < 0.02


def test_a_draw_depends_on_the_seed_and_the_place_alone() -> None:
    weights = torch.randn(64, 8).bfloat16()
    whole = draw_low(weights, 7, 0)
    parts = torch.cat([draw_low(weights[:24], 7, 0), draw_low(weights[24:40], 7, 24 * 8), draw_low(weights[40:], 7, 40 * 8)])
    assert torch.equal(whole, parts) and not torch.equal(whole, draw_low(weights, 8, 0))


def test_what_a_float32_file_holds_is_what_the_masters_hold(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path, "llama")
    stored = load_file(folder / "model.safetensors")
    plain = open_with(folder, "zero")
    for start in ("auto", "file", "dithered"):
        trainer = open_with(folder, start)
        found = masters(trainer)
        # A value halfway between two bfloat16 numbers may move by one bit.
        apart = [(found[name].view(torch.int32) - stored[name].view(torch.int32)).abs() for name in found]
        assert max(int(each.max()) for each in apart) <= 1 and sum(int(each.sum()) for each in apart) < 10
        assert all(torch.equal(a, b) for a, b in zip(trainer.policy.lm.parameters(), plain.policy.lm.parameters()))


def test_a_tie_keeps_the_weight_that_was_rounded_to_even() -> None:
    master = torch.tensor([0x3F808000, 0x3F818000, 0x3F807FFF], dtype=torch.int32).view(torch.float32)
    high = master.bfloat16()
    again = join_halves(high, low_of(high, master))
    assert torch.equal(again.bfloat16(), high) and (again - master).abs().max() <= 2.0**-22


def test_drawn_masters_leave_the_weights_as_they_are_and_move_more_of_them(tmp_path: Path) -> None:
    folder = bfloat16_folder(tmp_path)
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    packs = rows_packs(rows, supervise(rng, rows))
    moved = {}
    for start in ("zero", "file", "dithered"):
        trainer = open_with(folder, start)
        before = [p.detach().clone() for p in trainer.policy.lm.parameters()]
        if start == "zero":
            plain, held = before, masters(trainer)
        assert all(torch.equal(a, b) for a, b in zip(before, plain))
        same = all(torch.equal(value, held[name]) for name, value in masters(trainer).items())
        assert same is (start != "dithered")
        trainer.step(packs, LossConfig(kind="sft"))
        moved[start] = sum(int((a != b).sum()) for a, b in zip(before, trainer.policy.lm.parameters()))
    assert moved["zero"] == moved["file"] and moved["dithered"] > 1.5 * moved["zero"]
    again, other = open_with(folder, "dithered"), open_with(folder, "dithered", seed=1)
    assert all(torch.equal(a, b) for a, b in zip(masters(again).values(), masters(open_with(folder, "dithered")).values()))
    assert not all(torch.equal(a, b) for a, b in zip(masters(again).values(), masters(other).values()))


def test_a_resumed_run_has_the_masters_of_the_run_that_it_resumes(tmp_path: Path) -> None:
    folder = bfloat16_folder(tmp_path / "model")
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    packs = rows_packs(rows, supervise(rng, rows))
    trainer = open_with(folder, "dithered")
    trainer.step(packs, LossConfig(kind="sft"))
    save_checkpoint(trainer, str(tmp_path / "saved"))
    again = open_with(folder, "dithered")
    load_checkpoint(again, str(tmp_path / "saved"))
    assert all(torch.equal(a, b) for a, b in zip(masters(trainer).values(), masters(again).values()))
    assert trainer.step(packs, LossConfig(kind="sft")) == again.step(packs, LossConfig(kind="sft"))


def test_a_folder_saved_in_float32_has_the_masters(tmp_path: Path) -> None:
    folder = tiny_folder(tmp_path / "model")
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    trainer = open_with(folder, "file")
    trainer.step(rows_packs(rows, supervise(rng, rows)), LossConfig(kind="sft"))
    save_checkpoint(trainer, str(tmp_path / "saved"))
    stored, again = load_file(tmp_path / "saved" / "model.safetensors"), open_with(tmp_path / "saved", "file")
    assert all(torch.equal(stored[name], master) for name, master in masters(trainer).items())
    assert all(torch.equal(a, b) for a, b in zip(again.policy.lm.parameters(), trainer.policy.lm.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(masters(again).values(), masters(trainer).values()))


def test_a_saved_master_never_rounds_to_another_weight(tmp_path: Path) -> None:
    trainer = open_with(tiny_folder(tmp_path / "model"), "zero")
    for low in trainer.optimizer.low.values():
        low.fill_(-CELL - 1)  # ties, which an update rounds away from zero and a file to even
    save_checkpoint(trainer, str(tmp_path / "saved"))
    again = open_with(tmp_path / "saved", "file")
    assert all(torch.equal(a, b) for a, b in zip(again.policy.lm.parameters(), trainer.policy.lm.parameters()))


def test_adapters_start_as_before_and_a_run_without_masters_refuses(tmp_path: Path) -> None:
    folder = bfloat16_folder(tmp_path)
    adapted = open_with(folder, "dithered", lora=LoraConfig(rank=2))
    assert all((low == 0).all() for low in adapted.optimizer.low.values())
    with pytest.raises(WorkerError, match="keeps no masters"):
        open_with(folder, "dithered", master_weights="bfloat16")
    open_with(tiny_folder(tmp_path / "float32", "llama"), "auto", master_weights="bfloat16")  # begins like any run


@pytest.mark.parametrize(
    ("start", "dtype", "options", "reason"),
    [
        ("dithered", torch.float32, {}, "the weights are in float32"),
        ("file", torch.bfloat16, {}, "the model has no weights in float32"),
        ("dithered", torch.bfloat16, {"lora": LoraConfig(rank=2)}, "an adapter begins with new weights"),
    ],
)
def test_a_start_without_effect_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture, start: str, dtype: torch.dtype, options: dict[str, Any], reason: str) -> None:
    folder = bfloat16_folder(tmp_path / "model")
    with caplog.at_level(logging.INFO, logger="ajet_torch"):
        for chosen in ("auto", start):
            Trainer(WorkerConfig(model_dir=str(folder), device="cpu", master_start=chosen, **options), cpu_placement(dtype))
    told = [record.getMessage() for record in caplog.records if "has no effect" in record.getMessage()]
    assert told == [f"torch.master_start {start!r} has no effect, because {reason}."]

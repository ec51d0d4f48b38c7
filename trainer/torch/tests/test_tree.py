"""Tests that a tree has the gradient of its rows, for every family and every loss."""

import numpy as np
import pytest
import torch

from ajet_torch.losses import LossConfig
from ajet_torch.training import Trainer
from tiny import FAMILIES, gradients, random_rows, rows_packs, supervise, tiny_trainer, tree_pack

LOSSES = {
    "sft": LossConfig(kind="sft"),
    "ppo": LossConfig(),
    "ppo-kl-entropy": LossConfig(entropy_coef=0.1, temperature=0.7),
    "gspo": LossConfig(objective="gspo", clip_low=0.5, clip_high=0.9),
    "cispo": LossConfig(objective="cispo"),
    "reinforce": LossConfig(objective="reinforce"),
    "tis": LossConfig(tis_cap=2.0),
}


def step_gradients(trainer: Trainer, packs, loss: LossConfig) -> tuple[float, torch.Tensor]:
    trainer.optimizer.clear()
    total = sum(float(trainer.backward(trainer.place(pack), loss).loss.detach()) for pack in packs)
    return total, gradients(trainer).clone()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("loss", LOSSES)
def test_tree_equals_rows(family: str, loss: str) -> None:
    trainer = tiny_trainer(family)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = random_rows(rng)
        labels = supervise(rng, rows)
        tree_loss, tree = step_gradients(trainer, [tree_pack(rows, labels)], LOSSES[loss])
        rows_loss, separate = step_gradients(trainer, rows_packs(rows, labels), LOSSES[loss])
        assert separate.norm() > 1e-3
        assert abs(tree_loss - rows_loss) < 1e-9 * max(1, abs(rows_loss))
        assert (tree - separate).norm() / separate.norm() < 1e-9

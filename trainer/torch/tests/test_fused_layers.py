"""Compares layers that are computed without a compiler with those of transformers."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM

from ajet_torch import attention
from ajet_torch.attention import PlanOptions, build_dense_plan, build_plan
from ajet_torch.bins import BinsPlan, build_bins_plan, cut_bins
from ajet_torch.config import LoraConfig, OptimizerConfig, WorkerConfig
from ajet_torch.fused_layers import fits, fused_layer
from ajet_torch.losses import LossConfig
from ajet_torch.model import fuses, smallest_window
from ajet_torch.pack import TreePack, pad_pack
from ajet_torch.training import PlacedPack, Trainer
from tiny import cpu_placement, gradients, random_rows, rows_packs, supervise, tiny_folder, tiny_lm, tiny_trainer, tree_pack

CPU = torch.device("cpu")


def fused_trainer(family: str, dtype: torch.dtype = torch.float64, **options: object) -> Trainer:
    """Returns a trainer as on a GPU."""
    trainer = tiny_trainer(family, dtype, **options)
    trainer.policy.is_fused = True
    trainer.plan_options = replace(trainer.plan_options, fused=dtype)
    return trainer


def random_pack(seed: int) -> TreePack:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, num=9)
    return tree_pack(rows, supervise(rng, rows))


@pytest.mark.parametrize("family", ["llama", "qwen2"])
@pytest.mark.parametrize("is_padded", [False, True])
def test_gradients_are_those_of_the_model_s_own_layers(family: str, is_padded: bool) -> None:
    own, fused = tiny_trainer(family), fused_trainer(family)
    pack = random_pack(0)
    found = []
    for trainer in (own, fused):
        placed = trainer.place(pad_pack(pack, pack.num_tokens + 7) if is_padded else pack)
        assert isinstance(placed.plan, BinsPlan) == (trainer is fused)
        trainer.backward(placed, LossConfig())
        found.append((gradients(trainer).clone(), trainer.forward(placed, 1.0).logprob_M.detach()))
    assert float(found[0][0].abs().max()) > 1e-3
    for expected, actual in zip(*found):
        assert torch.allclose(expected, actual, rtol=1e-9, atol=1e-11)


def test_steps_of_several_packs_train_alike() -> None:
    rng = np.random.default_rng(1)
    rows = random_rows(rng)
    packs = rows_packs(rows, supervise(rng, rows))
    options = {"optimizer": OptimizerConfig(learning_rate=0.01)}
    metrics = [[trainer.step(packs, LossConfig())["loss"] for _ in range(4)] for trainer in (tiny_trainer("llama", torch.float32, **options), fused_trainer("llama", torch.float32, **options))]
    assert metrics[0] == pytest.approx(metrics[1], rel=1e-4, abs=1e-6)
    assert metrics[0][0] != pytest.approx(metrics[0][3], rel=1e-2)


def test_bfloat16_is_rounded_about_as_coarsely_as_by_the_model_s_own_layers() -> None:
    pack = random_pack(2)
    lm = tiny_lm("llama", torch.bfloat16)
    exact = tiny_trainer(lm=copy.deepcopy(lm).double()).term_logprobs([pack], 1.0)[0]
    trainers = [make("llama", torch.bfloat16, lm=lm) for make in (tiny_trainer, fused_trainer)]
    gaps = [float(np.abs(trainer.term_logprobs([pack], 1.0)[0] - exact).mean()) for trainer in trainers]
    assert 0 < gaps[1] < 1.5 * gaps[0]


def test_the_reference_is_computed_in_the_same_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ajet_torch.training.fuses", lambda *_: True)
    trainer = Trainer(WorkerConfig(model_dir=str(tiny_folder(tmp_path, "llama"))), cpu_placement(torch.float32))
    assert trainer.step([random_pack(3)], LossConfig(kl_coef=0.1))["kl"] == pytest.approx(0, abs=1e-7)
    assert trainer.reference is not None and trainer.reference.is_fused and not trainer.policy.is_prepared


def test_layers_are_prepared_for_the_compiler_when_the_first_long_tree_comes() -> None:
    class OtherPlan:
        def __init__(self, plan: attention.DensePlan) -> None:
            self.attend = plan.attend

    trainer = fused_trainer("llama")
    trainer.policy.is_prepared = False
    pack = random_pack(4)
    placed = trainer.place(pack)
    short = trainer.forward(placed, 1.0).logprob_M
    assert not trainer.policy.is_prepared
    long = trainer.forward(PlacedPack(placed.data, OtherPlan(build_dense_plan(pack.ends, pack.positions, CPU, None))), 1.0).logprob_M
    assert trainer.policy.is_prepared
    assert torch.allclose(short, long, atol=1e-12)


def test_long_trees_are_not_put_into_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    pack = random_pack(5)
    options = PlanOptions(CPU, "auto", None, torch.float32)
    longest = cut_bins(pack.ends, pack.num_tokens).longest
    for limit, is_binned in ((longest, True), (longest - 1, False)):
        monkeypatch.setattr(attention, "LONGEST_TREE", limit)
        assert isinstance(build_plan(pack.ends, pack.positions, pack.num_tokens, options), BinsPlan) == is_binned
    assert not isinstance(build_plan(pack.ends, pack.positions, pack.num_tokens, replace(options, fused=None)), BinsPlan)


def test_consecutive_trees_share_bins_of_the_length_of_the_longest() -> None:
    ends = np.repeat([3, 5, 6, 10, 11, 12], [3, 2, 1, 4, 1, 1])  # the last two tokens are padding
    bins = cut_bins(ends, 10)
    assert bins.starts.tolist() == [0, 3, 6, 10] and bins.longest == 4


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bins_compute_the_attention_of_the_whole_mask(seed: int) -> None:
    pack = random_pack(seed)
    padded = pad_pack(pack, pack.num_tokens + 5)
    torch.manual_seed(seed)
    q, k, v = (torch.randn(1, heads, padded.num_tokens, 8, dtype=torch.float64) for heads in (4, 2, 2))
    bins = cut_bins(padded.ends, pack.num_tokens)
    assert len(bins.starts) > 2
    plans = (build_dense_plan(padded.ends, padded.positions, CPU, None), build_bins_plan(padded.ends, bins, CPU, torch.float64))
    dense, binned = (plan.attend(nn.Module(), q, k, v, 0.3, None)[:, :, : pack.num_tokens] for plan in plans)
    assert torch.allclose(dense, binned, atol=1e-12)


def test_a_layer_keeps_what_the_forecast_counts() -> None:
    """estimate-need.ts counts three hidden states, queries included, two inner states, and keys and values."""
    lm = tiny_lm("llama", torch.float32)
    layer, config, tokens = lm.base_model.layers[0], lm.config, 24
    x = torch.randn(tokens, config.hidden_size, requires_grad=True)
    angles = tuple(torch.randn(tokens, config.head_dim) for _ in range(2))
    kept: dict[int, int] = {}
    weights = {parameter.data_ptr() for parameter in lm.parameters()}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.data_ptr() not in weights:
            kept[tensor.data_ptr()] = tensor.numel()
        return tensor

    plan = build_dense_plan(np.full(tokens, tokens), np.arange(tokens), CPU, None)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        fused_layer(layer, x, angles, plan)
    assert sum(kept.values()) == tokens * (3 * config.hidden_size + 2 * config.intermediate_size + 2 * config.num_key_value_heads * config.head_dim)


CASES = json.loads((Path(__file__).parent / "fused_cases.json").read_text())
SIZES = {"vocab_size": 61, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_only_small_models_of_known_families_that_are_trained_in_the_usual_way_are_fused(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The forecast of memory, `is-fused.ts`, is tested with the same cases."""
    monkeypatch.setattr("ajet_torch.model.has_triton", lambda: True)
    lm = AutoModelForCausalLM.from_config(AutoConfig.for_model(**(SIZES | case["config"])))
    if case.get("is_large"):
        monkeypatch.setattr("ajet_torch.model.MOST_PARAMETERS_FOR_ALL_SIZES", 1000)
    config = WorkerConfig(lora=LoraConfig(rank=case.get("lora_rank", 0)), **case.get("settings", {}))
    is_sharded = case.get("gpus", 1) > 1 or config.cpu_offload
    assert fuses(lm, config, torch.device("cuda"), is_sharded) == case["fused"]
    assert not fuses(lm, config, CPU, is_sharded)


def test_precisions_without_kernels_are_not_fused() -> None:
    llama = tiny_lm("llama", torch.float64)
    assert smallest_window(llama.config) is None and not fits(llama, None)

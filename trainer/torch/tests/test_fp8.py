"""Compares fp8 products with exact ones, and tests which graphs contain them and which settings are refused. On a CPU
the products are emulated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ajet_torch import fp8
from ajet_torch.config import LoraConfig, OptimizerConfig, WorkerConfig
from ajet_torch.errors import WorkerError
from ajet_torch.fp8 import E4M3, Fp8Product, check_fp8, fp8_peak, fp8_side_by_side, fp8_under_each_other, power_below, scale_of, to_rows, transposed, use_fp8
from ajet_torch.losses import LossConfig
from ajet_torch.model import decoder_layers
from ajet_torch.training import rows_pack
from tiny import tiny_lm, tiny_trainer

HALF_STEP = 2.0**-4
"""The relative error of a value with three bits of mantissa."""


def uneven(*shape: int, seed: int = 0) -> torch.Tensor:
    """Returns rows of very different sizes, as gradients of tokens have."""
    torch.manual_seed(seed)
    return torch.randn(shape) * 10.0 ** torch.linspace(-12, 4, shape[0])[:, None]


def distance(found: torch.Tensor, exact: torch.Tensor) -> float:
    return float((found.double() - exact.double()).detach().norm() / exact.detach().double().norm())


def test_scales_are_the_largest_powers_of_two_below() -> None:
    assert power_below(torch.tensor([1.0, 1.99, 2.0, 448.0, 3e-30])).tolist() == [1.0, 1.0, 2.0, 256.0, 2.0**-99]
    assert float(power_below(torch.tensor([float("nan")]))) == float("inf")


def test_every_row_keeps_three_bits_whatever_its_size() -> None:
    x = uneven(64, 96).bfloat16()
    rows, scale = to_rows(x)
    assert rows.dtype == E4M3 and scale.shape == (64, 1)
    back = rows.float() * scale
    apart = (back - x.float()).abs()
    assert float((apart / x.float().abs().clamp(min=float(x[0].abs().max()) * 1e-9))[x.abs() > x.abs().amax(-1, keepdim=True) / 2**14].max()) <= HALF_STEP
    assert float((rows.float().abs().amax(-1) > 200).float().mean()) == 1.0


def test_zeros_stay_zeros_and_what_is_not_finite_is_not_hidden() -> None:
    rows, scale = to_rows(torch.zeros(2, 16, dtype=torch.bfloat16))
    assert not rows.float().any() and torch.isfinite(scale).all()
    for bad in (float("nan"), float("inf")):
        x = torch.ones(2, 16)
        x[1, 3] = bad
        rows, scale = to_rows(x)
        assert torch.isfinite(rows[0].float() * scale[0]).all() and not torch.isfinite(rows[1].float() * scale[1]).all()


def test_a_transposed_factor_has_the_same_values() -> None:
    rows, scale = to_rows((torch.randn(48, 32) * torch.linspace(0.05, 1, 48)[:, None]).bfloat16())
    turned, one = transposed(rows, scale)
    assert turned.shape == (32, 48) and one.shape == (1,)
    apart = turned.float() * one - (rows.float() * scale).t()
    assert not apart[(rows.float() * scale).t().abs() > one * 2**-6].any()
    assert float(apart.abs().max()) <= float(one) * 2**-10


def test_weights_under_each_other_share_a_scale() -> None:
    weights = [torch.randn(n, 32).bfloat16() for n in (48, 16)]
    scale = scale_of(fp8_peak(weights))
    together = fp8_under_each_other(weights, scale)
    assert together.shape == (64, 32) and 224 < float(together.float().abs().max()) <= 448
    assert distance(together.float() / scale, torch.cat(weights)) < 0.03
    assert torch.equal(fp8_side_by_side(weights, scale).float(), together.float().t())


def test_a_product_and_its_gradients_are_near_the_exact_ones() -> None:
    """Compares with a tolerance for rounding. Rounding to three bits moves each factor by about 2.6%, and therefore a
    sum of products by 3.7%."""
    torch.manual_seed(0)
    x = torch.randn(256, 64).bfloat16().requires_grad_()
    weights = [torch.randn(n, 64).bfloat16().requires_grad_() for n in (96, 32)]
    grad = uneven(256, 128).bfloat16()
    exact = x @ torch.cat(weights).t()
    expected = torch.autograd.grad(exact, [x, *weights], grad)
    found = Fp8Product.apply(x, *weights)
    assert 0.02 < distance(found, exact) < 0.05
    for one, other in zip(torch.autograd.grad(found, [x, *weights], grad), expected):
        assert one.dtype == torch.bfloat16 and distance(one, other) < 0.05


def test_only_wide_layers_are_taken_and_siblings_are_one_product(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = tiny_lm("qwen2", torch.bfloat16)
    with pytest.raises(WorkerError, match="linear layers of at least 512 features"):
        use_fp8(decoder_layers(lm))
    monkeypatch.setattr(fp8, "LEAST_WIDTH", 32)
    use_fp8(decoder_layers(lm))
    layer = decoder_layers(lm)[0]
    assert [len(part.joint.parts) for part in (layer.self_attn.q_proj, layer.self_attn.o_proj, layer.mlp.gate_proj, layer.mlp.down_proj)] == [3, 1, 2, 1]
    assert all(type(module) is not nn.Linear for module in layer.modules())
    assert type(lm.lm_head) is nn.Linear


def losses(matmul: str, monkeypatch: pytest.MonkeyPatch, steps: int = 40) -> list[float]:
    """Trains by SFT on sentences that follow a rule, and returns the losses."""
    monkeypatch.setattr(fp8, "LEAST_WIDTH", 32)
    trainer = tiny_trainer(dtype=torch.bfloat16, optimizer=OptimizerConfig(learning_rate=3e-3, weight_decay=0.0))
    if matmul == "fp8":
        use_fp8(decoder_layers(trainer.policy.lm))
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(steps):
        starts, strides = rng.integers(0, 61, 16), rng.integers(1, 4, 16)
        pack = rows_pack([((start + stride * np.arange(12)) % 61).astype(np.int32) for start, stride in zip(starts, strides)])
        pack.terms.weights[:] = 1 / len(pack.terms.weights)
        found.append(trainer.step([pack], LossConfig(kind="sft"))["loss"])
    return found


def test_a_model_learns_as_with_bfloat16_products(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        cast = losses("fp8", patch)
    plain = losses("plain", monkeypatch)
    assert cast != plain
    assert np.mean(plain[-10:]) < 0.8 * np.mean(plain[:3])
    assert np.mean(cast[-10:]) == pytest.approx(np.mean(plain[-10:]), rel=0.05)


class OldGpu:
    type = "cuda"


@pytest.mark.parametrize(
    "options, device, dtype, message",
    [
        ({}, torch.device("cpu"), torch.bfloat16, "this run computes on the CPU. Set torch.matmul to 'plain'"),
        ({}, OldGpu(), torch.bfloat16, "compute capability 8.9 or later .*A100 has 8.0"),
        ({"lora": LoraConfig(rank=16)}, torch.device("cuda"), torch.bfloat16, "for training all weights, and lora.rank is 16"),
        ({}, torch.device("cuda"), torch.float32, "needs dtype bfloat16, and this run has torch.float32"),
        ({"compile": "off"}, torch.device("cuda"), torch.bfloat16, "needs compiled layers, and torch.compile is 'off'"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], device: Any, dtype: torch.dtype, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0) if isinstance(device, OldGpu) else (9, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "NVIDIA A100")
    with pytest.raises(WorkerError, match=message) as refused:
        check_fp8(WorkerConfig(matmul="fp8", **options), device, dtype)
    assert refused.value.code == "bad_request"
    check_fp8(WorkerConfig(**options), device, dtype)


def test_a_compiled_layer_computes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the graph that a GPU would compile. The gradients must be those of the layer without compilation."""
    monkeypatch.setattr(fp8, "LEAST_WIDTH", 32)
    lm = tiny_lm("qwen2", torch.bfloat16)
    layer = decoder_layers(lm)[0].mlp
    x = torch.randn(1, 16, 32).bfloat16()
    exact = layer(x)
    use_fp8(layer)
    assert torch.equal(layer(x), exact)
    x.requires_grad_()
    found = torch.compile(layer, backend="aot_eager", fullgraph=True)(x)
    found.float().square().sum().backward()
    assert 0.005 < distance(found, exact) < 0.15
    assert x.grad is not None and all(parameter.grad is not None for parameter in layer.parameters())


def test_a_sampler_is_compared_with_bfloat16_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker checks new weights by logprobs. Samplers have no fp8, so the check must use bfloat16."""
    monkeypatch.setattr(fp8, "LEAST_WIDTH", 32)
    trainer = tiny_trainer(dtype=torch.bfloat16)
    rows = [np.arange(12, dtype=np.int32)]
    plain = trainer.logprobs(rows)[0]
    trainer.config = replace(trainer.config, matmul="fp8")
    use_fp8(decoder_layers(trainer.policy.lm))
    for layer in decoder_layers(trainer.policy.lm):
        layer.compile(dynamic=False, backend="aot_eager")
    assert not np.array_equal(trainer.logprobs(rows)[0], plain)
    assert np.array_equal(trainer.sampler_logprobs(rows)[0], plain)

"""Tests the kernels of the training step, interpreted on the CPU: norm and AdamW over all tensors in one launch each,
one pass over the logits, and the parts of fused layers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from ajet_torch.config import OptimizerConfig
from ajet_torch.head import logits_statistics, to_logits_gradient_
from ajet_torch.optimizer import SplitAdamW

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
pytest.importorskip("triton")


def optimizers(sizes: list[tuple[int, ...]], max_norm: float) -> tuple[SplitAdamW, SplitAdamW]:
    torch.manual_seed(1)
    start = {str(index): torch.randn(size).bfloat16() for index, size in enumerate(sizes)}
    joint, single = (SplitAdamW({name: torch.nn.Parameter(tensor.clone()) for name, tensor in start.items()}, OptimizerConfig(max_grad_norm=max_norm)) for _ in range(2))
    joint.is_joint = True
    return joint, single


@pytest.mark.skipif(not INTERPRETED, reason="runs in the subprocess of the test below")
@pytest.mark.parametrize("sizes", [[(16, 48), (2048, 5), (64,)], [(3, 7), (1500,), (1,)]])
@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32])
def test_all_tensors_get_what_each_would_get(sizes: list[tuple[int, ...]], kind: torch.dtype) -> None:
    joint, single = optimizers(sizes, 1.0)
    for step in range(3):
        for name in single.parameters:
            gradient = torch.randn(single.parameters[name].shape).to(kind)
            for optimizer in (joint, single):
                optimizer.gathered[name] = gradient.clone()
        norms = [optimizer.update(0.01) for optimizer in (joint, single)]
        assert float(norms[0]) == pytest.approx(float(norms[1]), rel=1e-5) and norms[1] > 1
        for optimizer in (joint, single):
            optimizer.num_steps += 1
    assert joint.joint is not None and joint.joint.num_updates == 3
    for name in single.parameters:
        for key, value in single.state(name).items():
            assert torch.allclose(joint.state(name)[key], value, rtol=1e-5, atol=1e-7), (name, key)


@pytest.mark.skipif(not INTERPRETED, reason="runs in the subprocess of the test below")
def test_a_master_that_becomes_nan_is_nan_in_both_halves() -> None:
    for optimizer in optimizers([(16, 48)], 1.0):
        optimizer.gathered["0"] = torch.ones(16, 48)
        optimizer.update(float("nan"))
        assert optimizer.parameters["0"].isnan().all() and optimizer.state("0")["master"].isnan().all()


@pytest.mark.skipif(not INTERPRETED, reason="runs in the subprocess of the test below")
def test_a_norm_that_is_not_finite_changes_nothing_and_other_layouts_are_updated_one_by_one() -> None:
    joint, single = optimizers([(16, 48), (64,)], 1.0)
    before = {name: {key: value.clone() for key, value in joint.state(name).items()} for name in joint.parameters}
    for name, parameter in joint.parameters.items():
        parameter.grad = torch.full_like(parameter, torch.inf)
    assert not torch.isfinite(joint.update(0.1))
    assert joint.joint is not None and joint.joint.num_updates == 1
    assert all(torch.equal(joint.state(name)[key], value) for name in before for key, value in before[name].items())
    for optimizer in (joint, single):
        optimizer.parameters["0"].grad = torch.linspace(-1, 1, 16 * 48).bfloat16().view(48, 16).T
        optimizer.parameters["1"].grad = None
        optimizer.update(0.1)
    assert joint.joint.num_updates == 1
    assert torch.equal(joint.state("0")["master"], single.state("0")["master"]) and not torch.equal(joint.state("0")["master"], before["0"]["master"])


@pytest.mark.skipif(not INTERPRETED, reason="runs in the subprocess of the test below")
@pytest.mark.parametrize("inverse", [0.7, torch.linspace(0.5, 2, 5)])
def test_one_pass_finds_log_sum_exp_and_entropy(inverse: float | torch.Tensor) -> None:
    from ajet_torch.head_kernels import row_statistics

    torch.manual_seed(2)
    logits = (torch.randn(5, 9001) * torch.tensor([0.0, 1.0, 5.0, 30.0, 200.0])[:, None]).bfloat16()
    for found, expected in zip(row_statistics(logits, inverse), logits_statistics(logits, inverse)):
        assert torch.allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.skipif(not INTERPRETED, reason="runs in the subprocess of the test below")
@pytest.mark.parametrize("inverse", [0.7, torch.tensor([0.5, 1.0, 2.0, 1.0, 1.0])])
def test_one_pass_writes_the_gradient_of_the_logits(inverse: float | torch.Tensor) -> None:
    from ajet_torch.head_kernels import write_gradient_

    torch.manual_seed(3)
    logits = (torch.randn(5, 9001) * torch.tensor([0.0, 1.0, 5.0, 30.0, 200.0])[:, None]).bfloat16()
    lse, entropy = logits_statistics(logits, inverse)
    grads = (torch.randn(5), torch.randn(1).expand(5))
    found, expected = logits.clone(), logits.clone()
    write_gradient_(found, lse, entropy, grads, inverse)
    to_logits_gradient_(expected, lse, entropy, grads, inverse)
    assert float(expected.float().abs().max()) > 0.1
    assert torch.allclose(found.float(), expected.float(), rtol=0.01, atol=1e-6)


@pytest.mark.skipif(not INTERPRETED, reason="runs in the subprocess of the test below")
@pytest.mark.parametrize("kind, tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 0.02)])
def test_the_parts_of_fused_layers_are_those_in_pytorch(kind: torch.dtype, tolerance: float) -> None:
    from ajet_torch import layer_kernels, layer_parts

    torch.manual_seed(4)
    x, grad, residual = (torch.randn(21, 48).to(kind) for _ in range(3))
    weight, both = torch.randn(48).to(kind), torch.randn(21, 96).to(kind)
    angles = torch.randn(21, 4).to(kind).repeat(1, 2)
    rotated = [x.clone(), x.clone()]
    found = []
    for parts, states in zip((layer_parts, layer_kernels), rotated):
        parts.rotate_(states, angles.cos(), angles.sin(), 5, -1.0)
        found.append([parts.norm(x, weight, 1e-5), *parts.norm_backward(x, weight, 1e-5, grad, residual), parts.gate(both), *parts.gate_backward(both, grad), states])
    assert torch.equal(rotated[1][:, 40:], x[:, 40:]) and not torch.equal(rotated[1][:, :40], x[:, :40])
    for expected, actual in zip(*found):
        assert actual.dtype == kind and torch.allclose(expected.float(), actual.float(), rtol=tolerance, atol=tolerance)


@pytest.mark.skipif(INTERPRETED, reason="is that subprocess")
def test_in_triton_s_interpreter() -> None:
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q", __file__], env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert ended.returncode == 0 and "12 passed" in ended.stdout, ended.stdout[-3000:] + ended.stderr[-1000:]

"""Matrix products of the layers in 8-bit floats (`matmul: fp8`): forward, and both products of backward.

Every factor is e4m3 (4 bits of exponent, 3 of mantissa; Micikevicius et al. 2022), scaled so that its largest value is
at most 448. Scales are powers of two, so a value is rounded once: transposing a factor changes its scales but not its
values, except for those that underflow. Activations and gradients have one scale per token if tokens are rows, and one
per matrix if the product sums over tokens. Weights have one per matrix. Sums are float32, results bfloat16. The head,
norms, attention, residuals, gradients of weights and the optimizer do not change.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .config import WorkerConfig
from .errors import WorkerError
from .joint import ATTENTION, GATED, find_siblings, join, join_projections

E4M3 = torch.float8_e4m3fn
LARGEST = 448.0
SMALLEST_PEAK = 2.0**-80
"""If the largest value of a row is smaller than this, the scale is computed from this value instead. Otherwise a row of
zeros would have an infinite scale."""
EXPONENT_BITS = 0x7F800000
LEAST_WIDTH = 512
"""Layers narrower than this, such as routers, stay in bfloat16, because casting would cost more than the product."""


def check_fp8(config: WorkerConfig, device: torch.device, dtype: torch.dtype) -> None:
    """Raises `bad_request` if these products cannot be computed."""
    if config.matmul != "fp8":
        return
    if device.type != "cuda":
        refuse("needs an NVIDIA GPU of compute capability 8.9 or later (Ada, Hopper, Blackwell), and this run computes on the CPU")
    capability = torch.cuda.get_device_capability(device)
    if capability < (8, 9):
        refuse(f"needs an NVIDIA GPU of compute capability 8.9 or later (Ada, Hopper, Blackwell), and {torch.cuda.get_device_name(device)} has {capability[0]}.{capability[1]}")
    if config.lora.rank:
        refuse(f"is for training all weights, and lora.rank is {config.lora.rank}")
    if dtype != torch.bfloat16:
        refuse(f"needs dtype bfloat16, and this run has {dtype}")
    if config.compile == "off":
        refuse("needs compiled layers, and torch.compile is 'off'")


def refuse(reason: str) -> None:
    raise WorkerError("bad_request", f"torch.matmul 'fp8' {reason}. Set torch.matmul to 'plain'.")


def use_fp8(layers: nn.Module) -> None:
    """Makes the compiled graphs of these layers compute linear layers in fp8. Raises `bad_request` if no linear layer
    can be computed in fp8."""
    groups = [parts for names in (ATTENTION, GATED) for parts in find_siblings(layers, names)]
    joined = {id(part) for parts in groups for part in parts}
    groups += [[part] for part in layers.modules() if type(part) is nn.Linear and id(part) not in joined]
    chosen = [parts for parts in groups if fits(parts)]
    if not chosen:
        refuse(f"takes linear layers of at least {LEAST_WIDTH} features, in multiples of 16, and this model has none")
    for parts in chosen:
        join(parts, fp8_product)
    join_projections(layers)


def fits(parts: list[nn.Linear]) -> bool:
    sizes = [parts[0].in_features, *(part.out_features for part in parts)]
    return all(size % 16 == 0 for size in sizes) and min(sizes[0], sum(sizes[1:])) >= LEAST_WIDTH


def fp8_product(x: torch.Tensor, parts: list[nn.Linear]) -> list[torch.Tensor]:
    rows = x.reshape(-1, x.shape[-1])
    joined = Fp8Product.apply(rows, *(part.weight for part in parts)).reshape(*x.shape[:-1], -1)
    outputs = joined.split([part.out_features for part in parts], -1)
    return [out if part.bias is None else out + part.bias for out, part in zip(outputs, parts)]


class Fp8Product(torch.autograd.Function):
    """Multiplies x [M, K] by the transposes of weights [N_i, K]. Returns [M, sum of N_i]."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        x8, x_scale = to_rows(x)
        peak = torch.ops.ajet.fp8_peak(list(weights))
        scale = scale_of(peak)
        weight8 = torch.ops.ajet.fp8_under_each_other(list(weights), scale)
        ctx.save_for_backward(x8, x_scale, scale, *weights)
        return multiply(x8, x_scale, weight8, (1 / scale).expand(1, weight8.shape[0]).contiguous())

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x8, x_scale, scale, *weights = ctx.saved_tensors
        grad8, grad_scale = to_rows(grad)
        weight8_t = torch.ops.ajet.fp8_side_by_side(weights, scale)
        grad_x = multiply(grad8, grad_scale, weight8_t, (1 / scale).expand(1, weight8_t.shape[0]).contiguous())
        grad_weight = multiply(*transposed(grad8, grad_scale), *transposed(x8, x_scale))
        return grad_x, *grad_weight.split([weight.shape[0] for weight in weights])


def power_below(value: torch.Tensor) -> torch.Tensor:
    """Returns the largest power of two that is not above each value. For NaN it returns infinity, so the scaled value
    becomes NaN again."""
    return (value.view(torch.int32) & EXPONENT_BITS).view(torch.float32)


def scale_of(peak: torch.Tensor) -> torch.Tensor:
    return power_below(LARGEST / peak.float().clamp(min=SMALLEST_PEAK))


def to_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns x [M, K] as e4m3, and the factors [M, 1] that restore each row."""
    scale = scale_of(x.abs().amax(-1, keepdim=True))
    return (x.float() * scale).to(E4M3), 1 / scale


def transposed(rows: torch.Tensor, back: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Transposes the result of `to_rows` to [K, M]. Also returns one factor [1] that restores it: the largest of the
    rows' factors."""
    largest = back.amax().reshape(1)
    return torch.ops.ajet.fp8_turned(rows, back / largest), largest


def multiply(a: torch.Tensor, a_back: torch.Tensor, b: torch.Tensor, b_back: torch.Tensor) -> torch.Tensor:
    """Multiplies a [M, K] by the transpose of b [N, K], each times the factors that undo its scale: one number, or one
    for each row ([M, 1], [1, N])."""
    if a.is_cuda:
        return torch._scaled_mm(a, b.t(), a_back, b_back, out_dtype=torch.bfloat16, use_fast_accum=True)
    return (a.float() * a_back @ (b.float().t() * b_back)).bfloat16()


def cast_into(source: torch.Tensor, target: torch.Tensor, factors: torch.Tensor, turned: bool) -> None:
    """Sets target = source times its factors: one factor for all rows, or one for each row."""
    if source.is_cuda:
        from .fp8_kernels import cast

        cast(source, target, factors, turned)
    else:
        scaled = (source.float() * factors).to(E4M3)
        target.copy_(scaled.t() if turned else scaled)


@torch.library.custom_op("ajet::fp8_peak", mutates_args=())
def fp8_peak(weights: list[torch.Tensor]) -> torch.Tensor:
    """Returns the largest absolute value of all weights, [1] float32."""
    if not weights[0].is_cuda:
        return torch.stack([weight.abs().amax().float() for weight in weights]).amax().reshape(1)
    from .fp8_kernels import raise_peak

    peak = torch.zeros(1, device=weights[0].device)
    for weight in weights:
        raise_peak(weight, peak)
    return peak


@fp8_peak.register_fake
def _(weights: list[torch.Tensor]) -> torch.Tensor:
    return weights[0].new_empty(1, dtype=torch.float32)


@torch.library.custom_op("ajet::fp8_under_each_other", mutates_args=())
def fp8_under_each_other(weights: list[torch.Tensor], scale: torch.Tensor) -> torch.Tensor:
    """Returns weights [N_i, K] times the scale as e4m3 [sum of N_i, K]."""
    sizes = [weight.shape[0] for weight in weights]
    found = torch.empty(sum(sizes), weights[0].shape[1], dtype=E4M3, device=weights[0].device)
    for weight, target in zip(weights, found.split(sizes)):
        cast_into(weight, target, scale, False)
    return found


@fp8_under_each_other.register_fake
def _(weights: list[torch.Tensor], scale: torch.Tensor) -> torch.Tensor:
    return weights[0].new_empty(sum(weight.shape[0] for weight in weights), weights[0].shape[1], dtype=E4M3)


@torch.library.custom_op("ajet::fp8_side_by_side", mutates_args=())
def fp8_side_by_side(weights: list[torch.Tensor], scale: torch.Tensor) -> torch.Tensor:
    """Returns the transpose of `fp8_under_each_other`: [K, sum of N_i]."""
    sizes = [weight.shape[0] for weight in weights]
    found = torch.empty(weights[0].shape[1], sum(sizes), dtype=E4M3, device=weights[0].device)
    for weight, target in zip(weights, found.split(sizes, 1)):
        cast_into(weight, target, scale, True)
    return found


@fp8_side_by_side.register_fake
def _(weights: list[torch.Tensor], scale: torch.Tensor) -> torch.Tensor:
    return weights[0].new_empty(weights[0].shape[1], sum(weight.shape[0] for weight in weights), dtype=E4M3)


@torch.library.custom_op("ajet::fp8_turned", mutates_args=())
def fp8_turned(rows: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    """Returns e4m3 [M, K] with a factor for each row [M, 1] as [K, M]."""
    found = torch.empty(rows.shape[1], rows.shape[0], dtype=E4M3, device=rows.device)
    cast_into(rows, found, factors, True)
    return found


@fp8_turned.register_fake
def _(rows: torch.Tensor, factors: torch.Tensor) -> torch.Tensor:
    return rows.new_empty(rows.shape[1], rows.shape[0])

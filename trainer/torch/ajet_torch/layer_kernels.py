"""Triton kernels of `fused_layers.py`: the norm, the rotation by position and the gated product of a layer, forward and
backward. They compute in float32, and round a norm and an activation as the code of transformers does.
`TRITON_INTERPRET=1` runs them on a CPU."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

ROWS = 16
"""The number of rows over which one program adds up the gradient of a norm's weight."""
BLOCK, WARPS = 1024, 4


@triton.jit
def norm_kernel(x, weight, out, width, epsilon, BLOCK: tl.constexpr):
    """Sets a row of out to RMSNorm(x) * weight."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < width
    kind = out.dtype.element_ty
    wide = tl.load(x + row * width + at, mask=inside, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(wide * wide, 0) / width + epsilon)
    gain = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + at, ((wide * scale).to(kind).to(tl.float32) * gain).to(kind), mask=inside)


@triton.jit
def norm_backward_kernel(x, weight, grad, residual, out, partial, rows, width, epsilon, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Sets out = residual + the gradient of x, and a row of partial to the gradient of the weight from ROWS rows."""
    block = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    gain = tl.load(weight + at, mask=at < width, other=0.0).to(tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for index in range(ROWS):
        row = (block * ROWS + index).to(tl.int64)
        inside = (at < width) & (row < rows)
        wide = tl.load(x + row * width + at, mask=inside, other=0.0).to(tl.float32)
        given = tl.load(grad + row * width + at, mask=inside, other=0.0).to(tl.float32)
        scale = 1.0 / tl.sqrt(tl.sum(wide * wide, 0) / width + epsilon)
        unit = wide * scale
        inner = given * gain
        own = scale * (inner - unit * (tl.sum(inner * unit, 0) / width))
        kept = tl.load(residual + row * width + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(out + row * width + at, (kept + own).to(out.dtype.element_ty), mask=inside)
        total += given * unit
    tl.store(partial + block.to(tl.int64) * width + at, total, mask=at < width)


@triton.jit
def rotate_kernel(states, cosines, sines, sign, columns, HALF: tl.constexpr):
    """Turns one head of a row in place, by its angles or by their negatives."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, HALF)
    first = states + row * columns + tl.program_id(1) * 2 * HALF + at
    cosine = tl.load(cosines + row * 2 * HALF + at).to(tl.float32)
    sine = tl.load(sines + row * 2 * HALF + at).to(tl.float32) * sign
    left = tl.load(first).to(tl.float32)
    right = tl.load(first + HALF).to(tl.float32)
    tl.store(first, (left * cosine - right * sine).to(states.dtype.element_ty))
    tl.store(first + HALF, (right * cosine + left * sine).to(states.dtype.element_ty))


@triton.jit
def gate_kernel(both, out, width, BLOCK: tl.constexpr):
    """Sets out = silu(gate) * up. Each row of both has the gate and then the up states."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    kind = out.dtype.element_ty
    gate = tl.load(both + row * 2 * width + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(both + row * 2 * width + width + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + at, ((gate * tl.sigmoid(gate)).to(kind).to(tl.float32) * up).to(kind), mask=inside)


@triton.jit
def gate_backward_kernel(both, grad, grad_both, out, width, BLOCK: tl.constexpr):
    """Sets grad_both to the gradient of both, and computes out again."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < width
    kind = out.dtype.element_ty
    gate = tl.load(both + row * 2 * width + at, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(both + row * 2 * width + width + at, mask=inside, other=0.0).to(tl.float32)
    given = tl.load(grad + row * width + at, mask=inside, other=0.0).to(tl.float32)
    share = tl.sigmoid(gate)
    active = gate * share
    tl.store(grad_both + row * 2 * width + at, (given * up * share * (1.0 + gate * (1.0 - share))).to(kind), mask=inside)
    tl.store(grad_both + row * 2 * width + width + at, (given * active).to(kind), mask=inside)
    tl.store(out + row * width + at, (active.to(kind).to(tl.float32) * up).to(kind), mask=inside)


def norm(x_ND: torch.Tensor, weight_D: torch.Tensor, epsilon: float) -> torch.Tensor:
    rows, width = x_ND.shape
    out = torch.empty_like(x_ND)
    norm_kernel[(rows,)](x_ND, weight_D, out, width, epsilon, BLOCK=triton.next_power_of_2(width), num_warps=WARPS)
    return out


def norm_backward(x_ND: torch.Tensor, weight_D: torch.Tensor, epsilon: float, grad_ND: torch.Tensor, residual_ND: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, width = x_ND.shape
    blocks = triton.cdiv(rows, ROWS)
    out = torch.empty_like(x_ND)
    partial = torch.empty(blocks, width, dtype=torch.float32, device=x_ND.device)
    norm_backward_kernel[(blocks,)](
        x_ND, weight_D, grad_ND, residual_ND, out, partial, rows, width, epsilon, ROWS=ROWS, BLOCK=triton.next_power_of_2(width), num_warps=WARPS,
    )
    return out, partial.sum(0).to(weight_D.dtype)


def rotate_(states_NE: torch.Tensor, cosines_ND: torch.Tensor, sines_ND: torch.Tensor, heads: int, sign: float) -> None:
    rows, columns = states_NE.shape
    rotate_kernel[(rows, heads)](states_NE, cosines_ND, sines_ND, sign, columns, HALF=cosines_ND.shape[1] // 2, num_warps=1)


def gate(both_NF: torch.Tensor) -> torch.Tensor:
    rows, width = both_NF.shape[0], both_NF.shape[1] // 2
    out = both_NF.new_empty(rows, width)
    gate_kernel[(rows, triton.cdiv(width, BLOCK))](both_NF, out, width, BLOCK=BLOCK, num_warps=WARPS)
    return out


def gate_backward(both_NF: torch.Tensor, grad_NF: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, width = grad_NF.shape
    grad_both, out = torch.empty_like(both_NF), torch.empty_like(grad_NF)
    gate_backward_kernel[(rows, triton.cdiv(width, BLOCK))](both_NF, grad_NF, grad_both, out, width, BLOCK=BLOCK, num_warps=WARPS)
    return grad_both, out

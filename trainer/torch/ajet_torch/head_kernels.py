"""Computes log-sum-exp and entropy of each row of logits in one pass over them, and the gradient in another.
`TRITON_INTERPRET=1` runs this on a CPU."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

BLOCK, WARPS = 4096, 8


@triton.jit
def statistics_kernel(logits, inverses, inverse, lse, entropy, columns, BY_ROW: tl.constexpr, BLOCK: tl.constexpr):
    """Computes log-sum-exp and entropy of one row. Each lane keeps its own sums, relative to the greatest logit read so
    far."""
    row = tl.program_id(0).to(tl.int64)
    scale = tl.load(inverses + row).to(tl.float32) if BY_ROW else inverse
    at = tl.arange(0, BLOCK)
    peak = tl.full((), float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    weighted = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + at < columns
        x = tl.load(logits + row * columns + start + at, mask=inside, other=0.0).to(tl.float32) * scale
        new = tl.maximum(peak, tl.max(tl.where(inside, x, float("-inf")), 0))
        keep = tl.exp(peak - new)
        each = tl.where(inside, tl.exp(x - new), 0.0)
        total = total * keep + each
        weighted = weighted * keep + each * x
        peak = new
    whole = tl.sum(total, 0)
    found = tl.log(whole) + peak
    tl.store(lse + row, found)
    tl.store(entropy + row, found - tl.sum(weighted, 0) / whole)


def row_statistics(logits_UV: torch.Tensor, inverse_temperature: float | torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Does what head.logits_statistics does, for contiguous logits of at most 32 bits."""
    num_rows, columns = logits_UV.shape
    lse, entropy = torch.empty(2, num_rows, dtype=torch.float32, device=logits_UV.device)
    if num_rows:
        by_row = isinstance(inverse_temperature, torch.Tensor)
        statistics_kernel[(num_rows,)](logits_UV, inverse_temperature if by_row else lse, 0.0 if by_row else float(inverse_temperature), lse, entropy, columns, by_row, BLOCK, num_warps=WARPS)
    return lse, entropy


@triton.jit
def gradient_kernel(logits, lse, entropy, grad_row, grad_entropy, inverses, inverse, columns, BY_ROW: tl.constexpr, BLOCK: tl.constexpr):
    """Overwrites a block of a row of logits with its gradient."""
    row = tl.program_id(0).to(tl.int64)
    scale = tl.load(inverses + row).to(tl.float32) if BY_ROW else inverse
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = at < columns
    x = tl.load(logits + row * columns + at, mask=inside, other=0.0).to(tl.float32)
    logprob = x * scale - tl.load(lse + row)
    inner = tl.load(grad_row + row) + tl.load(grad_entropy + row) * (logprob + tl.load(entropy + row))
    tl.store(logits + row * columns + at, (-scale * tl.exp(logprob) * inner).to(logits.dtype.element_ty), mask=inside)


def write_gradient_(logits_UV: torch.Tensor, lse_U: torch.Tensor, entropy_U: torch.Tensor, grads: tuple[torch.Tensor, torch.Tensor], inverse_temperature: float | torch.Tensor) -> None:
    """Does what head.to_logits_gradient_ does, for contiguous logits of at most 32 bits."""
    num_rows, columns = logits_UV.shape
    if num_rows:
        by_row = isinstance(inverse_temperature, torch.Tensor)
        grad_row, grad_entropy = (each.float().contiguous() for each in grads)
        gradient_kernel[(num_rows, triton.cdiv(columns, BLOCK))](
            logits_UV, lse_U, entropy_U, grad_row, grad_entropy, inverse_temperature if by_row else lse_U, 0.0 if by_row else float(inverse_temperature), columns, by_row, BLOCK, num_warps=WARPS,
        )

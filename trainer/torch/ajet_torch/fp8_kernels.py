"""Triton kernels that find the largest value of a matrix, and that cast a matrix to e4m3, unchanged or transposed.
Hopper multiplies fp8 only along rows of both factors."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def peak_kernel(source, peak, size, BLOCK: tl.constexpr):
    """Sets peak to the maximum of peak and all |source|. It compares the bits as integers, which order non-negative
    floats by value, with NaN last."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(source + at, mask=at < size, other=0.0).to(tl.float32).to(tl.int32, bitcast=True) & 0x7FFFFFFF
    tl.atomic_max(peak, tl.max(bits, 0))


def raise_peak(source: torch.Tensor, peak: torch.Tensor) -> None:
    """Sets `peak` ([1], float32, not negative) to the maximum of itself and all |source|."""
    block = 16384
    peak_kernel[(triton.cdiv(source.numel(), block),)](source, peak.view(torch.int32), source.numel(), BLOCK=block, num_warps=8)


@triton.jit
def cast_kernel(source, target, factors, num_rows, num_columns, source_stride, target_stride,
                PER_ROW: tl.constexpr, TRANSPOSED: tl.constexpr, EVEN: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Sets target = source * factors, with one factor or one for each row of the source. `target` is transposed if
    TRANSPOSED."""
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    inside = (rows[:, None] < num_rows) & (columns[None, :] < num_columns)
    at = source + rows[:, None].to(tl.int64) * source_stride + columns[None, :]
    values = tl.load(at) if EVEN else tl.load(at, mask=inside, other=0.0)
    factor = tl.load(factors + rows, mask=rows < num_rows, other=0.0)[:, None] if PER_ROW else tl.load(factors)
    cast = (values.to(tl.float32) * factor).to(target.dtype.element_ty)
    if TRANSPOSED:
        to = target + columns[:, None].to(tl.int64) * target_stride + rows[None, :]
        if EVEN:
            tl.store(to, tl.trans(cast))
        else:
            tl.store(to, tl.trans(cast), mask=(columns[:, None] < num_columns) & (rows[None, :] < num_rows))
    else:
        to = target + rows[:, None].to(tl.int64) * target_stride + columns[None, :]
        if EVEN:
            tl.store(to, cast)
        else:
            tl.store(to, cast, mask=inside)


def cast(source: torch.Tensor, target: torch.Tensor, factors: torch.Tensor, transposed: bool) -> None:
    """Casts source [R, C] into target [R, C], or [C, R] if `transposed`. Both are contiguous along their last
    dimension."""
    num_rows, num_columns = source.shape
    rows, columns = (128, 64) if transposed else (32, 256)
    even = num_rows % rows == 0 and num_columns % columns == 0
    grid = (triton.cdiv(num_columns, columns), triton.cdiv(num_rows, rows))
    cast_kernel[grid](
        source, target, factors, num_rows, num_columns, source.stride(0), target.stride(0),
        PER_ROW=factors.numel() > 1, TRANSPOSED=transposed, EVEN=even, ROWS=rows, COLUMNS=columns, num_warps=4,
    )

"""Triton kernels that cache prompts: attention of many tokens of a slot, the gated product, and copies between slots.

A pass has R rows of one token each, H query heads and G key-value heads of size D. The tokens of a slot are adjacent
and begin at a multiple of TOKENS. `TRITON_INTERPRET=1` runs all kernels on a CPU.
"""

from __future__ import annotations

import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def fill_attention_kernel(q, keys, values, merged, slots, positions, scale, slot_stride, head_stride,
                          H: tl.constexpr, G: tl.constexpr, D: tl.constexpr, TOKENS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, PRECISION: tl.constexpr):
    """Computes attention of TOKENS adjacent tokens of one slot over the cached keys of one head. The cache already has
    the keys of these tokens."""
    first, head = tl.program_id(0) * TOKENS, tl.program_id(1)
    slot = tl.load(slots + first)
    if slot >= 0:
        REPEAT: tl.constexpr = H // G
        r = tl.arange(0, BM)
        d = tl.arange(0, D)
        row = first + r // REPEAT
        real = r < TOKENS * REPEAT
        real = real & (tl.load(slots + row, mask=real, other=-1) >= 0)
        position = tl.load(positions + row, mask=real, other=0)
        start = tl.load(positions + first)
        stop = tl.max(position, 0) + 1
        at = tl.where(real, row, first) * H + head * REPEAT + r % REPEAT
        query = tl.load(q + at[:, None] * D + d[None, :], mask=real[:, None], other=0.0)
        place = slot.to(tl.int64) * slot_stride + head * head_stride
        n = tl.arange(0, BN)
        peak = tl.full([BM], -1.0e30, tl.float32)
        total = tl.zeros([BM], tl.float32)
        sums = tl.zeros([BM, D], tl.float32)
        seen_by_all = (start + 1) // BN * BN
        for block in range(0, seen_by_all, BN):
            k = tl.load(keys + place + (block + n)[None, :] * D + d[:, None])
            score = tl.dot(query, k, input_precision=PRECISION) * (scale * LOG2E)
            higher = tl.maximum(peak, tl.max(score, 1))
            share = tl.exp2(score - higher[:, None])
            fade = tl.exp2(peak - higher)
            total = total * fade + tl.sum(share, 1)
            v = tl.load(values + place + (block + n)[:, None] * D + d[None, :])
            sums = tl.dot(share.to(v.dtype), v, sums * fade[:, None], input_precision=PRECISION)
            peak = higher
        for block in range(seen_by_all, stop, BN):
            inside = block + n < stop
            seen = (block + n)[None, :] <= position[:, None]
            k = tl.load(keys + place + (block + n)[None, :] * D + d[:, None], mask=inside[None, :], other=0.0)
            score = tl.where(seen, tl.dot(query, k, input_precision=PRECISION) * (scale * LOG2E), -1.0e30)
            higher = tl.maximum(peak, tl.max(score, 1))
            share = tl.where(seen, tl.exp2(score - higher[:, None]), 0.0)
            fade = tl.exp2(peak - higher)
            total = total * fade + tl.sum(share, 1)
            v = tl.load(values + place + (block + n)[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
            sums = tl.dot(share.to(v.dtype), v, sums * fade[:, None], input_precision=PRECISION)
            peak = higher
        value = sums / tl.maximum(total, 1.0e-30)[:, None]
        tl.store(merged + at[:, None] * D + d[None, :], value.to(merged.dtype.element_ty), mask=real[:, None])


@triton.jit
def silu_product_kernel(gate, up, out, count, BLOCK: tl.constexpr):
    """Sets out = silu(gate) * up, the SwiGLU."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    gated = tl.load(gate + at, mask=at < count, other=0.0).to(tl.float32)
    plain = tl.load(up + at, mask=at < count, other=0.0).to(tl.float32)
    tl.store(out + at, (gated / (1.0 + tl.exp(-gated)) * plain).to(out.dtype.element_ty), mask=at < count)


@triton.jit(do_not_specialize=["num_copies"])
def copy_kernel(cache, copies, num_copies, layer_stride, slot_stride, head_stride, G: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr):
    """Copies the beginning of one slot to another, for the keys or values of one head and layer. The rows of `copies`
    [3, copies] are sources, targets and lengths."""
    copy, part = tl.program_id(0), tl.program_id(1)
    source, target = tl.load(copies + copy), tl.load(copies + num_copies + copy)
    count = tl.load(copies + 2 * num_copies + copy) * D
    place = (part // G).to(tl.int64) * layer_stride + (part % G) * head_stride
    from_, to = cache + place + source.to(tl.int64) * slot_stride, cache + place + target.to(tl.int64) * slot_stride
    at = tl.arange(0, BLOCK)
    for start in range(tl.program_id(2) * BLOCK, count, tl.num_programs(2) * BLOCK):
        inside = start + at < count
        tl.store(to + start + at, tl.load(from_ + start + at, mask=inside), mask=inside)

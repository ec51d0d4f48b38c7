"""Triton kernels of one decoding step: the products, attention over shared and own tokens, and the draw of a token.

A step has R rows (one answer each, with padding), the cache has B slots, and attention has H query heads and G
key-value heads of size D. A product over K is split into parts, so that even a few rows keep the whole GPU busy. The
next kernel sums the parts while it reads them. `TRITON_INTERPRET=1` runs all kernels on a CPU.
"""

from __future__ import annotations

import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def embed_kernel(tokens, slots, forced, last, table, residual, hidden, BLOCK: tl.constexpr):
    """Sets the token of each row: the forced token, or the one that its slot drew last."""
    row = tl.program_id(0)
    slot = tl.load(slots + row)
    given = tl.load(forced + row)
    drawn = tl.load(last + tl.maximum(slot, 0))
    token = tl.where(given >= 0, given, drawn)
    token = tl.where(slot >= 0, token, 0)
    at = tl.arange(0, BLOCK)
    x = tl.load(table + token.to(tl.int64) * hidden + at, mask=at < hidden, other=0.0)
    tl.store(residual + row * hidden + at, x, mask=at < hidden)
    tl.store(tokens + row, token)


@triton.jit
def add_norm_kernel(residual, parts, weight, normed, rows, hidden, epsilon, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    """Sets residual += the sum of `parts` [PARTS, R, hidden], and normed = RMSNorm(residual) * weight."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < hidden
    kind = residual.dtype.element_ty
    x = tl.load(residual + row * hidden + at, mask=inside, other=0.0)
    if PARTS > 0:
        total = tl.zeros([BLOCK], tl.float32)
        for part in tl.static_range(PARTS):
            total += tl.load(parts + (part * rows + row) * hidden + at, mask=inside, other=0.0)
        x = (x.to(tl.float32) + total.to(kind).to(tl.float32)).to(kind)
        tl.store(residual + row * hidden + at, x, mask=inside)
    wide = x.to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(wide * wide, 0) / hidden + epsilon)
    gain = tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)
    tl.store(normed + row * hidden + at, ((wide * scale).to(kind).to(tl.float32) * gain).to(kind), mask=inside)


@triton.jit
def product_kernel(x, first, second, third, out, rows, K, first_end, second_end, columns, k_part,
                   BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr):
    """Sets out [parts, rows, columns] = x [rows, K] times the transposes of up to three adjacent matrices. Each block
    of columns belongs to one matrix."""
    n0 = tl.program_id(0) * BN
    part = tl.program_id(2)
    matrix, base = first, 0
    if n0 >= second_end:
        matrix, base = third, second_end
    elif n0 >= first_end:
        matrix, base = second, first_end
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = n0 + tl.arange(0, BN)
    k = part * k_part + tl.arange(0, BK)
    x_at = x + m[:, None] * K + k[None, :]
    w_at = matrix + (n - base)[None, :] * K + k[:, None]
    stop = tl.minimum(part * k_part + k_part, K)
    total = tl.zeros([BM, BN], tl.float32)
    for start in range(part * k_part, stop, BK):
        if EVEN:
            w = tl.load(w_at)
            total = tl.dot(tl.load(x_at), w, total, input_precision=PRECISION)
        else:
            w = tl.load(w_at, mask=(start + tl.arange(0, BK))[:, None] < stop, other=0.0)
            total = tl.dot(tl.load(x_at, mask=(start + tl.arange(0, BK))[None, :] < stop, other=0.0), w, total, input_precision=PRECISION)
        x_at += BK
        w_at += BK
    tl.store(out + (part * rows + m)[:, None] * columns + n[None, :], total)


@triton.jit
def gated_kernel(x, gate, up, out, K, columns, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN: tl.constexpr, PRECISION: tl.constexpr):
    """Sets out [rows, columns] = silu(x gate^T) * (x up^T), the SwiGLU."""
    m = tl.program_id(1) * BM + tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    x_at = x + m[:, None] * K + k[None, :]
    w_at = n[None, :] * K + k[:, None]
    gated = tl.zeros([BM, BN], tl.float32)
    plain = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        if EVEN:
            block, g, u = tl.load(x_at), tl.load(gate + w_at), tl.load(up + w_at)
        else:
            inside = (start + tl.arange(0, BK)) < K
            block = tl.load(x_at, mask=inside[None, :], other=0.0)
            g = tl.load(gate + w_at, mask=inside[:, None], other=0.0)
            u = tl.load(up + w_at, mask=inside[:, None], other=0.0)
        gated = tl.dot(block, g, gated, input_precision=PRECISION)
        plain = tl.dot(block, u, plain, input_precision=PRECISION)
        x_at += BK
        w_at += BK
    kind = out.dtype.element_ty
    gated = gated.to(kind).to(tl.float32)
    value = gated / (1.0 + tl.exp(-gated)) * plain
    tl.store(out + m[:, None] * columns + n[None, :], value.to(kind))


@triton.jit
def rotate_kernel(parts, bias_q, bias_k, bias_v, norm_q, norm_k, cosines, sines, slots, positions, q, keys, values, rows, columns, slot_stride, head_stride, epsilon,
                  H: tl.constexpr, G: tl.constexpr, D: tl.constexpr, PARTS: tl.constexpr, BIAS: tl.constexpr, NORM: tl.constexpr):
    """Handles one head of one row. It sums the parts of the projection, then applies the model's bias, norm and
    rotation. Queries go to q [R, H, D]; keys and values go to the row's slot of the cache."""
    row, head = tl.program_id(0), tl.program_id(1)
    slot, position = tl.load(slots + row), tl.load(positions + row)
    half = tl.arange(0, D // 2)
    left = tl.zeros([D // 2], tl.float32)
    right = tl.zeros([D // 2], tl.float32)
    for part in tl.static_range(PARTS):
        at = parts + (part * rows + row) * columns + head * D + half
        left += tl.load(at)
        right += tl.load(at + D // 2)
    kind = q.dtype.element_ty
    if BIAS:
        bias = bias_q + head * D
        if head >= H + G:
            bias = bias_v + (head - H - G) * D
        elif head >= H:
            bias = bias_k + (head - H) * D
        left += tl.load(bias + half).to(tl.float32)
        right += tl.load(bias + D // 2 + half).to(tl.float32)
    left = left.to(kind).to(tl.float32)
    right = right.to(kind).to(tl.float32)
    if head < H + G:
        if NORM:
            gain = norm_q
            if head >= H:
                gain = norm_k
            scale = 1.0 / tl.sqrt((tl.sum(left * left, 0) + tl.sum(right * right, 0)) / D + epsilon)
            left = (left * scale).to(kind).to(tl.float32) * tl.load(gain + half).to(tl.float32)
            right = (right * scale).to(kind).to(tl.float32) * tl.load(gain + D // 2 + half).to(tl.float32)
        cosine = tl.load(cosines + position * (D // 2) + half).to(tl.float32)
        sine = tl.load(sines + position * (D // 2) + half).to(tl.float32)
        rotated = left * cosine - right * sine
        right = right * cosine + left * sine
        left = rotated
    if head < H:
        to = q + (row * H + head) * D
        tl.store(to + half, left.to(kind))
        tl.store(to + D // 2 + half, right.to(kind))
    elif slot >= 0:
        place = slot.to(tl.int64) * slot_stride + position.to(tl.int64) * D
        to = keys + place + (head - H) * head_stride
        if head >= H + G:
            to = values + place + (head - H - G) * head_stride
        tl.store(to + half, left.to(kind))
        tl.store(to + D // 2 + half, right.to(kind))


@triton.jit(do_not_specialize=["shared_tasks", "shared_parts", "own_parts", "num_parts"])
def attention_kernel(q, keys, values, out, lse, slots, positions, owns, sources, lengths, members, scale, slot_stride, head_stride, shared_tasks, shared_parts, own_parts, num_parts,
                     H: tl.constexpr, G: tl.constexpr, D: tl.constexpr, MEMBERS: tl.constexpr, PIECE: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, PRECISION: tl.constexpr):
    """Computes a piece of attention over the keys of one head. Each of the first `shared_tasks` programs takes a piece
    that a group of rows shares, for all rows of the group. Each other program takes a piece of the tokens that
    belong to one row alone. These begin at `owns[row]`."""
    task, head = tl.program_id(0), tl.program_id(1)
    r = tl.arange(0, BM)
    d = tl.arange(0, D)
    REPEAT: tl.constexpr = H // G
    if task < shared_tasks:
        group = task // shared_parts
        part = task % shared_parts
        start = part * PIECE
        stop = tl.minimum(start + PIECE, tl.load(lengths + group))
        source = tl.load(sources + group)
        row = tl.load(members + group * MEMBERS + r // REPEAT, mask=r < MEMBERS * REPEAT, other=-1)
    else:
        own = (task - shared_tasks) // own_parts
        piece = (task - shared_tasks) % own_parts
        source = tl.load(slots + own)
        start = tl.load(owns + own) + piece * PIECE
        stop = tl.minimum(start + PIECE, tl.load(positions + own) + 1)
        part = shared_parts + piece
        row = tl.where(r < REPEAT, own, -1)
    if (source >= 0) & (stop > start):
        real = row >= 0
        at = tl.where(real, row, 0) * H + head * REPEAT + r % REPEAT
        query = tl.load(q + at[:, None] * D + d[None, :], mask=real[:, None], other=0.0)
        place = source.to(tl.int64) * slot_stride + head * head_stride
        n = tl.arange(0, BN)
        peak = tl.full([BM], -1.0e30, tl.float32)
        total = tl.zeros([BM], tl.float32)
        sums = tl.zeros([BM, D], tl.float32)
        for first in range(start, stop, BN):
            inside = first + n < stop
            k = tl.load(keys + place + (first + n)[None, :] * D + d[:, None], mask=inside[None, :], other=0.0)
            score = tl.dot(query, k, input_precision=PRECISION) * (scale * LOG2E)
            score = tl.where(inside[None, :], score, -1.0e30)
            higher = tl.maximum(peak, tl.max(score, 1))
            share = tl.where(inside[None, :], tl.exp2(score - higher[:, None]), 0.0)
            fade = tl.exp2(peak - higher)
            total = total * fade + tl.sum(share, 1)
            v = tl.load(values + place + (first + n)[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
            sums = tl.dot(share.to(v.dtype), v, sums * fade[:, None], input_precision=PRECISION)
            peak = higher
        to = at * num_parts + part
        tl.store(out + to[:, None] * D + d[None, :], sums / total[:, None], mask=real[:, None])
        tl.store(lse + to, peak + tl.log2(total), mask=real)


@triton.jit(do_not_specialize=["shared_parts", "num_parts"])
def merge_kernel(out, lse, positions, owns, slots, merged, shared_parts, num_parts, H: tl.constexpr, D: tl.constexpr, PIECE: tl.constexpr, PARTS: tl.constexpr):
    """Adds the pieces of one head of one row, weighted by their log-sum-exps."""
    row, head = tl.program_id(0), tl.program_id(1)
    part = tl.arange(0, PARTS)
    d = tl.arange(0, D)
    own = tl.load(owns + row)
    num_shared = (own + PIECE - 1) // PIECE
    num_own = (tl.load(positions + row) + 1 - own + PIECE - 1) // PIECE
    written = (part < num_shared) | ((part >= shared_parts) & (part < shared_parts + num_own))
    written = written & (tl.load(slots + row) >= 0)
    at = (row * H + head) * num_parts + part
    weight = tl.load(lse + at, mask=written, other=-1.0e30)
    weight = tl.where(written, tl.exp2(weight - tl.max(weight, 0)), 0.0)
    values = tl.load(out + at[:, None] * D + d[None, :], mask=written[:, None], other=0.0)
    value = tl.sum(values * weight[:, None], 0) / tl.maximum(tl.sum(weight, 0), 1.0e-30)
    tl.store(merged + (row * H + head) * D + d, value.to(merged.dtype.element_ty))


@triton.jit
def peaks_kernel(logits, controls, peaks, sums, places, vocab, blocks, BLOCK: tl.constexpr):
    """Handles one block of a row, after its logits are divided by the temperature. It finds the greatest logit and its
    index, and sums the exponentials of all logits minus the greatest."""
    row, block = tl.program_id(0), tl.program_id(1)
    temperature = tl.load(controls + row * 2)
    at = block * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(logits + row.to(tl.int64) * vocab + at, mask=at < vocab, other=-float("inf")).to(tl.float32)
    x = x / tl.where(temperature == 0.0, 1.0, temperature)
    peak = tl.max(x, 0)
    tl.store(peaks + row * blocks + block, peak)
    tl.store(sums + row * blocks + block, tl.sum(tl.exp(x - peak), 0))
    tl.store(places + row * blocks + block, block * BLOCK + tl.argmax(x, 0))


@triton.jit
def draw_kernel(logits, controls, peaks, sums, places, slots, last, ids, logprobs, vocab, blocks, BLOCK: tl.constexpr, BLOCKS: tl.constexpr):
    """Draws a token from the cumulative distribution, in the order of the vocabulary. At temperature 0 it takes the
    greatest logit.

    It first finds the block in which the cumulative sum passes the drawn number, then the token in that block.
    """
    row = tl.program_id(0)
    temperature, draw = tl.load(controls + row * 2), tl.load(controls + row * 2 + 1)
    b = tl.arange(0, BLOCKS)
    real = b < blocks
    peak_b = tl.load(peaks + row * blocks + b, mask=real, other=-float("inf"))
    peak = tl.max(peak_b, 0)
    mass = tl.where(real, tl.load(sums + row * blocks + b, mask=real, other=0.0) * tl.exp(peak_b - peak), 0.0)
    total = tl.sum(mass, 0)
    before = tl.cumsum(mass, 0) - mass
    target = draw * total
    block = tl.max(tl.where((mass > 0) & (before <= target), b, 0), 0)
    passed = tl.sum(tl.where(b == block, before, 0.0), 0)
    at = block * BLOCK + tl.arange(0, BLOCK)
    divisor = tl.where(temperature == 0.0, 1.0, temperature)
    x = tl.load(logits + row.to(tl.int64) * vocab + at, mask=at < vocab, other=-float("inf")).to(tl.float32) / divisor
    share = tl.exp(x - peak)
    cumulative = tl.cumsum(share, 0) + passed
    chosen = tl.max(tl.where((share > 0) & (cumulative - share <= target), tl.arange(0, BLOCK), -1), 0)
    best_block = tl.argmax(peak_b, 0)
    best = tl.load(places + row * blocks + best_block)
    first = block * BLOCK + tl.maximum(chosen, 0)
    token = tl.where(temperature == 0.0, best, first)
    score = tl.load(logits + row.to(tl.int64) * vocab + token).to(tl.float32) / divisor
    slot = tl.load(slots + row)
    tl.store(ids + row, token)
    tl.store(logprobs + row, score - peak - tl.log(total))
    if slot >= 0:
        tl.store(last + slot, token)

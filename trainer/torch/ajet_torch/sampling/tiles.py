"""Chooses how the products of a decoding step are cut, so that a few rows keep the whole GPU busy."""

from __future__ import annotations

from dataclasses import dataclass

from transformers import PreTrainedModel

from ..model import decoder_layers

TILE = 64
"""The number of rows that one product or one piece of attention takes at once."""


def power_of_two(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()


@dataclass(frozen=True)
class Tile:
    """The cut of a product: columns and depth of a block, parts of the depth, warps, and pipeline stages of the
    loads."""

    columns: int
    depth: int
    parts: int
    warps: int = 4
    stages: int = 4


def fit_columns(wanted: int, *ends: int) -> int:
    """Returns the largest power of two up to `wanted` that divides all ends. No block then crosses the border of a
    matrix."""
    while any(end % wanted for end in ends):
        wanted //= 2
    return wanted


def choose_tile(columns: int, depth: int, rows: int, ends: tuple[int, ...]) -> Tile:
    """Returns a tile with about two blocks for each multiprocessor of a large GPU. If the columns give fewer blocks,
    the depth is split."""
    width = fit_columns(64 if columns >= 4096 else 32, *ends)
    block_depth = min(128, max(16, power_of_two(depth) // 2 if depth < 128 else 128))
    blocks = columns // width * max(1, rows // TILE)
    parts = max(1, min(8, 264 // blocks, depth // (2 * block_depth)))
    return Tile(width, block_depth, parts)


def tiles_of(lm: PreTrainedModel, rows: int) -> dict[str, Tile]:
    layer = decoder_layers(lm)[0]
    sizes = [p.weight.shape[0] for p in (layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj)]
    hidden, inner = lm.config.hidden_size, layer.mlp.gate_proj.weight.shape[0]
    attended = layer.self_attn.o_proj.weight.shape[1]
    gate = Tile(fit_columns(32, inner), min(64, power_of_two(hidden)), 1)
    return {
        "qkv": choose_tile(sum(sizes), hidden, rows, (sizes[0], sizes[0] + sizes[1], sum(sizes))), "out": choose_tile(hidden, attended, rows, (hidden,)),
        "down": choose_tile(hidden, inner, rows, (hidden,)), "gate": gate,
    }

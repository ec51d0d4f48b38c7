"""Caches prompts. The new tokens of all slots are the rows of one pass, and a pass is a CUDA graph for its number of
rows.

cuBLAS computes the products, and a few Triton kernels a layer do the rest. The tokens of a slot are adjacent and begin
at a multiple of TOKENS rows, so that every tile of attention belongs to one slot. A table holds the lengths of the
prompts and how much of each is cached, so one graph serves prompts of any length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..lora import product_
from ..model import decoder_layers
from .prefill import PREFILL_TOKENS, Fill
from .slots import to_device
from .tiles import power_of_two

if TYPE_CHECKING:
    from .fused import FusedSteps

FEWEST_ROWS = 64
MOST_INNER = 1 << 25
"""The inner states of one pass, so that its buffers stay small at large models."""
GATED_BLOCK = 1024


def tile_tokens(repeat: int) -> int:
    """Returns the number of tokens in one tile of attention, if `repeat` query heads share a key-value head."""
    return 16 if repeat > 2 else 32


def lay_out(fills: list[Fill], tokens: int) -> np.ndarray:
    """Returns ids, slots and positions of the rows, [3, R] int32. Rows that pad a tile have the slot -1."""
    parts = []
    for fill in fills:
        count = fill.stop - fill.start
        part = np.zeros((3, -(-count // tokens) * tokens), np.int32)
        part[0, :count] = fill.prompt[fill.start : fill.stop]
        part[1] = -1
        part[1, :count] = fill.slot
        part[2, :count] = np.arange(fill.start, fill.stop)
        parts.append(part)
    return np.concatenate(parts, 1)


class FusedFill:
    def __init__(self, owner: FusedSteps) -> None:
        self.owner = owner
        self.tokens = tile_tokens(owner.heads // owner.kv_heads)
        fitting = MOST_INNER // owner.lm.config.intermediate_size
        self.most_rows = max(FEWEST_ROWS, min(PREFILL_TOKENS, 1 << (fitting.bit_length() - 1)))
        self.passes: dict[int, FillPass] = {}

    def run(self, fills: list[Fill]) -> None:
        """Queues as many passes as the rows need. A later pass may continue a prompt of an earlier one."""
        table = lay_out(fills, self.tokens)
        for start in range(0, table.shape[1], self.most_rows):
            part = table[:, start : start + self.most_rows]
            rows = max(FEWEST_ROWS, power_of_two(part.shape[1]))
            if rows not in self.passes:
                self.passes[rows] = FillPass(self.owner, rows, self.tokens)
            self.passes[rows].launch(part)


@dataclass
class FillBuffers:
    residual: torch.Tensor
    normed: torch.Tensor
    joint: torch.Tensor
    q: torch.Tensor
    merged: torch.Tensor
    added: torch.Tensor
    gate: torch.Tensor
    up: torch.Tensor
    ids: torch.Tensor


class FillPass:
    """One pass of `rows` rows. `table` has the ids, slots and positions that `lay_out` returns."""

    def __init__(self, owner: FusedSteps, rows: int, tokens: int) -> None:
        from . import decode_kernels, fill_kernels

        self.owner, self.rows, self.tokens = owner, rows, tokens
        self.decode_kernels, self.fill_kernels = decode_kernels, fill_kernels
        self.precision = "ieee" if owner.lm.dtype == torch.float32 else "tf32"
        self.table = torch.zeros(3, rows, dtype=torch.int32, device=owner.device)
        self.table[1].fill_(-1)
        self.buffers = self._allocate()
        self.graph: Any = owner.capture(self._run) if owner.graphs else None

    def _allocate(self) -> FillBuffers:
        owner, config, rows = self.owner, self.owner.lm.config, self.rows
        kind, hidden, inner, heads, size = owner.lm.dtype, config.hidden_size, config.intermediate_size, owner.heads, owner.head_dim

        def take(name: str, width: int) -> torch.Tensor:
            return owner.workspace.take(f"fill {name}", kind, rows, width)

        return FillBuffers(
            residual=take("residual", hidden), normed=take("normed", hidden), joint=take("joint", (heads + 2 * owner.kv_heads) * size), q=take("q", heads * size),
            merged=take("merged", heads * size), added=take("added", hidden), gate=take("gate", inner), up=take("up", inner),
            ids=owner.workspace.take("fill ids", torch.int32, rows),
        )

    def launch(self, part: np.ndarray) -> None:
        table = np.zeros((3, self.rows), np.int32)
        table[1] = -1
        table[:, : part.shape[1]] = part
        self.table.copy_(to_device(table, self.owner.device), non_blocking=True)
        if self.graph is not None:
            self.graph.replay()
        else:
            self._run()

    @torch.no_grad()
    def _run(self) -> None:
        owner, at = self.owner, self.buffers
        lm, hidden = owner.lm, owner.lm.config.hidden_size
        self.decode_kernels.embed_kernel[(self.rows,)](
            at.ids, self.table[1], self.table[0], owner.last, lm.get_input_embeddings().weight, at.residual, hidden, BLOCK=power_of_two(hidden),
        )
        num_parts, layers = 0, decoder_layers(lm)
        for index, layer in enumerate(layers):
            self._norm(layer.input_layernorm, num_parts)
            self._project(layer.self_attn, index)
            if index == len(layers) - 1:
                return  # the last layer is needed only for its keys and values
            self._attend(layer.self_attn, index)
            self._norm(layer.post_attention_layernorm, 1)
            self._feed_forward(layer.mlp)
            num_parts = 1

    def _norm(self, norm: Any, num_parts: int) -> None:
        at, hidden = self.buffers, self.owner.lm.config.hidden_size
        self.decode_kernels.add_norm_kernel[(self.rows,)](
            at.residual, at.added, norm.weight, at.normed, self.rows, hidden, norm.variance_epsilon, PARTS=num_parts, BLOCK=power_of_two(hidden), num_warps=8 if hidden > 1024 else 4,
        )

    def _project(self, attention: Any, index: int) -> None:
        at, start = self.buffers, 0
        for projection in (attention.q_proj, attention.k_proj, attention.v_proj):
            width = projection.weight.shape[0]
            product_(projection, at.normed, at.joint[:, start : start + width])
            start += width
        self.owner.rotate(attention, index, at.joint, 1, self.table[1], self.table[2], at.q)

    def _attend(self, attention: Any, index: int) -> None:
        owner, at = self.owner, self.buffers
        heads, kv_heads, size = owner.heads, owner.kv_heads, owner.head_dim
        keys, values = owner.cache.layers[index]
        repeat = heads // kv_heads
        block = power_of_two(max(16, self.tokens * repeat))
        self.fill_kernels.fill_attention_kernel[(self.rows // self.tokens, kv_heads)](
            at.q, keys, values, at.merged, self.table[1], self.table[2], owner.scale, keys.stride(0), keys.stride(1),
            H=heads, G=kv_heads, D=size, TOKENS=self.tokens, BM=block, BN=64, PRECISION=self.precision, num_warps=8 if block * size >= 128 * 128 else 4, num_stages=3,
        )
        product_(attention.o_proj, at.merged, at.added)

    def _feed_forward(self, mlp: Any) -> None:
        at = self.buffers
        gated_(mlp, at.normed, at.gate, at.up)
        product_(mlp.down_proj, at.gate, at.added)


def gated_(mlp: Any, x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> None:
    """Sets gate = silu(x gate^T) * (x up^T), with adapters."""
    from .fill_kernels import silu_product_kernel

    product_(mlp.gate_proj, x, gate)
    product_(mlp.up_proj, x, up)
    count = gate.numel()
    silu_product_kernel[(-(-count // GATED_BLOCK),)](gate, up, gate, count, BLOCK=GATED_BLOCK)

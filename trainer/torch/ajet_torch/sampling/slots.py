"""A key-value cache of fixed slots, and the attention plans that fill and read it.

A slot holds one sequence. Shapes never depend on what runs beside it: decoding always covers every slot, so a
sequence's numbers do not change with its neighbours, and the step can be captured as a CUDA graph.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


class SlotCache:
    """Per layer [B, Hkv, S, D]; made when the first layer writes, since only then its shapes are known."""

    def __init__(self, num_slots: int, num_tokens: int) -> None:
        self.shape = (num_slots, num_tokens)
        self.layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def at(self, layer: int, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if layer not in self.layers:
            num_slots, num_tokens = self.shape
            empty = [torch.zeros(num_slots, like.shape[1], num_tokens, like.shape[3], dtype=like.dtype, device=like.device) for _ in range(2)]
            self.layers[layer] = (empty[0], empty[1])
        return self.layers[layer]

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        for keys, values in self.layers.values():
            keys[target, :, :length] = keys[source, :, :length]
            values[target, :, :length] = values[source, :, :length]


@dataclass(frozen=True)
class PrefillPlan:
    """Tokens [start, start + n) of one slot: they see the slot's earlier tokens and one another causally."""

    cache: SlotCache
    slot: int
    start: int

    def attend(self, layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        keys, values = self.cache.at(layer.layer_idx, k)
        stop = self.start + q.shape[2]
        keys[self.slot, :, self.start : stop] = k[0]
        values[self.slot, :, self.start : stop] = v[0]
        shared = {"scale": scale, "enable_gqa": q.shape[1] != k.shape[1]}
        if self.start == 0 and (window is None or stop <= window):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, **shared)
        query = torch.arange(self.start, stop, device=q.device)[:, None]
        key = torch.arange(stop, device=q.device)[None]
        mask = (key <= query) & (query - key < (window or stop + 1))
        return F.scaled_dot_product_attention(q, keys[self.slot : self.slot + 1, :, :stop], values[self.slot : self.slot + 1, :, :stop], attn_mask=mask[None, None], **shared)


@dataclass(frozen=True)
class DecodePlan:
    """One token per slot at positions_B, among the first `length` cached tokens."""

    cache: SlotCache
    positions_B: torch.Tensor
    length: int

    def attend(self, layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        keys, values = self.cache.at(layer.layer_idx, k)
        rows = torch.arange(q.shape[0], device=q.device)
        keys[rows, :, self.positions_B] = k[:, :, 0]
        values[rows, :, self.positions_B] = v[:, :, 0]
        index = torch.arange(self.length, device=q.device)[None]
        mask = index <= self.positions_B[:, None]
        if window is not None:
            mask = mask & (self.positions_B[:, None] - index < window)
        num_slots, heads, _, dim = q.shape
        grouped = q.view(num_slots, k.shape[1], heads // k.shape[1], dim)
        out = F.scaled_dot_product_attention(grouped, keys[:, :, : self.length], values[:, :, : self.length], attn_mask=mask[:, None, None], scale=scale)
        return out.reshape(num_slots, heads, 1, dim)

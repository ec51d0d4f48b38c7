"""A key-value cache with a fixed number of slots, and the attention plans that write and read it.

A slot holds one sequence. A captured decoding step covers every slot, so its shape does not depend on how many slots
are in use.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

COPIED_AT_ONCE = 64
COPIED_BLOCK = 4096
SLOTS_ON_CPU = 64
MOST_SLOTS, FEWEST_SLOTS, CACHE_SHARE = 256, 8, 1 / 12


def fitting_slots(lm: Any, context_length: int, device: torch.device) -> int:
    """Returns the number of slots whose keys and values fit CACHE_SHARE of the GPU."""
    if device.type != "cuda":
        return SLOTS_ON_CPU
    config = lm.config
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    slot_bytes = 2 * config.num_hidden_layers * heads * dim * context_length * lm.dtype.itemsize
    room = torch.cuda.get_device_properties(device).total_memory * CACHE_SHARE
    return int(max(FEWEST_SLOTS, min(MOST_SLOTS, room // slot_bytes)))


class SlotCache:
    """The cache of one layer is [B, Hkv, S + 1, D]. It is made at the first write, because its shape is not known
    before.

    The last position, `spare`, takes the values of padding. No query reads it.
    """

    def __init__(self, num_slots: int, num_tokens: int) -> None:
        self.num_slots = num_slots
        self.spare = num_tokens
        self.layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self.together: torch.Tensor | None = None

    def hold_together(self, num_layers: int, like: torch.Tensor) -> None:
        """Allocates all layers as one tensor, [L, 2, B, Hkv, S + 1, D], so that one kernel copies the prefixes of all
        layers."""
        sizes = (num_layers, 2, self.num_slots, like.shape[1], self.spare + 1, like.shape[3])
        self.together = torch.zeros(sizes, dtype=like.dtype, device=like.device)
        self.layers = {layer: (self.together[layer, 0], self.together[layer, 1]) for layer in range(num_layers)}

    def at(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the keys and values of a layer. `keys` and `values` are examples of the entries, and they may differ
        in width."""
        if layer not in self.layers:
            empty = [torch.zeros(self.num_slots, like.shape[1], self.spare + 1, like.shape[3], dtype=like.dtype, device=like.device) for like in (keys, values)]
            self.layers[layer] = (empty[0], empty[1])
        return self.layers[layer]

    def copy_prefixes(self, copies: list[tuple[int, int, int]]) -> None:
        """Makes each copy (source, target, length): the first `length` tokens of the source go to the target. No slot
        may be both a source and a target."""
        if self.together is not None:
            self._copy_all_layers(self.together, np.asarray(copies, np.int32).reshape(-1, 3))
            return
        for length in {length for _, _, length in copies}:
            alike = [copy for copy in copies if copy[2] == length]
            for start in range(0, len(alike), COPIED_AT_ONCE):
                sources, targets, _ = zip(*alike[start : start + COPIED_AT_ONCE])
                for tensor in (tensor for layer in self.layers.values() for tensor in layer):
                    tensor[list(targets), :, :length] = tensor[list(sources), :, :length]

    def _copy_all_layers(self, cache: torch.Tensor, copies: np.ndarray) -> None:
        if len(copies) == 0:
            return
        from .fill_kernels import copy_kernel

        layers, _, _, heads, _, size = cache.shape
        table = to_device(np.ascontiguousarray(copies.T), cache.device)
        blocks = min(64, -(-int(copies[:, 2].max()) * size // COPIED_BLOCK))
        copy_kernel[(len(copies), layers * 2 * heads, blocks)](
            cache, table, len(copies), cache.stride(1), cache.stride(2), cache.stride(3), G=heads, D=size, BLOCK=COPIED_BLOCK,
        )

    def clear(self) -> None:
        self.layers.clear()
        self.together = None


def to_device(values: np.ndarray, device: torch.device) -> torch.Tensor:
    """Sends an array without waiting for the device. PyTorch does not reuse page-locked memory while the device reads
    it."""
    host = torch.from_numpy(values)
    return host if device.type == "cpu" else host.pin_memory().to(device, non_blocking=True)


def grouped_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor, scale: float) -> torch.Tensor:
    """Computes attention of q [B, H, N, D] over k and v [B, Hkv, S, D]. The heads that share a key-value head become
    queries of one head, so no key or value is repeated."""
    grouped = q.reshape(q.shape[0], k.shape[1], -1, q.shape[3])
    return F.scaled_dot_product_attention(grouped, k, v, attn_mask=bias, scale=scale).reshape(*q.shape[:3], v.shape[3])


@dataclass
class Sight:
    """Computes which of the first `length` positions each of positions_BN sees, as the bias that attention adds. All
    layers use the same bias."""

    positions_BN: torch.Tensor
    length: int
    made: dict[int | None, torch.Tensor] = field(default_factory=dict)

    def bias(self, q: torch.Tensor, kv_heads: int, window: int | None) -> torch.Tensor:
        """Returns the bias, [B, 1, H / Hkv x N, length]."""
        if window not in self.made:
            index = torch.arange(self.length, device=q.device)
            visible = index <= self.positions_BN[..., None]
            if window is not None:
                visible = visible & (self.positions_BN[..., None] - index < window)
            bias_BNS = torch.zeros(visible.shape, dtype=q.dtype, device=q.device).masked_fill(~visible, -torch.inf)
            self.made[window] = bias_BNS.repeat(1, q.shape[1] // kv_heads, 1)[:, None]
        return self.made[window]


class PrefillPlan:
    """Caches new tokens of slots_B, [B, N] with padding at the end. Padding has the position `spare`. Each token sees
    the tokens that its slot holds before it. `stop` is greater than every position. If `fresh` is set, every slot
    starts empty."""

    def __init__(self, cache: SlotCache, slots_B: torch.Tensor, positions_BN: torch.Tensor, stop: int, fresh: bool) -> None:
        self.cache = cache
        self.slots_B = slots_B
        self.positions_BN = positions_BN
        self.sight = Sight(positions_BN.clamp(max=stop - 1), stop)
        self.fresh = fresh

    def attend(self, layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        keys, values = self.cache.at(layer.layer_idx, k, v)
        keys[self.slots_B[:, None], :, self.positions_BN] = k.transpose(1, 2)
        values[self.slots_B[:, None], :, self.positions_BN] = v.transpose(1, 2)
        stop = self.sight.length
        if self.fresh and (window is None or stop <= window):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale, enable_gqa=q.shape[1] != k.shape[1])
        held_keys, held_values = keys[self.slots_B, :, :stop], values[self.slots_B, :, :stop]
        return grouped_attention(q, held_keys, held_values, self.sight.bias(q, k.shape[1], window), scale)


class DecodePlan:
    """Adds one token per slot at positions_B, which sees the first `length` cached tokens. The plan covers all slots,
    or only `slots_B`."""

    def __init__(self, cache: SlotCache, positions_B: torch.Tensor, length: int, slots_B: torch.Tensor | None = None) -> None:
        self.cache = cache
        self.positions_B = positions_B
        self.slots_B = slots_B
        self.rows_B = torch.arange(len(positions_B), device=positions_B.device) if slots_B is None else slots_B
        self.sight = Sight(positions_B[:, None], length)

    def attend(self, layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        keys, values = self.cache.at(layer.layer_idx, k, v)
        keys[self.rows_B, :, self.positions_B] = k[:, :, 0]
        values[self.rows_B, :, self.positions_B] = v[:, :, 0]
        held_keys, held_values = keys[:, :, : self.sight.length], values[:, :, : self.sight.length]
        if self.slots_B is not None:
            held_keys, held_values = held_keys[self.slots_B], held_values[self.slots_B]
        return grouped_attention(q, held_keys, held_values, self.sight.bias(q, k.shape[1], window), scale)

"""Attention over a token tree, under the name `ajet` in transformers' registry of attention functions.

A model calls the function in every layer with the queries and keys of that layer. The keyword `plan`, which the model
passes on unchanged, determines which tokens each token sees. Every family that transformers loads can therefore use
this file. Every plan has the invariant visible(q, k) iff k <= q < ends[k] (and position[q] - position[k] < window, if a
layer has a window).
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import BlockMask, flex_attention
from transformers import AttentionInterface

from .bins import LONGEST_TREE, BinsPlan, build_bins_plan, cut_bins
from .errors import WorkerError
from .flash4 import FlashPlan, is_available as flash4_is_available
from .pack import merge_padding, move_together, row_starts

try:
    from torch.nn.attention.varlen import varlen_attn
except ImportError:  # before PyTorch 2.10
    varlen_attn = None
_VARLEN_PARAMETERS = frozenset(inspect.signature(varlen_attn).parameters) if varlen_attn else frozenset()

ATTENTION_NAME = "ajet"
BLOCK = 128


class AttentionPlan(Protocol):
    def attend(self, layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        """q [1, H, N, D], k and v [1, Hkv, N, D]; returns [1, H, N, D]."""
        ...


@dataclass(frozen=True)
class DensePlan:
    """A full mask. It is exact on any device and in any precision, and needs N x N memory. Tests compare the other
    plans with it."""

    mask: torch.Tensor
    windowed: torch.Tensor | None

    def attend(self, layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        mask = self.mask if window is None or self.windowed is None else self.windowed
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=q.shape[1] != k.shape[1])


@dataclass(frozen=True)
class FlexPlan:
    """FlexAttention with a block map built from the intervals. A compiled layer calls it."""

    mask: BlockMask
    windowed: BlockMask | None

    def attend(self, layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        mask = self.mask if window is None or self.windowed is None else self.windowed
        return flex_attention(q, k, v, block_mask=mask, scale=scale, enable_gqa=q.shape[1] != k.shape[1])


@dataclass(frozen=True)
class CausalPlan:
    """The plan for one row that fills the pack. It uses the plain causal kernel."""

    def attend(self, layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale, enable_gqa=q.shape[1] != k.shape[1])


@dataclass(frozen=True)
class ShapePlan:
    """The plan for tensors on the meta device, which have a shape but no values."""

    def attend(self, layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        return q.new_empty(*q.shape[:-1], v.shape[-1])


def _varlen_options(window: int | None) -> dict[str, Any]:
    """Returns the arguments for causal attention in the installed release. Older releases do not support a window, and
    accept grouped queries without a flag."""
    causal = {"window_size": (-1 if window is None else window - 1, 0)} if "window_size" in _VARLEN_PARAMETERS else {"is_causal": True}
    return causal | ({"enable_gqa": True} if "enable_gqa" in _VARLEN_PARAMETERS else {})


@dataclass(frozen=True)
class RowsPlan:
    """The plan for rows that share no tokens. It uses variable-length flash attention. Empty rows pad `starts` to one
    of a few lengths, because each length is compiled separately."""

    starts: torch.Tensor
    max_length: int

    def attend(self, layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        heads_last = [x[0].transpose(0, 1) for x in (q, k, v)]
        out = varlen_attn(*heads_last, self.starts, self.starts, self.max_length, self.max_length, scale=scale, **_varlen_options(window))
        return out.transpose(0, 1)[None]


LIBRARY_PLANS = (DensePlan, CausalPlan, BinsPlan)
"""The plans of fused layers. Their kernels are not compiled."""
IGNORED = frozenset({"position_ids", "use_cache", "output_attentions", "output_hidden_states", "return_dict", "cache_position"})
"""Arguments that are ignored. Layers pass them to every attention function, but no attention function of transformers
uses them in training."""


def attend(
    layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, attention_mask: Any, scaling: float | None = None,
    plan: AttentionPlan | None = None, dropout: float = 0.0, sliding_window: int | None = None, is_causal: bool | None = None, **others: Any,
) -> tuple[torch.Tensor, None]:
    """Computes attention; transformers' registry calls it. It has transformers' signature and returns [1, N, H, D].
    Raises `unsupported_model` for arguments that no plan computes."""
    if plan is None:
        raise _refuse(layer, "does not pass the worker's plan to its attention")
    unknown = sorted(name for name, value in others.items() if name not in IGNORED and value is not None)
    if unknown:
        raise _refuse(layer, f"gives its attention {unknown[0]!r}, which token trees do not compute")
    if attention_mask is not None or is_causal is False or dropout:
        raise _refuse(layer, "gives its attention " + ("a mask that it made itself" if attention_mask is not None else "dropout" if dropout else "is_causal=False"))
    scale = q.shape[-1] ** -0.5 if scaling is None else scaling
    return plan.attend(layer, q, k, v, scale, sliding_window).transpose(1, 2).contiguous(), None


def _refuse(layer: nn.Module, what: str) -> WorkerError:
    return WorkerError("unsupported_model", f"{type(layer).__name__} {what}. Use another family (Qwen2, Qwen3, Llama, Mistral).")


AttentionInterface.register(ATTENTION_NAME, attend)


@dataclass(frozen=True)
class PlanOptions:
    """`kind`: `auto` is dense on a CPU. On a GPU it is flash4 if that is installed, and otherwise the causal kernel for
    one row and flex for the rest. (On an H200 flex was faster than variable-length flash attention, which is `rows`.)
    `window` is the model's smallest. `fused` is the dtype of layers that are not compiled (`fused_layers.py`): with
    them, `auto` puts trees into bins, except long trees.
    """

    device: torch.device
    kind: str = "auto"
    window: int | None = None
    fused: torch.dtype | None = None


def check_attention(kind: str, device: torch.device) -> None:
    """Raises `bad_request` if the device has no such kernels."""
    if kind == "flex" and device.type != "cuda":
        raise WorkerError("bad_request", "torch.attention 'flex' needs a GPU, and this run computes on the CPU. Set torch.attention to 'auto'.")
    if kind == "flash4" and not flash4_is_available():
        raise WorkerError("bad_request", "torch.attention 'flash4' needs a GPU of compute capability 9 or 10, and the package flash-attn-4 in the worker's environment. Install it, or set torch.attention to 'auto'.")


def build_plan(ends: np.ndarray, positions: np.ndarray, num_tokens: int, options: PlanOptions) -> AttentionPlan:
    """Returns the plan for one padded pack. `num_tokens` tokens are real; the rest is padding."""
    window = options.window if options.window is not None and int(positions.max()) >= options.window else None
    if options.fused is not None and options.kind == "auto":
        bins = cut_bins(ends, num_tokens)
        if bins.longest <= LONGEST_TREE:
            return build_bins_plan(ends, bins, options.device, options.fused)
    if options.kind == "dense" or (options.kind == "auto" and options.device.type == "cpu"):
        return build_dense_plan(ends, positions, options.device, window)
    starts = None if options.kind == "flex" else row_starts(ends)
    alone = starts is not None and starts[1] >= num_tokens
    if window is None and (options.kind == "flash4" or (options.kind == "auto" and flash4_is_available())):
        return FlashPlan([]) if alone else build_flash_plan(ends, options.device)
    if starts is None or (options.kind == "auto" and not alone):
        return build_flex_plan(ends, positions, options.device, window)
    if alone and window is None:
        return CausalPlan()
    starts = merge_padding(starts, num_tokens)
    return build_rows_plan(starts, options.device)


def build_dense_plan(ends: np.ndarray, positions: np.ndarray, device: torch.device, window: int | None) -> DensePlan:
    index = np.arange(len(ends))
    visible = (index[None, :] <= index[:, None]) & (index[:, None] < ends[None, :])
    mask = torch.from_numpy(visible)[None, None].to(device)
    if window is None:
        return DensePlan(mask, None)
    near = torch.from_numpy(positions[:, None] - positions[None, :] < window).to(device)
    return DensePlan(mask, mask & near)


def build_rows_plan(starts: np.ndarray, device: torch.device) -> RowsPlan:
    num_rows = max(8, 1 << int(len(starts) - 2).bit_length())
    padded = np.full(num_rows + 1, starts[-1], np.int32)
    padded[: len(starts)] = starts
    longest = int(np.diff(starts).max())
    return RowsPlan(torch.from_numpy(padded).to(device), 1 << (longest - 1).bit_length())


def build_flex_plan(ends: np.ndarray, positions: np.ndarray, device: torch.device, window: int | None) -> FlexPlan:
    ends_N = torch.from_numpy(ends.astype(np.int32)).to(device)
    full, partial = block_map(ends)
    plain = _block_mask(full, partial, len(ends), device, lambda b, h, q, k: (k <= q) & (q < ends_N[k]))
    if window is None:
        return FlexPlan(plain, None)
    positions_N = torch.from_numpy(positions.astype(np.int32)).to(device)
    windowed = _block_mask(
        np.zeros_like(full), full | partial, len(ends), device,
        lambda b, h, q, k: (k <= q) & (q < ends_N[k]) & (positions_N[q] - positions_N[k] < window),
    )
    return FlexPlan(plain, windowed)


def block_map(ends: np.ndarray, block: int = BLOCK) -> tuple[np.ndarray, np.ndarray]:
    """Returns two boolean maps [query block, key block]: the blocks that are wholly visible, and the blocks that must
    be masked element by element.

    The maps follow from the least and greatest `ends` of a key block K before query block [q0, q1): full iff min >= q1,
    empty iff max <= q0, else partial; the diagonal is partial (the interval rule of the tree layout).
    """
    num = len(ends) // block
    by_block = ends.reshape(num, block)
    least, greatest = by_block.min(1), by_block.max(1)
    first = np.arange(num) * block
    before = np.tri(num, k=-1, dtype=bool)
    full = before & (least[None, :] >= (first + block)[:, None])
    partial = before & ~full & (greatest[None, :] > first[:, None])
    np.fill_diagonal(partial, True)
    return full, partial


def build_flash_plan(ends: np.ndarray, device: torch.device) -> FlashPlan:
    full, partial = block_map(ends)
    tables = [table[None, None] for chosen in (partial, full, partial.T, full.T) for table in _block_table(chosen)]
    return FlashPlan(move_together([ends.astype(np.int32), *tables], device))


def _block_mask(full: np.ndarray, partial: np.ndarray, length: int, device: torch.device, mask_mod: Any) -> BlockMask:
    """Returns the block map. Copies its tables out of the buffer in which they were transferred. Otherwise the compiler
    would treat their offsets in the buffer as fixed sizes, and compile again for every pack with other offsets."""
    tables = [*_block_table(partial), *_block_table(full)]
    moved = [table.clone() for table in move_together([table[None, None] for table in tables], device)]
    return BlockMask.from_kv_blocks(*moved, BLOCK_SIZE=BLOCK, mask_mod=mask_mod, seq_lengths=(length, length))


def _block_table(chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns how many key blocks each query block has, and their indices with those key blocks first, in order."""
    return chosen.sum(1).astype(np.int32), np.argsort(~chosen, axis=1, kind="stable").astype(np.int32)

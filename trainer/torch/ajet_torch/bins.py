"""Attention over the trees of a pack with the kernels of a library, so that nothing is compiled.

Trees of a pack do not see each other. Consecutive trees share a bin, and each bin has the length of the longest tree.
One call computes all bins, with a mask for each. So the time grows with the length of the longest tree, and not with the
length of the pack.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from .pack import move_together

LONGEST_TREE = 8192
"""A pack with a longer tree is compiled. Compiled attention skips the blocks that a token does not see, and this file computes
them under a mask. If all prompts have a common beginning, the whole pack is one tree."""
ALIGNMENT = 64


@dataclass(frozen=True)
class Bins:
    """`starts` are the first tokens of the bins, with the number of tokens appended. No tree has more than `longest` tokens."""

    starts: np.ndarray
    longest: int


def cut_bins(ends: np.ndarray, num_tokens: int) -> Bins:
    """Cuts the first `num_tokens` tokens, and leaves out the rest, which is padding. `ends` [N] says where the subtree of
    each token ends."""
    trees = [0]
    while trees[-1] < num_tokens:
        trees.append(int(ends[trees[-1]]))
    longest = int(np.diff(trees).max())
    starts = [0]
    for tree, stop in zip(trees, trees[1:]):
        if stop - starts[-1] > longest:
            starts.append(tree)
    return Bins(np.asarray([*starts, num_tokens]), longest)


@dataclass(frozen=True)
class BinsPlan:
    """`source` [B x L] is the token at each place of the bins, and `place` [N] the place of each token. `mask` [B, 1, L, L]
    is added to the scores."""

    source: torch.Tensor
    place: torch.Tensor
    mask: torch.Tensor

    def attend(self, layer: nn.Module, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, window: int | None) -> torch.Tensor:
        num_bins, _, length, _ = self.mask.shape
        repeat = q.shape[1] // k.shape[1]
        at = [x[0].index_select(1, self.source).unflatten(1, (num_bins, length)) for x in (q, k, v)]
        queries, keys, values = (x if len(x) == q.shape[1] else x[:, None].expand(-1, repeat, -1, -1, -1).flatten(0, 1) for x in at)  # this kernel takes no groups
        with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
            out = F.scaled_dot_product_attention(*(x.transpose(0, 1) for x in (queries, keys, values)), attn_mask=self.mask, scale=scale)
        return out.transpose(0, 1).flatten(1, 2).index_select(1, self.place)[None]


def build_bins_plan(ends: np.ndarray, bins: Bins, device: torch.device, dtype: torch.dtype) -> BinsPlan:
    length = -(-bins.longest // ALIGNMENT) * ALIGNMENT
    tokens = bins.starts[:-1, None] + np.arange(length)
    is_real = tokens < bins.starts[1:, None]
    empty = len(ends) + np.arange(tokens.size).reshape(tokens.shape)  # a place without a token sees only itself
    index = np.where(is_real, tokens, empty)
    stop = np.where(is_real, ends[np.minimum(tokens, len(ends) - 1)], empty + 1)
    place = np.zeros(len(ends), np.int64)
    place[tokens[is_real]] = np.flatnonzero(is_real)
    source = np.where(is_real, tokens, 0).reshape(-1).astype(np.int64)
    source_S, place_N, index_BL, stop_BL = move_together([source, place, index.astype(np.int32), stop.astype(np.int32)], device)
    keys = index_BL[:, None, None, :]
    is_visible = (keys <= index_BL[:, None, :, None]) & (index_BL[:, None, :, None] < stop_BL[:, None, None, :])
    mask = torch.zeros(is_visible.shape, dtype=dtype, device=device).masked_fill_(~is_visible, -torch.inf)
    return BinsPlan(source_S, place_N, mask)

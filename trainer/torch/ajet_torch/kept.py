"""The tokens that top-p and top-k kept when answers were sampled (core's KeptTokens).

Sets are computed from the weights that a batch begins with, and stay the same in all its optimizer steps. The logit of
a token outside of the set becomes `HIDDEN`. This value is so far below all other logits that probability and gradient
are 0. It is finite, so no result is nan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable

import numpy as np
import torch

from .sampling.choose import truncate

HIDDEN = -1e20
WHOLE, OUTSIDE = -1, -2
"""These values of KeptTokens.set mean that nothing was cut (WHOLE), or that the token is outside of the recomputed set
(OUTSIDE)."""


@dataclass(frozen=True)
class Truncation:
    """top_p 1 and top_k 0 keep all."""

    top_p: float = 1.0
    top_k: int = 0

    @property
    def cuts(self) -> bool:
        return self.top_p < 1 or self.top_k > 0


@dataclass(frozen=True)
class KeptTokens:
    """set [K] is the set of each term, or WHOLE or OUTSIDE; set s is ids[starts[s]:starts[s + 1]], ascending."""

    set: np.ndarray
    starts: np.ndarray
    ids: np.ndarray

    def to_wire(self) -> dict[str, bytes]:
        return {name: getattr(self, name).astype(np.int32).tobytes() for name in ("set", "starts", "ids")}


@dataclass(frozen=True)
class KeptRows:
    """The sets of KeptTokens by row of the head. `starts` [U + 1], on the host, says where the entries of each row
    begin in row_E and ids_E. is_cut_U marks rows that have a set."""

    starts: np.ndarray
    row_E: torch.Tensor
    ids_E: torch.Tensor
    is_cut_U: torch.Tensor

    def hide_(self, logits_UV: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Hides, in rows [start, stop), the tokens outside of each row's set."""
        hidden_UV = self.is_cut_U[start:stop, None].repeat(1, logits_UV.shape[1])
        entries = slice(int(self.starts[start]), int(self.starts[stop]))
        hidden_UV[self.row_E[entries] - start, self.ids_E[entries]] = False
        return logits_UV.masked_fill_(hidden_UV, HIDDEN)


def is_hidden(logprob: torch.Tensor) -> torch.Tensor:
    return logprob < HIDDEN / 1e10


@torch.no_grad()
def cut_rows(logits: Iterable[torch.Tensor], is_cut_U: torch.Tensor, truncation: Truncation) -> KeptRows:
    """Cuts logits at the rows' temperatures, in consecutive pieces [n, V], as the builtin sampler does: top-k, then
    top-p of the rest."""
    rows, ids, begun = [], [], 0
    for scaled_NV in logits:
        is_cut = is_cut_U[begun : begun + len(scaled_NV)]
        kept_NV = _kept(scaled_NV, truncation) & is_cut[:, None]
        row, token = kept_NV.nonzero(as_tuple=True)
        rows.append(row + begun)
        ids.append(token)
        begun += len(scaled_NV)
    row_E = torch.cat(rows)
    starts = np.concatenate([[0], np.cumsum(torch.bincount(row_E, minlength=len(is_cut_U)).cpu().numpy())])
    return KeptRows(starts, row_E, torch.cat(ids), is_cut_U)


def _kept(scaled_NV: torch.Tensor, truncation: Truncation) -> torch.Tensor:
    in_order, order = torch.sort(scaled_NV, dim=-1, descending=True, stable=True)
    ones = torch.ones(len(scaled_NV), device=scaled_NV.device, dtype=torch.float64)
    left = truncate(in_order, ones == 0, ones * truncation.top_k, ones * truncation.top_p)
    return torch.zeros_like(scaled_NV, dtype=torch.bool).scatter_(1, order, left > -torch.inf)


def to_terms(rows: KeptRows, row_K: np.ndarray, is_outside_K: np.ndarray) -> KeptTokens:
    """Maps sets per row to sets per term. Messages number the sets in the order of the rows that have one."""
    is_cut = rows.is_cut_U.cpu().numpy()
    number = np.where(is_cut, np.cumsum(is_cut) - 1, WHOLE)
    lengths = np.diff(rows.starts)[is_cut]
    return KeptTokens(np.where(is_outside_K, OUTSIDE, number[row_K]), np.concatenate([[0], np.cumsum(lengths)]), rows.ids_E.cpu().numpy())

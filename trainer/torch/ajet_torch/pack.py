"""Holds a token tree in packed form, on the host and on the device.

The layout is that of core's TreePack: segments in depth-first preorder, `visible(q, k) iff k <= q < ends[k]`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Mapping

import numpy as np
import torch

from .errors import WorkerError
from .head import Pairs
from .kept import OUTSIDE, WHOLE, KeptRows, KeptTokens

ALIGNMENT = 128
"""The alignment in bytes of each array in a transfer of several."""
INT_FIELDS = ("ids", "positions", "ends", "predictors", "targets")
TERM_FIELDS = (("pair", np.int32), ("sequence", np.int32), ("weights", np.float32), ("advantages", np.float32), ("logprobs", np.float32))
OPTIONAL_FIELDS = ("proximal", "temperatures")


@dataclass(frozen=True)
class LossTerms:
    """One entry per supervised token of a row, all of shape [K]; see core's LossTerms."""

    pair: np.ndarray
    sequence: np.ndarray
    weights: np.ndarray
    advantages: np.ndarray
    logprobs: np.ndarray
    proximal: np.ndarray | None = None
    temperatures: np.ndarray | None = None
    kept: KeptTokens | None = None


@dataclass(frozen=True)
class TreePack:
    """Worked example: rows [5,6,7] and [5,6,8] share [5,6], and their last tokens are supervised (weight 1/2 each): ids
    [5,6,7,8], positions [0,1,2,2], ends [4,4,3,4], predictors [1,1], targets [7,8], terms pair [0,1], sequence [0,1],
    weights [.5,.5], advantages [1,-1], logprobs [-.2,-1.6]; row_tokens 6.
    """

    ids: np.ndarray
    positions: np.ndarray
    ends: np.ndarray
    predictors: np.ndarray
    targets: np.ndarray
    terms: LossTerms
    row_tokens: int

    @property
    def num_tokens(self) -> int:
        return len(self.ids)


def parse_pack(message: Mapping[str, Any], vocab_size: int) -> TreePack:
    """Reads a pack from its wire form (little-endian bytes). Raises `bad_batch` naming a field that is not valid."""
    ints = {name: np.frombuffer(message[name], np.int32) for name in INT_FIELDS}
    optional = {name: message["terms"][name] for name in OPTIONAL_FIELDS if message["terms"].get(name) is not None}
    terms = LossTerms(
        **{name: np.frombuffer(message["terms"][name], dtype) for name, dtype in TERM_FIELDS},
        **{name: np.frombuffer(values, np.float32) for name, values in optional.items()},
        kept=parse_kept(message["terms"].get("kept")),
    )
    pack = TreePack(**ints, terms=terms, row_tokens=int(message["row_tokens"]))
    check_pack(pack, vocab_size)
    return pack


def parse_kept(message: Mapping[str, bytes] | None) -> KeptTokens | None:
    return None if message is None else KeptTokens(*(np.frombuffer(message[name], np.int32) for name in ("set", "starts", "ids")))


def check_kept(kept: KeptTokens, num_terms: int, vocab_size: int) -> None:
    starts = kept.starts
    _require(len(kept.set) == num_terms, "terms.kept.set", f"must have the length of the terms ({num_terms})")
    _require(len(starts) > 0 and starts[0] == 0 and starts[-1] == len(kept.ids) and bool(np.all(np.diff(starts) > 0)), "terms.kept.starts", "must rise from 0 to the number of ids")
    _require(_within(kept.set, OUTSIDE, len(starts) - 1), "terms.kept.set", f"must lie in [{OUTSIDE}, {len(starts) - 1})")
    _require(_within(kept.ids, 0, vocab_size), "terms.kept.ids", f"must lie in [0, {vocab_size})")


def check_pack(pack: TreePack, vocab_size: int) -> None:
    """Raises `bad_batch` for a pack that would read outside its arrays or the vocabulary."""
    num = pack.num_tokens
    _require(num > 0, "ids", "is empty")
    _require(len(pack.positions) == num and len(pack.ends) == num, "positions and ends", f"must have the length of ids ({num})")
    _require(_within(pack.ids, 0, vocab_size), "ids", f"must lie in [0, {vocab_size})")
    _require(_within(pack.positions, 0, 1 << 30), "positions", "must not be negative")
    _require(bool(np.all(pack.ends > np.arange(num))) and _within(pack.ends, 1, num + 1), "ends", "must lie in (index, N]")
    _require(len(pack.predictors) == len(pack.targets), "predictors and targets", "must have one length")
    _require(_within(pack.predictors, 0, num), "predictors", f"must lie in [0, {num})")
    _require(_within(pack.targets, 0, vocab_size), "targets", f"must lie in [0, {vocab_size})")
    _require(_within(pack.terms.pair, 0, len(pack.targets)), "terms.pair", f"must lie in [0, {len(pack.targets)})")
    lengths = {len(getattr(pack.terms, name)) for name, _ in TERM_FIELDS}
    lengths |= {len(values) for name in OPTIONAL_FIELDS if (values := getattr(pack.terms, name)) is not None}
    _require(len(lengths) == 1, "terms", f"must have one length, got {sorted(lengths)}")
    if pack.terms.kept is not None:
        check_kept(pack.terms.kept, len(pack.terms.pair), vocab_size)


def _within(values: np.ndarray, low: int, high: int) -> bool:
    return len(values) == 0 or (int(values.min()) >= low and int(values.max()) < high)


def _require(holds: bool, field: str, what: str) -> None:
    if not holds:
        raise WorkerError("bad_batch", f"A pack of the batch cannot be trained: {field} {what}.")


def padded_length(num_tokens: int, max_pack_tokens: int, block: int = 128) -> int:
    """Returns the next of eight sizes up to max_pack_tokens (then further in the same stride), so that few shapes are
    compiled."""
    stride = max(block, -(-max_pack_tokens // (8 * block)) * block)
    return -(-num_tokens // stride) * stride


def pad_pack(pack: TreePack, length: int) -> TreePack:
    """Appends padding that sees only itself: id 0, position 0, ends i + 1, no term."""
    extra = length - pack.num_tokens
    if extra == 0:
        return pack
    zeros = np.zeros(extra, np.int32)
    own_ends = np.arange(pack.num_tokens + 1, length + 1, dtype=np.int32)
    return replace(
        pack,
        ids=np.concatenate([pack.ids, zeros]),
        positions=np.concatenate([pack.positions, zeros]),
        ends=np.concatenate([pack.ends, own_ends]),
    )


def row_starts(ends: np.ndarray) -> np.ndarray | None:
    """Returns starts of the documents if no two rows share anything, with the total length appended. Returns None for a
    real tree."""
    starts = [0]
    while starts[-1] < len(ends):
        start = starts[-1]
        end = int(ends[start])
        if not np.all(ends[start:end] == end):
            return None
        starts.append(end)
    return np.asarray(starts, np.int32)


def merge_padding(starts: np.ndarray, num_tokens: int) -> np.ndarray:
    """Returns document starts of a padded pack with all padding as one document, because no token reads what padding
    sees."""
    real = starts[starts < num_tokens]
    return np.concatenate([real, np.unique([num_tokens, starts[-1]])]).astype(np.int32)


@dataclass(frozen=True)
class DeviceTerms:
    pair_K: torch.Tensor
    sequence_K: torch.Tensor
    weights_K: torch.Tensor
    advantages_K: torch.Tensor
    logprobs_K: torch.Tensor
    proximal_K: torch.Tensor | None = None
    is_outside_K: torch.Tensor | None = None


@dataclass(frozen=True)
class DevicePack:
    """`predictors_U` are unique and sorted, and pairs are sorted by their predictor. `terms.pair_K` points into the
    sorted pairs.

    If terms have their own temperatures or sets of kept tokens, predictors are unique together with these. `inverse_U`
    holds 1 / temperature. `is_drawn_U` marks rows whose tokens were not sampled greedily.
    """

    ids_N: torch.Tensor
    positions_N: torch.Tensor
    predictors_U: torch.Tensor
    pairs: Pairs
    terms: DeviceTerms
    inverse_U: torch.Tensor | None = None
    is_drawn_U: torch.Tensor | None = None
    sets: KeptRows | None = None


def to_device(pack: TreePack, device: torch.device, dtype: torch.dtype) -> DevicePack:
    """Moves a pack. The loss is computed in float64 if the layers are (`dtype`), and otherwise in float32."""
    terms, number = pack.terms, np.float64 if dtype == torch.float64 else np.float32
    pairs = plain_pairs(pack) if terms.temperatures is None and terms.kept is None else mixed_pairs(pack)
    order = np.argsort(pairs.row, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    ints = [pack.ids, pack.positions, pairs.predictors, pairs.row[order], pairs.targets[order], rank[pairs.of_term], terms.sequence]
    optional = [x for x in (pairs.inverses, terms.proximal) if x is not None]
    reals = [*optional, terms.weights, terms.advantages, terms.logprobs]
    marks = [] if pairs.sets is None else row_sets(pairs.sets, terms.kept)
    outside = [] if terms.kept is None else [terms.kept.set == OUTSIDE]
    arrays = [*(x.astype(np.int64) for x in ints), *(x.astype(number) for x in reals), *marks, *outside]
    ids, positions, unique, rows, targets, pair, sequence, *rest = move_together(arrays, device)
    floats, flags = rest[: len(reals)], rest[len(reals) :]
    weights, advantages, logprobs = floats[-3:]
    return DevicePack(
        ids_N=ids, positions_N=positions, predictors_U=unique, pairs=Pairs(rows, targets, pairs.row[order]),
        terms=DeviceTerms(pair, sequence, weights, advantages, logprobs, None if terms.proximal is None else floats[-4], flags[-1] if outside else None),
        inverse_U=None if pairs.inverses is None else floats[0], is_drawn_U=flags[0] if marks else None,
        sets=None if terms.kept is None else KeptRows(row_starts_of_sets(pairs.sets, terms.kept), flags[1], flags[2], flags[0]),
    )


def row_sets(sets_U: np.ndarray, kept: KeptTokens | None) -> list[np.ndarray]:
    """Returns is_cut [U] and, with kept tokens, the row and the id of each entry, [E]."""
    is_cut = sets_U != WHOLE
    if kept is None:
        return [is_cut]
    lengths = np.diff(row_starts_of_sets(sets_U, kept))
    rows = np.repeat(np.arange(len(sets_U)), lengths)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return [is_cut, rows.astype(np.int64), kept.ids[kept.starts[sets_U[rows]] + within].astype(np.int64)]


def row_starts_of_sets(sets_U: np.ndarray, kept: KeptTokens) -> np.ndarray:
    lengths = np.where(sets_U == WHOLE, 0, np.diff(kept.starts, append=0)[np.maximum(sets_U, 0)])
    return np.concatenate([[0], np.cumsum(lengths)])


@dataclass(frozen=True)
class HeadPairs:
    """predictors [U], row [M] into them, targets [M], of_term [K] into the pairs, inverses [U] or None; sets [U] are
    numbers of kept sets or WHOLE."""

    predictors: np.ndarray
    row: np.ndarray
    targets: np.ndarray
    of_term: np.ndarray
    inverses: np.ndarray | None = None
    sets: np.ndarray | None = None


def plain_pairs(pack: TreePack) -> HeadPairs:
    """Finds the pairs without sorting, which is possible because predictors are small numbers. This must be fast, because
    the GPU is idle until the first pack of a step has arrived."""
    is_used = np.zeros(pack.num_tokens, bool)
    is_used[pack.predictors] = True
    row = (np.cumsum(is_used) - 1)[pack.predictors]
    return HeadPairs(np.flatnonzero(is_used), row, pack.targets, pack.terms.pair)


def mixed_pairs(pack: TreePack) -> HeadPairs:
    """Makes a pair at each temperature and set of kept tokens from which one of its terms was sampled. Greedy terms (0)
    count at 1."""
    terms = pack.terms
    given = np.ones(len(terms.pair), np.float32) if terms.temperatures is None else terms.temperatures
    temperature_K = np.where(given > 0, given, np.float32(1)).astype(np.float64)
    set_K = np.where(given > 0, 0, WHOLE) if terms.kept is None else np.maximum(terms.kept.set, WHOLE)
    pairs, of_term = np.unique(np.stack([terms.pair.astype(np.float64), temperature_K, set_K]), axis=1, return_inverse=True)
    pair_M, temperature_M, set_M = pairs[0].astype(np.int64), pairs[1], pairs[2]
    rows, row = np.unique(np.stack([pack.predictors[pair_M].astype(np.float64), temperature_M, set_M]), axis=1, return_inverse=True)
    inverses = None if terms.temperatures is None else 1 / rows[1]
    return HeadPairs(rows[0].astype(np.int64), row.reshape(-1), pack.targets[pair_M], of_term.reshape(-1), inverses, rows[2].astype(np.int64))


def move_together(arrays: list[np.ndarray], device: torch.device) -> list[torch.Tensor]:
    """Returns arrays as tensors on the device. For a GPU they go through one page-locked buffer in one transfer, and
    the host does not wait."""
    if device.type != "cuda":
        return [torch.from_numpy(np.ascontiguousarray(array)).to(device) for array in arrays]
    sizes = [-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays]
    starts = np.cumsum([0, *sizes])
    staged = torch.empty(int(starts[-1]), dtype=torch.uint8, pin_memory=True)
    for start, array in zip(starts, arrays):
        staged.numpy()[start : start + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    moved = staged.to(device, non_blocking=True)
    dtypes = [torch.from_numpy(array[:0].reshape(-1)).dtype for array in arrays]
    return [moved[start : start + array.nbytes].view(dtype).view(array.shape) for start, array, dtype in zip(starts, arrays, dtypes)]

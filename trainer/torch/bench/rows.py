"""Turns a tree into its rows, and rows into packs, so that benchmarks can compare them with trees."""

from __future__ import annotations

import numpy as np

from ajet_torch.pack import LossTerms, TreePack


def to_rows(pack: TreePack) -> list[TreePack]:
    """Returns the root-to-leaf rows of a pack with equal weights. Only the first row keeps the weight of a supervised
    token that several rows share."""
    tokens = np.arange(pack.num_tokens)
    followed = np.zeros(pack.num_tokens, bool)
    followed[:-1] = (pack.positions[1:] == pack.positions[:-1] + 1) & (pack.ends[:-1] > tokens[1:])
    leaves = tokens[~followed]
    wanted = dict(zip(zip(pack.predictors.tolist(), pack.targets.tolist()), range(len(pack.targets))))
    rows = []
    for leaf in leaves:
        path = tokens[(tokens <= leaf) & (leaf < pack.ends)]
        ids = pack.ids[path]
        pairs = [(i, wanted.pop((int(p), int(t)))) for i, (p, t) in enumerate(zip(path[:-1], ids[1:])) if (int(p), int(t)) in wanted]
        at = np.asarray([i for i, _ in pairs], np.int32)
        source = [k for _, k in pairs]
        num, size = len(path), len(at)
        terms = LossTerms(np.arange(size, dtype=np.int32), np.full(size, len(rows), np.int32), *(getattr(pack.terms, n)[source] for n in ("weights", "advantages", "logprobs")))
        rows.append(TreePack(ids, np.arange(num, dtype=np.int32), np.full(num, num, np.int32), at, ids[at + 1], terms, num))
    return rows


def side_by_side(rows: list[TreePack]) -> TreePack:
    """Puts the rows into one pack as a forest."""
    starts = np.cumsum([0, *(row.num_tokens for row in rows[:-1])])
    pairs = np.cumsum([0, *(len(row.targets) for row in rows[:-1])])

    def cat(values) -> np.ndarray:
        values = list(values)
        return np.concatenate(values).astype(values[0].dtype)

    terms = LossTerms(
        cat((row.terms.pair + p).astype(np.int32) for row, p in zip(rows, pairs)), cat(row.terms.sequence for row in rows),
        *(cat(getattr(row.terms, name) for row in rows) for name in ("weights", "advantages", "logprobs")),
    )
    return TreePack(
        cat(row.ids for row in rows), cat(row.positions for row in rows), cat((row.ends + s).astype(np.int32) for row, s in zip(rows, starts)),
        cat((row.predictors + s).astype(np.int32) for row, s in zip(rows, starts)), cat(row.targets for row in rows), terms, sum(row.row_tokens for row in rows),
    )


def fill_packs(rows: list[TreePack], budget: int) -> list[TreePack]:
    """Puts rows into packs by first-fit-decreasing. A pack exceeds the budget only if a single row does."""
    bins: list[list[TreePack]] = []
    for row in sorted(rows, key=lambda row: -row.num_tokens):
        for chosen in bins:
            if sum(other.num_tokens for other in chosen) + row.num_tokens <= budget:
                chosen.append(row)
                break
        else:
            bins.append([row])
    return [side_by_side(chosen) for chosen in bins]


def pad_to_longest(rows: list[TreePack]) -> list[TreePack]:
    """Pads each row, in a pack of one row, to the length of the longest. Padding is computed like any other token."""
    longest = max(row.num_tokens for row in rows)
    return [_stretch(row, longest) for row in rows]


def _stretch(row: TreePack, length: int) -> TreePack:
    ids = np.concatenate([row.ids, np.zeros(length - row.num_tokens, np.int32)])
    return TreePack(ids, np.arange(length, dtype=np.int32), np.full(length, length, np.int32), row.predictors, row.targets, row.terms, row.row_tokens)

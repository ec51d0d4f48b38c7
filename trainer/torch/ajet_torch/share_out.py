"""Decides which rank runs which pack. Every rank runs the same number of packs, because all ranks must gather the
weights of FSDP2 together."""

from __future__ import annotations

import numpy as np

from .pack import LossTerms, TreePack


def share_out(packs: list[TreePack], num_ranks: int, hidden_size: int) -> list[list[TreePack]]:
    """Returns one list per rank, balanced by `pack_cost` (the costliest pack first, to the least loaded rank) and
    filled up with empty packs."""
    shares: list[list[TreePack]] = [[] for _ in range(num_ranks)]
    loads = np.zeros(num_ranks)
    for index in sorted(range(len(packs)), key=lambda i: -pack_cost(packs[i], hidden_size)):
        rank = int(np.argmin(loads))
        shares[rank].append(packs[index])
        loads[rank] += pack_cost(packs[index], hidden_size)
    most = max(len(share) for share in shares)
    return [share + [empty_pack()] * (most - len(share)) for share in shares]


def pack_cost(pack: TreePack, hidden_size: int) -> float:
    """Returns the relative cost: matrix products grow with tokens (about 12 D^2 each), attention with visible pairs (2
    D each,
    both sides)."""
    visible_pairs = float(np.sum(pack.positions.astype(np.float64) + 1))
    return pack.num_tokens * 12.0 * hidden_size + 2.0 * visible_pairs


def empty_pack() -> TreePack:
    """Returns a pack of one token that predicts itself with weight 0."""
    one, zero, nothing = np.ones(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.float32)
    return TreePack(zero, zero, one, zero, zero, LossTerms(zero, zero, nothing, nothing, nothing), 0)

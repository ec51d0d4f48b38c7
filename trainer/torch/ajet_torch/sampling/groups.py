"""Finds the answers in progress whose cached tokens begin alike, so that attention reads the shared beginning once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .held_tokens import FEWEST_SHARED, shared_length

WORTH_SHARING = 128
"""The minimum number of shared tokens. Sharing a shorter beginning takes longer than reading it for each answer."""
KEPT_SHARE = 0.75
"""A new member may reduce the tokens that a group shares to this fraction of them. If it would reduce them further, it
begins another group."""


@dataclass
class Group:
    """Slots that begin with the same `length` tokens."""

    slots: list[int]
    length: int


def find_groups(ids: np.ndarray, lengths: np.ndarray, slots: list[int]) -> list[Group]:
    """Returns groups of two or more slots. `ids` [B, S] are the tokens of each slot, and `lengths` [B] are their
    numbers."""
    groups: list[Group] = []
    by_beginning: dict[bytes, list[Group]] = {}
    for slot in slots:
        if lengths[slot] < WORTH_SHARING:
            continue
        alike = by_beginning.setdefault(ids[slot, :FEWEST_SHARED].tobytes(), [])
        shared = [shared_length(ids[group.slots[0], : group.length], ids[slot, : lengths[slot]]) for group in alike]
        best = max(range(len(alike)), key=shared.__getitem__, default=None)
        if best is not None and shared[best] >= max(WORTH_SHARING, KEPT_SHARE * alike[best].length):
            alike[best].slots.append(slot)
            alike[best].length = shared[best]
        else:
            alike.append(Group([slot], int(lengths[slot])))
            groups.append(alike[-1])
    return [group for group in groups if len(group.slots) > 1]

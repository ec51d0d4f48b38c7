"""Keeps the cached tokens of all slots in one array, so that a prompt is compared with all slots at once."""

from __future__ import annotations

import numpy as np

FEWEST_SHARED = 16
"""The minimum number of equal leading tokens. Copying a shorter prefix saves no time."""


class HeldTokens:
    def __init__(self, num_slots: int, num_tokens: int) -> None:
        self.ids = np.zeros((num_slots, num_tokens), np.int32)
        self.lengths = np.zeros(num_slots, np.int64)

    def put(self, slot: int, ids: np.ndarray) -> None:
        self.ids[slot, : len(ids)] = ids
        self.lengths[slot] = len(ids)

    def append(self, slots: np.ndarray, tokens: np.ndarray) -> None:
        """Adds a token to each slot."""
        self.ids[slots, self.lengths[slots]] = tokens
        self.lengths[slots] += 1

    def forget(self) -> None:
        self.lengths[:] = 0

    def shared(self, prompt: np.ndarray) -> np.ndarray:
        """Returns the number of leading tokens of the prompt that each slot holds, [B]. Fewer than FEWEST_SHARED count
        as 0."""
        found = np.zeros(len(self.lengths), np.int64)
        if len(prompt) < FEWEST_SHARED:
            return found
        begins = (self.ids[:, :FEWEST_SHARED] == prompt[:FEWEST_SHARED]).all(1)
        slots = np.flatnonzero(begins & (self.lengths >= FEWEST_SHARED))
        if len(slots) == 0:
            return found
        num = min(len(prompt), int(self.lengths[slots].max()))
        same = (self.ids[slots, :num] == prompt[:num]) & (np.arange(num) < self.lengths[slots, None])
        found[slots] = np.where(same.all(1), num, same.argmin(1))
        return found


def shared_length(one: np.ndarray, other: np.ndarray) -> int:
    """Counts the leading tokens that are equal."""
    num = min(len(one), len(other))
    differ = np.flatnonzero(one[:num] != other[:num])
    return int(differ[0]) if len(differ) else num

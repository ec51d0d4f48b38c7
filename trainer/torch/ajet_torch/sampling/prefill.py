"""Prepares prompts before their answers are sampled: it copies them from other slots, and fills them in together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .slots import SlotCache

PREFILL_TOKENS = 8192
"""The tokens of one pass, padding included."""


@dataclass(frozen=True)
class Fill:
    """Tokens [start, stop) of a prompt, to be cached in a slot that holds those before them."""

    slot: int
    start: int
    stop: int
    prompt: np.ndarray


def batches(fills: list[Fill]) -> list[list[Fill]]:
    """Chooses fills for one pass: of similar length (no more than half is padding), up to PREFILL_TOKENS with
    padding."""
    found: list[list[Fill]] = []
    for fill in sorted((f for f in fills if f.stop > f.start), key=lambda f: f.start - f.stop):
        longest = found[-1][0].stop - found[-1][0].start if found else 0
        if found and fill.stop - fill.start >= longest / 2 and (len(found[-1]) + 1) * longest <= PREFILL_TOKENS:
            found[-1].append(fill)
        else:
            found.append([fill])
    return found


class PrefixCopies:
    """Copies between slots that have been decided on and are carried out together."""

    def __init__(self) -> None:
        self.waiting: dict[int, tuple[int, int]] = {}

    def add(self, source: int, target: int, length: int, cache: SlotCache) -> None:
        """Adds a copy. If the source itself waits to be copied from another slot, that slot becomes the source."""
        if any(target == other for other, _ in self.waiting.values()):
            self.carry_out(cache)
        self.waiting[target] = (self.waiting.get(source, (source, length))[0], length)

    def carry_out(self, cache: SlotCache) -> None:
        cache.copy_prefixes([(source, target, length) for target, (source, length) in self.waiting.items()])
        self.waiting.clear()

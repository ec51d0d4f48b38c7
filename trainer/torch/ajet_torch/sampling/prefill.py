"""Prepares prompts before their answers are sampled. It copies prefixes from other slots, and caches the rest of
several prompts in one pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .slots import SlotCache

PREFILL_TOKENS = 8192
"""The tokens of one pass, padding included."""


@dataclass(frozen=True)
class Fill:
    """Tokens [start, stop) of a prompt. They will be cached in a slot that already holds the tokens before them."""

    slot: int
    start: int
    stop: int
    prompt: np.ndarray


def batches(fills: list[Fill]) -> list[list[Fill]]:
    """Chooses the fills of one pass. Their lengths are similar (at most half is padding), and their total is at most
    PREFILL_TOKENS with padding."""
    found: list[list[Fill]] = []
    for fill in sorted((f for f in fills if f.stop > f.start), key=lambda f: f.start - f.stop):
        longest = found[-1][0].stop - found[-1][0].start if found else 0
        if found and fill.stop - fill.start >= longest / 2 and (len(found[-1]) + 1) * longest <= PREFILL_TOKENS:
            found[-1].append(fill)
        else:
            found.append([fill])
    return found


class PrefixCopies:
    """Collects copies between slots, which are then carried out together."""

    def __init__(self) -> None:
        self.waiting: dict[int, tuple[int, int]] = {}

    def add(self, source: int, target: int, length: int, cache: SlotCache) -> None:
        """Adds a copy. If the source is itself the target of a waiting copy, the source of that copy replaces it."""
        if any(target == other for other, _ in self.waiting.values()):
            self.carry_out(cache)
        self.waiting[target] = (self.waiting.get(source, (source, length))[0], length)

    def carry_out(self, cache: SlotCache) -> None:
        cache.copy_prefixes([(source, target, length) for target, (source, length) in self.waiting.items()])
        self.waiting.clear()

"""Chooses which of several samplers answers an episode's calls. It is always the same one, because it holds the
beginning of their prompts."""

from __future__ import annotations

from collections import OrderedDict
from typing import Callable, Sequence

MOST_EPISODES = 65_536
"""The sampler does not learn when an episode ends, so the one that was asked for longest ago is forgotten."""


class EpisodePins:
    """An episode goes to the least loaded place at its first call, and again if that place is not offered any more.
    Among places with an equal load it takes the one that was chosen longest ago, because agents that wait for their
    tools load nothing.
    """

    def __init__(self, most: int = MOST_EPISODES) -> None:
        self.most = most
        self.pins: OrderedDict[str, int] = OrderedDict()
        self.chosen: dict[int, int] = {}
        self.num_chosen = 0

    def choose(self, episode: str | None, places: Sequence[int], load: Callable[[int], int]) -> int:
        """Returns one of `places`, of which there is at least one. A call without an episode is not pinned."""
        known = None if episode is None else self.pins.get(episode)
        place = known if known in places else self._least_loaded(places, load)
        assert place is not None
        if episode is not None:
            self._pin(episode, place)
        return place

    def _least_loaded(self, places: Sequence[int], load: Callable[[int], int]) -> int:
        place = min(places, key=lambda each: (load(each), self.chosen.get(each, 0)))
        self.num_chosen += 1
        self.chosen[place] = self.num_chosen
        return place

    def _pin(self, episode: str, place: int) -> None:
        self.pins[episode] = place
        self.pins.move_to_end(episode)
        if len(self.pins) > self.most:
            self.pins.popitem(last=False)

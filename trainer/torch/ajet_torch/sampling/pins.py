"""Chooses which of several samplers answers the calls of an episode. All calls go to the same sampler, because it holds
the beginning of their prompts."""

from __future__ import annotations

from collections import OrderedDict
from typing import Callable, Sequence

MOST_EPISODES = 65_536
"""The maximum number of episodes to remember. The sampler does not learn when an episode ends, so it forgets the
episode whose last call is the oldest."""


class EpisodePins:
    """Assigns an episode to the least loaded sampler at its first call. It assigns the episode again if that sampler is
    no longer available. Among samplers with equal load it takes the one that was chosen longest ago, because an agent
    that waits for a tool causes no load."""

    def __init__(self, most: int = MOST_EPISODES) -> None:
        self.most = most
        self.pins: OrderedDict[str, int] = OrderedDict()
        self.chosen: dict[int, int] = {}
        self.num_chosen = 0

    def choose(self, episode: str | None, places: Sequence[int], load: Callable[[int], int]) -> int:
        """Returns one of `places`, which must not be empty. A call without an episode is not pinned."""
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

"""Measures how long torch.compile compiles."""

from __future__ import annotations

import time

from torch._dynamo.callback import CallbackArgs, on_compile_end, on_compile_start


class CompileClock:
    """Adds up the seconds and counts the compilations of all threads, from now on. Code that is found in the folder of
    compiled code takes less time, but counts too. Triton's own kernels are not compiled by torch.compile, so the clock
    does not see them."""

    def __init__(self) -> None:
        self.seconds, self.times, self.since = 0.0, 0, 0.0
        self.taken = 0.0
        on_compile_start(self._begin)
        on_compile_end(self._end)

    def _begin(self, _: CallbackArgs) -> None:
        self.since = time.perf_counter()

    def _end(self, _: CallbackArgs) -> None:
        self.seconds, self.times = self.seconds + time.perf_counter() - self.since, self.times + 1

    def take(self) -> float:
        """Returns the seconds since the last call."""
        found, self.taken = self.seconds - self.taken, self.seconds
        return found

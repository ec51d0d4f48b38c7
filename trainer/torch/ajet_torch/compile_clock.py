"""Measures how long torch.compile and Triton compile."""

from __future__ import annotations

import time
from typing import Any, Callable

from torch._dynamo.callback import CallbackArgs, on_compile_end, on_compile_start


class CompileClock:
    """Adds up the seconds and counts the compilations of torch.compile in all threads, from now on. Code that is found in
    the folder of compiled code takes less time, but counts too. The seconds also contain the compilation of other Triton
    kernels in this process."""

    def __init__(self) -> None:
        self.seconds, self.times, self.since = 0.0, 0, 0.0
        self.taken = 0.0
        self.is_compiling = False
        on_compile_start(self._begin)
        on_compile_end(self._end)
        listen_to_triton(self._add)

    def _begin(self, _: CallbackArgs) -> None:
        self.since, self.is_compiling = time.perf_counter(), True

    def _end(self, _: CallbackArgs) -> None:
        self.seconds, self.times = self.seconds + time.perf_counter() - self.since, self.times + 1
        self.is_compiling = False

    def _add(self, seconds: float) -> None:
        if not self.is_compiling:  # otherwise torch.compile counts it
            self.seconds += seconds

    def take(self) -> float:
        """Returns the seconds since the last call."""
        found, self.taken = self.seconds - self.taken, self.seconds
        return found


def listen_to_triton(add: Callable[[float], None]) -> None:
    """Calls `add` with the seconds of each kernel that Triton compiles. Releases before 3.4 cannot tell."""
    try:
        from triton import knobs
    except ImportError:
        return
    before = knobs.compilation.listener

    def listen(**found: Any) -> None:
        add(found["times"].total / 1e6)
        if before is not None:
            before(**found)

    knobs.compilation.listener = listen

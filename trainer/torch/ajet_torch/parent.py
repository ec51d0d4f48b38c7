"""A process that must not outlive the one that started it, however that one ended.

As a script it runs another program so: `parent.py PROGRAM ARGUMENT...`. Nothing of this package runs between fork and exec then, which
threads of the worker could have left with a lock that is never released.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys


def end_with_parent() -> None:
    """Linux: SIGTERM when the thread that started this process ends (prctl(2), PR_SET_PDEATHSIG); elsewhere nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def ending_with_parent(command: list[str]) -> list[str]:
    return [sys.executable, __file__, *command]


if __name__ == "__main__":
    end_with_parent()
    os.execv(sys.argv[1], sys.argv[1:])

"""Ends a process when the process that started it ends for any reason.

As a script it runs another program in this way: `parent.py PROGRAM ARGUMENT...`. Then no code of this package runs
between fork and exec. Such code could wait for a lock that another thread of the worker held at the fork and that
nobody releases.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys


def end_with_parent() -> None:
    """On Linux it asks for SIGTERM when the thread that started this process ends (prctl(2), PR_SET_PDEATHSIG).
    Elsewhere it does nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def ending_with_parent(command: list[str]) -> list[str]:
    return [sys.executable, __file__, *command]


if __name__ == "__main__":
    end_with_parent()
    os.execv(sys.argv[1], sys.argv[1:])

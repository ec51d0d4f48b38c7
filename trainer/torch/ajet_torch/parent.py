"""Ends a process when the process that started it ends for any reason.

As a script, `parent.py PROGRAM ARGUMENT...`, it runs another program in this way. No code of this package then runs
between fork and exec. Such code could wait forever for a lock that another thread of the worker held at the time of the
fork.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys


def end_with_parent() -> None:
    """Makes Linux send SIGTERM to this process when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG). Does
    nothing on other systems."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def ending_with_parent(command: list[str]) -> list[str]:
    return [sys.executable, __file__, *command]


if __name__ == "__main__":
    end_with_parent()
    os.execv(sys.argv[1], sys.argv[1:])

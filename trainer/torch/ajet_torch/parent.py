"""A process that must not outlive the one that started it, however that one ended."""

from __future__ import annotations

import ctypes
import signal
import sys


def end_with_parent() -> None:
    """Linux: SIGTERM when the thread that started this process ends (prctl(2), PR_SET_PDEATHSIG); elsewhere nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)

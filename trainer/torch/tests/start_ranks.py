"""Starts `run_rank.py` in several processes and waits for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "run_rank.py"


def start_ranks(out: Path, size: int, *modes: str, nodes: int = 1) -> None:
    """Sets the environment as torchrun does if `nodes` launchers start the processes."""
    env = {**os.environ, "WORLD_SIZE": str(size), "AJET_STORE": str(out / f"store-{size}-{modes[0]}"), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(SCRIPT), str(out), *modes]
    each = size // nodes
    places = [{"RANK": str(rank), "LOCAL_RANK": str(rank % each), "LOCAL_WORLD_SIZE": str(each), "GROUP_RANK": str(rank // each)} for rank in range(size)]
    processes = [subprocess.Popen(command, env={**env, **place}, stderr=subprocess.PIPE, text=True) for place in places]
    try:
        for process in processes:
            _, errors = process.communicate(timeout=600)
            assert process.returncode == 0, errors[-3000:]
    finally:
        for process in processes:
            process.kill()

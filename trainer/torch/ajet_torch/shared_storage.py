"""Checks once, before anything is loaded, that all processes see the folders that they share with the control plane.

Several nodes write one checkpoint together and load one model folder. If a node sees other storage, the first save
would lose its shards, hours later.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

from .config import WorkerConfig
from .errors import WorkerError, first_line
from .ranks import Ranks


def check_shared(config: WorkerConfig, ranks: Ranks) -> None:
    """Raises `bad_request` if a node does not see the shared folders, and names the node and what it does not see. All
    ranks must call this function together. On one machine it checks nothing, unless a shared file is given."""
    if ranks.num_nodes == 1 and not config.shared_file:
        return
    problem = find_problem(config)
    found = ranks.share(ranks.gather(None if problem is None else f"{socket.gethostname()}: {problem}"))
    lines = sorted({line for line in found if line is not None})
    if lines:
        raise WorkerError("bad_request", f"The model folder and the run's folder must be on storage that every node and the control plane see under the same path. {' '.join(lines)}")


def find_problem(config: WorkerConfig) -> str | None:
    """Returns what this process does not see, or None if it sees everything."""
    if config.model_dir and not (Path(config.model_dir) / "config.json").is_file():
        return f"there is no config.json in {config.model_dir}."
    if not config.shared_file:
        return None
    file = Path(config.shared_file)
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        return f"{file}, which the control plane has just written, cannot be read ({first_line(error)})."
    if text != config.shared_text:
        return f"{file} does not have the content that the control plane has just written."
    return None if os.access(file.parent, os.W_OK) else f"{file.parent} cannot be written to."

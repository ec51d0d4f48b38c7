"""Keeps compiled kernels, so that the second run on a machine does not compile them again.

PyTorch and Triton keep them in the folder for temporary files, which many machines empty at a restart. flash-attn-4
keeps none by default. This module sets one folder in the user's home for all three. Variables that are already set in
the environment are not changed. If PyTorch's folder is set, Triton's is left alone too, because PyTorch's entries point
into it.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import MutableMapping

FOLDERS = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton", "FLASH_ATTENTION_CUTE_DSL_CACHE_DIR": "flash4"}
SWITCHES = {"FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED": "1"}

log = logging.getLogger("ajet_torch")


def cache_folder(env: MutableMapping[str, str]) -> Path:
    base = env.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "agentjet" / "compiled"


def keep_compiled(env: MutableMapping[str, str] = os.environ) -> Path | None:
    """Call it before the first kernel is compiled. Returns the folder, or None if it cannot be written; the compilers
    then use their own folders."""
    try:
        folder = cache_folder(env)
        for name in FOLDERS.values():
            (folder / name).mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(f"{folder} is not writable")
    except (OSError, RuntimeError) as error:
        log.info("Compiled kernels are not kept for the next run (%s). Set XDG_CACHE_HOME to a folder that can be written.", error)
        return None
    given = {"TRITON_CACHE_DIR"} if "TORCHINDUCTOR_CACHE_DIR" in env else set()
    for variable in FOLDERS.keys() - given:
        env.setdefault(variable, str(folder / FOLDERS[variable]))
    for variable, value in SWITCHES.items():
        env.setdefault(variable, value)
    return folder

"""Starts processes that compile while the worker imports PyTorch and loads its model.

Without them a first run waits for compilers twice: in its first batch for the kernels of the sampler, and in its first
step for the layers, or for the kernels of fused layers. The processes (`rehearsal.py`) do the same work with two layers,
and the worker finds their code in the folder of compiled code. A second run finds everything there and needs no rehearsal.

This module imports neither PyTorch nor transformers, so the processes start before the worker imports them. The control
plane puts the configuration into the environment (AJET_CONFIG).
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import select
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Mapping, Sequence

from .config import FUSED_FAMILIES, parse_config
from .errors import WorkerError

COMMAND = (sys.executable, "-m", "ajet_torch.rehearsal")
MOST_SECONDS = 45.0
"""The worker waits at most this long for a rehearsal, and then compiles itself."""

log = logging.getLogger("ajet_torch")


def choose_parts(config: Mapping[str, Any], env: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the parts of the work that are rehearsed: none, unless one process trains on a GPU of this machine.
    `AJET_REHEARSE=0` turns rehearsals off."""
    is_hidden = env.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1")
    if env.get("AJET_REHEARSE", "1") == "0" or env.get("WORLD_SIZE", "1") != "1" or is_hidden or not Path("/dev/nvidiactl").exists():
        return ()
    if config.get("device", "auto") == "cpu" or config.get("cpu_offload") or config.get("fsdp", "auto") != "auto":
        return ()
    if (config.get("lora") or {}).get("rank"):
        return ()
    is_builtin = (config.get("inference") or {}).get("server", "builtin") == "builtin"
    training = () if config.get("compile", "auto") == "off" else ("update",) if may_fuse(config) else ("layers", "update")
    return (*training, *(("sampling",) if is_builtin else ()))


def may_fuse(config: Mapping[str, Any]) -> bool:
    """Returns whether the layers are computed without torch.compile, if the model is small."""
    try:
        return parse_config(config).may_fuse and json.loads(config_file(config).read_bytes()).get("model_type") in FUSED_FAMILIES
    except (OSError, ValueError, AttributeError, WorkerError):  # the worker says what is wrong
        return False


def config_file(config: Mapping[str, Any]) -> Path:
    return Path(str(config.get("model_dir", ""))) / "config.json"


def start_rehearsals(env: Mapping[str, str], command: Sequence[str] = COMMAND) -> Rehearsals:
    """Starts a process for each part that was not rehearsed before."""
    config = json.loads(env.get("AJET_CONFIG", "null"))
    started = Rehearsals()
    for part in () if config is None else choose_parts(config, env):
        mark = mark_of(part, config, env)
        if mark is not None and not mark.exists():
            started.start(part, [*command, part], {"config": config, "mark": str(mark)})
    return started


class Rehearsals:
    """The processes that compile, by the part of the work."""

    def __init__(self) -> None:
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def start(self, part: str, command: list[str], task: Mapping[str, Any]) -> None:
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            assert process.stdin is not None
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.close()
        except OSError as error:
            log.info("The worker compiles alone, because another process could not be started (%s).", error)
            return
        self.processes[part] = process

    def wait(self, part: str) -> float:
        """Waits until the rehearsal has ended. Returns the seconds of the wait."""
        process = self.processes.pop(part, None)
        if process is None:
            return 0.0
        begin = time.perf_counter()
        said = read_line(process, MOST_SECONDS)
        waited = time.perf_counter() - begin
        end_process(process)
        if said.startswith("took"):
            log.info("Another process compiled the %s (%s); the first step waited %.1f s for it.", part, said, waited)
        return waited

    def close(self) -> None:
        while self.processes:
            end_process(self.processes.popitem()[1])


def read_line(process: subprocess.Popen[str], seconds: float) -> str:
    """Returns the line that the process writes at its end, or an empty string after `seconds`."""
    assert process.stdout is not None
    arrived, _, _ = select.select([process.stdout], [], [], seconds)
    return process.stdout.readline().strip() if arrived else ""


def end_process(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    if process.stdout is not None:
        process.stdout.close()
    process.wait()


def mark_of(part: str, config: Mapping[str, Any], env: Mapping[str, str]) -> Path | None:
    """Returns the file that exists after a rehearsal, in PyTorch's folder of compiled code. Its name changes with
    everything that the code depends on: the model, the options, the versions, the GPUs and this package."""
    folder = env.get("TORCHINDUCTOR_CACHE_DIR")
    if folder is None:
        return None
    model = config_file(config)
    options = {key: value for key, value in config.items() if key not in ("model_dir", "seed", "optimizer")}
    digest = hashlib.sha256(json.dumps([options, gpu_names(), *map(version_of, ("torch", "triton", "transformers"))], sort_keys=True).encode())
    digest.update(model.read_bytes() if model.is_file() else b"")
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return Path(folder) / "rehearsed" / f"{part}-{digest.hexdigest()[:32]}"


def gpu_names() -> list[str]:
    """Returns the models of this machine's GPUs, as the driver lists them."""
    files = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    return [line for file in files for line in file.read_text().splitlines() if line.startswith("Model")]


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""

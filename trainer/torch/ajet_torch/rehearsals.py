"""Starts processes that compile while the worker loads its model.

Without them a first run waits for compilers twice: in its first batch for the kernels of the sampler, and in its first
step for the layers. The processes (`rehearsal.py`) do the same work with two layers, and the worker finds their code in
the folder of compiled code. A second run finds everything there and needs no rehearsal.

This module imports neither PyTorch nor transformers, so the processes start before the worker imports them.
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

PARTS = ("training", "sampling")
COMMAND = (sys.executable, "-m", "ajet_torch.rehearsal")
MOST_SECONDS = 60.0
"""The worker waits at most this long for a rehearsal, and then compiles itself."""

log = logging.getLogger("ajet_torch")


def are_possible(env: Mapping[str, str]) -> bool:
    """Returns whether one process of this machine trains on a GPU. `AJET_REHEARSE=0` turns rehearsals off."""
    hidden = env.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1")
    return env.get("AJET_REHEARSE", "1") != "0" and env.get("WORLD_SIZE", "1") == "1" and not hidden and Path("/dev/nvidiactl").exists()


class Rehearsals:
    """The processes of `parts`. Each of them imports PyTorch, and then waits for its task."""

    def __init__(self, parts: tuple[str, ...], command: Sequence[str] = COMMAND) -> None:
        self.processes = {part: subprocess.Popen([*command, part], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for part in parts}

    def begin(self, config: Mapping[str, Any], wanted: tuple[str, ...], device: str, gpu: str) -> None:
        """Gives the configuration to the processes. Ends those that are not wanted, or whose code was kept before.
        Call it when this process has its own place on the GPU."""
        for part in list(self.processes):
            mark = mark_of(part, config, gpu)
            if part not in wanted or mark is None or mark.exists():
                self.end(part)
            else:
                self._tell(part, {"config": dict(config), "device": device, "mark": str(mark)})

    def _tell(self, part: str, task: Mapping[str, Any]) -> None:
        process = self.processes[part]
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(task, default=str) + "\n")
            process.stdin.close()
            process.stdin = None
        except OSError:
            self.end(part)

    def wait(self, part: str) -> float:
        """Waits until the rehearsal has ended. Returns the seconds of the wait."""
        process = self.processes.pop(part, None)
        if process is None:
            return 0.0
        begin = time.perf_counter()
        said = read_line(process, MOST_SECONDS)
        waited = time.perf_counter() - begin
        end_process(process)
        log.info("Another process compiled what %s needs (%s); the first step waited %.1f s for it.", part, said or "without an end", waited)
        return waited

    def end(self, part: str) -> None:
        process = self.processes.pop(part, None)
        if process is not None:
            end_process(process)

    def close(self) -> None:
        for part in list(self.processes):
            self.end(part)


def read_line(process: subprocess.Popen[str], seconds: float) -> str:
    """Returns the line that the process writes at its end, or nothing if the time is over."""
    assert process.stdout is not None
    arrived, _, _ = select.select([process.stdout], [], [], seconds)
    return process.stdout.readline().strip() if arrived else ""


def end_process(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    for stream in (process.stdin, process.stdout):
        if stream is not None and not stream.closed:
            stream.close()
    process.wait()


def mark_of(part: str, config: Mapping[str, Any], gpu: str) -> Path | None:
    """Returns the file that exists after a rehearsal, in PyTorch's folder of compiled code. Its name changes with
    everything that the code depends on: the model, the options, the versions, the GPU and this package."""
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if folder is None:
        return None
    model = Path(str(config.get("model_dir", ""))) / "config.json"
    options = {key: value for key, value in config.items() if key not in ("model_dir", "seed", "optimizer", "loss")}
    digest = hashlib.sha256(json.dumps([options, gpu, *map(version_of, ("torch", "triton", "transformers"))], sort_keys=True, default=str).encode())
    digest.update(model.read_bytes() if model.is_file() else b"")
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return Path(folder) / "rehearsed" / f"{part}-{digest.hexdigest()[:32]}"


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""

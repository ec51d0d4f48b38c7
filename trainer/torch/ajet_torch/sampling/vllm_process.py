"""Runs the vLLM server as a child process: builds its command line, starts it, reads its log and ends it."""

from __future__ import annotations

import atexit
import importlib.metadata
import importlib.util
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path

import torch

from ..config import WorkerConfig
from ..errors import WorkerError
from ..parent import ending_with_parent
from .vllm_http import VllmHttp

START_TIMEOUT_S = 1500
PROGRESS_EVERY_S = 30
MOST_SEQUENCES = 256
OLDEST, NEWEST = (0, 26), (0, 33)
"""The oldest and the newest release of vLLM whose sources were checked. The releases between them were checked too."""
INSTALL = 'Run pip install "vllm>=0.26" in the worker\'s environment, or set rollout.name to "builtin".'
MODEL_NAME = "policy"
PORTS_OF_ONE = 100
DROPPED = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_NAME", "ROLE_WORLD_SIZE",
           "MASTER_ADDR", "MASTER_PORT", "OMP_NUM_THREADS", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "VLLM_API_KEY")
"""Variables of torchrun, this worker and the user that would change how the server starts. With torchrun's
TORCHELASTIC_USE_AGENT_STORE, vLLM's own process group would wait for a store that nobody opens."""

CAUSE = re.compile(r"(?:^|[\]\s)])((?:\w+\.)*\w*(?:Error|Exception): .+)")
"""Matches an exception in a line of vLLM's log. The first match in a log is the cause. The later ones are from
processes that waited for the one that failed."""

log = logging.getLogger("ajet_torch")


def require_vllm() -> None:
    """Raises `bad_request` if vLLM, or a package that its weight transfer needs, is missing or too old."""
    if importlib.util.find_spec("vllm") is None:
        raise WorkerError("bad_request", f"The inference server is vllm but vLLM is not installed. {INSTALL}")
    try:
        version = require_version(importlib.metadata.version("vllm"))
    except importlib.metadata.PackageNotFoundError:
        return
    if version == OLDEST and importlib.util.find_spec("ray") is None:
        raise WorkerError("bad_request", "The weight transfer of vLLM 0.26 imports ray, which its package does not install. Run pip install ray, or use vLLM 0.27 or later.")


def require_version(version: str) -> tuple[int, int]:
    """Returns the first two numbers of the version. A build from source calls itself 0.1.dev or "dev" and counts as the
    newest."""
    found = re.match(r"(\d+)\.(\d+)", version)
    pair = (int(found[1]), int(found[2])) if found else (0, 0)
    if pair <= (0, 1):
        return NEWEST
    if pair < OLDEST:
        raise WorkerError("bad_request", f"vLLM {version} is too old, because weight transfer came with 0.26. {INSTALL}")
    return pair


def command_line(config: WorkerConfig, socket_path: str, context_length: int, dtype: torch.dtype) -> list[str]:
    """Returns the command line. vLLM 0.26 through 0.33 accepts every flag."""
    inference = config.inference
    options = {
        "--uds": socket_path, "--served-model-name": MODEL_NAME, "--dtype": str(dtype).removeprefix("torch."),
        "--max-model-len": str(context_length), "--max-num-seqs": str(inference.slots or MOST_SEQUENCES), "--seed": str(config.seed),
        "--gpu-memory-utilization": str(inference.gpu_share), "--tensor-parallel-size": str(inference.tensor_parallel_size),
        "--logprobs-mode": "processed_logprobs", "--generation-config": "vllm", "--weight-transfer-config": '{"backend": "ipc"}',
        "--worker-extension-cls": "ajet_torch.sampling.vllm_worker.WeightReader",
    }
    switches = ["--enable-prefix-caching", "--disable-uvicorn-access-log"]
    switches += [] if inference.cuda_graphs else ["--enforce-eager"]
    switches += [] if has_tokenizer(config.model_dir) else ["--skip-tokenizer-init"]
    return [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", config.model_dir, *switches, *(part for pair in options.items() for part in pair)]


def has_tokenizer(model_dir: str) -> bool:
    """Returns whether the model has a tokenizer. Requests and answers contain only ids, but vLLM usually runs with a
    tokenizer, so the server loads a tokenizer if there is one."""
    return any((Path(model_dir) / name).exists() for name in ("tokenizer.json", "tokenizer.model", "vocab.json"))


def environment(visible_gpus: str | None = None, replica: int = 0) -> dict[str, str]:
    """Returns the environment of the server. `visible_gpus` are the GPUs that it sees; None means those of the worker.
    FlashInfer's sampler is off, because it supports neither seeds nor logprobs after truncation, and every request
    needs both. vLLM opens any free ports for its processes. If a user sets the first port to try (VLLM_PORT), replicas
    that start together try different ports."""
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED and not name.startswith(("TORCHELASTIC_", "AJET_"))}
    package = str(Path(__file__).resolve().parents[2])
    return {
        **kept, "PYTHONPATH": os.pathsep.join(part for part in (package, kept.get("PYTHONPATH", "")) if part), "PYTHONUNBUFFERED": "1",
        **({} if visible_gpus is None else {"CUDA_VISIBLE_DEVICES": visible_gpus}), **ports(kept.get("VLLM_PORT"), replica), "VLLM_SERVER_DEV_MODE": "1", "VLLM_USE_FLASHINFER_SAMPLER": "0",
        "VLLM_ALLOW_INSECURE_SERIALIZATION": "1", "VLLM_NO_USAGE_STATS": "1",
    }


def ports(first: str | None, replica: int) -> dict[str, str]:
    return {"VLLM_PORT": str(int(first) + PORTS_OF_ONE * replica)} if first is not None and first.isdecimal() else {}


class VllmProcess:
    """Starts the process at once. The server is ready after `wait_until_ready`."""

    def __init__(self, config: WorkerConfig, context_length: int, dtype: torch.dtype, visible_gpus: str | None, replica: int = 0) -> None:
        self.folder = private_folder()
        self.http = VllmHttp(os.path.join(self.folder, "vllm.sock"))
        self.lines: deque[str] = deque(maxlen=30)
        self.cause: str | None = None
        self.is_closing = False
        self.name = "vllm" if config.inference.num_replicas == 1 else f"vllm {replica}"
        self.version = NEWEST
        command = ending_with_parent(command_line(config, self.http.path, context_length, dtype))
        self.child = subprocess.Popen(command, env=environment(visible_gpus, replica), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        self.reader = threading.Thread(target=self._read_log, daemon=True)
        self.reader.start()
        atexit.register(self.close)

    def wait_until_ready(self) -> None:
        """If the server does not start, raises `failed` or `out_of_memory` with its last lines."""
        try:
            self._wait_until_ready()
            self.version = require_version(str(self.http.get("/version")["version"]))
        except BaseException:
            self.close()
            raise

    def _read_log(self) -> None:
        assert self.child.stdout is not None
        for line in self.child.stdout:
            self.lines.append(line.rstrip()[:500])
            if self.cause is None and " WARNING " not in line and (found := CAUSE.search(line)):
                self.cause = found[1].rstrip()[:500]
            if not self.is_closing:
                sys.stderr.write(f"{self.name}: {line}")

    def _wait_until_ready(self) -> None:
        start = said = time.monotonic()
        while time.monotonic() - start < START_TIMEOUT_S:
            if self.child.poll() is not None:
                self.reader.join(5)
                raise start_error(f"vLLM ended with code {self.child.returncode} while it started", self.last_words())
            try:
                if self.http.is_healthy():
                    log.info("vLLM is ready after %.0f s", time.monotonic() - start)
                    return
            except OSError:
                pass
            if time.monotonic() - said > PROGRESS_EVERY_S:
                said = time.monotonic()
                log.info("vLLM has been starting for %.0f s; its last line: %s", said - start, self.lines[-1] if self.lines else "none yet")
            time.sleep(0.2)
        raise start_error(f"vLLM was not ready within {START_TIMEOUT_S} s", self.last_words())

    def last_words(self) -> str:
        """Returns the first exception, if there was one, and the end of the log."""
        cause = "" if self.cause is None else f"Its first error: {self.cause}\n"
        return cause + "Its last lines:\n" + "\n".join(self.lines)

    def end(self) -> None:
        """Signals the end. The engine processes end with the server and report this as errors, so later output is not
        shown."""
        self.is_closing = True
        atexit.unregister(self.close)
        self.child.terminate()

    def close(self) -> None:
        """Ends the server and waits until it has ended."""
        self.end()
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def private_folder() -> str:
    """Makes a folder that only this user can open. Its path is short, because the path of a socket has at most 107
    bytes."""
    folder = tempfile.mkdtemp(prefix="ajet-vllm-")
    if len(folder) < 90:
        return folder
    os.rmdir(folder)
    return tempfile.mkdtemp(prefix="ajet-vllm-", dir="/tmp")


def start_error(what: str, last_words: str) -> WorkerError:
    """Recognises the three messages that vLLM has for a GPU without enough free memory."""
    if re.search(r"out of memory|Free memory on device|No available memory for the cache blocks", last_words):
        return WorkerError("out_of_memory", f"{what}: too little GPU memory. Set rollout.gpu_memory_utilization to the share that the trainer leaves free, or lower rollout.max_num_seqs or the context. {last_words}")
    return WorkerError("failed", f"{what}. {last_words}")

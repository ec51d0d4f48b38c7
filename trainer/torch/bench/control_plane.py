"""Starts a worker and exchanges messages with it as a run does. Tests and benchmarks use this to measure whole steps
without Node."""

from __future__ import annotations

import os
import queue
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from ajet_torch import SCHEMA_VERSION
from ajet_torch.pack import INT_FIELDS, OPTIONAL_FIELDS, TERM_FIELDS, TreePack
from ajet_torch.parent import end_with_parent
from ajet_torch.protocol import pack_frame, read_frame

PACKAGE = Path(__file__).resolve().parents[1]


class ControlPlane:
    """Controls one worker of `num_gpus` processes. It keeps answers by id until they are taken, and raises the errors
    of the worker."""

    def __init__(self, config: dict[str, Any], num_gpus: int, timeout_s: float = 600) -> None:
        door = socket.create_server(("127.0.0.1", 0))
        door.settimeout(timeout_s)
        token = secrets.token_hex(16)
        folder = tempfile.mkdtemp(prefix="ajet-bench-")
        env = {
            **inherited(), "AJET_CONNECT": f"127.0.0.1:{door.getsockname()[1]}", "AJET_TOKEN": token, "AJET_STORE": f"{folder}/store", "GLOO_SOCKET_IFNAME": "lo",
            "PYTHONPATH": os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")]), "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
        }
        meeting = ["--rdzv-backend=c10d", f"--rdzv-endpoint={folder}/rendezvous", "--rdzv-conf=store_type=file", "--max-restarts=0"]
        launcher = [] if num_gpus == 1 else ["-m", "torch.distributed.run", f"--nproc-per-node={num_gpus}", *meeting]
        self.process = subprocess.Popen([sys.executable, *launcher, "-m", "ajet_torch.worker"], env=env, preexec_fn=end_with_parent)
        self.stream, _ = door.accept()
        hello = read_frame(self.stream)
        assert hello is not None and hello["token"] == token
        self.results: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self.ready: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.next_id = 0
        self._send({"kind": "configure", "schema": SCHEMA_VERSION, "heartbeat_s": 2.0, "config": config})
        threading.Thread(target=self._read, daemon=True).start()
        self.facts = self.ready.get(timeout=timeout_s)
        if self.facts["kind"] != "ready":
            raise RuntimeError(self.facts.get("message", "the worker ended"))

    def _send(self, message: dict[str, Any]) -> None:
        self.stream.sendall(pack_frame(message))

    def _read(self) -> None:
        try:
            while (message := read_frame(self.stream)) is not None:
                if message["kind"] in ("ready", "failed"):
                    self.ready.put(message)
                elif message["kind"] in ("result", "error"):
                    self.results[message["id"]].put(message)
        except OSError:
            pass
        for waiting in [self.ready, *self.results.values()]:
            waiting.put({"kind": "error", "message": "the worker ended"})

    def ask(self, message: dict[str, Any]) -> int:
        """Sends a command without waiting. Returns the number that identifies its result."""
        self.next_id += 1
        self.results[self.next_id] = queue.SimpleQueue()
        self._send({**message, "id": self.next_id})
        return self.next_id

    def result(self, number: int, timeout_s: float = 600) -> Any:
        message = self.results[number].get(timeout=timeout_s)
        del self.results[number]
        if message["kind"] == "error":
            raise RuntimeError(message["message"])
        return message["value"]

    def is_done(self, number: int) -> bool:
        return not self.results[number].empty()

    def generate(self, prompt: np.ndarray, max_tokens: int, seed: int, episode: str | None = None) -> int:
        return self.ask({
            "kind": "generate", "prompt_ids": prompt.astype(np.int32).tobytes(), "temperature": 1.0, "top_p": 1.0, "top_k": 0, "max_tokens": max_tokens,
            "stop_ids": [], "seed": seed, "stream": False, "episode_id": episode,
        })

    def train_step(self, packs: list[TreePack], loss: dict[str, Any]) -> int:
        return self.ask({"kind": "train_step", "packs": [to_message(pack) for pack in packs], "loss": loss})

    def close(self) -> None:
        try:
            self._send({"kind": "close"})
            self.process.wait(60)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
        self.stream.close()


def inherited() -> dict[str, str]:
    """Returns the environment for the worker, without the entry that PyTorch adds for its folder of compiled code when it
    is imported. A worker that Node starts does not have this entry either."""
    return {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}


def to_message(pack: TreePack) -> dict[str, Any]:
    terms = {name: np.ascontiguousarray(getattr(pack.terms, name), dtype).tobytes() for name, dtype in TERM_FIELDS}
    optional = {name: getattr(pack.terms, name) for name in OPTIONAL_FIELDS if getattr(pack.terms, name) is not None}
    arrays = {name: np.ascontiguousarray(getattr(pack, name), np.int32).tobytes() for name in INT_FIELDS}
    return {**arrays, "terms": {**terms, **{name: np.ascontiguousarray(values, np.float32).tobytes() for name, values in optional.items()}}, "row_tokens": pack.row_tokens}


def answer(value: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, int]:
    """Returns ids, logprobs and the version of the weights that sampled them."""
    return np.frombuffer(value["ids"], np.int32), np.frombuffer(value["logprobs"], np.float32), int(value["policy_version"])

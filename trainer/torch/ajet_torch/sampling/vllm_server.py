"""Sampling through vLLM (0.26 or later) in a server process of its own on the loopback.

Token ids in and out with logprobs over its OpenAI-compatible completions; new weights through its native weight transfer
(CUDA IPC, so it shares the trainer's GPUs) inside pause and resume. The first rank owns the server; every other rank is a
`VllmPeer`, whose whole copy of the weights feeds the part of the server on its own GPU.

The tests run this against a small server of their own that speaks the same HTTP. With vLLM itself it has not been run; to
try it: `pip install "vllm>=0.26"`, then a job with `rollout.name: vllm`, or `python bench/sampling.py --server vllm --model-dir DIR`.
"""

from __future__ import annotations

import ctypes
import http.client
import importlib.util
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from typing import Any, Iterable, Iterator

import numpy as np
import torch

from ..config import WorkerConfig
from ..errors import WorkerError
from ..lora import fold_adapters
from ..model import PolicyModel
from .idle import IdleServer
from .server import SampleRequest, TokenEvent, require_room

START_TIMEOUT_S = 600
HOST = "127.0.0.1"


class VllmServer:
    """`policy` holds the whole weights that vLLM is given: the trained model itself, or the sharded run's whole copy."""

    def __init__(self, config: WorkerConfig, policy: PolicyModel) -> None:
        if importlib.util.find_spec("vllm") is None:
            raise WorkerError("bad_request", 'inference.server is "vllm" but vLLM is not installed. Run pip install "vllm>=0.26" in the worker\'s environment, or set it to "builtin".')
        self.policy = policy
        limit = int(policy.lm.config.max_position_embeddings)
        self.context_length = min(limit, config.inference.kv_tokens or limit)
        self.model_dir = config.model_dir
        self.port = free_port()
        self.process = start_vllm(config, self.port, self.context_length)
        self.events: queue.SimpleQueue[tuple[int, TokenEvent | None]] = queue.SimpleQueue()
        self.streams: dict[int, http.client.HTTPConnection] = {}
        self.waiting: list[SampleRequest] = []
        self.open = True
        self.failure: str | None = None
        self._wait_until_ready()
        self.sender = connect_weights(f"http://{HOST}:{self.port}", policy, config, 0)

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise WorkerError("failed", f"vLLM ended with code {self.process.returncode} while it started; its log is above.")
            try:
                if self._post_or_get("GET", "/health") == 200:
                    return
            except OSError:
                time.sleep(1)
        raise WorkerError("failed", f"vLLM was not ready within {START_TIMEOUT_S} s.")

    def _post_or_get(self, method: str, path: str, body: dict[str, Any] | None = None) -> int:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=300)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()

    def submit(self, request: SampleRequest) -> None:
        require_room(request, self.context_length)
        self.waiting.append(request)

    def abort(self, request_id: int) -> None:
        """vLLM frees a request whose client hangs up."""
        self.waiting = [request for request in self.waiting if request.id != request_id]
        connection = self.streams.pop(request_id, None)
        if connection is not None:
            connection.close()

    def is_busy(self) -> bool:
        return len(self.streams) > 0

    def has_queue(self) -> bool:
        return len(self.waiting) > 0

    def admit(self, open_: bool) -> None:
        self.open = open_

    def tick(self) -> list[TokenEvent]:
        """Hands waiting requests over and returns the tokens that have come, after at most 10 ms."""
        while self.open and self.waiting:
            request = self.waiting.pop(0)
            self.streams[request.id] = http.client.HTTPConnection(HOST, self.port)
            threading.Thread(target=self._follow, args=(request, self.streams[request.id]), daemon=True).start()
        events: list[TokenEvent] = []
        try:
            self._take(events, self.events.get(timeout=0.01))
            while True:
                self._take(events, self.events.get_nowait())
        except queue.Empty:
            pass
        if self.failure is not None:
            raise WorkerError("failed", f"vLLM failed: {self.failure}")
        return events

    def _take(self, events: list[TokenEvent], item: tuple[int, TokenEvent | None]) -> None:
        request_id, event = item
        if request_id not in self.streams:
            return
        if event is None or event.finish is not None:
            self.streams.pop(request_id).close()
        if event is not None:
            events.append(event)

    def _follow(self, request: SampleRequest, connection: http.client.HTTPConnection) -> None:
        """One thread per request: reads its server-sent events."""
        try:
            connection.request("POST", "/v1/completions", json.dumps(to_completion(request, self.model_dir, self.context_length)), {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise OSError(f"status {response.status}: {response.read(2000).decode(errors='replace')}")
            for event in with_finish(chunks_of(response), request.id):
                self.events.put((request.id, event))
        except (OSError, ValueError, AttributeError, http.client.HTTPException) as error:
            if request.id in self.streams:
                self.failure = str(error)
                self.events.put((request.id, None))

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        take_weights(self.policy, tensors)
        self._require(self._post_or_get("POST", "/pause?mode=keep&clear_cache=true"), "pause")
        self.sender.send_weights()
        self._require(self._post_or_get("POST", "/resume"), "resume")

    def _require(self, status: int, what: str) -> None:
        if status != 200:
            raise WorkerError("weight_sync", f"vLLM answered {status} to {what}; it must be 0.26 or later.")

    def fingerprint(self) -> int | None:
        return None

    def probe(self, prompt_ids: np.ndarray, num_tokens: int) -> list[TokenEvent]:
        """A few greedy tokens with their logprobs, to compare with the trainer's."""
        self.submit(SampleRequest(-1, prompt_ids, 0.0, 1.0, 0, num_tokens, frozenset(), 0, False))
        was_open, self.open = self.open, True
        events: list[TokenEvent] = []
        while not events or events[-1].finish is None:
            events += [event for event in self.tick() if event.id == -1]
        self.open = was_open
        return events

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def end_with_parent() -> None:
    """Linux: the server must not outlive a worker that was killed and could not say so (prctl(2), PR_SET_PDEATHSIG)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def start_vllm(config: WorkerConfig, port: int, context_length: int) -> subprocess.Popen[bytes]:
    inference = config.inference
    options = {
        "--host": HOST, "--port": str(port), "--dtype": "bfloat16", "--max-model-len": str(context_length), "--logprobs-mode": "processed_logprobs",
        "--gpu-memory-utilization": str(inference.gpu_memory_utilization), "--tensor-parallel-size": str(inference.tensor_parallel_size),
        "--max-num-seqs": str(inference.slots), "--seed": str(config.seed), "--weight-transfer-config": '{"backend": "ipc"}', "--generation-config": "vllm",
    }
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", config.model_dir, "--enable-prefix-caching", *(part for pair in options.items() for part in pair)]
    env = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "AJET_TOKEN")}
    return subprocess.Popen(command, env={**env, "VLLM_SERVER_DEV_MODE": "1", "VLLM_ALLOW_INSECURE_SERIALIZATION": "1"}, preexec_fn=end_with_parent)


class VllmPeer(IdleServer):
    """Takes no requests. vLLM's transfer gathers the memory handles of all ranks, so every rank must send."""

    def __init__(self, config: WorkerConfig, policy: PolicyModel, rank: int) -> None:
        self.policy = policy
        self.sender = connect_weights(f"http://{HOST}", policy, config, rank)

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        take_weights(self.policy, tensors)
        self.sender.send_weights()


def take_weights(policy: PolicyModel, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Nothing to copy where the policy holds the trained weights themselves."""
    own = dict(policy.lm.named_parameters())
    with torch.no_grad():
        for name, tensor in tensors:
            if own[name].data_ptr() != tensor.data_ptr():
                own[name].copy_(tensor)


def connect_weights(url: str, policy: PolicyModel, config: WorkerConfig, rank: int) -> Any:
    """The trainer's side of vLLM's weight transfer (its documentation, "Weight Transfer" and "IPC Engine", 0.26). Rank 0 sends."""
    from vllm.distributed.weight_transfer import HTTPVLLMWeightSyncClient, ModuleSource, ParamMeta, WeightSource, WeightTransferTrainerFactory
    from vllm.distributed.weight_transfer.ipc_engine import IPCTrainerInitInfo

    class FoldedSource(WeightSource):
        """LoRA folded into the weights it adapts, under the names that vLLM knows."""

        def metadata(self) -> list[Any]:
            return [ParamMeta(name, tensor.dtype, tuple(tensor.shape)) for name, tensor in self]

        def __iter__(self) -> Iterator[tuple[str, torch.Tensor]]:
            return fold_adapters({name: p.detach() for name, p in policy.lm.named_parameters()}, config.lora)

    os.environ["VLLM_ALLOW_INSECURE_SERIALIZATION"] = "1"
    source = FoldedSource() if config.lora.rank else ModuleSource(policy.lm)
    return WeightTransferTrainerFactory.trainer_init(init_info=IPCTrainerInitInfo(rank=rank, packed=True), client=HTTPVLLMWeightSyncClient(url), source=source)


def to_completion(request: SampleRequest, model: str, context_length: int) -> dict[str, Any]:
    room = context_length - len(request.prompt_ids)
    return {
        "model": model, "prompt": request.prompt_ids.tolist(), "max_tokens": min(request.max_tokens, room), "temperature": request.temperature,
        "top_p": request.top_p, "top_k": request.top_k or -1, "seed": request.seed, "stop_token_ids": sorted(request.stop_ids), "ignore_eos": True,
        "logprobs": 0, "return_token_ids": True, "stream": True,
    }


def chunks_of(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON payloads of server-sent events."""
    for line in lines:
        if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
            yield json.loads(line[6:])


def with_finish(chunks: Iterable[dict[str, Any]], request_id: int) -> Iterator[TokenEvent]:
    """Tokens in order, one behind, so that the last can carry the finish reason, which may come in a chunk without tokens."""
    held: TokenEvent | None = None
    finish = "stop"
    for chunk in chunks:
        choice = chunk["choices"][0] if chunk.get("choices") else {}
        finish = choice.get("finish_reason") or finish
        logprobs = (choice.get("logprobs") or {}).get("token_logprobs") or []
        for token, logprob in zip(choice.get("token_ids") or [], logprobs, strict=True):
            if held is not None:
                yield held
            held = TokenEvent(request_id, int(token), float(logprob), None)
    if held is None:
        raise ValueError("vLLM ended an answer without a token.")
    yield replace(held, finish=finish)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])

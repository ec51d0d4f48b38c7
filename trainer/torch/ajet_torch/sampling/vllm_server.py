"""Sampling through vLLM (0.26 or later) in a server process of its own.

Token ids in and out with logprobs over its OpenAI-compatible completions; new weights through its native weight transfer
(CUDA IPC) inside pause and resume. The first rank owns the server. On the trainer's GPUs every other rank is a `VllmPeer`, whose
whole copy of the weights feeds the part of the server on its own GPU; with GPUs of its own the first rank feeds all of them.

What is said to vLLM was checked against the sources of 0.26 through 0.33 (see LOG.md); the tests run it against a small
server that takes nothing else (`tests/fake_vllm`).
"""

from __future__ import annotations

import http.client
import json
import logging
import queue
import threading
from dataclasses import dataclass, field, replace
from typing import Any, Iterable, Iterator

import numpy as np
import torch

from ..config import WorkerConfig
from ..errors import WorkerError
from ..model import PolicyModel
from ..ranks import Ranks
from .idle import IdleServer
from .server import SampleRequest, TokenEvent, require_room, take_weights
from .vllm_gpus import buffer_devices, require_gpus, visible_to_vllm
from .vllm_http import JSON_HEADERS, UnixConnection, error_text
from .vllm_process import MODEL_NAME, VllmProcess, require_vllm
from .vllm_weights import WeightSender

PROBE_ID = -1

log = logging.getLogger("ajet_torch")


@dataclass
class Stream:
    """One request at the server."""

    request: SampleRequest
    connection: UnixConnection
    is_cancelled: threading.Event = field(default_factory=threading.Event)


class VllmServer:
    """`policy` holds the whole weights that vLLM is given: the trained model itself, or the sharded run's whole copy."""

    def __init__(self, config: WorkerConfig, policy: PolicyModel, ranks: Ranks) -> None:
        require_vllm()
        inference, weight = config.inference, next(policy.lm.parameters())
        num_gpus = torch.cuda.device_count() if weight.device.type == "cuda" else 0
        require_gpus(inference, ranks.size, num_gpus)
        self.policy = policy
        limit = int(policy.lm.config.max_position_embeddings)
        self.context_length = min(limit, inference.kv_tokens or limit)
        self.process = VllmProcess(config, self.context_length, weight.dtype, visible_to_vllm(inference, ranks.size, num_gpus))
        self.events: queue.SimpleQueue[tuple[int, TokenEvent | WorkerError]] = queue.SimpleQueue()
        self.streams: dict[int, Stream] = {}
        self.waiting: list[SampleRequest] = []
        self.unsent: list[TokenEvent] = []
        self.open = True
        try:
            group = ranks if inference.colocated else Ranks(0, 1, 0)
            self.sender = WeightSender(policy, config, group, self.process.http, group.share(self.process.version), buffer_devices(inference, ranks, weight.device))
            self.sent_sum, self.held_sums = self.sender.weight_sum(), self._held_sums()
        except BaseException:
            self.close()
            raise
        self.is_exact = self.held_sums == [self.sent_sum]
        if not self.is_exact:
            log.info("vLLM lays its weights out in its own way (%d GPUs); after each step only their change and a probe are checked.", inference.tensor_parallel_size)

    def submit(self, request: SampleRequest) -> None:
        require_room(request, self.context_length)
        self.waiting.append(request)

    def abort(self, request_id: int) -> None:
        """vLLM frees a request whose client hangs up."""
        self.waiting = [request for request in self.waiting if request.id != request_id]
        stream = self.streams.pop(request_id, None)
        if stream is not None:
            stream.is_cancelled.set()
            stream.connection.hang_up()

    def is_busy(self) -> bool:
        return len(self.streams) > 0

    def has_queue(self) -> bool:
        return len(self.waiting) > 0

    def admit(self, open_: bool) -> None:
        self.open = open_

    def tick(self) -> list[TokenEvent]:
        """Hands waiting requests over and returns the tokens that have come, after at most 10 ms. Raises `failed` where vLLM did."""
        if self.open:
            for request in self.waiting:
                self._start(request)
            self.waiting = []
        events, self.unsent = self.unsent, []
        try:
            self._take(events, self.events.get(timeout=0 if events else 0.01))
            while True:
                self._take(events, self.events.get_nowait())
        except queue.Empty:
            return events

    def _start(self, request: SampleRequest) -> None:
        stream = Stream(request, UnixConnection(self.process.http.path))
        self.streams[request.id] = stream
        threading.Thread(target=self._follow, args=(stream,), daemon=True).start()

    def _take(self, events: list[TokenEvent], item: tuple[int, TokenEvent | WorkerError]) -> None:
        """What still comes of an aborted request is dropped."""
        request_id, event = item
        if request_id not in self.streams:
            return
        if isinstance(event, WorkerError):
            raise event
        if event.finish is not None:
            del self.streams[request_id]
        events.append(event)

    def _follow(self, stream: Stream) -> None:
        """One thread per request, from connecting to the last token."""
        request, connection = stream.request, stream.connection
        try:
            connection.connect()
            if stream.is_cancelled.is_set():
                return
            connection.request("POST", "/v1/completions", json.dumps(to_completion(request, self.context_length)), JSON_HEADERS)
            response = connection.getresponse()
            if response.status != 200:
                raise ValueError(f"status {response.status}: {error_text(response.read())}")
            chunks = chunks_of(response) if request.stream else iter([json.loads(response.read())])
            for event in with_finish(chunks, request.id):
                self.events.put((request.id, event))
        except (OSError, ValueError, KeyError, AttributeError, http.client.HTTPException) as error:
            if not stream.is_cancelled.is_set():
                self.events.put((request.id, WorkerError("failed", f"vLLM failed: {type(error).__name__}: {error}. {self.process.last_words()}")))
        finally:
            connection.close()

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        """No request of ours is being sampled. The pause ends what hung up a moment ago and empties the prefix cache, which
        holds keys and values of the old weights. Raises `weight_sync` where vLLM does not hold the new ones afterwards.
        """
        take_weights(self.policy.lm, tensors)
        http = self.process.http
        http.post("/pause?mode=abort&clear_cache=true")
        sent = self.sender.send()
        http.post("/resume")
        held = self._held_sums()
        if held != [sent] if self.is_exact else held == self.held_sums and sent != self.sent_sum:
            raise WorkerError("weight_sync", f"vLLM does not hold the new weights: their bits sum to {held}, those sent to {sent}. Restart the run from its last checkpoint.")
        self.sent_sum, self.held_sums = sent, held

    def _held_sums(self) -> list[int]:
        """Of the weights in each of vLLM's workers."""
        return [int(found) for found in self.process.http.post("/collective_rpc", {"method": "ajet_weight_sum"})["results"]]

    def fingerprint(self) -> int | None:
        """vLLM's own sums are compared within `update_weights`: joined, split and folded weights are not the trainer's one by one."""
        return None

    def probe(self, prompt_ids: np.ndarray, num_tokens: int) -> list[TokenEvent]:
        """A few greedy tokens with their logprobs, to compare with the trainer's."""
        self._start(SampleRequest(PROBE_ID, prompt_ids, 0.0, 1.0, 0, num_tokens, frozenset(), 0, False))
        was_open, self.open = self.open, False
        found: list[TokenEvent] = []
        others: list[TokenEvent] = []
        while not found or found[-1].finish is None:
            for event in self.tick():
                (found if event.id == PROBE_ID else others).append(event)
        self.open, self.unsent = was_open, others
        return found

    def close(self) -> None:
        for request_id in list(self.streams):
            self.abort(request_id)
        self.process.close()


class VllmPeer(IdleServer):
    """Takes no requests; hands over the weights of its GPU, which it shares with vLLM."""

    def __init__(self, config: WorkerConfig, policy: PolicyModel, ranks: Ranks) -> None:
        self.policy = policy
        devices = buffer_devices(config.inference, ranks, next(policy.lm.parameters()).device)
        self.sender = WeightSender(policy, config, ranks, None, ranks.share(None), devices)

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        take_weights(self.policy.lm, tensors)
        self.sender.send()


def to_completion(request: SampleRequest, context_length: int) -> dict[str, Any]:
    """`return_tokens_as_token_ids`: the texts that come with logprobs are not decoded, since nobody reads them."""
    room = context_length - len(request.prompt_ids)
    return {
        "model": MODEL_NAME, "prompt": request.prompt_ids.tolist(), "max_tokens": min(request.max_tokens, room), "temperature": request.temperature,
        "top_p": request.top_p, "top_k": request.top_k, "seed": request.seed, "stop_token_ids": sorted(request.stop_ids), "ignore_eos": True,
        "logprobs": 0, "return_token_ids": True, "return_tokens_as_token_ids": True, "stream": request.stream,
    }


def chunks_of(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON payloads of server-sent events; other lines are comments that keep the connection alive."""
    for line in lines:
        if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
            yield json.loads(line[6:])


def with_finish(chunks: Iterable[dict[str, Any]], request_id: int) -> Iterator[TokenEvent]:
    """Tokens in order, one behind, so that the last can carry the finish reason, which may come in a chunk without tokens.

    Raises ValueError for an error in midstream, for an answer that the server gave up (`abort`, `error`) and for one that just ends.
    """
    held: TokenEvent | None = None
    finish: str | None = None
    for chunk in chunks:
        if "error" in chunk:
            raise ValueError(error_text(json.dumps(chunk).encode()))
        choice = chunk["choices"][0] if chunk.get("choices") else {}
        finish = choice.get("finish_reason") or finish
        logprobs = (choice.get("logprobs") or {}).get("token_logprobs") or []
        for token, logprob in zip(choice.get("token_ids") or [], logprobs, strict=True):
            if held is not None:
                yield held
            held = TokenEvent(request_id, int(token), float(logprob), None)
    if held is None or finish not in ("stop", "length"):
        raise ValueError(f"an answer ended {'without a token' if held is None else 'early'} (finish reason {finish})")
    yield replace(held, finish=finish)

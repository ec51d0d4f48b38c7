"""Samples through vLLM (0.26 or later), in one server process or in several replicas.

Token ids and logprobs go over vLLM's OpenAI-compatible completions. New weights go through its native weight transfer
(CUDA IPC) while vLLM is paused. The first rank owns the servers. If vLLM shares the trainer's GPUs, every other rank is
a `VllmPeer`: it has a whole copy of the weights and feeds the part of a server on its own GPU. If vLLM has separate
GPUs, the first rank feeds all of them.

An episode stays with one replica, whose prefix cache has the beginning of its prompts. If a replica fails, it is
started again, and its answers continue at another replica. It serves nothing until it has the weights of the others. If
a single server fails, the run ends.

The requests to vLLM were checked against the sources of 0.26 through 0.33 (see LOG.md). The tests send them to a small
server that refuses all other requests (`tests/fake_vllm`).
"""

from __future__ import annotations

import logging
import queue
from collections import Counter, deque
from typing import Iterable

import numpy as np
import torch

from ..config import WorkerConfig
from ..errors import WorkerError
from ..model import PolicyModel
from ..ranks import Ranks
from .idle import IdleServer
from .pins import EpisodePins
from .server import CallFailure, SampleRequest, TokenEvent, require_room, take_weights
from .vllm_gpus import buffer_devices, require_gpus, visible_to_vllm
from .vllm_http import ANSWER_TIMEOUT_S, Broadcast
from .vllm_process import VllmProcess, require_vllm
from .vllm_replica import Replica, State, close_replicas, open_replicas
from .vllm_stream import Call, Events, Refused, Stream
from .vllm_weights import WeightSender

PROBE_ID = -1
"""The request id of the first replica's probe; the others' ids are below it."""
MOST_FAILURES = 2
"""A request that has failed this often is not tried again, because it may itself be the cause."""

SLOWEST_TOKENS_PER_S = 5
"""The slowest expected sampling. It sets how long a replica may be silent while it makes an answer that comes in one
piece."""

log = logging.getLogger("ajet_torch")


class VllmServer:
    """`policy` holds the whole weights that vLLM gets: the trained model itself, or the whole copy of a sharded run."""

    def __init__(self, config: WorkerConfig, policy: PolicyModel, ranks: Ranks) -> None:
        require_vllm()
        inference, weight = config.inference, next(policy.lm.parameters())
        num_gpus = torch.cuda.device_count() if weight.device.type == "cuda" else 0
        require_gpus(inference, ranks.size, num_gpus)
        self.policy = policy
        limit = int(policy.lm.config.max_position_embeddings)
        self.context_length = min(limit, inference.kv_tokens or limit)
        self.events: Events = queue.SimpleQueue()
        self.streams: dict[int, Stream] = {}
        self.waiting: deque[Call] = deque()
        self.unsent: list[TokenEvent | CallFailure] = []
        self.pins = EpisodePins()
        self.open = True
        self.group = ranks if inference.colocated else Ranks(0, 1, 0)

        def start(replica: int) -> VllmProcess:
            return VllmProcess(config, self.context_length, weight.dtype, visible_to_vllm(inference, ranks.size, num_gpus, replica), replica)

        self.replicas = open_replicas(inference.num_replicas, start)
        try:
            version = self.group.share(self.replicas[0].process.version)
            self.sender = WeightSender(policy, config, self.group, version, buffer_devices(inference, ranks, weight.device))
            self.base_sum = self.sender.weight_sum()
            for replica in self.replicas:
                self._begin(replica, "serving")
        except BaseException:
            self.close()
            raise
        if not self.replicas[0].is_exact:
            log.info("vLLM lays its weights out differently (%d GPUs), so after each step only their change and a probe are checked.", inference.tensor_parallel_size)

    def _begin(self, replica: Replica, state: State) -> None:
        """Makes the handshake with a replica that has just started."""
        self.sender.greet(replica.process.http)
        replica.begin(self.base_sum)
        replica.state = state

    def submit(self, request: SampleRequest) -> None:
        require_room(request, self.context_length)
        self.waiting.append(Call(request))

    def abort(self, request_id: int) -> None:
        self.waiting = deque(call for call in self.waiting if call.request.id != request_id)
        stream = self.streams.pop(request_id, None)
        if stream is not None:
            stream.cancel()

    def is_busy(self) -> bool:
        return len(self.streams) > 0

    def has_queue(self) -> bool:
        return len(self.waiting) > 0

    def admit(self, open_: bool) -> None:
        self.open = open_

    def tick(self) -> list[TokenEvent | CallFailure]:
        """Sends waiting requests, waits at most 10 ms, and returns the tokens that have arrived. Raises `failed` if no
        replica is left."""
        self._poll()
        serving = self._in_state("serving")
        while self.open and self.waiting and serving:
            call = self.waiting.popleft()
            self._start(call, self._choose(call, serving))
        try:
            self._take(*self.events.get(timeout=0 if self.unsent else 0.01))
            while True:
                self._take(*self.events.get_nowait())
        except queue.Empty:
            events, self.unsent = self.unsent, []
            return events

    def _in_state(self, *states: State) -> list[Replica]:
        return [replica for replica in self.replicas if replica.state in states]

    def _choose(self, call: Call, serving: list[Replica]) -> Replica:
        loads = Counter(stream.server.index for stream in self.streams.values())
        index = self.pins.choose(call.request.episode_id, [replica.index for replica in serving], lambda each: loads[each])
        return self.replicas[index]

    def _start(self, call: Call, replica: Replica) -> None:
        if not self._answers_of(replica):
            replica.hear()
        self.streams[call.request.id] = Stream(call, replica, self.context_length, self.events)

    def _take(self, stream: Stream, event: TokenEvent | WorkerError | Refused) -> None:
        """Takes events. It drops events of aborted requests, and events of a replica that the request has left."""
        call = stream.call
        if self.streams.get(call.request.id) is not stream:
            return
        if isinstance(event, Refused):
            raise WorkerError("failed", str(event))
        if isinstance(event, WorkerError):
            self._lose(stream.server, event)
            return
        call.heard.append(event.token)
        if event.finish is not None:
            del self.streams[call.request.id]
            stream.server.num_restarts = 0
        self.unsent.append(event)

    def _answers_of(self, replica: Replica) -> list[Call]:
        return [stream.call for stream in self.streams.values() if stream.server is replica]

    def _poll(self) -> None:
        """Detects failed replicas. A single server is checked only for silence, because its next call fails if it has
        ended."""
        for replica in self.replicas:
            calls = self._answers_of(replica)
            silence = replica.silence(patience(calls)) if calls else None
            if silence is not None:
                self._lose(replica, silence)
        for replica in self.replicas if len(self.replicas) > 1 else []:
            was = replica.state
            error = replica.poll()
            if error is None and was == "starting" and replica.state == "outdated":
                error = self._try_to_begin(replica)
            if error is not None:
                self._lose(replica, error)

    def _try_to_begin(self, replica: Replica) -> WorkerError | None:
        try:
            self._begin(replica, "outdated")
        except WorkerError as error:
            return error
        return None

    def _lose(self, replica: Replica, error: WorkerError) -> None:
        """Starts a replica again and moves its answers to others. Raises `error` if no replica is left."""
        if len(self.replicas) == 1:
            raise error
        calls = self._answers_of(replica)
        for call in calls:
            self.streams.pop(call.request.id).cancel()
        replica.fail()
        log.warning("vLLM replica %d of %d failed with %d answers under way; %s. %s", replica.index + 1, len(self.replicas), len(calls), replica.outlook, error)
        if not self._in_state("starting", "outdated", "fed", "serving", "ending"):
            raise error
        for call in calls:
            self._move(call, error)

    def _move(self, call: Call, error: WorkerError) -> None:
        """Moves an answer to another replica. The rest of an answer must come from the same weights as its beginning,
        so it cannot wait for a replica to return."""
        call.num_failures += 1
        serving = self._in_state("serving")
        if call.request.id <= PROBE_ID:
            return
        if call.num_failures >= MOST_FAILURES or (call.heard and not serving):
            self.unsent.append(CallFailure(call.request.id, error))
        elif call.heard:
            self._start(call, self._choose(call, serving))
        else:
            self.waiting.appendleft(call)

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Raises `weight_sync` if no replica holds the new weights afterwards. Call it only if none of our requests is
        being sampled."""
        take_weights(self.policy.lm, tensors)
        self._feed(self._in_state("outdated", "fed", "serving"))

    def lacks_weights(self) -> bool:
        return len(self._in_state("outdated")) > 0

    def catch_up(self) -> None:
        outdated = self._in_state("outdated")
        if self.group.share(len(outdated) > 0):
            self._feed(outdated)

    def _feed(self, replicas: list[Replica]) -> None:
        """Pauses the replicas and sends the weights. The pause ends requests that were just dropped. It also empties
        the prefix cache, which holds keys and values of the old weights."""
        servers = Broadcast({replica.index: replica.process.http for replica in replicas})
        servers.post("/pause?mode=abort&clear_cache=true")
        sent = self.sender.send(servers)
        servers.post("/resume")
        errors: dict[int, WorkerError] = {}
        for replica in replicas:
            try:
                servers.require(replica.index)
                replica.require_sum(sent)
            except WorkerError as error:
                errors[replica.index] = error
            replica.state = "fed"
        self._sort_out(errors, "fed")

    def _sort_out(self, errors: dict[int, WorkerError], state: State) -> None:
        """Gives `state` to the replicas that took the weights, and restarts those that failed. If all failed and no
        other is left, raises, because a restart would not help."""
        fed = self._in_state("fed")
        if errors and len(errors) == len(fed) and not self._in_state("starting", "outdated", "serving", "ending"):
            raise next(iter(errors.values()))
        for replica in fed:
            if replica.index in errors:
                self._lose(replica, errors[replica.index])
            else:
                replica.state = state

    def fingerprint(self) -> int | None:
        """Returns None. `update_weights` compares vLLM's own sums, because joined, split and merged weights cannot be
        matched with the trainer's tensors."""
        return None

    def probe(self, prompt_ids: np.ndarray, num_tokens: int) -> dict[int, list[TokenEvent]]:
        fed = self._in_state("fed")
        for replica in fed:
            self._start(Call(SampleRequest(PROBE_ID - replica.index, prompt_ids, 0.0, 1.0, 0, num_tokens, frozenset(), 0, False)), replica)
        was_open, self.open = self.open, False
        found: dict[int, list[TokenEvent]] = {replica.index: [] for replica in fed}
        others: list[TokenEvent | CallFailure] = []
        while any(PROBE_ID - replica.index in self.streams for replica in fed):
            for event in self.tick():
                (found[PROBE_ID - event.id] if event.id <= PROBE_ID else others).append(event)
        self.open, self.unsent = was_open, others
        return {replica.index: found[replica.index] for replica in fed if replica.state == "fed"}

    def judge(self, errors: dict[int, WorkerError]) -> None:
        self._sort_out(errors, "serving")

    def close(self) -> None:
        for request_id in list(self.streams):
            self.abort(request_id)
        close_replicas(self.replicas)


def patience(calls: list[Call]) -> float:
    """Returns the seconds that a replica may be silent while it answers these requests."""
    longest = max((call.request.max_tokens for call in calls if not call.request.stream), default=0)
    return ANSWER_TIMEOUT_S + longest / SLOWEST_TOKENS_PER_S


class VllmPeer(IdleServer):
    """Takes no requests. It sends the weights to vLLM on the GPU that both use."""

    def __init__(self, config: WorkerConfig, policy: PolicyModel, ranks: Ranks) -> None:
        self.policy, self.group = policy, ranks
        devices = buffer_devices(config.inference, ranks, next(policy.lm.parameters()).device)
        self.sender = WeightSender(policy, config, ranks, ranks.share(None), devices)

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        take_weights(self.policy.lm, tensors)
        self.sender.send(Broadcast({}))

    def catch_up(self) -> None:
        if self.group.share(None):
            self.sender.send(Broadcast({}))

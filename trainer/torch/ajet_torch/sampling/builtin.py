"""Continuous batching over the training model itself: the fallback that needs nothing else, and the oracle of the others.

New requests are prefilled into free slots, one by one, copying the longest prefix that any slot holds (the siblings of a
group copy all of it); then all slots advance by one token together.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Iterable

import numpy as np
import torch

from ..config import InferenceConfig
from ..model import PolicyModel
from .choose import choose_tokens, uniform
from .server import SampleRequest, TokenEvent, require_room, weight_sum
from .slots import DecodePlan, PrefillPlan, SlotCache

BUCKET = 256
FEWEST_SHARED = 16
LONGEST_FED = 16


@dataclass
class Slot:
    """`tokens` are those whose keys and values are cached; `pending` come after them, one a decoding step: the end of the
    prompt, then the last sampled token. The step that takes the last pending one samples. `head` is the prompt's beginning,
    by which a prefix worth copying is found.
    """

    tokens: list[int] = field(default_factory=list)
    pending: list[int] = field(default_factory=lambda: [0])
    request: SampleRequest | None = None
    num_sampled: int = 0
    head: bytes = b""


class BuiltinServer:
    def __init__(self, policy: PolicyModel, config: InferenceConfig, device: torch.device) -> None:
        self.policy = policy
        self.device = device
        limit = int(getattr(policy.lm.config, "max_position_embeddings", 4096))
        self.context_length = min(limit, config.kv_tokens or min(limit, 4096))
        self.cache = SlotCache(config.slots, self.context_length)
        self.slots = [Slot() for _ in range(config.slots)]
        self.queue: deque[SampleRequest] = deque()
        self.open = True
        self.graphs: dict[int, Graph] | None = {} if config.cuda_graphs and device.type == "cuda" else None

    def submit(self, request: SampleRequest) -> None:
        require_room(request, self.context_length)
        self.queue.append(request)

    def abort(self, request_id: int) -> None:
        self.queue = deque(request for request in self.queue if request.id != request_id)
        for slot in self.slots:
            if slot.request is not None and slot.request.id == request_id:
                slot.request = None
                slot.pending = slot.pending or [0]

    def is_busy(self) -> bool:
        return any(slot.request is not None for slot in self.slots)

    def has_queue(self) -> bool:
        return len(self.queue) > 0

    def admit(self, open_: bool) -> None:
        self.open = open_

    @torch.no_grad()
    def tick(self) -> list[TokenEvent]:
        with torch.compiler.set_stance("force_eager"):
            while self.open and self.queue and (index := self._free_slot(self.queue[0])) is not None:
                self._prefill(index, self.queue.popleft())
            return self._decode() if self.is_busy() else []

    def _free_slot(self, request: SampleRequest) -> int | None:
        """A free slot, if possible the one whose cached tokens agree longest with the prompt."""
        free = [i for i, slot in enumerate(self.slots) if slot.request is None]
        head = head_of(request.prompt_ids)
        alike = [i for i in free if self.slots[i].head == head]
        return max(alike, key=lambda i: shared_length(self.slots[i].tokens, request.prompt_ids)) if alike else next(iter(free), None)

    def _prefill(self, index: int, request: SampleRequest) -> None:
        """Caches the prompt but for a short end, which decoding takes with all slots together: its last token at least."""
        prompt, head = request.prompt_ids, head_of(request.prompt_ids)
        reach = {i: shared_length(slot.tokens, prompt[:-1]) for i, slot in enumerate(self.slots) if slot.head == head}
        source = max(reach, key=lambda i: reach[i], default=index)
        start = reach.get(source, 0) if reach.get(source, 0) >= FEWEST_SHARED else 0
        if start > reach.get(index, 0):
            self.cache.copy_prefix(source, index, start)
        stop = start if len(prompt) - start <= LONGEST_FED else len(prompt) - 1
        if start < stop:
            ids = torch.from_numpy(prompt[start:stop].astype(np.int64)).to(self.device)[None]
            positions = torch.arange(start, stop, device=self.device)[None]
            self.policy.hidden(ids, positions, PrefillPlan(self.cache, index, start))
        self.slots[index] = Slot(tokens=prompt[:stop].tolist(), pending=prompt[stop:].tolist(), request=request, head=head)

    def _decode(self) -> list[TokenEvent]:
        """Every slot takes its next token; those that have taken their last one sample."""
        active = [i for i, slot in enumerate(self.slots) if slot.request is not None]
        ids = np.asarray([slot.pending[0] for slot in self.slots], np.int64)
        positions = np.asarray([min(len(slot.tokens), self.context_length - 1) for slot in self.slots], np.int64)
        for i in active:
            self.slots[i].tokens.append(self.slots[i].pending.pop(0))
        longest = max(len(self.slots[i].tokens) for i in active)
        length = min(self.context_length, -(-longest // BUCKET) * BUCKET)
        logits = self._forward(torch.from_numpy(ids).to(self.device), torch.from_numpy(positions).to(self.device), length)
        sampling = [i for i in active if not self.slots[i].pending]
        if not sampling:
            return []
        return self._sample(logits[sampling] if len(sampling) < len(self.slots) else logits, sampling)

    def _forward(self, ids_B: torch.Tensor, positions_B: torch.Tensor, length: int) -> torch.Tensor:
        if self.graphs is None:
            return self._logits(ids_B, positions_B, length)
        if length not in self.graphs:
            self.graphs[length] = Graph(self, ids_B, positions_B, length)
        return self.graphs[length].replay(ids_B, positions_B)

    def _logits(self, ids_B: torch.Tensor, positions_B: torch.Tensor, length: int) -> torch.Tensor:
        hidden = self.policy.hidden(ids_B[:, None], positions_B[:, None], DecodePlan(self.cache, positions_B, length))
        return hidden[:, 0] @ self.policy.head_weight.T

    def _sample(self, logits: torch.Tensor, indices: list[int]) -> list[TokenEvent]:
        requests = [request for i in indices if (request := self.slots[i].request) is not None]
        controls = np.asarray([[r.temperature, r.top_k, r.top_p, uniform(r.seed, self.slots[i].num_sampled)] for i, r in zip(indices, requests)])
        ids, logprobs = choose_tokens(logits, controls)
        drawn = torch.stack([ids.double(), logprobs.double()]).cpu().numpy()
        return [self._record(i, int(token), float(logprob)) for i, token, logprob in zip(indices, *drawn)]

    def _record(self, index: int, token: int, logprob: float) -> TokenEvent:
        slot = self.slots[index]
        request = slot.request
        assert request is not None
        slot.pending = [token]
        slot.num_sampled += 1
        finish = "stop" if token in request.stop_ids else None
        if finish is None and (slot.num_sampled >= request.max_tokens or len(slot.tokens) + 1 >= self.context_length):
            finish = "length"
        if finish is not None:
            slot.request = None
        return TokenEvent(request.id, token, logprob, finish)

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Nothing to copy where the sampler reads the trained weights themselves; either way what was cached is stale."""
        own = dict(self.policy.lm.named_parameters())
        with torch.no_grad():
            for name, tensor in tensors:
                if own[name].data_ptr() != tensor.data_ptr():
                    own[name].copy_(tensor)
        for slot in self.slots:
            slot.tokens = []

    def fingerprint(self) -> int | None:
        return weight_sum(self.policy.lm.named_parameters())

    def close(self) -> None:
        self.graphs = None
        self.cache.layers.clear()


class Graph:
    """One decoding step over all slots, captured; `length` is fixed, the ids and positions are inputs."""

    def __init__(self, server: BuiltinServer, ids_B: torch.Tensor, positions_B: torch.Tensor, length: int) -> None:
        self.ids_B, self.positions_B = ids_B.clone(), positions_B.clone()
        stream: Any = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            server._logits(self.ids_B, self.positions_B, length)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.logits = server._logits(self.ids_B, self.positions_B, length)

    def replay(self, ids_B: torch.Tensor, positions_B: torch.Tensor) -> torch.Tensor:
        self.ids_B.copy_(ids_B)
        self.positions_B.copy_(positions_B)
        self.graph.replay()
        return self.logits


def head_of(prompt: np.ndarray) -> bytes:
    return prompt[:FEWEST_SHARED].tobytes()


def shared_length(cached: list[int], prompt: np.ndarray) -> int:
    """How many leading tokens agree."""
    length = min(len(cached), len(prompt))
    if length == 0 or cached[0] != prompt[0]:
        return 0
    differ = np.flatnonzero(np.asarray(cached[:length]) != prompt[:length])
    return int(differ[0]) if len(differ) else length

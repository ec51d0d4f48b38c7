"""Continuous batching over the training model itself: the fallback that needs nothing else, and the oracle of the others.

New requests are prefilled into free slots, many in one pass, each on top of the longest prefix that any slot holds (the
siblings of a group copy all of it, the next call of an episode finds its own slot); then all slots advance by one token.
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
from .held_tokens import FEWEST_SHARED, HeldTokens, shared_length
from .prefill import Fill, PrefixCopies, batches
from .server import SampleRequest, TokenEvent, require_room, take_weights, weight_sum
from .slots import DecodePlan, PrefillPlan, SlotCache, fitting_slots

BUCKET = 256
LONGEST_FED = 4
"""A prompt's end of up to so many tokens goes in by decoding, one a step, beside what the other slots do."""
TICKS_BETWEEN_PREFILLS = 4
"""While others decode: requests that come meanwhile share one pass."""


@dataclass
class Slot:
    """`pending`: tokens that come after the cached ones, one a decoding step: the end of the prompt, then the last sampled
    token. The step that takes the last pending one samples.
    """

    pending: list[int] = field(default_factory=list)
    request: SampleRequest | None = None
    num_sampled: int = 0
    last_used: int = 0


class BuiltinServer:
    """`slots` of 0 takes as many as fit a twelfth of the GPU's memory, 8 to 256, and 64 on a CPU."""

    def __init__(self, policy: PolicyModel, config: InferenceConfig, device: torch.device) -> None:
        self.policy = policy
        self.device = device
        limit = int(getattr(policy.lm.config, "max_position_embeddings", 4096))
        self.context_length = min(limit, config.kv_tokens or min(limit, 4096))
        num_slots = config.slots or fitting_slots(policy.lm, self.context_length, device)
        self.cache = SlotCache(num_slots, self.context_length)
        self.held = HeldTokens(num_slots, self.context_length)
        self.slots = [Slot() for _ in range(num_slots)]
        self.queue: deque[SampleRequest] = deque()
        self.copies = PrefixCopies()
        self.open = True
        self.num_ticks = 0
        self.last_prefill = 0
        self.graphs: dict[int, Graph] | None = {} if config.cuda_graphs and device.type == "cuda" else None

    def submit(self, request: SampleRequest) -> None:
        require_room(request, self.context_length)
        self.queue.append(request)

    def abort(self, request_id: int) -> None:
        self.queue = deque(request for request in self.queue if request.id != request_id)
        for slot in self.slots:
            if slot.request is not None and slot.request.id == request_id:
                slot.request = None

    def is_busy(self) -> bool:
        return any(slot.request is not None for slot in self.slots)

    def has_queue(self) -> bool:
        return len(self.queue) > 0

    def admit(self, open_: bool) -> None:
        self.open = open_

    @torch.no_grad()
    def tick(self) -> list[TokenEvent]:
        self.num_ticks += 1
        with torch.compiler.set_stance("force_eager"):
            if self.open and self.queue and (not self.is_busy() or self.num_ticks - self.last_prefill >= TICKS_BETWEEN_PREFILLS):
                self._take_in()
            return self._decode() if self.is_busy() else []

    def _take_in(self) -> None:
        """Gives free slots to waiting requests. One that shares most of its prompt with another of the same pass waits for
        the next pass and copies it.
        """
        self.last_prefill = self.num_ticks
        free = {i for i, slot in enumerate(self.slots) if slot.request is None}
        while self.queue and free:
            fills: list[Fill] = []
            waiting: deque[SampleRequest] = deque()
            while self.queue:
                request = self.queue.popleft()
                if free and not self._copies_one_of(fills, request.prompt_ids):
                    fills.append(self._assign(request, free))
                else:
                    waiting.append(request)
            self.queue = waiting
            self.copies.carry_out(self.cache)
            for batch in batches(fills):
                self._prefill(batch)

    def _copies_one_of(self, fills: list[Fill], prompt: np.ndarray) -> bool:
        most = max((shared_length(fill.prompt[: fill.stop], prompt) for fill in fills if fill.stop > fill.start), default=0)
        if most < FEWEST_SHARED:
            return False
        held = int(self.held.shared(prompt).max())
        return most - held > (len(prompt) - held) / 2

    def _assign(self, request: SampleRequest, free: set[int]) -> Fill:
        """Takes the slot that the prompt continues, else the one unused for longest; the prompt's end, its last token at
        least, is left to decoding.
        """
        prompt = request.prompt_ids
        shared = self.held.shared(prompt[:-1])
        continued = [i for i in free if shared[i] > 0 and self.held.lengths[i] - shared[i] < FEWEST_SHARED]
        index = max(continued, key=lambda i: shared[i]) if continued else min(free, key=lambda i: self.slots[i].last_used)
        free.remove(index)
        source = int(shared.argmax())
        start = int(shared[source])
        if start > shared[index]:
            self.copies.add(source, index, start, self.cache)
        self.held.put(index, prompt[:start])
        stop = start if len(prompt) - start <= LONGEST_FED else len(prompt) - 1
        self.slots[index] = Slot(pending=prompt[stop:].tolist(), request=request, last_used=self.num_ticks)
        return Fill(index, start, stop, prompt)

    def _prefill(self, fills: list[Fill]) -> None:
        """Caches the prompts of several slots in one forward pass."""
        stop, width = max(fill.stop for fill in fills), max(fill.stop - fill.start for fill in fills)
        ids = np.zeros((len(fills), width), np.int64)
        positions = np.full((len(fills), width), self.cache.spare, np.int64)
        for row, fill in enumerate(fills):
            ids[row, : fill.stop - fill.start] = fill.prompt[fill.start : fill.stop]
            positions[row, : fill.stop - fill.start] = np.arange(fill.start, fill.stop)
        positions_BN = torch.from_numpy(positions).to(self.device)
        slots_B = torch.tensor([fill.slot for fill in fills], device=self.device)
        plan = PrefillPlan(self.cache, slots_B, positions_BN, stop, all(fill.start == 0 for fill in fills))
        self.policy.hidden(torch.from_numpy(ids).to(self.device), positions_BN, plan)
        for fill in fills:
            self.held.put(fill.slot, fill.prompt[: fill.stop])

    def _decode(self) -> list[TokenEvent]:
        """Every slot takes its next token; those that have taken their last one sample."""
        active = [i for i, slot in enumerate(self.slots) if slot.request is not None]
        positions = self.held.lengths.copy()
        ids = np.zeros(len(self.slots), np.int64)
        for i in active:
            ids[i] = self.slots[i].pending.pop(0)
            self.slots[i].last_used = self.num_ticks
        self.held.append(np.asarray(active), ids[active])
        longest = int(self.held.lengths[active].max())
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
            pool = next((other.graph.pool() for other in self.graphs.values()), None)
            self.graphs[length] = Graph(self, ids_B, positions_B, length, pool)
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
        if finish is None and (slot.num_sampled >= request.max_tokens or self.held.lengths[index] + 1 >= self.context_length):
            finish = "length"
        if finish is not None:
            slot.request = None
        return TokenEvent(request.id, token, logprob, finish)

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        """What was cached is stale, also where the sampler reads the trained weights themselves."""
        take_weights(self.policy.lm, tensors)
        self.held.forget()

    def fingerprint(self) -> int | None:
        return weight_sum(self.policy.lm.named_parameters())

    def close(self) -> None:
        self.graphs = None
        self.cache.layers.clear()


class Graph:
    """One decoding step over all slots, captured; `length` is fixed, the ids and positions are inputs.

    Graphs of one server share their memory: the logits of one hold until the next replay of any.
    """

    def __init__(self, server: BuiltinServer, ids_B: torch.Tensor, positions_B: torch.Tensor, length: int, pool: Any) -> None:
        self.ids_B, self.positions_B = ids_B.clone(), positions_B.clone()
        stream: Any = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            server._logits(self.ids_B, self.positions_B, length)
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool):
            self.logits = server._logits(self.ids_B, self.positions_B, length)

    def replay(self, ids_B: torch.Tensor, positions_B: torch.Tensor) -> torch.Tensor:
        self.ids_B.copy_(ids_B)
        self.positions_B.copy_(positions_B)
        self.graph.replay()
        return self.logits

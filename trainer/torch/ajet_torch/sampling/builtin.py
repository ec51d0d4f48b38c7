"""Continuous batching over the training model itself. It needs no other package, and it is the reference for testing
the other servers.

New requests are prefilled into free slots, many in one pass, each on top of the longest prefix that any slot holds.
(The siblings of a group copy all of it; the next call of an episode finds its own slot.) Then all answers advance by
one token. A step is queued before the tokens of the previous one are read, so the device never waits for the host. A
token that was drawn for an ended answer is dropped.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Iterable

import numpy as np
import torch

from ..config import InferenceConfig
from ..model import PolicyModel
from .choose import uniform
from .groups import Group, find_groups
from .held_tokens import FEWEST_SHARED, HeldTokens, shared_length
from .prefill import Fill, PrefixCopies, batches
from .server import SampleRequest, TokenEvent, require_room, take_weights, weight_sum
from .slots import PrefillPlan, SlotCache, fitting_slots
from .steps import DRAWN_LAST, Flight, ModelSteps, StepRows, Steps

LONGEST_FED = 4
"""Up to this many tokens at a prompt's end go in by decoding, one a step, while other slots decode."""
MOST_FUSED = 256
"""The slots of the fused step, which was made for so few rows that its products are bound by memory."""
TICKS_BETWEEN_PREFILLS = 4
"""While others decode, requests that come within this time share one pass."""


@dataclass
class Slot:
    """`pending` are tokens of the prompt's end that are still to be given, one a step. `position` is that of the next
    given token. `num_drawn` counts tokens that steps were asked to draw, and `drawn` is the last one that was read. If
    `closing` is set, no further step takes it.
    """

    pending: list[int] = field(default_factory=list)
    request: SampleRequest | None = None
    position: int = 0
    num_drawn: int = 0
    num_read: int = 0
    drawn: int = 0
    closing: bool = False
    last_used: int = 0
    started: float = 0.0


@dataclass(frozen=True)
class Given:
    """A step's request to one slot. `token` is DRAWN_LAST if the host did not know it; `draws` says whether its answer
    counts."""

    index: int
    request: SampleRequest
    token: int
    draws: bool


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
        self.steps, self.lookahead = self._create_steps(config)
        self.flights: deque[tuple[list[Given], Flight]] = deque()
        self.groups: list[Group] = []
        self.has_new_rows = False

    def _create_steps(self, config: InferenceConfig) -> tuple[Steps, int]:
        """Returns the steps, and how many of them may be in progress while the tokens of one more are read."""
        graphs = config.cuda_graphs and self.device.type == "cuda"
        if self.device.type == "cuda":
            from .fused import FusedSteps, fits

            if fits(self.policy.lm, self.context_length) and self.cache.num_slots <= MOST_FUSED:
                return FusedSteps(self.policy.lm, self.cache, self.context_length, self.device, graphs), 1
        return ModelSteps(self.policy, self.cache, self.context_length, self.device, graphs), 0

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
        """Gives free slots to waiting requests. A request that shares most of its prompt with another of the same pass
        waits for the next pass and copies it.
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
        """Takes the slot that the prompt continues, or otherwise the one unused for longest. The prompt's end, at least
        its last token, is left to decoding.
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
        self.slots[index] = Slot(pending=prompt[stop:].tolist(), request=request, position=stop, last_used=self.num_ticks, started=time.monotonic())
        self.has_new_rows = True
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
        """Queues the next step of all answers in progress, then reads the oldest step's tokens."""
        given = [self._give(index) for index, slot in enumerate(self.slots) if slot.request is not None and not slot.closing]
        if given:
            self.flights.append((given, self.steps.launch(self._rows(given))))
            for one in given:
                self._advance(one)
        if len(self.flights) > self.lookahead or not given:
            return self._land()
        return []

    def _give(self, index: int) -> Given:
        slot = self.slots[index]
        assert slot.request is not None
        return Given(index, slot.request, slot.pending[0] if slot.pending else DRAWN_LAST, len(slot.pending) <= 1)

    def _advance(self, given: Given) -> None:
        """Advances as if the step were done. The last token that an answer has room for is known beforehand."""
        slot = self.slots[given.index]
        slot.pending = slot.pending[1:]
        slot.position += 1
        slot.num_drawn += given.draws
        slot.last_used = self.num_ticks
        slot.closing = slot.num_drawn >= given.request.max_tokens or (given.draws and slot.position + 1 >= self.context_length)

    def _rows(self, given: list[Given]) -> StepRows:
        if self.has_new_rows:
            self.groups = find_groups(self.held.ids, self.held.lengths, [one.index for one in given])
            self.has_new_rows = False
        indices, requests = [one.index for one in given], [one.request for one in given]
        return StepRows(
            slots=np.asarray(indices), positions=np.asarray([self.slots[i].position for i in indices]), forced=np.asarray([one.token for one in given]),
            temperatures=np.asarray([r.temperature for r in requests]), top_ks=np.asarray([r.top_k for r in requests]), top_ps=np.asarray([r.top_p for r in requests]),
            draws=np.asarray([uniform(r.seed, self.slots[i].num_drawn) for i, r in zip(indices, requests)]), groups=self._groups_of(set(indices)),
        )

    def _groups_of(self, indices: set[int]) -> list[Group]:
        """Returns the remaining groups after some of their answers have ended."""
        left = [Group([slot for slot in group.slots if slot in indices], group.length) for group in self.groups]
        return [group for group in left if len(group.slots) > 1]

    def _land(self) -> list[TokenEvent]:
        given, flight = self.flights.popleft()
        ids, logprobs = flight.read()
        events = []
        for one, token, logprob in zip(given, ids.tolist(), logprobs.tolist()):
            slot = self.slots[one.index]
            if slot.request is not one.request:
                continue
            self.held.append(one.index, slot.drawn if one.token == DRAWN_LAST else one.token)
            if one.draws:
                events.append(self._record(slot, one.request, token, logprob))
        if not self.is_busy():
            self.flights.clear()
        return events

    def _record(self, slot: Slot, request: SampleRequest, token: int, logprob: float) -> TokenEvent:
        slot.drawn = token
        slot.num_read += 1
        finish = "stop" if token in request.stop_ids else "length" if slot.closing and slot.num_read == slot.num_drawn else None
        if finish is not None:
            slot.request = None
        return TokenEvent(request.id, token, logprob, finish, slot.started)

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        """The cached values are stale, also if the sampler reads the trained weights themselves."""
        take_weights(self.policy.lm, tensors)
        self.flights.clear()
        self.groups = []
        self.held.forget()

    def lacks_weights(self) -> bool:
        return False

    def catch_up(self) -> None:
        return None

    def fingerprint(self) -> int | None:
        return weight_sum(self.policy.lm.named_parameters())

    def close(self) -> None:
        self.steps.close()
        self.flights.clear()
        self.cache.layers.clear()

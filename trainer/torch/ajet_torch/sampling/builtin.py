"""Samples with continuous batching over the training model itself. This server needs no other package, and tests
compare the other servers with it.

New requests get free slots, and one pass prefills many of them. Each prompt begins with the longest prefix that any
slot holds. (Requests of one group share the whole prompt; the next call of an episode finds the slot of its last call.)
Then each step adds one token to every answer.

The server queues a step before it reads the tokens of the previous step, so the device never waits for the host. If an
answer has ended in the meantime, its next token is dropped.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Iterable

import numpy as np
import torch
from transformers import PreTrainedModel

from ..config import InferenceConfig
from ..model import PolicyModel
from .groups import Group, find_groups
from .held_tokens import FEWEST_SHARED, HeldTokens, shared_length
from .prefill import Fill, PrefixCopies
from .server import SampleRequest, TokenEvent, require_room, take_weights, weight_sum
from .slot_table import SlotTable
from .slots import SlotCache, fitting_slots
from .steps import DRAWN_LAST, Flight, ModelSteps, Steps

MOST_FUSED = 256
"""The slots of the fused step, which was made for so few rows that its products are bound by memory."""
TICKS_BETWEEN_PREFILLS = 4
"""While others decode, requests that come within this time share one pass."""


@dataclass(frozen=True)
class Asked:
    """A step in progress: the slots and their `turns`, the tokens that it was given (DRAWN_LAST if the host did not
    know the token), and which slots keep the token that is drawn."""

    slots: np.ndarray
    turns: np.ndarray
    tokens: np.ndarray
    draws: np.ndarray
    flight: Flight


def context_length_of(lm: PreTrainedModel, config: InferenceConfig) -> int:
    """Returns the number of tokens that a slot holds."""
    limit = int(getattr(lm.config, "max_position_embeddings", 4096))
    return min(limit, config.kv_tokens or min(limit, 4096))


class BuiltinServer:
    """If `slots` is 0, the server makes as many slots as fit a twelfth of the GPU memory, from 8 to 256, or 64 on a
    CPU."""

    def __init__(self, policy: PolicyModel, config: InferenceConfig, device: torch.device) -> None:
        self.policy = policy
        self.device = device
        self.context_length = context_length_of(policy.lm, config)
        num_slots = config.slots or fitting_slots(policy.lm, self.context_length, device)
        self.cache = SlotCache(num_slots, self.context_length)
        self.held = HeldTokens(num_slots, self.context_length)
        self.slots = SlotTable(num_slots, self.context_length)
        self.queue: deque[SampleRequest] = deque()
        self.copies = PrefixCopies()
        self.open = True
        self.num_ticks = 0
        self.last_prefill = 0
        self.steps, self.lookahead = self._create_steps(config)
        self.flights: deque[Asked] = deque()
        self.groups: list[Group] = []
        self.has_new_rows = False

    def _create_steps(self, config: InferenceConfig) -> tuple[Steps, int]:
        """Returns the steps, and how many of them may be in progress while the tokens of another step are read."""
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
        self.slots.abort(request_id)

    def is_busy(self) -> bool:
        return bool(self.slots.busy.any())

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
        """Gives free slots to waiting requests. If a request shares most of its prompt with another request of the same
        pass, it waits for the next pass and copies that prompt."""
        self.last_prefill = self.num_ticks
        free = set(np.flatnonzero(~self.slots.busy).tolist())
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
            self._fill([fill for fill in fills if fill.stop > fill.start])

    def _copies_one_of(self, fills: list[Fill], prompt: np.ndarray) -> bool:
        most = max((shared_length(fill.prompt[: fill.stop], prompt) for fill in fills if fill.stop > fill.start), default=0)
        if most < FEWEST_SHARED:
            return False
        held = int(self.held.shared(prompt).max())
        return most - held > (len(prompt) - held) / 2

    def _assign(self, request: SampleRequest, free: set[int]) -> Fill:
        """Takes the slot that the prompt continues, or else the slot that has been unused the longest. The decoding
        steps cache the end of the prompt, at least its last token."""
        prompt = request.prompt_ids
        shared = self.held.shared(prompt[:-1])
        continued = [i for i in free if shared[i] > 0 and self.held.lengths[i] - shared[i] < FEWEST_SHARED]
        index = max(continued, key=lambda i: shared[i]) if continued else min(free, key=self.slots.last_used.__getitem__)
        free.remove(index)
        source = int(shared.argmax())
        start = int(shared[source])
        if start > shared[index]:
            self.copies.add(source, index, start, self.cache)
        self.held.put(index, prompt[:start])
        stop = start if len(prompt) - start <= self.steps.longest_fed else len(prompt) - 1
        self.slots.put(index, request, stop, self.num_ticks)
        self.has_new_rows = True
        return Fill(index, start, stop, prompt)

    def _fill(self, fills: list[Fill]) -> None:
        if fills:
            self.steps.fill(fills)
        for fill in fills:
            self.held.put(fill.slot, fill.prompt[: fill.stop])

    def _decode(self) -> list[TokenEvent]:
        """Queues the next step of all answers in progress, then reads the tokens of the oldest step."""
        slots = self.slots.running()
        if len(slots):
            rows = self.slots.rows(slots, self._groups_of(slots))
            asked = Asked(slots, self.slots.turn[slots], rows.forced, ~self.slots.waits[slots], self.steps.launch(rows))
            self.flights.append(asked)
            self.slots.advance(slots, asked.draws, self.num_ticks)
        if len(self.flights) > self.lookahead or not len(slots):
            return self._land()
        return []

    def _groups_of(self, slots: np.ndarray) -> list[Group]:
        """Returns the groups of the answers in progress."""
        if self.has_new_rows:
            self.groups = find_groups(self.held.ids, self.held.lengths, slots.tolist())
            self.has_new_rows = False
        if not self.groups:
            return []
        running = set(slots.tolist())
        left = [Group([slot for slot in group.slots if slot in running], group.length) for group in self.groups]
        return [group for group in left if len(group.slots) > 1]

    def _land(self) -> list[TokenEvent]:
        asked = self.flights.popleft()
        ids, logprobs = asked.flight.read()
        valid = self.slots.busy[asked.slots] & (self.slots.turn[asked.slots] == asked.turns)
        given = np.where(asked.tokens == DRAWN_LAST, self.slots.drawn[asked.slots], asked.tokens)
        self.held.append(asked.slots[valid], given[valid])
        counts = valid & asked.draws
        events = self.slots.record(asked.slots[counts], ids[counts], logprobs[counts])
        if not self.is_busy():
            self.flights.clear()
        return events

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Drops the cached keys and values. They are stale even if the sampler reads the trained weights themselves."""
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
        self.cache.clear()

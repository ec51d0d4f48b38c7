"""Keeps the state of all slots in arrays, so that a step of many answers costs the host only a few operations.

Each slot has these values:

    position   of the next input token
    forced     the next input token, or DRAWN_LAST
    later      the last tokens of the prompt, which follow `forced`
    num_drawn  how many tokens the steps have been asked to draw
    num_read   how many of these tokens have arrived
    drawn      the last token that has arrived
    closing    whether the answer ends, so that no further step takes the slot
    turn       the number of requests so far, which identifies tokens that were drawn for an ended request
"""

from __future__ import annotations

import time

import numpy as np

from .choose import uniforms
from .groups import Group
from .server import SampleRequest, TokenEvent
from .steps import DRAWN_LAST, StepRows

MASK64 = (1 << 64) - 1


class SlotTable:
    def __init__(self, num_slots: int, context_length: int) -> None:
        self.context_length = context_length
        self.requests: list[SampleRequest | None] = [None] * num_slots
        self.started = [0.0] * num_slots
        self.later: dict[int, list[int]] = {}
        self.busy, self.closing, self.waits = (np.zeros(num_slots, bool) for _ in range(3))
        self.turn, self.position, self.forced, self.num_drawn, self.num_read, self.most, self.drawn, self.last_used = (np.zeros(num_slots, np.int64) for _ in range(8))
        self.temperature, self.top_k, self.top_p = (np.zeros(num_slots) for _ in range(3))
        self.seed = np.zeros(num_slots, np.uint64)

    def __len__(self) -> int:
        return len(self.requests)

    def put(self, slot: int, request: SampleRequest, position: int, tick: int) -> None:
        """Gives the slot to a request. The slot must hold the tokens before `position`."""
        ending = request.prompt_ids[position:].tolist()
        self.requests[slot], self.started[slot] = request, time.monotonic()
        self.busy[slot], self.closing[slot], self.waits[slot] = True, False, len(ending) > 1
        self.turn[slot] += 1
        self.position[slot], self.forced[slot], self.last_used[slot] = position, ending[0], tick
        self.num_drawn[slot] = self.num_read[slot] = self.drawn[slot] = 0
        self.most[slot], self.seed[slot] = request.max_tokens, request.seed & MASK64
        self.temperature[slot], self.top_k[slot], self.top_p[slot] = request.temperature, request.top_k, request.top_p
        self.later.pop(slot, None)
        if len(ending) > 1:
            self.later[slot] = ending[1:]

    def free(self, slot: int) -> None:
        self.requests[slot] = None
        self.busy[slot] = False
        self.later.pop(slot, None)

    def abort(self, request_id: int) -> None:
        for slot in np.flatnonzero(self.busy).tolist():
            request = self.requests[slot]
            if request is not None and request.id == request_id:
                self.free(slot)

    def running(self) -> np.ndarray:
        """Returns the slots that the next step takes."""
        return np.flatnonzero(self.busy & ~self.closing)

    def rows(self, slots: np.ndarray, groups: list[Group]) -> StepRows:
        return StepRows(
            slots=slots, positions=self.position[slots], forced=self.forced[slots], temperatures=self.temperature[slots], top_ks=self.top_k[slots],
            top_ps=self.top_p[slots], draws=uniforms(self.seed[slots], self.num_drawn[slots]), groups=groups,
        )

    def advance(self, slots: np.ndarray, draws: np.ndarray, tick: int) -> None:
        """Advances the slots before the step is done. The last token that fits is known in advance, so this is
        possible."""
        self.position[slots] += 1
        self.num_drawn[slots] += draws
        self.last_used[slots] = tick
        self.forced[slots] = DRAWN_LAST
        for slot in list(self.later):
            self.forced[slot] = self.later[slot].pop(0)
            if not self.later[slot]:
                del self.later[slot]
                self.waits[slot] = False
        self.closing[slots] = (self.num_drawn[slots] >= self.most[slots]) | (draws & (self.position[slots] + 1 >= self.context_length))

    def record(self, slots: np.ndarray, ids: np.ndarray, logprobs: np.ndarray) -> list[TokenEvent]:
        """Records the drawn token of each slot, and frees the slots whose answers end with it."""
        self.drawn[slots] = ids
        self.num_read[slots] += 1
        is_full = self.closing[slots] & (self.num_read[slots] == self.num_drawn[slots])
        events = []
        for slot, token, logprob, full in zip(slots.tolist(), ids.tolist(), logprobs.tolist(), is_full.tolist()):
            request = self.requests[slot]
            assert request is not None
            finish = "stop" if token in request.stop_ids else "length" if full else None
            if finish is not None:
                self.free(slot)
            events.append(TokenEvent(request.id, token, logprob, finish, self.started[slot]))
        return events

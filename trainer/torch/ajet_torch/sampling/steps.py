"""Defines one decoding step: which answers it advances, what input they get, and how its results arrive during the next
step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Protocol

import numpy as np
import torch

from ..model import PolicyModel
from .choose import choose_tokens
from .groups import Group
from .prefill import Fill, batches
from .slots import DecodePlan, PrefillPlan, SlotCache

BUCKET = 256
DRAWN_LAST = -1


@dataclass(frozen=True)
class StepRows:
    """A row is an answer in progress. The arrays [R] hold its slot, the position of its input token, that token
    (DRAWN_LAST if its slot drew it in the last step), and how to draw the next token. `groups` are slots with equal
    beginnings; a slot is in at most one group."""

    slots: np.ndarray
    positions: np.ndarray
    forced: np.ndarray
    temperatures: np.ndarray
    top_ks: np.ndarray
    top_ps: np.ndarray
    draws: np.ndarray
    groups: list[Group]

    def truncates(self) -> bool:
        return bool(((self.temperatures != 0) & ((self.top_ks > 0) | (self.top_ps < 1))).any())

    def choose(self, logits_RV: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return choose_tokens(logits_RV, np.stack([self.temperatures, self.top_ks, self.top_ps, self.draws], 1))

    def own_starts(self) -> np.ndarray:
        """Returns the position of the first token that each row shares with no other row."""
        starts = {slot: group.length for group in self.groups for slot in group.slots}
        return np.asarray([starts.get(int(slot), 0) for slot in self.slots], np.int64)


class Flight:
    """The tokens that a step drew, on their way to the host. `taken` [2, R] int32 holds ids and the bits of
    logprobs."""

    def __init__(self, taken: torch.Tensor, count: int, device: torch.device) -> None:
        self.taken, self.count = taken, count
        self.arrived: Any = torch.cuda.Event() if device.type == "cuda" else None
        if self.arrived is not None:
            self.arrived.record()

    def read(self) -> tuple[np.ndarray, np.ndarray]:
        """Waits for the ids and logprobs, and returns them."""
        if self.arrived is not None:
            self.arrived.synchronize()
        taken = self.taken.numpy()[:, : self.count]
        return taken[0].copy(), taken[1].copy().view(np.float32)


class Steps(Protocol):
    longest_fed: int
    """If at most this many tokens of a prompt are left, decoding steps cache them, one token a step."""

    def fill(self, fills: list[Fill]) -> None:
        """Queues the caching of prompts."""
        ...

    def launch(self, rows: StepRows) -> Flight:
        """Queues a step. Up to two may be in progress."""
        ...

    def close(self) -> None: ...


class ModelSteps:
    """Makes steps with the model's own forward pass, for any model on any device. A captured step covers every slot of
    the cache, and slots without a row write to the cache's spare position."""

    longest_fed = 4

    def __init__(self, policy: PolicyModel, cache: SlotCache, context_length: int, device: torch.device, graphs: bool) -> None:
        self.policy, self.cache, self.context_length, self.device = policy, cache, context_length, device
        self.last = torch.zeros(cache.num_slots, dtype=torch.int64, device=device)
        self.graphs: dict[int, Graph] | None = {} if graphs else None

    def fill(self, fills: list[Fill]) -> None:
        for batch in batches(fills):
            self._fill_together(batch)

    def _fill_together(self, fills: list[Fill]) -> None:
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

    def launch(self, rows: StepRows) -> Flight:
        slots = torch.from_numpy(rows.slots).to(self.device)
        forced = torch.from_numpy(rows.forced).to(self.device)
        self.last[slots] = torch.where(forced == DRAWN_LAST, self.last[slots], forced)
        longest = int(rows.positions.max()) + 1
        length = min(self.context_length, -(-longest // BUCKET) * BUCKET)
        logits = self._forward(rows, slots, length)
        ids, logprobs = rows.choose(logits)
        self.last[slots] = ids
        taken = torch.stack([ids.to(torch.int32), logprobs.float().view(torch.int32)]).to("cpu")
        return Flight(taken, len(rows.slots), torch.device("cpu"))

    def _forward(self, rows: StepRows, slots: torch.Tensor, length: int) -> torch.Tensor:
        """Returns the logits of the rows. Without graphs it computes only the slots that have a row."""
        if self.graphs is None:
            positions = torch.from_numpy(rows.positions).to(self.device)
            return self.logits(self.last[slots], positions, length, slots)
        positions = np.full(len(self.last), self.cache.spare, np.int64)
        positions[rows.slots] = rows.positions
        positions_B = torch.from_numpy(positions).to(self.device)
        if length not in self.graphs:
            pool = next((other.graph.pool() for other in self.graphs.values()), None)
            self.graphs[length] = Graph(self, self.last, positions_B, length, pool)
        return self.graphs[length].replay(self.last, positions_B)[slots]

    def logits(self, ids_B: torch.Tensor, positions_B: torch.Tensor, length: int, slots_B: torch.Tensor | None = None) -> torch.Tensor:
        hidden = self.policy.hidden(ids_B[:, None], positions_B[:, None], DecodePlan(self.cache, positions_B, length, slots_B))
        hidden_BD, weight_VD = self.policy.with_head(hidden[:, 0])
        logits = hidden_BD @ weight_VD.T
        return logits if self.policy.logits_scale == 1 else logits * self.policy.logits_scale

    def close(self) -> None:
        self.graphs = None


class Graph:
    """One captured decoding step over all slots. `length` is fixed; ids and positions are inputs.

    The graphs of one server share their memory, so the logits of a graph are valid until any graph is replayed.
    """

    def __init__(self, steps: ModelSteps, ids_B: torch.Tensor, positions_B: torch.Tensor, length: int, pool: Any) -> None:
        self.ids_B, self.positions_B = ids_B.clone(), positions_B.clone()
        self.graph, self.logits = capture(lambda: steps.logits(self.ids_B, self.positions_B, length), pool)

    def replay(self, ids_B: torch.Tensor, positions_B: torch.Tensor) -> torch.Tensor:
        self.ids_B.copy_(ids_B)
        self.positions_B.copy_(positions_B)
        self.graph.replay()
        return self.logits


def capture(run: Callable[[], Any], pool: Any) -> tuple[Any, Any]:
    """Captures what `run` launches as a CUDA graph, in the memory of `pool` or, if it is None, in new memory. Returns the
    graph and the result of `run`, whose values each replay overwrites."""
    stream: Any = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        result = run()
    return graph, result

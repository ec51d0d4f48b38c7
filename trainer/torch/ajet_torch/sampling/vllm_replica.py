"""Controls one of the vLLM servers that sample for a trainer: its state, and its restart after a failure."""

from __future__ import annotations

import threading
import time
from typing import Callable, Literal

from ..errors import WorkerError, to_error
from .vllm_process import VllmProcess

MOST_RESTARTS = 3
"""The limit of consecutive starts without an answer between them."""

State = Literal["starting", "outdated", "fed", "serving", "ending", "gone"]
"""`outdated`: it runs with other weights than the trainer's. `fed`: it was given the present ones and not yet probed.
`serving`: it takes requests. `ending`: it failed, and is started again after its process has left the GPU. `gone`: it
failed too often."""


class Replica:
    """`start` makes the process. The thread that made the replica must call it, because a process ends with the thread
    that started it."""

    def __init__(self, index: int, start: Callable[[], VllmProcess]) -> None:
        self.index = index
        self.start = start
        self.state: State = "starting"
        self.num_restarts = 0
        self.sent_sum = 0
        self.held_sums: list[int] = []
        self.is_exact = False
        self.heard_at = time.monotonic()
        self.process = start()
        self.task: Background | None = None

    def hear(self) -> None:
        """Records that the replica has just answered, or has got its first request. Any thread may call this method."""
        self.heard_at = time.monotonic()

    def silence(self, patience_s: float) -> WorkerError | None:
        """Returns why a replica that has requests counts as failed. A replica can hang while its connections stay
        open."""
        silent_s = time.monotonic() - self.heard_at
        if silent_s < patience_s:
            return None
        return WorkerError("failed", f"vLLM failed: it said nothing for {silent_s:.0f} s with answers under way. {self.process.last_words()}")

    def poll(self) -> WorkerError | None:
        """Advances to the next state. If the replica has failed since the last call, returns the reason."""
        if self.state == "ending" and self.task is not None and self.task.is_done:
            self.process = self.start()
            self.task = Background(self.process.wait_until_ready)
            self.state = "starting"
        elif self.state == "starting" and self.task is not None and self.task.is_done:
            if self.task.error is not None:
                return self.task.error
            self.state = "outdated"
        elif self.state in ("outdated", "fed", "serving") and self.process.child.poll() is not None:
            return WorkerError("failed", f"vLLM failed: it ended with code {self.process.child.returncode}. {self.process.last_words()}")
        return None

    def fail(self) -> None:
        self.num_restarts += 1
        self.state = "ending" if self.num_restarts <= MOST_RESTARTS else "gone"
        self.task = Background(self.process.close)

    @property
    def outlook(self) -> str:
        """Says what happens after a failure."""
        return "it is not started again" if self.state == "gone" else f"start {self.num_restarts} of {MOST_RESTARTS} follows"

    def begin(self, base_sum: int) -> None:
        """Reads the sums of a new process. It has the weights of the model's folder, whose bits sum to `base_sum`."""
        self.sent_sum, self.held_sums = base_sum, self._held_sums()
        self.is_exact = self.held_sums == [base_sum]

    def require_sum(self, sent: int) -> None:
        """Raises `weight_sync` if the replica does not hold the weights whose bits sum to `sent`."""
        held = self._held_sums()
        if held != [sent] if self.is_exact else held == self.held_sums and sent != self.sent_sum:
            raise WorkerError("weight_sync", f"vLLM does not hold the new weights: their bits sum to {held}, those sent to {sent}. Restart the run from its last checkpoint.")
        self.sent_sum, self.held_sums = sent, held

    def _held_sums(self) -> list[int]:
        """Returns the sum of the weights in each worker process."""
        return [int(found) for found in self.process.http.post("/collective_rpc", {"method": "ajet_weight_sum"})["results"]]


class Background:
    """Runs a call in a thread that does not prevent the worker from ending."""

    def __init__(self, work: Callable[[], object]) -> None:
        self.error: WorkerError | None = None
        self.thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self.thread.start()

    @property
    def is_done(self) -> bool:
        return not self.thread.is_alive()

    def _run(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:
            self.error = to_error(error)


def open_replicas(count: int, start: Callable[[int], VllmProcess]) -> list[Replica]:
    """Starts all replicas at once and waits until they are ready. If one does not start, ends the others and raises its
    error."""
    replicas: list[Replica] = []
    try:
        for index in range(count):
            replicas.append(Replica(index, lambda index=index: start(index)))
        for replica in replicas:
            replica.process.wait_until_ready()
    except BaseException:
        close_replicas(replicas)
        raise
    return replicas


def close_replicas(replicas: list[Replica]) -> None:
    for replica in replicas:
        replica.process.end()
    for replica in replicas:
        replica.process.close()

"""The worker process: `python -m ajet_torch.worker`, or several of them under torchrun.

The first rank exchanges messages with the control plane and sends all ranks the next command; the others only follow.
Weights never change within an answer. Before they change, running answers finish and new requests wait. A sampler on
the trainer's GPUs waits from the beginning of a training step. One with separate GPUs continues until the new weights
arrive.
"""

from __future__ import annotations

import logging
import os
import queue
import socket
import sys
import time
import traceback
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from .compile_cache import keep_compiled
from .rehearsals import Rehearsals, start_rehearsals

keep_compiled()  # PyTorch writes its own folder into the environment when it is imported
rehearsals = start_rehearsals(os.environ) if __name__ == "__main__" else Rehearsals()

import numpy as np
import torch

from . import SCHEMA_VERSION
from .config import WorkerConfig, parse_config
from .errors import WorkerError, to_error
from .model import choose_device, choose_dtype, prepare_device
from .parent import end_with_parent
from .protocol import Connection, Progress, connect
from .ranks import Ranks, join_ranks, leave_ranks
from .sampling.pins import EpisodePins
from .sampling.server import CallFailure, SampleRequest, TokenEvent, parse_request
from .session import Session
from .shared_storage import check_shared
from .training import Placement

log = logging.getLogger("ajet_torch")
AGAIN = "A training run continues from its last checkpoint with --resume."
SAME_ON_ALL_RANKS = ("aborted", "non_finite_gradient", "bad_batch", "bad_request", "checkpoint")


@dataclass
class Answer:
    """The tokens sampled for one request; times are of time.monotonic()."""

    stream: bool
    rank: int
    version: int
    accepted: float
    first_token: float = 0.0
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)


class Director:
    """The first rank's loop. It takes messages, keeps sampling, and answers."""

    def __init__(self, session: Session, connection: Connection) -> None:
        self.session = session
        self.connection = connection
        self.ranks = session.placement.ranks
        self.answers: dict[int, Answer] = {}
        self.submitted: list[SampleRequest] = []
        self.aborted: list[int] = []
        self.jobs: deque[dict[str, Any]] = deque()
        self.closed = False
        self.is_draining = False
        self.sampled_version = session.trainer.policy_version
        self.pins = EpisodePins()
        self.lacks_weights = False

    def run(self) -> None:
        while not self.closed:
            self._take_messages()
            if self.jobs and (not self._running() or self._may_overlap_sampling(self.jobs[0])):
                self._do(self.jobs.popleft())
            elif not self.closed and self._has_sampling():
                self._sample()
                if self.lacks_weights and not self.jobs:
                    self._catch_up()
        self.ranks.share(("close", None))

    def _catch_up(self) -> None:
        """Gives a restarted sampler the weights of the other samplers, unless the trainer already has newer weights."""
        if self.session.trainer.policy_version == self.sampled_version:
            self.ranks.share(("catch_up", None))
            run_command(self.session, "catch_up", None)

    def _running(self) -> bool:
        """Returns whether an answer is in progress. Queued requests wait while a job does."""
        return any(answer.ids for answer in self.answers.values()) or self.session.server.is_busy()

    def _may_overlap_sampling(self, job: dict[str, Any]) -> bool:
        return job["kind"] == "train_step" and self.session.samples_apart

    def _has_sampling(self) -> bool:
        return bool(self.answers or self.aborted)

    def _take_messages(self, wait: bool = True) -> None:
        while not self.closed:
            idle = wait and not self.jobs and not self._has_sampling()
            try:
                message = self.connection.receive(wait=idle)
            except queue.Empty:
                return
            if message is None or message["kind"] == "close":
                self.closed = True
            elif message["kind"] == "generate":
                self._accept(message)
            elif message["kind"] == "abort":
                self._abort(message["id"])
            else:
                self.jobs.append(message)

    def _accept(self, message: dict[str, Any]) -> None:
        try:
            request = parse_request(message, self.session.vocab_size)
            length = self.session.server.context_length
            if len(request.prompt_ids) >= length:
                raise WorkerError("context_overflow", f"The prompt has {len(request.prompt_ids)} tokens, the context {length}. Shorten the prompt or raise max_model_len.")
        except (WorkerError, KeyError, TypeError, ValueError) as error:
            self._fail(message["id"], error)
            return
        loads = np.bincount([a.rank for a in self.answers.values()], minlength=self.ranks.size)
        rank = self.pins.choose(request.episode_id, self.session.samplers, lambda each: int(loads[each]))
        self.answers[request.id] = Answer(request.stream, rank, self.sampled_version, time.monotonic())
        self.submitted.append(request)

    def _abort(self, request_id: int) -> None:
        """Aborts an answer that waits or is in progress. A step checks the connection's list of aborts itself."""
        if self.answers.pop(request_id, None) is not None:
            self.submitted = [request for request in self.submitted if request.id != request_id]
            self.aborted.append(request_id)
            self._fail(request_id, WorkerError("aborted", "The call was aborted."))

    def _sample(self) -> None:
        shares = [[r for r in self.submitted if self.answers[r.id].rank == rank] for rank in range(self.ranks.size)]
        is_open = not self.jobs and not self.is_draining
        command = (shares if is_open else [[] for _ in shares], self.aborted, is_open)
        self.submitted = [] if is_open else self.submitted
        self.aborted = []
        self.connection.progress.at("sampling")
        found = self.ranks.gather(run_command(self.session, *self.ranks.share(("sample", command))))
        self.lacks_weights = any(lacks for _, lacks in found)
        for events, _ in found:
            self._deliver(events)

    def _deliver(self, events: list[TokenEvent | CallFailure]) -> None:
        for event in events:
            answer = self.answers.get(event.id)
            if answer is None:
                continue
            if isinstance(event, CallFailure):
                del self.answers[event.id]
                self._fail(event.id, event.error)
                continue
            if not answer.ids:
                answer.version = self.sampled_version
                answer.first_token = time.monotonic()
            answer.ids.append(event.token)
            answer.logprobs.append(event.logprob)
            if answer.stream and event.finish is None:
                self.connection.send({"kind": "tokens", "id": event.id, **arrays([event.token], [event.logprob])})
            if event.finish is not None:
                del self.answers[event.id]
                self._reply(event.id, {**arrays(answer.ids, answer.logprobs), "finish_reason": event.finish, "policy_version": answer.version, **timing_of(answer, event.started)})

    def _do(self, message: dict[str, Any]) -> None:
        kind, request_id = message["kind"], message["id"]
        self.connection.progress.at(kind)
        if request_id in self.connection.aborted:
            self._fail(request_id, WorkerError("aborted", "The call was aborted before it began."))
            return
        if kind not in ("train_step", "logprobs", "term_logprobs", "kept_tokens", "save", "load"):
            self._fail(request_id, WorkerError("bad_request", f"Unknown message kind {kind!r}."))
            return
        waited = self._wait_for_rehearsals() if kind == "train_step" else 0.0
        try:
            self.ranks.share((kind, message))
            value = run_command(self.session, kind, message, self._is_aborted(request_id))
            if kind == "train_step":
                value["compiling_seconds"] += waited
                value["sync_seconds"] = self._put_weights_into_sampler()
            self.sampled_version = self.session.trainer.policy_version
            self._reply(request_id, value)
        except Exception as error:
            self._fail(request_id, error)
            code = to_error(error).code
            if code == "worker_died" or (self.ranks.size > 1 and code not in SAME_ON_ALL_RANKS):
                raise
            if torch.cuda.is_available():
                torch.cuda.empty_cache()

    def _wait_for_rehearsals(self) -> float:
        """Returns the seconds of the wait. Afterwards no other process has memory on the GPU."""
        waited = rehearsals.wait("layers") + rehearsals.wait("update")
        rehearsals.close()
        return waited

    def _put_weights_into_sampler(self) -> float:
        """Returns the seconds it took, without the wait for the answers in progress."""
        self.is_draining = True
        try:
            while not self.closed and self._running():
                self._take_messages()
                self._sample()
        finally:
            self.is_draining = False
        self.ranks.share(("sync", None))
        return float(run_command(self.session, "sync", None))

    def _sample_during_step(self) -> None:
        """Runs between two packs of a step. It passes new requests to a sampler with separate GPUs, and sends the
        sampled tokens."""
        self._take_messages(wait=False)
        submitted, aborted, self.submitted, self.aborted = self.submitted, self.aborted, [], []
        if self.answers or aborted:
            self.session.server.admit(True)
            self._deliver(self.session.sample(submitted, aborted, 1))

    def _is_aborted(self, request_id: int) -> Any:
        def check() -> bool:
            self.connection.progress.at("train_step")
            if self.session.samples_apart:
                self._sample_during_step()
            return request_id in self.connection.aborted

        return check

    def _reply(self, request_id: int, value: Any) -> None:
        self.connection.send({"kind": "result", "id": request_id, "value": value})

    def _fail(self, request_id: int, thrown: BaseException) -> None:
        error = to_error(thrown, self.connection.progress.doing)
        if error.code == "failed":
            log.error("request %s failed:\n%s", request_id, "".join(traceback.format_exception(thrown)))
        self.connection.send({"kind": "error", "id": request_id, "code": error.code, "message": str(error)})


def timing_of(answer: Answer, started: float | None) -> dict[str, dict[str, float]]:
    """Returns core's CompletionTiming of an answer that ends now, or nothing if the sampler does not say when it began."""
    if started is None:
        return {}
    parts = {"queued_ms": started - answer.accepted, "prefill_ms": answer.first_token - started, "decode_ms": time.monotonic() - answer.first_token}
    return {"timing": {name: max(0.0, 1000 * seconds) for name, seconds in parts.items()}}


def arrays(ids: list[int], logprobs: list[float]) -> dict[str, bytes]:
    return {"ids": np.asarray(ids, np.int32).tobytes(), "logprobs": np.asarray(logprobs, np.float32).tobytes()}


def run_command(session: Session, kind: str, payload: Any, is_aborted: Any = lambda: False) -> Any:
    """Runs one command on one rank."""
    if kind == "sample":
        shares, aborted, is_open = payload
        session.server.admit(is_open)
        return session.sample(shares[session.placement.ranks.rank], aborted), session.server.lacks_weights()
    if kind == "catch_up":
        return session.catch_up()
    if kind == "train_step":
        return session.train(payload, is_aborted)
    if kind == "sync":
        return session.sync_weights()
    if kind == "logprobs":
        return session.logprobs(payload)
    if kind == "term_logprobs":
        return session.term_logprobs(payload)
    if kind == "kept_tokens":
        return session.kept_tokens(payload)
    return session.save(payload["dir"]) if kind == "save" else session.load(payload["dir"])


def follow(session: Session, progress: Progress) -> None:
    """Runs the loop of every other rank."""
    ranks = session.placement.ranks
    while True:
        kind, payload = ranks.share(None)
        if kind == "close":
            return
        progress.at("sampling" if kind == "sample" else kind)
        try:
            result = run_command(session, kind, payload)
            if kind == "sample":
                ranks.gather(result)
        except WorkerError as error:
            if error.code not in SAME_ON_ALL_RANKS:
                raise


def create_session(message: dict[str, Any], ranks: Ranks, config: WorkerConfig) -> Session:
    device = choose_device(config.device, ranks.local_rank)
    prepare_device(device)
    if device.type != "cuda":
        rehearsals.close()
    torch.manual_seed(config.seed)
    check_shared(config, ranks)
    sharded = ranks.size > 1 or config.cpu_offload or config.fsdp == "always"
    return Session(config, Placement(device, choose_dtype(config.dtype, device), ranks, sharded))


def main() -> int:
    end_with_parent()
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    rank = int(os.environ.get("RANK", "0"))
    progress = Progress()
    stream, message = connect(os.environ["AJET_CONNECT"], os.environ["AJET_TOKEN"], SCHEMA_VERSION) if rank == 0 else (None, {})
    connection = Connection(stream, progress) if stream is not None else None
    if connection is not None:
        connection.start(float(message.get("heartbeat_s", 2.0)))
    try:
        device_type = "cuda" if torch.cuda.is_available() else "cpu"
        fsdp = os.environ.get("AJET_FSDP") == "1" or bool(message.get("config", {}).get("cpu_offload"))
        ranks = join_ranks(device_type, os.environ.get("AJET_STORE"), fsdp, 1800)
        message = ranks.share(message)
        session = create_session(message, ranks, parse_config(message.get("config", {})))
    except Exception as error:
        log.error("start failed:\n%s", traceback.format_exc())
        failure = to_error(error)
        if connection is not None:
            connection.send({"kind": "failed", "code": failure.code, "message": str(failure)})
        else:
            log_last_words(rank, failure)
        return 1
    try:
        if connection is None:
            follow(session, progress)
        else:
            facts = describe(session)
            log.info("%.4g M parameters in %s on %s, %d process%s", facts["num_parameters"] / 1e6, facts["dtype"], facts["device"], ranks.size, "es" if ranks.size > 1 else "")
            connection.send({"kind": "ready", **facts})
            Director(session, connection).run()
    except Exception as error:
        failure = to_error(error, progress.doing)
        if connection is not None:
            send_last_words(connection, failure, bool(message.get("attached")))
        if failure.code != "out_of_memory":
            raise
        log_last_words(rank, failure)
        return 1
    finally:
        rehearsals.close()
        session.server.close()
        leave_ranks()
    return 0


def log_last_words(rank: int, failure: WorkerError) -> None:
    """Logs the error that ends this process. The control plane reads this line (`worker-notice.ts`), because only the
    first rank can send messages."""
    log.error("rank %d ended (%s): %s", rank, failure.code, failure)


def send_last_words(connection: Connection, failure: WorkerError, attached: bool) -> None:
    """Sends the error that ends this process. A control plane that can read the log gets an unexpected error from there,
    with its traceback."""
    if failure.code == "failed" and not attached:
        return
    place = f" on {socket.gethostname()}" if attached else ""
    repair = "The launcher that started the worker has its log. Start the launchers again, and continue the run from its last checkpoint with --resume." if attached else AGAIN
    code = failure.code if failure.code == "out_of_memory" else "worker_died"
    try:
        connection.send({"kind": "failed", "code": code, "message": f"The torch worker{place} ended. {failure} {repair}"})
    except OSError:
        pass


def describe(session: Session) -> dict[str, Any]:
    placement = session.placement
    return {
        "context_length": session.server.context_length, "vocab_size": session.vocab_size, "device": str(placement.device),
        "dtype": str(placement.dtype).removeprefix("torch."), "num_ranks": placement.ranks.size, "num_nodes": placement.ranks.num_nodes, "torch": torch.__version__,
        "num_parameters": sum(p.numel() for p in session.trainer.policy.lm.parameters()),
    }


if __name__ == "__main__":
    sys.exit(main())

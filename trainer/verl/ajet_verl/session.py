"""Handles each message to the driver. `ajet_torch.worker.Director` runs this session, which passes the work to a group
of workers."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, Callable

import numpy as np
import ray
import torch

from ajet_torch.config import parse_overrides
from ajet_torch.errors import WorkerError
from ajet_torch.losses import LossConfig, check_batch, parse_loss, term_loss
from ajet_torch.pack import DeviceTerms, TreePack, parse_pack
from ajet_torch.ranks import Ranks
from ajet_torch.sampling.server import SampleRequest, TokenEvent
from ajet_torch.schedule import learning_rate
from ajet_torch.training import count_tokens, to_metrics, to_report

from .cluster import readable_errors
from .config import DriverConfig
from .loss import RowLoss
from .rows import Row, Scores, deal_out, gather_terms, plain_row, read_scores, row_terms, to_batch, to_rows, without_weight

TICKS_PER_CALL = 8
ROWS_PER_CALL = 64
"""The number of rows for each worker in one call. A step checks between two calls whether it was aborted."""


class GroupSampler:
    """Presents the workers' samplers as one. A request goes to the worker that has the fewest requests."""

    def __init__(self, workers: list[Any], context_length: int) -> None:
        self.workers = workers
        self.context_length = context_length
        self.owners: dict[int, int] = {}
        self.is_open = True
        self.busy = False

    def admit(self, open_: bool) -> None:
        self.is_open = open_

    def is_busy(self) -> bool:
        return self.busy

    def lacks_weights(self) -> bool:
        return False

    def advance(self, submitted: list[SampleRequest], aborted: list[int]) -> list[TokenEvent]:
        shares: list[list[SampleRequest]] = [[] for _ in self.workers]
        for request in submitted:
            loads = np.bincount(list(self.owners.values()), minlength=len(self.workers))
            self.owners[request.id] = int(loads.argmin())
            shares[self.owners[request.id]].append(request)
        for request_id in aborted:
            self.owners.pop(request_id, None)
        with readable_errors("sample", len(self.workers)):
            found = ray.get([worker.sample.remote(share, aborted, self.is_open, TICKS_PER_CALL) for worker, share in zip(self.workers, shares)])
        self.busy = any(busy for _, busy in found)
        events = [event for of_worker, _ in found for event in of_worker]
        for event in events:
            if event.finish is not None:
                self.owners.pop(event.id, None)
        return events

    def close(self) -> None: ...


class Progress:
    def __init__(self) -> None:
        self.num_steps = 0
        self.policy_version = 0


class Place:
    ranks = Ranks(0, 1, 0)


class VerlSession:
    samples_apart = False
    samplers = [0]
    placement = Place()

    def __init__(self, config: DriverConfig, group: Any) -> None:
        self.config = config
        self.group = group
        self.trainer = Progress()
        with readable_errors("load the model", group.world_size):
            self.facts: dict[str, Any] = group.open()[0]
        self.vocab_size = int(self.facts["vocab_size"])
        self.server = GroupSampler(group.workers, int(self.facts["context_length"]))

    def sample(self, submitted: list[SampleRequest], aborted: list[int], num_ticks: int = 0) -> list[TokenEvent]:
        return self.server.advance(submitted, aborted)

    def train(self, message: dict[str, Any], is_aborted: Callable[[], bool]) -> dict[str, Any]:
        """Makes one optimizer step. Raises `bad_batch`, `aborted` or `non_finite_gradient`, with the weights unchanged."""
        start = time.perf_counter()
        packs = self._parse(message)
        loss = parse_loss(message["loss"])
        if loss.truncation.cuts or any(pack.terms.kept is not None for pack in packs):
            raise WorkerError("bad_request", "verl's workers train the whole distribution, but these tokens were sampled with top_p or top_k. Sample with rollout.top_p 1 and rollout.top_k -1.")
        if not any(len(pack.terms.pair) for pack in packs):
            raise WorkerError("bad_batch", f"The batch of {len(packs)} packs supervises no token, so there is nothing to train.")
        check_batch(packs, loss)
        rows = to_rows(packs, loss.temperature or 1.0)
        references = self._reference(packs, rows) if loss.needs_reference else None
        scores = self._accumulate(packs, rows, references, loss, is_aborted)
        options = replace(self.config.optimizer, **parse_overrides(message.get("optimizer") or {}))
        has_rate = "learning_rate" in (message.get("optimizer") or {})
        rate = options.learning_rate if has_rate else learning_rate(options, self.trainer.num_steps)
        norm = self._step(rate, options)
        self.trainer.num_steps += 1
        self.trainer.policy_version += 1
        found = summarise(packs, rows, scores, references, loss)
        if not message.get("report_terms"):
            del found["terms"]
        return {
            **found, "grad_norm": norm, "learning_rate": rate, "policy_version": self.trainer.policy_version, **count_tokens(packs),
            "step_seconds": time.perf_counter() - start,
        }

    def _accumulate(
        self, packs: list[TreePack], rows: list[Row], references: list[np.ndarray] | None, loss: LossConfig, is_aborted: Callable[[], bool],
    ) -> list[Scores]:
        with readable_errors("take the loss", self.group.world_size):
            self.group.set_loss_fn(RowLoss(loss))
            self.group.optimizer_zero_grad()
        terms = [row_terms(row, packs[row.pack].terms, None if references is None else references[row.pack]) for row in rows]
        try:
            return self._in_shares("compute the gradient", self.group.forward_backward, rows, terms, is_aborted)
        except WorkerError as error:
            if error.code != "worker_died":
                self.group.optimizer_zero_grad()
            raise

    def _step(self, rate: float, options: Any) -> float:
        with readable_errors("make the step", self.group.world_size):
            changed = {"lr": rate, "betas": (options.beta1, options.beta2), "eps": options.epsilon, "weight_decay": options.weight_decay}
            norm = float(self.group.make_step(changed, options.max_grad_norm)[0])
        if not math.isfinite(norm):
            raise WorkerError(
                "non_finite_gradient",
                f"The gradient norm of optimizer step {self.trainer.num_steps + 1} is {norm}. The weights are unchanged. "
                "Lower trainer_common.optim.lr, or limit the norm with trainer_common.optim.grad_clip.",
            )
        return norm

    def _in_shares(
        self, doing: str, method: Callable[..., Any], rows: list[Row], terms: list[dict[str, np.ndarray]] | None = None, is_aborted: Callable[[], bool] = lambda: False,
    ) -> list[Scores]:
        """Returns the workers' results for each row. It sends a few rows to each worker at a time."""
        size = self.group.world_size
        scores: dict[int, Scores] = {}
        for start in range(0, len(rows), ROWS_PER_CALL * size):
            if is_aborted():
                raise WorkerError("aborted", "The step was aborted; the weights are unchanged.")
            part = list(range(start, min(start + ROWS_PER_CALL * size, len(rows))))
            order = [part[index] for index in deal_out([rows[index] for index in part], size)]
            seen: set[int] = set()
            columns = []
            for index in order if terms is not None else ():
                columns.append(without_weight(terms[index]) if index in seen else terms[index])
                seen.add(index)
            with readable_errors(doing, size):
                output = method(to_batch([rows[index] for index in order], self.config.max_pack_tokens, columns)).get()
            scores |= read_scores(output, order)
        return [scores[index] for index in range(len(rows))]

    def _reference(self, packs: list[TreePack], rows: list[Row]) -> list[np.ndarray]:
        scores = self._in_shares("score with the reference weights", self.group.score_by_reference, rows)
        return gather_terms(packs, rows, [score.logprob_T for score in scores])

    def sync_weights(self) -> float:
        start = time.perf_counter()
        with readable_errors("copy the weights to the sampler", self.group.world_size):
            self.group.copy_weights()
        return time.perf_counter() - start

    def logprobs(self, message: dict[str, Any]) -> list[bytes]:
        rows = [np.frombuffer(row, np.int32) for row in message["rows"]]
        for index, row in enumerate(rows):
            if len(row) and (int(row.min()) < 0 or int(row.max()) >= self.vocab_size):
                raise WorkerError("bad_request", f"Row {index} has ids outside [0, {self.vocab_size}).")
        scored = [index for index, row in enumerate(rows) if len(row) > 1]
        scores = self._in_shares("score", self.group.infer_batch, [plain_row(rows[index]) for index in scored])
        found = {index: np.concatenate([np.zeros(1, np.float32), score.logprob_T[:-1]]) for index, score in zip(scored, scores)}
        return [found.get(index, np.zeros(len(row), np.float32)).astype(np.float32).tobytes() for index, row in enumerate(rows)]

    def term_logprobs(self, message: dict[str, Any]) -> list[bytes]:
        packs = self._parse(message)
        rows = to_rows(packs, float(message["temperature"]) or 1.0)
        scores = self._in_shares("score", self.group.infer_batch, rows)
        return [values.tobytes() for values in gather_terms(packs, rows, [score.logprob_T for score in scores])]

    def _parse(self, message: dict[str, Any]) -> list[TreePack]:
        return [parse_pack(pack, self.vocab_size) for pack in message["packs"]]

    def save(self, directory: str) -> None:
        with readable_errors("save", self.group.world_size):
            self.group.save(directory, self.trainer.num_steps, self.trainer.policy_version)

    def load(self, directory: str) -> dict[str, Any]:
        with readable_errors("load", self.group.world_size):
            self.trainer.num_steps, self.trainer.policy_version = self.group.load(directory)[0]
        return {"policy_version": self.trainer.policy_version, "num_steps": self.trainer.num_steps}


def summarise(packs: list[TreePack], rows: list[Row], scores: list[Scores], references: list[np.ndarray] | None, loss: LossConfig) -> dict[str, Any]:
    """Computes metrics and reports from the logprobs that the workers returned, with the same loss that the workers
    used."""
    logprobs, entropies = (gather_terms(packs, rows, [getattr(score, name) for score in scores]) for name in ("logprob_T", "entropy_T"))
    terms = [pack.terms for pack in packs]

    def joined(arrays: list[np.ndarray]) -> torch.Tensor:
        return torch.from_numpy(np.concatenate(arrays))

    proximal = [one.proximal for one in terms if one.proximal is not None]
    of_step = DeviceTerms(
        pair_K=torch.arange(sum(len(one.pair) for one in terms)), sequence_K=joined([one.sequence for one in terms]), weights_K=joined([one.weights for one in terms]),
        advantages_K=joined([one.advantages for one in terms]), logprobs_K=joined([one.logprobs for one in terms]), proximal_K=joined(proximal) if proximal else None,
    )
    result = term_loss(of_step, joined(logprobs), joined(entropies), None if references is None else joined(references), loss)
    metrics = to_metrics({name: float(value) for name, value in result.sums.items()}, float(result.peak))
    return {**metrics, "terms": [to_report(report) for report in split_report(result.report, [len(one.pair) for one in terms])]}


def split_report(report: Any, counts: list[int]) -> list[Any]:
    parts = zip(*(torch.split(getattr(report, name), counts) for name in ("logprobs_K", "entropies_K", "ratios_K", "clipped_K")))
    return [type(report)(*part) for part in parts]

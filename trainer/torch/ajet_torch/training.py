"""Makes one optimizer step from packs and returns its metrics. Weights change only if every pack succeeds."""

from __future__ import annotations

import logging
import math
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Mapping

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import PreTrainedModel

from .attention import LIBRARY_PLANS, AttentionPlan, PlanOptions, build_plan, check_attention
from .config import WorkerConfig
from .errors import WorkerError
from .fp8 import check_fp8
from .head import HeadOptions
from .kept import WHOLE, KeptTokens, Truncation, to_terms
from .likeness import check_likeness
from .losses import LossConfig, TermLoss, TermReport, check_batch, find_outside, term_loss
from .lora import adapters_off, add_lora
from .master_start import start_masters
from .model import ModelOutput, PolicyModel, compiles, compiles_for_all_sizes, fuses, load_lm, prepare_layers, smallest_window
from .optimizer import Optimizer, PlainAdamW, RoundedAdamW, SplitAdamW
from .pack import DevicePack, LossTerms, TreePack, pad_pack, padded_length, to_device
from .schedule import learning_rate
from .share_out import share_out
from .sharding import Placement, end_broken_pass, keeps_whole, shard
from .sharded_load import FileRows, Rows, can_fill, empty_lm, fill, find_files

log = logging.getLogger("ajet_torch")


@dataclass(frozen=True)
class StepChanges:
    """Settings of one step: options of the optimizer that replace its own (a learning rate is used as it is, without
    the schedule), and whether the step reports every term."""

    optimizer: Mapping[str, float] = field(default_factory=dict)
    report_terms: bool = False


class Transfer:
    """A tensor that is being copied to the host. Reading it does not wait for work that is queued on the device
    later."""

    def __init__(self, source: torch.Tensor) -> None:
        self.event = torch.cuda.Event() if source.is_cuda else None
        self.values = torch.empty(source.shape, dtype=source.dtype, pin_memory=source.is_cuda).copy_(source, non_blocking=True)
        if self.event is not None:
            self.event.record()

    def wait(self) -> torch.Tensor:
        if self.event is not None:
            self.event.synchronize()
        return self.values


@dataclass(frozen=True)
class PlacedPack:
    data: DevicePack
    plan: AttentionPlan


class Trainer:
    """Owns the weights and the optimizer. Every rank has one, and all ranks call the same methods in the same order."""

    def __init__(self, config: WorkerConfig, placement: Placement, lm: PreTrainedModel | None = None, rows: Rows | None = None) -> None:
        """Trains the folder's model, or `lm`. With `rows` it is an empty model that gets its weights after it is
        sharded."""
        self.config = config
        self.placement = placement
        self.policy_version = 0
        check_fp8(config, placement.device, placement.dtype)
        check_attention(config.attention, placement.device)
        self.policy = self._open(config.lora.rank > 0) if lm is None else self._fill(lm, rows) if rows is not None else self._wrap(lm, config.lora.rank > 0)
        self.reference: PolicyModel | None = None
        self.optimizer = self._create_optimizer()
        start_masters(self.optimizer, config, placement.dtype)
        self.plan_options = PlanOptions(placement.device, config.attention, smallest_window(self.policy.lm.config), self.policy.lm.dtype if self.policy.is_fused else None)
        self.compiled: set[tuple[int, str]] = set()
        self.reduces = True  # whether the next backward pass reduces gradients; it is stored, so not every pass has to visit all modules
        if lm is None:
            self._check_likeness()

    def _open(self, lora: bool) -> PolicyModel:
        """Loads the folder's model. Adapters are added to whole layers, so with adapters the model is loaded before it
        is cut."""
        placed, folder = self.placement, self.config.model_dir
        if not placed.sharded:
            return self._wrap(load_lm(folder, placed.dtype, placed.device), lora)
        if not lora:
            lm = empty_lm(folder, self.master_dtype)
            files = find_files(folder, lm) if can_fill(lm) else None
            if files is not None:
                shapes = {name: parameter.shape for name, parameter in lm.named_parameters()}
                with FileRows(files, shapes) as rows:
                    return self._fill(lm, rows)
        return self._wrap(load_lm(folder, self.master_dtype, torch.device("cpu")), lora)

    def _fill(self, lm: PreTrainedModel, rows: Rows) -> PolicyModel:
        policy = self._wrap(lm, False)
        fill(policy, lm, torch.device("cpu") if self.config.cpu_offload else self.placement.device, rows)
        return policy

    def _check_likeness(self) -> None:
        if not self.placement.sharded:
            check_likeness(self.policy, self.placement.device)
        elif self.placement.ranks.is_first:
            log.info("The weights are sharded, so the start does not compare this forward pass with that of transformers.")

    @property
    def master_dtype(self) -> torch.dtype:
        return torch.bfloat16 if self.config.master_weights == "bfloat16" else self.placement.master_dtype

    def _wrap(self, lm: PreTrainedModel, lora: bool) -> PolicyModel:
        if lora:
            add_lora(lm, self.config.lora, self.config.seed)
        policy = PolicyModel(lm, HeadOptions(compiled=self.placement.device.type == "cuda"))
        policy.is_fused = fuses(lm, self.config, self.placement.device, self.placement.sharded)
        if not policy.is_fused:
            self._prepare(policy)
        if self.placement.sharded:
            shard(policy, self.config, self.placement)
        return policy

    def _prepare(self, policy: PolicyModel) -> None:
        prepare_layers(policy.lm, self.config, self.placement.device, self.placement.sharded)
        policy.is_prepared = True

    def _create_optimizer(self) -> Optimizer:
        trained = {name: p for name, p in self.policy.lm.named_parameters() if p.requires_grad}
        split = self.placement.dtype == torch.bfloat16 and not self.placement.sharded
        if self.config.master_weights == "bfloat16":
            if self.placement.dtype != torch.bfloat16:
                raise WorkerError("bad_request", f"master_weights is 'bfloat16', which needs dtype bfloat16; this run has {self.placement.dtype}. Set torch.master_weights to 'float32'.")
            return RoundedAdamW(trained, self.config.optimizer, self.config.seed)
        return (SplitAdamW if split else PlainAdamW)(trained, self.config.optimizer)

    def step(
        self, packs: list[TreePack], loss: LossConfig, is_aborted: Callable[[], bool] = lambda: False, changes: StepChanges = StepChanges(),
    ) -> dict[str, Any]:
        """Returns metrics with the names of core's TrainStepMetrics in snake case, and the mismatch between trainer and
        sampler.

        Nothing waits for the device until the update is queued, and nothing waits for the update itself: the next step
        is prepared in the meantime.
        """
        if not any(len(pack.predictors) for pack in packs):
            raise WorkerError("bad_batch", f"The batch of {len(packs)} packs supervises no token, so there is nothing to train.")
        check_batch(packs, loss)
        shares = share_out(packs, self.placement.ranks.size, self.policy.lm.config.hidden_size)
        mine = shares[self.placement.ranks.rank]
        try:
            parts = self._accumulate(mine, loss, is_aborted)
            options = replace(self.config.optimizer, **changes.optimizer)
            rate = options.learning_rate if "learning_rate" in changes.optimizer else learning_rate(options, self.optimizer.num_steps)
            queued: list[Transfer] = []
            self.optimizer.update(rate, options, lambda norm: queued.append(self._queue_sums(parts, norm)))
            metrics = self._total(list(parts[0].sums), queued[0])
        except BaseException:
            self.optimizer.clear()
            if self.placement.sharded:
                end_broken_pass(self.policy)
            raise
        norm = metrics["grad_norm"]
        if not math.isfinite(norm):
            raise WorkerError(
                "non_finite_gradient",
                f"The gradient norm of optimizer step {self.optimizer.num_steps + 1} is {norm}. The weights are unchanged. "
                "Lower trainer_common.optim.lr, or limit the norm with trainer_common.optim.grad_clip.",
            )
        self.optimizer.num_steps += 1
        self.policy_version += 1
        reports = {"terms": self._reports(packs, shares, parts)} if changes.report_terms else {}
        return {**metrics, "learning_rate": rate, "policy_version": self.policy_version, **count_tokens(packs), **reports}

    def _reports(self, packs: list[TreePack], shares: list[list[TreePack]], parts: list[TermLoss]) -> list[dict[str, bytes]]:
        """Returns one report per pack, in order, on the first rank, and nothing elsewhere."""
        gathered = self.placement.ranks.gather([to_report(part.report) for part in parts])
        of_pack = {id(pack): report for share, reports in zip(shares, gathered) for pack, report in zip(share, reports)}
        return [of_pack[id(pack)] for pack in packs] if gathered else []

    def _accumulate(self, packs: list[TreePack], loss: LossConfig, is_aborted: Callable[[], bool]) -> list[TermLoss]:
        """Adds up the gradients of all packs. The host prepares a pack while the device works on the previous one."""
        parts = []
        for index, pack in enumerate(packs):
            if self.placement.ranks.share(is_aborted()):
                raise WorkerError("aborted", "The step was aborted; the weights are unchanged.")
            placed = self.place(pack)
            self._sync_gradients(index == len(packs) - 1)
            parts.append(self.backward(placed, loss))
            if isinstance(self.optimizer, SplitAdamW) and len(packs) > 1 and not self.placement.sharded:
                self.optimizer.gather()
        return parts

    def _sync_gradients(self, last: bool) -> None:
        """Makes FSDP2 reduce gradients only after the last pack of a step. Before that, every rank sums its own."""
        if not self.placement.sharded or self.config.cpu_offload or last == self.reduces:
            return
        self.reduces = last
        self.policy.set_requires_gradient_sync(last)
        self.policy.set_is_last_backward(last)
        if keeps_whole(self.policy, self.config, self.placement):
            self.policy.set_reshard_after_backward(last)

    def place(self, pack: TreePack) -> PlacedPack:
        """Pads a pack, plans its attention and moves it to the device."""
        placed = self.placement
        length = padded_length(pack.num_tokens, self.config.max_pack_tokens) if placed.device.type == "cuda" else pack.num_tokens
        padded = pad_pack(pack, length)
        plan = build_plan(padded.ends, padded.positions, pack.num_tokens, self.plan_options)
        self._announce(length, plan)
        return PlacedPack(to_device(padded, placed.device, placed.dtype), plan)

    def _announce(self, length: int, plan: AttentionPlan) -> None:
        """Logs that the layers must be compiled, if they were not compiled for this size of pack."""
        is_fused = self.policy.is_fused and isinstance(plan, LIBRARY_PLANS)
        if is_fused or not self.placement.ranks.is_first or not compiles(self.config, self.placement.device):
            return
        for_all_sizes = compiles_for_all_sizes(self.policy.lm, self.config, self.placement.sharded)
        size = (0 if for_all_sizes else length, type(plan).__name__)
        if size in self.compiled:
            return
        self.compiled.add(size)
        if for_all_sizes:
            log.info("Compiling the layers for packs of all sizes; the first step waits.")
        else:
            log.info("Compiling the layers for packs of %d tokens, once for each size; the first step waits.", length)

    def backward(self, pack: PlacedPack, loss: LossConfig) -> TermLoss:
        """Adds one pack's gradients. Multiplies the loss by the number of ranks, because FSDP2 takes the mean of the
        gradients over the ranks."""
        output = self.forward(pack, loss.temperature, truncation=loss.truncation)
        reference = self._reference_logprobs(replace(pack, data=replace(pack.data, sets=output.sets)), loss) if loss.needs_reference else None
        entropy_M = output.entropy_U[pack.data.pairs.row_M]
        result = term_loss(pack.data.terms, output.logprob_M, entropy_M, reference, loss)
        with fast_attention(self.placement.device):
            (result.loss * self.placement.ranks.size).backward()
        return result

    def forward(self, pack: PlacedPack, temperature: float, policy: PolicyModel | None = None, truncation: Truncation = Truncation()) -> ModelOutput:
        used = policy or self.policy
        if not used.is_prepared and not isinstance(pack.plan, LIBRARY_PLANS):
            self._prepare(used)
        with fast_attention(self.placement.device):
            return used(pack.data, pack.plan, temperature, truncation)

    @torch.no_grad()
    def _reference_logprobs(self, pack: PlacedPack, loss: LossConfig) -> torch.Tensor:
        if self.config.lora.rank > 0:
            with adapters_off(self.policy.lm):
                return self.forward(pack, loss.temperature).logprob_M
        if self.reference is None:
            self.reference = self._open(False).requires_grad_(False)
        return self.forward(pack, loss.temperature, self.reference).logprob_M

    def _queue_sums(self, parts: list[TermLoss], norm: torch.Tensor) -> Transfer:
        """Sends sums over packs, peak and norm to the host in one transfer."""
        sums = torch.stack([torch.stack(list(part.sums.values())) for part in parts]).double().sum(0)
        peak = torch.stack([part.peak for part in parts]).double().max()
        return Transfer(torch.cat([sums, peak[None], norm.double().to(sums.device)[None]]))

    def _total(self, names: list[str], transfer: Transfer) -> dict[str, float]:
        """Returns sums over ranks as the metrics of the step."""
        found = transfer.wait()
        if self.placement.ranks.size > 1:
            dist.all_reduce(found[:-2], group=self.placement.ranks.control)
            dist.all_reduce(found[-2:], op=dist.ReduceOp.MAX, group=self.placement.ranks.control)
        *totals, peak_value, norm_value = found.tolist()
        return {**to_metrics(dict(zip(names, totals)), peak_value), "grad_norm": norm_value}

    def reshard(self) -> None:
        """Frees the gathered weights that remain after a forward pass without a backward pass. While weights are
        gathered, a parameter does not show which rows belong to this process."""
        for module in self.policy.modules():
            if isinstance(module, FSDPModule):
                module.reshard()

    def sampler_logprobs(self, rows: list[np.ndarray]) -> list[np.ndarray]:
        """Does what `logprobs` does, with the products as a sampler computes them: without fp8, which only compiled
        layers have."""
        with torch.compiler.set_stance("force_eager") if self.config.matmul == "fp8" else nullcontext():
            return self.logprobs(rows)

    @torch.no_grad()
    def logprobs(self, rows: list[np.ndarray]) -> list[np.ndarray]:
        """Returns per row [T] the logprob of ids[t] given ids[0..t) at temperature 1; entry 0 is 0. It is complete on
        the first rank."""
        batches = batch_rows(rows, self.config.max_pack_tokens)
        values = self.term_logprobs([rows_pack([rows[i] for i in batch]) for batch in batches], 1.0)
        found = dict(pair for value, batch in zip(values, batches) for pair in split_rows(value, batch, rows))
        return [found.get(i, np.zeros(len(row), np.float32)) for i, row in enumerate(rows)]

    @torch.no_grad()
    def term_logprobs(self, packs: list[TreePack], temperature: float) -> list[np.ndarray]:
        """Returns per pack [K] the logprob of each term's token at this temperature. It is complete on the first rank."""
        found = self._of_packs(packs, temperature, Truncation(), lambda pack, output: output.logprob_M[pack.terms.pair_K].float().cpu().numpy())
        return [found.get(i, np.zeros(len(pack.terms.pair), np.float32)) for i, pack in enumerate(packs)]

    @torch.no_grad()
    def kept_tokens(self, packs: list[TreePack], temperature: float, truncation: Truncation) -> list[KeptTokens]:
        """Returns per pack what a sampler with the present weights keeps at each term. Only the first rank gets them."""
        found = self._of_packs(packs, temperature, truncation, sets_of_terms)
        return [found[i] for i in range(len(packs)) if i in found]

    def _of_packs(self, packs: list[TreePack], temperature: float, truncation: Truncation, read: Callable[[DevicePack, ModelOutput], Any]) -> dict[int, Any]:
        """Returns the results of `read` for the forward passes of the packs, by their index, on the first rank. Each
        rank computes its share."""
        ranks = self.placement.ranks
        found: list[tuple[int, Any]] = []
        for start in range(0, len(packs), ranks.size):
            index = start + ranks.rank
            placed = self.place(packs[min(index, len(packs) - 1)])
            output = self.forward(placed, temperature, truncation=truncation)
            if index < len(packs):
                found.append((index, read(placed.data, output)))
        return dict(pair for part in ranks.gather(found) for pair in part)


def sets_of_terms(pack: DevicePack, output: ModelOutput) -> KeptTokens:
    pair_K = pack.terms.pair_K.cpu().numpy()
    if output.sets is None:
        return KeptTokens(np.full(len(pair_K), WHOLE, np.int32), np.zeros(1, np.int32), np.zeros(0, np.int32))
    return to_terms(output.sets, pack.pairs.rows[pair_K], find_outside(pack.terms, output.logprob_M).cpu().numpy())


def fast_attention(device: torch.device) -> Any:
    """Prefers cuDNN's attention, then flash. This is the order of speed on Hopper."""
    if device.type != "cuda":
        return nullcontext()
    return sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH], set_priority=True)


def to_metrics(sums: dict[str, float], peak: float) -> dict[str, float]:
    weight, terms = sums["weight"] or 1.0, max(1.0, sums["terms"])
    return {
        "loss": sums["loss"],
        "entropy": sums["entropy"] / weight,
        "kl": sums["kl"] / weight,
        "clip_fraction": sums["clipped"] / terms,
        "logprob_gap_max": peak,
        "logprob_gap_mean": sums["gap"] / terms,
        "mismatch_kl": sums["mismatch_kl"] / terms,
        "importance_mean": sums["importance"] / terms,
        "truncated_fraction": sums["truncated"] / terms,
        "trained_tokens": int(sums["terms"]),
        "tokens_outside_support": int(sums["outside"]),
    }


def to_report(report: TermReport) -> dict[str, bytes]:
    return {
        "logprobs": report.logprobs_K.float().cpu().numpy().tobytes(),
        "entropies": report.entropies_K.float().cpu().numpy().tobytes(),
        "ratios": report.ratios_K.float().cpu().numpy().tobytes(),
        "clipped": report.clipped_K.to(torch.uint8).cpu().numpy().tobytes(),
    }


def count_tokens(packs: list[TreePack]) -> dict[str, int]:
    return {"row_tokens": sum(pack.row_tokens for pack in packs), "tree_tokens": sum(pack.num_tokens for pack in packs)}


def batch_rows(rows: list[np.ndarray], max_tokens: int) -> list[list[int]]:
    """Returns indices of rows that share a forward pass. Rows of fewer than two tokens need none."""
    batches: list[list[int]] = []
    room = 0
    for index in sorted((i for i, row in enumerate(rows) if len(row) > 1), key=lambda i: -len(rows[i])):
        if not batches or room < len(rows[index]):
            batches.append([])
            room = max(max_tokens, len(rows[index]))
        batches[-1].append(index)
        room -= len(rows[index])
    return batches


def rows_pack(rows: list[np.ndarray]) -> TreePack:
    """Lays rows out one after the other with nothing shared; every token except the first of each is supervised."""
    lengths = [len(row) for row in rows]
    starts = np.cumsum([0, *lengths[:-1]])
    predictors = np.concatenate([np.arange(s, s + n - 1) for s, n in zip(starts, lengths)]).astype(np.int32)
    ids = np.concatenate(rows).astype(np.int32)
    blank = np.zeros(len(predictors), np.float32)
    return TreePack(
        ids=ids,
        positions=np.concatenate([np.arange(n) for n in lengths]).astype(np.int32),
        ends=np.concatenate([np.full(n, s + n) for s, n in zip(starts, lengths)]).astype(np.int32),
        predictors=predictors,
        targets=ids[predictors + 1],
        terms=LossTerms(np.arange(len(predictors), dtype=np.int32), np.zeros(len(predictors), np.int32), blank, blank, blank),
        row_tokens=len(ids),
    )


def split_rows(values: np.ndarray, batch: list[int], rows: list[np.ndarray]) -> list[tuple[int, np.ndarray]]:
    bounds = np.cumsum([len(rows[i]) - 1 for i in batch])[:-1]
    return [(i, np.concatenate([np.zeros(1, np.float32), part])) for i, part in zip(batch, np.split(values, bounds))]

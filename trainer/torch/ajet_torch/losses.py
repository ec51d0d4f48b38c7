"""Losses per supervised token of a row, from scalars that were computed once per node of the tree.

The step's loss is sum_k weight_k * loss_k (core's LossOptions). Every choice is one key. The docstring of the function
that computes it has the formula and its source.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Mapping

import torch

from .errors import WorkerError
from .kept import Truncation, is_hidden
from .pack import DeviceTerms, TreePack

OBJECTIVES = ("ppo", "gspo", "cispo", "reinforce")
ESTIMATORS = ("k1", "k2", "k3")
# exp(60) is 1e26: it is beyond every clip, and still finite in float32 after it is multiplied by an advantage. exp(89)
# is not finite, and 0 * inf is nan.
MAX_LOG_RATIO = 60.0


@dataclass(frozen=True)
class LossConfig:
    """core's LossOptions, and options that only this worker has.

    - objective: `ppo` (the token ratio of GRPO and REINFORCE++; the default), `gspo`, `cispo` or `reinforce`.
    - tis_cap: the upper limit of the truncated importance weight between trainer and sampler; 0 turns it off.
    - top_p, top_k: how tokens were sampled. Logprobs, entropies and the KL are of the tokens that were kept.
    """

    kind: str = "policy"
    clip_low: float = 0.2
    clip_high: float = 0.28
    dual_clip: float = 3.0
    kl_coef: float = 0.0
    kl_estimator: str = "k3"
    entropy_coef: float = 0.0
    temperature: float = 1.0
    objective: str = "ppo"
    tis_cap: float = 0.0
    top_p: float = 1.0
    top_k: int = 0

    @property
    def truncation(self) -> Truncation:
        return Truncation(self.top_p, self.top_k)

    @property
    def needs_reference(self) -> bool:
        return self.kind == "policy" and self.kl_coef != 0.0


def parse_loss(message: Mapping[str, Any]) -> LossConfig:
    """Reads the options from the wire. Raises `bad_request` for unknown keys and meaningless values."""
    unknown = sorted(set(message) - set(LossConfig.__dataclass_fields__))
    if unknown:
        raise WorkerError("bad_request", f"Unknown loss option {unknown[0]!r}. Known: {', '.join(LossConfig.__dataclass_fields__)}.")
    config = LossConfig(**message)
    if not 0 < config.top_p <= 1 or config.top_k < 0:
        raise WorkerError("bad_request", f"The loss has top_p {config.top_p} and top_k {config.top_k}. top_p must be in (0, 1], and top_k must be 0 or more.")
    _one_of("kind", config.kind, ("sft", "policy"))
    _one_of("objective", config.objective, OBJECTIVES)
    _one_of("kl_estimator", config.kl_estimator, ESTIMATORS)
    return config


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise WorkerError("bad_request", f"Unknown {name} {value!r}. Choose one of {', '.join(choices)}.")


def check_batch(packs: list[TreePack], config: LossConfig) -> None:
    """Checks what depends on all packs of the optimizer step, before they are divided among the ranks. Raises
    `bad_batch` if gspo finds a sequence in two packs."""
    if config.objective == "gspo":
        _require_whole_sequences(packs)


def _require_whole_sequences(packs: list[TreePack]) -> None:
    seen: set[int] = set()
    for pack in packs:
        here = set(pack.terms.sequence.tolist())
        if seen & here:
            raise WorkerError("bad_batch", f"gspo needs each sequence in one pack, but sequence {min(seen & here)} is in two packs. Raise trainer_common.max_pack_tokens.")
        seen |= here


@dataclass(frozen=True)
class TermLoss:
    """`sums` are weighted or plain sums over terms, to be added over packs and ranks; `peak` is a maximum."""

    loss: torch.Tensor
    sums: dict[str, torch.Tensor]
    peak: torch.Tensor
    report: TermReport


@dataclass(frozen=True)
class TermReport:
    """core's TermReport on the device, shape [K] each. The logprobs are the training ones."""

    logprobs_K: torch.Tensor
    entropies_K: torch.Tensor
    ratios_K: torch.Tensor
    clipped_K: torch.Tensor


def term_loss(terms: DeviceTerms, logprob_M: torch.Tensor, entropy_M: torch.Tensor, reference_M: torch.Tensor | None, config: LossConfig) -> TermLoss:
    """Returns the weighted loss of one pack. logprob_M, entropy_M and reference_M are per (predictor, target) pair."""
    logprob, is_outside = logprob_M[terms.pair_K].to(terms.weights_K.dtype), find_outside(terms, logprob_M)
    num_outside = (is_outside & (terms.weights_K != 0)).sum()
    logprob = torch.where(is_outside, terms.logprobs_K, logprob)
    terms = leave_out(terms, is_outside)
    entropy = entropy_M[terms.pair_K].to(terms.weights_K.dtype)
    mismatch = (logprob - terms.logprobs_K).detach()
    importance = mismatch.clamp(max=MAX_LOG_RATIO).exp()
    if config.kind == "sft":
        per_term, kl, clipped = -logprob, torch.zeros_like(logprob), torch.zeros_like(logprob)
    else:
        per_term, clipped = policy_loss(terms, logprob, config)
        kl = torch.zeros_like(logprob)
        if config.needs_reference and reference_M is not None:
            reference = torch.where(is_outside, logprob.detach(), reference_M[terms.pair_K].to(logprob.dtype))
            kl = kl_estimate(logprob, reference, config.kl_estimator)
            per_term = per_term + config.kl_coef * kl
        if config.entropy_coef:
            per_term = per_term - config.entropy_coef * entropy
    weights = terms.weights_K
    trained = (weights != 0).to(weights.dtype)
    sums = {
        "loss": (weights * per_term).sum(),
        "weight": weights.sum(),
        "entropy": (weights * entropy).sum(),
        "kl": (weights * kl).sum(),
        "clipped": (trained * clipped).sum(),
        "gap": (trained * mismatch.abs()).sum(),
        "mismatch_kl": (trained * (importance - 1 - mismatch)).sum(),
        "importance": (trained * importance).sum(),
        "truncated": (trained * ((proximal_logprobs(terms, logprob) - terms.logprobs_K).exp() > config.tis_cap)).sum() if config.tis_cap else torch.zeros_like(weights).sum(),
        "terms": trained.sum(),
        "outside": num_outside.to(weights.dtype),
    }
    peak = (trained * mismatch.abs()).max() if len(mismatch) else torch.zeros((), device=weights.device)
    report = TermReport(logprob.detach(), entropy.detach(), importance, clipped.detach())
    return TermLoss(sums["loss"], {name: value.detach() for name, value in sums.items()}, peak, report)


def find_outside(terms: DeviceTerms, logprob_M: torch.Tensor) -> torch.Tensor:
    """Finds terms whose token is outside of its recomputed set. The sampler drew the token from its own set, but it
    rounds differently."""
    is_outside = is_hidden(logprob_M.detach())[terms.pair_K]
    return is_outside if terms.is_outside_K is None else is_outside | terms.is_outside_K


def leave_out(terms: DeviceTerms, is_outside_K: torch.Tensor) -> DeviceTerms:
    """Gives these terms weight 0 and finite logprobs, because 0 times infinity is not 0."""
    proximal = None if terms.proximal_K is None else torch.where(is_outside_K, terms.logprobs_K, terms.proximal_K)
    return replace(terms, weights_K=terms.weights_K.masked_fill(is_outside_K, 0.0), proximal_K=proximal)


def policy_loss(terms: DeviceTerms, logprob: torch.Tensor, config: LossConfig) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the loss per term and whether the clip took effect (0 or 1).

    With `tis_cap` C > 0 the ratio is taken against the logprobs of the weights that the batch began with (decoupled
    PPO, Hilton et al. 2022). The whole term is weighted by min(exp(those - sampler), C), held constant (truncated
    importance sampling, Yao et al. 2025). `gspo` also takes the ratio against these weights if the terms have their
    logprobs: its clip range is narrower than the rounding of a sampler in 16 bits.
    """
    if not config.tis_cap:
        has_proximal = config.objective == "gspo" and terms.proximal_K is not None
        return _objective(terms, logprob, terms.proximal_K if has_proximal else terms.logprobs_K, config)
    proximal = proximal_logprobs(terms, logprob)
    weight = (proximal - terms.logprobs_K).exp().clamp(max=config.tis_cap)
    per_term, clipped = _objective(terms, logprob, proximal, config)
    return weight * per_term, clipped


def proximal_logprobs(terms: DeviceTerms, logprob: torch.Tensor) -> torch.Tensor:
    """Returns the logprobs of the weights that the batch began with. If the batch has only one optimizer step, the
    present weights are the ones that it began with."""
    return logprob.detach() if terms.proximal_K is None else terms.proximal_K


def _objective(terms: DeviceTerms, logprob: torch.Tensor, old: torch.Tensor, config: LossConfig) -> tuple[torch.Tensor, torch.Tensor]:
    log_ratio = logprob - old
    if config.objective == "reinforce":
        return -terms.advantages_K * logprob, torch.zeros_like(logprob)
    if config.objective == "cispo":
        return cispo_loss(terms.advantages_K, logprob, log_ratio, config)
    if config.objective == "gspo":
        log_ratio = sequence_log_ratio(terms, log_ratio)
    return clipped_loss(terms.advantages_K, log_ratio.clamp(max=MAX_LOG_RATIO).exp(), config)


def clipped_loss(advantages: torch.Tensor, ratio: torch.Tensor, config: LossConfig) -> tuple[torch.Tensor, torch.Tensor]:
    """-min(r A, clip(r, 1 - low, 1 + high) A) (PPO, Schulman et al. 2017; separate bounds: DAPO, Yu et al. 2025). If A
    < 0, the loss is at most -dual_clip A (dual clip, Ye et al. 2020; 0 turns it off).
    """
    plain = -ratio * advantages
    bounded = -ratio.clamp(1 - config.clip_low, 1 + config.clip_high) * advantages
    loss = torch.maximum(plain, bounded)
    clipped = bounded > plain
    if config.dual_clip:
        limit = -config.dual_clip * advantages
        clipped = clipped | ((advantages < 0) & (loss > limit))
        loss = torch.where(advantages < 0, torch.minimum(loss, limit), loss)
    return loss, clipped.to(loss.dtype)


def cispo_loss(advantages: torch.Tensor, logprob: torch.Tensor, log_ratio: torch.Tensor, config: LossConfig) -> tuple[torch.Tensor, torch.Tensor]:
    """-sg(clip(r, 1 - low, 1 + high)) A logprob. The weight is clipped, and every token keeps its gradient (MiniMax-M1,
    2025)."""
    ratio = log_ratio.detach().exp()
    bounded = ratio.clamp(1 - config.clip_low, 1 + config.clip_high)
    return -bounded * advantages * logprob, (bounded != ratio).to(logprob.dtype)


def sequence_log_ratio(terms: DeviceTerms, log_ratio: torch.Tensor) -> torch.Tensor:
    """Returns the log of sg(s) r / sg(r) with s = exp(mean of the sequence's log ratios) (GSPO-token, Zheng et al.
    2025, eq. 14)."""
    sequences, index = torch.unique(terms.sequence_K, return_inverse=True)
    trained = (terms.weights_K != 0).to(log_ratio.dtype)
    zeros = torch.zeros(len(sequences), dtype=log_ratio.dtype, device=log_ratio.device)
    total = zeros.index_add(0, index, (log_ratio * trained).detach())
    count = zeros.index_add(0, index, trained).clamp(min=1)
    return (total / count)[index] + log_ratio - log_ratio.detach()


def kl_estimate(logprob: torch.Tensor, reference: torch.Tensor, estimator: str) -> torch.Tensor:
    """KL(policy || reference) per token with d = reference - logprob: k1 is -d, k2 is d^2 / 2, k3 is exp(d) - d - 1
    (Schulman 2020)."""
    d = reference - logprob
    if estimator == "k1":
        return -d
    return d.square() / 2 if estimator == "k2" else d.exp() - d - 1

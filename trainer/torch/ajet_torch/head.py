"""Computes logprobs and entropies at the supervised predictors only, without a float32 logits tensor.

The LM head runs once per unique predictor. If the low-precision logits fit in `keep_bytes`, forward keeps them, and
backward overwrites them with their gradient. Otherwise backward recomputes them chunk by chunk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import torch
from torch.utils._triton import has_triton

from .kept import KeptRows, Truncation, cut_rows


@dataclass(frozen=True)
class HeadOptions:
    """`chunk_bytes` is the size of the logits computed at a time; `keep_bytes` is the size kept for backward;
    `compiled` fuses the passes over them."""

    chunk_bytes: int = 1 << 31
    keep_bytes: int = 12 << 30
    compiled: bool = False


SORTED_BYTES = 32
"""The bytes that one logit needs while the rows are sorted."""
Inverse = float | torch.Tensor
"""1 / temperature: one number for all rows, or a tensor [U] with one for each row."""


def _of_rows(inverse: Inverse, index: Any) -> Inverse:
    return inverse[index] if isinstance(inverse, torch.Tensor) else inverse


def _column(inverse: Inverse) -> Inverse:
    return inverse[:, None] if isinstance(inverse, torch.Tensor) else inverse


def logits_statistics(logits_UV: torch.Tensor, inverse_temperature: Inverse) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns log-sum-exp and entropy (nats) per row, at the temperature, in at least float32."""
    scaled = upcast(logits_UV) * _column(inverse_temperature)
    peak = scaled.amax(-1, keepdim=True)
    exponentials = (scaled - peak).exp()
    total = exponentials.sum(-1)
    lse = total.log() + peak.squeeze(-1)
    return lse, lse - (exponentials * scaled).sum(-1) / total


def to_logits_gradient_(logits_UV: torch.Tensor, lse_U: torch.Tensor, entropy_U: torch.Tensor, grads: tuple[torch.Tensor, torch.Tensor], inverse_temperature: Inverse) -> None:
    """Overwrites logits with d loss / d logits, without the targets' own entries:

    -(sum of the row's logprob gradients) p - (entropy gradient) p (log p + entropy), times the inverse temperature.
    """
    grad_row_U, grad_entropy_U = grads
    inverse = _column(inverse_temperature)
    logprob = upcast(logits_UV) * inverse - lse_U[:, None]
    inner = grad_row_U[:, None] + grad_entropy_U[:, None] * (logprob + entropy_U[:, None])
    logits_UV.copy_(-inverse * logprob.exp() * inner)


def upcast(x: torch.Tensor) -> torch.Tensor:
    """Returns float64 as it is, and other types as float32."""
    return x if x.dtype == torch.float64 else x.float()


_compiled: dict[Callable[..., Any], Callable[..., Any]] = {}


def _fused(function: Callable[..., Any], options: HeadOptions) -> Callable[..., Any]:
    if not options.compiled:
        return function
    if function not in _compiled:
        _compiled[function] = torch.compile(function)
    return _compiled[function]


def _statistics(logits_UV: torch.Tensor, inverse_temperature: Inverse, options: HeadOptions) -> tuple[torch.Tensor, torch.Tensor]:
    """Uses one fused pass, if possible, instead of the two passes of the compiler."""
    if _has_kernels(logits_UV, options):
        from .head_kernels import row_statistics

        return row_statistics(logits_UV, inverse_temperature)
    return _fused(logits_statistics, options)(_any_number_of_rows(logits_UV), inverse_temperature)


def _write_gradient_(logits_UV: torch.Tensor, rows: tuple[torch.Tensor, ...], inverse_temperature: Inverse, options: HeadOptions) -> None:
    """`rows` are the log-sum-exps, the entropies and the gradients of both."""
    lse, entropy, *grads = rows
    if _has_kernels(logits_UV, options):
        from .head_kernels import write_gradient_

        return write_gradient_(logits_UV, lse, entropy, (grads[0], grads[1]), inverse_temperature)
    lse, entropy, *grads = (_any_number_of_rows(values) for values in rows)
    _fused(to_logits_gradient_, options)(_any_number_of_rows(logits_UV), lse, entropy, tuple(grads), inverse_temperature)


def _has_kernels(logits_UV: torch.Tensor, options: HeadOptions) -> bool:
    return options.compiled and logits_UV.is_cuda and logits_UV.dtype != torch.float64 and has_triton()


@dataclass(frozen=True)
class Pairs:
    """Unique (row, target) pairs sorted by row. `rows` is `row_M` on the host, so chunking needs no device sync."""

    row_M: torch.Tensor
    targets_M: torch.Tensor
    rows: np.ndarray

    def within(self, start: int, stop: int) -> slice:
        low, high = np.searchsorted(self.rows, (start, stop))
        return slice(int(low), int(high))


def _any_number_of_rows(values: torch.Tensor) -> torch.Tensor:
    """Makes the compiler treat the number of rows as variable, so that code for this tensor is compiled only once. The
    size of the vocabulary stays a constant, because a division by a constant is faster."""
    torch._dynamo.maybe_mark_dynamic(values, 0)
    return values


class _HeadLogprobs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden_UD: torch.Tensor, weight_VD: torch.Tensor, pairs: Pairs, inverse_temperature: Inverse, options: HeadOptions, sets: KeptRows | None) -> tuple[torch.Tensor, torch.Tensor]:
        num_rows, row_bytes = hidden_UD.shape[0], weight_VD.shape[0] * hidden_UD.element_size()
        ctx.keep = num_rows * row_bytes <= options.keep_bytes and hidden_UD.requires_grad
        ctx.chunk = num_rows if ctx.keep else max(1, options.chunk_bytes // row_bytes)
        lse, entropy, picked = [], [], []
        for start, stop in _chunks(num_rows, ctx.chunk):
            logits = _logits(hidden_UD, weight_VD, (start, stop), sets)
            part = _statistics(logits, _of_rows(inverse_temperature, slice(start, stop)), options)
            inside = pairs.within(start, stop)
            lse.append(part[0])
            entropy.append(part[1])
            at_pairs = _of_rows(inverse_temperature, pairs.row_M[inside])
            picked.append(upcast(logits[pairs.row_M[inside] - start, pairs.targets_M[inside]]) * at_pairs)
        lse_U, entropy_U = torch.cat(lse), torch.cat(entropy)
        ctx.save_for_backward(hidden_UD, weight_VD, lse_U, entropy_U)
        ctx.kept, ctx.sets, ctx.pairs, ctx.inverse_temperature, ctx.options = logits if ctx.keep else None, sets, pairs, inverse_temperature, options
        return torch.cat(picked) - lse_U[pairs.row_M], entropy_U

    @staticmethod
    def backward(ctx: Any, grad_logprob_M: torch.Tensor, grad_entropy_U: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        hidden_UD, weight_VD, lse_U, entropy_U = ctx.saved_tensors
        grads = (torch.zeros_like(lse_U).index_add_(0, ctx.pairs.row_M, grad_logprob_M), grad_entropy_U)
        grad_hidden = torch.empty_like(hidden_UD)
        grad_weight = None if ctx.keep else torch.zeros_like(weight_VD, dtype=torch.promote_types(weight_VD.dtype, torch.float32))
        for start, stop in _chunks(len(lse_U), ctx.chunk):
            rows, inside = slice(start, stop), ctx.pairs.within(start, stop)
            logits = ctx.kept if ctx.keep else _logits(hidden_UD, weight_VD, (start, stop), ctx.sets)
            index = (ctx.pairs.row_M[inside] - start, ctx.pairs.targets_M[inside])
            own = _target_gradient(ctx, logits[index], (lse_U, entropy_U, *grads), grad_logprob_M, inside)
            of_rows = tuple(values[rows] for values in (lse_U, entropy_U, *grads))
            _write_gradient_(logits, of_rows, _of_rows(ctx.inverse_temperature, rows), ctx.options)
            logits[index] = own.to(logits.dtype)
            grad_hidden[rows] = logits @ weight_VD
            part = logits.T @ hidden_UD[rows]
            grad_weight = part if grad_weight is None else grad_weight.add_(part)
        ctx.kept = None
        return grad_hidden, grad_weight.to(weight_VD.dtype), None, None, None, None


def _logits(hidden_UD: torch.Tensor, weight_VD: torch.Tensor, rows: tuple[int, int], sets: KeptRows | None) -> torch.Tensor:
    logits = hidden_UD[slice(*rows)] @ weight_VD.T
    return logits if sets is None else sets.hide_(logits, *rows)


def _target_gradient(ctx: Any, logits: torch.Tensor, rows: tuple[torch.Tensor, ...], grad_logprob_M: torch.Tensor, inside: slice) -> torch.Tensor:
    """Adds the targets' own entries in full precision. Pairs are unique, so each entry is written once."""
    lse, entropy, grad_row, grad_entropy = (x[ctx.pairs.row_M[inside]] for x in rows)
    inverse = _of_rows(ctx.inverse_temperature, ctx.pairs.row_M[inside])
    logprob = upcast(logits) * inverse - lse
    return inverse * (grad_logprob_M[inside] - logprob.exp() * (grad_row + grad_entropy * (logprob + entropy)))


def _chunks(num_rows: int, size: int) -> list[tuple[int, int]]:
    return [(start, min(start + size, num_rows)) for start in range(0, max(num_rows, 1), max(size, 1))]


def head_logprobs(
    hidden_UD: torch.Tensor, weight_VD: torch.Tensor, pairs: Pairs, inverse: Inverse, options: HeadOptions, sets: KeptRows | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns logprob_M of each pair at the temperature and entropy_U of each row, in nats, over the tokens in `sets`.
    Both can be differentiated once.

    For the logprob of a token outside of its row's set, `kept.is_hidden` is true.
    """
    return _HeadLogprobs.apply(hidden_UD, weight_VD, pairs, inverse, options, sets)


@torch.no_grad()
def find_sets(hidden_UD: torch.Tensor, weight_VD: torch.Tensor, inverse: Inverse, is_cut_U: torch.Tensor, truncation: Truncation, options: HeadOptions) -> KeptRows:
    """Returns the tokens that a sampler with these weights keeps in each row."""
    size = options.chunk_bytes // SORTED_BYTES // weight_VD.shape[0]
    pieces = _chunks(len(hidden_UD), max(1, size))
    logits = (upcast(hidden_UD[a:b] @ weight_VD.T) * _column(_of_rows(inverse, slice(a, b))) for a, b in pieces)
    return cut_rows(logits, is_cut_U, truncation)

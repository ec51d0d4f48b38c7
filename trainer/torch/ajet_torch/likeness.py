"""Checks that the worker computes what the model's own code computes: both run a forward pass over the same weights,
once at the start.

The worker's pass runs over one pack of two rows and a tree of two more rows. The pass of transformers' own attention
runs over each of the four rows separately.
"""

from __future__ import annotations

import copy
from contextlib import contextmanager
from typing import Iterator

import numpy as np
import torch
from transformers import PreTrainedModel

from .attention import ATTENTION_NAME, build_dense_plan
from .errors import WorkerError, first_line, is_out_of_memory
from .head import upcast
from .model import PolicyModel, smallest_window
from .pack import LossTerms, TreePack, to_device

OWN_ATTENTION = "eager"
SMALL_WINDOW = 64
"""If the model's attention window has at most this many tokens, the rows are made longer than the window."""
LIMITS = {torch.float64: 1e-6, torch.float32: 1e-4}
COARSE_LIMIT, COARSE_SHARE = 0.15, 0.02
"""The limit in mean nats per token, and as a share of the logprobs. In 16-bit types the logits of improbable tokens are
rounded to an eighth or a quarter, and GPUs may compute in TF32. On a CPU in bfloat16, gaps of Qwen2.5-Coder-0.5B and
SmolLM2 were 0.12 and 0.09 nats, with logprobs of -15 nats. A trained model can be rounded more coarsely: after 16 passes
of imitation, the gap of Qwen2.5-Coder-0.5B was 0.36 nats on an H200. So a larger gap is measured again in float32."""


def check_likeness(policy: PolicyModel, device: torch.device) -> None:
    """Raises `unsupported_model` if the logprobs of the worker and of the model's own code differ too much, or if the
    worker's forward pass fails. The message names the class of the model."""
    name = type(policy.lm).__name__
    try:
        with torch.no_grad(), torch.compiler.set_stance("force_eager"):
            gap, limit = measure_gap(policy, device)
            if not gap <= limit and policy.lm.dtype in (torch.bfloat16, torch.float16):
                gap, limit = measure_gap(copy.deepcopy(policy).float(), device)
    except WorkerError:
        raise
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise WorkerError("unsupported_model", f"{name} cannot be trained on token trees: {type(error).__name__} in its forward pass: {first_line(error)}.") from error
    if not gap <= limit:
        raise WorkerError(
            "unsupported_model",
            f"{name} computes something that the worker does not: its logprobs are {gap:.3g} nats a token away from the worker's (limit {limit:.3g}). Use another family (Qwen2, Qwen3, Llama, Mistral).",
        )


def measure_gap(policy: PolicyModel, device: torch.device) -> tuple[float, float]:
    """Returns the mean difference of the logprobs in nats, and its limit."""
    lm = policy.lm
    rows = draw_rows(int(lm.config.get_text_config().vocab_size), smallest_window(lm.config))
    ours, theirs = our_logprobs(policy, rows, device), own_logprobs(lm, rows, device)
    return float((ours - theirs).abs().mean()), limit_of(lm.dtype, device, float(theirs.abs().mean()))


def limit_of(dtype: torch.dtype, device: torch.device, mean_nats: float) -> float:
    is_exact = dtype == torch.float64 or (dtype == torch.float32 and device.type == "cpu")
    return LIMITS[dtype] if is_exact else max(COARSE_LIMIT, COARSE_SHARE * mean_nats)


def draw_rows(vocab_size: int, window: int | None) -> list[np.ndarray]:
    """Returns two rows that share nothing, and two that share all but their last tokens."""
    length = 8 + (window if window is not None and window <= SMALL_WINDOW else 0)
    drawn = np.random.default_rng(0)
    ids = lambda count: drawn.integers(0, vocab_size, count)  # noqa: E731
    trunk = ids(length)
    return [row.astype(np.int64) for row in (ids(length), ids(length + 3), np.concatenate([trunk, ids(4)]), np.concatenate([trunk, ids(5)]))]


def our_logprobs(policy: PolicyModel, rows: list[np.ndarray], device: torch.device) -> torch.Tensor:
    pack = lay_out(rows)
    plan = build_dense_plan(pack.ends, pack.positions, device, smallest_window(policy.lm.config))
    placed = to_device(pack, device, policy.lm.dtype)
    return policy(placed, plan, 1.0).logprob_M[placed.terms.pair_K].double()


def own_logprobs(lm: PreTrainedModel, rows: list[np.ndarray], device: torch.device) -> torch.Tensor:
    with own_attention(lm):
        return torch.cat([_row_logprobs(lm, torch.from_numpy(row).to(device)) for row in rows]).double()


def _row_logprobs(lm: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    logits = upcast(lm(input_ids=ids[None], use_cache=False).logits[0, :-1])
    return logits.log_softmax(-1).gather(-1, ids[1:, None])[:, 0]


@contextmanager
def own_attention(lm: PreTrainedModel) -> Iterator[None]:
    lm.set_attn_implementation(OWN_ATTENTION)
    try:
        yield
    finally:
        lm.set_attn_implementation(ATTENTION_NAME)


def lay_out(rows: list[np.ndarray]) -> TreePack:
    """Makes one pack. All tokens except the first of each row are supervised, in the order of the rows."""
    first, second, third, fourth = rows
    trunk = min(len(third), len(fourth)) - 4
    pieces = [first, second, third, fourth[trunk:]]
    starts = np.cumsum([0, *(len(piece) for piece in pieces)])
    paths = [np.arange(a, b) for a, b in zip(starts, starts[1:])]
    paths[3] = np.concatenate([paths[2][:trunk], paths[3]])
    ends = np.concatenate([np.full(len(piece), stop) for piece, stop in zip(pieces, starts[1:])])
    ends[paths[2][:trunk]] = starts[-1]
    pairs = {pair: index for index, pair in enumerate(dict.fromkeys((int(path[t - 1]), int(row[t])) for path, row in zip(paths, rows) for t in range(1, len(row))))}
    terms = [pairs[int(path[t - 1]), int(row[t])] for path, row in zip(paths, rows) for t in range(1, len(row))]
    blank = np.zeros(len(terms), np.float32)
    ids = np.concatenate(pieces)
    positions = np.empty(len(ids), np.int32)
    for path in paths:
        positions[path] = np.arange(len(path))
    predictors, targets = np.asarray(list(pairs), np.int32).T
    return TreePack(
        ids=ids.astype(np.int32), positions=positions, ends=ends.astype(np.int32), predictors=predictors, targets=targets,
        terms=LossTerms(np.asarray(terms, np.int32), np.zeros(len(terms), np.int32), blank, blank, blank), row_tokens=sum(map(len, rows)),
    )

"""Draws one token per slot from its logits. The draws are exact and repeatable."""

from __future__ import annotations

import numpy as np
import torch

def uniforms(seeds: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Returns numbers in (0, 1), [R]. Each depends only on its request's seed (uint64) and the token's index, not on
    other requests (splitmix64)."""
    mixed = seeds * np.uint64(0x9E3779B97F4A7C15) + (steps.astype(np.uint64) + np.uint64(1)) * np.uint64(0xD1B54A32D192ED03)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return ((mixed >> np.uint64(12)).astype(np.float64) + 0.5) / (1 << 52)


def choose_tokens(logits_BV: torch.Tensor, controls: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns ids and logprobs, [B] each. The columns of `controls` [B, 4] are temperature (0 is greedy), top_k (0
    keeps all), top_p and the uniform number.

    Logprobs are those of the distribution after temperature, top-k and top-p, renormalised. For greedy tokens they are
    those of the plain softmax.
    """
    temperature, top_k, top_p, draw = torch.from_numpy(controls.astype(np.float64)).to(logits_BV.device).unbind(1)
    greedy = temperature == 0
    scaled = logits_BV.float() / torch.where(greedy, 1.0, temperature).float()[:, None]
    order = None
    if bool(((controls[:, 0] != 0) & ((controls[:, 1] > 0) | (controls[:, 2] < 1))).any()):
        scaled, order = torch.sort(scaled, dim=-1, descending=True, stable=True)
        scaled = truncate(scaled, greedy, top_k, top_p)
    logprob = scaled.log_softmax(-1)
    cumulative = logprob.exp().cumsum(-1)
    drawn = torch.searchsorted(cumulative, (draw.float() * cumulative[:, -1])[:, None], right=True)[:, 0]
    last = (logprob > -torch.inf).sum(-1) - 1 if order is not None else torch.full_like(drawn, logprob.shape[-1] - 1)
    place = torch.where(greedy, scaled.argmax(-1), torch.minimum(drawn, last))[:, None]
    ids = place if order is None else order.gather(-1, place)
    return ids[:, 0], logprob.gather(-1, place)[:, 0]


def truncate(sorted_BV: torch.Tensor, greedy: torch.Tensor, top_k: torch.Tensor, top_p: torch.Tensor) -> torch.Tensor:
    """Takes rows in falling order. It keeps the first k, then the fewest with a total mass of at least p. It always
    keeps the first token."""
    rank = torch.arange(sorted_BV.shape[-1], device=sorted_BV.device)
    beyond = (rank[None] >= top_k[:, None]) & (top_k > 0)[:, None]
    kept = sorted_BV.masked_fill(beyond & ~greedy[:, None], -torch.inf)
    probability = kept.softmax(-1)
    before = probability.cumsum(-1) - probability
    full = (before >= top_p[:, None]) & (top_p < 1)[:, None] & (rank > 0)[None] & ~greedy[:, None]
    return kept.masked_fill(full, -torch.inf)

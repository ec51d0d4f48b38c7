"""Computes the learning rate of an optimizer step."""

from __future__ import annotations

import math

from .config import OptimizerConfig


def learning_rate(config: OptimizerConfig, step: int) -> float:
    """Returns the rate of the step that is about to be made, counted from 0.

    The rate rises linearly over warmup_steps. Then it is constant, or falls until total_steps: linearly, as a half
    cosine, or linearly in the last decay_steps alone (warmup_stable_decay, Hu et al. 2024). It falls to min_rate_share
    of the full rate.
    """
    warmup = min(1.0, (step + 1) / config.warmup_steps) if config.warmup_steps > 0 else 1.0
    if config.schedule == "constant" or config.total_steps <= 0:
        return config.learning_rate * warmup
    start = config.warmup_steps
    if config.schedule == "warmup_stable_decay":
        start = max(start, config.total_steps - (config.decay_steps or math.ceil(config.total_steps / 10)))
    progress = min(1.0, max(0.0, (step - start) / max(1, config.total_steps - start)))
    decay = 0.5 * (1 + math.cos(math.pi * progress)) if config.schedule == "cosine" else 1 - progress
    return config.learning_rate * warmup * (config.min_rate_share + (1 - config.min_rate_share) * decay)

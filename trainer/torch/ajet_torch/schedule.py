"""Computes the learning rate of an optimizer step."""

from __future__ import annotations

import math

from .config import OptimizerConfig


def learning_rate(config: OptimizerConfig, step: int) -> float:
    """Returns the rate of the step that is about to be made, counted from 0.

    The rate rises linearly over warmup_steps. Then it is constant, or falls to 0 at total_steps, linearly or as a half
    cosine.
    """
    warmup = min(1.0, (step + 1) / config.warmup_steps) if config.warmup_steps > 0 else 1.0
    if config.schedule == "constant" or config.total_steps <= 0:
        return config.learning_rate * warmup
    length = max(1, config.total_steps - config.warmup_steps)
    progress = min(1.0, max(0.0, (step - config.warmup_steps) / length))
    decay = 1 - progress if config.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * progress))
    return config.learning_rate * warmup * decay

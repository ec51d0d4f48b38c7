"""The rules that both engines of `real.py` follow: the batch, the limits of an answer, and when an agent has learned."""

from __future__ import annotations

from typing import Any

BATCH, REPEAT, MARK = 16, 8, 0.95
ANSWER_TOKENS = {"json": 64, "calculator": 24}
CONTEXT = {"json": 512, "calculator": 448}
EVALUATE_EVERY = 2


def evaluates(task: str) -> bool:
    """Returns whether greedy evaluations, and not the sampled success of steps, say when the agent has learned."""
    return task == "calculator"


def steps_to_mark(task: str, rows: list[dict[str, Any]], evaluations: list[dict[str, Any]]) -> int | None:
    """Finds the first two consecutive steps, or evaluations, whose mean success is MARK or more. Returns the number of
    the second."""
    series = [(row["step"], row["success_rate"]) for row in (evaluations if evaluates(task) else rows)]
    return next((step for (_, one), (step, other) in zip(series, series[1:]) if (one + other) / 2 >= MARK), None)

"""Tests how `bench/real` reads the log of a swarm."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "bench" / "real"))

from real import wait_for_agents  # noqa: E402


def test_the_clock_of_a_swarm_begins_when_the_agents_have_sent_their_tasks() -> None:
    lines = [
        "2026-11-28T15:44:55.250Z info  torch worker: 134.5 M parameters in bfloat16 on cuda:0, 1 process",
        "2026-11-28T15:44:55.295Z info  Serving the swarm at http://127.0.0.1:38713",
        "2026-11-28T15:44:56.788Z info  Running for http://127.0.0.1:38713 as lab, revision b0  client=lab",
        '2026-11-28T15:44:57.037Z info  Order of an operator: tasks_added {"tasks":640}  key=first',
        '2026-11-28T15:46:00.000Z info  Order of an operator: tasks_added {"tasks":640}  key=first',
    ]
    assert abs(wait_for_agents(lines) - 1.742) < 1e-9

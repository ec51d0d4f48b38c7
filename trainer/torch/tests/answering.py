"""Lets a builtin server answer requests."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ajet_torch.config import InferenceConfig
from ajet_torch.sampling.builtin import BuiltinServer
from ajet_torch.sampling.server import SampleRequest
from ajet_torch.training import Trainer


def answer(server: BuiltinServer, requests: list[SampleRequest]) -> dict[int, list[tuple[int, float]]]:
    """Returns the token and logprob of each sampled token, by the id of the request."""
    for request in requests:
        server.submit(request)
    found: dict[int, list[tuple[int, float]]] = {request.id: [] for request in requests}
    while server.is_busy() or server.has_queue():
        for event in server.tick():
            found[event.id].append((event.token, event.logprob))
    return found


def check_sampled_logprobs(trainer: Trainer, prompt: np.ndarray, num_tokens: int) -> None:
    """Samples an answer, and checks that its logprobs are those that are trained."""
    server = BuiltinServer(trainer.policy, InferenceConfig(slots=2, kv_tokens=64), torch.device("cpu"))
    request = SampleRequest(1, prompt, 1.0, 1.0, 0, num_tokens, frozenset(), 1, False)
    tokens, logprobs = zip(*answer(server, [request])[1])
    row = np.concatenate([prompt, np.asarray(tokens, np.int32)])
    assert trainer.logprobs([row])[0][len(prompt) :] == pytest.approx(logprobs, abs=1e-5)

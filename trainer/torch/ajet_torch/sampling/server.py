"""The interface that every sampler offers the worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Iterable, Protocol, runtime_checkable

import numpy as np
import torch

from ..errors import WorkerError


@dataclass(frozen=True)
class SampleRequest:
    """core's GenerateRequest. `temperature` 0 is greedy; `top_k` 0 and `top_p` 1 keep all tokens; `stream` requests
    each token as it comes. The prompts of one episode share their beginnings."""

    id: int
    prompt_ids: np.ndarray
    temperature: float
    top_p: float
    top_k: int
    max_tokens: int
    stop_ids: frozenset[int]
    seed: int
    stream: bool
    episode_id: str | None = None


@dataclass(frozen=True)
class TokenEvent:
    """One sampled token. The last token of an answer has `finish`. `started` is the time.monotonic() at which the
    request got its slot, if the server knows it."""

    id: int
    token: int
    logprob: float
    finish: str | None
    started: float | None = None


@dataclass(frozen=True)
class CallFailure:
    """The error of a request that ends without an answer. Other requests continue."""

    id: int
    error: WorkerError


class InferenceServer(Protocol):
    context_length: int

    def submit(self, request: SampleRequest) -> None:
        """Queues a request. Raises `context_overflow` if the prompt leaves no room for an answer."""
        ...

    def abort(self, request_id: int) -> None:
        """Frees the request's slot. Unknown ids are ignored."""
        ...

    def tick(self) -> list[TokenEvent | CallFailure]:
        """Advances sampling by a small amount. It starts queued requests only if `admit` is true."""
        ...

    def is_busy(self) -> bool:
        """Returns whether a request is being sampled. Queued requests do not count."""
        ...

    def has_queue(self) -> bool: ...

    def admit(self, open_: bool) -> None:
        """Allows queued requests to start, or forbids it. Call it with False before weights change, so that every
        answer comes from one version of the weights."""
        ...

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        """Takes new weights by Hugging Face name, as whole tensors. Call it only if no request is being sampled."""
        ...

    def lacks_weights(self) -> bool:
        """Returns whether a part of the server waits for `catch_up`. Such a part takes no requests."""
        ...

    def catch_up(self) -> None:
        """Gives the weights of the last update to the parts that lack them, while the other parts continue to sample.
        Every rank must call this method."""
        ...

    def fingerprint(self) -> int | None:
        """Returns a number that changes with the weights of the sampler (see `weight_sum`), or None if the server
        cannot read its weights."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class ProbedServer(Protocol):
    """A server whose weights can only be probed, not read."""

    def probe(self, prompt_ids: np.ndarray, num_tokens: int) -> dict[int, list[TokenEvent]]:
        """Returns a few greedy tokens with their logprobs from each part that has received weights since it was last
        judged."""
        ...

    def judge(self, errors: dict[int, WorkerError]) -> None:
        """Receives the errors of the parts that failed their probe. Raises if no part is left."""
        ...


def parse_request(message: dict[str, Any], vocab_size: int) -> SampleRequest:
    """Raises `bad_request` if an id is outside the vocabulary or a parameter is out of range."""
    prompt = np.frombuffer(message["prompt_ids"], np.int32)
    if len(prompt) == 0 or int(prompt.min()) < 0 or int(prompt.max()) >= vocab_size:
        raise WorkerError("bad_request", f"A prompt needs at least one id, all in [0, {vocab_size}).")
    request = SampleRequest(
        id=message["id"], prompt_ids=prompt, temperature=float(message["temperature"]), top_p=float(message["top_p"]), top_k=max(0, int(message["top_k"])),
        max_tokens=int(message["max_tokens"]), stop_ids=frozenset(message["stop_ids"]), seed=int(message["seed"]), stream=bool(message["stream"]),
        episode_id=message.get("episode_id"),
    )
    if not (request.temperature >= 0 and 0 < request.top_p <= 1 and request.max_tokens >= 1):
        raise WorkerError("bad_request", f"Sampling needs temperature >= 0, 0 < top_p <= 1 and max_tokens >= 1, got {request.temperature}, {request.top_p}, {request.max_tokens}.")
    return request


def require_room(request: SampleRequest, context_length: int) -> None:
    if len(request.prompt_ids) >= context_length:
        raise WorkerError("context_overflow", f"The prompt has {len(request.prompt_ids)} tokens; with a context of {context_length} there is no room for an answer. Shorten it or raise max_model_len.")


def take_weights(lm: torch.nn.Module, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Copies new weights by name. If the sampler uses the trained model itself, it copies nothing."""
    own = dict(lm.named_parameters())
    with torch.no_grad():
        for name, tensor in tensors:
            if own[name].data_ptr() != tensor.data_ptr():
                own[name].copy_(tensor)


def weight_sum(tensors: Iterable[tuple[str, torch.Tensor]]) -> int:
    """Sums the bit patterns of the weights as integers. The sum is exact in any order, and any real update changes
    it."""
    return int(sum_bits(tensors))


def sum_bits(tensors: Iterable[tuple[str, torch.Tensor]]) -> torch.Tensor:
    """Computes `weight_sum` on the device without waiting for it."""
    words = {2: torch.int16, 4: torch.int32, 8: torch.int64}
    sums = [tensor.detach().contiguous().view(words[tensor.element_size()]).sum(dtype=torch.int64) for _, tensor in tensors]
    return torch.stack(sums).sum()

"""The sampler of a rank that does not sample, because the first rank's server uses all GPUs itself."""

from __future__ import annotations

from typing import Iterable

import torch

from ..errors import WorkerError
from .server import SampleRequest, TokenEvent


class IdleServer:
    context_length = 0

    def submit(self, request: SampleRequest) -> None:
        raise WorkerError("failed", f"Request {request.id} reached a rank that does not sample.")

    def abort(self, request_id: int) -> None:
        return None

    def tick(self) -> list[TokenEvent]:
        return []

    def is_busy(self) -> bool:
        return False

    def has_queue(self) -> bool:
        return False

    def admit(self, open_: bool) -> None:
        return None

    def update_weights(self, tensors: Iterable[tuple[str, torch.Tensor]]) -> None:
        for _ in tensors:
            pass

    def lacks_weights(self) -> bool:
        return False

    def catch_up(self) -> None:
        return None

    def fingerprint(self) -> int | None:
        return None

    def close(self) -> None:
        return None

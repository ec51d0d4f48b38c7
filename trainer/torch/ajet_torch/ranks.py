"""The processes of one training run: how they find each other and the little they say besides gradients.

Control messages go over gloo (host memory), gradients over NCCL on GPUs and gloo on CPUs. The store is a file where one is
given, so that no port but the backends' own is opened.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class Ranks:
    """`control` and the default group exist only where `size` > 1 or FSDP2 is wanted for one process."""

    rank: int
    size: int
    local_rank: int
    control: Any = None

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    def share(self, payload: Any) -> Any:
        """The first rank's payload, on every rank."""
        if self.size == 1:
            return payload
        box = [pickle.dumps(payload) if self.is_first else None]
        dist.broadcast_object_list(box, src=0, group=self.control)
        return pickle.loads(box[0])

    def gather(self, payload: Any) -> list[Any]:
        """Every rank's payload on the first rank, in order; an empty list elsewhere."""
        if self.size == 1:
            return [payload]
        boxes: list[Any] = [None] * self.size if self.is_first else []
        dist.gather_object(payload, boxes if self.is_first else None, dst=0, group=self.control)
        return boxes

    def barrier(self) -> None:
        if self.size > 1:
            dist.barrier(group=self.control)


def join_ranks(device_type: str, store_file: str | None, fsdp: bool, timeout_s: float) -> Ranks:
    """From torchrun's environment (RANK, WORLD_SIZE, LOCAL_RANK); one process without it."""
    rank, size, local_rank = (int(os.environ.get(name, default)) for name, default in (("RANK", 0), ("WORLD_SIZE", 1), ("LOCAL_RANK", 0)))
    if size == 1 and not fsdp:
        return Ranks(rank, size, local_rank)
    if device_type == "cuda":
        torch.cuda.set_device(local_rank)
    store = dist.FileStore(store_file, size) if store_file else dist.HashStore() if size == 1 else None
    backend = "cpu:gloo,cuda:nccl" if device_type == "cuda" else "gloo"
    timeout = timedelta(seconds=timeout_s)
    options = {"store": store, "rank": rank, "world_size": size} if store is not None else {}
    dist.init_process_group(backend, timeout=timeout, **options)
    return Ranks(rank, size, local_rank, dist.new_group(backend="gloo", timeout=timeout))


def leave_ranks() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()

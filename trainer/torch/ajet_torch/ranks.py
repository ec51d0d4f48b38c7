"""The processes of one training run: how they find each other, and the few messages they exchange besides gradients.

Control messages go over gloo (host memory); gradients go over NCCL on GPUs and gloo on CPUs. If a file is given, it is
used as the store, so only the backends' own ports are opened. Otherwise the launcher's store is used, for example on
several nodes.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from .errors import WorkerError


@dataclass(frozen=True)
class Ranks:
    """`control` and the default group exist only if `size` > 1 or FSDP2 is wanted for one process. `num_nodes` is the
    number of launchers, with equally many processes each, numbered launcher by launcher. `first` is the global rank of
    this group's first process.
    """

    rank: int
    size: int
    local_rank: int
    control: Any = None
    num_nodes: int = 1
    first: int = 0
    own_node: Ranks | None = None

    @property
    def is_first(self) -> bool:
        return self.rank == 0

    @property
    def node(self) -> Ranks:
        """Returns the processes of this node as one group."""
        return self.own_node or self

    @property
    def per_node(self) -> int:
        return self.size // self.num_nodes

    def share(self, payload: Any) -> Any:
        """Returns the first rank's payload on every rank."""
        if self.size == 1:
            return payload
        box = [pickle.dumps(payload) if self.is_first else None]
        dist.broadcast_object_list(box, src=self.first, group=self.control)
        return pickle.loads(box[0])

    def gather(self, payload: Any) -> list[Any]:
        """Returns every rank's payload on the first rank, in order, and an empty list elsewhere."""
        if self.size == 1:
            return [payload]
        boxes: list[Any] = [None] * self.size if self.is_first else []
        dist.gather_object(payload, boxes if self.is_first else None, dst=self.first, group=self.control)
        return boxes

    def barrier(self) -> None:
        if self.size > 1:
            dist.barrier(group=self.control)


def join_ranks(device_type: str, store_file: str | None, fsdp: bool, timeout_s: float) -> Ranks:
    """Reads torchrun's environment (RANK, WORLD_SIZE, LOCAL_RANK). Without it there is one process."""
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
    control = dist.new_group(backend="gloo", timeout=timeout)
    num_nodes = count_nodes(control, size)
    return Ranks(rank, size, local_rank, control, num_nodes, 0, join_node(rank, size // num_nodes, local_rank, num_nodes, timeout))


def count_nodes(control: Any, size: int) -> int:
    """Returns the number of launchers, which it counts from the environment of all processes. Raises `bad_request` if
    one launcher has more processes than another."""
    own = (int(os.environ.get("GROUP_RANK", 0)), int(os.environ.get("LOCAL_WORLD_SIZE", size)))
    found: list[Any] = [None] * size
    dist.all_gather_object(found, own, group=control)
    sizes = dict(found)
    if any(count * len(sizes) != size for count in sizes.values()):
        raise WorkerError("bad_request", f"The launchers have {', '.join(str(sizes[node]) for node in sorted(sizes))} processes. Start torchrun with the same --nproc-per-node on each node.")
    return len(sizes)


def join_node(rank: int, per_node: int, local_rank: int, num_nodes: int, timeout: timedelta) -> Ranks | None:
    """Returns the group of this process's node. Every process creates the groups of all nodes, because all processes
    must take part in creating a group."""
    if num_nodes == 1:
        return None
    groups = [dist.new_group(list(range(node * per_node, (node + 1) * per_node)), backend="gloo", timeout=timeout) for node in range(num_nodes)]
    node = rank // per_node
    return Ranks(rank % per_node, per_node, local_rank, groups[node], 1, node * per_node)


def leave_ranks() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()

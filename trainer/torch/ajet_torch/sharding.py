"""Places a model's weights on one device, or cuts them over several processes by FSDP2."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import CPUOffloadPolicy, FSDPModule, MixedPrecisionPolicy, OffloadPolicy, fully_shard

from .config import WorkerConfig
from .model import PolicyModel, decoder_layers
from .ranks import Ranks


@dataclass(frozen=True)
class Placement:
    device: torch.device
    dtype: torch.dtype
    ranks: Ranks
    sharded: bool

    @property
    def master_dtype(self) -> torch.dtype:
        """Returns the dtype of parameters under FSDP2. If the compute is in bfloat16, the shards are float32 and are
        cast for each use."""
        return torch.float32 if self.dtype == torch.bfloat16 else self.dtype


LAYERS_A_GROUP = 4
"""The number of layers in a group. With smaller groups, the host could take longer for the hooks of a group than the
GPU for a small layer."""


def shard(policy: PolicyModel, config: WorkerConfig, placement: Placement) -> None:
    """Applies FSDP2. A few layers are one group; embedding, norm and head are another. If weights are freed after use,
    each layer is a group."""
    mesh = create_mesh(config, placement)
    precision = MixedPrecisionPolicy(param_dtype=placement.dtype, reduce_dtype=placement.master_dtype, cast_forward_inputs=False)
    offload = CPUOffloadPolicy(pin_memory=placement.device.type == "cuda") if config.cpu_offload else OffloadPolicy()
    options = {"mesh": mesh, "mp_policy": precision, "offload_policy": offload}
    keep = keeps_whole(policy, config, placement)
    for group in layer_groups(decoder_layers(policy.lm), LAYERS_A_GROUP if keep else 1):
        fully_shard(group, **options, reshard_after_forward=not keep)
    fully_shard(policy, **options, reshard_after_forward=False)


def layer_groups(layers: nn.ModuleList, size: int) -> list[list[nn.Module]]:
    return [list(layers[start : start + size]) for start in range(0, len(layers), size)]


def end_broken_pass(policy: PolicyModel) -> None:
    """Resets FSDP2 after an error in the middle of a group. Otherwise FSDP2 would regard the group as begun in the next
    pass."""
    if hasattr(policy, "reset_iter_state"):  # since PyTorch 2.13
        policy.reset_iter_state()
        return
    for module in policy.modules():
        if isinstance(module, FSDPModule):
            module._get_fsdp_state()._modules_to_run_forward.clear()


def create_mesh(config: WorkerConfig, placement: Placement) -> dist.DeviceMesh:
    """Returns the mesh of all processes. If each node has a replica, the first dimension of the mesh has the nodes, and
    the second has the shards of a node."""
    ranks = placement.ranks
    if ranks.num_nodes == 1 or config.shard_over == "all":
        return dist.init_device_mesh(placement.device.type, (ranks.size,))
    return dist.init_device_mesh(placement.device.type, (ranks.num_nodes, ranks.per_node), mesh_dim_names=("node", "gpu"))


def keeps_whole(policy: PolicyModel, config: WorkerConfig, placement: Placement) -> bool:
    """Returns whether gathered weights stay until the step's last backward. They do if they fit in a sixth of the
    device's memory."""
    if config.cpu_offload or config.reshard == "always":
        return False
    if config.reshard == "never" or placement.device.type == "cpu":
        return True
    needed = sum(p.numel() for p in policy.parameters()) * placement.dtype.itemsize
    return needed <= torch.cuda.get_device_properties(placement.device).total_memory / 6

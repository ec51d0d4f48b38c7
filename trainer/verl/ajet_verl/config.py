"""The driver's configuration, which the control plane sends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping

from ajet_torch.config import InferenceConfig, OptimizerConfig


@dataclass(frozen=True)
class DriverConfig:
    """Options of the driver.

    - ray_address: the cluster to join, `auto` or host:port; an empty string starts Ray on this machine.
    - num_nodes, gpus_per_node: the number of nodes, and of processes on each node. Each process has one GPU, or runs on
      a CPU if the cluster has no GPU.
    - dtype: the dtype of the compute; masters and moments are float32.
    - max_pack_tokens: the tokens of a micro-batch. A single longer row may exceed it.
    - attn_implementation: the name of an attention implementation of transformers.
    - shard_over: for several nodes. `node` shards within each and keeps a replica on each; `all` shards over all
      processes.
    """

    model_dir: str = ""
    seed: int = 0
    ray_address: str = ""
    num_nodes: int = 1
    gpus_per_node: int = 1
    dtype: str = "auto"
    max_pack_tokens: int = 8192
    attn_implementation: str = "sdpa"
    activation_checkpointing: bool = False
    cpu_offload: bool = False
    shard_over: str = "all"
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    inference: InferenceConfig = field(default_factory=InferenceConfig)

    @property
    def num_workers(self) -> int:
        return self.num_nodes * self.gpus_per_node

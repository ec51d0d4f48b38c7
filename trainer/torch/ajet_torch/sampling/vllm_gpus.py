"""Chooses the GPUs that vLLM uses: the first GPUs of the trainer (`colocated`), or those after the trainer's. Replicas
take consecutive GPUs, each as many as its tensor parallel size.

In both cases a process of the trainer exports a buffer on each GPU of vLLM, and the weights go through it. CUDA IPC
needs a buffer on the GPU of the reader, but any process may export it. With separate GPUs the first rank copies the
weights over NVLink or PCIe, so vLLM needs no second way to take weights.
"""

from __future__ import annotations

import os

import torch

from ..config import InferenceConfig
from ..errors import WorkerError
from ..ranks import Ranks


def require_gpus(inference: InferenceConfig, num_trainers: int, num_visible: int) -> None:
    """Raises `bad_request` if there are too few GPUs. `num_visible` is the number of GPUs of the machine, or 0 without
    any."""
    wanted = inference.num_gpus
    if inference.colocated and wanted > num_trainers:
        raise WorkerError("bad_request", f"vLLM would use {wanted} GPUs ({name_gpus(inference)}) next to a trainer on {num_trainers}. Lower that number, raise trainer_common.n_gpus_per_node, or give vLLM separate GPUs with rollout.colocated=false.")
    if not inference.colocated and 0 < num_visible < num_trainers + wanted:
        raise WorkerError("bad_request", f"The trainer takes {num_trainers} GPUs (trainer_common.n_gpus_per_node) and vLLM takes {wanted} separate ones ({name_gpus(inference)}), but there are {num_visible}. Lower one of the numbers, or let them share with rollout.colocated=true.")


def name_gpus(inference: InferenceConfig) -> str:
    """Names the configuration keys that set how many GPUs vLLM takes."""
    each = "rollout.tensor_model_parallel_size"
    return each if inference.num_replicas == 1 else f"rollout.num_replicas {inference.num_replicas} x {each} {inference.tensor_parallel_size}"


def buffer_devices(inference: InferenceConfig, ranks: Ranks, device: torch.device) -> list[torch.device]:
    """Returns the devices on which this rank, whose own device is `device`, holds a buffer for vLLM: its own GPU, or
    for the first rank each GPU of a separate vLLM."""
    wanted = inference.num_gpus
    if inference.colocated:
        return [device] if ranks.rank < wanted else []
    if not ranks.is_first:
        return []
    return [torch.device("cuda", ranks.size + index) for index in range(wanted)] if device.type == "cuda" else [device]


def visible_to_vllm(inference: InferenceConfig, num_trainers: int, num_visible: int, replica: int = 0) -> str | None:
    """Returns the server's CUDA_VISIBLE_DEVICES. If it is None, the server sees the GPUs of the worker and takes the
    first ones."""
    if num_visible == 0 or (inference.colocated and inference.num_replicas == 1):
        return None
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = listed.split(",") if listed else [str(index) for index in range(num_visible)]
    first = (0 if inference.colocated else num_trainers) + replica * inference.tensor_parallel_size
    return ",".join(names[first : first + inference.tensor_parallel_size])

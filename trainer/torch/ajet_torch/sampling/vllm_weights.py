"""The trainer's side of vLLM's weight transfer (engine `ipc`, packed). New weights go through one buffer in GPU memory.

The messages go over HTTP, as vLLM's HTTPVLLMWeightSyncClient sends them. The worker does not use vLLM's Python classes,
because they change with every second release (0.26 has none; until 0.32 a source has `metadata()` and is iterated; 0.33
has a cached property and `iter_full`). The wire format changed once: 0.26 expects `packed` with each update, and 0.27
and later expect it once, at the handshake.

The buffer is exported once, for the whole run; vLLM copies each chunk before it answers. Tensors are not exported one
by one, because PyTorch wraps a storage again at each export. Any model fits if its largest tensor fits the buffer.

If vLLM holds all weights as they were loaded, its worker loads each chunk in place (vllm_worker.py). Otherwise vLLM's
own update loads them. It also handles quantized models, and takes several times as long.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
from typing import Any, Iterator

import torch
from torch.multiprocessing.reductions import reduce_tensor

from ..config import WorkerConfig
from ..lora import fold_adapters
from ..model import PolicyModel
from ..ranks import Ranks
from .server import sum_bits, weight_sum
from .vllm_http import Broadcast, VllmHttp

CHUNK_BYTES = 1 << 30
Named = tuple[str, torch.Tensor]


class WeightSender:
    """Sends the weights of one rank. `devices` are the GPUs of vLLM on which this rank exports a buffer. A rank without
    such GPUs takes part in the steps and sends nothing."""

    def __init__(self, policy: PolicyModel, config: WorkerConfig, ranks: Ranks, version: tuple[int, int], devices: list[torch.device]) -> None:
        self.policy, self.config, self.ranks = policy, config, ranks
        self.is_packed_per_update = version < (0, 27)
        self.is_direct = True
        self.chunk_bytes = max(CHUNK_BYTES, *(tensor.numel() * tensor.element_size() for _, tensor in self._weights()))
        total = sum(tensor.numel() * tensor.element_size() for _, tensor in self._weights())
        self.buffers = [exportable(min(self.chunk_bytes, total), device) for device in devices]
        exported = ranks.gather([export(buffer) for buffer in self.buffers])
        handles = {uuid: handle for of_rank in exported for of_buffer in of_rank for uuid, handle in of_buffer.items()}
        self.handles = base64.b64encode(pickle.dumps(handles)).decode()

    def greet(self, server: VllmHttp) -> None:
        """Makes the handshake, once with each server that has started."""
        server.post("/init_weight_transfer_engine", {"init_info": {} if self.is_packed_per_update else {"packed": True}})
        found = server.post("/collective_rpc", {"method": "ajet_holds_plain_weights"})["results"]
        self.is_direct = self.is_direct and set(found) == {"yes"}

    def send(self, servers: Broadcast) -> int:
        """Sends all weights. Every rank must call this method; ranks without a server pass none. Returns the sum of the
        bit patterns of the weights."""
        sums: list[torch.Tensor] = []
        self.is_direct or servers.post("/start_weight_update")
        for chunk in chunks(self._weights(), self.chunk_bytes):
            sums.append(sum_bits(chunk))
            for buffer in self.buffers:
                fill(buffer, chunk)
            self.ranks.barrier()
            self._hand_over(servers, self._describe(chunk))
            self.ranks.barrier()
        self.is_direct or servers.post("/finish_weight_update")
        return sum(int(each) for each in sums)

    def _hand_over(self, servers: Broadcast, info: dict[str, Any]) -> None:
        if not self.is_direct:
            return servers.post("/update_weights", {"update_info": {**info, "packed": True} if self.is_packed_per_update else info})
        chunk = {"names": info["names"], "dtypes": info["dtype_names"], "shapes": info["shapes"], "sizes": info["tensor_sizes"], "handles": self.handles}
        servers.post("/collective_rpc", {"method": "ajet_load", "args": [json.dumps(chunk)]})

    def weight_sum(self) -> int:
        return weight_sum(self._weights())

    def _weights(self) -> Iterator[Named]:
        """Returns the weights under the names that vLLM uses, with LoRA merged."""
        state = {name: parameter.detach() for name, parameter in self.policy.lm.named_parameters()}
        return fold_adapters(state, self.config.lora) if self.config.lora.rank else iter(state.items())

    def _describe(self, chunk: list[Named]) -> dict[str, Any]:
        return {
            "names": [name for name, _ in chunk], "dtype_names": [str(tensor.dtype).removeprefix("torch.") for _, tensor in chunk],
            "shapes": [list(tensor.shape) for _, tensor in chunk], "tensor_sizes": [tensor.numel() * tensor.element_size() for _, tensor in chunk],
            "ipc_handles_pickled": self.handles,
        }


def chunks(weights: Iterator[Named], limit: int) -> Iterator[list[Named]]:
    """Groups the weights in order. Each group has as many bytes as fit the buffer."""
    chunk: list[Named] = []
    size = 0
    for name, tensor in weights:
        if chunk and size + tensor.numel() * tensor.element_size() > limit:
            yield chunk
            chunk, size = [], 0
        chunk.append((name, tensor))
        size += tensor.numel() * tensor.element_size()
    if chunk:
        yield chunk


def fill(buffer: torch.Tensor, chunk: list[Named]) -> None:
    start = 0
    for _, tensor in chunk:
        flat = tensor.contiguous().view(-1).view(torch.uint8)
        buffer[start : start + flat.numel()].copy_(flat)
        start += flat.numel()
    for device in {buffer.device, *(tensor.device for _, tensor in chunk)}:
        if device.type == "cuda":
            torch.cuda.synchronize(device)


def exportable(num_bytes: int, device: torch.device) -> torch.Tensor:
    """Allocates a buffer outside of the expandable segments that the worker uses for all other memory. PyTorch cannot
    share the memory of such segments with other processes."""
    if device.type != "cuda" or "expandable_segments:True" not in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""):
        return torch.empty(num_bytes, dtype=torch.uint8, device=device)
    set_allocator = getattr(torch._C, "_accelerator_setAllocatorSettings", None) or torch.cuda.memory._set_allocator_settings
    set_allocator("expandable_segments:False")
    try:
        return torch.empty(num_bytes, dtype=torch.uint8, device=device)
    finally:
        set_allocator("expandable_segments:True")


def export(buffer: torch.Tensor) -> dict[str, Any]:
    """Returns the UUID of the GPU with the arguments of PyTorch's `rebuild_cuda_tensor`. Tests use host memory instead,
    which is identified by its file."""
    if not buffer.is_cuda:
        return {"cpu": buffer.untyped_storage()._share_filename_cpu_()}
    _, arguments = reduce_tensor(buffer)
    return {str(torch.cuda.get_device_properties(buffer.device).uuid): arguments}

"""Code that runs inside vLLM's own worker processes (`--worker-extension-cls`)."""

from __future__ import annotations

import base64
import json
import pickle
from typing import Any

import torch
from torch.multiprocessing.reductions import rebuild_cuda_tensor

from .server import weight_sum

PLAIN_METHODS = {"UnquantizedLinearMethod", "UnquantizedEmbeddingMethod"}
"""vLLM's classes that hold the weights of a layer on a GPU exactly as they were loaded (checked in the sources of 0.26
and 0.33)."""
PLAIN_MODULES = {"Attention"}
"""Modules whose step after loading changes no weight if nothing is quantized."""


class WeightReader:
    """A mixin for vLLM's worker. Its names must not clash with those of the worker."""

    get_model: Any

    def ajet_weight_sum(self) -> str:
        """Returns the sum of the bit patterns of all weights that this worker holds. Joined, padded (with zeros) or
        split weights have the same sum."""
        return str(weight_sum(self.get_model().named_parameters()))

    def ajet_holds_plain_weights(self) -> str:
        """Returns "yes" if `ajet_load` may be used: after it, no value that vLLM derived from the loaded weights is
        outdated."""
        return "yes" if hasattr(self.get_model(), "load_weights") and all(map(is_plain, self.get_model().modules())) else "no"

    def ajet_load(self, description: str) -> None:
        """Loads the tensors of one chunk from the trainer's buffer into the model in place. vLLM's own update, which
        also handles quantized layers, first builds each layer again and takes several times as long."""
        chunk = json.loads(description)
        packed = open_buffer(pickle.loads(base64.b64decode(chunk["handles"])), getattr(self, "device", None))
        parts = packed[: sum(chunk["sizes"])].split(chunk["sizes"])
        weights = [(name, part.view(getattr(torch, kind)).view(shape)) for name, kind, shape, part in zip(chunk["names"], chunk["dtypes"], chunk["shapes"], parts, strict=True)]
        self.get_model().load_weights(weights)
        if packed.is_cuda:
            torch.cuda.synchronize(packed.device)


def is_plain(module: torch.nn.Module) -> bool:
    method = getattr(module, "quant_method", None)
    changes = hasattr(module, "process_weights_after_loading") and type(module).__name__ not in PLAIN_MODULES
    return not changes and (method is None or type(method).__name__ in PLAIN_METHODS)


def open_buffer(handles: dict[str, Any], device: torch.device | None) -> torch.Tensor:
    """Opens the buffer that vllm_weights.export has exported."""
    if device is None or device.type != "cuda":
        return torch.empty(0, dtype=torch.uint8).set_(torch.UntypedStorage._new_shared_filename_cpu(*handles["cpu"]))
    arguments = list(handles[str(torch.cuda.get_device_properties(device).uuid)])
    arguments[6] = device.index
    return rebuild_cuda_tensor(*arguments)

"""The model of the fake vLLM. It makes one token at a time. Its prefix cache becomes stale unless the caller empties
it, as in vLLM."""

from __future__ import annotations

import argparse
import base64
import copy
import os
import pickle
import threading
import time
from typing import Any, Iterable, Iterator

import torch
from transformers import AutoModelForCausalLM

torch.set_num_threads(1)
VERSION = os.environ.get("FAKE_VLLM_VERSION", "0.33.0")
IS_PACKED_PER_UPDATE = VERSION.startswith("0.26.")
IS_QUANTIZED = "FAKE_VLLM_QUANTIZED" in os.environ
UPDATE_FIELDS = {"names", "dtype_names", "shapes", "ipc_handles_pickled", "tensor_sizes"} | ({"packed"} if IS_PACKED_PER_UPDATE else set())


class Fp8LinearMethod:
    """Has the name of a vLLM method that changes the weights after loading."""


class Model:
    def __init__(self, args: argparse.Namespace) -> None:
        self.lm = AutoModelForCausalLM.from_pretrained(args.model, dtype=getattr(torch, args.dtype), local_files_only=True)
        self.sampled = self.lm
        # Use a lambda, because deepcopy of a bound method would copy this whole object.
        self.lm.load_weights = lambda weights: self.load_weights(weights)
        self.lm.quant_method = Fp8LinearMethod() if IS_QUANTIZED else None
        self.fault = ""
        self.lock = threading.Lock()
        self.cache: dict[tuple[int, ...], torch.Tensor] = {}
        self.is_packed: bool | None = None
        self.is_updating = False

    def set_fault(self, fault: str) -> None:
        self.fault = fault
        self.sampled = copy.deepcopy(self.lm) if fault == "stale" else self.lm

    def get_model(self) -> torch.nn.Module:
        return self.lm

    @torch.no_grad()
    def logits(self, ids: list[int]) -> torch.Tensor:
        with self.lock:
            if tuple(ids) not in self.cache:
                self.cache[tuple(ids)] = self.sampled(input_ids=torch.tensor([ids])).logits[0, -1].float()
            return self.cache[tuple(ids)]

    def tokens(self, body: dict[str, Any]) -> Iterator[tuple[int, float, str | None]]:
        ids = list(body["prompt"])
        random = torch.Generator().manual_seed(body["seed"])
        for step in range(body["max_tokens"]):
            if self.fault == "slow":
                time.sleep(0.05)
            logprobs = (self.logits(ids) / (body["temperature"] or 1)).log_softmax(-1)
            token = int(logprobs.argmax() if body["temperature"] == 0 else torch.multinomial(logprobs.exp(), 1, generator=random))
            ids.append(token)
            is_stopped = token in body["stop_token_ids"]
            yield token, float(logprobs[token]), "stop" if is_stopped else "length" if step + 1 == body["max_tokens"] else None
            if is_stopped:
                return

    def init_transfer(self, init_info: dict[str, Any]) -> None:
        if set(init_info) - (set() if IS_PACKED_PER_UPDATE else {"packed"}):
            raise ValueError(f"Invalid init_info for IPCWeightTransferEngine: {init_info}")
        self.is_packed = init_info.get("packed", False)

    def start_update(self) -> None:
        if self.is_packed is None or self.is_updating:
            raise RuntimeError("start_weight_update called before the handshake, or while a weight update is already active.")
        self.is_updating = True

    def update(self, info: dict[str, Any]) -> None:
        if not self.is_updating:
            raise RuntimeError("start_weight_update must be called before update_weights.")
        if set(info) - UPDATE_FIELDS:
            raise ValueError(f"Invalid update_info for IPCWeightTransferEngine: {sorted(set(info) - UPDATE_FIELDS)}")
        assert info["packed"] if IS_PACKED_PER_UPDATE else self.is_packed
        handle = pickle.loads(base64.b64decode(info["ipc_handles_pickled"]))["cpu"]
        packed = torch.empty(0, dtype=torch.uint8).set_(torch.UntypedStorage._new_shared_filename_cpu(*handle))
        parts = packed[: sum(info["tensor_sizes"])].split(info["tensor_sizes"])
        self.load_weights([(name, part.clone().view(getattr(torch, dtype)).view(shape)) for name, shape, dtype, part in zip(info["names"], info["shapes"], info["dtype_names"], parts, strict=True)])

    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
        own = dict(self.lm.named_parameters())
        with self.lock, torch.no_grad():
            for name, tensor in weights:
                if self.fault != "deaf":
                    own[name].copy_(tensor)

    def finish_update(self) -> None:
        if not self.is_updating:
            raise RuntimeError("finish_weight_update called without a matching start_weight_update.")
        self.is_updating = False

"""Low-rank adapters through peft (Hu et al. 2021)."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

import torch
from torch import nn
from transformers import PreTrainedModel

from .config import LoraConfig
from .errors import WorkerError, first_line


def add_lora(lm: PreTrainedModel, lora: LoraConfig, seed: int) -> PreTrainedModel:
    """Injects adapters in place; afterwards only they take gradients. Raises `bad_request` where peft is not installed."""
    try:
        from peft import LoraConfig as PeftConfig, inject_adapter_in_model
    except ImportError as error:
        raise WorkerError("bad_request", "lora.rank is set but peft is not installed. Run `npm run setup:torch`, or pip install peft.") from error
    torch.manual_seed(seed)
    try:
        inject_adapter_in_model(PeftConfig(r=lora.rank, lora_alpha=lora.alpha, target_modules=list(lora.target_modules), lora_dropout=0.0), lm)
    except ValueError as error:
        raise WorkerError("bad_request", f"LoRA does not fit this model: {first_line(error)}") from error
    dtype = next(lm.parameters()).dtype
    for name, parameter in lm.named_parameters():
        parameter.requires_grad_("lora_" in name)
        parameter.data = parameter.data.to(dtype)
    return lm


def fold_adapters(state: Mapping[str, torch.Tensor], lora: LoraConfig) -> Iterator[tuple[str, torch.Tensor]]:
    """W + alpha / rank * B A under the plain names (Hu et al. 2021, eq. 3), one tensor after another."""
    for name, tensor in state.items():
        if ".lora_" in name:
            continue
        stem, mark, leaf = name.partition(".base_layer.")
        key = f"{stem}.lora_A.default.weight"
        if mark and leaf == "weight" and key in state:
            delta = state[f"{stem}.lora_B.default.weight"].float() @ state[key].float()
            tensor = (tensor.float() + lora.alpha / lora.rank * delta).to(tensor.dtype)
        yield (f"{stem}.{leaf}" if mark else name), tensor


class adapters_off:
    """Runs the frozen model under the adapters."""

    def __init__(self, lm: nn.Module) -> None:
        from peft.tuners.tuners_utils import BaseTunerLayer

        self.layers: list[Any] = [module for module in lm.modules() if isinstance(module, BaseTunerLayer)]

    def __enter__(self) -> None:
        for layer in self.layers:
            layer._disable_adapters = True

    def __exit__(self, *_: object) -> None:
        for layer in self.layers:
            layer._disable_adapters = False

"""Low-rank adapters through peft (Hu et al. 2021)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Iterator, Mapping

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import PreTrainedModel

from .config import LoraConfig
from .errors import WorkerError, first_line


ALL_LINEAR = "all-linear"

CONFIG_FILE, WEIGHTS_FILE = "adapter_config.json", "adapter_model.safetensors"
PREFIX = "base_model.model."
# with one of these settings, an adapter computes more than W + scale B A
UNTRAINED = frozenset((
    "fan_in_fan_out", "modules_to_save", "rank_pattern", "alpha_pattern", "lora_bias", "megatron_config", "trainable_token_indices",
    "alora_invocation_tokens", "layer_replication", "target_parameters", "arrow_config", "kasa_config", "monteclora_config",
))  # fmt: skip
# with one of these values, peft changes the weights of the model too
CHANGES_BASE = ("pissa", "olora", "corda", "loftq", "lora_ga")


def add_lora(lm: PreTrainedModel, lora: LoraConfig, seed: int) -> PreTrainedModel:
    """Injects adapters in place; afterwards only they take gradients. Raises `bad_request` if peft is not installed, or
    if names do not fit."""
    try:
        from peft import LoraConfig as PeftConfig, inject_adapter_in_model
    except ImportError as error:
        raise WorkerError("bad_request", "lora.rank is set but peft is not installed. Run `npm run setup:torch`, or pip install peft.") from error
    targets = find_targets(lm, lora)
    torch.manual_seed(seed)
    try:
        inject_adapter_in_model(PeftConfig(r=lora.rank, lora_alpha=lora.alpha, target_modules=targets, lora_dropout=0.0), lm)
    except ValueError as error:
        raise WorkerError("bad_request", f"LoRA does not fit this model: {first_line(error)}") from error
    dtype = next(lm.parameters()).dtype
    for name, parameter in lm.named_parameters():
        parameter.requires_grad_("lora_" in name)
        parameter.data = parameter.data.to(dtype)
    if lora.start:
        _read_start(lm, lora)
    return lm


def _read_start(lm: PreTrainedModel, lora: LoraConfig) -> None:
    """Fills the adapters with those of a folder that peft or a run has written. Raises `bad_request` if the folder has
    none, or others than these."""
    folder = Path(lora.start)
    own = {peft_name(name): parameter for name, parameter in lm.named_parameters() if ".lora_" in name}
    try:
        config = json.loads((folder / CONFIG_FILE).read_text())
        tensors = load_file(folder / WEIGHTS_FILE)
    except (OSError, ValueError, SafetensorError) as error:
        raise _refusal(lora, first_line(error)) from error
    rank, alpha = config.get("r"), config.get("lora_alpha")
    # peft divides alpha by the root of the rank if use_rslora is set
    is_root = config.get("use_rslora") is True and isinstance(rank, int) and isinstance(alpha, (int, float))
    same_alpha = alpha * math.sqrt(rank) if is_root else alpha
    if rank != lora.rank or same_alpha is None or not math.isclose(same_alpha, lora.alpha, rel_tol=1e-6):
        root = f" (use_rslora: lora.alpha {same_alpha} is the same)" if is_root else ""
        raise _refusal(lora, f"its rank is {rank} and its alpha {alpha}{root}, and lora.rank is {lora.rank} and lora.alpha {lora.alpha}")
    odd = [name for name, value in config.items() if (name in UNTRAINED or (name.startswith("use_") and name != "use_rslora")) and value]
    if config.get("bias", "none") != "none":
        odd.append("bias")
    initial = config.get("init_lora_weights")
    if isinstance(initial, str) and initial.lower().startswith(CHANGES_BASE):
        odd.append(f"init_lora_weights {initial}")
    if odd:
        raise _refusal(lora, f"it sets {odd[0]}, which is not trained here")
    for name in sorted(own.keys() ^ tensors.keys()):
        raise _refusal(lora, f"it has no {name}" if name in own else f"it has {name}, which lora.target_modules does not adapt")
    for name, parameter in own.items():
        if tensors[name].shape != parameter.shape:
            raise _refusal(lora, f"{name} has shape {list(tensors[name].shape)}, not {list(parameter.shape)}")
        if not tensors[name].isfinite().all():
            raise _refusal(lora, f"{name} contains NaN or infinite values, so the training that wrote it has failed")
        parameter.data.copy_(tensors[name])


def _refusal(lora: LoraConfig, why: str) -> WorkerError:
    return WorkerError("bad_request", f"Cannot begin with the adapter lora.adapter {lora.start}: {why}. Set lora.rank, lora.alpha and lora.target_modules to the values of its {CONFIG_FILE}.")


def peft_name(name: str) -> str:
    """Returns the name of an adapter's tensor in a file of peft: without the adapter's own name, below the wrapped model."""
    return PREFIX + name.replace(".default", "")


def write_adapter(state: Mapping[str, torch.Tensor], lora: LoraConfig, base: str, target: Path) -> None:
    """Writes the adapters of `state` in peft's layout. `base` is the folder of their model."""
    tensors = {peft_name(name): tensor.contiguous() for name, tensor in state.items() if ".lora_" in name}
    modules = {name.partition(".lora_")[0] for name in state if ".lora_" in name}
    if list(lora.target_modules) == [ALL_LINEAR]:
        names = sorted({module.rpartition(".")[2] for module in modules})
    else:
        names = [name for name in lora.target_modules if any(module == name or module.endswith(f".{name}") for module in modules)]
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base,
        "r": lora.rank,
        "lora_alpha": lora.alpha,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": names,
        "inference_mode": True,
    }
    target.mkdir()
    (target / CONFIG_FILE).write_text(json.dumps(config, indent=2) + "\n")
    save_file(tensors, target / WEIGHTS_FILE, metadata={"format": "pt"})


def find_targets(lm: PreTrainedModel, lora: LoraConfig) -> str | list[str]:
    """Returns the names of the layers to adapt, in the form that peft expects. Raises `bad_request` for a name that
    matches no layer. Also raises it for the embedding or the head if both are one tensor."""
    names = list(lora.target_modules)
    if names == [ALL_LINEAR]:
        return ALL_LINEAR
    if ALL_LINEAR in names:
        raise WorkerError("bad_request", f"lora.target_modules holds {ALL_LINEAR!r} and other names ({', '.join(names)}). Use {ALL_LINEAR!r} alone, or names alone.")
    found = {name: [module for path, module in lm.named_modules() if path == name or path.endswith(f".{name}")] for name in names}
    missing = [name for name in names if not found[name]]
    if missing and (lora.target_modules != LoraConfig().target_modules or len(missing) == len(names)):
        linear = sorted({path.rpartition(".")[2] for path, module in lm.named_modules() if isinstance(module, nn.Linear)})
        raise WorkerError("bad_request", f"lora.target_modules names {missing[0]!r}, which {type(lm).__name__} does not have. Its linear layers are {', '.join(linear)}; {ALL_LINEAR!r} takes all but the head.")
    _check_untied(lm, found)
    return [name for name in names if found[name]]


def _check_untied(lm: PreTrainedModel, found: Mapping[str, list[nn.Module]]) -> None:
    embedding, head = lm.get_input_embeddings(), lm.get_output_embeddings()
    if embedding.weight is not head.weight:
        return
    for name, modules in found.items():
        if any(module is embedding or module is head for module in modules):
            raise WorkerError(
                "bad_request",
                f"lora.target_modules names {name!r}, but the embedding and the LM head of this model are one tensor (tie_word_embeddings): an adapter on one of them cannot be saved in it. "
                f"Leave {name!r} out, or use a model whose head has its own weights.",
            )


def fold_adapters(state: Mapping[str, torch.Tensor], lora: LoraConfig, dtype: torch.dtype | None = None) -> Iterator[tuple[str, torch.Tensor]]:
    """Returns W + alpha / rank * B A under the plain names (Hu et al. 2021, eq. 3), one tensor after another. The sums
    have this dtype, or that of W."""
    for name, tensor in state.items():
        if ".lora_" in name:
            continue
        stem, mark, leaf = name.partition(".base_layer.")
        delta = _delta(state, stem) if mark and leaf == "weight" else None
        if delta is not None:
            tensor = (tensor.float() + lora.alpha / lora.rank * delta).to(dtype or tensor.dtype)
        yield (f"{stem}.{leaf}" if mark else name), tensor


def _delta(state: Mapping[str, torch.Tensor], stem: str) -> torch.Tensor | None:
    """Returns B A of a linear layer. Returns the transpose for an embedding, because peft stores that adapter transposed."""
    if f"{stem}.lora_A.default.weight" in state:
        return state[f"{stem}.lora_B.default.weight"].float() @ state[f"{stem}.lora_A.default.weight"].float()
    if f"{stem}.lora_embedding_A.default" in state:
        return (state[f"{stem}.lora_embedding_B.default"].float() @ state[f"{stem}.lora_embedding_A.default"].float()).T
    return None


def with_adapter(head: nn.Module, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns hidden states and weights whose product is what the head computes. The adapter's states and weights are
    put next to the head's own.

    Adding B A to the weights would round small adapters away in bfloat16.
    """
    adapter = getattr(head, "lora_A", None)
    if not adapter or head.disable_adapters:
        return hidden, head.weight
    down, up = head.lora_A["default"].weight, head.lora_B["default"].weight
    return torch.cat([hidden, head.scaling["default"] * (hidden @ down.T)], -1), torch.cat([head.weight, up], -1)


def has_adapter(module: nn.Module) -> bool:
    """Returns whether the module is a linear layer with an adapter that `add_lora` has added."""
    return isinstance(getattr(module, "base_layer", None), nn.Linear) and "default" in getattr(module, "lora_A", {})


def product_(linear: Any, x_RI: torch.Tensor, out_RO: torch.Tensor) -> None:
    """Writes what a linear layer computes, with its adapter and without its bias."""
    torch.mm(x_RI, linear.weight.T, out=out_RO)
    if has_adapter(linear):
        down, up = linear.lora_A["default"].weight, linear.lora_B["default"].weight
        out_RO.addmm_(x_RI @ down.T, up.T, alpha=linear.scaling["default"])


class adapters_off:
    """Turns the adapters off inside a `with` block, so that only the frozen model is computed."""

    def __init__(self, lm: nn.Module) -> None:
        from peft.tuners.tuners_utils import BaseTunerLayer

        self.layers: list[Any] = [module for module in lm.modules() if isinstance(module, BaseTunerLayer)]

    def __enter__(self) -> None:
        for layer in self.layers:
            layer._disable_adapters = True

    def __exit__(self, *_: object) -> None:
        for layer in self.layers:
            layer._disable_adapters = False

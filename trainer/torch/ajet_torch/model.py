"""Prepares any causal language model that transformers loads for training on token trees."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch._functorch.config
from torch import nn
from torch.utils._triton import has_triton
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.utils.logging import disable_progress_bar

from .attention import ATTENTION_NAME, LIBRARY_PLANS, AttentionPlan, ShapePlan
from .config import WorkerConfig
from .errors import WorkerError, first_line, is_out_of_memory
from .fp8 import use_fp8
from .fused_layers import fits, fused_hidden
from .generation_config import repair_generation_config
from .head import HeadOptions, find_sets, head_logprobs
from .joint import join_projections
from .kept import KeptRows, Truncation
from .logits import logits_scale
from .lora import with_adapter
from .pack import DevicePack

DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64}


@dataclass(frozen=True)
class ModelOutput:
    logprob_M: torch.Tensor
    entropy_U: torch.Tensor
    sets: KeptRows | None = None
    """The sets of tokens from which the rows were drawn, if top-p or top-k removed any token."""


class PolicyModel(nn.Module):
    """The language model with its head at the supervised predictors only. Data parallelism wraps this module."""

    def __init__(self, lm: PreTrainedModel, head: HeadOptions) -> None:
        super().__init__()
        self.lm = lm
        self.head = head
        self.logits_scale = logits_scale(lm)
        self.is_fused = False
        """Whether packs are computed by `fused_layers.py` if their plan allows it."""
        self.is_prepared = False
        """Whether the layers were prepared for the compiler."""

    def with_head(self, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns hidden states and the head's weights for them, with the head's adapter included."""
        return with_adapter(self.lm.get_output_embeddings(), hidden)

    def hidden(self, ids_BN: torch.Tensor, positions_BN: torch.Tensor, plan: AttentionPlan) -> torch.Tensor:
        if self.is_fused and isinstance(plan, LIBRARY_PLANS):
            return fused_hidden(self.lm, ids_BN[0], positions_BN[0], plan)[None]
        return self.lm.base_model(input_ids=ids_BN, position_ids=positions_BN, use_cache=False, plan=plan).last_hidden_state

    def forward(self, pack: DevicePack, plan: AttentionPlan, temperature: float, truncation: Truncation = Truncation()) -> ModelOutput:
        """Uses the pack's sets of kept tokens. Without such sets, it uses the tokens that `truncation` keeps under the
        present weights."""
        hidden_ND = self.hidden(pack.ids_N[None], pack.positions_N[None], plan)[0]
        hidden_UD, weight_VD = self.with_head(hidden_ND[pack.predictors_U])
        inverse = self.logits_scale * (1.0 / (temperature or 1.0) if pack.inverse_U is None else pack.inverse_U)
        sets = pack.sets
        if sets is None and truncation.cuts:
            is_cut_U = pack.is_drawn_U if pack.inverse_U is not None else torch.full_like(pack.predictors_U, temperature != 0, dtype=torch.bool)
            sets = find_sets(hidden_UD, weight_VD, inverse, is_cut_U, truncation, self.head)
        return ModelOutput(*head_logprobs(hidden_UD, weight_VD, pack.pairs, inverse, self.head, sets), sets)


def choose_device(name: str, local_rank: int) -> torch.device:
    if name == "cpu" or (name == "auto" and not torch.cuda.is_available()):
        return torch.device("cpu")
    if not torch.cuda.is_available():
        raise WorkerError("bad_request", "device is 'cuda' but PyTorch sees no GPU. Set device to 'auto' or 'cpu', or check the driver with nvidia-smi.")
    return torch.device("cuda", local_rank)


def prepare_device(device: torch.device) -> None:
    """Makes the device the present one and allows TF32. Compiled code is kept for one setting of TF32."""
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = True


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    if name != "auto":
        return DTYPES[name]
    return torch.bfloat16 if device.type == "cuda" else torch.float32


def load_model_config(model_dir: str) -> Any:
    """Reads the folder's config.json. Raises `bad_model_files` or `unsupported_model` with the file and the reason."""
    path = Path(model_dir) / "config.json"
    if not path.is_file():
        raise WorkerError("bad_model_files", f"No config.json in {model_dir}. A model folder holds config.json, tokenizer.json and *.safetensors.")
    try:
        json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise WorkerError("bad_model_files", f"{path} is not JSON: {first_line(error)}") from error
    try:
        config = AutoConfig.from_pretrained(model_dir, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise WorkerError("unsupported_model", f"transformers cannot read {path}: {first_line(error)}") from error
    _check_supported(config, path)
    return config


def _check_supported(config: Any, path: Path) -> None:
    if getattr(config, "attn_logit_softcapping", None) is not None:
        raise WorkerError("unsupported_model", f"{path} sets attn_logit_softcapping, which the tree attention does not compute. Use a model without it (Qwen2, Qwen3, Llama, Mistral).")
    kinds = set(getattr(config, "layer_types", None) or [])
    if kinds - {"full_attention", "sliding_attention"}:
        raise WorkerError("unsupported_model", f"{path} has layers of type {sorted(kinds - {'full_attention', 'sliding_attention'})}; only full and sliding attention can be computed on a token tree.")


def check_class(config: Any) -> None:
    """Refuses a class before its weights are read, if it cannot be created with our attention, or passes arguments that
    our attention does not have."""
    try:
        with torch.device("meta"):
            lm = AutoModelForCausalLM.from_config(config, attn_implementation=ATTENTION_NAME)
    except Exception as error:
        names = ", ".join(getattr(config, "architectures", None) or [config.model_type])
        raise WorkerError("unsupported_model", f"{names} does not take a custom attention function ({type(error).__name__}: {first_line(error)}).") from error
    try:
        ids = torch.zeros(1, 2, dtype=torch.int64, device="meta")
        lm.eval().base_model(input_ids=ids, position_ids=ids, use_cache=False, plan=ShapePlan())
    except WorkerError:
        raise
    except Exception:  # code that needs values fails here, after the first attention call was checked
        return


def load_lm(model_dir: str, dtype: torch.dtype, device: torch.device) -> PreTrainedModel:
    """Loads the weights onto the device, ready for training: no dropout, no cache, our attention."""
    disable_progress_bar()
    config = load_model_config(model_dir)
    check_class(config)
    if not any(Path(model_dir).glob("*.safetensors")):
        raise WorkerError("bad_model_files", f"No *.safetensors in {model_dir}. Convert older weights with transformers' save_pretrained.")
    try:
        lm, report = AutoModelForCausalLM.from_pretrained(
            model_dir, config=config, dtype=dtype, attn_implementation=ATTENTION_NAME, local_files_only=True, output_loading_info=True,
        )
    except (OSError, ValueError, RuntimeError) as error:
        if is_out_of_memory(error):
            raise
        raise WorkerError("bad_model_files", f"The weights in {model_dir} cannot be loaded: {first_line(error)}") from error
    except Exception as error:
        raise WorkerError("bad_model_files", f"The weights in {model_dir} cannot be read ({type(error).__name__}): {first_line(error)}") from error
    if report["missing_keys"] or report["mismatched_keys"]:
        names = sorted(map(str, [*report["missing_keys"], *report["mismatched_keys"]]))
        raise WorkerError("bad_model_files", f"The weights in {model_dir} do not have {len(names)} tensors in the right shape, such as {names[0]}.")
    repair_generation_config(lm, model_dir)
    return prepare_lm(lm, device)


def prepare_lm(lm: PreTrainedModel, device: torch.device) -> PreTrainedModel:
    """Checks that the worker supports the model, and turns off everything that would make its gradients random."""
    if getattr(lm.get_output_embeddings(), "bias", None) is not None:
        raise WorkerError("unsupported_model", f"{type(lm).__name__} has a bias on its LM head, which the chunked head does not compute.")
    if not getattr(lm, "_supports_flex_attn", True):
        raise WorkerError("unsupported_model", f"{type(lm).__name__} does not take a custom attention function.")
    lm.config.use_cache = False
    turn_off_randomness(lm)
    if lm.dtype == torch.float64:
        widen_norms(lm)
    return lm.to(device)


def turn_off_randomness(lm: PreTrainedModel) -> None:
    """Turns off dropout, the jitter of routers and the random skipping of layers. Some models implement these as
    functions instead of modules, so the probabilities on all modules are also set to 0."""
    lm.eval()
    for module in lm.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
        for name, value in vars(module).items():
            if isinstance(value, float) and ("drop" in name or "jitter" in name):
                setattr(module, name, 0.0)


def widen_norms(lm: PreTrainedModel) -> None:
    """Replaces the forward pass of RMSNorms by one that keeps float64. That of transformers rounds to float32, which
    hides differences that float64 runs should show."""
    for module in lm.modules():
        if type(module).__name__.endswith("RMSNorm"):
            module.forward = partial(_rms_norm, module)


def _rms_norm(module: Any, x: torch.Tensor) -> torch.Tensor:
    return nn.functional.rms_norm(x, module.weight.shape, module.weight, module.variance_epsilon)


def smallest_window(config: Any) -> int | None:
    """Returns the sliding window, if any layer has one."""
    kinds = getattr(config, "layer_types", None)
    window = getattr(config, "sliding_window", None)
    if window is None or (kinds is not None and "sliding_attention" not in kinds) or getattr(config, "use_sliding_window", True) is False:
        return None
    return int(window)


def decoder_layers(lm: PreTrainedModel) -> nn.ModuleList:
    """Returns the stack of layers that are compiled, checkpointed and sharded one by one."""
    layers = getattr(lm.base_model, "layers", None)
    if not isinstance(layers, nn.ModuleList):
        raise WorkerError("unsupported_model", f"{type(lm).__name__} has no list of decoder layers at base_model.layers.")
    return layers


def compiles(config: WorkerConfig, device: torch.device) -> bool:
    return config.compile == "on" or (config.compile == "auto" and device.type == "cuda")


MOST_PARAMETERS_FOR_ALL_SIZES = 500_000_000


def compiles_for_all_sizes(lm: PreTrainedModel, config: WorkerConfig, sharded: bool) -> bool:
    """Returns whether one compilation serves packs of every size, instead of one compilation for each size.

    At 135M, steps are as fast and a first run takes half as long. At 1.5B, FlexAttention makes steps over trees 7% slower.
    The other ways to train were not measured.
    """
    return not sharded and config.is_plain and lm.num_parameters() < MOST_PARAMETERS_FOR_ALL_SIZES


def fuses(lm: PreTrainedModel, config: WorkerConfig, device: torch.device, sharded: bool) -> bool:
    """Returns whether packs are computed without compiled layers. For larger models the compiler saves more time than it takes."""
    return config.may_fuse and device.type == "cuda" and has_triton() and compiles_for_all_sizes(lm, config, sharded) and fits(lm, smallest_window(lm.config))


def prepare_layers(lm: PreTrainedModel, config: WorkerConfig, device: torch.device, sharded: bool) -> None:
    """Sets up activation checkpointing and per-layer compilation, in the order in which they compose."""
    if config.activation_checkpointing:
        lm.gradient_checkpointing_enable({"use_reentrant": False})
        for module in lm.modules():  # transformers computes a layer again only in training mode; the layer's parts do not change
            module.training = isinstance(module, GradientCheckpointingLayer)
    if compiles(config, device):
        torch._dynamo.config.cache_size_limit = max(64, torch._dynamo.config.cache_size_limit)
        torch._functorch.config.activation_memory_budget = config.activation_budget
        use_fp8(decoder_layers(lm)) if config.matmul == "fp8" else join_projections(lm)
        for_all_sizes = compiles_for_all_sizes(lm, config, sharded)
        for layer in decoder_layers(lm):
            layer.compile(dynamic=for_all_sizes)
        last_norm = getattr(lm.base_model, "norm", None)
        if isinstance(last_norm, nn.Module) and not for_all_sizes:  # at small models its compilation takes longer than it saves
            last_norm.compile(dynamic=False)

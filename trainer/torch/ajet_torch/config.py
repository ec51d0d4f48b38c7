"""The worker's configuration. Each option is one key with a vetted default, and unknown keys are refused."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Mapping, TypeVar, get_type_hints

from .errors import WorkerError

T = TypeVar("T")
FUSED_FAMILIES = {"llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM", "qwen2": "Qwen2ForCausalLM"}
"""The classes whose layers can be computed without torch.compile (`fused_layers.py`), by the model_type of config.json."""


@dataclass(frozen=True)
class OptimizerConfig:
    """core's OptimizerOptions. AdamW (Loshchilov and Hutter 2019), with the defaults of the original's
    trainer_common.optim."""

    learning_rate: float = 1e-6
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    schedule: str = "constant"
    warmup_steps: int = 0
    total_steps: int = 0
    min_rate_share: float = 0.0
    decay_steps: int = 0


@dataclass(frozen=True)
class LoraConfig:
    """Low-rank adapters through peft (Hu et al. 2021): W + alpha / rank * B A. Rank 0 trains all weights.
    `start` is the folder of an adapter in peft's layout to begin with; empty, a new adapter."""

    rank: int = 0
    alpha: float = 32.0
    target_modules: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    start: str = ""


@dataclass(frozen=True)
class InferenceConfig:
    """Options of the inference server.

    - server: `builtin` or `vllm`.
    - slots: answers sampled at once per GPU; more wait. 0 lets the server choose.
    - kv_tokens: cache tokens per slot. 0 takes the model's context length, and the builtin server takes at most 4,096
      of it.
    - num_replicas (vllm): servers on each node.
    - tensor_parallel_size (vllm): GPUs of each server.
    - colocated (vllm): whether the servers use the trainer's first GPUs or those after the trainer's.
    - gpu_memory_utilization (vllm): its share of a whole GPU's memory. 0 takes 0.45 next to the trainer and 0.9 on
      separate GPUs.
    """

    server: str = "builtin"
    slots: int = 0
    kv_tokens: int = 0
    gpu_memory_utilization: float = 0.0
    num_replicas: int = 1
    tensor_parallel_size: int = 1
    colocated: bool = True
    cuda_graphs: bool = True

    @property
    def num_gpus(self) -> int:
        """Returns the number of vLLM's GPUs on one node."""
        return self.num_replicas * self.tensor_parallel_size

    @property
    def gpu_share(self) -> float:
        return self.gpu_memory_utilization or (0.45 if self.colocated else 0.9)


@dataclass(frozen=True)
class WorkerConfig:
    """Options of the worker.

    - model_dir: a Hugging Face folder.
    - dtype: the dtype of the compute. `auto` is bfloat16 on a GPU, and float32 otherwise. With bfloat16 the master
      weights and moments stay float32.
    - master_weights: `bfloat16` drops the masters and rounds each update at random.
    - master_start: the initial values of the masters. `zero` uses the bfloat16 weights. `file` uses the values of a
      float32 file. `dithered` does the same if there is such a file, and otherwise draws them (`master_start.py`).
      `auto` is `file` if masters are kept in float32.
    - matmul: the products of the layers' linear parts. `plain` computes in dtype; for `fp8` see `fp8.py`.
    - max_pack_tokens: the maximum size of a pack. The sizes that are compiled depend on it.
    - attention: see `attention.PlanOptions`.
    - compile: compiles each layer separately. `auto` is on for a GPU, except for small models whose layers need no
      compiler (`fused_layers.py`).
    - activation_budget: the share of the activations that a compiled layer keeps for backward. Below 1 it recomputes
      the cheapest first; activation_checkpointing recomputes all.
    - cpu_offload: keeps weights and optimizer states in host memory (FSDP2).
    - fsdp: `auto` is on with more than one process or with cpu_offload; `always` is always on.
    - reshard: whether gathered weights are freed after each layer. `auto` frees them if they would take more than a
      sixth of the GPU; the others are `always` and `never`.
    - shard_over: for several nodes. `node` shards within each and keeps a replica on each, so only gradients cross the
      network between them. `all` shards over all GPUs.
    - shared_file: for several nodes, a file that the control plane has written into the run's folder.
    - shared_text: the content of that file.
    """

    model_dir: str = ""
    seed: int = 0
    device: str = "auto"
    dtype: str = "auto"
    master_weights: str = "float32"
    master_start: str = "auto"
    matmul: str = "plain"
    max_pack_tokens: int = 8192
    attention: str = "auto"
    compile: str = "auto"
    activation_checkpointing: bool = False
    activation_budget: float = 1.0
    cpu_offload: bool = False
    fsdp: str = "auto"
    reshard: str = "auto"
    shard_over: str = "node"
    shared_file: str = ""
    shared_text: str = ""
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    lora: LoraConfig = field(default_factory=LoraConfig)
    inference: InferenceConfig = field(default_factory=InferenceConfig)

    @property
    def is_plain(self) -> bool:
        """Returns whether all weights are trained on one GPU, without options that change what layers compute or keep."""
        return self.matmul == "plain" and self.lora.rank == 0 and self.activation_budget == 1.0

    @property
    def may_fuse(self) -> bool:
        """Returns whether a small model of FUSED_FAMILIES is trained without torch.compile."""
        return self.is_plain and self.compile == "auto" and self.attention == "auto" and not self.activation_checkpointing


CHOICES = {
    "device": ("auto", "cpu", "cuda"),
    "dtype": ("auto", "bfloat16", "float32", "float64"),
    "master_weights": ("float32", "bfloat16"),
    "master_start": ("auto", "zero", "file", "dithered"),
    "matmul": ("plain", "fp8"),
    "attention": ("auto", "dense", "flex", "rows", "flash4"),
    "compile": ("auto", "on", "off"),
    "fsdp": ("auto", "always"),
    "reshard": ("auto", "always", "never"),
    "shard_over": ("node", "all"),
    "schedule": ("constant", "linear", "cosine", "warmup_stable_decay"),
    "server": ("builtin", "vllm"),
}


def parse_config(message: Mapping[str, Any], kind: type[T] = WorkerConfig, path: str = "") -> T:  # type: ignore[assignment]
    """Builds the dataclass from a map. Raises `bad_request` naming the key, the value and what is allowed."""
    types = get_type_hints(kind)
    known = {item.name for item in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for name, value in message.items():
        if name not in known:
            raise WorkerError("bad_request", f"Unknown option {path + name!r}. Known: {', '.join(sorted(known))}.")
        values[name] = _parse_value(path + name, name, value, types[name])
    return kind(**values)


OVERRIDABLE = ("learning_rate", "beta1", "beta2", "epsilon", "weight_decay", "max_grad_norm")


def parse_overrides(message: Mapping[str, Any]) -> dict[str, float]:
    """Returns the options of the optimizer for one step. Raises `bad_request` for an option that cannot change."""
    unknown = sorted(set(message) - set(OVERRIDABLE))
    if unknown:
        raise WorkerError("bad_request", f"Option optimizer.{unknown[0]} cannot change from step to step. These options can: {', '.join(OVERRIDABLE)}.")
    return {name: _parse_value(f"optimizer.{name}", name, value, float) for name, value in message.items()}


def _parse_value(path: str, name: str, value: Any, kind: Any) -> Any:
    if is_dataclass(kind):
        return parse_config(value, kind, path + ".")  # type: ignore[arg-type]
    if name in CHOICES and value not in CHOICES[name]:
        raise WorkerError("bad_request", f"Option {path} is {value!r}. Choose one of {', '.join(CHOICES[name])}.")
    if kind in (int, float) and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise WorkerError("bad_request", f"Option {path} must be a number, got {value!r}.")
    if kind is bool and not isinstance(value, bool):
        raise WorkerError("bad_request", f"Option {path} must be true or false, got {value!r}.")
    return tuple(value) if isinstance(value, list) else kind(value) if kind in (int, float, str) else value

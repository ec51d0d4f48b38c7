"""The code of each process of the group: verl's training worker, with our sampler and our checkpoints."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Iterator

import torch
import torch.distributed as dist
from tensordict import TensorDict
from torch.distributed.fsdp import FSDPModule
from verl.single_controller.base.decorator import Dispatch, make_nd_compute_dataproto_dispatch_fn, register
from verl.workers.config import FSDPEngineConfig, FSDPOptimizerConfig, HFModelConfig
from verl.workers.engine_workers import TrainingWorker, TrainingWorkerConfig
from verl.workers.engine_workers_tinker import TinkerTrainingWorker

from ajet_torch.checkpoint import load_checkpoint, save_checkpoint
from ajet_torch.errors import WorkerError
from ajet_torch.head import HeadOptions
from ajet_torch.config import LoraConfig
from ajet_torch.model import PolicyModel, choose_dtype, load_lm
from ajet_torch.optimizer import STATE_NAMES, local
from ajet_torch.ranks import Ranks
from ajet_torch.sampling.builtin import BuiltinServer
from ajet_torch.sampling.server import SampleRequest, TokenEvent, weight_sum

from .config import DriverConfig
from .versions import check_versions

IN_SHARES = partial(register, dispatch_mode=make_nd_compute_dataproto_dispatch_fn(mesh_name="train"), blocking=False)
ON_ALL = partial(register, dispatch_mode=Dispatch.ONE_TO_ALL)


class RowWorker(TinkerTrainingWorker):
    """All workers get the same calls in the same order, except for `sample` and `is_sampling`, which each worker gets
    separately."""

    def __init__(self, config: DriverConfig, pins: dict[str, str]) -> None:
        check_versions(pins, "of a Ray worker")
        self.device = torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")
        self.dtype = choose_dtype(config.dtype, self.device)
        if self.device.type == "cpu" and not dist.is_initialized():
            dist.init_process_group("gloo")  # otherwise verl would request gloo twice, once for each of two devices
        torch.manual_seed(config.seed)
        super().__init__(training_config(config, self.dtype))
        self.driver = config
        self.reference: TrainingWorker | None = None
        self.ranks = Ranks(self.rank, self.world_size, 0, dist.new_group(backend="gloo"))

    @ON_ALL()
    def open(self) -> dict[str, Any]:
        """Loads the model for training and for sampling, and describes it."""
        self.reset()
        self.held = HeldModel(self)
        lm = load_lm(self.driver.model_dir, self.dtype, self.device)
        self.server = BuiltinServer(PolicyModel(lm.requires_grad_(False), HeadOptions()), self.driver.inference, self.device)
        self.copy_weights()
        return {
            "context_length": self.server.context_length, "vocab_size": int(lm.config.vocab_size), "device": str(self.device),
            "dtype": str(self.dtype).removeprefix("torch."), "num_parameters": sum(p.numel() for p in self.engine.module.parameters()),
        }

    @ON_ALL()
    def copy_weights(self) -> None:
        """Copies weights from the trainer to the sampler. Raises `weight_sync` if the sampler does not have them
        afterwards."""
        self.held.reshard()
        own = dict(self.server.policy.lm.named_parameters())
        expected = 0

        def counted() -> Iterator[tuple[str, torch.Tensor]]:
            nonlocal expected
            for name, tensor in self.engine.get_per_tensor_param()[0]:
                if name in own:
                    whole = tensor.detach().to(self.dtype)
                    expected += weight_sum([(name, whole)])
                    yield name, whole

        self.server.update_weights(counted())
        found = self.server.fingerprint()
        if found is not None and found != expected:
            raise WorkerError("weight_sync", f"The sampler holds other weights than verl's engine (sums {found} and {expected}). Resume the run from its last checkpoint.")

    @ON_ALL()
    def make_step(self, options: dict[str, Any], max_norm: float) -> float:
        """Updates the weights with the gradients that `forward_backward` has added up. Returns the norm of the
        gradient. If the norm is not finite, the weights do not change."""
        self.engine.optimizer_config.clip_grad = max_norm or math.inf
        return self.optimizer_step(options).get("grad_norm", math.nan)

    @IN_SHARES()
    def score_by_reference(self, data: TensorDict) -> TensorDict:
        """Returns logprobs under the frozen weights of the model's folder, which are loaded at the first call."""
        if self.reference is None:
            self.reference = TrainingWorker(training_config(self.driver, self.dtype, is_frozen=True))
            self.reference.reset()
        return self.reference.infer_batch(data)

    @ON_ALL()
    def save(self, directory: str, num_steps: int, policy_version: int) -> None:
        self.held.optimizer.num_steps, self.held.policy_version = num_steps, policy_version
        save_checkpoint(self.held, directory)

    @ON_ALL()
    def load(self, directory: str) -> tuple[int, int]:
        """Returns steps and policy version of the checkpoint."""
        load_checkpoint(self.held, directory)
        self.copy_weights()
        return self.held.optimizer.num_steps, self.held.policy_version

    def sample(self, submitted: list[SampleRequest], aborted: list[int], is_open: bool, num_ticks: int) -> tuple[list[TokenEvent], bool]:
        """Returns the sampled tokens, and whether an answer is in progress. It removes the times of the tokens, because
        the driver has another clock."""
        self.server.admit(is_open)
        for request in submitted:
            self.server.submit(request)
        for request_id in aborted:
            self.server.abort(request_id)
        events: list[TokenEvent] = []
        for _ in range(num_ticks):
            if self.server.is_busy() or (is_open and self.server.has_queue()):
                events += self.server.tick()
        return [replace(event, started=None) for event in events], self.server.is_busy()


def training_config(config: DriverConfig, dtype: torch.dtype, is_frozen: bool = False) -> TrainingWorkerConfig:
    """Prepares a model for verl's FSDP2 engine. Frozen weights have the dtype of the computation."""
    short = {value: name for name, value in {"fp32": torch.float32, "bf16": torch.bfloat16}.items()}[dtype]
    model = HFModelConfig(
        path=config.model_dir, load_tokenizer=False, use_remove_padding=False, enable_gradient_checkpointing=config.activation_checkpointing and not is_frozen,
        override_config={"attn_implementation": config.attn_implementation},
    )
    engine = FSDPEngineConfig(
        strategy="fsdp2", fsdp_size=config.gpus_per_node if config.shard_over == "node" else config.num_workers, use_torch_compile=False,
        use_dynamic_bsz=True, max_token_len_per_gpu=config.max_pack_tokens, infer_max_token_len_per_gpu=config.max_pack_tokens,
        offload_policy=config.cpu_offload, model_dtype=short if is_frozen else "fp32", dtype={"fp32": "float32", "bf16": "bfloat16"}[short],
        mixed_precision={"param_dtype": short, "reduce_dtype": "fp32", "buffer_dtype": "fp32"},
    )
    chosen = config.optimizer
    optimizer = FSDPOptimizerConfig(
        lr=chosen.learning_rate, betas=(chosen.beta1, chosen.beta2), weight_decay=chosen.weight_decay, override_optimizer_config={"eps": chosen.epsilon},
        clip_grad=chosen.max_grad_norm or math.inf, lr_warmup_steps=0, total_training_steps=max(1, chosen.total_steps),
    )
    return TrainingWorkerConfig(model_type="language_model", model_config=model, engine_config=engine, optimizer_config=optimizer)


@dataclass(frozen=True)
class CheckpointConfig:
    model_dir: str
    lora: LoraConfig = LoraConfig()


@dataclass(frozen=True)
class CheckpointPlacement:
    ranks: Ranks


class HeldModel:
    """Gives the checkpoint code of `ajet_torch` access to verl's model and optimizer, so `torch` and `verl` can read
    each other's checkpoints."""

    def __init__(self, worker: RowWorker) -> None:
        self.config = CheckpointConfig(worker.driver.model_dir)
        self.placement = CheckpointPlacement(worker.ranks)
        self.policy = self
        self.lm = worker.engine.module
        self.optimizer = HeldAdam(self.lm, worker.engine.optimizer)
        self.policy_version = 0

    def reshard(self) -> None:
        """Frees the gathered weights that remain after a forward pass without a backward pass. While weights are
        gathered, a parameter does not show which rows belong to this process."""
        for module in self.lm.modules():
            if isinstance(module, FSDPModule):
                module.reshard()


class HeldAdam:
    def __init__(self, lm: torch.nn.Module, adam: torch.optim.Optimizer) -> None:
        self.lm = lm
        self.adam = adam
        self.num_steps = 0

    def state(self, name: str) -> dict[str, torch.Tensor]:
        parameter = self.lm.get_parameter(name)
        kept = self.adam.state.get(parameter, {})
        own = local(parameter.detach())
        return {"master": own, **{key: local(kept[key]) if key in kept else torch.zeros_like(own) for key in STATE_NAMES[1:]}}

    @torch.no_grad()
    def restore(self, name: str, state: dict[str, torch.Tensor]) -> None:
        parameter = self.lm.get_parameter(name)
        local(parameter.detach()).copy_(state["master"])
        moments = {key: torch.zeros_like(parameter, requires_grad=False) for key in STATE_NAMES[1:]}
        for key, moment in moments.items():
            local(moment).copy_(state[key])
        self.adam.state[parameter] = {"step": torch.tensor(float(self.num_steps)), **moments}

"""AdamW over float32 (or float64) master weights, clipped by the global gradient norm.

Three classes hold the masters in different ways and have one interface. In `PlainAdamW` the parameters are the masters
(FSDP2 shards, or full precision on the CPU). `SplitAdamW` is for one process with bfloat16 parameters: a parameter is
its float32 master rounded, and `low` holds the lost bits. The masters then cost 2 bytes more per weight instead of 4,
and one fused pass updates everything. `RoundedAdamW` is for bfloat16 parameters, sharded or not, without those bits; it
rounds each update at random. Decay and bias correction are as in Loshchilov and Hutter 2019, algorithm 2.
"""

from __future__ import annotations

import importlib.util
import math
from typing import TYPE_CHECKING, Any, Callable, Iterator, Protocol

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor

from .config import OptimizerConfig

if TYPE_CHECKING:
    from .update_kernels import JointUpdate

NamedParameters = dict[str, torch.nn.Parameter]
STATE_NAMES = ("master", "exp_avg", "exp_avg_sq")
OnNorm = Callable[[torch.Tensor], object]
"""Called with the norm on the device before the update is queued, so reading the norm does not wait for the update."""


class Optimizer(Protocol):
    num_steps: int
    """The number of updates so far, which the caller counts."""

    def update(self, rate: float, options: OptimizerConfig | None = None, on_norm: OnNorm | None = None) -> torch.Tensor:
        """Clips, updates and clears the gradients, with `options` instead of its configuration in this step. Returns
        the norm before clipping. A norm that is not finite changes nothing.

        It only queues device work.
        """
        ...

    def clear(self) -> None:
        """Discards gathered gradients."""
        ...

    def state(self, name: str) -> dict[str, torch.Tensor]:
        """Returns views or copies under STATE_NAMES, shaped like the (local) parameter."""
        ...

    def restore(self, name: str, state: dict[str, torch.Tensor]) -> None: ...


class PlainAdamW:
    """Updates only the rows of this process. Only the gradient norm is summed over processes."""

    def __init__(self, parameters: NamedParameters, config: OptimizerConfig) -> None:
        self.parameters = parameters
        self.config = config
        self.num_steps = 0
        self.own = {name: local(p.detach()) for name, p in parameters.items()}
        self.shards = shard_group(parameters)
        self.adam = torch.optim.AdamW(
            self.own.values(), lr=config.learning_rate, betas=(config.beta1, config.beta2), eps=config.epsilon, weight_decay=config.weight_decay, fused=True,
        )

    @torch.no_grad()
    def update(self, rate: float, options: OptimizerConfig | None = None, on_norm: OnNorm | None = None) -> torch.Tensor:
        config = options or self.config
        for name, parameter in self.parameters.items():
            self.own[name].grad = None if parameter.grad is None else local(parameter.grad)
        norm = global_norm([x.grad for x in self.own.values() if x.grad is not None], self.shards)
        on_norm and on_norm(norm)
        clip = (config.max_grad_norm / (norm + 1e-6)).clamp(max=1.0) if config.max_grad_norm else torch.ones_like(norm)
        self.adam.grad_scale = torch.where(torch.isfinite(norm), 1 / clip, 1.0).float()
        self.adam.found_inf = (~torch.isfinite(norm)).float()
        for group in self.adam.param_groups:
            group.update(lr=rate, betas=(config.beta1, config.beta2), eps=config.epsilon, weight_decay=config.weight_decay)
        self.adam.step()
        self.clear()
        return norm

    def clear(self) -> None:
        self.adam.zero_grad(set_to_none=True)
        for parameter in self.parameters.values():
            parameter.grad = None

    def state(self, name: str) -> dict[str, torch.Tensor]:
        own = self.own[name]
        kept = self.adam.state.get(own, {})
        return {"master": own, **{key: kept[key] if key in kept else torch.zeros_like(own) for key in STATE_NAMES[1:]}}

    @torch.no_grad()
    def restore(self, name: str, state: dict[str, torch.Tensor]) -> None:
        own = self.own[name]
        own.copy_(state["master"])
        moments = {key: torch.empty_like(own).copy_(state[key]) for key in STATE_NAMES[1:]}
        self.adam.state[own] = {"step": torch.tensor(float(self.num_steps), device=own.device), **moments}


def shard_group(parameters: NamedParameters) -> Any:
    """Returns the processes that hold one whole model together, or None if each tensor is whole. If there are replicas
    on other nodes, they are not in this group."""
    mesh = next((p.device_mesh for p in parameters.values() if isinstance(p, DTensor)), None)
    return None if mesh is None else mesh.get_group(mesh.ndim - 1)


def global_norm(gradients: list[torch.Tensor], shards: Any) -> torch.Tensor:
    """Sums over all tensors, and over all processes of the group."""
    norm = torch.stack(torch._foreach_norm(gradients, dtype=torch.float64 if gradients[0].dtype == torch.float64 else torch.float32)).norm()
    if shards is None:
        return norm
    square = norm.square()
    dist.all_reduce(square, group=shards)
    return square.sqrt()


def shard_place(parameter: torch.Tensor) -> tuple[int, int]:
    """Returns which shard of a tensor this process holds, and of how many."""
    if not isinstance(parameter, DTensor):
        return 0, 1
    mesh = parameter.device_mesh
    return mesh.get_local_rank(mesh.ndim - 1), mesh.size(mesh.ndim - 1)


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Returns this process's part of a sharded tensor, or the tensor itself."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def join_halves(high: torch.Tensor, low: torch.Tensor) -> torch.Tensor:
    """Returns float32 from its nearest bfloat16 and the int16 difference of their bits. The result is exact."""
    return ((high.view(torch.int16).to(torch.int32) << 16) + low.to(torch.int32)).view(torch.float32)


NAN_BITS = 0x7FC00000


def bits_of(value: torch.Tensor) -> torch.Tensor:
    """Returns float32 as int32. All nans become this one nan, because others would carry over into the sign and be
    rounded to -0."""
    return torch.where(value.isnan(), NAN_BITS, value.view(torch.int32))


def split_halves(master: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Inverts join_halves. Ties round away from zero, which keeps the difference within int16."""
    bits = bits_of(master)
    high = (bits + 0x8000) >> 16
    return high.to(torch.int16).view(torch.bfloat16), (bits - (high << 16)).to(torch.int16)


def _split_update(high: torch.Tensor, low: torch.Tensor, mean: torch.Tensor, square: torch.Tensor, gradient: torch.Tensor, scalars: torch.Tensor) -> None:
    scale, rate, decay, beta1, beta2, correction1, correction2, epsilon = scalars.unbind()
    usable = scale > 0
    gradient = torch.where(usable, gradient.float() * scale, 0.0)
    new_mean = mean + (gradient - mean) * (1 - beta1)
    new_square = square * beta2 + gradient * gradient * (1 - beta2)
    old = join_halves(high, low)
    master = old * (1 - rate * decay) - rate / correction1 * new_mean / ((new_square / correction2).sqrt() + epsilon)
    new_high, new_low = split_halves(torch.where(usable, master, old))
    mean.copy_(torch.where(usable, new_mean, mean))
    square.copy_(torch.where(usable, new_square, square))
    high.copy_(new_high)
    low.copy_(new_low)


def random_bits(count: int, salt: torch.Tensor, first: int = 0) -> torch.Tensor:
    """Returns [count] int32 in [0, 2^16) for the indices from `first` on. Each number depends only on its index and on
    `salt` (int64, below 2^31). No state is kept, so a resumed run draws the same numbers (murmur3's mixer)."""
    bits = torch.arange(first, first + count, device=salt.device, dtype=torch.int64 if first else torch.int32).to(torch.int32) * -0x61C8864F + salt.to(torch.int32) * 0x7FEB352D
    bits = (bits ^ ((bits >> 16) & 0xFFFF)) * -0x7A143595
    bits = (bits ^ ((bits >> 13) & 0x7FFFF)) * 0x35B2AE35
    return (bits ^ ((bits >> 16) & 0xFFFF)) & 0xFFFF


def round_at_random(value: torch.Tensor, salt: torch.Tensor) -> torch.Tensor:
    """Returns bfloat16 from float32 [N]. It is one of the two neighbours, and the nearer is likelier, so that the mean
    is the value."""
    bits = bits_of(value) + random_bits(value.numel(), salt)
    return (bits >> 16).to(torch.int16).view(torch.bfloat16)


def _rounded_update(weight: torch.Tensor, salt: torch.Tensor, mean: torch.Tensor, square: torch.Tensor, gradient: torch.Tensor, scalars: torch.Tensor) -> None:
    scale, rate, decay, beta1, beta2, correction1, correction2, epsilon = scalars.unbind()
    usable = scale > 0
    gradient = torch.where(usable, gradient.float() * scale, 0.0)
    new_mean = mean + (gradient - mean) * (1 - beta1)
    new_square = square * beta2 + gradient * gradient * (1 - beta2)
    wanted = weight.float() * (1 - rate * decay) - rate / correction1 * new_mean / ((new_square / correction2).sqrt() + epsilon)
    rounded = round_at_random(wanted, salt)
    mean.copy_(torch.where(usable, new_mean, mean))
    square.copy_(torch.where(usable, new_square, square))
    weight.copy_(torch.where(usable, rounded, weight))


class SplitAdamW:
    """If a step has several packs, their gradients are added up in float32 (`gathered`). Otherwise they keep the dtype
    of autograd."""

    def __init__(self, parameters: NamedParameters, config: OptimizerConfig) -> None:
        self.parameters = parameters
        self.config = config
        self.num_steps = 0
        self.gathered: dict[str, torch.Tensor] = {}
        self.low = {name: torch.zeros_like(p, dtype=torch.int16) for name, p in parameters.items()}
        self.mean = {name: torch.zeros_like(p, dtype=torch.float32) for name, p in parameters.items()}
        self.square = {name: torch.zeros_like(p, dtype=torch.float32) for name, p in parameters.items()}
        compiles = next(iter(parameters.values())).is_cuda
        self.fused = torch.compile(_split_update, dynamic=True) if compiles else _split_update
        self.is_joint = compiles and importlib.util.find_spec("triton") is not None
        self.joint: JointUpdate | None = None

    def gather(self) -> None:
        """Adds the gradients of one pack to the float32 sums and frees them."""
        fresh = {name: p.grad for name, p in self.parameters.items() if p.grad is not None}
        again = [name for name in fresh if name in self.gathered]
        if again:
            torch._foreach_add_([self.gathered[name] for name in again], [fresh[name] for name in again])
        self.gathered.update({name: gradient.float() for name, gradient in fresh.items() if name not in self.gathered})
        for parameter in self.parameters.values():
            parameter.grad = None

    def _gradients(self) -> Iterator[tuple[str, torch.Tensor]]:
        for name, parameter in self.parameters.items():
            gradient = self.gathered.get(name, parameter.grad)
            if gradient is not None:
                yield name, gradient

    @torch.no_grad()
    def update(self, rate: float, options: OptimizerConfig | None = None, on_norm: OnNorm | None = None) -> torch.Tensor:
        gradients = dict(self._gradients())
        joint = self._joint_update()
        table = None if joint is None else joint.place(list(gradients.values()))
        if joint is None or table is None:
            norm = torch.stack(torch._foreach_norm(list(gradients.values()), dtype=torch.float32)).norm()
        else:
            norm = joint.norm(table, next(iter(gradients.values())).dtype)
        on_norm and on_norm(norm)
        scalars = self._scalars(rate, norm, options or self.config)
        if joint is None or table is None:
            for name, gradient in gradients.items():
                parts = (self.parameters[name].data, self.low[name], self.mean[name], self.square[name], gradient)
                self.fused(*(part.reshape(-1) for part in parts), scalars)
        else:
            joint.update(table, next(iter(gradients.values())).dtype, scalars)
        self.clear()
        return norm

    def _joint_update(self) -> JointUpdate | None:
        """Updates all tensors in one launch, on a GPU that Triton has kernels for."""
        if self.joint is None and self.is_joint:
            from .update_kernels import JointUpdate

            self.joint = JointUpdate(*(list(kind.values()) for kind in (self.parameters, self.low, self.mean, self.square)))
        return self.joint

    def _scalars(self, rate: float, norm: torch.Tensor, config: OptimizerConfig) -> torch.Tensor:
        """Returns the scalars on the device. The first one is the gradient scale. It is 0 if the norm is not finite,
        which leaves everything unchanged."""
        step = self.num_steps + 1
        corrections = (1 - config.beta1**step, 1 - config.beta2**step)
        rest = torch.tensor([rate, config.weight_decay, config.beta1, config.beta2, *corrections, config.epsilon], dtype=torch.float32)
        clip = (config.max_grad_norm / (norm + 1e-6)).clamp(max=1.0) if config.max_grad_norm else torch.ones_like(norm)
        scale = torch.where(torch.isfinite(norm), clip, torch.zeros_like(norm))
        return torch.cat([scale[None], rest.to(norm.device, non_blocking=True)])

    def clear(self) -> None:
        self.gathered.clear()
        for parameter in self.parameters.values():
            parameter.grad = None

    def state(self, name: str) -> dict[str, torch.Tensor]:
        master = join_halves(self.parameters[name].data, self.low[name])
        return {"master": master, "exp_avg": self.mean[name], "exp_avg_sq": self.square[name]}

    @torch.no_grad()
    def restore(self, name: str, state: dict[str, torch.Tensor]) -> None:
        high, low = split_halves(state["master"].float().contiguous())
        self.parameters[name].copy_(high)
        self.low[name].copy_(low)
        self.mean[name].copy_(state["exp_avg"])
        self.square[name].copy_(state["exp_avg_sq"])


class RoundedAdamW(SplitAdamW):
    """The weights are their own masters. `seed`, the step and the tensor's place decide how they are rounded. Each
    process updates its own rows, as with PlainAdamW. Replicas of a shard are rounded alike.
    """

    def __init__(self, parameters: NamedParameters, config: OptimizerConfig, seed: int) -> None:
        self.parameters = parameters
        self.config = config
        self.seed = seed
        self.num_steps = 0
        self.gathered = {}
        self.own = {name: local(p.detach()) for name, p in parameters.items()}
        self.mean = {name: torch.zeros_like(p, dtype=torch.float32) for name, p in self.own.items()}
        self.square = {name: torch.zeros_like(p, dtype=torch.float32) for name, p in self.own.items()}
        self.shards = shard_group(parameters)
        self.shard = shard_place(next(iter(parameters.values())))[0]
        compiles = next(iter(self.own.values())).is_cuda
        self.fused = torch.compile(_rounded_update, dynamic=True) if compiles else _rounded_update

    @torch.no_grad()
    def update(self, rate: float, options: OptimizerConfig | None = None, on_norm: OnNorm | None = None) -> torch.Tensor:
        gradients = {name: local(gradient) for name, gradient in self._gradients()}
        norm = global_norm(list(gradients.values()), self.shards)
        on_norm and on_norm(norm)
        scalars = self._scalars(rate, norm, options or self.config)
        salts = self._salts(norm.device)
        for index, name in enumerate(self.parameters):
            if name in gradients and self.own[name].numel():
                parts = (self.mean[name], self.square[name], gradients[name])
                self.fused(self.own[name].reshape(-1), salts[index, 0], *(part.reshape(-1) for part in parts), scalars)
        self.clear()
        return norm

    def _salts(self, device: torch.device) -> torch.Tensor:
        """Returns [tensors, 2], of which only the first column is used. Each row then begins at a multiple of 16 bytes,
        because compiled code copies an input that does not."""
        drawn = torch.Generator().manual_seed((self.seed * 1_000_003 + self.num_steps + self.shard * 998_244_353) % (1 << 62))
        salts = torch.randint(1 << 31, (len(self.parameters),), generator=drawn)
        return torch.stack([salts, salts], 1).to(device, non_blocking=True)

    def state(self, name: str) -> dict[str, torch.Tensor]:
        return {"master": self.own[name].float(), "exp_avg": self.mean[name], "exp_avg_sq": self.square[name]}

    @torch.no_grad()
    def restore(self, name: str, state: dict[str, torch.Tensor]) -> None:
        self.own[name].copy_(state["master"])
        self.mean[name].copy_(state["exp_avg"])
        self.square[name].copy_(state["exp_avg_sq"])

"""AdamW over float32 (or float64) master weights, clipped by the global gradient norm.

Two ways to hold the masters, one interface. `PlainAdamW`: the parameters are the masters (FSDP2 shards, or full
precision on the CPU). `SplitAdamW`: one process, bfloat16 parameters; a parameter is its float32 master rounded, and
`low` holds the bits that are lost, so that the masters cost 2 bytes more per weight instead of 4, and one fused pass
updates everything. Decay and bias correction as in Loshchilov and Hutter 2019, algorithm 2.
"""

from __future__ import annotations

import math
from typing import Iterator, Protocol

import torch

from .config import OptimizerConfig

NamedParameters = dict[str, torch.nn.Parameter]
STATE_NAMES = ("master", "exp_avg", "exp_avg_sq")


class Optimizer(Protocol):
    num_steps: int

    def update(self, rate: float) -> float:
        """Clips, updates and clears the gradients; returns the norm before clipping. A norm that is not finite changes nothing."""
        ...

    def clear(self) -> None:
        """Forgets gathered gradients."""
        ...

    def state(self, name: str) -> dict[str, torch.Tensor]:
        """Views or copies under STATE_NAMES, shaped like the (local) parameter."""
        ...

    def restore(self, name: str, state: dict[str, torch.Tensor]) -> None: ...


class PlainAdamW:
    def __init__(self, parameters: NamedParameters, config: OptimizerConfig) -> None:
        self.parameters = parameters
        self.config = config
        self.num_steps = 0
        device = next(iter(parameters.values())).device
        self.adam = torch.optim.AdamW(
            parameters.values(), lr=config.learning_rate, betas=(config.beta1, config.beta2), eps=config.epsilon,
            weight_decay=config.weight_decay, fused=device.type == "cuda",
        )

    def update(self, rate: float) -> float:
        limit = self.config.max_grad_norm or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(self.parameters.values(), limit)
        value = float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
        if math.isfinite(value):
            for group in self.adam.param_groups:
                group["lr"] = rate
            self.adam.step()
            self.num_steps += 1
        self.clear()
        return value

    def clear(self) -> None:
        self.adam.zero_grad(set_to_none=True)

    def state(self, name: str) -> dict[str, torch.Tensor]:
        parameter = self.parameters[name]
        kept = self.adam.state.get(parameter, {})
        zeros = torch.zeros_like(parameter)
        return {"master": parameter.detach(), "exp_avg": kept.get("exp_avg", zeros), "exp_avg_sq": kept.get("exp_avg_sq", zeros)}

    def restore(self, name: str, state: dict[str, torch.Tensor]) -> None:
        parameter = self.parameters[name]
        with torch.no_grad():
            local(parameter).copy_(state["master"])
            step_device = parameter.device if self.adam.defaults["fused"] else torch.device("cpu")
            kept = {"step": torch.tensor(float(self.num_steps), device=step_device)}
            for key in STATE_NAMES[1:]:
                kept[key] = torch.zeros_like(parameter)
                local(kept[key]).copy_(state[key])
            self.adam.state[parameter] = kept


def local(tensor: torch.Tensor) -> torch.Tensor:
    """This process's part of a sharded tensor, or the tensor itself."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def join_halves(high: torch.Tensor, low: torch.Tensor) -> torch.Tensor:
    """float32 from its nearest bfloat16 and the int16 difference of their bits: exact."""
    return ((high.view(torch.int16).to(torch.int32) << 16) + low.to(torch.int32)).view(torch.float32)


def split_halves(master: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The inverse of join_halves. Ties round away from zero, which keeps the difference within int16."""
    bits = master.view(torch.int32)
    high = (bits + 0x8000) >> 16
    return high.to(torch.int16).view(torch.bfloat16), (bits - (high << 16)).to(torch.int16)


def _split_update(high: torch.Tensor, low: torch.Tensor, mean: torch.Tensor, square: torch.Tensor, gradient: torch.Tensor, scalars: torch.Tensor) -> None:
    scale, rate, decay, beta1, beta2, correction1, correction2, epsilon = scalars.unbind()
    gradient = gradient.float() * scale
    mean.copy_(mean + (gradient - mean) * (1 - beta1))
    square.copy_(square * beta2 + gradient * gradient * (1 - beta2))
    step = rate / correction1
    master = join_halves(high, low) * (1 - rate * decay) - step * mean / ((square / correction2).sqrt() + epsilon)
    new_high, new_low = split_halves(master)
    high.copy_(new_high)
    low.copy_(new_low)


class SplitAdamW:
    """Gradients gather in float32 (`gathered`) where a step has several packs, else they stay as autograd made them."""

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
    def update(self, rate: float) -> float:
        gradients = dict(self._gradients())
        norm = torch.stack(torch._foreach_norm(list(gradients.values()), dtype=torch.float32)).norm()
        value = float(norm)
        if math.isfinite(value):
            scalars = self._scalars(rate, value).to(norm.device)
            for name, gradient in gradients.items():
                parts = (self.parameters[name].data, self.low[name], self.mean[name], self.square[name], gradient)
                self.fused(*(part.reshape(-1) for part in parts), scalars)
            self.num_steps += 1
        self.clear()
        return value

    def _scalars(self, rate: float, norm: float) -> torch.Tensor:
        config, step = self.config, self.num_steps + 1
        scale = min(1.0, config.max_grad_norm / (norm + 1e-6)) if config.max_grad_norm else 1.0
        corrections = (1 - config.beta1**step, 1 - config.beta2**step)
        return torch.tensor([scale, rate, config.weight_decay, config.beta1, config.beta2, *corrections, config.epsilon], dtype=torch.float32)

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

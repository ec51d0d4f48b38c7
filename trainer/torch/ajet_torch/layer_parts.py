"""The parts of a layer between its matrix products, forward and backward: Triton kernels on a GPU, and the same in
PyTorch elsewhere."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .head import upcast


def norm(x_ND: torch.Tensor, weight_D: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Returns RMSNorm(x) * weight."""
    if x_ND.is_cuda:
        from . import layer_kernels

        return layer_kernels.norm(x_ND, weight_D, epsilon)
    unit, _ = _unit(x_ND, epsilon)
    return unit.to(x_ND.dtype) * weight_D


def norm_backward(x_ND: torch.Tensor, weight_D: torch.Tensor, epsilon: float, grad_ND: torch.Tensor, residual_ND: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns residual + the gradient of x, and the gradient of the weight."""
    if x_ND.is_cuda:
        from . import layer_kernels

        return layer_kernels.norm_backward(x_ND, weight_D, epsilon, grad_ND, residual_ND)
    unit, scale = _unit(x_ND, epsilon)
    inner = upcast(grad_ND) * upcast(weight_D)
    own = scale * (inner - unit * (inner * unit).mean(-1, keepdim=True))
    return (upcast(residual_ND) + own).to(x_ND.dtype), (upcast(grad_ND) * unit).sum(0).to(weight_D.dtype)


def _unit(x_ND: torch.Tensor, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
    wide = upcast(x_ND)
    scale = (wide.square().mean(-1, keepdim=True) + epsilon).rsqrt()
    return wide * scale, scale


def rotate_(states_NE: torch.Tensor, cosines_ND: torch.Tensor, sines_ND: torch.Tensor, heads: int, sign: float = 1.0) -> None:
    """Turns the first heads of each row by its angles, in place. The sign -1 turns them back, as the backward pass
    does."""
    if states_NE.is_cuda:
        from . import layer_kernels

        return layer_kernels.rotate_(states_NE, cosines_ND, sines_ND, heads, sign)
    size = cosines_ND.shape[1]
    turned = states_NE[:, : heads * size].view(len(states_NE), heads, size)
    left, right = upcast(turned).chunk(2, -1)
    cosine, sine = (upcast(angles[:, None, : size // 2]) for angles in (cosines_ND, sines_ND))
    turned.copy_(torch.cat([left * cosine - right * sine * sign, right * cosine + left * sine * sign], -1))


def gate(both_NF: torch.Tensor) -> torch.Tensor:
    """Returns silu(gate) * up. `both` has the gate's states and then the up states in each row."""
    if both_NF.is_cuda:
        from . import layer_kernels

        return layer_kernels.gate(both_NF)
    opened, up = both_NF.chunk(2, -1)
    return F.silu(opened) * up


def gate_backward(both_NF: torch.Tensor, grad_NF: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the gradient of `both`, and computes gate(both) again."""
    if both_NF.is_cuda:
        from . import layer_kernels

        return layer_kernels.gate_backward(both_NF, grad_NF)
    opened, up = (upcast(each) for each in both_NF.chunk(2, -1))
    given, share = upcast(grad_NF), opened.sigmoid()
    grads = [given * up * share * (1 + opened * (1 - share)), given * opened * share]
    return torch.cat(grads, -1).to(both_NF.dtype), gate(both_NF)

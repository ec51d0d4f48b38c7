"""Computes the layers of small Llama, Mistral and Qwen2 models forward and backward without torch.compile.

Compiling a layer takes longer than all training of a short run. Here each layer is one function of autograd. Libraries
compute its matrix products and its attention. A few Triton kernels compute the parts between them
(`layer_kernels.py`). For backward, a layer keeps its input, its queries, keys and values, the states after attention, and
the states of its gate. It computes the rest again, attention too. A compiled layer keeps more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PreTrainedModel

from .attention import AttentionPlan
from .config import FUSED_FAMILIES
from .layer_parts import gate, gate_backward, norm, norm_backward, rotate_
from .lora import has_adapter


def fits(lm: PreTrainedModel, window: int | None) -> bool:
    """Returns whether the functions here compute what this model computes. `window` is the model's smallest."""
    if type(lm).__name__ not in FUSED_FAMILIES.values() or window is not None or lm.config.hidden_act != "silu" or lm.dtype not in (torch.bfloat16, torch.float16, torch.float32):
        return False
    layers = lm.base_model.layers
    return type(lm.get_input_embeddings()) is nn.Embedding and all(has_plain_linears(layer) and not hasattr(layer.self_attn, "q_norm") for layer in layers)


def has_plain_linears(layer: Any, adapted: bool = False) -> bool:
    """Returns whether a layer consists of linear layers, of which only queries, keys and values have biases. With
    `adapted` they may have adapters. The size of a head must be a power of two."""
    attention, mlp = layer.self_attn, layer.mlp
    inner = [attention.q_proj, attention.k_proj, attention.v_proj]
    outer = [attention.o_proj, mlp.gate_proj, mlp.up_proj, mlp.down_proj]
    if not all(isinstance(linear, nn.Linear) or (adapted and has_adapter(linear)) for linear in inner + outer):
        return False
    head = attention.head_dim
    return head & (head - 1) == 0 and all(linear.bias is None for linear in outer) and len({linear.bias is None for linear in inner}) == 1


def fused_hidden(lm: PreTrainedModel, ids_N: torch.Tensor, positions_N: torch.Tensor, plan: AttentionPlan) -> torch.Tensor:
    """Returns the last hidden states [N, D] of one pack."""
    base = lm.base_model
    x_ND = base.embed_tokens(ids_N)
    angles = tuple(each[0] for each in base.rotary_emb(x_ND[None], positions_N[None]))
    for layer in base.layers:
        x_ND = fused_layer(layer, x_ND, angles, plan)
    return _Norm.apply(x_ND, base.norm.weight, base.norm.variance_epsilon)


def fused_layer(layer: Any, x_ND: torch.Tensor, angles: tuple[torch.Tensor, ...], plan: AttentionPlan) -> torch.Tensor:
    attention, mlp = layer.self_attn, layer.mlp
    inner = [attention.q_proj, attention.k_proj, attention.v_proj]
    biases = [linear.bias for linear in inner if linear.bias is not None]
    norms = [layer.input_layernorm, layer.post_attention_layernorm]
    weights = [linear.weight for linear in [*inner, attention.o_proj, mlp.gate_proj, mlp.up_proj, mlp.down_proj]]
    return _Layer.apply(x_ND, _Fixed(attention, tuple(each.variance_epsilon for each in norms), angles, plan), *(each.weight for each in norms), *weights, *biases)


class _Fixed(NamedTuple):
    """The inputs of a layer that take no gradient."""

    attention: Any
    epsilons: tuple[float, ...]
    angles: tuple[torch.Tensor, ...]
    plan: AttentionPlan

    def rotate_(self, states_NE: torch.Tensor, sizes: list[int], sign: float = 1.0) -> None:
        """Turns queries and keys, which come before the values."""
        cosines, sines = self.angles
        rotate_(states_NE, cosines, sines, (sizes[0] + sizes[1]) // cosines.shape[1], sign)

    def attend(self, states_NE: torch.Tensor, sizes: list[int]) -> torch.Tensor:
        q, k, v = (part.unflatten(-1, (-1, self.attention.head_dim)).transpose(0, 1)[None] for part in states_NE.split(sizes, -1))
        out = self.plan.attend(self.attention, q, k, v, self.attention.scaling, None)
        return out[0].transpose(0, 1).flatten(1)


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x_ND: torch.Tensor, weight_D: torch.Tensor, epsilon: float) -> torch.Tensor:
        ctx.save_for_backward(x_ND, weight_D)
        ctx.epsilon = epsilon
        return norm(x_ND, weight_D, epsilon)

    @staticmethod
    def backward(ctx: Any, grad_ND: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x_ND, weight_D = ctx.saved_tensors
        return *norm_backward(x_ND, weight_D, ctx.epsilon, grad_ND.contiguous(), torch.zeros_like(x_ND)), None


class _Layer(torch.autograd.Function):
    """x + attention(norm(x)), then the same with the gated product."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, fixed: _Fixed, first: torch.Tensor, second: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor, opening: torch.Tensor, up: torch.Tensor, down: torch.Tensor, *biases: torch.Tensor) -> torch.Tensor:
        sizes = [len(each) for each in (q, k, v)]
        states = F.linear(norm(x, first, fixed.epsilons[0]), torch.cat([q, k, v]), torch.cat(biases) if biases else None)
        fixed.rotate_(states, sizes)
        middle = torch.addmm(x, fixed.attend(states, sizes), o.T)
        both = F.linear(norm(middle, second, fixed.epsilons[1]), torch.cat([opening, up]))
        ctx.fixed, ctx.sizes = fixed, sizes
        ctx.save_for_backward(x, states, middle, both, first, second, q, k, v, o, opening, up, down)
        return torch.addmm(middle, gate(both), down.T)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, states, middle, both, first, second, q, k, v, o, opening, up, down = ctx.saved_tensors
        fixed, sizes = ctx.fixed, ctx.sizes
        grad = grad.contiguous()
        grad_both, inner = gate_backward(both, grad @ down)
        grad_down = grad.T @ inner
        grad_opening, grad_up = (grad_both.T @ norm(middle, second, fixed.epsilons[1])).chunk(2)
        grad_middle, grad_second = norm_backward(middle, second, fixed.epsilons[1], grad_both @ torch.cat([opening, up]), grad)
        del grad_both, inner
        with torch.enable_grad():
            leaf = states.detach().requires_grad_()
            attended = fixed.attend(leaf, sizes)
        grad_o = grad_middle.T @ attended
        grad_states = torch.autograd.grad(attended, leaf, grad_middle @ o)[0].contiguous()
        fixed.rotate_(grad_states, sizes, -1.0)
        grad_qkv = (grad_states.T @ norm(x, first, fixed.epsilons[0])).split(sizes)
        grad_x, grad_first = norm_backward(x, first, fixed.epsilons[0], grad_states @ torch.cat([q, k, v]), grad_middle)
        biases = grad_states.sum(0).split(sizes) if len(ctx.needs_input_grad) > 11 else ()
        return grad_x, None, grad_first, grad_second, *grad_qkv, grad_o, grad_opening, grad_up, grad_down, *biases

"""Computes sibling projections of one input (queries, keys and values) as one matrix product, inside compiled layers.

Keys and values are narrow if heads are grouped, and their small products leave most of a GPU idle. The parameters stay
separate under their own names; only the compiled graph joins them. Outside of a compiled graph each projection is
computed alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import nn

ATTENTION = ("q_proj", "k_proj", "v_proj")
GATED = ("gate_proj", "up_proj")
"""The names of sibling projections, in the order in which every family calls them."""

Product = Callable[[torch.Tensor, list[nn.Linear]], list[torch.Tensor]]
"""Returns the outputs of several linear layers for one input."""


def plain_product(x: torch.Tensor, parts: list[nn.Linear]) -> list[torch.Tensor]:
    weight = torch.cat([part.weight for part in parts])
    bias = None if parts[0].bias is None else torch.cat([part.bias for part in parts])
    return list(F.linear(x, weight, bias).split([part.out_features for part in parts], -1))


@dataclass
class Joint:
    """The results that the first projection has computed for its siblings, which are called later."""

    parts: list[nn.Linear]
    product: Product
    waiting: list[torch.Tensor] = field(default_factory=list)


class FirstProjection(nn.Linear):
    joint: Joint

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not torch.compiler.is_compiling():
            return F.linear(x, self.weight, self.bias)
        own, *others = self.joint.product(x, self.joint.parts)
        self.joint.waiting = list(others)
        return own


class LaterProjection(nn.Linear):
    joint: Joint

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not torch.compiler.is_compiling():
            return F.linear(x, self.weight, self.bias)
        return self.joint.waiting.pop(0)


def join_projections(module: nn.Module) -> None:
    """Joins the projections of every submodule in which they are plain linear layers. Other layers, such as LoRA and
    fused layers, do not change."""
    for parts in find_siblings(module, ATTENTION):
        join(parts, plain_product)


def find_siblings(module: nn.Module, names: tuple[str, ...]) -> Iterator[list[nn.Linear]]:
    for parent in module.modules():
        parts = [getattr(parent, name, None) for name in names]
        if all(type(part) is nn.Linear for part in parts) and len({part.bias is None for part in parts}) == 1:
            yield parts


def join(parts: list[nn.Linear], product: Product) -> None:
    """Makes compiled graphs compute `parts` by `product` when the first of them is called."""
    joint = Joint(parts, product)
    for part in parts:
        part.__class__ = FirstProjection if part is parts[0] else LaterProjection
        part.joint = joint

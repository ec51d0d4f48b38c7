"""Sibling projections of one input (queries, keys and values) as one matrix product, inside compiled layers.

Keys and values are narrow where heads are grouped, and their small products leave most of a GPU idle. The parameters
stay apart under their own names; only the compiled graph joins them. Outside of one each projection is itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn

SIBLINGS = ("q_proj", "k_proj", "v_proj")
"""In the order in which every family calls them."""


@dataclass
class Joint:
    """What the first projection has computed for the ones that are called after it."""

    parts: list[nn.Linear]
    waiting: list[torch.Tensor] = field(default_factory=list)


class FirstProjection(nn.Linear):
    joint: Joint

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not torch.compiler.is_compiling():
            return F.linear(x, self.weight, self.bias)
        parts = self.joint.parts
        weight = torch.cat([part.weight for part in parts])
        bias = None if self.bias is None else torch.cat([part.bias for part in parts])
        own, *others = F.linear(x, weight, bias).split([part.out_features for part in parts], -1)
        self.joint.waiting = list(others)
        return own


class LaterProjection(nn.Linear):
    joint: Joint

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not torch.compiler.is_compiling():
            return F.linear(x, self.weight, self.bias)
        return self.joint.waiting.pop(0)


def join_projections(module: nn.Module) -> None:
    """For every submodule that has them as plain linear layers; others (LoRA, fused ones) stay as they are."""
    for parent in module.modules():
        parts = [getattr(parent, name, None) for name in SIBLINGS]
        if all(type(part) is nn.Linear for part in parts) and len({part.bias is None for part in parts}) == 1:
            joint = Joint(parts)
            for part, kind in zip(parts, (FirstProjection, LaterProjection, LaterProjection)):
                part.__class__ = kind
                part.joint = joint

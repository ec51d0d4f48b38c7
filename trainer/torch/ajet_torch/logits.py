"""Finds how a model's own code turns its last hidden states into logits. The chunked head computes scale * (hidden @
head)."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import BaseModelOutputWithPast

from .errors import WorkerError, first_line

ROWS, WIDTH, VOCAB = 3, 5, 7
CAPS = ("final_logit_softcapping", "logits_soft_cap", "final_logit_softcap")


class FixedOutput(BaseModelOutputWithPast):
    """Other outputs of the decoder that the surrounding code reads, such as the choices of routers, are None."""

    def __getattr__(self, name: str) -> None:
        if name.startswith("__"):
            raise AttributeError(name)


class FixedHidden(nn.Module):
    """Replaces the decoder, so only the code after the decoder is computed."""

    def __init__(self, hidden: torch.Tensor) -> None:
        super().__init__()
        self.hidden = hidden

    @property
    def decoder(self) -> FixedHidden:
        """Serves classes that call the decoder of their base model directly."""
        return self

    def forward(self, *_: Any, **__: Any) -> FixedOutput:
        return FixedOutput(last_hidden_state=self.hidden)


@torch.no_grad()
def logits_scale(lm: PreTrainedModel) -> float:
    """Finds the scale by running the model's own forward function with a small decoder and head. It does not use the
    model's weights.

    Raises `unsupported_model` if its logits are anything but a multiple of hidden @ head.
    """
    drawn = torch.Generator().manual_seed(0)
    hidden = torch.randn(1, ROWS, WIDTH, generator=drawn)
    head = nn.Linear(WIDTH, VOCAB, bias=False)
    head.weight.copy_(torch.randn(VOCAB, WIDTH, generator=drawn))
    plain = hidden @ head.weight.T
    logits = _own_logits(lm, hidden, head)
    scale = float((logits * plain).sum() / plain.square().sum())
    if not torch.allclose(logits, scale * plain, rtol=1e-4, atol=1e-5):
        raise WorkerError("unsupported_model", f"{type(lm).__name__} {_reason(lm)}, which the chunked head does not compute. Use a model without it (Qwen2, Qwen3, Llama, Mistral).")
    return 1.0 if abs(scale - 1) < 1e-5 else scale


def _reason(lm: PreTrainedModel) -> str:
    caps = [name for name in CAPS if getattr(lm.config, name, None)]
    return f"caps its logits ({caps[0]} is {getattr(lm.config, caps[0])})" if caps else "changes its logits after the LM head"


def _own_logits(lm: PreTrainedModel, hidden: torch.Tensor, head: nn.Linear) -> torch.Tensor:
    own_head = lm.get_output_embeddings()
    names = [name for name, module in lm._modules.items() if module is own_head]
    if own_head is None or not names or lm.base_model is lm:
        raise WorkerError("unsupported_model", f"{type(lm).__name__} has no LM head after a decoder, so the worker cannot compute its logits in chunks.")
    around = copy.copy(lm)
    around._modules = {**lm._modules, lm.base_model_prefix: FixedHidden(hidden), names[0]: head}
    try:
        return around.forward(input_ids=torch.zeros(1, ROWS, dtype=torch.int64), use_cache=False).logits.float()
    except Exception as error:
        raise WorkerError("unsupported_model", f"{type(lm).__name__} does not compute its logits from its decoder's last hidden states ({first_line(error)}).") from error

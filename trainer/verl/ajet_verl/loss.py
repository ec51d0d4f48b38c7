"""Computes the loss in verl's workers. It applies the loss of `ajet_torch.losses` to the terms of a micro-batch. The
driver sends it to the workers with pickle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

import torch

from ajet_torch.losses import LossConfig, term_loss
from ajet_torch.pack import DeviceTerms


@dataclass(frozen=True)
class RowLoss:
    config: LossConfig

    def __call__(self, model_output: Mapping[str, torch.Tensor], data: Any, dp_group: Any = None) -> tuple[torch.Tensor, dict[str, Any]]:
        """Returns the sum over the micro-batch. The weights contain the step's normaliser. verl takes the mean over
        workers, so the loss is multiplied by their number."""
        at_K = token_of_term(data)
        reference = column(data, "reference")
        terms = DeviceTerms(
            pair_K=torch.arange(len(at_K), device=at_K.device), sequence_K=flat(data["term_sequence"]), weights_K=flat(data["term_weights"]),
            advantages_K=flat(data["term_advantages"]), logprobs_K=flat(data["term_logprobs"]), proximal_K=column(data, "proximal"),
        )
        logprob_K, entropy_K = (flat(model_output[name])[at_K] for name in ("log_probs", "entropy"))
        result = term_loss(terms, logprob_K, entropy_K, reference, self.config)
        return result.loss * data["dp_size"], {}


def token_of_term(data: Any) -> torch.Tensor:
    """Returns the index of each term's predicting token in the micro-batch's rows, one after another."""
    rows = data["input_ids"].unbind()
    starts, start = [], 0
    for row in rows:
        starts.append(start)
        start += len(row)
    return torch.cat([at_K + start for at_K, start in zip(data["term_at"].unbind(), starts)])


def column(data: Any, name: str) -> torch.Tensor | None:
    return flat(data[f"term_{name}"]) if f"term_{name}" in data.keys() else None


def flat(ragged: torch.Tensor) -> torch.Tensor:
    return torch.cat(ragged.unbind())

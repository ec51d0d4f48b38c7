"""The rows of a step: the requests to verl's workers, and their answers in the order of the packs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable

import numpy as np
import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils

from ajet_torch.errors import WorkerError
from ajet_torch.pack import LossTerms, TreePack

TERM_TYPES = {"at": torch.int64, "sequence": torch.int64, "weights": torch.float32, "advantages": torch.float32, "logprobs": torch.float32, "proximal": torch.float32, "reference": torch.float32}


@dataclass(frozen=True)
class Row:
    """A row of tokens at one temperature. `term_K` has the indices of the row's terms in its pack, and `at_K` has the
    position in the row of the token that predicts each term."""

    pack: int
    ids_T: np.ndarray
    temperature: float
    term_K: np.ndarray
    at_K: np.ndarray


@dataclass(frozen=True)
class Scores:
    """The results for a row. logprob_T[t] is the logprob of ids[t + 1], and the last entry has no meaning. entropy_T[t]
    is the entropy of the distribution of that token, if it was requested."""

    logprob_T: np.ndarray
    entropy_T: np.ndarray | None


def to_rows(packs: list[TreePack], temperature: float) -> list[Row]:
    """Returns one row for each pack, or one for each temperature of its terms. A greedy token has temperature 0, which
    is replaced by 1. Raises `bad_batch` for a tree."""
    rows = []
    for index, pack in enumerate(packs):
        require_row(pack, index)
        terms = pack.terms
        own = np.full(len(terms.pair), temperature) if terms.temperatures is None else np.where(terms.temperatures > 0, terms.temperatures, 1.0)
        for value in np.unique(own) if len(own) else [temperature]:
            chosen = np.flatnonzero(own == value)
            rows.append(Row(index, pack.ids, float(value), chosen, pack.predictors[terms.pair[chosen]]))
    return rows


def plain_row(ids_T: np.ndarray) -> Row:
    nothing = np.zeros(0, np.int64)
    return Row(0, ids_T, 1.0, nothing, nothing)


def require_row(pack: TreePack, index: int) -> None:
    one_row = np.array_equal(pack.positions, np.arange(pack.num_tokens)) and bool(np.all(pack.ends == pack.num_tokens))
    follows = one_row and bool(np.all(pack.predictors + 1 < pack.num_tokens)) and np.array_equal(pack.ids[pack.predictors + 1], pack.targets)
    if not follows:
        raise WorkerError("bad_batch", f"Pack {index} has more than one row, but the verl backbone takes rows. Pack with packRows or packFor.")


def deal_out(rows: list[Row], num_workers: int) -> list[int]:
    """Returns an order of the rows for which all workers need about the same time, because verl gives each worker the
    same number of consecutive rows. It gives rows to workers one by one, longest first. If the number of rows is not a
    multiple of the number of workers, the last row is repeated."""
    order = sorted(range(len(rows)), key=lambda index: -len(rows[index].ids_T))
    order += order[-1:] * (-len(order) % num_workers)
    return [index for worker in range(num_workers) for index in order[worker::num_workers]]


def to_batch(rows: list[Row], max_tokens: int, terms: Iterable[dict[str, np.ndarray]] = ()) -> TensorDict:
    """Returns the rows in the format of verl's engines: ragged tensors, in which each row is one entry."""
    lengths = [len(row.ids_T) for row in rows]
    columns = {
        "input_ids": ragged([row.ids_T for row in rows], torch.int64),
        "position_ids": ragged([np.arange(length) for length in lengths], torch.int64),
        "loss_mask": ragged([np.ones(length) for length in lengths], torch.float32),
        "temperature": torch.tensor([row.temperature for row in rows], dtype=torch.float32),
    }
    of_rows = list(terms)
    for name in of_rows[0] if of_rows else ():
        columns[f"term_{name}"] = ragged([of_row[name] for of_row in of_rows], TERM_TYPES[name])
    batch = TensorDict(columns, batch_size=[len(rows)])
    tensordict_utils.assign_non_tensor(
        batch, use_dynamic_bsz=True, max_token_len_per_gpu=max(max_tokens, *lengths), calculate_entropy=bool(of_rows), compute_loss=bool(of_rows),
    )
    return batch


def ragged(arrays: list[np.ndarray], dtype: torch.dtype) -> torch.Tensor:
    return torch.nested.as_nested_tensor([torch.from_numpy(np.array(array)).to(dtype) for array in arrays], layout=torch.jagged)


def row_terms(row: Row, terms: LossTerms, reference_K: np.ndarray | None) -> dict[str, np.ndarray]:
    """Returns the terms of a row for the loss. A row without terms gets one term of weight 0, because not all code
    supports ragged tensors with empty entries."""
    optional = {"proximal": terms.proximal, "reference": reference_K}
    columns = {"sequence": terms.sequence, "weights": terms.weights, "advantages": terms.advantages, "logprobs": terms.logprobs}
    columns |= {name: values for name, values in optional.items() if values is not None}
    if len(row.term_K) == 0:
        return {"at": np.zeros(1), **{name: np.zeros(1) for name in columns}}
    return {"at": row.at_K, **{name: values[row.term_K] for name, values in columns.items()}}


def without_weight(terms: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns terms of weight 0, for the copy of a row that only pads a worker's share."""
    return {**terms, "weights": np.zeros_like(terms["weights"])}


def read_scores(output: TensorDict, order: list[int]) -> dict[int, Scores]:
    """Returns results by row, from answers in the order of `deal_out`."""
    logprobs = output["log_probs"].unbind()
    entropies = output["entropy"].unbind() if "entropy" in output.keys() else [None] * len(logprobs)
    scores: dict[int, Scores] = {}
    for index, logprob, entropy in zip(order, logprobs, entropies):
        scores.setdefault(index, Scores(to_numpy(logprob), None if entropy is None else to_numpy(entropy)))
    return scores


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().numpy()


def gather_terms(packs: list[TreePack], rows: list[Row], values_T: list[np.ndarray]) -> list[np.ndarray]:
    """Returns an array [K] for each pack, with the row's value at the token that predicts each term."""
    found = [np.zeros(len(pack.terms.pair), np.float32) for pack in packs]
    for row, values in zip(rows, values_T):
        found[row.pack][row.term_K] = values[row.at_K]
    return found

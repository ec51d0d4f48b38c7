"""Makes tiny random models and random trees for the tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from transformers import LlamaConfig, MistralConfig, PreTrainedModel, Qwen2Config, Qwen3Config, AutoModelForCausalLM

from ajet_torch.attention import ATTENTION_NAME
from ajet_torch.config import WorkerConfig
from ajet_torch.model import prepare_lm
from ajet_torch.pack import LossTerms, TreePack
from ajet_torch.ranks import Ranks
from ajet_torch.training import Placement, Trainer

VOCAB = 61
SIZES = dict(vocab_size=VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=256)
FAMILIES = {
    "qwen2": lambda **own: Qwen2Config(**(SIZES | own), tie_word_embeddings=True),
    "qwen3": lambda **own: Qwen3Config(**(SIZES | own), tie_word_embeddings=False),
    "llama": lambda **own: LlamaConfig(**(SIZES | own), tie_word_embeddings=False),
    "mistral": lambda **own: MistralConfig(**(SIZES | own), sliding_window=5),
}


def tiny_lm(family: str = "qwen2", dtype: torch.dtype = torch.float64, seed: int = 0, attention: str = ATTENTION_NAME, **sizes: int) -> PreTrainedModel:
    torch.manual_seed(seed)
    lm = AutoModelForCausalLM.from_config(FAMILIES[family](**sizes), attn_implementation=attention).to(dtype)
    with torch.no_grad():
        for parameter in lm.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return prepare_lm(lm, torch.device("cpu"))


def tiny_folder(path: Path, family: str = "qwen2", seed: int = 0, **sizes: int) -> Path:
    tiny_lm(family, torch.float32, seed, "eager", **sizes).save_pretrained(path)
    return path


def cpu_placement(dtype: torch.dtype = torch.float64) -> Placement:
    return Placement(torch.device("cpu"), dtype, Ranks(0, 1, 0), False)


def tiny_trainer(family: str = "qwen2", dtype: torch.dtype = torch.float64, **options: object) -> Trainer:
    lm = options.pop("lm", None) or tiny_lm(family, dtype)
    return Trainer(WorkerConfig(**options), cpu_placement(dtype), lm)


def random_rows(rng: np.random.Generator, num: int = 6, alphabet: int = 3) -> list[np.ndarray]:
    """Returns rows over few letters. They branch early, late and nowhere; some are prefixes or duplicates of others,
    and some have one token."""
    rows = [rng.integers(0, alphabet, rng.integers(1, 12)).astype(np.int32) for _ in range(num)]
    rows.append(rows[0][: max(1, len(rows[0]) // 2)])
    rows.append(rows[1])
    return rows


def supervise(rng: np.random.Generator, rows: list[np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Supervises a random half of each row's tokens. Draws their weights, advantages and behaviour logprobs."""
    chosen = [np.flatnonzero(rng.random(len(row)) < 0.6) for row in rows]
    return [
        {"at": at[at > 0], "weights": rng.random(len(at[at > 0])), "advantages": rng.normal(size=len(at[at > 0])), "logprobs": -4 * rng.random(len(at[at > 0]))}
        for at in chosen
    ]


def tree_pack(rows: list[np.ndarray], labels: list[dict[str, np.ndarray]]) -> TreePack:
    """Builds the trie of the rows in depth-first preorder, token by token, without using the packer."""
    children: list[dict[int, int]] = [{}]
    path_of: list[list[int]] = []
    for row in rows:
        node, path = 0, []
        for token in row.tolist():
            if token not in children[node]:
                children.append({})
                children[node][token] = len(children) - 1
            node = children[node][token]
            path.append(node)
        path_of.append(path)
    ids, positions, ends, index_of = [], [], [], {}

    def visit(node: int, token: int, depth: int) -> None:
        index = len(ids)
        index_of[node] = index
        ids.append(token)
        positions.append(depth)
        ends.append(0)
        for next_token, child in children[node].items():
            visit(child, next_token, depth + 1)
        ends[index] = len(ids)

    for token, child in children[0].items():
        visit(child, token, 0)
    return with_terms(ids, positions, ends, [[index_of[n] for n in path] for path in path_of], rows, labels)


def rows_packs(rows: list[np.ndarray], labels: list[dict[str, np.ndarray]]) -> list[TreePack]:
    """Puts each row into its own pack."""
    return [
        with_terms(row, range(len(row)), [len(row)] * len(row), [list(range(len(row)))], [row], [label], first_sequence=i)
        for i, (row, label) in enumerate(zip(rows, labels))
    ]


def with_terms(ids, positions, ends, paths, rows, labels, first_sequence: int = 0) -> TreePack:
    pairs: dict[tuple[int, int], int] = {}
    pair, sequence = [], []
    for number, (path, row, label) in enumerate(zip(paths, rows, labels)):
        for t in label["at"]:
            pair.append(pairs.setdefault((path[t - 1], int(row[t])), len(pairs)))
            sequence.append(first_sequence + number)

    def column(name: str) -> np.ndarray:
        return np.concatenate([label[name] for label in labels]).astype(np.float32)

    ints = lambda values: np.asarray(list(values), np.int32)  # noqa: E731
    terms = LossTerms(ints(pair), ints(sequence), column("weights"), column("advantages"), column("logprobs"))
    return TreePack(ints(ids), ints(positions), ints(ends), ints(p for p, _ in pairs), ints(t for _, t in pairs), terms, sum(map(len, rows)))


def gradients(trainer: Trainer) -> torch.Tensor:
    return torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in trainer.policy.lm.parameters()])

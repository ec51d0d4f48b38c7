"""Qwen2.5 shapes with random weights, workloads, and the formula for operations that every benchmark here uses.

The operations of a step are 6 x (parameters of the layers) x tokens + 6 x (head parameters) x supervised predictors +
12 x layers x heads x head dimension x visible (query, key) pairs. Recomputation, masked pairs, and positions without LM
head do not count. Utilisation is relative to 989 TFLOP/s (dense bf16, H200 SXM datasheet).
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel, Qwen2Config, Qwen2ForCausalLM

from ajet_torch.attention import ATTENTION_NAME
from ajet_torch.pack import LossTerms, TreePack
from ajet_torch.sharded_load import Rows, make_empty

PEAK_FLOPS = 989e12


@dataclass(frozen=True)
class Shape:
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    inner: int
    tied: bool
    vocab: int = 151936


SHAPES = {
    "tiny": Shape(64, 2, 4, 2, 128, True, 512),
    "0.5B": Shape(896, 24, 14, 2, 4864, True),
    "1.5B": Shape(1536, 28, 12, 2, 8960, True),
    "3B": Shape(2048, 36, 16, 2, 11008, True),
    "7B": Shape(3584, 28, 28, 4, 18944, False, 152064),
    "32B": Shape(5120, 64, 40, 8, 27648, False, 152064),
}


def model_config(name: str, attention: str = ATTENTION_NAME) -> Qwen2Config:
    shape = SHAPES[name]
    return Qwen2Config(
        hidden_size=shape.hidden, num_hidden_layers=shape.layers, num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.inner, vocab_size=shape.vocab, tie_word_embeddings=shape.tied, max_position_embeddings=65536,
        use_cache=False, rope_theta=1e6, attn_implementation=attention,
    )


def empty_lm(name: str, dtype: torch.dtype) -> PreTrainedModel:
    """Makes a model without memory for its weights, for shapes that do not fit one GPU."""
    config = model_config(name)
    config.dtype = dtype
    return make_empty(lambda: Qwen2ForCausalLM(config).to(dtype))


def random_rows(lm: PreTrainedModel, seed: int, device: torch.device) -> Rows:
    """Draws the rows of the weights that this process holds. Norms are ones, biases are zeros, and all other weights
    are drawn as transformers draws them."""
    generator = torch.Generator(device).manual_seed(seed)
    shapes = {name: parameter.shape for name, parameter in lm.named_parameters()}

    def rows(name: str, start: int, stop: int) -> torch.Tensor:
        shape = (stop - start, *shapes[name][1:])
        if "norm" in name:
            return torch.ones(shape, device=device)
        return torch.zeros(shape, device=device) if name.endswith("bias") else torch.randn(shape, device=device, generator=generator) * 0.02

    return rows


def random_lm(name: str, device: torch.device, dtype: torch.dtype, attention: str = ATTENTION_NAME) -> PreTrainedModel:
    config = model_config(name, attention)
    torch.manual_seed(0)
    torch.set_default_dtype(dtype)
    try:
        with device:
            lm = Qwen2ForCausalLM(config)
    finally:
        torch.set_default_dtype(torch.float32)
    lm.config.use_cache = False
    return lm.train()


def step_flops(name: str, packs: list[TreePack]) -> float:
    shape = SHAPES[name]
    width = shape.hidden
    kv = shape.kv_heads * (width // shape.heads)
    layer = 2 * width * width + 2 * width * kv + 3 * width * shape.inner
    tokens = sum(pack.num_tokens for pack in packs)
    predictors = sum(len(np.unique(pack.predictors)) for pack in packs)
    pairs = sum(float(np.sum(pack.positions.astype(np.float64) + 1)) for pack in packs)
    return 6 * shape.layers * layer * tokens + 6 * shape.vocab * width * predictors + 12 * shape.layers * width * pairs


def forest(rows: list[tuple[int, int]], vocab: int, seed: int = 0) -> TreePack:
    """Makes a pack of rows that share nothing. Each row is (length, number of supervised tokens at its end)."""
    trees = [([length - answer], [(0, answer)]) for length, answer in rows]
    return tree(trees, vocab, seed)


Tree = tuple[list[int], list[tuple[int, int]]]


def tree(trees: list[Tree], vocab: int, seed: int = 0) -> TreePack:
    """Makes trees of depth two. Each is (prompt length, leaves as (prompt, answer length)). Answers are supervised, and
    every answer is one sequence."""
    rng = np.random.default_rng(seed)
    nodes: list[Node] = []
    for prompts, leaves in trees:
        for index, prompt in enumerate(prompts):
            nodes.append(Node(prompt, False, [Node(answer, True) for owner, answer in leaves if owner == index]))
    return lay_out(nodes, vocab, rng)


@dataclass
class Node:
    """A segment of a tree: its length, whether its tokens are supervised, and its children."""

    length: int
    supervised: bool
    children: list["Node"] | None = None


def lay_out(roots: list[Node], vocab: int, rng: np.random.Generator) -> TreePack:
    """Returns random tokens in the layout of a tree. The model predicts a supervised token from the token before it on
    its path."""
    positions: list[np.ndarray] = []
    ends: list[np.ndarray] = []
    predictors: list[np.ndarray] = []
    targets: list[np.ndarray] = []
    row_tokens = 0

    def visit(node: Node, start: int, depth: int, before: int) -> int:
        nonlocal row_tokens
        slot = len(ends)
        ends.append(np.zeros(0))
        positions.append(np.arange(depth, depth + node.length))
        if node.supervised:
            at = np.arange(start, start + node.length)
            own = np.concatenate([[before], at[:-1]]) if before >= 0 else at[:-1]
            predictors.append(own)
            targets.append(at if before >= 0 else at[1:])
        stop = start + node.length
        for child in node.children or []:
            stop = visit(child, stop, depth + node.length, start + node.length - 1)
        ends[slot] = np.full(node.length, stop)
        if not node.children:
            row_tokens += depth + node.length
        return stop

    stop = 0
    for root in roots:
        stop = visit(root, stop, 0, -1)
    ids = rng.integers(0, vocab, stop).astype(np.int32)
    first, second = np.concatenate(predictors).astype(np.int32), np.concatenate(targets).astype(np.int32)
    num = len(first)
    terms = LossTerms(
        np.arange(num, dtype=np.int32), np.zeros(num, np.int32), np.full(num, 1 / num, np.float32),
        rng.normal(size=num).astype(np.float32), np.full(num, -12.0, np.float32),
    )
    return TreePack(ids, np.concatenate(positions).astype(np.int32), np.concatenate(ends).astype(np.int32), first, ids[second], terms, row_tokens)


def full_row(length: int, vocab: int) -> TreePack:
    """Makes the pack of the step benchmark: one row in which every token except the first is supervised."""
    return lay_out([Node(length, True)], vocab, np.random.default_rng(0))


def timed(run: Any, repeats: int, warmup: int = 2) -> float:
    """Returns the median seconds of one run. The clock waits for the device."""
    synchronize()
    for _ in range(warmup):
        run()
    times = []
    for _ in range(repeats):
        synchronize()
        start = time.perf_counter()
        run()
        synchronize()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def header(started: str) -> dict[str, str]:
    """Returns the facts of the run that every results file has. `started` is an argument, because this function reads
    no clock."""
    return {"date": started, "commit": commit(), "device": devices(1), "torch": torch.__version__}


def devices(num_gpus: int) -> str:
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return name if num_gpus == 1 else f"{num_gpus} x {name}"


def find_versions(*names: str) -> dict[str, str]:
    """Returns the versions of PyTorch, transformers and the other packages that affect results."""
    return {"torch": torch.__version__, **{name: importlib.metadata.version(name) for name in ("transformers", *names)}}


def commit() -> str:
    """Returns the commit, or AJET_COMMIT if the benchmark runs on a copy without history. Do not keep a result whose
    commit ends in "-dirty"."""
    if "AJET_COMMIT" in os.environ:
        return os.environ["AJET_COMMIT"]
    describe = ["git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"]
    found = subprocess.run(describe, cwd=Path(__file__).parent, capture_output=True, text=True)
    return found.stdout.strip() or "unknown"

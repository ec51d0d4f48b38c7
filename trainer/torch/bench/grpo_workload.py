"""Makes the workload of one GRPO step: groups of answers over random prompts, with fixed lengths. Every engine gets the
same workload.

All answers of an `equal` case have the maximum length. The lengths of a `real` case have the long tail of a reasoning
model: they are drawn once, with a fixed seed, from a log-normal distribution (median 430 of 1,024, a tenth at the
limit).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ajet_torch.pack import LossTerms, TreePack

PROMPTS, ANSWERS, ANSWER_TOKENS = 8, 8, 1024
PROMPT_TOKENS = {"2k": 2048, "8k": 8192, "tiny": 150}


@dataclass(frozen=True)
class Workload:
    """`prompts` [P, N] are token ids. `lengths` [P, A] are the lengths of the answers."""

    name: str
    prompts: np.ndarray
    lengths: np.ndarray

    @property
    def row_tokens(self) -> int:
        return int(self.lengths.size * self.prompts.shape[1] + self.lengths.sum())

    @property
    def context(self) -> int:
        return int(self.prompts.shape[1] + self.lengths.max())


def workload(case: str, step: int, vocab: int) -> Workload:
    """`case` is 2k-equal, 2k-real, 8k-equal or 8k-real. Prompts change from step to step; lengths do not."""
    size, kind = case.split("-")
    longest = 12 if size == "tiny" else ANSWER_TOKENS
    prompts = np.random.default_rng(step + 1).integers(0, vocab, (PROMPTS, PROMPT_TOKENS[size])).astype(np.int32)
    drawn = np.random.default_rng(19).lognormal(np.log(0.42 * longest), 0.7, (PROMPTS, ANSWERS))
    lengths = np.clip(drawn, longest // 16 + 1, longest).astype(int) if kind == "real" else np.full((PROMPTS, ANSWERS), longest)
    return Workload(case, prompts, lengths)


def advantages(rewards: np.ndarray) -> np.ndarray:
    """Returns GRPO's advantages: rewards [P, A] minus their group's mean, over its deviation."""
    return (rewards - rewards.mean(1, keepdims=True)) / (rewards.std(1, keepdims=True) + 1e-4)


@dataclass(frozen=True)
class Answer:
    ids: np.ndarray
    logprobs: np.ndarray
    advantage: float


def group_pack(prompt: np.ndarray, answers: list[Answer], weight: float) -> TreePack:
    """Packs one prompt and its answers as a tree. `weight` is the weight of every answer token in the loss."""
    size, lengths = len(prompt), [len(answer.ids) for answer in answers]
    starts = size + np.cumsum([0, *lengths[:-1]])
    total = size + sum(lengths)
    predictors = np.concatenate([np.concatenate([[size - 1], np.arange(start, start + length - 1)]) for start, length in zip(starts, lengths)])
    count = len(predictors)
    terms = LossTerms(
        pair=np.arange(count, dtype=np.int32), sequence=np.repeat(np.arange(len(answers)), lengths).astype(np.int32), weights=np.full(count, weight, np.float32),
        advantages=np.repeat([answer.advantage for answer in answers], lengths).astype(np.float32), logprobs=np.concatenate([answer.logprobs for answer in answers]).astype(np.float32),
    )
    ids = np.concatenate([prompt, *(answer.ids for answer in answers)]).astype(np.int32)
    return TreePack(
        ids=ids, positions=np.concatenate([np.arange(size), *(size + np.arange(length) for length in lengths)]).astype(np.int32),
        ends=np.concatenate([np.full(size, total), *(np.full(length, start + length) for start, length in zip(starts, lengths))]).astype(np.int32),
        predictors=predictors.astype(np.int32), targets=ids[size:], terms=terms, row_tokens=size * len(answers) + sum(lengths),
    )

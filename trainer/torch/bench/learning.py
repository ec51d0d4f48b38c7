"""Does training work? A small random model learns to add numbers and to cross the frozen lake, first by SFT, then by
GRPO.

The agents use tokens that this file defines (digits, map cells, moves), so the benchmark needs no tokenizer. A sum
takes one answer. The lake is a 4 x 4 map with holes, and each turn is one move, which is one sampled token. Rewards are
0 or 1.

Some demonstrations contain a wrong digit or a wrong move. SFT therefore teaches the language and the task, but no
reliable answers. GRPO (groups of eight, advantages by mean and deviation of the group) has to improve them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Callable

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import numpy as np  # noqa: E402
import torch  # noqa: E402
from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: E402

from ajet_torch.attention import ATTENTION_NAME  # noqa: E402
from ajet_torch.config import InferenceConfig, OptimizerConfig, WorkerConfig  # noqa: E402
from ajet_torch.losses import LossConfig  # noqa: E402
from ajet_torch.model import DTYPES, prepare_lm  # noqa: E402
from ajet_torch.ranks import Ranks  # noqa: E402
from ajet_torch.sampling.builtin import BuiltinServer  # noqa: E402
from ajet_torch.sampling.server import SampleRequest  # noqa: E402
from ajet_torch.training import Placement, Trainer  # noqa: E402
from ajet_torch.pack import LossTerms, TreePack  # noqa: E402
from shapes import header  # noqa: E402
from tiny import tree_pack  # noqa: E402

PLUS, EQUALS, END, MOVE, CELL = 10, 11, 12, 20, 30
MOVES = {MOVE: (-1, 0), MOVE + 1: (1, 0), MOVE + 2: (0, -1), MOVE + 3: (0, 1)}
MOST_TURNS = 8
SOUND_ANSWERS, SOUND_MOVES = 0.6, 0.75
"""The shares of demonstrations, and of their moves, that are right."""


@dataclass
class Walk:
    """An episode: all its ids, which of them the model sampled and with which logprob, and how the episode ended."""

    ids: list[int]
    sampled: list[int]
    logprobs: list[float]
    reward: float | None = None


class Sampler:
    def __init__(self, trainer: Trainer, slots: int, kv_tokens: int = 256) -> None:
        self.server = BuiltinServer(trainer.policy, InferenceConfig(slots=slots, kv_tokens=kv_tokens), trainer.placement.device)
        self.next_seed = 0

    def extend(self, walks: list[Walk], max_tokens: int, stop: frozenset[int], temperature: float) -> None:
        """Makes one model call for each walk. All calls go out together."""
        for index, walk in enumerate(walks):
            self.next_seed += 1
            self.server.submit(SampleRequest(index, np.asarray(walk.ids, np.int32), temperature, 1.0, 0, max_tokens, stop, self.next_seed, False))
        while self.server.is_busy() or self.server.has_queue():
            for event in self.server.tick():
                walk = walks[event.id]
                walk.sampled.append(len(walk.ids))
                walk.logprobs.append(event.logprob)
                walk.ids.append(event.token)


def digits(number: int) -> list[int]:
    return [int(digit) for digit in str(number)]


class Sums:
    """The task of adding two numbers under 30."""

    name = "math"

    def task(self, rng: np.random.Generator) -> tuple[int, int]:
        return int(rng.integers(0, 30)), int(rng.integers(0, 30))

    def demonstration(self, task: tuple[int, int], rng: np.random.Generator) -> Walk:
        shown = sum(task) if rng.random() < SOUND_ANSWERS else int(rng.integers(0, 59))
        prompt, answer = self._prompt(task), [*digits(shown), END]
        return Walk(prompt + answer, list(range(len(prompt), len(prompt) + len(answer))), [0.0] * len(answer))

    def _prompt(self, task: tuple[int, int]) -> list[int]:
        return [*digits(task[0]), PLUS, *digits(task[1]), EQUALS]

    def play(self, tasks: list[tuple[int, int]], sampler: Sampler, temperature: float) -> list[Walk]:
        walks = [Walk(self._prompt(task), [], []) for task in tasks]
        sampler.extend(walks, 4, frozenset([END]), temperature)
        for walk, task in zip(walks, tasks):
            walk.reward = float([walk.ids[i] for i in walk.sampled] == [*digits(sum(task)), END])
        return walks


class Lake:
    """The task of walking from the start to the goal of a random 4 x 4 map with three holes. Each turn is one move."""

    name = "frozen_lake"

    def task(self, rng: np.random.Generator) -> np.ndarray:
        while True:
            cells = np.zeros(16, np.int64)
            places = rng.choice(16, 5, replace=False)
            cells[places[:3]], cells[places[3]], cells[places[4]] = 1, 2, 3
            if self._path(cells) is not None:
                return cells

    def _path(self, cells: np.ndarray) -> list[int] | None:
        """Returns the moves of a shortest path from the start (2) to the goal (3), or None if there is no path."""
        start = int(np.flatnonzero(cells == 2)[0])
        frontier, seen = [(start, [])], {start}
        while frontier:
            place, moves = frontier.pop(0)
            if cells[place] == 3:
                return moves
            for move in MOVES:
                after = self._move(place, move)
                if after not in seen and cells[after] != 1:
                    seen.add(after)
                    frontier.append((after, [*moves, move]))
        return None

    def _move(self, place: int, move: int) -> int:
        row, column = place // 4 + MOVES[move][0], place % 4 + MOVES[move][1]
        return row * 4 + column if 0 <= row < 4 and 0 <= column < 4 else place

    def _prompt(self, cells: np.ndarray) -> list[int]:
        return [CELL + int(c) for c in cells] + [CELL + 4 + int(np.flatnonzero(cells == 2)[0])]

    def demonstration(self, cells: np.ndarray, rng: np.random.Generator) -> Walk:
        walk = Walk(self._prompt(cells), [], [])
        for move in self._path(cells) or []:
            shown = move if rng.random() < SOUND_MOVES else MOVE + int(rng.integers(4))
            walk.sampled.append(len(walk.ids))
            walk.logprobs.append(0.0)
            walk.ids.append(shown)
            if self._see(walk, cells):
                break
        return walk

    def _see(self, walk: Walk, cells: np.ndarray) -> bool:
        """Makes the move that the last token names. Returns whether the walk is over."""
        place, move = walk.ids[-2] - CELL - 4, walk.ids[-1]
        after = self._move(place, move) if move in MOVES else place
        walk.reward = float(cells[after] == 3)
        if move not in MOVES or cells[after] in (1, 3) or len(walk.sampled) >= MOST_TURNS:
            return True
        walk.ids.append(CELL + 4 + after)
        return False

    def play(self, tasks: list[np.ndarray], sampler: Sampler, temperature: float) -> list[Walk]:
        walks = [Walk(self._prompt(task), [], []) for task in tasks]
        alive = list(zip(walks, tasks))
        while alive:
            sampler.extend([walk for walk, _ in alive], 1, frozenset(), temperature)
            alive = [(walk, task) for walk, task in alive if not self._see(walk, task)]
        return walks


def to_tree(walks: list[Walk], advantages: list[float]) -> TreePack:
    total = sum(len(walk.sampled) for walk in walks)
    labels = [
        {"at": np.asarray(w.sampled), "weights": np.full(len(w.sampled), 1 / total), "advantages": np.full(len(w.sampled), a), "logprobs": np.asarray(w.logprobs)}
        for w, a in zip(walks, advantages)
    ]
    return tree_pack([np.asarray(walk.ids, np.int32) for walk in walks], labels)


def to_rows(walks: list[Walk]) -> TreePack:
    """Puts demonstrations into packs one after the other, because they share almost nothing."""
    ids, positions, ends, predictors, targets = [], [], [], [], []
    for walk in walks:
        start = len(ids)
        ids += walk.ids
        positions += range(len(walk.ids))
        ends += [len(ids)] * len(walk.ids)
        predictors += [start + at - 1 for at in walk.sampled]
        targets += [walk.ids[at] for at in walk.sampled]
    num = len(targets)
    ints = lambda values: np.asarray(values, np.int32)  # noqa: E731
    terms = LossTerms(np.arange(num, dtype=np.int32), np.zeros(num, np.int32), np.full(num, 1 / num, np.float32), np.ones(num, np.float32), np.zeros(num, np.float32))
    return TreePack(ints(ids), ints(positions), ints(ends), ints(predictors), ints(targets), terms, len(ids))


def small_lm(hidden: int, dtype: torch.dtype, seed: int = 0) -> Qwen2ForCausalLM:
    torch.manual_seed(seed)
    config = Qwen2Config(
        vocab_size=64, hidden_size=hidden, intermediate_size=hidden * 11 // 4, num_hidden_layers=4, num_attention_heads=hidden // 64, num_key_value_heads=hidden // 128, tie_word_embeddings=True, attn_implementation=ATTENTION_NAME
    )
    return Qwen2ForCausalLM(config).to(dtype)


def small_trainer(device: torch.device, args: argparse.Namespace) -> Trainer:
    """Makes a trainer. With `--matmul` the layers are compiled, and `--pack-tokens` limits the number of pack sizes."""
    lm = prepare_lm(small_lm(args.hidden, DTYPES[args.dtype], args.seed), device)
    compiled = {"attention": "dense", "compile": "off"} if args.matmul is None else {"attention": "flex", "matmul": args.matmul, "max_pack_tokens": args.pack_tokens}
    options = WorkerConfig(**compiled, master_weights=args.master_weights, optimizer=OptimizerConfig(learning_rate=args.sft_rate, weight_decay=0.0))
    return Trainer(options, Placement(device, DTYPES[args.dtype], Ranks(0, 1, 0), False), lm)


def learn(agent, args: argparse.Namespace, device: torch.device) -> dict:
    begin = time.perf_counter()
    rng = np.random.default_rng(args.seed)
    trainer = small_trainer(device, args)
    sampler = Sampler(trainer, args.tasks * args.repeat)
    held_out = [agent.task(np.random.default_rng(10_000 + i)) for i in range(args.held_out)]
    seconds = {"sft": 0.0, "sample": 0.0, "train": 0.0}

    def timed(name: str, run: Callable):
        start = time.perf_counter()
        result = run()
        seconds[name] += time.perf_counter() - start
        return result

    def reward(temperature: float) -> float:
        sampler.server.update_weights([])
        chunks = [held_out[start : start + len(sampler.server.slots)] for start in range(0, len(held_out), len(sampler.server.slots))]
        return float(np.mean([walk.reward for chunk in chunks for walk in agent.play(chunk, sampler, temperature)]))

    for _ in range(args.sft_steps):
        shown = [agent.demonstration(agent.task(rng), rng) for _ in range(args.demonstrations)]
        timed("sft", lambda: trainer.step([to_rows(shown)], LossConfig(kind="sft")))
    before = reward(1.0)
    trainer.config = replace(trainer.config, optimizer=OptimizerConfig(learning_rate=args.rate, weight_decay=0.0))
    curve, ratio = [], []
    while len(curve) < args.grpo_steps and time.perf_counter() - begin < args.seconds:
        tasks = [task for task in (agent.task(rng) for _ in range(args.tasks)) for _ in range(args.repeat)]
        walks = timed("sample", lambda: agent.play(tasks, sampler, 1.0))
        rewards = np.asarray([walk.reward for walk in walks]).reshape(args.tasks, args.repeat)
        advantages = (rewards - rewards.mean(1, keepdims=True)) / (rewards.std(1, keepdims=True) + 1e-4)
        metrics = timed("train", lambda: trainer.step([to_tree(walks, advantages.reshape(-1).tolist())], LossConfig()))
        sampler.server.update_weights([])
        curve.append(float(rewards.mean()))
        ratio.append(metrics["row_tokens"] / metrics["tree_tokens"])
    return {
        "agent": agent.name, "reward_before": before, "reward_after": reward(1.0), "reward_curve": curve, "sft_steps": args.sft_steps, "grpo_steps": len(curve),
        "episodes_per_step": args.tasks * args.repeat, "held_out_tasks": args.held_out, "row_tokens_over_tree_tokens": float(np.mean(ratio)), "seconds": seconds, "dtype": args.dtype, "master_weights": args.master_weights, "matmul": args.matmul or "plain", "seed": args.seed, "parameters": sum(p.numel() for p in trainer.policy.lm.parameters()),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=8)
    parser.add_argument("--sft-steps", type=int, default=600)
    parser.add_argument("--demonstrations", type=int, default=128)
    parser.add_argument("--held-out", type=int, default=1024, help="number of tasks in the evaluations before and after")
    parser.add_argument("--grpo-steps", type=int, default=100)
    parser.add_argument("--agents", nargs="+", default=["math", "frozen_lake"])
    parser.add_argument("--seconds", type=float, default=600, help="make no further GRPO step after this many")
    parser.add_argument("--dtype", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--master-weights", default="float32", choices=["float32", "bfloat16"])
    parser.add_argument("--matmul", choices=["plain", "fp8"], help="compiles the layers; fp8 needs --hidden 512 and --dtype bfloat16")
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--pack-tokens", type=int, default=8192)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sft-rate", type=float, default=1e-3)
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--date", default="")
    parser.add_argument("--out")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows = []
    for agent in (agent for agent in (Sums(), Lake()) if agent.name in args.agents):
        rows.append(learn(agent, args, device))
        print(json.dumps(rows[-1]), flush=True)
        if args.out:
            Path(args.out).write_text(json.dumps({**header(args.date), "rows": rows}, indent=1))


if __name__ == "__main__":
    main()

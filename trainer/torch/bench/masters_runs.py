"""Does the start of the masters matter with a KL term, with samples that are one step old, after a resumption, if
processes share the weights, and with adapters?

A small model learns to add by SFT in float32 and is saved in float32. From this file, runs of GRPO in bfloat16 begin
with each start of the masters. Their rate is so low that most updates are less than half a step of bfloat16. Each row
is one run: greedy success on held-out sums after some steps, sampled success and KL of each step, and the share of
bfloat16 weights that each step changed. Under torchrun the processes share the weights by FSDP2. A row of the way
`merged` compares an adapter with the folder into which it was merged.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from cold import SessionSampler, packs_of
from learning import Sampler, Sums, Walk, small_trainer, to_rows
from shapes import find_versions, header

from ajet_torch.config import InferenceConfig, LoraConfig, OptimizerConfig, WorkerConfig
from ajet_torch.losses import LossConfig
from ajet_torch.model import DTYPES
from ajet_torch.ranks import Ranks, join_ranks, leave_ranks
from ajet_torch.session import Session
from ajet_torch.sharding import Placement

WAYS = {"plain": 0.0, "kl": 0.002, "strong-kl": 0.1, "stale": 0.0, "resumed": 0.0}
"""The coefficient of the KL term in each way. 0.002 is the default of trainer_common.kl_loss_coef."""
SLOTS, TOKENS, PACK_TOKENS = 128, 32, 4096


@dataclass(frozen=True)
class Run:
    way: str
    start: str
    rate: float
    seed: int


def imitate(args: argparse.Namespace, folder: Path) -> None:
    """Writes the model that all runs begin with."""
    options = argparse.Namespace(hidden=128, dtype="float32", seed=0, matmul=None, master_weights="float32", sft_rate=1e-3)
    trainer, rng = small_trainer(torch.device("cpu"), options), np.random.default_rng(0)
    for _ in range(args.sft_steps):
        trainer.step([to_rows([Sums().demonstration(Sums().task(rng), rng) for _ in range(128)])], LossConfig(kind="sft"))
    trainer.policy.lm.save_pretrained(folder)


def open_session(folder: Path, ranks: Ranks, seed: int, rate: float, start: str = "auto", dtype: str = "bfloat16", rank: int = 0) -> Session:
    config = WorkerConfig(
        model_dir=str(folder), device="cpu", dtype=dtype, seed=seed, master_start=start, attention="dense", optimizer=OptimizerConfig(learning_rate=rate),
        inference=InferenceConfig(slots=SLOTS, kv_tokens=TOKENS), lora=LoraConfig(rank=rank),
    )
    return Session(config, Placement(torch.device("cpu"), DTYPES[dtype], ranks, ranks.size > 1))


def weights_of(session: Session) -> list[torch.Tensor]:
    """Returns the whole weights in the compute type, which are those that answers are sampled with."""
    return [tensor.clone() for _, tensor in session.weights()]


class Practice:
    """Makes the steps of one run. The batches depend on the seed and on what the sampler answers."""

    def __init__(self, args: argparse.Namespace, session: Session, seed: int) -> None:
        self.args, self.agent, self.rng = args, Sums(), np.random.default_rng(seed)
        self.held_out = [self.agent.task(np.random.default_rng(10_000 + i)) for i in range(args.held_out)]
        self.next_seed, self.ahead = seed * 1_000_000, []
        self.use(session)

    def use(self, session: Session) -> None:
        self.session = session
        self.sampler: Sampler = SessionSampler(session)

    def sample(self) -> list[Walk]:
        tasks = [task for task in (self.agent.task(self.rng) for _ in range(self.args.tasks)) for _ in range(self.args.repeat)]
        self.sampler.next_seed = self.next_seed
        self.next_seed += len(tasks)
        return self.agent.play(tasks, self.sampler, 1.0)

    def answer(self, session: Session) -> list[Walk]:
        sampler = SessionSampler(session)
        parts = [self.held_out[at : at + SLOTS] for at in range(0, len(self.held_out), SLOTS)]
        return [walk for part in parts for walk in self.agent.play(part, sampler, 0.0)]

    def greedy(self) -> float:
        return float(np.mean([walk.reward for walk in self.answer(self.session)]))

    def step(self, kl: float = 0.0, is_stale: bool = False) -> tuple[float, float]:
        """Returns sampled success and KL. With `is_stale`, the next batch is sampled before the weights change."""
        walks = self.ahead.pop() if self.ahead else self.sample()
        if is_stale:
            self.ahead.append(self.sample())
        packs = packs_of(walks, self.args.repeat, PACK_TOKENS)
        metrics = self.session.trainer.step(packs, LossConfig(clip_low=0.2, clip_high=0.2, kl_coef=kl)) if packs else {"kl": 0.0}
        self.session.sync_weights()
        return float(np.mean([walk.reward for walk in walks])), metrics["kl"]


def learn(args: argparse.Namespace, folder: Path, ranks: Ranks, run: Run) -> dict[str, Any]:
    open_run = lambda: open_session(folder, ranks, run.seed, run.rate, run.start)  # noqa: E731
    practice = Practice(args, open_run(), run.seed)
    greedy, sampled, kl, moved = {0: practice.greedy()}, [], [], []
    for step in range(1, args.steps + 1):
        before = weights_of(practice.session)
        success, divergence = practice.step(WAYS[run.way], run.way == "stale")
        after = weights_of(practice.session)
        moved.append(sum(int((a != b).sum()) for a, b in zip(before, after)) / sum(a.numel() for a in after))
        sampled.append(success)
        kl.append(divergence)
        if step % args.evaluate_every == 0:
            greedy[step] = practice.greedy()
        if run.way == "resumed" and step == args.steps // 2:
            with tempfile.TemporaryDirectory() as saved:
                practice.session.save(f"{saved}/step")
                practice.use(open_run())
                practice.session.load(f"{saved}/step")
    return {
        "way": run.way, "processes": ranks.size, "master_start": run.start, "learning_rate": run.rate, "seed": run.seed,
        "greedy_success": greedy, "sampled_success": sampled, "kl": kl, "share_of_weights_moved": moved,
    }


def merge(args: argparse.Namespace, folder: Path, ranks: Ranks, seed: int) -> dict[str, Any]:
    """Trains an adapter, saves it merged, and compares the two: logprobs of the adapter's greedy answers, and the
    greedy answers themselves. `base` is the model without the adapter."""
    session = open_session(folder, ranks, seed, args.lora_rate, rank=args.lora_rank)
    practice = Practice(args, session, seed)
    before = practice.greedy()
    sampled = [practice.step()[0] for _ in range(args.steps)]
    with tempfile.TemporaryDirectory() as saved:
        session.save(f"{saved}/merged")
        walks = practice.answer(session)
        rows = [np.asarray(walk.ids, np.int32) for walk in walks]
        ours = answered(session, walks, rows)
        compared = {}
        for name, model, dtype in (("bfloat16", Path(saved, "merged"), "bfloat16"), ("float32", Path(saved, "merged"), "float32"), ("base", folder, "bfloat16")):
            other = open_session(model, ranks, seed, 0.0, dtype=dtype)
            found = practice.answer(other)
            compared[name] = {
                "logprob_gap_mean": float(np.abs(answered(other, walks, rows) - ours).mean()),
                "same_answers": float(np.mean([a.ids == b.ids for a, b in zip(walks, found)])), "greedy_success": float(np.mean([walk.reward for walk in found])),
            }
    return {
        "way": "merged", "learning_rate": args.lora_rate, "lora_rank": args.lora_rank, "seed": seed, "greedy_before": before,
        "greedy_after": float(np.mean([walk.reward for walk in walks])), "sampled_success": sampled, "compared": compared,
    }


def answered(session: Session, walks: list[Walk], rows: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([found[walk.sampled] for walk, found in zip(walks, session.trainer.logprobs(rows))])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True, help="the model that the runs begin with; it is made if it is absent")
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=[*WAYS, "merged"])
    parser.add_argument("--starts", nargs="+", default=["zero", "file"])
    parser.add_argument("--rates", nargs="+", type=float, default=[3e-5])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--sft-steps", type=int, default=700)
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=8)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--evaluate-every", type=int, default=5)
    parser.add_argument("--held-out", type=int, default=256)
    parser.add_argument("--lora-rank", type=int, default=8)
    parser.add_argument("--lora-rate", type=float, default=1e-3)
    parser.add_argument("--date", default="")
    parser.add_argument("--out", type=Path, help="a file that the rows are added to")
    args = parser.parse_args()
    ranks = join_ranks("cpu", None, False, 600)
    if not (args.folder / "config.json").exists():
        imitate(args, args.folder)
    facts = {**header(args.date), "versions": find_versions("peft")}
    settings = {key: getattr(args, key) for key in ("sft_steps", "tasks", "repeat", "held_out")}
    runs = [Run(way, start, rate, seed) for rate in args.rates for seed in args.seeds for way in args.ways for start in (args.starts if way in WAYS else ["auto"])]
    for run in runs:
        row = learn(args, args.folder, ranks, run) if run.way in WAYS else merge(args, args.folder, ranks, run.seed)
        if ranks.is_first:
            print(json.dumps(row), flush=True)
        if ranks.is_first and args.out:
            rows = json.loads(args.out.read_text())["rows"] if args.out.exists() else []
            args.out.write_text(json.dumps({**facts, "settings": settings, "rows": [*rows, {**row, "date": args.date, "commit": facts["commit"]}]}, indent=1) + "\n")
    leave_ranks()


if __name__ == "__main__":
    main()

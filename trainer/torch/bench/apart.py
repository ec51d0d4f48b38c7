"""How long does a whole GRPO step take if the sampler shares the trainer's GPUs, and if it has GPUs that the trainer
does not use?

The benchmark sends messages to a worker as a run does. A step samples a batch of answers, trains on them and sends the
new weights to the sampler. With a staleness of 1 it requests the next batch before it trains, as the training loop
does. Each setup gets the same batches and the same number of GPUs.

    python apart.py --gpus 4 --ways colocated apart --staleness 0 1 --out apart.json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch
from control_plane import ControlPlane, answer
from grpo_workload import ANSWERS, Answer, advantages, group_pack, workload
from rows import fill_packs
from shapes import SHAPES, commit, devices, find_versions, header

from ajet_torch.flash4 import is_available as has_flash4
from engines import PACK_TOKENS, write_model


class Batches:
    """Makes one batch a step: `groups` prompts, with the workload's lengths."""

    def __init__(self, plane: ControlPlane, case: str, groups: int, vocab: int) -> None:
        self.plane, self.case, self.groups, self.vocab = plane, case, groups, vocab
        self.pack_tokens = PACK_TOKENS[case.split("-")[0]]

    def _work(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        parts = [workload(self.case, 100 * step + part, self.vocab) for part in range(-(-self.groups // 8))]
        return np.concatenate([part.prompts for part in parts])[: self.groups], np.concatenate([part.lengths for part in parts])[: self.groups]

    def ask(self, step: int) -> list[int]:
        prompts, lengths = self._work(step)
        return [self.plane.generate(prompts[group], int(length), 1000 * step + group * ANSWERS + i) for group in range(self.groups) for i, length in enumerate(lengths[group])]

    def train(self, step: int, numbers: list[int]) -> tuple[int, int]:
        """Returns the number of the training step, and how many answers were sampled from older weights than the
        newest."""
        prompts, lengths = self._work(step)
        found = [answer(self.plane.result(number)) for number in numbers]
        gains = advantages(np.random.default_rng(step).random(lengths.shape)).reshape(-1)
        answers = [Answer(ids, logprobs, float(gain)) for (ids, logprobs, _), gain in zip(found, gains)]
        trees = [group_pack(prompt, answers[i * ANSWERS : (i + 1) * ANSWERS], 1.0 / lengths.sum()) for i, prompt in enumerate(prompts)]
        stale = sum(version < step for _, _, version in found)
        return self.plane.train_step(fill_packs(trees, self.pack_tokens), {"kind": "policy"}), stale


def run(batches: Batches, staleness: int, first: int, steps: int) -> list[dict[str, float]]:
    """Makes the steps after the first `first` optimizer steps. With staleness 1 the next batch is sampled during a
    step."""
    rows = []
    ahead = batches.ask(first)
    for step in range(first, first + steps):
        start = time.perf_counter()
        number, stale = batches.train(step, ahead)
        sampled = time.perf_counter()
        if staleness:
            ahead = batches.ask(step + 1)
        metrics = batches.plane.result(number)
        if not staleness:
            ahead = batches.ask(step + 1)
        end = time.perf_counter()
        rows.append({"waited_s": sampled - start, "trained_s": end - sampled, "step_s": end - start, "compute_s": metrics["step_seconds"], "sync_s": metrics["sync_seconds"], "stale_answers": stale})
        print(json.dumps({"step": step, "staleness": staleness, **{key: round(value, 3) for key, value in rows[-1].items()}}), flush=True)
    for number in ahead:
        batches.plane.result(number)
    return rows


def measure(way: str, args: argparse.Namespace, keep: Callable[[dict[str, Any]], None]) -> None:
    """Calls `keep` with each row as soon as it is measured."""
    vocab = SHAPES[args.model].vocab
    is_apart, is_vllm = way == "apart", way != "builtin"
    trainers = args.gpus // 2 if is_apart else args.gpus
    sampling = args.gpus // 2 if is_apart else args.gpus
    parallel = (args.tensor_parallel or sampling) if is_vllm else 1
    replicas = sampling // parallel if is_vllm else 1
    tokens = workload(args.case, 0, vocab).context
    slots = -(-args.groups * ANSWERS // (replicas if is_vllm else args.gpus))
    inference: dict[str, Any] = {"server": "vllm" if is_vllm else "builtin", "kv_tokens": tokens, "slots": slots}
    if is_vllm:
        inference |= {"tensor_parallel_size": parallel, "num_replicas": replicas, "colocated": not is_apart, "gpu_memory_utilization": 0.0 if is_apart else args.memory}
    config = {"model_dir": str(args.model_dir), "max_pack_tokens": PACK_TOKENS[args.case.split("-")[0]], "inference": inference, "optimizer": {"learning_rate": 1e-6}}
    start = time.perf_counter()
    plane = ControlPlane(config, trainers)
    started = time.perf_counter() - start
    rows: list[dict[str, Any]] = []
    made = 0
    try:
        batches = Batches(plane, args.case, args.groups, vocab)
        for staleness in args.staleness if is_apart else [0]:
            steps = run(batches, staleness, made, args.warmup + args.steps)
            first_step = rows[0]["first_step_s"] if rows else started + steps[0]["step_s"]
            made += len(steps)
            kept = steps[args.warmup :]
            median = {key: float(np.median([step[key] for step in kept])) for key in kept[0] if key != "stale_answers"}
            rows.append({
                "way": way, "max_staleness": staleness, "model": args.model, "case": args.case, "gpus": args.gpus, "training_gpus": trainers, "sampler": inference["server"], "tensor_parallel_size": parallel,
                "num_replicas": replicas, "answers_a_step": args.groups * ANSWERS, **median, "stale_answers": kept[-1]["stale_answers"], "start_s": started, "first_step_s": first_step, "steps": len(kept), "warmup": args.warmup,
                "step_s_each": [round(step["step_s"], 3) for step in kept], "date": args.date, "commit": commit(), "device": devices(args.gpus),
                "versions": find_versions(*(name for name, used in (("vllm", is_vllm), ("flash-attn-4", has_flash4())) if used)),
            })
            keep(rows[-1])
    finally:
        plane.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpus", type=int, default=4)
    parser.add_argument("--ways", nargs="+", default=["apart", "colocated", "builtin"], choices=["apart", "colocated", "builtin"])
    parser.add_argument("--staleness", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--case", default="2k-real")
    parser.add_argument("--groups", type=int, default=32)
    parser.add_argument("--model", default="1.5B")
    parser.add_argument("--model-dir", type=Path, default=Path("/tmp/ajet-engines-model"))
    parser.add_argument("--tensor-parallel", type=int, default=0, help="GPUs of each vLLM server; 0: one server on all GPUs that sample")
    parser.add_argument("--memory", type=float, default=0.25, help="vLLM's share of a GPU that it has together with the trainer")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--date", default="")
    parser.add_argument("--out", type=Path, default=Path("apart.json"))
    args = parser.parse_args()
    write_model(args.model, args.model_dir)
    torch.cuda.is_available() and torch.cuda.empty_cache()
    rows: list[dict[str, Any]] = []

    def keep(row: dict[str, Any]) -> None:
        rows.append(row)
        print(json.dumps(row), flush=True)
        args.out.write_text(json.dumps({**header(args.date), "rows": rows}, indent=1) + "\n")

    for way in args.ways:
        try:
            measure(way, args, keep)
        except Exception as error:
            keep({"way": way, "error": str(error)[:500]})


if __name__ == "__main__":
    main()

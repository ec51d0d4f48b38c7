"""How long does a whole GRPO step take with our trees, with our rows and with TRL?

All engines run in one process on one GPU and take turns. A step samples 64 answers (8 prompts x 8), makes one optimizer
step with them and sends the new weights to the sampler. Every engine has the same model shape with random weights, the
same prompts and the same answer lengths. A row has medians over `--steps` steps after `--warmup` steps. It replaces the
row of the same engine and case in --out.

    python engines.py --out results/engines.json --date 2026-11-22
    python engines.py --engines ajet-tree --cases 2k-real --out results/engines.json
    torchrun --nproc-per-node=4 engines.py --engines trl --out results/engines-4.json  # 64 answers a GPU
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable, Protocol

import numpy as np
import torch
from grpo_workload import ANSWERS, PROMPTS, Answer, Workload, advantages, group_pack, workload
from rows import fill_packs, to_rows
from shapes import SHAPES, devices, find_versions, header, random_lm, synchronize

from ajet_torch.config import InferenceConfig, OptimizerConfig, WorkerConfig
from ajet_torch.flash4 import is_available as has_flash4
from ajet_torch.losses import LossConfig
from ajet_torch.model import choose_device
from ajet_torch.optimizer import PlainAdamW, RoundedAdamW, SplitAdamW
from ajet_torch.pack import TreePack
from ajet_torch.ranks import Ranks, join_ranks, leave_ranks
from ajet_torch.sampling.builtin import BuiltinServer
from ajet_torch.sampling.server import SampleRequest
from ajet_torch.session import Session
from ajet_torch.sharding import Placement

ENGINES = ("trl", "ajet-tree", "trl-fp32", "ajet-rows")
PAIRS = (("trl", "ajet-tree"), ("trl-fp32", "ajet-rows"))
CASES = ("2k-equal", "2k-real", "8k-equal", "8k-real")
LONGEST_CONTEXT = 8192 + 1024
MASTERS = {SplitAdamW: "float32 (bfloat16 and 16 more bits)", PlainAdamW: "float32", RoundedAdamW: "bfloat16, rounded at random"}
PACK_TOKENS = {"2k": 20_480, "8k": 16_384, "tiny": 512}


class Engine(Protocol):
    def step(self, number: int) -> dict[str, float]:
        """Makes the step `number`, counted from 0. Returns its seconds: sample_s, train_s, sync_s and step_s."""
        ...

    def settings(self) -> dict[str, Any]: ...

    def close(self) -> None: ...


class Ours:
    """Calls a worker's session directly, in this process. It reads the sampled tokens from the session's events, and
    trains on packs of them."""

    session: Session | None = None

    def __init__(self, model_dir: str, work: list[Workload], shares: bool, ranks: Ranks, master_weights: str) -> None:
        self.work, self.shares, self.ranks = work, shares, ranks
        context, self.pack_tokens = work[0].context, PACK_TOKENS[work[0].name.split("-")[0]]
        inference = InferenceConfig(slots=PROMPTS * ANSWERS, kv_tokens=context)
        config = WorkerConfig(
            model_dir=model_dir, max_pack_tokens=self.pack_tokens, inference=inference, optimizer=OptimizerConfig(learning_rate=1e-6), master_weights=master_weights,
        )
        if Ours.session is None:
            device = choose_device("auto", ranks.local_rank)
            dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
            Ours.session = Session(config, Placement(device, dtype, ranks, ranks.size > 1))
        self.own = Ours.session
        self.own.trainer.config = replace(self.own.trainer.config, max_pack_tokens=self.pack_tokens)
        # Create a new server, because the context length depends on the case.
        self.own.server = BuiltinServer(self.own.server.policy, inference, self.own.placement.device)

    def settings(self) -> dict[str, Any]:
        return {
            "master_weights": MASTERS[type(self.own.trainer.optimizer)], "compute": "bfloat16", "attention": "flash-attn-4" if has_flash4() else "flex", "pack_tokens": self.pack_tokens,
            "sampler": f"builtin, {type(self.own.server.steps).__name__}", "max_model_len": self.own.server.context_length,
        }

    def step(self, number: int) -> dict[str, float]:
        synchronize()
        start = time.perf_counter()
        answers = self._sample(self.work[number], number)
        sampled = time.perf_counter()
        self.own.trainer.step(self._all_packs(self.work[number], answers), LossConfig())
        synchronize()
        trained = time.perf_counter()
        self.own.sync_weights()
        synchronize()
        end = time.perf_counter()
        return {"sample_s": sampled - start, "train_s": trained - sampled, "sync_s": end - trained, "step_s": end - start}

    def _sample(self, work: Workload, number: int) -> list[tuple[list[int], list[float]]]:
        lengths = work.lengths.reshape(-1)
        waiting = [
            SampleRequest(i, work.prompts[i // ANSWERS], 1.0, 1.0, 0, int(length), frozenset(), number * len(lengths) + i, False) for i, length in enumerate(lengths)
        ]
        found: list[tuple[list[int], list[float]]] = [([], []) for _ in waiting]
        server = self.own.server
        while waiting or server.is_busy() or server.has_queue():
            for event in self.own.sample(waiting, [], 1):
                found[event.id][0].append(event.token)
                found[event.id][1].append(event.logprob)
            waiting = []
        return found

    def _all_packs(self, work: Workload, found: list[tuple[list[int], list[float]]]) -> list[TreePack]:
        """Gathers the packs of all processes. Each process has sampled its own prompts."""
        packs = self._packs(work, found)
        return [pack for own in self.ranks.share(self.ranks.gather(packs)) for pack in own]

    def _packs(self, work: Workload, found: list[tuple[list[int], list[float]]]) -> list[TreePack]:
        gains = advantages(np.random.default_rng(len(found)).random(work.lengths.shape)).reshape(-1)
        answers = [Answer(np.asarray(ids, np.int32), np.asarray(logprobs), float(gain)) for (ids, logprobs), gain in zip(found, gains)]
        weight = 1.0 / work.lengths.sum() / self.ranks.size
        trees = [group_pack(prompt, answers[i * ANSWERS : (i + 1) * ANSWERS], weight) for i, prompt in enumerate(work.prompts)]
        return fill_packs(trees if self.shares else [row for tree in trees for row in to_rows(tree)], self.pack_tokens)

    def close(self) -> None:
        self.own.server.close()


def create(engine: str, model_dir: str, work: list[Workload], args: argparse.Namespace, ranks: Ranks) -> Engine:
    if engine.startswith("ajet"):
        return Ours(model_dir, work, engine == "ajet-tree", ranks, args.master_weights)
    from trl_engine import TrlEngine

    dtype = torch.float32 if engine == "trl-fp32" else torch.bfloat16
    everybodys = [works(work[0].name, rank, args) for rank in range(int(os.environ.get("WORLD_SIZE", 1)))]
    return TrlEngine(model_dir, dtype, work, LONGEST_CONTEXT, args.attention, prompts=[own.prompts for step in zip(*everybodys) for own in step])


def works(case: str, rank: int, args: argparse.Namespace) -> list[Workload]:
    """Returns the workloads that this process samples, one for each step."""
    return [workload(case, 1000 * rank + step, SHAPES[args.model].vocab) for step in range(args.warmup + args.steps)]


def measure(names: list[str], case: str, args: argparse.Namespace, made: Callable[[str, list[Workload]], Engine]) -> list[dict[str, Any]]:
    """Returns one row for each engine. The engines take turns after every step."""
    work = works(case, int(os.environ.get("RANK", 0)), args)
    engines = {name: made(name, work) for name in names}
    steps: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    peaks = dict.fromkeys(names, 0.0)
    for number in range(len(work)):
        for name, engine in engines.items():
            torch.cuda.is_available() and torch.cuda.reset_peak_memory_stats()
            steps[name].append(engine.step(number))
            peaks[name] = max(peaks[name], torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else 0.0)
            print(case, name, number, {key: round(value, 3) for key, value in steps[name][-1].items()}, flush=True)
    rows = [to_row(name, work[0], steps[name], args, peaks[name], engine.settings()) for name, engine in engines.items()]
    for engine in engines.values():
        engine.close()
    engines.clear()
    gc.collect()
    torch.cuda.is_available() and torch.cuda.empty_cache()
    return rows


def to_row(name: str, work: Workload, steps: list[dict[str, float]], args: argparse.Namespace, peak: float, settings: dict[str, Any]) -> dict[str, Any]:
    kept, num_gpus = steps[args.warmup :], int(os.environ.get("WORLD_SIZE", 1))
    median = {key: float(np.median([step[key] for step in kept])) for key in ("sample_s", "train_s", "sync_s", "step_s")}
    return {
        "engine": name, "case": work.name, **median, "row_tokens_per_second": num_gpus * work.row_tokens / median["step_s"], "peak_gib": peak,
        "settings": {
            **settings, "model": args.model, "gpus": num_gpus, "prompts": num_gpus * PROMPTS, "answers": ANSWERS, "prompt_tokens": work.prompts.shape[1], "answer_tokens": num_gpus * int(work.lengths.sum()),
            "longest_answer": int(work.lengths.max()), "learning_rate": 1e-6, "steps": len(kept), "warmup": args.warmup, "step_s_each": [round(step["step_s"], 3) for step in kept],
        },
        "versions": versions(name), "device": devices(num_gpus),
    }


def versions(name: str) -> dict[str, str]:
    if name.startswith("trl"):
        import trl_engine

        return find_versions(*trl_engine.PACKAGES)
    return find_versions(*(["flash-attn-4"] if has_flash4() else []))


def merge(out: Path, rows: list[dict[str, Any]], date: str) -> None:
    """Replaces the rows of the same engine and case with the new ones, and adds the date and the commit to each."""
    kept = json.loads(out.read_text()) if out.exists() else {}
    facts = header(date)
    known = {(row["engine"], row["case"]): row for row in kept.get("engines", [])}
    known |= {(row["engine"], row["case"]): {**row, "date": facts["date"], "commit": facts["commit"]} for row in rows}
    places = [(engine, case) for case in CASES for engine in ("trl", "trl-fp32", "ajet-tree", "ajet-rows")]
    ordered = sorted(known.values(), key=lambda row: places.index((row["engine"], row["case"])) if (row["engine"], row["case"]) in places else len(places))
    out.write_text(json.dumps({**kept, **facts, "engines": ordered}, indent=1) + "\n")


def write_model(name: str, folder: Path) -> None:
    """Writes the model file that all processes of the machine read at their start."""
    if (folder / "config.json").exists():
        return
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    random_lm(name, device, torch.bfloat16, "sdpa").save_pretrained(folder)
    from trl_engine import write_tokenizer

    write_tokenizer(folder, SHAPES[name].vocab)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=ENGINES)
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--model", default="1.5B")
    parser.add_argument("--model-dir", type=Path, default=Path(tempfile.gettempdir()) / "ajet-engines-model", help="random weights are written here if it is empty")
    parser.add_argument("--attention", help="attention of TRL's model, e.g. flash_attention_4; defaults to transformers' own")
    parser.add_argument("--master-weights", default="float32", choices=["float32", "bfloat16"], help="of our engines")
    parser.add_argument("--together", action="store_true", help="run all engines in one process by turns, instead of two at a time")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--date", default="")
    parser.add_argument("--out", type=Path, default=Path("engines.json"))
    args = parser.parse_args()
    rank, local_rank = int(os.environ.get("RANK", 0)), int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.is_available() and torch.cuda.set_device(local_rank)
    ours = all(name.startswith("ajet") for name in args.engines)
    ranks = join_ranks("cuda" if torch.cuda.is_available() else "cpu", os.environ.get("AJET_STORE"), False, 600) if ours else Ranks(rank, 1, local_rank)
    write_model(args.model, args.model_dir)
    start = time.perf_counter()
    for pair in (ENGINES,) if args.together else PAIRS:
        names = [name for name in pair if name in args.engines]
        for case in args.cases if names else []:
            rows = measure(names, case, args, lambda name, work: create(name, str(args.model_dir), work, args, ranks))
            if rank > 0:
                continue
            merge(args.out, rows, args.date)
            print(f"{time.perf_counter() - start:.0f} s", json.dumps([{key: row[key] for key in ("engine", "case", "step_s")} for row in rows]), flush=True)
    leave_ranks()


if __name__ == "__main__":
    main()

"""How long does the first run on a machine take, including compilation?

The run makes GRPO steps on the JSON task of `masters.py`. The folders for compiled code are empty, and the clock starts
with the first request for samples. A process keeps compiled code in memory, so each process measures one setting, with
a folder that no other process uses.

    XDG_CACHE_HOME=$(mktemp -d) python cold.py FOLDER --pack-tokens 4096 --out cold.json
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ajet_torch.compile_cache import keep_compiled

keep_compiled()  # before PyTorch is imported, which sets its own folder in the environment

import numpy as np  # noqa: E402
import torch  # noqa: E402
from masters import KV_TOKENS, Agent, to_folder  # noqa: E402
from rows import fill_packs  # noqa: E402
from shapes import commit, devices, find_versions, synchronize  # noqa: E402
from transformers import AutoTokenizer  # noqa: E402

from ajet_torch.compile_clock import CompileClock  # noqa: E402
from ajet_torch.config import InferenceConfig, OptimizerConfig, WorkerConfig  # noqa: E402
from ajet_torch.losses import LossConfig  # noqa: E402
from ajet_torch.model import choose_device, choose_dtype  # noqa: E402
from ajet_torch.pack import TreePack, padded_length  # noqa: E402
from ajet_torch.ranks import Ranks  # noqa: E402
from ajet_torch.session import Session  # noqa: E402
from ajet_torch.sharding import Placement  # noqa: E402
from learning import Sampler, Walk, to_tree  # noqa: E402


class SessionSampler(Sampler):
    """Samples through the session's server."""

    def __init__(self, session: Session) -> None:
        self.server: Any = session.server
        self.next_seed = 0


def packs_of(walks: list[Walk], repeat: int, budget: int) -> list[TreePack]:
    """Packs each group whose rewards differ as a tree, one group after the other."""
    groups = [walks[start : start + repeat] for start in range(0, len(walks), repeat)]
    chosen = [group for group in groups if len({walk.reward for walk in group}) > 1]
    total = sum(len(walk.sampled) for group in chosen for walk in group)
    trees = []
    for group in chosen:
        rewards = np.asarray([walk.reward for walk in group])
        tree = to_tree(group, ((rewards - rewards.mean()) / (rewards.std(ddof=1) + 1e-6)).tolist())
        share = np.float32(sum(len(walk.sampled) for walk in group) / total)
        trees.append(replace(tree, terms=replace(tree.terms, weights=tree.terms.weights * share)))
    return fill_packs(trees, budget)


def run(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    device = choose_device("auto", 0)
    inference = InferenceConfig(slots=args.tasks * args.repeat, kv_tokens=KV_TOKENS)
    config = WorkerConfig(model_dir=str(folder), seed=args.seed, max_pack_tokens=args.pack_tokens, inference=inference, optimizer=OptimizerConfig(learning_rate=args.rate))
    started = time.perf_counter()
    session = Session(config, Placement(device, choose_dtype("auto", device), Ranks(0, 1, 0), False))
    agent, sampler, rng = Agent(AutoTokenizer.from_pretrained(folder), args.task), SessionSampler(session), np.random.default_rng(args.seed)
    compiling = CompileClock()
    begin = time.perf_counter()
    sizes: list[int] = []
    seconds: dict[str, list[float]] = {"sample": [], "train": [], "sync": []}
    success = []
    for _ in range(args.steps):
        times = [time.perf_counter()]
        tasks = [agent.task(rng) for _ in range(args.tasks)]
        walks = agent.play([task for task in tasks for _ in range(args.repeat)], sampler, 1.0)
        success.append(float(np.mean([walk.reward for walk in walks])))
        times.append(time.perf_counter())
        packs = packs_of(walks, args.repeat, args.pack_tokens)
        sizes += [padded_length(pack.num_tokens, args.pack_tokens) for pack in packs]
        packs and session.trainer.step(packs, LossConfig(clip_low=0.2, clip_high=0.2, dual_clip=3.0))
        synchronize()
        times.append(time.perf_counter())
        session.sync_weights()
        synchronize()
        times.append(time.perf_counter())
        for name, spent in zip(seconds, np.diff(times)):
            seconds[name].append(round(float(spent), 4))
        print(len(success), success[-1], seconds["sample"][-1], seconds["train"][-1], [padded_length(pack.num_tokens, args.pack_tokens) for pack in packs], flush=True)
    return {
        "max_pack_tokens": args.pack_tokens, "steps": args.steps, "seconds": time.perf_counter() - begin, "seconds_compiling": compiling.seconds, "compilations": compiling.times,
        "sizes": sorted(set(sizes)), "sample_s": seconds["sample"], "train_s": seconds["train"], "sync_s": seconds["sync"], "sampled_success": success, "session_s": begin - started,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else 0.0, "learning_rate": args.rate, "seed": args.seed, "task": args.task,
        "batch": [args.tasks, args.repeat], "date": args.date, "commit": commit(), "device": devices(1), "versions": find_versions(),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path, help="a Hugging Face folder, or a GGUF file")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/masters-model"), help="folder for the model of a GGUF file")
    parser.add_argument("--pack-tokens", type=int, default=4096)
    parser.add_argument("--task", default="five")
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=8)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--note", default="", help="kept in the row")
    parser.add_argument("--date", default="")
    parser.add_argument("--out", type=Path, default=Path("cold.json"))
    args = parser.parse_args()
    folder = args.model
    if args.model.is_file():
        folder = args.folder
        (folder / "config.json").exists() or to_folder(args.model, folder)
    row = {**run(args, folder), **({"note": args.note} if args.note else {})}
    kept = json.loads(args.out.read_text())["rows"] if args.out.exists() else []
    args.out.write_text(json.dumps({"rows": [*kept, row]}, indent=1) + "\n")
    print(json.dumps({key: value for key, value in row.items() if not isinstance(value, list)}), flush=True)


if __name__ == "__main__":
    main()

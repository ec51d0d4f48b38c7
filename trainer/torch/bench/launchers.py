"""Do two launchers of two GPUs make the same steps as one launcher of four GPUs, and how fast are they?

Run the script under one launcher first, and then under two:

    torchrun --nproc-per-node=4 launchers.py --out one.json
    torchrun --nnodes=2 --nproc-per-node=2 --rdzv-backend=c10d --rdzv-endpoint=HOST:29500 launchers.py --out two.json   # twice

All runs begin with the same random weights and train on the same packs. The first run saves its last weights in
--weights. The other runs report the distance of their weights from the saved ones, relative to the distance that
training has moved them.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import torch

from ajet_torch.config import OptimizerConfig, WorkerConfig
from ajet_torch.losses import LossConfig
from ajet_torch.model import choose_device
from ajet_torch.ranks import Ranks, join_ranks, leave_ranks
from ajet_torch.training import Placement, Trainer
from shapes import SHAPES, full_row, header, random_lm, synchronize


def compare(trainer: Trainer, kept: Path, is_first: bool) -> dict[str, float]:
    """Gathers the weights from every process. The first process compares them."""
    if kept.exists() and is_first:
        known = torch.load(kept, mmap=True)
    else:
        known = None
    weights, apart, size, worst = {}, 0.0, 0.0, 0.0
    for name, parameter in trainer.policy.lm.named_parameters():
        whole = parameter.detach().full_tensor() if hasattr(parameter, "full_tensor") else parameter.detach()
        if not is_first:
            continue
        if known is None:
            weights[name] = whole.cpu()
            continue
        gap = whole.double() - known[name].to(whole.device).double()
        apart, size = apart + float(gap.square().sum()), size + float(whole.double().square().sum())
        worst = max(worst, float(gap.abs().max()))
    if known is None:
        if is_first:
            torch.save(weights, kept)
        return {}
    return {"weights_relative": (apart / size) ** 0.5, "weights_max_abs": worst}


def run(args: argparse.Namespace, ranks: Ranks) -> dict[str, object]:
    device = choose_device("auto", ranks.local_rank)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    placement = Placement(device, dtype, ranks, True)
    config = WorkerConfig(max_pack_tokens=max(args.tokens, 1024), optimizer=OptimizerConfig(learning_rate=args.rate), shard_over=args.shard_over)
    trainer = Trainer(config, placement, random_lm(args.model, device, placement.master_dtype))
    packs = [full_row(args.tokens, SHAPES[args.model].vocab) for _ in range(args.packs)]
    steps, seconds = [], []
    for _ in range(args.steps):
        synchronize()
        start = time.perf_counter()
        steps.append(trainer.step(packs, LossConfig(kind="sft")))
        synchronize()
        seconds.append(time.perf_counter() - start)
    compared = compare(trainer, Path(args.weights), ranks.is_first)
    peak = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else 0.0
    return {
        "model": args.model, "launchers": ranks.num_nodes, "gpus": ranks.size, "shard_over": args.shard_over, "tokens_per_pack": args.tokens, "packs_per_step": args.packs,
        "losses": [step["loss"] for step in steps], "grad_norms": [step["grad_norm"] for step in steps], **compared,
        "seconds_per_step": float(torch.tensor(seconds[2:]).median()), "peak_gib": peak, "learning_rate": args.rate,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="1.5B")
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--packs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--rate", type=float, default=1e-5)
    parser.add_argument("--shard-over", default="node", choices=["node", "all"])
    parser.add_argument("--weights", default="/tmp/launchers-weights.pt")
    parser.add_argument("--date", default="")
    parser.add_argument("--out", default="launchers.json")
    args = parser.parse_args()
    ranks = join_ranks("cuda" if torch.cuda.is_available() else "cpu", os.environ.get("AJET_STORE"), True, 300)
    found = run(args, ranks)
    if ranks.is_first:
        print(json.dumps(found), flush=True)
        Path(args.out).write_text(json.dumps({**header(args.date), "rows": [found]}, indent=1) + "\n")
    ranks.barrier()
    leave_ranks()


if __name__ == "__main__":
    main()

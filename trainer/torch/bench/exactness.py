"""Does the GPU path compute the same gradient for a tree as for its rows, and how often does it recompile?

The benchmark compares the bf16 gradient of the tree with that of the rows. The noise floor is the bf16 distance between
two linear packings of the same rows: each row alone, and all rows in one pack.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import torch

from ajet_torch.config import WorkerConfig
from ajet_torch.losses import LossConfig
from ajet_torch.pack import TreePack
from ajet_torch.ranks import Ranks
from ajet_torch.training import Placement, Trainer
from rows import side_by_side, to_rows
from shapes import SHAPES, Node, header, lay_out, random_lm

LOSS = LossConfig(kind="sft")


def gradient(trainer: Trainer, packs: list[TreePack]) -> torch.Tensor:
    trainer.optimizer.clear()
    sums: dict[str, torch.Tensor] = {}
    for pack in packs:
        trainer.backward(trainer.place(pack), LOSS)
        for name, p in trainer.policy.lm.named_parameters():
            if p.grad is not None:
                sums[name] = sums[name] + p.grad.float() if name in sums else p.grad.float()
                p.grad = None
    return torch.cat([x.flatten() for x in sums.values()])


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).norm() / b.norm())


def random_tree(rng: np.random.Generator, depth: int, lengths: tuple[int, int]) -> Node:
    children = [random_tree(rng, depth - 1, lengths) for _ in range(rng.integers(2, 4))] if depth else []
    return Node(int(rng.integers(*lengths)), bool(rng.random() < 0.7) or not children, children)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="0.5B")
    parser.add_argument("--trees", type=int, default=3)
    parser.add_argument("--depth", type=int, default=3)
    parser.add_argument("--date", default="")
    parser.add_argument("--out")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    lengths = (60, 300) if device.type == "cuda" else (2, 9)
    lm = random_lm(args.model, device, torch.bfloat16)
    trainer = Trainer(WorkerConfig(max_pack_tokens=8192), Placement(device, torch.bfloat16, Ranks(0, 1, 0), False), lm)
    exact = Trainer(WorkerConfig(compile="off", attention="dense"), Placement(device, torch.float32, Ranks(0, 1, 0), False), random_lm(args.model, device, torch.bfloat16).float())
    torch.backends.cuda.matmul.allow_tf32 = False
    results = []
    for seed in range(args.trees):
        rng = np.random.default_rng(seed)
        pack = lay_out([random_tree(rng, args.depth, lengths)], SHAPES[args.model].vocab, rng)
        rows = to_rows(pack)
        truth = gradient(exact, rows) if seed == 0 else None
        tree, separate, packed = gradient(trainer, [pack]), gradient(trainer, rows), gradient(trainer, [side_by_side(rows)])
        floor = distance(packed, separate)
        result = {
            "rows": len(rows), "row_tokens": pack.row_tokens, "tree_tokens": pack.num_tokens, "noise_floor": floor,
            "tree_to_rows": distance(tree, separate), "over_floor": distance(tree, separate) / floor if floor else None,
        }
        if truth is not None:
            result |= {"tree_to_fp32": distance(tree, truth), "rows_to_fp32": distance(separate, truth), "fp32_tree_to_rows": distance(gradient(exact, [pack]), truth)}
        print(json.dumps(result), flush=True)
        results.append(result)
    if args.out:
        with open(args.out, "w") as file:
            json.dump({**header(args.date), "model": args.model, "rows": results}, file, indent=1)


if __name__ == "__main__":
    main()

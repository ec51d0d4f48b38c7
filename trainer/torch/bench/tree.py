"""How much faster does a token tree train than its rows?

The baselines are those of tree training:

    B0  rows, padded to the longest
    B1  rows, packed without sharing under the same token budget: the better of one row a pack and filled packs
    B2  B1 after merging rows that continue one another
    B3  trees that share only the prompt

B1 is the fair baseline. All baselines use the same trainer, losses, and kernels for rows. `speedup` compares forward
and backward of the whole workload; `speedup_step` adds clipping and AdamW once. `rows_per_row_sdpa` is the time of
plain rows through the SDPA (flash) of transformers, as in the sketch of `step.py`.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from ajet_torch.config import WorkerConfig
from ajet_torch.losses import LossConfig
from ajet_torch.pack import TreePack
from ajet_torch.ranks import Ranks
from ajet_torch.training import Placement, Trainer
from recorded import load as recorded
from rows import fill_packs, pad_to_longest, side_by_side, to_rows
from shapes import PEAK_FLOPS, SHAPES, Node, header, lay_out, random_lm, step_flops, timed

LOSS = LossConfig()


def group(prompt: int, answers: int, length: int) -> list[Node]:
    """Makes a GRPO group: answers of equal length over one prompt."""
    return [Node(prompt, False, [Node(length, True) for _ in range(answers)])]


def multi_turn(turns: int, system: int, thought: int, answer: int, observation: int) -> list[Node]:
    """Makes the rows of an agent that removes its thoughts from the history.

    Each turn is a leaf: a thought and an answer. The history continues with the answer, without the thought, and the
    next observation. The thoughts and answers of the leaves are trained.
    """
    node: Node | None = None
    for _ in range(turns):
        leaf = Node(thought + answer, True)
        node = Node(answer + observation, False, [leaf] if node is None else [leaf, node])
    assert node is not None
    node.length = system
    return [node]


def unshared(lengths: list[int], answer: int) -> list[Node]:
    return [Node(length - answer, False, [Node(answer, True)]) for length in lengths]


def werewolves(players: int, rules: int, turns: int, rng: np.random.Generator) -> list[Node]:
    """Makes the rows of players who share the rules and then have separate histories. Every other turn rewrites the
    history before it."""
    def player(left: int) -> Node:
        speech = Node(int(rng.integers(60, 160)), True)
        seen = int(rng.integers(150, 400))
        if left == 0:
            return Node(seen, False, [speech])
        if left % 2:
            return Node(seen, False, [speech, player(left - 1)])
        speech.children = [player(left - 1)]
        return Node(seen, False, [speech])

    return [Node(rules, False, [player(turns) for _ in range(players)])]


WORKLOADS = {
    "tiny": lambda: group(40, 3, 9),
    "grpo-8x1024-over-8192": lambda: group(8192, 8, 1024),
    "grpo-16x768-over-4096": lambda: group(4096, 16, 768),
    "grpo-8x1792-over-2048": lambda: group(2048, 8, 1792),
    "multi-turn-20-leaves": lambda: multi_turn(20, 1536, 384, 128, 256),
    "werewolves-9-players": lambda: werewolves(9, 1200, 5, np.random.default_rng(0)),
    "no-sharing": lambda: unshared([1024] * 16, 512),
    **{f"recorded-{name}": partial(recorded, name) for name in ("math-agent", "frozen-lake", "werewolves")},
    "no-sharing-mixed": lambda: unshared([3000, 2500, 2000, 1800, 1500, 1300, 1100, 900, 700, 600, 500, 400], 300),
}


@dataclass(frozen=True)
class Baselines:
    tree: list[TreePack]
    padded: list[TreePack]
    single: list[TreePack]
    packed: list[TreePack]
    prompt_only: list[TreePack]


def baselines(name: str, vocab: int) -> Baselines:
    roots = WORKLOADS[name]()
    pack = lay_out(roots, vocab, np.random.default_rng(0))
    rows = to_rows(pack)
    return Baselines([pack], pad_to_longest(rows), rows, fill_packs(rows, pack.num_tokens), share_prompt_only(pack, rows, pack.num_tokens))


def share_prompt_only(pack: TreePack, rows: list[TreePack], budget: int) -> list[TreePack]:
    """Makes packs under the budget. Each pack holds the root segment once, and the rest of every row separately."""
    if pack.ends[0] != pack.num_tokens:
        return fill_packs(rows, budget)
    prompt = int(np.argmax(pack.ends != pack.ends[0])) or pack.num_tokens
    first = min(int(row.predictors[0]) for row in rows if len(row.predictors)) + 1
    prompt = min(prompt, first)
    bins: list[list[TreePack]] = []
    for row in rows:
        own = row.num_tokens - prompt
        if not bins or prompt + sum(other.num_tokens - prompt for other in bins[-1]) + own > budget:
            bins.append([])
        bins[-1].append(row)
    return [graft(prompt, chosen) for chosen in bins]


def graft(prompt: int, rows: list[TreePack]) -> TreePack:
    """Lays out rows with one prompt as a tree of depth two."""
    cut = [TreePack(row.ids[prompt:], row.positions[prompt:], row.ends[prompt:] - prompt, row.predictors - prompt, row.targets, row.terms, row.row_tokens) for row in rows]
    forest = side_by_side(cut)
    head = np.arange(prompt, dtype=np.int32)
    before = forest.predictors.astype(np.int64)
    answers_prompt = np.concatenate([row.predictors < 0 for row in cut])
    predictors = np.where(answers_prompt, prompt - 1, before + prompt).astype(np.int32)
    total = prompt + forest.num_tokens
    return TreePack(
        np.concatenate([rows[0].ids[:prompt], forest.ids]), np.concatenate([head, forest.positions]),
        np.concatenate([np.full(prompt, total, np.int32), forest.ends + prompt]).astype(np.int32), predictors, forest.targets, forest.terms, forest.row_tokens,
    )


def gradient_seconds(trainer: Trainer, workloads: list[list[TreePack]], repeats: int) -> list[float]:
    """Returns the median seconds of forward and backward over the packs of each workload. The workloads take turns,
    because a GPU at its power limit slows down as it warms. The first turn compiles and does not count."""
    placed = [[trainer.place(pack) for pack in packs] for packs in workloads]

    def run(packs: list[TreePack]) -> None:
        for pack in packs:
            trainer.backward(pack, LOSS)
        trainer.optimizer.clear()

    for packs in placed:
        timed(lambda: run(packs), 1, warmup=1)
    turns = [[timed(lambda: run(packs), 1, warmup=0) for packs in placed] for _ in range(repeats)]
    return [float(median) for median in np.median(turns, axis=0)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS)[1:])
    parser.add_argument("--model", default="1.5B")
    parser.add_argument("--attention", default="auto")
    parser.add_argument("--stride", type=int, default=512, help="packs are padded to multiples of it")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--date", default="")
    parser.add_argument("--out")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    config = WorkerConfig(max_pack_tokens=8 * args.stride, attention=args.attention)
    trainer = Trainer(config, Placement(device, torch.bfloat16, Ranks(0, 1, 0), False), random_lm(args.model, device, torch.bfloat16))
    warm = lay_out([Node(512, True)], SHAPES[args.model].vocab, np.random.default_rng(0))
    update = timed(lambda: trainer.step([warm], LOSS), 3) - gradient_seconds(trainer, [[warm]], 3)[0]
    results = []
    for name in args.workloads:
        cases = baselines(name, SHAPES[args.model].vocab)
        # Measures B0 only if its rows have one length. Every other length would have to be compiled.
        few_lengths = len({row.num_tokens for row in cases.single}) == 2
        packs = [cases.tree, cases.padded, cases.packed, cases.prompt_only, *([cases.single] if few_lengths else [])]
        tree, *others = gradient_seconds(trainer, packs, args.repeats)
        tree_mfu = step_flops(args.model, cases.tree) / tree / PEAK_FLOPS
        rows = min(value for at, value in enumerate(others) if at != 2)
        seconds = {"B0": others[0], "B1": rows, "B2": rows, "B3": others[2]}
        flops = {"B1": step_flops(args.model, cases.single) / step_flops(args.model, cases.tree)}
        for baseline, value in seconds.items():
            row = {
                "workload": name, "baseline": baseline, "speedup": value / tree, "speedup_step": (value + update) / (tree + update),
                "row_tokens": cases.tree[0].row_tokens, "tree_tokens": cases.tree[0].num_tokens, "token_ratio": cases.tree[0].row_tokens / cases.tree[0].num_tokens,
                "flops_ratio": flops.get(baseline), "tree_seconds": tree, "baseline_seconds": value, "tree_mfu": tree_mfu, "model": args.model,
            }
            results.append(row)
            print(json.dumps(row), flush=True)
        if args.out:
            with open(args.out, "w") as file:
                json.dump({**header(args.date), "attention": args.attention, "update_seconds": update, "rows": results}, file, indent=1)


if __name__ == "__main__":
    main()

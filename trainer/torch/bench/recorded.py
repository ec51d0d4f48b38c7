"""Loads the shapes of token trees that agents made in a run of a tutorial. The shapes have no token ids.

`recorded.json` holds segments [parent, length, supervised] in depth-first preorder. The parent of a root is -1. The
nano model made them on a CPU, for example:

    ajet --conf tutorial/werewolves/werewolves.yaml trainer_common.total_training_steps=1
    python recorded.py werewolves saved_experiments/werewolves/TIME/episodes/step-000001.jsonl --groups 1

The prompts of the tutorials are short, so the benchmarks multiply every length by `scale`.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path

from shapes import Node

FILE = Path(__file__).parent / "recorded.json"


@dataclass
class Token:
    """A node in the trie of the rows of a group."""

    children: dict[int, "Token"] = field(default_factory=dict)
    supervised: bool = False
    ends_row: bool = False


def read_rows(file: Path, num_groups: int) -> list[dict]:
    """Returns the samples of the first groups of a step."""
    episodes = [json.loads(line) for line in file.read_text().splitlines()]
    groups = sorted({episode["group_id"] for episode in episodes})[:num_groups]
    return [sample for episode in episodes if episode["group_id"] in groups for sample in episode["samples"]]


def grow(rows: list[dict]) -> Token:
    root = Token()
    for row in rows:
        place = root
        for token, mask in zip(row["ids"], row["loss_mask"]):
            place = place.children.setdefault(token, Token())
            place.supervised = place.supervised or mask == 1
        place.ends_row = True
    return root


def to_segments(root: Token) -> list[list[int]]:
    """Returns chains of tokens, each with or without supervision. A chain ends at a branch, or if a row ends."""
    segments: list[list[int]] = []
    waiting = [(child, -1) for child in reversed(root.children.values())]
    while waiting:
        place, parent = waiting.pop()
        length, supervised = 1, place.supervised
        while len(place.children) == 1 and not place.ends_row and next(iter(place.children.values())).supervised == supervised:
            place = next(iter(place.children.values()))
            length += 1
        segments.append([parent, length, int(supervised)])
        waiting += [(child, len(segments) - 1) for child in reversed(place.children.values())]
    return segments


def load(name: str) -> list[Node]:
    """Returns the recorded tree with lengths multiplied by its scale."""
    kept = json.loads(FILE.read_text())["workloads"][name]
    nodes: list[Node] = []
    roots: list[Node] = []
    for parent, length, supervised in kept["segments"]:
        nodes.append(Node(length * kept["scale"], bool(supervised), []))
        (roots if parent < 0 else nodes[parent].children).append(nodes[-1])
    return roots


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("episodes", type=Path, help="episodes/step-00000N.jsonl of a run folder")
    parser.add_argument("--groups", type=int, default=1)
    parser.add_argument("--scale", type=int, default=16)
    args = parser.parse_args()
    rows = read_rows(args.episodes, args.groups)
    segments = to_segments(grow(rows))
    facts = {"groups": args.groups, "rows": len(rows), "row_tokens": sum(len(row["ids"]) for row in rows), "tree_tokens": sum(length for _, length, _ in segments), "scale": args.scale}
    kept = json.loads(FILE.read_text()) if FILE.exists() else {"workloads": {}}
    kept["workloads"][args.name] = {**facts, "segments": segments}
    entries = ",\n".join(f"{json.dumps(name)}: {json.dumps(workload)}" for name, workload in sorted(kept["workloads"].items()))
    FILE.write_text('{"workloads": {\n' + entries + "\n}}\n")
    print(args.name, facts, f"{len(segments)} segments")


if __name__ == "__main__":
    main()

"""Compares layers without torch.compile (`torch.compile: auto` for small models) with compiled layers (`on`).

The packs have trees of one prompt and eight answers. A row has the seconds of the first two steps, of which the first
compiles, the seconds of later steps, the peak, and how far gradients are from those of float32: the quartiles over tensors
of the norm of the difference, relative to the norm of the float32 gradient. The gradients are those of REINFORCE, because
the clipped loss of random tokens switches terms on and off at differences of logprobs that bfloat16 cannot see. Even so
the first layers have large errors after random tokens, with any layers, so compare both ways. A process keeps compiled code in memory, so each process
measures one way, with its own folder for compiled code.

    XDG_CACHE_HOME=$(mktemp -d) python fused_layers.py FOLDER --way auto --out fused_layers.json
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from ajet_torch.compile_cache import keep_compiled

keep_compiled()  # before PyTorch is imported, which sets its own folder in the environment

import torch  # noqa: E402
from shapes import SHAPES, header, random_lm, synchronize, timed, tree  # noqa: E402

from ajet_torch.compile_clock import CompileClock  # noqa: E402
from ajet_torch.config import OptimizerConfig, WorkerConfig  # noqa: E402
from ajet_torch.losses import LossConfig  # noqa: E402
from ajet_torch.model import choose_device, prepare_device  # noqa: E402
from ajet_torch.pack import TreePack  # noqa: E402
from ajet_torch.ranks import Ranks  # noqa: E402
from ajet_torch.training import Placement, Trainer  # noqa: E402

LEAVES = 8


def make_trainer(model: str, way: str, dtype: torch.dtype, tokens: int, device: torch.device) -> Trainer:
    attention = "auto" if dtype == torch.bfloat16 else "dense"
    is_folder = model not in SHAPES
    config = WorkerConfig(model_dir=model if is_folder else "", compile=way, attention=attention, max_pack_tokens=tokens, optimizer=OptimizerConfig(learning_rate=1e-6))
    lm = None if is_folder else random_lm(model, device, torch.bfloat16).to(dtype)
    return Trainer(config, Placement(device, dtype, Ranks(0, 1, 0), False), lm)


def make_packs(tokens: int, prompt: int, answer: int, packs: int, vocab: int) -> list[TreePack]:
    trees = max(1, tokens // (prompt + LEAVES * answer))
    leaves = [(0, answer)] * LEAVES
    return [tree([([prompt], leaves)] * trees, vocab, seed) for seed in range(packs)]


def gradient(trainer: Trainer, pack: TreePack) -> dict[str, torch.Tensor]:
    trainer.optimizer.clear()
    trainer.backward(trainer.place(pack), LossConfig(objective="reinforce"))
    return {name: p.grad.float().clone() for name, p in trainer.policy.lm.named_parameters()}


def errors_of(found: dict[str, torch.Tensor], exact: dict[str, torch.Tensor]) -> list[float]:
    """Returns the quartiles of the tensors' errors."""
    errors = torch.stack([(found[name] - wanted).norm() / wanted.norm() for name, wanted in exact.items()])
    return errors.quantile(torch.tensor([0.25, 0.5, 0.75], device=errors.device)).tolist()


def measure(args: argparse.Namespace) -> dict[str, object]:
    device = choose_device("auto", 0)
    prepare_device(device)
    begin = time.perf_counter()
    trainer = make_trainer(args.model, args.way, torch.bfloat16, args.tokens, device)
    made, compiling = time.perf_counter() - begin, CompileClock()
    packs = make_packs(args.tokens, args.prompt, args.answer, args.packs, int(trainer.policy.lm.config.vocab_size))
    first = []
    for _ in range(2):
        begin = time.perf_counter()
        trainer.step(packs, LossConfig())
        synchronize()
        first.append(time.perf_counter() - begin)
    torch.cuda.is_available() and torch.cuda.reset_peak_memory_stats()
    seconds = timed(lambda: trainer.step(packs, LossConfig()), args.repeats)
    peak = torch.cuda.max_memory_allocated() / 2**30 if device.type == "cuda" else 0.0
    trainer = make_trainer(args.model, args.way, torch.bfloat16, args.tokens, device)  # its weights are not trained
    small = make_packs(args.tokens // 4, args.prompt, args.answer, 1, int(trainer.policy.lm.config.vocab_size))[0]
    found = gradient(trainer, small)
    del trainer
    torch.backends.cuda.matmul.allow_tf32 = False
    exact = gradient(make_trainer(args.model, "off", torch.float32, args.tokens, device), small)
    return {
        "model": Path(args.model).name, "way": args.way, "packs": args.packs, "pack_tokens": packs[0].num_tokens, "longest_tree": args.prompt + LEAVES * args.answer,
        "made_s": made, "first_steps_s": first, "compiling_s": compiling.seconds, "step_s": seconds, "peak_gib": peak, "gradient_error": errors_of(found, exact), "cores": os.cpu_count(),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", help="a Hugging Face folder, or one of the random shapes: " + ", ".join(SHAPES))
    parser.add_argument("--way", choices=["auto", "on"], default="auto")
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--prompt", type=int, default=330)
    parser.add_argument("--answer", type=int, default=40)
    parser.add_argument("--packs", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--date", default="")
    parser.add_argument("--out", type=Path, default=Path("fused_layers.json"))
    args = parser.parse_args()
    row = {**measure(args), **header(args.date)}
    kept = json.loads(args.out.read_text())["rows"] if args.out.exists() else []
    args.out.write_text(json.dumps({"rows": [*kept, row]}, indent=1) + "\n")
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()

"""Do sampling, training and the transfer of weights work together on GPUs in every mode, and how fast are they?

In each mode the benchmark samples groups of eight, makes a training step and sends the weights to the sampler. The
sampler checks that they arrived and samples again. The modes are plain, lora and offload (FSDP2 with weights and
optimizer states in host memory). For several GPUs run it with torchrun; every GPU then samples its share. It writes
modes.json into --out.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import torch

from ajet_torch.config import InferenceConfig, LoraConfig, OptimizerConfig, WorkerConfig
from ajet_torch.losses import LossConfig
from ajet_torch.ranks import join_ranks, leave_ranks
from ajet_torch.session import Session
from ajet_torch.training import Placement
from sampling import requests
from shapes import SHAPES, full_row, header, random_lm

PROMPT, ANSWER, TOKENS = 256, 128, 4096


def sample(session: Session, count: int, vocab: int) -> tuple[int, float]:
    """Returns the tokens that this rank sampled, and the seconds it took. All ranks tick together, as in a run."""
    ranks = session.placement.ranks
    start, tokens, waiting = time.perf_counter(), 0, requests(count, PROMPT, ANSWER, vocab)
    while ranks.share(any(ranks.gather(bool(waiting) or session.server.is_busy() or session.server.has_queue()))):
        tokens += len(session.sample(waiting, []))
        waiting = []
    return tokens, time.perf_counter() - start


def run_mode(mode: str, model_dir: str, name: str, placement: Placement, count: int) -> dict:
    torch.cuda.is_available() and torch.cuda.reset_peak_memory_stats()
    vocab, ranks = SHAPES[name].vocab, placement.ranks
    config = WorkerConfig(
        model_dir=model_dir, max_pack_tokens=TOKENS, cpu_offload=mode == "offload", lora=LoraConfig(rank=16 if mode == "lora" else 0),
        optimizer=OptimizerConfig(learning_rate=1e-4), inference=InferenceConfig(slots=count, kv_tokens=PROMPT + ANSWER),
    )
    session = Session(config, placement)
    packs = [full_row(TOKENS, vocab) for _ in range(ranks.size)]
    before = session.server.fingerprint()
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        metrics = session.trainer.step(packs, LossConfig(kind="sft"))
        seconds.append(time.perf_counter() - start)
    sync = session.sync_weights()
    sample(session, count, vocab)
    tokens, sampling = sample(session, count, vocab)
    gathered = ranks.gather(tokens)
    found = {
        "mode": mode, "model": name, "gpus": ranks.size, "step_seconds": min(seconds), "sync_seconds": sync, "weights_changed": session.server.fingerprint() != before,
        "loss": metrics["loss"], "concurrent_per_gpu": count, "sampled_tokens_per_second": sum(gathered) / sampling,
        "peak_gib": torch.cuda.max_memory_allocated() / 2**30 if torch.cuda.is_available() else 0.0,
    }
    session.server.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("modes", nargs="*", default=["plain", "lora", "offload"])
    parser.add_argument("--model", default="0.5B")
    parser.add_argument("--model-dir", default="/tmp/ajet-modes-model", help="random weights are written here if it is empty")
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--date", default="")
    parser.add_argument("--out", default=".")
    args = parser.parse_args()
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    ranks = join_ranks(kind, os.environ.get("AJET_STORE"), True, 600)
    device = torch.device(kind, ranks.local_rank) if kind == "cuda" else torch.device("cpu")
    if ranks.is_first and not (Path(args.model_dir) / "config.json").exists():
        random_lm(args.model, device, torch.bfloat16, "sdpa").save_pretrained(args.model_dir)
    ranks.barrier()
    rows = []
    for mode in args.modes:
        placement = Placement(device, torch.bfloat16 if kind == "cuda" else torch.float32, ranks, ranks.size > 1 or mode == "offload")
        rows.append(run_mode(mode, args.model_dir, args.model, placement, args.count))
        torch.cuda.is_available() and torch.cuda.empty_cache()
        if ranks.is_first:
            print(json.dumps(rows[-1]), flush=True)
            (Path(args.out) / f"modes_{ranks.size}.json").write_text(json.dumps({**header(args.date), "rows": rows}, indent=1))
    leave_ranks()


if __name__ == "__main__":
    main()

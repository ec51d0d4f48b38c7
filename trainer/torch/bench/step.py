"""What share of the GPU's peak does one training step reach, with forward, backward, gradient clipping and AdamW?

The script makes the rows of results/step.json. `packs_per_step` packs are accumulated before one update. With --plain
the same run also measures plain transformers (its SDPA attention, eager, bf16 weights, fused AdamW). With --sketch it
also measures a sketch: transformers with each layer compiled, SDPA, and the head in compiled, checkpointed chunks. The
sketch has no optimizer, so compare it with `mfu_forward_backward`.

Each step begins after the GPU has finished the last one. For `seconds_in_a_row` the host prepares a step while the GPU
still updates the weights, as in a run with several optimizer steps a batch. For more than one GPU run it with torchrun;
every GPU gets its own packs.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import time
from typing import Callable

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from ajet_torch.config import OptimizerConfig, WorkerConfig
from ajet_torch.losses import LossConfig
from ajet_torch.pack import TreePack
from ajet_torch.ranks import join_ranks, leave_ranks
from ajet_torch.training import Placement, Trainer
from shapes import PEAK_FLOPS, SHAPES, empty_lm, full_row, header, random_lm, random_rows, step_flops, timed


def create_trainer(name: str, tokens: int, placement: Placement, **options) -> Trainer:
    config = WorkerConfig(max_pack_tokens=max(tokens, 1024), optimizer=OptimizerConfig(learning_rate=1e-6), **options)
    if not placement.sharded:
        return Trainer(config, placement, random_lm(name, placement.device, placement.dtype))
    lm = empty_lm(name, torch.bfloat16 if config.master_weights == "bfloat16" else placement.master_dtype)
    return Trainer(config, placement, lm, random_rows(lm, placement.ranks.rank, placement.device))


def measure(name: str, tokens: int, packs_per_step: int, placement: Placement, repeats: int, warmup: int, **options) -> dict:
    gc.collect()  # the last case leaves its trainer in a cycle, which would count in this case's peak
    torch.cuda.is_available() and torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    trainer = create_trainer(name, tokens, placement, **options)
    placement.ranks.is_first and print(f"{name} on {placement.ranks.size} made in {time.perf_counter() - start:.1f} s", flush=True)
    packs = [full_row(tokens, SHAPES[name].vocab) for _ in range(packs_per_step * placement.ranks.size)]
    loss = LossConfig()
    seconds = timed(lambda: trainer.step(packs, loss), repeats, warmup)
    found = row(name, tokens, packs, placement, seconds, options)
    if len(packs) == 1:
        found |= in_a_row(name, packs, lambda: trainer.step(packs, loss), repeats)
    if placement.sharded:
        peaks = placement.ranks.gather((found["peak_gib"], found["reserved_gib"]))
        if peaks:
            found |= {"peak_gib": max(peak for peak, _ in peaks), "reserved_gib": max(reserved for _, reserved in peaks)}
        return found | {"weight_sync_seconds": sync_seconds(trainer)}
    gradients = timed(lambda: trainer.backward(trainer.place(packs[0]), loss) and trainer.optimizer.clear(), repeats)
    return found | {"mfu_forward_backward": step_flops(name, packs[:1]) / gradients / PEAK_FLOPS}


def in_a_row(name: str, packs: list[TreePack], step: Callable[[], object], repeats: int) -> dict:
    """Measures optimizer steps without waits between them, as the median of stretches of four steps, on one GPU."""
    def stretch() -> None:
        for _ in range(4):
            step()

    seconds = timed(stretch, repeats, 0) / 4
    return {"seconds_in_a_row": seconds, "mfu_in_a_row": step_flops(name, packs) / seconds / PEAK_FLOPS}


def sync_seconds(trainer: Trainer) -> float:
    """Gathers whole bf16 weights on every GPU, one tensor after the other, as for the sampler's copy."""
    def run() -> None:
        for parameter in trainer.policy.lm.parameters():
            parameter.detach().full_tensor().to(torch.bfloat16)

    return timed(run, 3)


def row(name, tokens, packs, placement, seconds, options) -> dict:
    size = placement.ranks.size
    is_gpu = torch.cuda.is_available()
    peak, reserved = (torch.cuda.max_memory_allocated() / 2**30, torch.cuda.max_memory_reserved() / 2**30) if is_gpu else (0.0, 0.0)
    return {
        "model": name, "tokens_per_pack": tokens, "packs_per_step": len(packs) // size, "gpus": size,
        "seconds_per_step": seconds, "tokens_per_second": len(packs) * tokens / seconds,
        "mfu": step_flops(name, packs) / seconds / size / PEAK_FLOPS, "mfu_transformers_sdpa": None,
        "peak_gib": peak, "reserved_gib": reserved, "sharded": placement.sharded, **options,
    }


def measure_plain(name: str, tokens: int, device: torch.device, repeats: int) -> float:
    """Returns the utilisation of plain transformers on the same row."""
    lm = random_lm(name, device, torch.bfloat16, "sdpa")
    adam = torch.optim.AdamW(lm.parameters(), lr=1e-6, fused=device.type == "cuda")
    pack = full_row(tokens, SHAPES[name].vocab)
    ids = torch.from_numpy(pack.ids).long()[None].to(device)

    def step() -> None:
        lm(input_ids=ids, labels=ids, use_cache=False).loss.backward()
        torch.nn.utils.clip_grad_norm_(lm.parameters(), 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)

    return step_flops(name, [pack]) / timed(step, repeats) / PEAK_FLOPS


def measure_sketch(name: str, tokens: int, device: torch.device, repeats: int) -> float:
    """Returns the utilisation of forward and backward of the sketch on the same row."""
    lm = random_lm(name, device, torch.bfloat16, "sdpa")
    for layer in lm.model.layers:
        layer.compile(dynamic=False)
    pack = full_row(tokens, SHAPES[name].vocab)
    ids = torch.from_numpy(pack.ids).long()[None].to(device)

    @torch.compile
    def chunk_loss(hidden_UD: torch.Tensor, targets_U: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy((hidden_UD @ lm.lm_head.weight.T).float(), targets_U, reduction="sum")

    def run() -> None:
        hidden = lm.model(ids, use_cache=False).last_hidden_state[0, :-1]
        chunks = zip(hidden.split(2048), ids[0, 1:].split(2048))
        sum(checkpoint(chunk_loss, *chunk, use_reentrant=False) for chunk in chunks).div(tokens).backward()
        lm.zero_grad(set_to_none=True)

    return step_flops(name, [pack]) / timed(run, repeats) / PEAK_FLOPS


def measured_or_none(measure_reference) -> float | None:
    """Returns None if the reference does not fit into the memory."""
    try:
        return measure_reference()
    except torch.OutOfMemoryError:
        return None
    finally:
        torch.cuda.empty_cache()


def parse_case(text: str) -> tuple[str, int, int, dict]:
    """Parses model:tokens:packs[:key=value,...]."""
    name, tokens, packs, *rest = text.split(":")
    pairs = [item.split("=") for item in rest[0].split(",")] if rest else []
    return name, int(tokens), int(packs), {key: parse_value(value) for key, value in pairs}


def parse_value(text: str) -> bool | int | float | str:
    try:
        return text == "true" if text in ("true", "false") else int(text) if text.isdigit() else float(text)
    except ValueError:
        return text


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="+", help="model:tokens:packs[:option=value,...], sharded=true for FSDP2 on one GPU")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--sketch", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--date", default="")
    parser.add_argument("--out")
    args = parser.parse_args()
    device_type = "cuda" if torch.cuda.is_available() else "cpu"
    ranks = join_ranks(device_type, os.environ.get("AJET_STORE"), True, 600)
    device = torch.device("cuda", ranks.local_rank) if device_type == "cuda" else torch.device("cpu")
    rows = []
    for text in args.cases:
        name, tokens, packs, options = parse_case(text)
        sharded = bool(options.pop("sharded", ranks.size > 1))
        placement = Placement(device, torch.bfloat16, ranks, sharded)
        try:
            result = measure(name, tokens, packs, placement, args.repeats, args.warmup, **options)
        except torch.OutOfMemoryError as error:
            result = {"model": name, "tokens_per_pack": tokens, "packs_per_step": packs, "gpus": ranks.size, "error": str(error)[:200]}
        torch.cuda.empty_cache()
        compared = {"mfu_transformers_sdpa": measure_plain if args.plain else None, "mfu_sketch_forward_backward": measure_sketch if args.sketch else None}
        for key, reference in compared.items():
            if reference is not None and ranks.size == 1:
                result[key] = measured_or_none(lambda: reference(name, tokens, device, args.repeats))
        if ranks.is_first:
            rows.append(result)
            print(json.dumps(result), flush=True)
            if args.out:
                with open(args.out, "w") as file:
                    json.dump({**header(args.date), "rows": rows}, file, indent=1)
    dist.barrier()
    leave_ranks()


if __name__ == "__main__":
    main()

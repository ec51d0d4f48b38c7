"""Where does the time of a step go?

The profile of two steps lists the costliest kernels, and the times in which the GPU waited. With several GPUs under
torchrun it reports on the first GPU, and on the communication during which no other kernel runs. At the end it prints
the sums of each GPU. No published figure comes from this script.
"""

from __future__ import annotations

import os
import re
import sys

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from ajet_torch.losses import LossConfig
from ajet_torch.model import choose_device
from ajet_torch.ranks import join_ranks, leave_ranks
from ajet_torch.training import Placement
from shapes import SHAPES, full_row, step_flops, timed
from step import create_trainer, parse_case

KINDS = {
    "matrix products": r"nvjet|gemm|cutlass_80|sm90_xmma|splitK",
    "attention": r"fmha|flash|cudnn.*sdpa|mha_|Flash|attention|kernel_cutlass",
    "AdamW": r"^triton_.*(split_update|sqrt_.*where|where.*sqrt)",
    "communication": r"nccl",
    "copies": r"[Mm]emcpy|[Mm]emset|copy_kernel|FillFunctor",
}


def kind_of(name: str) -> str:
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, name)), "the rest")


def main() -> None:
    name, tokens, num_packs, options = parse_case(sys.argv[1])
    ranks = join_ranks("cuda" if torch.cuda.is_available() else "cpu", os.environ.get("AJET_STORE"), False, 600)
    trainer = create_trainer(name, tokens, Placement(choose_device("auto", ranks.local_rank), torch.bfloat16, ranks, ranks.size > 1), **options)
    packs = [full_row(tokens, SHAPES[name].vocab) for _ in range(num_packs * ranks.size)]
    seconds = timed(lambda: trainer.step(packs, LossConfig()), 4, warmup=3)
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as recorded:
        trainer.step(packs, LossConfig())
        trainer.step(packs, LossConfig())
        torch.cuda.synchronize()
    kernels = sorted((e for e in recorded.events() if e.device_type == DeviceType.CUDA and not e.name.startswith(("ajet", "##", "Optimizer"))), key=lambda e: e.time_range.start)
    sums = ranks.gather(summed(kernels))
    if not ranks.is_first:
        return leave_ranks()
    print(f"{sys.argv[1]} on {ranks.size}: {seconds * 1e3:.1f} ms a step, {step_flops(name, packs) / seconds / ranks.size / 989e12:.4f} of peak")
    report_kernels(kernels)
    report_gaps(kernels)
    report_exposed(kernels)
    for rank, found in enumerate(sums):
        print(f"GPU {rank}, ms of two steps: {found}")
    leave_ranks()


def summed(kernels: list) -> dict[str, float]:
    """Returns milliseconds of one GPU: with any kernel, with a kernel other than communication, and the total of
    products and attention."""
    others = [kernel for kernel in kernels if kind_of(kernel.name) != "communication"]
    computing = [kernel for kernel in kernels if kind_of(kernel.name) in ("matrix products", "attention")]
    alone = sum(kernel.time_range.elapsed_us() for kernel in computing) / 1e3
    return {"any kernel": round(covered(kernels), 1), "other than communication": round(covered(others), 1), "products and attention": round(alone, 1)}


def report_exposed(kernels: list, rows: int = 14) -> None:
    """Reports communication during which no other kernel runs: the sum of each collective, and the longest stretches
    with their times in the two steps."""
    busy = merged([kernel for kernel in kernels if kind_of(kernel.name) != "communication"])
    begin = kernels[0].time_range.start
    found = [(uncovered(kernel.time_range.start, kernel.time_range.end, busy), kernel) for kernel in kernels if kind_of(kernel.name) == "communication"]
    sums: dict[str, list[float]] = {}
    for alone, kernel in found:
        entry = sums.setdefault(kernel.name[:60], [0.0, 0.0, 0])
        entry[0], entry[1], entry[2] = entry[0] + alone / 1e3, entry[1] + kernel.time_range.elapsed_us() / 1e3, entry[2] + 1
    for name, (alone, whole, count) in sums.items():
        print(f"exposed {alone:7.2f} of {whole:7.2f} ms, {count} x {name}")
    for alone, kernel in sorted(found, key=lambda item: -item[0])[:rows]:
        after = next((other.name for other in kernels if other.time_range.start >= kernel.time_range.end and kind_of(other.name) != "communication"), "the end")
        print(f"exposed {alone:7.0f} of {kernel.time_range.elapsed_us():7.0f} us at {(kernel.time_range.start - begin) / 1e3:6.1f} ms: {kernel.name[:44]}, then {after[:60]}")


def merged(kernels: list) -> list[tuple[float, float]]:
    """Returns the stretches of time that the kernels cover, in order."""
    stretches: list[tuple[float, float]] = []
    for kernel in kernels:
        start, end = kernel.time_range.start, kernel.time_range.end
        if stretches and start <= stretches[-1][1]:
            stretches[-1] = (stretches[-1][0], max(end, stretches[-1][1]))
        else:
            stretches.append((start, end))
    return stretches


def uncovered(start: float, end: float, busy: list[tuple[float, float]]) -> float:
    return end - start - sum(max(0.0, min(end, stop) - max(start, first)) for first, stop in busy)


def covered(kernels: list) -> float:
    """Returns the milliseconds in which at least one of the kernels runs. The kernels must be sorted by their start."""
    total, end = 0.0, float("-inf")
    for kernel in kernels:
        total += max(0.0, kernel.time_range.end - max(end, kernel.time_range.start))
        end = max(end, kernel.time_range.end)
    return total / 1e3


def report_kernels(kernels: list) -> None:
    sums: dict[str, list[float]] = {}
    kinds: dict[str, float] = {}
    for kernel in kernels:
        entry = sums.setdefault(kernel.name, [0.0, 0])
        entry[0] += kernel.time_range.elapsed_us() / 1e3
        entry[1] += 1
        kinds[kind_of(kernel.name)] = kinds.get(kind_of(kernel.name), 0.0) + kernel.time_range.elapsed_us() / 1e3
    print("by kind, ms:", {kind: round(value, 1) for kind, value in sorted(kinds.items(), key=lambda item: -item[1])}, "sum", round(sum(kinds.values()), 1))
    for key, (milliseconds, count) in sorted(sums.items(), key=lambda item: -item[1][0])[:32]:
        print(f"{milliseconds:8.2f} ms {count:5d} x {milliseconds / count * 1e3:8.1f} us {key[:105]}")


def report_gaps(kernels: list, fewest_us: float = 30) -> None:
    """Reports the times without a kernel, with the kernels before and after them."""
    gaps, end, before = [], None, ""
    for kernel in kernels:
        if end is not None and kernel.time_range.start > end:
            gaps.append((kernel.time_range.start - end, before, kernel.name))
        if end is None or kernel.time_range.end > end:
            end, before = kernel.time_range.end, kernel.name
    print(f"first to last kernel {(end - kernels[0].time_range.start) / 1e3:.1f} ms, idle in it {sum(g for g, _, _ in gaps) / 1e3:.1f} ms, of that in gaps over {fewest_us} us {sum(g for g, _, _ in gaps if g > fewest_us) / 1e3:.1f} ms")
    for gap, before, after in sorted(gaps, key=lambda item: -item[0])[:8]:
        print(f"  {gap:7.0f} us after {before[:50]} before {after[:50]}")


if __name__ == "__main__":
    main()

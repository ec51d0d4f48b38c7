"""Where does the time of a step go? Prints the costliest kernels of one step (not a published benchmark)."""

from __future__ import annotations

import sys

import torch
from torch.profiler import ProfilerActivity, profile

from ajet_torch.losses import LossConfig
from ajet_torch.ranks import Ranks
from ajet_torch.training import Placement
from shapes import SHAPES, full_row
from step import create_trainer, parse_case


def main() -> None:
    name, tokens, num_packs, options = parse_case(sys.argv[1])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    trainer = create_trainer(name, tokens, Placement(device, torch.bfloat16, Ranks(0, 1, 0), False), **options)
    packs = [full_row(tokens, SHAPES[name].vocab)] * num_packs
    for _ in range(3):
        trainer.step(packs, LossConfig())
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as recorded:
        trainer.step(packs, LossConfig())
        if device.type == "cuda":
            torch.cuda.synchronize()
    key = "self_cuda_time_total" if device.type == "cuda" else "self_cpu_time_total"
    events = [e for e in recorded.key_averages() if e.self_device_time_total > 0 and not e.key.startswith(("aten::", "autograd::", "Optimizer", "## "))]
    total = sum(e.self_device_time_total for e in events)
    print("total kernel ms", total / 1e3, key)
    for event in sorted(events, key=lambda e: -e.self_device_time_total)[:28]:
        print(f"{event.self_device_time_total/1e3:8.2f} ms {event.count:5d} x {event.key[:110]}")


if __name__ == "__main__":
    main()

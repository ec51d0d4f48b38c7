"""Starts the worker on the nodes of a Ray cluster: one launcher on each, which ends with the script."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

PACKAGE = str(Path(__file__).resolve().parents[1])


def launcher(nodes: int, gpus: int, head: str) -> list[str]:
    meeting = ["--rdzv-backend=c10d", f"--rdzv-endpoint={head}:29500", "--rdzv-id=ajet", "--max-restarts=0"]
    return [sys.executable, "-m", "torch.distributed.run", f"--nnodes={nodes}", f"--nproc-per-node={gpus}", *meeting, "-m", "ajet_torch.worker"]


def run_launcher(command: list[str], environment: dict[str, str]) -> int:
    return subprocess.call(command, env={**os.environ, **environment})


def main() -> None:
    import ray
    from ray.util.placement_group import placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--gpus", type=int, required=True, help="of each node")
    args = parser.parse_args()
    environment = {name: os.environ[name] for name in ("AJET_CONNECT", "AJET_TOKEN")}
    environment |= {"PYTHONPATH": PACKAGE, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    ray.init(address="auto")
    group = placement_group([{"CPU": 1, "GPU": args.gpus}] * args.nodes, strategy="STRICT_SPREAD")
    ray.get(group.ready())
    on = [PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=node) for node in range(args.nodes)]
    head = ray.get(ray.remote(num_cpus=0)(ray.util.get_node_ip_address).options(scheduling_strategy=on[0]).remote())
    run = ray.remote(num_cpus=1, num_gpus=args.gpus, max_retries=0)(run_launcher)
    codes = ray.get([run.options(scheduling_strategy=place).remote(launcher(args.nodes, args.gpus, head), environment) for place in on])
    raise SystemExit(max(codes))


if __name__ == "__main__":
    main()

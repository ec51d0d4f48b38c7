"""How long must a real model train before its agent has learned the task, with `ajet` and with TRL?

Each process measures one run and writes one row. The row has the engine, the task, the seed, the learning rate, and
whether the start was cold (with an empty folder for compiled code) or warm. `ajet` runs the command that users run:
Node, the torch worker and the builtin sampler. With --way swarm it runs two commands, a server and its agents; the
clock starts when the agents have sent their tasks. TRL is in `trl_run.py`; with --sampler vllm it samples with vLLM in
its process, which compiles its layers before the clock starts. Both engines read the files that `tasks.py` writes, and
follow `rules.py`.

An agent has learned `json` when two training steps in a row have a mean sampled success of 0.95 or more. It has learned
`calculator` when two greedy evaluations in a row have that mean. The clock does not count evaluations. If the agent
has not learned its task after --seconds, `steps_to_095` is null.

    python real.py MODEL --engine ajet --ajet "node packages/cli/bin/ajet.js" --task json --seed 1 --rate 1e-4 --start cold --out real.json
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import IO, Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import tasks  # noqa: E402
from rules import ANSWER_TOKENS, BATCH, CONTEXT, EVALUATE_EVERY, REPEAT, evaluates, steps_to_mark  # noqa: E402
from trl_run import run_trl  # noqa: E402


class PeakMemory:
    """Reads how much memory is in use on the fullest of the run's GPUs from nvidia-smi, twice a second."""

    def __init__(self, num_gpus: int) -> None:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES") or ",".join(map(str, range(num_gpus)))
        self.gib, self.stopped, self.gpus = 0.0, threading.Event(), ",".join(visible.split(",")[:num_gpus])
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", self.gpus]
        while not self.stopped.wait(0.5):
            try:
                self.gib = max([self.gib, *(float(line) / 1024 for line in subprocess.run(command, capture_output=True, text=True).stdout.splitlines())])
            except (OSError, ValueError):
                return


def gpus_of(way: str) -> int:
    return 2 if way == "two-gpus" else 1


def ajet_config(args: argparse.Namespace, data: Path, runs: Path) -> str:
    workflow = "extract" if args.task == "json" else "calculate"
    return json.dumps({"ajet": {
        "project_name": "real", "experiment_name": args.task, "experiment_dir": str(runs), "backbone": "torch",
        "model": {"path": str(args.model.resolve())},
        "rollout": {
            "user_workflow": f"{Path(__file__).with_name('workflow.mjs')}->{workflow}", "num_repeat": REPEAT, "max_model_len": CONTEXT[args.task],
            "max_response_length_in_one_turn": ANSWER_TOKENS[args.task], "max_env_worker": args.workers,
        },
        "data": {"train_batch_size": BATCH, "max_prompt_length": CONTEXT[args.task] - 128, "max_response_length": 128},
        "task_reader": {"type": "jsonl_dataset_file", "jsonl_dataset_file": {
            "training": {"file_path": str(data / "training.jsonl")}, **({"validation": {"file_path": str(data / "validation.jsonl")}} if evaluates(args.task) else {}),
        }},
        "torch": {"python": sys.executable, "master_start": args.master_start, "compile": args.compile},
        **({"lora": {"rank": args.lora}} if args.lora else {}),
        "trainer_common": {
            "total_training_steps": args.steps, "save_freq": 0, "seed": args.seed, "optim": {"lr": args.rate}, "max_pack_tokens": args.pack_tokens,
            "n_gpus_per_node": gpus_of(args.way),
            **({"test_freq": EVALUATE_EVERY} if evaluates(args.task) else {"test_freq": 0}),
        },
    }}, indent=1)


def run_ajet(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    data, runs = folder / "data", folder / "runs"
    environment = dict(os.environ)  # before the tasks import PyTorch, which names a folder of compiled code for all runs
    tasks.write(args.task, data, BATCH * args.steps, args.seed)
    config = folder / "real.yaml"
    config.write_text(ajet_config(args, data, runs))
    begin = time.perf_counter()
    log = (folder / "log.txt").open("w")
    start = start_swarm if args.way == "swarm" else start_run
    processes = start(shlex.split(args.ajet), config, log, environment)
    rows: list[dict[str, Any]] = []
    evaluations: list[dict[str, Any]] = []
    startup, rows_at, size = None, [], 0
    while all(process.poll() is None for process in processes) and time.perf_counter() - begin < args.seconds:
        time.sleep(0.02)
        before, size = size, sum(file.stat().st_size for file in runs.glob("*/*/*s.jsonl"))
        if size == before:
            continue
        now = time.perf_counter() - begin
        rows, evaluations = read_lines(runs, "metrics.jsonl"), read_lines(runs, "evaluations.jsonl")
        rows_at += [round(now, 2)] * (len(rows) - len(rows_at))
        if rows and startup is None:
            startup = now - step_seconds(rows[0]) - sum(entry["seconds"] for entry in evaluations)
        if steps_to_mark(args.task, rows, evaluations) is not None and len(rows) >= args.least_steps:
            break
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # nothing of the run folder is needed, and the worker ends with its parent
            process.wait()
    rows, evaluations = read_lines(runs, "metrics.jsonl"), read_lines(runs, "evaluations.jsonl")
    if not rows:
        print((folder / "log.txt").read_text()[-3000:], flush=True)
    lines = (folder / "log.txt").read_text().splitlines()
    if rows and args.way == "swarm" and not evaluates(args.task):  # otherwise an evaluation waits, and the clock does not count it
        waited = wait_for_agents(lines)
        rows[0]["seconds_sampling"] -= waited
        startup = None if startup is None else startup + waited
    spent = [step_seconds(row) for row in rows]
    speeds = [row["generated_tokens"] / max(0.001, row["seconds_sampling"]) for row in rows]
    return {
        "success": [row["success_rate"] for row in rows], "step_s": spent, "sample_s": [row["seconds_sampling"] for row in rows], "speeds": speeds,
        "compiling_s": [row.get("seconds_compiling", 0.0) for row in rows], "gaps": [row.get("logprob_gap_mean") for row in rows],
        "greedy": {entry["step"]: entry["success_rate"] for entry in evaluations}, "steps": steps_to_mark(args.task, rows, evaluations), "startup_s": startup, "rows_at_s": rows_at,
        "log": [line for line in lines if "rror" in line or "ompil" in line or "GiB" in line][-12:],
    }


def start_run(ajet: list[str], config: Path, log: IO[str], environment: dict[str, str]) -> list[subprocess.Popen[str]]:
    return [subprocess.Popen([*ajet, "--conf", str(config)], stdout=log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)]


def start_swarm(ajet: list[str], config: Path, log: IO[str], environment: dict[str, str]) -> list[subprocess.Popen[str]]:
    """Starts a server that trains, and a second process that runs the agents."""
    served = [*ajet, "swarm", "serve", "--port=0", "--conf", str(config), "--json"]
    server = subprocess.Popen(served, stdout=subprocess.PIPE, stderr=log, text=True, env=environment, start_new_session=True)
    assert server.stdout is not None
    address = json.loads(next(line for line in server.stdout if line.startswith("{")))
    threading.Thread(target=lambda: log.writelines(server.stdout or ()), daemon=True).start()  # a full pipe would stop the server
    agents = [*ajet, "swarm", "run", "--server", address["url"], "--conf", str(config)]
    with_key = {**environment, "AJET_SWARM_KEY": address["key"]}
    return [server, subprocess.Popen(agents, stdout=log, stderr=subprocess.STDOUT, env=with_key, start_new_session=True)]


def wait_for_agents(lines: list[str]) -> float:
    """Returns how long a server that was ready waited until its agents had started and sent their tasks."""
    ready, sent = (
        next(datetime.fromisoformat(line.split()[0].replace("Z", "+00:00")) for line in lines if words in line)
        for words in ("Serving the swarm at", "tasks_added")
    )
    return (sent - ready).total_seconds()


def step_seconds(row: dict[str, Any]) -> float:
    return row["seconds_sampling"] + row["seconds_packing"] + row["seconds_training"]


def read_lines(runs: Path, name: str) -> list[dict[str, Any]]:
    found = sorted(runs.glob(f"*/*/{name}"))
    lines = found[-1].read_text().splitlines(keepends=True) if found else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def to_row(args: argparse.Namespace, found: dict[str, Any], peak: float) -> dict[str, Any]:
    from shapes import devices, find_versions

    is_vllm = args.sampler == "vllm"
    steps, speeds, compiling = found["steps"], found["speeds"][1:6], found["compiling_s"]
    return {
        "engine": args.engine, **({"sampler": "vllm"} if is_vllm else {}), "way": args.way, "task": args.task, "seed": args.seed, "start": args.start, "learning_rate": args.rate, "is_best_rate": None, "master_start": args.master_start if args.engine == "ajet" else None,
        "startup_s": found["startup_s"], "steps_to_095": steps,
        "seconds_to_095": None if steps is None else sum(found["step_s"][:steps]), "seconds_compiling": None if compiling is None else sum(compiling[:steps]),
        "sample_tokens_per_second": statistics.median(speeds) if speeds else None, "peak_gib": peak, "success_after": found["greedy"] or None,
        "workers": args.workers, "compile": args.compile if args.engine == "ajet" else None, "lora": args.lora, "logprob_gap": found.get("gaps"), "sampled_success": found["success"], "step_s": found["step_s"], "sample_s": found["sample_s"], "rows_at_s": found.get("rows_at_s"), "log": found["log"],
        "date": args.date, "commit": args.commit, "device": devices(gpus_of(args.way)), "versions": find_versions(*(("trl", "vllm") if is_vllm else ())),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("--engine", choices=["ajet", "trl"], required=True)
    parser.add_argument("--sampler", choices=["transformers", "vllm"], default="transformers", help="what TRL samples with")
    parser.add_argument("--ajet", default="npx ajet", help="the command of the product")
    parser.add_argument("--way", choices=["float32", "bfloat16", "swarm", "two-gpus"], default="bfloat16", help="swarm: ajet swarm serve, with the agents in another process; two-gpus: one run of ajet on two GPUs")
    parser.add_argument("--task", choices=["json", "calculator"], required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--start", choices=["cold", "warm"], default="cold")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--least-steps", type=int, default=7, help="ajet makes at least as many steps, for the median of the sampling speed")
    parser.add_argument("--workers", type=lambda text: text if text == "auto" else int(text), default="auto", help="episodes at the same time, or auto")
    parser.add_argument("--pack-tokens", type=int, default=4096)
    parser.add_argument("--master-start", default="file", help="file is what auto means here")
    parser.add_argument("--lora", type=int, default=0, help="ajet trains adapters of this rank; 0 trains all weights")
    parser.add_argument("--compile", choices=["auto", "on"], default="auto", help="on: ajet compiles the layers with torch.compile")
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--date", default="")
    parser.add_argument("--commit", default="")
    parser.add_argument("--out", type=Path, default=Path("real.json"))
    args = parser.parse_args()
    if args.lora:
        args.master_start = "auto"  # adapters refuse the others
    if args.engine == "trl" and args.way not in ("float32", "bfloat16"):
        parser.error(f"--way {args.way} is a way of ajet. TRL runs float32 or bfloat16.")
    if args.sampler == "vllm" and args.engine != "trl":
        parser.error("--sampler vllm is a sampler of TRL. Add --engine trl.")
    if args.sampler == "vllm" and importlib.util.find_spec("vllm") is None:
        parser.error(f"--sampler vllm needs vLLM: {sys.executable} -m pip install vllm==0.26.0")
    folder = args.folder or Path(tempfile.mkdtemp(prefix="real-"))
    folder.mkdir(parents=True, exist_ok=True)
    if args.start == "cold":
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        os.environ.pop("TORCHINDUCTOR_CACHE_DIR", None)
    peak = PeakMemory(gpus_of(args.way))
    found = run_ajet(args, folder) if args.engine == "ajet" else run_trl(args, folder)
    peak.stopped.set()
    row = to_row(args, found, round(peak.gib, 2))
    kept = json.loads(args.out.read_text())["rows"] if args.out.exists() else []
    args.out.write_text(json.dumps({"rows": [*kept, row]}, indent=1) + "\n")
    print(json.dumps({key: value for key, value in row.items() if key not in ("versions", "device")}), flush=True)


if __name__ == "__main__":
    main()

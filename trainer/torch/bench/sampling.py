"""How many tokens a second does the builtin sampler make, and how long does it take to receive new weights?

Groups of eight share a prompt, as in GRPO. With --server vllm the script measures vLLM instead. It requests whole
answers from vLLM, so it does not measure the time until the first token. It writes sampling.json and weight_sync.json
into --out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

from ajet_torch.config import InferenceConfig, WorkerConfig
from ajet_torch.losses import LossConfig
from ajet_torch.ranks import Ranks
from ajet_torch.sampling.builtin import BuiltinServer
from ajet_torch.sampling.server import SampleRequest, weight_sum
from ajet_torch.sampling.vllm_server import VllmServer
from ajet_torch.training import Placement, Trainer
from shapes import SHAPES, full_row, header, random_lm, synchronize, timed

GROUP = 8


def requests(count: int, prompt: int, answer: int, vocab: int) -> list[SampleRequest]:
    rng = np.random.default_rng(0)
    prompts = [rng.integers(0, vocab, prompt).astype(np.int32) for _ in range(-(-count // GROUP))]
    return [SampleRequest(i, prompts[i // GROUP], 1.0, 1.0, 0, answer, frozenset(), i, False) for i in range(count)]


def measure(server: BuiltinServer, concurrent: int, prompt: int, answer: int, vocab: int) -> dict:
    for request in requests(min(concurrent, GROUP), prompt, 4, vocab):
        server.submit(request)
    while server.is_busy() or server.has_queue():
        server.tick()
    for request in requests(concurrent, prompt, answer, vocab):
        server.submit(request)
    synchronize()
    start = time.perf_counter()
    events, first = 0, None
    while server.is_busy() or server.has_queue():
        events += len(server.tick())
        first = first or time.perf_counter() - start
    seconds = time.perf_counter() - start
    return {"server": "builtin", "concurrent": concurrent, "prompt_tokens": prompt, "answer_tokens": answer, "seconds": seconds, "first_token_seconds": first, "tokens_per_second": events / seconds}


def run_vllm(args: argparse.Namespace, device: torch.device) -> tuple[list[dict], dict]:
    """Sends the same requests to vLLM, which shares the GPU with a trainer of the same model. Then measures and checks
    a transfer of the weights."""
    with tempfile.TemporaryDirectory() as folder:
        if args.model_dir is None:
            random_lm(args.model, device, torch.bfloat16).save_pretrained(folder)
            torch.cuda.is_available() and torch.cuda.empty_cache()
        inference = InferenceConfig(server="vllm", slots=max(args.concurrent), kv_tokens=args.prompt + args.answer, gpu_memory_utilization=args.memory, cuda_graphs=not args.eager)
        config = WorkerConfig(model_dir=args.model_dir or folder, compile="off", inference=inference)
        trainer = Trainer(config, Placement(device, torch.bfloat16, Ranks(0, 1, 0), False))
        server = VllmServer(config, trainer.policy, trainer.placement.ranks)
    name = args.model_dir or args.model
    rows = []
    try:
        for concurrent in args.concurrent:
            found = measure(server, concurrent, args.prompt, args.answer, int(trainer.policy.lm.config.vocab_size))
            rows.append({"model": name, **found, "server": "vllm", "first_token_seconds": None, "vllm": ".".join(map(str, server.replicas[0].process.version))})
            print(json.dumps(rows[-1]), flush=True)
        sync = {"in_place": server.sender.is_direct, "transferred_seconds": sync_seconds(server, trainer, args.repeats)}
        server.sender.is_direct = False
        sync["by_vllms_own_update_seconds"] = sync_seconds(server, trainer, args.repeats)
    finally:
        server.close()
    return rows, {"model": name, "gpus": 1, "server": "vllm", **sync, "checked": True, "eager": args.eager, "vllm": ".".join(map(str, server.replicas[0].process.version))}


def sync_seconds(server: VllmServer, trainer: Trainer, repeats: int) -> float:
    """Returns the median seconds of a transfer. Each transfer has new weights, and its probe counts as passed."""
    times = []
    for _ in range(repeats):
        trainer.step([full_row(256, trainer.policy.lm.config.vocab_size)], LossConfig())
        times.append(timed(lambda: server.update_weights(trainer.policy.lm.named_parameters()), 1, warmup=0))
        server.judge({})
    return float(np.median(times))


def measure_sync(trainer: Trainer, name: str) -> dict:
    """Measures how long the trainer's weights take to reach the sampler: if both share them, and if they are copied
    into a second model, as on several GPUs."""
    server = BuiltinServer(trainer.policy, InferenceConfig(slots=1), trainer.placement.device)
    weights = lambda: trainer.policy.lm.named_parameters()  # noqa: E731

    def shared() -> None:
        server.update_weights(weights())
        assert server.fingerprint() == weight_sum(weights())

    copy = {name: torch.empty_like(p) for name, p in weights()}

    def copied() -> None:
        with torch.no_grad():
            for key, p in weights():
                copy[key].copy_(p)
        assert weight_sum(copy.items()) == weight_sum(weights())

    return {"model": name, "gpus": 1, "server": "builtin", "shared_seconds": timed(shared, 3), "copied_seconds": timed(copied, 3), "checked": True}


def run_builtin(args: argparse.Namespace, device: torch.device) -> tuple[list[dict], dict]:
    vocab = SHAPES[args.model].vocab
    trainer = Trainer(WorkerConfig(max_pack_tokens=1024, compile="off"), Placement(device, torch.bfloat16, Ranks(0, 1, 0), False), random_lm(args.model, device, torch.bfloat16))
    rows = []
    for concurrent in args.concurrent:
        config = InferenceConfig(slots=concurrent, kv_tokens=args.prompt + args.answer)
        server = BuiltinServer(trainer.policy, config, device)
        rows.append({"model": args.model, **measure(server, concurrent, args.prompt, args.answer, vocab)})
        print(json.dumps(rows[-1]), flush=True)
        server.close()
        del server
        torch.cuda.is_available() and torch.cuda.empty_cache()
    trainer.step([full_row(256, vocab)], LossConfig())
    return rows, measure_sync(trainer, args.model)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="1.5B")
    parser.add_argument("--server", default="builtin", choices=["builtin", "vllm"])
    parser.add_argument("--model-dir", help="folder of the model that vLLM loads; without it, random weights of --model")
    parser.add_argument("--memory", type=float, default=0.45, help="part of the GPU that vLLM may use")
    parser.add_argument("--concurrent", type=int, nargs="+", default=[64, 512])
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--answer", type=int, default=256)
    parser.add_argument("--repeats", type=int, default=5, help="transfers of weights to vLLM")
    parser.add_argument("--eager", action="store_true", help="vLLM without graphs and compiled layers, which start sooner")
    parser.add_argument("--date", default="")
    parser.add_argument("--out", default=".")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    rows, sync = run_vllm(args, device) if args.server == "vllm" else run_builtin(args, device)
    print(json.dumps(sync), flush=True)
    for name, found in (("sampling", rows), ("weight_sync", [sync])):
        (Path(args.out) / f"{name}.json").write_text(json.dumps({**header(args.date), "rows": found}, indent=1))


if __name__ == "__main__":
    main()

"""Does vLLM do what the worker assumes? Run the script in an environment that has vLLM: python bench/vllm_check.py
--model-dir DIR

It prints one line of JSON for each question and exits with an error at the first "no". Most questions need a GPU.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
import torch

from ajet_torch.config import InferenceConfig, LoraConfig, OptimizerConfig, WorkerConfig
from ajet_torch.losses import LossConfig
from ajet_torch.model import choose_device, choose_dtype
from ajet_torch.ranks import Ranks
from ajet_torch.sampling.server import SampleRequest, TokenEvent
from ajet_torch.sampling.vllm_http import UnixConnection
from ajet_torch.session import Session
from ajet_torch.training import Placement
from shapes import full_row

GAP = 0.05
"""The largest allowed mean difference between the logprobs of vLLM and of the trainer, in nats per token. The two differ
because vLLM computes in bfloat16 with other kernels."""


def say(question: str, holds: bool, **facts: Any) -> None:
    print(json.dumps({"question": question, "holds": holds, **facts}), flush=True)
    if not holds:
        raise SystemExit(1)


class Check:
    def __init__(self, args: argparse.Namespace) -> None:
        device = choose_device("auto", 0)
        inference = InferenceConfig(server="vllm", slots=args.slots, kv_tokens=args.context, gpu_memory_utilization=args.memory)
        config = WorkerConfig(model_dir=args.model_dir, compile="off", inference=inference, lora=LoraConfig(rank=args.lora), optimizer=OptimizerConfig(learning_rate=1e-4))
        start = time.perf_counter()
        self.session = Session(config, Placement(device, choose_dtype("auto", device), Ranks(0, 1, 0), False))
        self.server: Any = self.session.server
        say("starts, and its weights are the trainer's bit for bit", self.server.replicas[0].is_exact, seconds=time.perf_counter() - start, version=self.server.replicas[0].process.version)
        self.prompt = np.random.default_rng(1).integers(0, self.session.vocab_size, args.context // 2).astype(np.int32)

    def ask(self, number: int, **changes: Any) -> list[TokenEvent]:
        base = dict(id=number, prompt_ids=self.prompt, temperature=1.0, top_p=1.0, top_k=0, max_tokens=16, stop_ids=frozenset(), seed=number, stream=True)
        submitted, found = [SampleRequest(**{**base, **changes})], []
        while not found or found[-1].finish is None:
            found += [event for event in self.session.sample(submitted, []) if event.id == number]
            submitted = []
        return found

    def gap(self, events: list[TokenEvent]) -> float:
        row = np.concatenate([self.prompt, np.asarray([event.token for event in events], np.int32)])
        return float(np.abs(self.session.trainer.logprobs([row])[0][len(self.prompt) :] - [event.logprob for event in events]).mean())

    def running(self) -> float:
        connection = UnixConnection(self.server.replicas[0].process.http.path, 20)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith("vllm:num_requests_running"))

    def answers(self) -> None:
        """Checks logprobs, stop ids and truncation. Logits in bfloat16 often tie at the top, so top_k=1 leaves a few
        equally likely tokens."""
        for stream in (True, False):
            for temperature in (1.0, 0.0):
                gap = self.gap(self.ask(1, stream=stream, temperature=temperature))
                say("logprobs are the trainer's", gap < GAP, stream=stream, temperature=temperature, gap=gap)
        greedy = self.ask(2, temperature=0.0)
        stopped = self.ask(3, temperature=0.0, stop_ids=frozenset([greedy[3].token]))
        say("a stop id is an answer's last token", stopped[-1].finish == "stop" and stopped[-1].token == greedy[3].token)
        ties = [float(np.exp(-event.logprob)) for event in self.ask(4, top_k=1)]
        say("logprobs are those after truncation", max(ties) < 16 and max(abs(number - round(number)) for number in ties) < 1e-3, ties=max(ties))

    def abort(self) -> None:
        for stream in (True, False):
            self.session.sample([SampleRequest(5, self.prompt, 1.0, 1.0, 0, 10**6, frozenset(), 5, stream)], [])
            start = time.perf_counter()
            while self.running() == 0 and time.perf_counter() - start < 5:
                time.sleep(0.01)
            self.session.sample([], [5])
            start = time.perf_counter()
            while self.running() > 0 and time.perf_counter() - start < 5:
                time.sleep(0.01)
            say("an aborted answer ends in the server", self.running() == 0, stream=stream, seconds=time.perf_counter() - start)

    def weights(self) -> None:
        old = self.ask(6, temperature=0.0)
        for _ in range(3):
            self.session.trainer.step([full_row(256, self.session.vocab_size)], LossConfig())
        self.session.sync_weights()
        gap, old_gap = self.gap(self.ask(7, temperature=0.0)), self.gap(old)
        say("answers use the new weights, and no cached keys of old ones", gap < GAP, gap=gap, gap_of_old_answer=old_gap)
        free = torch.cuda.mem_get_info()[0] if torch.cuda.is_available() else 0
        seconds = [self.session.sync_weights() for _ in range(10)]
        lost = free - (torch.cuda.mem_get_info()[0] if torch.cuda.is_available() else 0)
        say("ten more updates need no more memory", lost < 64 << 20, lost_mib=lost >> 20, seconds=min(seconds))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-dir", required=True)
    parser.add_argument("--context", type=int, default=1024)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--memory", type=float, default=0.45)
    parser.add_argument("--lora", type=int, default=0)
    check = Check(parser.parse_args())
    try:
        check.answers()
        check.abort()
        check.weights()
    finally:
        check.session.server.close()


if __name__ == "__main__":
    main()

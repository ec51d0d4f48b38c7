"""Runs one rank's part of each command. All ranks run the same commands in the same order."""

from __future__ import annotations

import time
from typing import Any, Callable, Iterator

import numpy as np
import torch
from torch.distributed.tensor import DTensor

from .checkpoint import load_checkpoint, save_checkpoint
from .compile_clock import CompileClock
from .config import WorkerConfig, parse_overrides
from .errors import WorkerError
from .head import HeadOptions
from .kept import Truncation
from .losses import parse_loss
from .lora import add_lora
from .model import PolicyModel, load_lm
from .pack import parse_pack
from .sampling.builtin import BuiltinServer
from .sampling.idle import IdleServer
from .sampling.server import CallFailure, InferenceServer, ProbedServer, SampleRequest, TokenEvent, weight_sum
from .training import Placement, StepChanges, Trainer

TICKS_PER_TURN = 8
PROBE_TOKENS = 4
PROBE_TOLERANCE = 0.1
"""The limit in mean nats per token; two bf16 kernels differ by about a tenth of it."""


class Session:
    def __init__(self, config: WorkerConfig, placement: Placement) -> None:
        self.config = config
        self.placement = placement
        self.trainer = Trainer(config, placement)
        self.server = self._create_server()
        if placement.sharded or (config.lora.start and config.inference.server == "vllm"):  # otherwise vLLM would begin without the adapter
            self.server.update_weights(self.weights())
            if isinstance(self.server, ProbedServer):
                self.server.judge({})
        self.vocab_size = int(self.trainer.policy.lm.config.vocab_size)
        self.compiling = CompileClock()

    def _create_server(self) -> InferenceServer:
        inference, ranks = self.config.inference, self.placement.ranks.node
        if inference.server == "vllm" and not inference.colocated and not ranks.is_first:
            return IdleServer()
        policy = self._sampling_copy() if self.placement.sharded else self.trainer.policy
        if inference.server == "vllm":
            from .sampling.vllm_server import VllmPeer, VllmServer

            return VllmServer(self.config, policy, ranks) if ranks.is_first else VllmPeer(self.config, policy, ranks)
        return BuiltinServer(policy, inference, self.placement.device)

    @property
    def samplers(self) -> list[int]:
        """Returns the ranks that take requests: all, or with vLLM the first of each node."""
        ranks = self.placement.ranks
        return list(range(0, ranks.size, ranks.per_node if self.config.inference.server == "vllm" else 1))

    def _sampling_copy(self) -> PolicyModel:
        """Returns a whole copy of the weights in the compute type, for a rank whose trained weights are sharded.
        Sampling token by token from shards is not possible."""
        lm = load_lm(self.config.model_dir, self.placement.dtype, self.placement.device)
        if self.config.lora.rank:
            add_lora(lm, self.config.lora, self.config.seed)
        return PolicyModel(lm.requires_grad_(False), HeadOptions())

    def weights(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Returns whole weights in the compute type, one after another. Every rank must run through all of them."""
        for name, parameter in self.trainer.policy.lm.named_parameters():
            if not isinstance(parameter, DTensor):
                yield name, parameter.detach()
                continue
            on_device = parameter.detach().to(self.placement.device)
            yield name, on_device.full_tensor().to(self.placement.dtype)

    @property
    def samples_apart(self) -> bool:
        """Returns whether answers continue while a step is computed: the sampler has separate GPUs, and only the first
        rank sends requests to it."""
        inference = self.config.inference
        return inference.server == "vllm" and not inference.colocated and self.placement.ranks.num_nodes == 1

    def train(self, message: dict[str, Any], is_aborted: Callable[[], bool]) -> dict[str, Any]:
        """Makes one optimizer step. The sampler keeps the weights that it has. Raises as Trainer.step does."""
        packs = [parse_pack(pack, self.vocab_size) for pack in message["packs"]]
        loss = parse_loss(message["loss"])
        start = time.perf_counter()
        changes = StepChanges(parse_overrides(message.get("optimizer") or {}), bool(message.get("report_terms")))
        metrics = self.trainer.step(packs, loss, is_aborted, changes)
        metrics["step_seconds"] = time.perf_counter() - start
        metrics["compiling_seconds"] = self.compiling.take()  # the sampler's, too, since the step before
        return metrics

    def sync_weights(self) -> float:
        """Sends the weights to the sampler and returns how many seconds this took. Raises `weight_sync` if the sampler
        does not have the trainer's weights afterwards."""
        start = time.perf_counter()
        expected = 0

        def counted() -> Iterator[tuple[str, torch.Tensor]]:
            nonlocal expected
            for name, tensor in self.weights():
                expected += weight_sum([(name, tensor)]) if self.placement.sharded else 0
                yield name, tensor

        self.server.update_weights(counted())
        found = self.server.fingerprint()
        expected = expected if self.placement.sharded else weight_sum(self.weights())
        if found is not None and found != expected:
            raise WorkerError("weight_sync", f"After step {self.trainer.policy_version} the sampler holds other weights than the trainer (sums {found} and {expected}). Restart the run from its last checkpoint.")
        if self.config.inference.server == "vllm":
            self._check_by_probe()
        return time.perf_counter() - start

    def catch_up(self) -> None:
        """Gives the present weights to samplers that were restarted after the last update."""
        self.server.catch_up()
        self._check_by_probe()

    def _check_by_probe(self) -> None:
        """Compares logprobs of a few tokens between sampler and trainer, if the sampler's weights cannot be read."""
        prompt = np.arange(8, dtype=np.int32) % self.vocab_size
        ranks = self.placement.ranks
        server = self.server if isinstance(self.server, ProbedServer) else None
        probes = {} if server is None else server.probe(prompt, PROBE_TOKENS)
        own = [(ranks.rank, part, [(event.token, event.logprob) for event in events]) for part, events in probes.items()]
        heard = [probe for of_rank in ranks.share(ranks.gather(own)) for probe in of_rank]
        rows = [np.concatenate([prompt, np.asarray([token for token, _ in events], np.int32)]) for _, _, events in heard]
        ours = [row[len(prompt) :] for row in self.trainer.sampler_logprobs(rows)] if rows else []
        gaps = ranks.share({(rank, part): float(np.abs(found - [logprob for _, logprob in events]).mean()) for found, (rank, part, events) in zip(ours, heard)})
        if server is not None:
            server.judge({part: self._gap_error(gap) for (rank, part), gap in gaps.items() if rank == ranks.rank and gap > PROBE_TOLERANCE})

    def _gap_error(self, gap: float) -> WorkerError:
        return WorkerError("weight_sync", f"After step {self.trainer.policy_version} the sampler's logprobs are {gap:.3f} nats from the trainer's on a probe (limit {PROBE_TOLERANCE}): it does not hold the new weights.")

    def sample(self, submitted: list[SampleRequest], aborted: list[int], num_ticks: int = 0) -> list[TokenEvent | CallFailure]:
        """Takes new and aborted requests and advances. `num_ticks` of 0 lets the sampler advance as far as is useful in
        one turn of all ranks."""
        for request in submitted:
            self.server.submit(request)
        for request_id in aborted:
            self.server.abort(request_id)
        events: list[TokenEvent | CallFailure] = []
        for _ in range(num_ticks or (TICKS_PER_TURN if self.placement.ranks.size > 1 else 1)):
            events += self.server.tick()
        return events

    def logprobs(self, message: dict[str, Any]) -> list[bytes]:
        rows = [np.frombuffer(row, np.int32) for row in message["rows"]]
        for index, row in enumerate(rows):
            if len(row) and (int(row.min()) < 0 or int(row.max()) >= self.vocab_size):
                raise WorkerError("bad_request", f"Row {index} has ids outside [0, {self.vocab_size}).")
        return [values.astype(np.float32).tobytes() for values in self.trainer.logprobs(rows)]

    def term_logprobs(self, message: dict[str, Any]) -> list[bytes]:
        packs = [parse_pack(pack, self.vocab_size) for pack in message["packs"]]
        return [values.astype(np.float32).tobytes() for values in self.trainer.term_logprobs(packs, float(message["temperature"]))]

    def kept_tokens(self, message: dict[str, Any]) -> list[dict[str, bytes]]:
        packs = [parse_pack(pack, self.vocab_size) for pack in message["packs"]]
        truncation = Truncation(float(message["top_p"]), int(message["top_k"]))
        return [kept.to_wire() for kept in self.trainer.kept_tokens(packs, float(message["temperature"]), truncation)]

    def save(self, directory: str) -> None:
        save_checkpoint(self.trainer, directory)

    def load(self, directory: str) -> dict[str, Any]:
        load_checkpoint(self.trainer, directory)
        self.sync_weights()
        return {"policy_version": self.trainer.policy_version, "num_steps": self.trainer.optimizer.num_steps}

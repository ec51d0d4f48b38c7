"""Compiles what a run will need: `python -m ajet_torch.rehearsal layers`, `update` or `sampling`.

It makes a part of a step, or samples answers, with a model that has the shape of the run's model, two layers and random
weights. All layers have the same compiled code, so the run finds the code of its layers in the folder of compiled code.
Large models are not rehearsed, because their embeddings alone could take memory that the worker needs. The worker starts
this process (`rehearsals.py`) and sends it one line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from .attention import ATTENTION_NAME
from .config import WorkerConfig, parse_config
from .errors import WorkerError
from .head import HeadOptions
from .losses import LossConfig
from .model import PolicyModel, choose_device, choose_dtype, compiles_for_all_sizes, load_model_config, prepare_device, prepare_lm
from .pack import TreePack
from .parent import end_with_parent
from .ranks import Ranks
from .sampling.builtin import MOST_FUSED, BuiltinServer, context_length_of
from .sampling.server import SampleRequest
from .sampling.slots import fitting_slots
from .sharded_load import empty_lm
from .sharding import Placement
from .training import Trainer, fast_attention, rows_pack

NUM_LAYERS = 2
"""The last layer of a model caches prompts without attention, so one layer would not be enough."""
ROWS_OF_PACK, SMALL_PACK = 16, 256
SUPERVISED = 8
"""One token of this many is supervised, so that there are few logits."""


def small_lm(model_dir: str, dtype: torch.dtype, device: torch.device) -> PreTrainedModel:
    """Makes a model of the folder's shape with NUM_LAYERS layers and random weights."""
    config = load_model_config(model_dir)
    config.num_hidden_layers = NUM_LAYERS
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:NUM_LAYERS]
    with torch.device(device):
        lm = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=ATTENTION_NAME)
    return prepare_lm(lm, device)


def rehearse_layers(config: WorkerConfig, device: torch.device) -> None:
    """Computes the layers forward and backward."""
    trainer = small_trainer(config, device)
    pack = trainer.place(random_pack(min(config.max_pack_tokens * 7 // 8, 16384), trainer.policy.lm.config.vocab_size))
    with fast_attention(device):
        hidden_ND = trainer.policy.hidden(pack.data.ids_N[None], pack.data.positions_N[None], pack.plan)[0]
        hidden_ND[pack.data.predictors_U].float().sum().backward()
    wait_for(device)


def rehearse_update(config: WorkerConfig, device: torch.device) -> None:
    """Makes a step of two packs, whose gradients are added up, and a step of one pack. Layers that are
    not fused are not compiled either, because `rehearse_layers` compiles them."""
    trainer = small_trainer(config if config.may_fuse else replace(config, compile="off", attention="dense"), device)
    pack = random_pack(SMALL_PACK, trainer.policy.lm.config.vocab_size)
    for packs in ([pack, pack], [pack]):
        trainer.step(packs, LossConfig(clip_low=0.2, clip_high=0.2))
    wait_for(device)


def small_trainer(config: WorkerConfig, device: torch.device) -> Trainer:
    dtype = choose_dtype(config.dtype, device)
    return Trainer(replace(config, master_start="zero"), Placement(device, dtype, Ranks(0, 1, 0), False), small_lm(config.model_dir, dtype, device))


def random_pack(num_tokens: int, vocab_size: int) -> TreePack:
    """Makes a pack of rows of one length, in which a few tokens are supervised."""
    drawn = np.random.default_rng(0)
    pack = rows_pack([drawn.integers(0, vocab_size, max(2, num_tokens // ROWS_OF_PACK)).astype(np.int32) for _ in range(ROWS_OF_PACK)])
    number = len(pack.predictors[::SUPERVISED])
    ones = np.full(number, 1 / number, np.float32)
    terms = replace(pack.terms, pair=np.arange(number, dtype=np.int32), sequence=np.zeros(number, np.int32), weights=ones, advantages=ones, logprobs=np.full(number, -10, np.float32))
    return replace(pack, predictors=pack.predictors[::SUPERVISED], targets=pack.targets[::SUPERVISED], terms=terms)


def rehearse_sampling(config: WorkerConfig, device: torch.device) -> None:
    """Samples batches of several sizes, of equal prompts and of different ones, with short and long answers."""
    lm = small_lm(config.model_dir, choose_dtype(config.dtype, device), device).requires_grad_(False)
    context_length = context_length_of(lm, config.inference)
    slots = min(MOST_FUSED, slots_of(config, context_length, device))
    server = BuiltinServer(PolicyModel(lm, HeadOptions()), replace(config.inference, slots=slots, cuda_graphs=False), device)
    for number in [each for each in (128, 64, 16, 256, 192) if each <= max(slots, 16)]:
        for length in lengths_of(context_length):
            for is_shared in (True, False):
                sample(server, min(number, slots), length, is_shared)
    wait_for(device)


def slots_of(config: WorkerConfig, context_length: int, device: torch.device) -> int:
    """Returns the slots of the server with the whole model, which has more layers."""
    whole = SimpleNamespace(config=load_model_config(config.model_dir), dtype=choose_dtype(config.dtype, device))
    return config.inference.slots or fitting_slots(whole, context_length, device)


def lengths_of(context_length: int) -> list[int]:
    """Returns the lengths of prompts whose attention is computed in small and in large pieces."""
    return [length for length in (200, 300) if length + 8 < context_length] or [max(1, context_length // 2)]


def sample(server: BuiltinServer, number: int, length: int, is_shared: bool) -> None:
    drawn = np.random.default_rng(length)
    vocab_size = int(server.policy.lm.config.vocab_size)
    prompts = drawn.integers(0, vocab_size, (1 if is_shared else number, length)).astype(np.int32)
    for index in range(number):
        server.submit(SampleRequest(index, prompts[index % len(prompts)], 1.0, 1.0, 0, 3, frozenset(), index, False))
    while server.is_busy() or server.has_queue():
        server.tick()
    server.held.forget()


def wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def require_shared_gpu() -> None:
    """Raises if a GPU takes only one process. That process must be the worker."""
    asked = subprocess.run(["nvidia-smi", "--query-gpu=compute_mode", "--format=csv,noheader"], capture_output=True, text=True)
    if set(asked.stdout.split()) != {"Default"}:
        raise WorkerError("bad_request", f"The compute mode of the GPUs is {asked.stdout.strip() or asked.stderr.strip()!r}.")


def require_small(config: WorkerConfig) -> None:
    """Raises unless the layers are compiled once for packs of all sizes, as those of small models are."""
    if not compiles_for_all_sizes(empty_lm(config.model_dir, torch.bfloat16), config, False):
        raise WorkerError("bad_request", "The model is too large for a rehearsal, or is trained in another way.")


def warm_pool() -> None:
    """Starts the processes in which PyTorch compiles kernels side by side. They need seconds to start."""
    try:
        from torch._inductor.async_compile import maybe_warm_pool

        maybe_warm_pool()
    except Exception:  # a private function of PyTorch, without which kernels are compiled one after another
        return


REHEARSED = {"layers": rehearse_layers, "update": rehearse_update, "sampling": rehearse_sampling}


def main() -> int:
    end_with_parent()
    os.nice(5)
    part = sys.argv[1]
    if part == "layers":
        warm_pool()
    begin, task = time.perf_counter(), json.loads(sys.stdin.readline())
    config = parse_config(task["config"])
    try:
        with redirect_stdout(sys.stderr):  # the worker waits for the first line
            require_shared_gpu()
            device = choose_device(config.device, 0)
            prepare_device(device)
            require_small(config)
            REHEARSED[part](config, device)
    except Exception as error:  # the worker then compiles by itself
        print(f"failed ({type(error).__name__}: {error})", flush=True)
        return 1
    mark = Path(task["mark"])
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    print(f"took {time.perf_counter() - begin:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

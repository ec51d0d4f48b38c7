"""Runs TRL's GRPOTrainer, with vLLM in the same process, one optimizer step at a time. `engines.py` compares it with
ours.

The settings are the fastest that we found: no activation checkpointing, liger's layer kernels, flash-attn-4, and all
answers of a step generated at once. The other engines use part of the memory; a micro-batch has as
many rows as the rest allows.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from grpo_workload import ANSWERS, PROMPTS, Workload
from shapes import synchronize
from transformers import TrainerCallback

PACKAGES = ("trl", "vllm", "liger-kernel", "flash-attn-4")
MICRO_BATCH_TOKENS = 12_500
VLLM_SHARE = 0.17


def write_tokenizer(folder: Path, vocab: int) -> None:
    """Writes a tokenizer with one word per token id, because TRL passes prompts as strings."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({f"t{i}": i for i in range(vocab)}, unk_token="t0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="t1", pad_token="t2", unk_token="t0").save_pretrained(folder)


class Turns(TrainerCallback):
    """Makes the training loop, which runs in a thread, take one optimizer step at each call."""

    def __init__(self) -> None:
        self.go, self.done = threading.Semaphore(0), threading.Semaphore(0)
        self.error: BaseException | None = None

    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.go.acquire()
        synchronize()
        self.start = time.perf_counter()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        synchronize()
        self.seconds = time.perf_counter() - self.start
        self.done.release()


class TrlEngine:
    """`dtype` is the type of the master weights. The compute is bfloat16 with either type."""

    shared_llm: Any = None

    def __init__(self, model_dir: str, dtype: torch.dtype, work: list[Workload], longest_context: int, attention: str | None = None, use_vllm: bool = True, prompts: list[np.ndarray] | None = None) -> None:
        self.dtype, self.work, self.lengths = dtype, work, work[0].lengths.reshape(-1)
        self.prompts = [step.prompts for step in work] if prompts is None else prompts
        self.spent: dict[str, float] = {}
        self.longest_context = longest_context
        self.micro_batch = max(1, 1 << int(np.log2(MICRO_BATCH_TOKENS / work[0].context)))
        self.attention = attention
        self.trainer = self._create(model_dir, use_vllm)
        self.turns = Turns()
        self.trainer.add_callback(self.turns)
        self._watch()
        self.device = torch.cuda.current_device() if torch.cuda.is_available() else None
        self.thread = threading.Thread(target=self._train, daemon=True)
        self.thread.start()

    def settings(self) -> dict[str, Any]:
        return {
            "master_weights": str(self.dtype).removeprefix("torch."), "compute": "bfloat16", "attention": self.attention, "liger": True, "gradient_checkpointing": False,
            "rows_a_micro_batch": self.micro_batch, "optimizer": "adamw_torch_fused", "sampler": "vllm in process", "gpu_memory_utilization": VLLM_SHARE,
            "max_model_len": self.longest_context, "importance_sampling_correction": True,
        }

    def _create(self, model_dir: str, use_vllm: bool) -> Any:
        from datasets import Dataset
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from trl import GRPOConfig, GRPOTrainer

        count = PROMPTS * ANSWERS
        rows = [{"prompt": " ".join(f"t{i}" for i in prompt)} for step in self.prompts for prompt in step.tolist()]
        is_gpu = torch.cuda.is_available()
        options: dict[str, Any] = {} if self.attention is None else {"attn_implementation": self.attention}
        model = AutoModelForCausalLM.from_pretrained(model_dir, dtype=self.dtype, **options)
        args = GRPOConfig(
            output_dir="/tmp/trl-engine", per_device_train_batch_size=self.micro_batch, gradient_accumulation_steps=count // self.micro_batch, steps_per_generation=count // self.micro_batch,
            num_generations=ANSWERS, max_completion_length=int(self.lengths.max()), max_steps=len(self.work), learning_rate=1e-6, lr_scheduler_type="constant",
            bf16=is_gpu, use_cpu=not is_gpu, use_liger_kernel=is_gpu, gradient_checkpointing=False, logging_steps=10_000, save_strategy="no", report_to=[], shuffle_dataset=False, temperature=1.0,
            use_vllm=use_vllm, vllm_mode="colocate", vllm_gpu_memory_utilization=VLLM_SHARE, vllm_max_model_length=self.longest_context, disable_tqdm=True,
            optim="adamw_torch_fused" if is_gpu else "adamw_torch", generation_kwargs={} if use_vllm else {"min_new_tokens": int(self.lengths.max())},
        )
        with SharedLlm(use_vllm):
            return GRPOTrainer(
                model=model, reward_funcs=self._reward, args=args, train_dataset=Dataset.from_list(rows), processing_class=AutoTokenizer.from_pretrained(model_dir),
            )

    def _reward(self, completions: list[Any], **_: Any) -> list[float]:
        return np.random.default_rng(len(completions)).random(len(completions)).tolist()

    def _watch(self) -> None:
        """Measures sampling and the transfer of weights to vLLM. Gives every request the length that the workload
        sets."""
        generation = getattr(self.trainer, "vllm_generation", None)
        if generation is None:
            return
        self._time(generation, "generate", "sample_s")
        self._time(generation, "sync_weights", "sync_s")
        llm = TrlEngine.shared_llm
        own = type(llm).generate.__get__(llm)

        def with_lengths(prompts: Any, sampling_params: Any, **options: Any) -> Any:
            each = []
            for length in self.lengths:
                params = sampling_params.clone()
                params.max_tokens, params.ignore_eos = int(length), True
                each.append(params)
            return own(prompts, sampling_params=each, **options)

        llm.generate = with_lengths

    def _time(self, owner: Any, name: str, key: str) -> None:
        own = getattr(owner, name)

        def timed(*args: Any, **options: Any) -> Any:
            synchronize()
            start = time.perf_counter()
            try:
                return own(*args, **options)
            finally:
                synchronize()
                self.spent[key] = self.spent.get(key, 0.0) + time.perf_counter() - start

        setattr(owner, name, timed)

    def _train(self) -> None:
        if self.device is not None:
            torch.cuda.set_device(self.device)  # a new thread uses the first GPU, which belongs to another process
        try:
            self.trainer.train()
        except BaseException as error:
            self.turns.error = error
            raise
        finally:
            self.turns.done.release()

    def step(self, number: int) -> dict[str, float]:
        """Makes the next step. TRL makes its steps in order, so `number` is ignored."""
        self.spent = {}
        self.turns.go.release()
        self.turns.done.acquire()
        if self.turns.error is not None:
            raise self.turns.error
        sample, sync = self.spent.get("sample_s", 0.0), self.spent.get("sync_s", 0.0)
        return {"sample_s": sample, "sync_s": sync, "train_s": self.turns.seconds - sample - sync, "step_s": self.turns.seconds}

    def close(self) -> None:
        """Frees the GPU, and leaves vLLM to the next engine."""
        self.thread.join()
        self.trainer.optimizer.state.clear()
        self.trainer.model.zero_grad(set_to_none=True)
        self.trainer.model.to("cpu")
        self.trainer._buffered_inputs = None
        del self.trainer


class SharedLlm:
    """Starts vLLM once for all TRL engines of the process. Each engine loads its weights into it."""

    def __init__(self, used: bool) -> None:
        self.used = used

    def __enter__(self) -> None:
        if not self.used:
            return
        from trl.generation.vllm_generation import VLLMGeneration

        self.own = VLLMGeneration._init_vllm
        own = self.own

        def init_once(generation: Any) -> None:
            if TrlEngine.shared_llm is None:
                own(generation)
                TrlEngine.shared_llm = generation.llm
            generation.llm, generation._llm_weights_sleeping = TrlEngine.shared_llm, False

        VLLMGeneration._init_vllm = init_once

    def __exit__(self, *_: Any) -> None:
        if self.used:
            from trl.generation.vllm_generation import VLLMGeneration

            VLLMGeneration._init_vllm = self.own

"""Trains one task of `real.py` with TRL's GRPOTrainer, which samples with transformers or with vLLM in its process.

The calculator has two turns. SmolLM2's chat template has no tools, so TRL's own loop of tools refuses it. The second
turn comes from a rollout function, TRL's entry for such agents, which samples both turns with TRL's sampler.
"""

from __future__ import annotations

import copy
import json
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Sequence

import tasks
from rules import ANSWER_TOKENS, BATCH, EVALUATE_EVERY, REPEAT, evaluates, steps_to_mark

Messages = list[dict[str, str]]
VLLM_SHARE = 0.3
"""The part of the GPU's memory that vLLM may use. TRL has the same default."""


def result_suffix(tokenizer: Any, call: str, result: str) -> list[int]:
    """Returns the tokens between the end of a call and the answer after it."""
    turns = [tasks.message("user", "."), tasks.message("assistant", call)]
    begin = tokenizer.apply_chat_template(turns, tokenize=False)
    whole = tokenizer.apply_chat_template([*turns, tasks.message("user", result)], tokenize=False, add_generation_prompt=True)
    end_of_call = begin.rindex(tokenizer.eos_token) + len(tokenizer.eos_token)
    if whole[:end_of_call] != begin[:end_of_call]:
        raise ValueError("The chat template changes earlier turns.")
    return list(tokenizer(whole[end_of_call:], add_special_tokens=False)["input_ids"])


def play_calculator(trainer: Any, prompts: Sequence[Messages]) -> dict[str, list[Any]]:
    """Samples a call and, if it can be computed, an answer for every prompt. The answers to results are one batch.
    `env_mask` is 0 at tokens that the model did not write. There `logprobs`, which vLLM alone returns, are 0 too."""
    tokenizer = trainer.processing_class
    prompt_ids, _, _ = trainer._tokenize_prompts(list(prompts))
    done, logprobs = trainer._generate_single_turn(prompt_ids, None, {}, num_generations=REPEAT)
    masks, last = [[1] * len(ids) for ids in done], [""] * len(done)
    asked = []
    for i, ids in enumerate(done):
        call = tokenizer.decode(ids, skip_special_tokens=True)
        result = tasks.calculate(call)
        if result is not None:
            end = [] if ids[-1] == tokenizer.eos_token_id else [tokenizer.eos_token_id]
            given = [*end, *result_suffix(tokenizer, call, f"result: {result}")]
            done[i], masks[i] = [*ids, *given], [*masks[i], *[0] * len(given)]
            if logprobs is not None:
                logprobs[i] = [*logprobs[i], *[0.0] * len(given)]
            asked.append(i)
    if asked:
        answers, logprobs_after = trainer._generate_single_turn([[*prompt_ids[i], *done[i]] for i in asked], None, {}, num_generations=1)
        for n, (i, ids) in enumerate(zip(asked, answers)):
            last[i] = tokenizer.decode(ids, skip_special_tokens=True)
            done[i], masks[i] = [*done[i], *ids], [*masks[i], *[1] * len(ids)]
            if logprobs is not None:
                logprobs[i] = [*logprobs[i], *logprobs_after[n]]
    return {"prompt_ids": prompt_ids, "completion_ids": done, "logprobs": logprobs, "env_mask": masks, "said": last}


@contextmanager
def likeliest(trainer: Any) -> Iterator[None]:
    """Draws among the likeliest token alone."""
    owner: Any
    value: Any
    if trainer.use_vllm:
        owner, name, value = trainer.vllm_generation, "temperature", 0.0
    else:
        owner, name, value = trainer, "generation_config", copy.deepcopy(trainer.generation_config)
        value.update(top_k=1)
    kept = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, kept)
        trainer._last_loaded_step = -1  # vLLM gets the weights again in the next step, so the clock counts that


def greedy_success(trainer: Any, rows: list[dict[str, Any]]) -> float:
    """Plays the held-out tasks once each."""
    trainer.model.eval()
    try:
        with likeliest(trainer):
            said = play_calculator(trainer, [row["messages"] for row in rows])["said"]
    finally:
        trainer.model.train()
    return sum(tasks.is_right("calculator", row, each) for row, each in zip(rows, said)) / len(rows)


def read_rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line)["metadata"] for line in file.read_text().splitlines()]


def run_trl(args: Any, folder: Path) -> dict[str, Any]:
    started = time.perf_counter()
    import torch
    from datasets import Dataset
    from shapes import synchronize
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    data, task = folder / "data", args.task
    tasks.write(task, data, BATCH * args.steps, args.seed)
    rows, held_out = read_rows(data / "training.jsonl"), read_rows(data / "validation.jsonl")
    success: list[float] = []
    spent: list[float] = []
    greedy: dict[int, float] = {}

    def reward(completions: list[Any], answer: list[str], said: list[str] | None = None, **_: Any) -> list[float]:
        last = said if said is not None else [done[0]["content"] for done in completions]
        found = [float(tasks.is_right(task, {"answer": wanted}, done)) for done, wanted in zip(last, answer)]
        success.append(sum(found) / len(found))
        return found

    def reached() -> int | None:
        entries = [{"step": i + 1, "success_rate": value} for i, value in enumerate(success)]
        return steps_to_mark(task, entries, [{"step": step, "success_rate": value} for step, value in greedy.items()])

    class Clock(TrainerCallback):
        """Measures steps. Evaluations come between them."""

        def on_train_begin(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
            self._evaluate(0)

        def on_step_end(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
            synchronize()
            spent.append(time.perf_counter() - self.start)
            if state.global_step % EVALUATE_EVERY == 0:
                self._evaluate(state.global_step)
            self.start = time.perf_counter()
            if reached() is not None or sum(spent) > args.seconds:
                control.should_training_stop = True

        def _evaluate(self, step: int) -> None:
            if evaluates(task):
                greedy[step] = greedy_success(trainer, held_out)
                print(json.dumps({"step": step, "greedy": greedy[step]}), flush=True)
            synchronize()
            self.start = time.perf_counter()

    is_gpu = torch.cuda.is_available()
    sampler = {"use_vllm": True, "vllm_mode": "colocate", "vllm_gpu_memory_utilization": VLLM_SHARE} if args.sampler == "vllm" else {}
    settings = GRPOConfig(
        output_dir=str(folder / "trl"), per_device_train_batch_size=BATCH * REPEAT, gradient_accumulation_steps=1, num_generations=REPEAT, max_completion_length=ANSWER_TOKENS[task],
        max_steps=args.steps, learning_rate=args.rate, lr_scheduler_type="constant", bf16=is_gpu, use_cpu=not is_gpu, gradient_checkpointing=False, logging_steps=10_000, save_strategy="no",
        report_to=[], temperature=1.0, beta=0.0, seed=args.seed, disable_tqdm=True, shuffle_dataset=False, optim="adamw_torch_fused" if is_gpu else "adamw_torch",
        **sampler,
    )
    dtype = torch.float32 if args.way == "float32" else torch.bfloat16
    model = AutoModelForCausalLM.from_pretrained(str(args.model), dtype=dtype, attn_implementation="sdpa")
    prompts = Dataset.from_list([{"prompt": row["messages"], "answer": row["answer"]} for row in rows])
    turns = {"rollout_func": lambda asked, trainer: play_calculator(trainer, asked)} if evaluates(task) else {}
    trainer = GRPOTrainer(
        model=model, reward_funcs=reward, args=settings, train_dataset=prompts, processing_class=AutoTokenizer.from_pretrained(args.model), callbacks=[Clock()], **turns,
    )
    startup = time.perf_counter() - started
    trainer.train()
    return {"success": success, "step_s": spent, "sample_s": [], "speeds": [], "compiling_s": None, "greedy": greedy, "steps": reached(), "startup_s": startup, "log": []}

"""Does a real model learn in fewer steps if its float32 master weights begin with values between those of bfloat16?

A bfloat16 model learns by GRPO to extract facts from a sentence: fields as JSON, a date, or a mail address. The task
has one turn and a reward of 0 or 1, and the prompt shows an example of each form. The model is a Hugging Face folder,
or a GGUF file that the script dequantises.

Each row is one run. It has the start of the masters, the rate and the seed. It has the greedy success on held-out tasks
after each step, the sampled success of each step, and the share of bfloat16 weights that each step changed.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Callable

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerBase

from ajet_torch.attention import ATTENTION_NAME
from ajet_torch.config import OptimizerConfig, WorkerConfig
from ajet_torch.losses import LossConfig
from ajet_torch.model import prepare_lm
from ajet_torch.ranks import Ranks
from ajet_torch.training import Placement, Trainer
from learning import Sampler, Walk, to_tree
from shapes import header

NAMES = ("Anna Weber", "Tom Fisher", "Mei Lin", "Omar Haddad", "Ida Holm", "Raj Patel", "Lucia Romano", "Piotr Nowak", "Grace Okafor", "Ken Sato")
CITIES = ("Graz", "Porto", "Lyon", "Oslo", "Cork", "Turin", "Ghent", "Basel", "Malmo", "Leeds")
ITEMS = ("lamps", "chairs", "books", "cups", "bikes", "tables", "coats", "clocks", "pens", "radios")
CLIENTS = {
    "five": (
        ("name", "age", "city", "item", "count"),
        (
            "{name} from {city} is {age} years old and ordered {count} {item}.",
            "Order of {count} {item} for {name}, age {age}, {city}.",
            "We will ship {count} {item} to {city}. The customer is {name} ({age}).",
            "{name}, {age}, wrote from {city} and wants {count} {item} by Friday.",
        ),
    ),
    "four": (
        ("name", "city", "item", "count"),
        ("{name} from {city} ordered {count} {item}.", "Order of {count} {item} for {name}, {city}.", "{name} wrote from {city} and wants {count} {item} by Friday."),
    ),
    "three": (
        ("name", "item", "count"),
        ("{name} ordered {count} {item} today.", "Order of {count} {item} for {name}.", "{name} wrote to us and wants {count} {item} by Friday."),
    ),
}
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
MAX_TOKENS, KV_TOKENS = 64, 448
Read = Callable[[str], object]


@dataclass(frozen=True)
class Task:
    """The forms of the sentences, and the right answer for each. The prompt shows one solved sentence of each form."""

    system: str
    forms: tuple[str, ...]
    answer: Callable[[dict[str, object]], str]
    read: Read = str


def extraction(fields: tuple[str, ...], forms: tuple[str, ...]) -> Task:
    system = f"Extract {', '.join(fields[:-1])} and {fields[-1]} as one JSON object. Answer with JSON only."
    return Task(system, forms, lambda said: json.dumps({field: said[field] for field in fields}), json.loads)


TASKS = {name: extraction(*parts) for name, parts in CLIENTS.items()} | {
    "date": Task(
        "Write the date of the sentence as YYYY-MM-DD. Answer with the date only.",
        ("{name} came to {city} on {month} {day}, {year}.", "The {item} arrived on the {day} of {month} {year}.", "On {day} {month} {year} we wrote to {name}."),
        lambda said: f"{said['year']}-{MONTHS.index(str(said['month'])) + 1:02}-{said['day']:02}",
    ),
    "mail": Task(
        "Write the mail address of the customer: first name, dot, last name, at, city, dot com, in small letters. Answer with the address only.",
        ("{name} from {city} ordered {count} {item}.", "Order of {count} {item} for {name}, {city}.", "We will ship {count} {item} to {city}. The customer is {name}."),
        lambda said: f"{str(said['name']).replace(' ', '.')}@{said['city']}.com".lower(),
    ),
    "code": Task(
        "Write the code of the order: the first three letters of the city, the number of pieces with four digits, the initials of the customer. Answer with the code only.",
        ("{name} from {city} ordered {count} {item}.", "Order of {count} {item} for {name}, {city}.", "We will ship {count} {item} to {city}. The customer is {name}."),
        lambda said: f"{str(said['city'])[:3].upper()}-{said['count']:04}-{''.join(word[0] for word in str(said['name']).split())}",
    ),
    "login": Task(
        "Write the login of the customer: the first letter of the first name, the last name, the age, in small letters. Answer with the login only.",
        ("{name} from {city} is {age} years old.", "The customer {name}, age {age}, lives in {city}.", "{city}: {name} ({age})."),
        lambda said: f"{str(said['name'])[0]}{str(said['name']).split()[1]}{said['age']}".lower(),
    ),
    "due": Task(
        "Write the date one week after the date of the sentence as YYYY-MM-DD. Answer with the date only.",
        ("{name} came to {city} on {month} {day}, {year}.", "The {item} arrived on the {day} of {month} {year}.", "On {day} {month} {year} we wrote to {name}."),
        lambda said: str(date(int(str(said['year'])), MONTHS.index(str(said['month'])) + 1, int(str(said['day']))) + timedelta(7)),
    ),
}


class Agent:
    def __init__(self, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
        self.tokenizer = tokenizer
        self.end = int(tokenizer.convert_tokens_to_ids("<|im_end|>"))
        self.kind = TASKS[name]

    def task(self, rng: np.random.Generator) -> tuple[str, str]:
        return self._sentence(rng, self.kind.forms[int(rng.integers(len(self.kind.forms)))])

    def _sentence(self, rng: np.random.Generator, form: str) -> tuple[str, str]:
        pick = lambda values: values[int(rng.integers(len(values)))]  # noqa: E731
        said = {"name": pick(NAMES), "age": int(rng.integers(18, 90)), "city": pick(CITIES), "item": pick(ITEMS), "count": int(rng.integers(2, 30))}
        if "{month}" in form:
            said |= {"day": int(rng.integers(1, 29)), "month": pick(MONTHS), "year": int(rng.integers(1950, 2030))}
        return form.format(**said), self.kind.answer(said)

    def _prompt(self, text: str) -> list[int]:
        turns = [("system", self.kind.system)]
        for seed, form in enumerate(self.kind.forms):
            turns += list(zip(("user", "assistant"), self._sentence(np.random.default_rng(seed), form)))
        words = "".join(f"<|im_start|>{role}\n{content}<|im_end|>\n" for role, content in [*turns, ("user", text)])
        return self.tokenizer(words + "<|im_start|>assistant\n", add_special_tokens=False)["input_ids"]

    def play(self, tasks: list[tuple[str, str]], sampler: Sampler, temperature: float) -> list[Walk]:
        walks = [Walk(self._prompt(text), [], []) for text, _ in tasks]
        slots = len(sampler.server.slots)
        for start in range(0, len(walks), slots):
            sampler.extend(walks[start : start + slots], MAX_TOKENS, frozenset([self.end]), temperature)
        for walk, (_, wanted) in zip(walks, tasks):
            answer = [walk.ids[at] for at in walk.sampled]
            walk.reward = float(answer[-1] == self.end and self._read(self.tokenizer.decode(answer[:-1])) == self._read(wanted))
        return walks

    def _read(self, answer: str) -> object:
        try:
            return self.kind.read(answer)
        except ValueError:
            return None


def weights_of(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in trainer.policy.lm.named_parameters()}


def share_moved(before: dict[str, torch.Tensor], trainer: Trainer) -> float:
    moved = total = 0
    for name, parameter in trainer.policy.lm.named_parameters():
        moved += int((parameter.detach() != before[name]).sum())
        total += parameter.numel()
    return moved / total


def learn(args: argparse.Namespace, folder: Path, start: str, rate: float, seed: int) -> dict[str, object]:
    begin = time.perf_counter()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    lm = prepare_lm(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, attn_implementation=ATTENTION_NAME), device)
    config = WorkerConfig(model_dir=str(folder), attention="dense", compile="off", master_start=start, seed=seed, optimizer=OptimizerConfig(learning_rate=rate))
    trainer = Trainer(config, Placement(device, torch.bfloat16, Ranks(0, 1, 0), False), lm)
    agent = Agent(tokenizer, args.task)
    sampler = Sampler(trainer, args.tasks * args.repeat, KV_TOKENS)
    sampler.next_seed = seed * 1_000_000
    rng = np.random.default_rng(seed)
    held_out = [agent.task(np.random.default_rng(10_000 + i)) for i in range(args.held_out)]
    greedy: dict[int, float] = {}
    sampled, moved = [], []

    def evaluate(step: int) -> None:
        sampler.server.update_weights([])
        greedy[step] = float(np.mean([walk.reward for walk in agent.play(held_out, sampler, 0.0)]))

    evaluate(0)
    for step in range(1, args.steps + 1):
        tasks = [agent.task(rng) for _ in range(args.tasks)]
        walks = agent.play([task for task in tasks for _ in range(args.repeat)], sampler, args.temperature)
        rewards = np.asarray([walk.reward for walk in walks]).reshape(args.tasks, args.repeat)
        advantages = (rewards - rewards.mean(1, keepdims=True)) / (rewards.std(1, ddof=1, keepdims=True) + 1e-6)
        chosen = [group for group in range(args.tasks) if rewards[group].std() > 0]
        total = sum(len(walks[group * args.repeat + place].sampled) for group in chosen for place in range(args.repeat))
        packs = []
        for group in chosen:
            own = walks[group * args.repeat : (group + 1) * args.repeat]
            pack = to_tree(own, advantages[group].tolist())
            scale = sum(len(walk.sampled) for walk in own) / total
            packs.append(replace(pack, terms=replace(pack.terms, weights=pack.terms.weights * np.float32(scale))))
        before = weights_of(trainer)
        if packs:
            trainer.step(packs, LossConfig(clip_low=0.2, clip_high=0.2, dual_clip=3.0, temperature=args.temperature))
        moved.append(share_moved(before, trainer))
        sampled.append(float(rewards.mean()))
        if step in args.evaluate:
            evaluate(step)
        else:
            sampler.server.update_weights([])
    return {"master_start": start, "learning_rate": rate, "seed": seed, "greedy_success": greedy, "sampled_success": sampled, "share_of_weights_moved": moved, "seconds": time.perf_counter() - begin}


def to_folder(model: Path, folder: Path, dtype: torch.dtype) -> None:
    """Writes the dequantised weights of a GGUF file, and its tokenizer, into a folder. transformers does not save a
    model that it regards as quantised."""
    lm = AutoModelForCausalLM.from_pretrained(model.parent, gguf_file=model.name, dtype=dtype)
    config = type(lm.config)(**{key: value for key, value in lm.config.to_dict().items() if key != "quantization_config"})
    plain = AutoModelForCausalLM.from_config(config, dtype=dtype)
    plain.load_state_dict(lm.state_dict())
    plain.tie_weights()
    plain.save_pretrained(folder)
    AutoTokenizer.from_pretrained(model.parent, gguf_file=model.name).save_pretrained(folder)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path, help="a Hugging Face folder, or a GGUF file")
    parser.add_argument("--task", default="five", choices=list(TASKS))
    parser.add_argument("--probe", action="store_true", help="measure only the success of the untrained model: greedy, and at --temperature")
    parser.add_argument("--starts", nargs="+", default=["zero", "dithered"])
    parser.add_argument("--rates", nargs="+", type=float, default=[3e-5, 1e-5, 1e-4])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=8)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--evaluate", nargs="+", type=int, default=[1, 2, 3, 4, 6, 8], help="steps after which held-out tasks are answered greedily")
    parser.add_argument("--held-out", type=int, default=100)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no further run after this many")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/masters-model"), help="folder for the model of a GGUF file")
    parser.add_argument("--dtype", default="bfloat16", choices=["bfloat16", "float32"], help="type of the values in that folder")
    parser.add_argument("--source", default="", help="source of the weights and their SHA-256, which are kept with the result")
    parser.add_argument("--date", default="")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    begin = time.perf_counter()
    folder = args.model
    if args.model.is_file():
        folder = args.folder
        if not (folder / "config.json").exists():
            to_folder(args.model, folder, getattr(torch, args.dtype))
    if args.probe:
        args.steps, args.rates, args.starts, args.seeds = 1, [0.0], ["zero"], [1]
    rows: list[dict[str, object]] = []
    settings = {key: getattr(args, key) for key in ("task", "tasks", "repeat", "steps", "held_out", "temperature", "source")}
    for rate in args.rates:
        for seed in args.seeds:
            for start in args.starts:
                if time.perf_counter() - begin > args.seconds:
                    continue
                rows.append(learn(args, folder, start, rate, seed))
                print(json.dumps(rows[-1]), flush=True)
                if args.out:
                    args.out.write_text(json.dumps({**header(args.date), "settings": settings, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()

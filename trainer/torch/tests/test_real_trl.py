"""Tests the second turn that `bench/real` gives to TRL, with a tokenizer of one token a character."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "bench" / "real"))

import tasks  # noqa: E402
from rules import steps_to_mark  # noqa: E402
from trl_run import play_calculator  # noqa: E402

END = "#"


class Characters:
    eos_token, eos_token_id = END, ord(END)

    def __call__(self, text: str, add_special_tokens: bool) -> dict[str, list[int]]:
        return {"input_ids": [ord(letter) for letter in text]}

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        return "".join(map(chr, ids)).replace(END, "")

    def apply_chat_template(self, turns: list[dict[str, str]], tokenize: bool, add_generation_prompt: bool = False) -> str:
        return "".join(f"<{turn['role'][0]}>{turn['content']}{END}\n" for turn in turns) + ("<a>" if add_generation_prompt else "")


class Scripted:
    """Answers the calls of one turn after another."""

    def __init__(self, *turns: list[str]) -> None:
        self.processing_class, self.turns, self.asked = Characters(), list(turns), []

    def _tokenize_prompts(self, prompts: list[Any]) -> tuple[list[list[int]], None, dict[str, Any]]:
        texts = [self.processing_class.apply_chat_template(prompt, False, True) for prompt in prompts]
        return [[ord(letter) for letter in text] for text in texts], None, {}

    def _generate_single_turn(self, prompt_ids: list[list[int]], *_: Any, num_generations: int) -> tuple[list[list[int]], None]:
        self.asked.append(["".join(map(chr, ids)) for ids in prompt_ids])
        return [[ord(letter) for letter in answer] for answer in self.turns.pop(0)], None


def test_the_result_of_a_call_is_masked_and_only_calls_get_a_second_turn() -> None:
    prompt = [tasks.message("user", "Q")]
    trainer = Scripted([f"calc: 12 * 7{END}", f"84{END}", "calc: 3 + 4"], [f"84{END}", f"7{END}"])
    played = play_calculator(trainer, [prompt] * 3)
    assert trainer.asked[1] == [f"<u>Q{END}\n<a>calc: 12 * 7{END}\n<u>result: 84{END}\n<a>", f"<u>Q{END}\n<a>calc: 3 + 4{END}\n<u>result: 7{END}\n<a>"]
    assert played["said"] == ["84", "", "7"]
    written = ["".join(chr(i) for i, own in zip(ids, mask) if own) for ids, mask in zip(played["completion_ids"], played["env_mask"])]
    assert written == [f"calc: 12 * 7{END}84{END}", f"84{END}", f"calc: 3 + 47{END}"]


def test_a_call_is_read_at_the_end_of_an_answer_only() -> None:
    assert [tasks.calculate(text) for text in ("calc: 5 - 9", "so calc:2*3 ", "calc: 5 - 9 now", "5 - 9")] == ["-4", "6", None, None]


def test_an_agent_has_learned_if_the_mean_of_two_steps_or_evaluations_in_a_row_reaches_the_mark() -> None:
    series = [{"step": step, "success_rate": value} for step, value in enumerate([0.96, 0.9, 0.95, 0.97])]
    assert steps_to_mark("json", series, []) == 3
    assert steps_to_mark("calculator", [], series[:3]) is None
    assert steps_to_mark("calculator", [], [{"step": 2, "success_rate": 0.92}, {"step": 4, "success_rate": 1.0}]) == 4

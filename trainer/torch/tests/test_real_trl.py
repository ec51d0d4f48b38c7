"""Tests the second turn that `bench/real` gives to TRL, with a tokenizer of one token a character, and the arguments
that name its sampler."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "bench" / "real"))

import real  # noqa: E402
import tasks  # noqa: E402
from rules import steps_to_mark  # noqa: E402
from trl_run import greedy_success, play_calculator  # noqa: E402

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


class ScriptedVllm(Scripted):
    """Returns -1, -2, ... as the logprobs of an answer, as TRL does with vLLM, and notes the temperature of each turn."""

    use_vllm = True

    def __init__(self, *turns: list[str]) -> None:
        super().__init__(*turns)
        self.vllm_generation, self.temperatures, self.modes = SimpleNamespace(temperature=1.0), [], []
        self.model = SimpleNamespace(eval=lambda: self.modes.append("eval"), train=lambda: self.modes.append("train"))
        self._last_loaded_step = 4

    def _generate_single_turn(self, prompt_ids: list[list[int]], *rest: Any, num_generations: int) -> tuple[list[list[int]], Any]:
        self.temperatures.append(self.vllm_generation.temperature)
        done, _ = super()._generate_single_turn(prompt_ids, *rest, num_generations=num_generations)
        return done, [[-1.0 - i for i in range(len(ids))] for ids in done]


def test_every_token_has_the_logprob_of_its_turn_and_a_result_has_zeros() -> None:
    trainer = ScriptedVllm([f"84{END}", "calc: 3 + 4"], [f"7{END}"])
    played = play_calculator(trainer, [[tasks.message("user", "Q")]] * 2)
    ids, logprobs, mask = played["completion_ids"], played["logprobs"], played["env_mask"]
    assert logprobs[0] == [-1.0, -2.0, -3.0]
    assert len(logprobs[1]) == len(ids[1]) == len(mask[1])
    assert [value for value, own in zip(logprobs[1], mask[1]) if own] == [-1.0 - i for i in range(11)] + [-1.0, -2.0]
    assert {value for value, own in zip(logprobs[1], mask[1]) if not own} == {0.0}


def test_vllm_evaluates_at_temperature_zero_and_gets_the_weights_again_for_the_next_step() -> None:
    trainer = ScriptedVllm(["calc: 3 + 4", f"9{END}"], [f"7{END}"])
    rows = [{"messages": [tasks.message("user", "Q")], "answer": answer} for answer in ("7", "8")]
    assert greedy_success(trainer, rows) == 0.5
    assert (trainer.temperatures, trainer.vllm_generation.temperature) == ([0.0, 0.0], 1.0)
    assert (trainer._last_loaded_step, trainer.modes) == (-1, ["eval", "train"])


def test_transformers_evaluates_with_the_likeliest_token_and_samples_as_before_afterwards() -> None:
    class Settings(dict[str, Any]):
        def update(self, **values: Any) -> None:
            super().update(values)

    class Transformers(ScriptedVllm):
        use_vllm, generation_config = False, Settings(top_k=0)

        def _generate_single_turn(self, *asked: Any, num_generations: int) -> tuple[list[list[int]], Any]:
            self.temperatures.append(self.generation_config["top_k"])
            return Scripted._generate_single_turn(self, *asked, num_generations=num_generations)

    trainer = Transformers([f"7{END}"])
    assert greedy_success(trainer, [{"messages": [tasks.message("user", "Q")], "answer": "7"}]) == 0.0
    assert (trainer.temperatures, trainer.generation_config["top_k"]) == ([1], 0)


@pytest.mark.parametrize(("engine", "message"), [("ajet", "--sampler vllm is a sampler of TRL. Add --engine trl."), ("trl", "-m pip install vllm==0.26.0")])
def test_vllm_is_refused_without_trl_and_where_it_is_not_installed(engine: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(sys, "argv", ["real.py", "model", "--engine", engine, "--sampler", "vllm", "--task", "json"])
    with pytest.raises(SystemExit):
        real.main()
    assert message in capsys.readouterr().err


def test_a_row_names_its_sampler_only_if_it_is_vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    shapes = SimpleNamespace(devices=lambda count: [], find_versions=lambda *names: asked.append(names))
    monkeypatch.setitem(sys.modules, "shapes", shapes)
    found = {**dict.fromkeys(("steps", "compiling_s", "startup_s", "greedy")), "speeds": [], "success": [], "step_s": [], "sample_s": [], "log": []}
    names = ("task", "seed", "start", "rate", "master_start", "workers", "compile", "lora", "date", "commit")
    arguments = {**dict.fromkeys(names), "engine": "trl", "way": "bfloat16"}
    rows = [real.to_row(SimpleNamespace(**arguments, sampler=sampler), found, 0.0) for sampler in ("transformers", "vllm")]
    assert [row.get("sampler") for row in rows] == [None, "vllm"]
    assert "sampler" not in rows[0] and asked == [(), ("trl", "vllm")]


def test_a_call_is_read_at_the_end_of_an_answer_only() -> None:
    assert [tasks.calculate(text) for text in ("calc: 5 - 9", "so calc:2*3 ", "calc: 5 - 9 now", "5 - 9")] == ["-4", "6", None, None]


def test_an_agent_has_learned_if_the_mean_of_two_steps_or_evaluations_in_a_row_reaches_the_mark() -> None:
    series = [{"step": step, "success_rate": value} for step, value in enumerate([0.96, 0.9, 0.95, 0.97])]
    assert steps_to_mark("json", series, []) == 3
    assert steps_to_mark("calculator", [], series[:3]) is None
    assert steps_to_mark("calculator", [], [{"step": 2, "success_rate": 0.92}, {"step": 4, "success_rate": 1.0}]) == 4

"""Writes the two tasks of `real.py` as files that both engines read: JSON extraction in one turn, and a calculator in
two turns.

Each row has the messages of the prompt and the right answer. The prompts show solved examples, because a model of 135M
parameters would not use the required form without them. In `calculator` the model first writes a call such as `calc: 12
* 7`. The result comes back as a message, and the model answers with the number.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

HELD_OUT = 100
NAMES = ("Ben", "Cleo", "Dana", "Emil", "Fay", "Gus")
THINGS = ("apples", "nuts", "cups", "pens", "books", "lamps")
FORMS = (
    ("{name} has {a} {thing} and buys {b} more. How many {thing} are there?", "+"),
    ("{name} sells {b} of {a} {thing}. How many {thing} remain?", "-"),
    ("{name} fills {a} boxes with {b} {thing} each. How many {thing} are there?", "*"),
)
CALCULATOR = "Call the calculator once, as calc: a + b, a - b or a * b. Then answer with the number alone."


def message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def problem(rng: np.random.Generator, form: int) -> tuple[str, str, str]:
    """Returns a question, the call that computes its answer, and the answer."""
    words, operator = FORMS[form]
    a, b = sorted((int(rng.integers(3, 99)), int(rng.integers(3, 99))), reverse=True)
    value = {"+": a + b, "-": a - b, "*": a * b}[operator]
    return words.format(name=rng.choice(NAMES), thing=rng.choice(THINGS), a=a, b=b), f"calc: {a} {operator} {b}", str(value)


def calculate(call: str) -> str | None:
    """Returns the result of a call, or None if it is not one. `workflow.mjs` reads calls in the same way."""
    found = re.search(r"calc:\s*([0-9]+)\s*([-+*])\s*([0-9]+)\s*$", call)
    if found is None:
        return None
    a, b = int(found[1]), int(found[3])
    return str({"+": a + b, "-": a - b, "*": a * b}[found[2]])


def calculator_row(rng: np.random.Generator) -> dict[str, object]:
    messages = [message("system", CALCULATOR)]
    for form in (0, 2):
        question, call, value = problem(np.random.default_rng(form), form)
        messages += [message("user", question), message("assistant", call), message("user", f"result: {value}"), message("assistant", value)]
    question, _, value = problem(rng, int(rng.integers(len(FORMS))))
    return {"messages": [*messages, message("user", question)], "answer": value}


def json_row(rng: np.random.Generator) -> dict[str, object]:
    from masters import TASKS, Agent

    agent = Agent.__new__(Agent)
    agent.kind = TASKS["five"]
    messages = [message("system", agent.kind.system)]
    for seed, form in enumerate(agent.kind.forms):
        question, answer = agent._sentence(np.random.default_rng(seed), form)
        messages += [message("user", question), message("assistant", answer)]
    question, answer = agent.task(rng)
    return {"messages": [*messages, message("user", question)], "answer": answer}


ROWS = {"json": json_row, "calculator": calculator_row}


def write(task: str, folder: Path, count: int, seed: int) -> None:
    """Writes training.jsonl and validation.jsonl. No question is in both."""
    folder.mkdir(parents=True, exist_ok=True)
    held_out = [ROWS[task](np.random.default_rng(10_000 + i)) for i in range(HELD_OUT)]
    taken = {row["messages"][-1]["content"] for row in held_out}
    rng, training = np.random.default_rng(seed), []
    while len(training) < count:
        row = ROWS[task](rng)
        if row["messages"][-1]["content"] not in taken:
            training.append(row)
    for name, rows in (("training", training), ("validation", held_out)):
        lines = [{"task_id": f"{name}-{i}", "main_query": row["messages"][-1]["content"], "metadata": row} for i, row in enumerate(rows)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def is_right(task: str, row: dict[str, object], answer: str) -> bool:
    """Returns whether the agent's last answer is right."""
    if task == "calculator":
        return answer.strip() == row["answer"]
    try:
        return bool(json.loads(answer) == json.loads(str(row["answer"])))
    except ValueError:
        return False


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))

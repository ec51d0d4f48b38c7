"""Asks math-verify 0.9.0 about the forms of `number` and `expression`, and writes its differences to math-verify.md.

    pip install math-verify==0.9.0
    python test/bench/right/data/math_verify_forms.py
"""

import json
from pathlib import Path

from math_verify import parse, verify

here = Path(__file__).parent


def is_paid(gold: str, output: str) -> bool:
    """Returns whether math-verify accepts the output. It reads LaTeX only between dollars, so a form without dollars is
    also tried with them."""
    wanted = [parse(gold), parse(f"${gold}$")]
    has_mark = "$" in output or "\\boxed" in output or "\\(" in output or "\\[" in output
    found = [parse(output)] + ([] if has_mark else [parse(f"${output}$")])
    return any(verify(right, said) for right in wanted for said in found)


def cell(text: str) -> str:
    shown = json.dumps(text, ensure_ascii=False)[1:-1].replace("|", "\\|")
    return f"`` {shown} ``"


def main() -> None:
    lines = (here / "answers.jsonl").read_text().splitlines()
    forms = [form for form in map(json.loads, lines) if form["compare"] in ("number", "expression")]
    rows = {True: [], False: []}
    for form in forms:
        if is_paid(form["gold"], form["output"]) != form["paid"]:
            rows[form["paid"]].append(f"| {form['compare']} | {cell(form['gold'])} | {cell(form['output'])} |")
    head = "| compare | right answer | the agent says |\n|---|---|---|\n"
    text = (
        "# Differences of math-verify 0.9.0\n\n"
        f"`math_verify_forms.py` asked math-verify about the {len(forms)} forms of `number` and `expression` in `answers.jsonl`, with its\n"
        "default settings. math-verify reads LaTeX only between dollars, so a form without dollars was also asked with them.\n"
        "It takes the last formula or number of an answer, so most forms that it alone accepts have no mark, or are denied or hedged.\n\n"
        f"## It accepts {len(rows[False])} forms that the table does not\n\n{head}" + "\n".join(rows[False]) + "\n\n"
        f"## It does not accept {len(rows[True])} forms that the table does\n\n{head}" + "\n".join(rows[True]) + "\n"
    )
    (here / "math-verify.md").write_text(text)


main()

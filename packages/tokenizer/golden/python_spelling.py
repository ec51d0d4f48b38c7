"""Records how transformers' template engine prints values (booleans, None, floats, lists, dictionaries) and templates with other line ends.

    python packages/tokenizer/golden/python_spelling.py     # transformers 5.24.0, jinja2 3.1.6
"""

import json
from pathlib import Path

from transformers.utils.chat_template_utils import _compile_jinja_template

VALUES = {
    "yes": True,
    "no": False,
    "none": None,
    "zero": 0,
    "int": 42,
    "large": 9007199254740991,
    "half": 0.5,
    "tiny": 0.00001,
    "small": 0.0001,
    "empty": "",
    "text": "a b",
    "quotes": 'it\'s "it"',
    "single": "it's",
    "lines": "a\r\nb\tc\\",
    "odd": "\u0000\u00a0\u2028é日😀\u200b",
    "list": [1, True, None, 0.5, "x", ["y"], {"k": False}],
    "names": ["a", "b"],
    "nothing": [],
    "dict": {"a": True, "b": None, "c": [1], "d": {"e": "it's"}, "f": 1.5},
}

PER_VALUE = ["{{ v }}", "{{ v|string }}", "x{{ v ~ '|' ~ v }}", "{{ [v] }}", "{{ {'k': v} }}", "{{ v|tojson }}", "{{ v|upper }}", "{{ v|trim }}"]
OTHERS = [
    "{{ missing }}|{{ missing ~ 'x' }}",
    "{{ list|join(', ') }}",
    "{{ [1, true, none]|join('-') }}",
    "{{ names|join }}",
    "{{ (1, 'a') }}|{{ (none, true)|string }}",
    "{{ 1 == 1 }}|{{ not yes }}|{{ names is iterable }}",
    "{{ 1.0 }}|{{ 2.50 }}|{{ 3 / 2 }}|{{ 4 / 2 }}",
    "{{ dict.a }}|{{ dict['b'] }}",
    "{% for key, value in dict.items() %}{{ key }}={{ value }};{% endfor %}",
    "{% set x = none %}{{ x }}{% set y = true %}{{ y }}",
    "{# a comment #}{% macro show(x) %}<{{ x }}>{% endmacro %}{{ show(true) }}{{ show(none) }}",
    "{% if none %}a{% else %}{{ none }}{% endif %}",
    "{{ true|lower }}|{{ none|title }}|{{ list|lower }}|{{ dict|capitalize }}",
    "{{ true|replace('T', 'x') }}",
    "{{ none or 'x' }}|{{ yes and none }}",
    "a\r\nb\r\n",
    "a\rb\r",
    "{% if true %}\r\nx\r\n{% endif %}\r\ny",
    "  {%- if true %}\r\n  x\r\n  {%- endif %}\r\n",
    "a\n\n",
    "{{ 'a\r\nb' }}",
    "{{ lines }}\r\n",
    "{% for m in names %}\r\n{{ m }}\r\n{% endfor %}",
]


def main() -> None:
    # The template library writes 1e-5 in JSON; Python writes 1e-05.
    known = {("tiny", "{{ v|tojson }}")}
    cases = [(s, {"v": value}) for name, value in VALUES.items() for s in PER_VALUE if (name, s) not in known]
    cases += [(source, VALUES) for source in OTHERS]
    golden = []
    for source, variables in cases:
        text = _compile_jinja_template(source).render(**variables)
        golden.append({"source": source, "text": text, **({} if variables is VALUES else {"v": variables["v"]})})
    file = Path(__file__).parent / "python-spelling.json"
    file.write_text(json.dumps({"values": VALUES, "cases": golden}, ensure_ascii=True, indent=1) + "\n")
    print(len(golden))


main()

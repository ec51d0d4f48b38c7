"""Writes the golden files with the reference implementation of chat templates: jinja2 as transformers sets it up."""

import json
import sys
from datetime import datetime
from pathlib import Path

from transformers.utils import chat_template_utils

folder = Path(__file__).parent
written = json.loads((folder / "conversations.json").read_text())
templates = json.load(sys.stdin)


def to_reference_tool(tool):
    return {"type": "function", "function": tool}


def to_reference_message(message):
    reference = {"role": message["role"], "content": message["content"]}
    if "reasoning" in message:
        reference["reasoning_content"] = message["reasoning"]
    if "toolCallId" in message:
        reference["tool_call_id"] = message["toolCallId"]
    if "toolCalls" in message:
        reference["tool_calls"] = [
            {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": json.loads(call["arguments"])}}
            for call in message["toolCalls"]
        ]
    return reference


class FixedDate(datetime):
    @classmethod
    def now(cls, tz=None):
        return cls(2024, 7, 26)


chat_template_utils.datetime = FixedDate
for family, source in templates.items():
    for name, case in written["cases"].items():
        if family in case.get("notIn", []) or family not in case.get("only", [family]):
            continue
        template = chat_template_utils._compile_jinja_template(source)
        rendered = template.render(
            messages=[to_reference_message(message) for message in case["messages"]],
            tools=[to_reference_tool(tool) for tool in written["tools"]] if case.get("tools") else None,
            documents=None,
            add_generation_prompt=not case.get("noGenerationPrompt", False),
            bos_token="<|begin_of_text|>",
            **case.get("variables", {}),
        )
        (folder / f"{family}.{name}.txt").write_text(rendered)

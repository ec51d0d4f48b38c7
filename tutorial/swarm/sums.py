"""Solves a word problem with one call of the calculator. The reward is 1 if the numbers and the operation are right.

    python3 sums.py http://127.0.0.1:8700 [share]

The key comes from AJET_SWARM_KEY. It runs the tasks that another client has sent to the server.
"""

import json
import re
import sys

from ajet_swarm import SwarmClient

SYSTEM_PROMPT = "Solve the problem with the calculator. Then answer with the number alone."
CALCULATOR = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Computes two numbers.",
        "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
    },
}
OPERATIONS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a / b}


def calculate(written):
    try:
        expression = json.loads(written)["expression"]
        first, operation, second = re.fullmatch(r"\s*(\d+)\s*([-+*/])\s*(\d+)\s*", expression).groups()
        return OPERATIONS[operation](int(first), int(second))
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError):
        return None  # what the agent wrote is not a sum


def solve(task, episode):
    messages = [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": task["main_query"]}]
    answer = episode.chat(messages, agent="solver", tools=[CALCULATOR])["choices"][0]["message"]
    calls = answer.get("tool_calls") or []
    return bool(calls) and calculate(calls[0]["function"]["arguments"]) == task["metadata"]["answer"]


if __name__ == "__main__":
    share = sys.argv[2] if len(sys.argv) > 2 else "default"

    def tell(receipt, end):
        sys.stdout.write(f"{receipt['episode_id']} {end.get('reward') or 0}\n")  # one write, because four threads share the output
        sys.stdout.flush()

    with SwarmClient(sys.argv[1], client="python", share=share, revision="sums-1", on_end=tell) as swarm:
        print(json.dumps(swarm.run(solve, parallel=4)))

"""A walker in plain Python. It uses the openai package and nothing from AgentJet.

It reads lines. A line with `walk`, an address, a key and a model name, separated by tabs, begins a walk. Every other
line is an observation (a JSON string). The answer is a line with a move (a JSON string).
"""

import json
import sys

try:
    from openai import OpenAI
except ImportError:
    print(f"agent.py needs the openai package: {sys.executable} -m pip install openai", file=sys.stderr)
    sys.exit(69)  # EX_UNAVAILABLE: it cannot run here

SYSTEM = "You walk on a frozen lake. Reach the goal. Do not step into a hole. Answer with one word: up, down, left or right."


def main() -> None:
    shared = OpenAI(api_key="unused", max_retries=0)
    client, model, messages = shared, "", []
    for line in sys.stdin:
        if line.startswith("walk\t"):
            _, base_url, api_key, model = line.rstrip("\n").split("\t")
            client = shared.with_options(base_url=base_url, api_key=api_key)
            messages = [{"role": "system", "content": SYSTEM}]
            continue
        messages.append({"role": "user", "content": json.loads(line)})
        completion = client.chat.completions.create(model=model, messages=messages)
        answer = completion.choices[0].message.content or ""
        messages.append({"role": "assistant", "content": answer})
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

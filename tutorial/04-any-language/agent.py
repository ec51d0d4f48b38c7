"""A walker in plain Python: the openai package, and nothing of AgentJet.

Reads one observation per line (a JSON string), writes one move per line (a JSON string). The openai package takes
its address and key from OPENAI_BASE_URL and OPENAI_API_KEY, as it always does.
"""

import json
import os
import sys

from openai import OpenAI

SYSTEM = "You walk on a frozen lake. Reach the goal. Do not step into a hole. Answer with one word: up, down, left or right."


def main() -> None:
    client = OpenAI(max_retries=0)
    messages = [{"role": "system", "content": SYSTEM}]
    for line in sys.stdin:
        messages.append({"role": "user", "content": json.loads(line)})
        completion = client.chat.completions.create(model=os.environ["OPENAI_MODEL"], messages=messages)
        answer = completion.choices[0].message.content or ""
        messages.append({"role": "assistant", "content": answer})
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

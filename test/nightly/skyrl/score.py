"""Logprobs of a row by transformers alone: `python score.py <folder> <ids as JSON>` prints one for each id but the first."""

import json
import sys

import torch
from transformers import AutoModelForCausalLM


def main() -> None:
    ids = torch.tensor(json.loads(sys.argv[2]))
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
    with torch.no_grad():
        logprobs = model(ids[None]).logits[0, :-1].log_softmax(-1)
    print(json.dumps(logprobs.gather(-1, ids[1:, None])[:, 0].tolist()))


if __name__ == "__main__":
    main()

"""Prints logprobs of a row by transformers alone: `python score.py <folder> <ids as JSON>` prints one for each id
except the first."""

import json
import os
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, PreTrainedModel


def load(folder: str) -> PreTrainedModel:
    """Opens an adapter with peft. SkyRL pins peft 0.18.1, which does not work with transformers 5.8. The environment
    of trainer/torch has newer versions of both."""
    adapter = os.path.join(folder, "adapter_config.json")
    if not os.path.exists(adapter):
        return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with open(adapter) as file:
        base = json.load(file)["base_model_name_or_path"]
    return PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32), folder)


def main() -> None:
    ids = torch.tensor(json.loads(sys.argv[2]))
    model = load(sys.argv[1])
    with torch.no_grad():
        logprobs = model(ids[None]).logits[0, :-1].log_softmax(-1)
    print(json.dumps(logprobs.gather(-1, ids[1:, None])[:, 0].tolist()))


if __name__ == "__main__":
    main()

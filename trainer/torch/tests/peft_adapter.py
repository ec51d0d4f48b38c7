"""Lets peft itself write a random adapter (make), or score a row with a model and an adapter (score)."""

from __future__ import annotations

import json
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM


def make(base: str, adapter: str) -> None:
    torch.manual_seed(3)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "down_proj"]))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:  # zero at first, which would change nothing
            parameter.data.normal_(std=0.2)
    model.save_pretrained(adapter)


def score(base: str, adapter: str, row: str) -> None:
    """Prints the logprob of each token of the row but the first."""
    model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), adapter).eval()
    ids = torch.tensor([json.loads(row)])
    with torch.no_grad():
        logprobs = model(input_ids=ids).logits[0, :-1].float().log_softmax(-1)
    print(json.dumps([float(logprobs[at, token]) for at, token in enumerate(ids[0, 1:])]))


if __name__ == "__main__":
    {"make": make, "score": score}[sys.argv[1]](*sys.argv[2:])

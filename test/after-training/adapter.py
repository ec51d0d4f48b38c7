"""Makes a random adapter of a model (make), and reports how transformers reads the merged folder (compare)."""

import json
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer


def make(base: str, adapter: str) -> None:
    torch.manual_seed(3)
    model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "down_proj"]))
    for name, parameter in model.named_parameters():
        if "lora_B" in name:  # zero at first, which would change nothing
            parameter.data.normal_(std=0.05)
    model.save_pretrained(adapter)
    # Replace the name of the base model in the only file that has it.
    path = f"{adapter}/adapter_config.json"
    config = json.load(open(path)) | {"base_model_name_or_path": base}
    json.dump(config, open(path, "w"))


def compare(base: str, adapter: str, merged: str, question: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(merged)
    ours = AutoModelForCausalLM.from_pretrained(merged)
    theirs = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(base), adapter).merge_and_unload()
    plain = AutoModelForCausalLM.from_pretrained(base)
    ids = tokenizer.apply_chat_template([{"role": "user", "content": question}], add_generation_prompt=True, return_tensors="pt", return_dict=True)["input_ids"]
    with torch.no_grad():
        logits = [model(ids).logits for model in (ours, theirs, plain)]
        said = ours.generate(ids, max_new_tokens=12, do_sample=False)[0, ids.shape[1]:]
    distance = lambda other: float((logits[0] - other).abs().max())
    print(json.dumps({"to_peft": distance(logits[1]), "to_base": distance(logits[2]), "said": tokenizer.decode(said, skip_special_tokens=True)}))


if __name__ == "__main__":
    {"make": make, "compare": compare}[sys.argv[1]](*sys.argv[2:])

"""Computes the reference of `npm run bench -- parity` with plain transformers: logprobs, gradient, and the losses of
ten steps.

It reads the batch from DIR/question.json. It also compares the gradients of the backbones, which each backbone writes
as changed weights (see bench.ts). It writes its own gradient to DIR/gradient.safetensors and prints one JSON line.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM


def load(model_dir: str):
    return AutoModelForCausalLM.from_pretrained(model_dir, dtype=torch.float32, attn_implementation="eager", local_files_only=True)


def row_logprobs(lm, ids: list[int]) -> torch.Tensor:
    logits = lm(input_ids=torch.tensor([ids]), use_cache=False).logits[0, :-1]
    return logits.log_softmax(-1).gather(-1, torch.tensor(ids[1:])[:, None])[:, 0]


def loss_of(lm, rows: list[dict]) -> torch.Tensor:
    return sum((-row_logprobs(lm, row["ids"]) * torch.tensor(row["weights"][1:])).sum() for row in rows)


def read_weights(folder: Path) -> dict[str, torch.Tensor]:
    return {name: tensor for file in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(file).items()}


def gradient_distance(lm, start: dict[str, torch.Tensor], folder: Path, scale: float) -> float:
    """Returns the error of a backbone's gradient relative to that of plain transformers. The backbone has subtracted
    `scale` times its gradient from the weights."""
    after = read_weights(folder)
    own = {name: p.grad for name, p in lm.named_parameters()}
    difference = torch.stack([((start[name] - after[name]).double() / scale - own[name]).square().sum() for name in own]).sum()
    return float((difference / torch.stack([g.double().square().sum() for g in own.values()]).sum()).sqrt())


def main() -> None:
    folder = Path(sys.argv[1])
    question = json.loads((folder / "question.json").read_text())
    torch.set_num_threads(1)
    lm = load(question["model_dir"])
    with torch.no_grad():
        probes = [row_logprobs(lm, ids).tolist() for ids in question["probes"]]
    start = {name: p.detach().clone() for name, p in lm.named_parameters()}
    loss_of(lm, question["rows"]).backward()
    gradients = {name: gradient_distance(lm, start, folder / name, question["gradient_scale"]) for name in question["backbones"]}
    save_file({name: p.grad for name, p in lm.named_parameters()}, folder / "gradient.safetensors")
    norms = {name: float(p.grad.double().norm()) for name, p in lm.named_parameters()}
    lm.zero_grad()
    adam = torch.optim.AdamW(lm.parameters(), lr=question["learning_rate"], weight_decay=0.0)
    losses = []
    for _ in range(10):
        loss = loss_of(lm, question["rows"])
        losses.append(float(loss.detach()))
        loss.backward()
        adam.step()
        adam.zero_grad()
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    print(json.dumps({"probes": probes, "gradients": gradients, "gradient_norms": norms, "losses": losses, "versions": versions}))


if __name__ == "__main__":
    main()

"""Which causal language models of transformers does the worker compute as their own code does?

The benchmark makes a model of each class from a tiny configuration with random weights, and saves it. Then transformers
opens it with its code unchanged, and the worker opens it too. The benchmark compares the logprobs and gradients of a
token tree, and of two rows in one pack, with those of the rows alone.

    python bench/families.py [--root DIR] [--only TYPE ...]

It prints one JSON object. With --root it measures the trainer/torch in DIR.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import AutoModelForCausalLM, GenerationConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from tiny_config import tiny_config

HERE = Path(__file__).resolve().parent
MOST_PARAMETERS = 4_000_000
LIMIT = 1e-4
"""The limits are nats for logprobs, and the relative error for the gradient. Both sides compute in float32."""


def open_config(config: Any, seed: int = 0) -> Any:
    """Returns the unchanged model, or None if the class is not a causal language model or needs more than token ids."""
    with torch.device("meta"):
        count = sum(p.numel() for p in AutoModelForCausalLM.from_config(config).parameters())
    if count > MOST_PARAMETERS:
        return None
    torch.manual_seed(seed)
    lm = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in lm.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return lm if is_causal(lm) else None


@torch.no_grad()
def is_causal(lm: Any) -> bool:
    ids = torch.arange(3, 23)[None]
    other = ids.clone()
    other[0, 15:] += 7
    here, there = (lm(input_ids=each, use_cache=False).logits[0] for each in (ids, other))
    return len(here) == 20 and bool(torch.isfinite(here).all()) and bool((here[:15] - there[:15]).abs().max() < 1e-4) and bool((here[15:] - there[15:]).abs().max() > 1e-4)


def tree_rows(rng: np.random.Generator) -> list[np.ndarray]:
    """Returns four rows. They branch after a beginning that is longer than the sliding window, and once more later."""
    start, middle = rng.integers(3, 60, 9), rng.integers(3, 60, 4)
    return [np.concatenate([start, *parts]).astype(np.int32) for parts in ([middle, rng.integers(3, 60, 5)], [middle, rng.integers(3, 60, 3)], [rng.integers(3, 60, 8)], [rng.integers(3, 60, 2)])]


def row_logprobs(lm: Any, row: np.ndarray) -> torch.Tensor:
    ids = torch.from_numpy(row.astype(np.int64))
    logits = lm(input_ids=ids[None], use_cache=False).logits[0, :-1]
    return logits.log_softmax(-1).gather(-1, ids[1:, None])[:, 0]


def expected(lm: Any, rows: list[np.ndarray], weights: list[np.ndarray]) -> tuple[np.ndarray, dict[str, torch.Tensor]]:
    lm.zero_grad()
    found = [row_logprobs(lm, row) for row in rows]
    (-sum((logprobs * torch.from_numpy(weight)).sum() for logprobs, weight in zip(found, weights))).backward()
    return torch.cat(found).detach().numpy(), {name: p.grad.clone() for name, p in lm.named_parameters() if p.grad is not None}


def measured(trainer: Any, pack: Any, losses: Any) -> tuple[np.ndarray, dict[str, torch.Tensor]]:
    trainer.optimizer.clear()
    placed = trainer.place(pack)
    result = trainer.backward(placed, losses.LossConfig(kind="sft"))
    named = dict(trainer.policy.lm.named_parameters())
    return result.report.logprobs_K.numpy(), {name: p.grad.clone() for name, p in named.items() if p.grad is not None}


def gradient_error(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> float:
    """Returns the relative difference over all tensors. A tensor that is missing on one side counts as zero."""
    zero = torch.zeros(())
    difference = sum(float((ours.get(name, zero).double() - theirs.get(name, zero).double()).square().sum()) for name in {*ours, *theirs})
    return (difference / sum(float(g.double().square().sum()) for g in theirs.values())) ** 0.5


def compare(folder: Path, lm: Any) -> dict[str, Any]:
    """Returns the result of the comparison. Raises the error of the worker if the worker refuses the model."""
    config, losses, tiny, training = (importlib.import_module(name) for name in ("ajet_torch.config", "ajet_torch.losses", "tiny", "ajet_torch.training"))
    trainer = training.Trainer(config.WorkerConfig(model_dir=str(folder), device="cpu", dtype="float32", compile="off"), tiny.cpu_placement(torch.float32))
    logprob_error = gradient = 0.0
    rng = np.random.default_rng(0)
    rows = tree_rows(rng)
    for chosen, layout in ((rows, tiny.tree_pack), (rows[:2], side_by_side)):
        labels = [{"at": np.arange(1, len(row)), "weights": rng.random(len(row) - 1), "advantages": np.ones(len(row) - 1), "logprobs": np.zeros(len(row) - 1)} for row in chosen]
        their_logprobs, their_gradient = expected(lm, chosen, [label["weights"].astype(np.float32) for label in labels])
        our_logprobs, our_gradient = measured(trainer, layout(chosen, labels), losses)
        logprob_error = max(logprob_error, float(np.abs(our_logprobs - their_logprobs).max()))
        gradient = max(gradient, gradient_error(our_gradient, their_gradient))
    is_equal = logprob_error <= LIMIT and gradient <= LIMIT
    return {"result": "equal" if is_equal else "wrong", "logprob_error": logprob_error, "gradient_error": gradient}


def side_by_side(rows: list[np.ndarray], labels: list[dict[str, np.ndarray]]) -> Any:
    """Puts two rows that share nothing into one pack."""
    from tiny import with_terms

    starts = np.cumsum([0, *(len(row) for row in rows)])
    ends = np.concatenate([np.full(len(row), stop) for row, stop in zip(rows, starts[1:])])
    paths = [list(range(start, stop)) for start, stop in zip(starts, starts[1:])]
    return with_terms(np.concatenate(rows), np.concatenate([np.arange(len(row)) for row in rows]), ends, paths, rows, labels)


def judge(model_type: str) -> dict[str, Any]:
    """Tests the model with the default dropout, scales and caps of its class. Then tests it with values that change the
    result, if the class accepts them. Returns the worse result."""
    plain, shown = (judge_one(model_type, shows) for shows in (False, True))
    if plain["result"] != "equal":
        return plain
    return shown if shown["result"] in ("wrong", "failed") else {**plain, "shown": shown["result"]}


def judge_one(model_type: str, shows: bool) -> dict[str, Any]:
    """Returns `result` as equal, wrong, refused, failed or not_opened: `failed` if the worker opened the model and then
    raised, `not_opened` if transformers does not open the model."""
    try:
        lm = open_config(tiny_config(model_type, shows))
        if lm is None:
            return {"result": "not_opened"}
        folder = tempfile.TemporaryDirectory()
        lm.generation_config = GenerationConfig()
        lm.save_pretrained(folder.name)
        lm = AutoModelForCausalLM.from_pretrained(folder.name, dtype=torch.float32, attn_implementation="eager", local_files_only=True).eval()
    except Exception as error:
        return {"result": "not_opened", "message": f"{type(error).__name__}: {first_line(error)}"}
    with folder:
        try:
            return compare(Path(folder.name), lm)
        except Exception as error:
            code = getattr(error, "code", None)
            return {"result": "refused" if code == "unsupported_model" else "failed", "code": code or type(error).__name__, "message": first_line(error)}


def first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=str(HERE.parent))
    parser.add_argument("--only", nargs="*")
    args = parser.parse_args()
    sys.path[:0] = [args.root, str(Path(args.root) / "tests")]
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    found: dict[str, Any] = {}
    for model_type, name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.items():
        if (not args.only or model_type in args.only) and found.get(name, {"result": "not_opened"})["result"] == "not_opened":
            found[name] = {"model_type": model_type, **judge(model_type)}
            if found[name]["result"] != "not_opened":
                print(name, found[name], file=sys.stderr)
    print(json.dumps({"versions": {"torch": torch.__version__, "transformers": transformers.__version__}, "classes": found}))


if __name__ == "__main__":
    main()

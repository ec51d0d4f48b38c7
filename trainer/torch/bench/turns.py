"""How fast does the builtin sampler answer an agent of two turns, and how fast does it read long prompts?

An episode has a system prompt that all episodes share, a task that its group shares, an answer, the result of a tool,
and a second answer. The lengths are those of the calculator agent of `real/`. Weights and prompts are random, so the
benchmark loads no model. The check compares the sampler's logprobs with those of the model's own forward pass.

    python turns.py --shape 135M --out turns.json
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from shapes import header
from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config

from ajet_torch.attention import ATTENTION_NAME
from ajet_torch.config import InferenceConfig
from ajet_torch.head import HeadOptions
from ajet_torch.model import PolicyModel, prepare_lm
from ajet_torch.sampling.builtin import BuiltinServer
from ajet_torch.sampling.server import SampleRequest

SHAPES = {
    "135M": LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, head_dim=64,
        max_position_embeddings=8192, tie_word_embeddings=True, rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
    ),
    "1.5B": Qwen2Config(
        vocab_size=151936, hidden_size=1536, intermediate_size=8960, num_hidden_layers=28, num_attention_heads=12, num_key_value_heads=2,
        max_position_embeddings=32768, tie_word_embeddings=True,
    ),
}
SYSTEM, TASK, RESULT = 190, 30, 20


def create(shape: str, dtype: torch.dtype, device: torch.device, layers: int = 0) -> PolicyModel:
    config = SHAPES[shape].__class__(**{**SHAPES[shape].to_dict(), **({"num_hidden_layers": layers, "layer_types": None} if layers else {})})
    torch.manual_seed(0)
    with device:
        lm = AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=ATTENTION_NAME)
    return PolicyModel(prepare_lm(lm, device).requires_grad_(False), HeadOptions())


def answer(server: BuiltinServer, prompts: list[np.ndarray], lengths: np.ndarray, temperature: float = 1.0) -> list[list[tuple[int, float]]]:
    found: list[list[tuple[int, float]]] = [[] for _ in prompts]
    for i, prompt in enumerate(prompts):
        server.submit(SampleRequest(i, prompt, temperature, 1.0, 0, int(lengths[i]), frozenset(), i, False))
    while server.is_busy() or server.has_queue():
        for event in server.tick():
            found[event.id].append((event.token, event.logprob))
    return found


def draw(rng: np.random.Generator, length: int) -> np.ndarray:
    return rng.integers(0, 49000, length).astype(np.int32)


def play(server: BuiltinServer, rng: np.random.Generator, groups: int, repeat: int) -> tuple[int, float]:
    """Returns the sampled tokens and the seconds that a batch of episodes took."""
    system = draw(np.random.default_rng(0), SYSTEM)
    tasks = [np.concatenate([system, draw(rng, int(rng.integers(TASK - 10, TASK + 10)))]) for _ in range(groups)]
    prompts = [task for task in tasks for _ in range(repeat)]
    lengths = [rng.integers(20, 50, len(prompts)), rng.integers(10, 25, len(prompts))]
    results = [draw(rng, int(rng.integers(RESULT - 5, RESULT + 5))) for _ in prompts]
    synchronize(server)
    begin = time.perf_counter()
    first = answer(server, prompts, lengths[0])
    longer = [np.concatenate([p, [token for token, _ in a], r]).astype(np.int32) for p, a, r in zip(prompts, first, results)]
    answer(server, longer, lengths[1])
    return int(sum(length.sum() for length in lengths)), time.perf_counter() - begin


def synchronize(server: BuiltinServer) -> None:
    if server.device.type == "cuda":
        torch.cuda.synchronize()


def episodes(policy: PolicyModel, device: torch.device, rounds: int) -> dict[str, object]:
    server = BuiltinServer(policy, InferenceConfig(slots=256, kv_tokens=1024), device)
    rng = np.random.default_rng(1)
    speeds, seconds = [], []
    for _ in range(rounds):
        server.update_weights([])
        tokens, spent = play(server, rng, 16, 8)
        speeds.append(round(tokens / spent))
        seconds.append(round(spent, 4))
    server.close()
    return {"tokens_per_second": speeds, "seconds": seconds}


def prompts(policy: PolicyModel, device: torch.device, lengths: list[int], decode: int) -> list[dict[str, float]]:
    """Measures prompts without answers, and prompts of groups of eight with their answers."""
    server = BuiltinServer(policy, InferenceConfig(slots=64, kv_tokens=max(lengths) + decode + 8), device)
    rng, rows = np.random.default_rng(2), []
    for length in lengths:
        spent: dict[str, list[float]] = {"prefill_s": [], "whole_s": []}
        for _ in range(4):
            server.update_weights([])
            heads = [draw(rng, length) for _ in range(8)]
            synchronize(server)
            begin = time.perf_counter()
            answer(server, heads, np.ones(8, np.int64))
            spent["prefill_s"].append(time.perf_counter() - begin)
            server.update_weights([])
            synchronize(server)
            begin = time.perf_counter()
            answer(server, [head for head in heads for _ in range(8)], np.full(64, decode))
            spent["whole_s"].append(time.perf_counter() - begin)
        rows.append({"prompt": length, "prompts": 8, "answers": 64, "answer_tokens": decode, **{name: round(float(np.median(values[1:])), 4) for name, values in spent.items()}})
    server.close()
    return rows


def check(shape: str, device: torch.device, dtype: torch.dtype, layers: int) -> dict[str, object]:
    """Compares greedy answers of two turns with the model's own forward pass: how many tokens are the likeliest, and
    the gaps of the logprobs."""
    policy = create(shape, dtype, device, layers)
    server = BuiltinServer(policy, InferenceConfig(slots=64, kv_tokens=2560), device)
    rng = np.random.default_rng(3)
    shared = draw(rng, 150)
    asked = [np.concatenate([shared, draw(rng, n)]) for n in (1, 3, 20, 20, 500, 1900)] + [draw(rng, n) for n in (1, 2, 17, 64, 300)]
    asked += [asked[4], asked[4]]
    gaps, likeliest, total = [], 0, 0
    for _ in range(2):
        found = answer(server, asked, np.full(len(asked), 12), 0.0)
        for prompt, tokens in zip(asked, found):
            ids = torch.tensor([[*prompt.tolist(), *(token for token, _ in tokens)]], device=device)
            with torch.no_grad(), torch.compiler.set_stance("force_eager"):
                logits = reference(policy, ids)[len(prompt) - 1 : -1].float()
            expected = logits.log_softmax(-1)
            drawn = ids[0, len(prompt) :]
            gaps += (expected.gather(-1, drawn[:, None])[:, 0] - torch.tensor([logprob for _, logprob in tokens], device=device)).abs().tolist()
            likeliest += int((expected.argmax(-1) == drawn).sum())
            total += len(tokens)
        asked = [np.concatenate([p, [token for token, _ in t], draw(rng, int(rng.integers(1, 60)))]).astype(np.int32) for p, t in zip(asked, found)]
    server.close()
    return {"dtype": str(dtype).removeprefix("torch."), "layers": layers, "tokens": total, "likeliest": likeliest, "mean_gap": float(np.mean(gaps)), "largest_gap": float(np.max(gaps))}


def reference(policy: PolicyModel, ids: torch.Tensor) -> torch.Tensor:
    from ajet_torch.attention import PlanOptions, build_plan

    count = ids.shape[1]
    plan = build_plan(np.full(count, count, np.int32), np.arange(count, dtype=np.int32), count, PlanOptions(ids.device, "dense", None))
    return policy.hidden(ids, torch.arange(count, device=ids.device)[None], plan)[0] @ policy.lm.get_output_embeddings().weight.T


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", default="135M", choices=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--layers", type=int, default=0, help="layers of the checked model; 0: all")
    parser.add_argument("--only", nargs="+", default=["check", "episodes", "prompts"])
    parser.add_argument("--prompt-lengths", type=int, nargs="+", default=[2048])
    parser.add_argument("--answer-tokens", type=int, default=256)
    parser.add_argument("--name", default="")
    parser.add_argument("--date", default="")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    row: dict[str, object] = {"shape": args.shape, "name": args.name}
    if "check" in args.only:
        torch.backends.cuda.matmul.allow_tf32 = False
        row["check"] = [check(args.shape, device, dtype, args.layers) for dtype in (torch.float32, torch.bfloat16)]
        print(json.dumps(row["check"]), flush=True)
    policy = create(args.shape, torch.bfloat16 if device.type == "cuda" else torch.float32, device, args.layers)
    if "episodes" in args.only:
        row["episodes"] = episodes(policy, device, args.rounds)
        print(json.dumps(row["episodes"]), flush=True)
    if "prompts" in args.only:
        row["prompts"] = prompts(policy, device, args.prompt_lengths, args.answer_tokens)
        print(json.dumps(row["prompts"]), flush=True)
    if args.out:
        kept = json.loads(args.out.read_text())["rows"] if args.out.exists() else []
        args.out.write_text(json.dumps({**header(args.date), "rows": [*kept, row]}, indent=1) + "\n")


if __name__ == "__main__":
    main()

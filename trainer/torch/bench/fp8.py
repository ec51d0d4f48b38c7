"""How fast are matrix products in fp8, and how close are their gradients to those of bfloat16? `step.py` measures whole
steps (`matmul=fp8`).

`products` first checks that the kernels cast as plain PyTorch does. Then it measures each matrix product of a layer in
bfloat16, in e4m3 with one scale a matrix, and in e4m3 with one scale a row. It also measures the casts.

`gradients` computes the cosine between the gradients with fp8 and with bfloat16 products. As a control, it computes the
cosine between those of bfloat16 and float32. It uses random weights, and a small model that has learned sums. Both
parts write fp8.json into --out.
"""

from __future__ import annotations

import argparse
import copy
import json
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch
from learning import Sums, small_lm, to_rows as demonstrations
from shapes import SHAPES, full_row, header, random_lm
from transformers import PreTrainedModel
from triton.testing import do_bench

from ajet_torch.config import OptimizerConfig, WorkerConfig
from ajet_torch.fp8 import E4M3, fp8_peak, fp8_side_by_side, fp8_turned, fp8_under_each_other, scale_of, to_rows, transposed
from ajet_torch.losses import LossConfig
from ajet_torch.model import prepare_lm
from ajet_torch.pack import TreePack
from ajet_torch.ranks import Ranks
from ajet_torch.training import Placement, Trainer

COPIES = 3
"""Returns sets of inputs that take turns, so that no set is still in the cache."""


def layer_products(name: str) -> dict[str, tuple[int, int]]:
    """Returns the number of input and output features of each product of a layer."""
    shape = SHAPES[name]
    kv = shape.kv_heads * shape.hidden // shape.heads
    return {"qkv": (shape.hidden, shape.hidden + 2 * kv), "o": (shape.hidden, shape.hidden), "gate_up": (shape.hidden, 2 * shape.inner), "down": (shape.inner, shape.hidden)}


def median_ms(run: Callable[[int], Any]) -> float:
    turn = iter(range(1 << 30))
    return do_bench(lambda: run(next(turn) % COPIES), warmup=30, rep=120, return_mode="median")


def product_row(name: str, part: str, kind: str, sizes: tuple[int, int, int]) -> dict[str, Any]:
    """Measures one product [m, k] x [k, n]."""
    m, n, k = sizes
    flops = 2 * m * n * k
    pairs = [(torch.randn(m, k, device="cuda", dtype=torch.bfloat16), torch.randn(n, k, device="cuda", dtype=torch.bfloat16)) for _ in range(COPIES)]
    cast = [tuple(x.to(E4M3) for x in pair) for pair in pairs]
    one, rows, columns = torch.ones(1, device="cuda"), torch.ones(m, 1, device="cuda"), torch.ones(1, n, device="cuda")

    def multiply(i: int, a_scale: torch.Tensor, b_scale: torch.Tensor, fast: bool) -> torch.Tensor:
        return torch._scaled_mm(cast[i][0], cast[i][1].t(), a_scale, b_scale, out_dtype=torch.bfloat16, use_fast_accum=fast)

    times = {
        "bfloat16": median_ms(lambda i: pairs[i][0] @ pairs[i][1].t()),
        "scale_a_matrix": median_ms(lambda i: multiply(i, one, one, True)),
        "scale_a_row": median_ms(lambda i: multiply(i, rows, columns, True)),
        "scale_a_matrix_slow_sum": median_ms(lambda i: multiply(i, one, one, False)),
    }
    return {"model": name, "part": part, "kind": kind, "m": m, "n": n, "k": k, "tflops": {key: flops / ms / 1e9 for key, ms in times.items()}, "ms": times}


def products(names: list[str], tokens: int) -> list[dict[str, Any]]:
    rows = []
    for name in names:
        for part, (inputs, outputs) in layer_products(name).items():
            for kind, sizes in {"forward": (tokens, outputs, inputs), "input": (tokens, inputs, outputs), "weight": (outputs, inputs, tokens)}.items():
                rows.append(product_row(name, part, kind, sizes))
                print(json.dumps({**rows[-1], "tflops": {key: round(value) for key, value in rows[-1]["tflops"].items()}, "ms": None}), flush=True)
    return rows


def casts(name: str, tokens: int) -> list[dict[str, Any]]:
    """Returns how many bytes a second each cast moves, counting only the bytes that it must move."""
    width = SHAPES[name].inner
    x = [torch.randn(tokens, width, device="cuda", dtype=torch.bfloat16) for _ in range(COPIES)]
    weights = [[torch.randn(width, SHAPES[name].hidden, device="cuda", dtype=torch.bfloat16)] for _ in range(COPIES)]
    rows8 = [to_rows(one) for one in x]
    scale = scale_of(fp8_peak(weights[0]))
    compiled = torch.compile(to_rows, dynamic=False)
    work = {
        "rows, compiled": (lambda i: compiled(x[i]), 3 * x[0].numel()),
        "rows turned": (lambda i: fp8_turned(*rows8[i]), 2 * x[0].numel()),
        "largest weight": (lambda i: fp8_peak(weights[i]), 2 * weights[0][0].numel()),
        "weights": (lambda i: fp8_under_each_other(weights[i], scale), 3 * weights[0][0].numel()),
        "weights turned": (lambda i: fp8_side_by_side(weights[i], scale), 3 * weights[0][0].numel()),
    }
    found = [{"model": name, "cast": key, "ms": (ms := median_ms(run)), "terabytes_per_second": size / ms / 1e9} for key, (run, size) in work.items()]
    print(json.dumps(found), flush=True)
    return found


def check_kernels() -> None:
    """Checks that the kernels return what the same PyTorch operations return, at even and uneven sizes."""
    torch.manual_seed(0)
    for m, k in ((256, 384), (272, 144)):
        x = (torch.randn(m, k) * torch.logspace(-3, 3, m)[:, None]).bfloat16()
        rows, scale = to_rows(x)
        assert torch.equal(transposed(rows.cuda(), scale.cuda())[0].cpu().float(), transposed(rows, scale)[0].float()), f"fp8_turned at {m} x {k}"
        weights = [x[:128], x[128:]]
        on_gpu = [weight.cuda() for weight in weights]
        peak = fp8_peak(weights)
        assert torch.equal(fp8_peak(on_gpu).cpu(), peak), f"fp8_peak at {m} x {k}"
        one = scale_of(peak)
        weight8 = fp8_under_each_other(weights, one)
        assert torch.equal(fp8_under_each_other(on_gpu, one.cuda()).cpu().float(), weight8.float()), f"fp8_under_each_other at {m} x {k}"
        assert torch.equal(fp8_side_by_side(on_gpu, one.cuda()).cpu().float(), weight8.float().t()), f"fp8_side_by_side at {m} x {k}"
        found, expected = (torch.compile(to_rows)(x.cuda()), to_rows(x))
        assert all(torch.equal(a.cpu().float(), b.float()) for a, b in zip(found, expected)), f"to_rows at {m} x {k}"
    print("kernels agree with PyTorch", flush=True)


def gradient(lm: PreTrainedModel, pack: TreePack, loss: LossConfig, matmul: str, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Returns the gradient of each parameter, in float32 on the host. A compiled trainer computes it in its first pass,
    before any update."""
    device = next(lm.parameters()).device
    trainer = Trainer(WorkerConfig(max_pack_tokens=max(1024, pack.num_tokens), matmul=matmul, attention="dense"), Placement(device, dtype, Ranks(0, 1, 0), False), copy.deepcopy(lm).to(dtype))
    trainer.backward(trainer.place(pack), loss)
    return {name: parameter.grad.float().cpu() for name, parameter in trainer.policy.lm.named_parameters()}


def cosine(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor], names: list[str]) -> float:
    product, first, second = (sum(float((a[name].double() * b[name].double()).sum()) for name in names) for a, b in ((one, other), (one, one), (other, other)))
    return product / (first * second) ** 0.5


def compare(lm: PreTrainedModel, pack: TreePack, loss: LossConfig, about: dict[str, Any]) -> dict[str, Any]:
    modes = {"fp8": ("fp8", torch.bfloat16), "bfloat16": ("plain", torch.bfloat16), "float32": ("plain", torch.float32)}
    found = {key: gradient(lm, pack, loss, *mode) for key, mode in modes.items()}
    names = list(found["fp8"])
    pairs = {"fp8_to_bfloat16": ("fp8", "bfloat16"), "fp8_to_float32": ("fp8", "float32"), "bfloat16_to_float32": ("bfloat16", "float32")}
    kinds = {kind: [name for name in names if kind in name] for kind in ("q_proj.weight", "v_proj.weight", "o_proj", "gate_proj", "up_proj", "down_proj", "embed_tokens")}
    row = {
        **about, "loss": loss.kind, "tokens": pack.num_tokens,
        "cosine": {key: cosine(found[a], found[b], names) for key, (a, b) in pairs.items()},
        "norm_ratio": {key: cosine_norm(found[a]) / cosine_norm(found[b]) for key, (a, b) in pairs.items()},
        "cosine_by_kind": {kind: {key: cosine(found[a], found[b], chosen) for key, (a, b) in pairs.items()} for kind, chosen in kinds.items()},
    }
    print(json.dumps(row), flush=True)
    return row


def cosine_norm(one: dict[str, torch.Tensor]) -> float:
    return sum(float(x.double().square().sum()) for x in one.values()) ** 0.5


def learned_lm(steps: int) -> PreTrainedModel:
    """Trains a small model on sums by SFT, as in learning.py, with bfloat16 products."""
    device = torch.device("cuda")
    lm = prepare_lm(small_lm(512, torch.bfloat16), device)
    config = WorkerConfig(attention="dense", compile="off", optimizer=OptimizerConfig(learning_rate=1e-3, weight_decay=0.0))
    trainer = Trainer(config, Placement(device, torch.bfloat16, Ranks(0, 1, 0), False), lm)
    agent, rng = Sums(), np.random.default_rng(0)
    for _ in range(steps):
        last = trainer.step([demonstrations([agent.demonstration(agent.task(rng), rng) for _ in range(128)])], LossConfig(kind="sft"))
    print(f"learned sums to a loss of {last['loss']:.3f}", flush=True)
    return trainer.policy.lm


def gradients(name: str, tokens: int, steps: int) -> list[dict[str, Any]]:
    lm = prepare_lm(random_lm(name, torch.device("cuda"), torch.bfloat16), torch.device("cuda"))
    row = full_row(tokens, SHAPES[name].vocab)
    rows = [compare(lm, row, LossConfig(kind=kind), {"model": name, "weights": "random"}) for kind in ("sft", "policy")]
    del lm
    agent, rng = Sums(), np.random.default_rng(7)
    shown = demonstrations([agent.demonstration(agent.task(rng), rng) for _ in range(256)])
    small = learned_lm(steps)
    about = {"model": f"{sum(p.numel() for p in small.parameters()) / 1e6:.1f}M", "weights": f"after {steps} steps of SFT on sums"}
    shown.terms.advantages[:] = rng.normal(size=len(shown.terms.advantages))
    return [*rows, *(compare(small, shown, LossConfig(kind=kind), about) for kind in ("sft", "policy"))]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=["products", "gradients"])
    parser.add_argument("--models", nargs="+", default=["7B", "1.5B"])
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--gradient-model", default="1.5B")
    parser.add_argument("--gradient-tokens", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--date", default="")
    parser.add_argument("--out", default=".")
    args = parser.parse_args()
    check_kernels()
    found: dict[str, Any] = header(args.date)
    if "products" in args.parts:
        found |= {"products": products(args.models, args.tokens), "casts": casts(args.models[0], args.tokens)}
    if "gradients" in args.parts:
        found |= {"gradients": gradients(args.gradient_model, args.gradient_tokens, args.steps)}
    Path(args.out, "fp8.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()

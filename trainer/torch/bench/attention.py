"""How fast is each attention kernel at the shapes of a training step, forward and backward?

The benchmark prints TFLOP/s of visible pairs. A visible pair counts 4 x heads x head dimension operations forward, and
8 x backward.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ajet_torch.attention import build_flash_plan, build_flex_plan, build_rows_plan
from ajet_torch.flash4 import FlashPlan, is_available
from shapes import SHAPES, Node, lay_out, timed


def grads_of(run, q, k, v, out_grad):
    def both():
        for x in (q, k, v):
            x.grad = None
        run(q, k, v).backward(out_grad)

    return both


def measure(label: str, run, q, k, v, pairs: float, rows: list) -> None:
    try:
        with torch.no_grad():
            forward = timed(lambda: run(q, k, v), 10)
        both = timed(grads_of(run, q, k, v, torch.randn_like(q)), 10)
        work = 4 * q.shape[1] * q.shape[3] * pairs
        rows.append({"kernel": label, "forward_ms": forward * 1e3, "both_ms": both * 1e3, "forward_tflops": work / forward / 1e12, "backward_tflops": 2 * work / (both - forward) / 1e12})
        print(f"{label:28s} fwd {forward*1e3:7.2f} ms {work/forward/1e12:5.0f} TF  fwd+bwd {both*1e3:7.2f} ms, bwd {2*work/(both-forward)/1e12:5.0f} TF", flush=True)
    except Exception as error:  # a missing kernel is also a result
        print(label, "ERR", repr(error)[:300], flush=True)


def causal(backend: SDPBackend):
    def run(q, k, v):
        with sdpa_kernel([backend]):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=q.shape[1] != k.shape[1])

    return run


def flash_sections(name: str, tensors, rows: list) -> None:
    """Measures FlashAttention 4, and its distance from FlexAttention."""
    length, shape = 8192, SHAPES[name]
    scale = (shape.hidden // shape.heads) ** -0.5
    tree_pack = lay_out([Node(8192, False, [Node(1024, True) for _ in range(8)])], 1000, np.random.default_rng(0))
    docs = np.repeat(np.arange(1, 9) * 1024, 1024)
    causal_pairs = length * length / 2
    cases = [
        ("flash4 causal", FlashPlan([]), np.full(length, length), causal_pairs),
        ("flash4 8x1024", build_flash_plan(docs, torch.device("cuda")), docs, causal_pairs / 8),
        ("flash4 tree 8192+8x1024", build_flash_plan(tree_pack.ends, torch.device("cuda")), tree_pack.ends, float(np.sum(tree_pack.positions + 1.0))),
    ]
    for label, plan, ends, pairs in cases:
        q, k, v = tensors(len(ends))
        try:
            compare(plan, build_flex_plan(ends, np.arange(len(ends)), torch.device("cuda"), None), q, k, v, scale)
            measure(label, lambda q, k, v: plan.attend(None, q, k, v, scale, None), q, k, v, pairs, rows)
        except Exception as error:
            print(label, "ERR", repr(error)[:600], flush=True)


def compare(plan, oracle, q, k, v, scale: float) -> None:
    found = []
    for chosen in (plan.attend, torch.compile(oracle.attend, dynamic=False)):
        for x in (q, k, v):
            x.grad = None
        torch.manual_seed(1)
        out = chosen(None, q, k, v, scale, None)
        out.backward(torch.randn_like(out.contiguous()))
        found.append([x.float() for x in (out, q.grad, k.grad, v.grad)])
    print("relative difference to flex of out, dq, dk, dv:", [f"{float((a - b).norm() / b.norm()):.4f}" for a, b in zip(*found)], flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--models", nargs="+", default=["1.5B", "7B"])
    args = parser.parse_args()
    rows: list = []
    device = torch.device("cuda")
    for name in args.models:
        shape, length = SHAPES[name], 8192
        dim = shape.hidden // shape.heads
        tensors = lambda n: [torch.randn(1, h, n, dim, device=device, dtype=torch.bfloat16, requires_grad=True) for h in (shape.heads, shape.kv_heads, shape.kv_heads)]  # noqa: E731
        q, k, v = tensors(length)
        pairs = length * length / 2
        print(name, "causal", length)
        for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
            measure(f"{backend.name}", causal(backend), q, k, v, pairs, rows)
        ends = np.full(length, length)
        positions = np.arange(length)
        plan = build_flex_plan(ends, positions, device, None)
        flex = torch.compile(lambda q, k, v: plan.attend(None, q, k, v, dim**-0.5, None), dynamic=False)
        measure("flex causal", flex, q, k, v, pairs, rows)
        if is_available():
            flash_sections(name, tensors, rows)
        rows_plan = build_rows_plan(np.asarray([0, length], np.int32), device)
        measure("varlen causal", lambda q, k, v: rows_plan.attend(None, q, k, v, dim**-0.5, None), q, k, v, pairs, rows)
        eight = build_rows_plan(np.arange(9, dtype=np.int32) * 1024, device)
        measure("varlen 8x1024", lambda q, k, v: eight.attend(None, q, k, v, dim**-0.5, None), q, k, v, pairs / 8, rows)
        docs = build_flex_plan(np.repeat(np.arange(1, 9) * 1024, 1024), positions, device, None)
        flex_docs = torch.compile(lambda q, k, v: docs.attend(None, q, k, v, dim**-0.5, None), dynamic=False)
        measure("flex 8x1024", flex_docs, q, k, v, pairs / 8, rows)
        pack = lay_out([Node(8192, False, [Node(1024, True) for _ in range(8)])], 1000, np.random.default_rng(0))
        q, k, v = tensors(pack.num_tokens)
        tree_plan = build_flex_plan(pack.ends, pack.positions, device, None)
        flex_tree = torch.compile(lambda q, k, v: tree_plan.attend(None, q, k, v, dim**-0.5, None), dynamic=False)
        measure("flex tree 8192+8x1024", flex_tree, q, k, v, float(np.sum(pack.positions + 1.0)), rows)
        rectangle = [q[:, :, 8192:].detach().requires_grad_(), k[:, :, :8192].detach().requires_grad_(), v[:, :, :8192].detach().requires_grad_()]

        def dense(q, k, v):
            with sdpa_kernel([SDPBackend.CUDNN_ATTENTION]):
                return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

        measure("CUDNN 8192x8192 full", dense, *rectangle, 8192.0 * 8192, rows)
    if args.out:
        with open(args.out, "w") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()

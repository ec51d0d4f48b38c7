"""Compares the fused decoding step with the model's own forward pass. The kernels are interpreted on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from ajet_torch.config import InferenceConfig, LoraConfig
from ajet_torch.head import HeadOptions
from ajet_torch.lora import add_lora
from ajet_torch.model import PolicyModel, prepare_lm
from ajet_torch.sampling.builtin import BuiltinServer
from ajet_torch.sampling.groups import find_groups
from ajet_torch.sampling.server import SampleRequest
from answering import answer
from tiny import ATTENTION_NAME

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
VOCAB = 112
SIZES = dict(vocab_size=VOCAB, hidden_size=48, intermediate_size=80, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=1024)


def create_lm(family: str, **own: int) -> torch.nn.Module:
    from transformers import AutoModelForCausalLM, LlamaConfig, Qwen2Config, Qwen3Config

    configs = {"qwen2": Qwen2Config, "qwen3": Qwen3Config, "llama": LlamaConfig}
    torch.manual_seed(0)
    lm = AutoModelForCausalLM.from_config(configs[family](**{**SIZES, **own}), attn_implementation=ATTENTION_NAME)
    with torch.no_grad():
        for parameter in lm.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return prepare_lm(lm.float(), torch.device("cpu"))


def servers(family: str, lora: LoraConfig = LoraConfig(), **own: int) -> tuple[BuiltinServer, BuiltinServer]:
    """Makes two servers with equal weights: one with the fused step, one with the model's own forward pass."""
    from ajet_torch.sampling.fused import FusedSteps, fits

    def create() -> torch.nn.Module:
        lm = create_lm(family, **own)
        return add_lora(lm, lora, 0) if lora.rank else lm

    assert fits(create(), 700)
    made = [BuiltinServer(PolicyModel(create(), HeadOptions()), InferenceConfig(slots=5, kv_tokens=700), torch.device("cpu")) for _ in range(2)]
    fused = made[0]
    fused.steps, fused.lookahead = FusedSteps(fused.policy.lm, fused.cache, fused.context_length, fused.device, False), 1
    return made[0], made[1]


def request(number: int, prompt: np.ndarray, tokens: int, temperature: float = 1.0, top_k: int = 0, stop: frozenset[int] = frozenset()) -> SampleRequest:
    return SampleRequest(number, prompt, temperature, 1.0, top_k, tokens, stop, number, False)


def assert_same(one: dict[int, list[tuple[int, float]]], other: dict[int, list[tuple[int, float]]]) -> None:
    assert {key: [token for token, _ in value] for key, value in one.items()} == {key: [token for token, _ in value] for key, value in other.items()}
    for key, value in one.items():
        np.testing.assert_allclose([logprob for _, logprob in value], [logprob for _, logprob in other[key]], atol=2e-5)


needs_interpreter = pytest.mark.skipif(not INTERPRETED, reason="run by test_the_kernels_compute_what_the_model_does")


@needs_interpreter
@pytest.mark.parametrize("family", ["qwen2", "qwen3"])
def test_answers_of_groups_and_of_lone_prompts(family: str) -> None:
    rng = np.random.default_rng(0)
    fused, plain = servers(family)
    shared, alone = rng.integers(0, VOCAB, 140).astype(np.int32), rng.integers(0, VOCAB, 7).astype(np.int32)
    prompts = [shared, shared, alone, np.concatenate([shared[:135], alone]), np.asarray([3], np.int32), shared]
    requests = [request(i, prompt, 2, temperature=[1.0, 0.0, 0.7][i % 3]) for i, prompt in enumerate(prompts)]
    assert_same(answer(fused, requests), answer(plain, requests))
    again = [request(i, np.concatenate([prompts[i], prompts[2]]), 1) for i in range(3)]
    assert_same(answer(fused, again), answer(plain, again))


@needs_interpreter
@pytest.mark.parametrize(("heads", "kv_heads"), [(6, 2), (2, 2)])
def test_prompts_of_any_length_are_cached_in_passes_over_all_slots(heads: int, kv_heads: int) -> None:
    rng = np.random.default_rng(4)
    fused, plain = servers("llama", num_hidden_layers=2, num_attention_heads=heads, num_key_value_heads=kv_heads)
    fused.steps.prompts.most_rows = 64
    prompts = [rng.integers(0, VOCAB, length).astype(np.int32) for length in (1, 17, 70)]
    found = answer(fused, [request(i, prompt, 1, 0.0) for i, prompt in enumerate(prompts)])
    assert_same(found, answer(plain, [request(i, prompt, 1, 0.0) for i, prompt in enumerate(prompts)]))
    longer = [np.concatenate([prompt, [token for token, _ in found[i]], rng.integers(0, VOCAB, 3 + 14 * i)]).astype(np.int32) for i, prompt in enumerate(prompts)]
    assert_same(answer(fused, [request(i, prompt, 1, 0.0) for i, prompt in enumerate(longer)]), answer(plain, [request(i, prompt, 1, 0.0) for i, prompt in enumerate(longer)]))


@needs_interpreter
def test_adapters_are_part_of_the_products() -> None:
    rng = np.random.default_rng(5)
    prompts = [rng.integers(0, VOCAB, length).astype(np.int32) for length in (3, 70)]
    requests = [request(i, prompt, 3) for i, prompt in enumerate(prompts)]
    found = []
    for size in (0.0, 0.2):
        fused, plain = servers("qwen2", LoraConfig(rank=4, alpha=8.0), num_hidden_layers=2)
        for server in (fused, plain):
            draw_adapters(server.policy.lm, size)
        found.append(answer(fused, requests))
        assert_same(found[-1], answer(plain, requests))
    assert found[0] != found[1]


def draw_adapters(lm: torch.nn.Module, size: float) -> None:
    torch.manual_seed(1)
    with torch.no_grad():
        for name, parameter in lm.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=size)


@needs_interpreter
def test_truncated_rows_and_stops() -> None:
    rng = np.random.default_rng(1)
    fused, plain = servers("qwen2")
    prompt = rng.integers(0, VOCAB, 20).astype(np.int32)
    requests = [request(0, prompt, 3, top_k=3), request(1, prompt, 3), request(2, prompt, 3, stop=frozenset(range(0, VOCAB, 2)))]
    found = answer(fused, requests)
    assert_same(found, answer(plain, requests))
    assert found[2][-1][0] % 2 == 0


@needs_interpreter
def test_draws_follow_the_distribution_in_the_vocabularys_order() -> None:
    from ajet_torch.sampling import decode_kernels as kernels
    from ajet_torch.sampling.choose import choose_tokens

    rng = np.random.default_rng(2)
    rows, vocab, block = 32, 200, 64
    logits = torch.from_numpy(rng.normal(size=(rows, vocab)) * 2).float()
    controls = torch.from_numpy(np.stack([rng.choice([0.0, 0.5, 1.0], rows), rng.random(rows)], 1)).float()
    peaks, sums, places = torch.empty(rows, 4), torch.empty(rows, 4), torch.empty(rows, 4, dtype=torch.int32)
    ids, logprobs, last = torch.empty(rows, dtype=torch.int32), torch.empty(rows), torch.zeros(rows, dtype=torch.int32)
    slots = torch.arange(rows, dtype=torch.int32)
    kernels.peaks_kernel[(rows, 4)](logits, controls, peaks, sums, places, vocab, 4, BLOCK=block)
    kernels.draw_kernel[(rows,)](logits, controls, peaks, sums, places, slots, last, ids, logprobs, vocab, 4, BLOCK=block, BLOCKS=4)
    four = np.stack([controls[:, 0].numpy(), np.zeros(rows), np.ones(rows), controls[:, 1].numpy()], 1)
    wanted_ids, wanted = choose_tokens(logits, four)
    assert ids.tolist() == wanted_ids.tolist() == last.tolist()
    torch.testing.assert_close(logprobs, wanted, atol=1e-5, rtol=0)


@needs_interpreter
def test_products_of_many_rows_side_by_side_and_in_parts() -> None:
    from ajet_torch.sampling import decode_kernels as kernels

    rng = np.random.default_rng(3)
    rows, depth, sizes = 128, 80, (32, 16, 16)
    x, matrices = torch.from_numpy(rng.normal(size=(rows, depth))).float(), [torch.from_numpy(rng.normal(size=(size, depth))).float() for size in sizes]
    parts = torch.full((2, rows, 64), torch.nan)
    kernels.product_kernel[(4, 2, 2)](x, *matrices, parts, rows, depth, 32, 48, 64, 48, BM=64, BN=16, BK=16, EVEN=True, PRECISION="ieee")
    torch.testing.assert_close(parts.sum(0), x @ torch.cat(matrices).T, atol=1e-3, rtol=1e-5)
    gated = torch.full((rows, 32), torch.nan)
    kernels.gated_kernel[(2, 2)](x, matrices[0], matrices[0].flip(0).contiguous(), gated, depth, 32, BM=64, BN=16, BK=32, EVEN=False, PRECISION="ieee")
    torch.testing.assert_close(gated, torch.nn.functional.silu(x @ matrices[0].T) * (x @ matrices[0].flip(0).T), atol=1e-3, rtol=1e-5)


def test_the_kernels_compute_what_the_model_does() -> None:
    """The test runs in a separate process, because Triton reads TRITON_INTERPRET when it is imported."""
    pytest.importorskip("triton")
    if INTERPRETED:
        pytest.skip("the outer run's test")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", str(Path(__file__))], env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, cwd=Path(__file__).parents[1])
    assert done.returncode == 0, done.stdout[-3000:]


def test_groups_share_their_beginnings() -> None:
    ids = np.zeros((5, 400), np.int32)
    ids[:, :] = np.arange(400)
    ids[3, 300:] = 7
    ids[4, :] = 9
    lengths = np.asarray([350, 360, 100, 330, 400])
    groups = find_groups(ids, lengths, [0, 1, 2, 3, 4])
    assert [(group.slots, group.length) for group in groups] == [([0, 1, 3], 300)]

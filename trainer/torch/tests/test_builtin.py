"""Compares the builtin sampler with transformers' own forward pass. Prompts arrive together, share beginnings, continue
earlier ones, and fill all slots."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ajet_torch.config import InferenceConfig
from ajet_torch.head import HeadOptions
from ajet_torch.model import PolicyModel
from ajet_torch.sampling.builtin import BuiltinServer
from ajet_torch.sampling.held_tokens import HeldTokens
from ajet_torch.sampling.prefill import Fill, PrefixCopies, batches
from ajet_torch.sampling.server import SampleRequest
from ajet_torch.sampling.slots import SlotCache
from answering import answer
from tiny import FAMILIES, VOCAB, tiny_lm


def create_server(family: str, slots: int, kv_tokens: int = 0) -> tuple[BuiltinServer, torch.nn.Module]:
    policy = PolicyModel(tiny_lm(family), HeadOptions())
    return BuiltinServer(policy, InferenceConfig(slots=slots, kv_tokens=kv_tokens), torch.device("cpu")), tiny_lm(family, attention="eager")


def greedy(index: int, prompt: np.ndarray, max_tokens: int = 6) -> SampleRequest:
    return SampleRequest(index, prompt, 0.0, 1.0, 0, max_tokens, frozenset(), index, False)


@torch.no_grad()
def check(lm: torch.nn.Module, prompt: np.ndarray, sampled: list[tuple[int, float]]) -> None:
    """Checks that each token is the likeliest at its position, and that its logprob is the model's."""
    ids = torch.tensor([[*prompt.tolist(), *(token for token, _ in sampled)]])
    logprobs = lm(input_ids=ids, use_cache=False).logits[0].log_softmax(-1)
    for at, (token, logprob) in enumerate(sampled, len(prompt) - 1):
        assert token == int(logprobs[at].argmax())
        assert logprob == pytest.approx(float(logprobs[at, token]), abs=1e-6)


def random_prompt(rng: np.random.Generator, length: int) -> np.ndarray:
    return rng.integers(0, VOCAB, length).astype(np.int32)


@pytest.mark.parametrize("family", FAMILIES)
def test_prompts_of_any_length_are_answered_as_the_model_does(family: str) -> None:
    rng = np.random.default_rng(0)
    server, lm = create_server(family, slots=4)
    prompts = [random_prompt(rng, length) for length in (1, 2, 16, 17, 18, 40, 45, 90, 30, 31)]
    found = answer(server, [greedy(i, prompt) for i, prompt in enumerate(prompts)])
    for i, prompt in enumerate(prompts):
        assert len(found[i]) == 6
        check(lm, prompt, found[i])


@pytest.mark.parametrize("family", ["qwen2", "mistral"])
def test_groups_that_share_a_beginning_and_episodes_that_go_on(family: str) -> None:
    rng = np.random.default_rng(1)
    server, lm = create_server(family, slots=6)
    system = random_prompt(rng, 40)
    prompts = [np.concatenate([system, random_prompt(rng, 3 + 20 * (i // 4))]) for i in range(0, 12, 4) for _ in range(3)]
    for _ in range(3):
        found = answer(server, [greedy(i, prompt) for i, prompt in enumerate(prompts)])
        for i, prompt in enumerate(prompts):
            check(lm, prompt, found[i])
        prompts = [np.concatenate([prompt, [token for token, _ in found[i]], random_prompt(rng, 5 + 9 * (i % 4))]).astype(np.int32) for i, prompt in enumerate(prompts)]


def test_the_next_call_of_an_episode_reads_only_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    server, _ = create_server("qwen2", slots=4)
    prompts = [random_prompt(rng, 60) for _ in range(4)]
    first = answer(server, [greedy(i, prompt) for i, prompt in enumerate(prompts)])
    fills: list[Fill] = []
    monkeypatch.setattr(server.steps, "fill", lambda batch, own=server.steps.fill: (fills.extend(batch), own(batch)))
    again = [np.concatenate([prompt, [token for token, _ in first[i]], random_prompt(rng, 30)]).astype(np.int32) for i, prompt in enumerate(prompts)]
    answer(server, [greedy(i, prompt) for i, prompt in enumerate(again)])
    assert sorted((fill.start, fill.stop) for fill in fills) == [(65, 95)] * 4


def test_steps_queued_before_the_last_tokens_are_read_change_no_answer() -> None:
    rng = np.random.default_rng(6)
    prompts = [random_prompt(rng, length) for length in (3, 40, 40, 20)]
    stops = frozenset(range(0, VOCAB, 3))
    found = []
    for lookahead in (0, 1):
        server, _ = create_server("qwen2", slots=3)
        server.lookahead = lookahead
        requests = [SampleRequest(i, prompt, 1.0, 1.0, 0, 12, stops if i % 2 else frozenset(), i, False) for i, prompt in enumerate(prompts)]
        answers = answer(server, requests)
        again = [greedy(i, np.concatenate([prompts[i], [token for token, _ in answers[i]], prompts[0]]).astype(np.int32)) for i in range(4)]
        found.append((answers, answer(server, again)))
    assert found[0] == found[1]
    assert any(len(each) < 12 for each in found[0][0].values())


def test_an_answer_aborted_while_its_step_is_on_its_way_frees_the_slot() -> None:
    rng = np.random.default_rng(7)
    server, lm = create_server("qwen2", slots=1)
    server.lookahead = 1
    server.submit(greedy(0, random_prompt(rng, 30), 50))
    for _ in range(4):
        server.tick()
    server.abort(0)
    prompt = random_prompt(rng, 30)
    check(lm, prompt, answer(server, [greedy(1, prompt)])[1])


def test_an_aborted_prompt_leaves_nothing_behind() -> None:
    rng = np.random.default_rng(3)
    server, lm = create_server("qwen2", slots=2)
    prompt = random_prompt(rng, 50)
    server.submit(greedy(0, prompt))
    server.tick()
    server.abort(0)
    assert not server.is_busy()
    check(lm, prompt, answer(server, [greedy(1, prompt)])[1])


def test_an_answer_ends_where_the_context_does() -> None:
    rng = np.random.default_rng(4)
    server, lm = create_server("qwen2", slots=2, kv_tokens=48)
    prompts = [random_prompt(rng, 47), random_prompt(rng, 40)]
    found = answer(server, [greedy(i, prompt, 20) for i, prompt in enumerate(prompts)])
    assert [len(found[0]), len(found[1])] == [1, 8]
    for i, prompt in enumerate(prompts):
        check(lm, prompt, found[i])


def test_new_weights_forget_what_the_old_ones_cached() -> None:
    rng = np.random.default_rng(5)
    server, lm = create_server("qwen2", slots=2)
    prompt = random_prompt(rng, 40)
    answer(server, [greedy(0, prompt)])
    with torch.no_grad():
        for own, parameter in zip(server.policy.lm.parameters(), lm.parameters()):
            parameter.mul_(1.5)
            own.copy_(parameter)
    server.update_weights([])
    check(lm, prompt, answer(server, [greedy(1, prompt)])[1])


def test_held_tokens_are_compared_by_their_beginning() -> None:
    held = HeldTokens(3, 64)
    prompt = np.arange(40, dtype=np.int32)
    held.put(0, prompt[:20])
    held.put(1, np.where(np.arange(30) < 18, prompt[:30], 99).astype(np.int32))
    held.put(2, prompt[:10])
    assert held.shared(prompt).tolist() == [20, 18, 0]
    held.append(np.asarray([0, 2]), np.asarray([20, 7]))
    assert held.shared(prompt).tolist() == [21, 18, 0]
    held.forget()
    assert held.shared(prompt).tolist() == [0, 0, 0]


def test_prompts_of_one_pass_are_alike_in_length() -> None:
    fills = [Fill(i, 0, length, np.zeros(length, np.int32)) for i, length in enumerate([9, 100, 60, 5000, 4000, 2000, 0])]
    found = [[fill.stop for fill in batch] for batch in batches(fills)]
    assert found == [[5000], [4000, 2000], [100, 60], [9]]


def test_copies_of_copies_come_from_the_first_and_before_it_changes() -> None:
    cache = SlotCache(4, 8)
    keys, values = cache.at(0, torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1, 1))
    keys[:, 0, :, 0] = torch.arange(4.0)[:, None]
    copies = PrefixCopies()
    copies.add(0, 1, 5, cache)
    copies.add(1, 2, 4, cache)
    copies.add(3, 0, 2, cache)
    copies.carry_out(cache)
    assert keys[:, 0, :6, 0].tolist() == [[3, 3, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 2, 2], [3, 3, 3, 3, 3, 3]]

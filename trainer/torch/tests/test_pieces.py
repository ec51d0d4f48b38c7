"""Compares the small parts of the worker with a second implementation of each."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch._dynamo.backends.debugging import aot_eager
from transformers import Qwen2Config, Qwen2ForCausalLM

from ajet_torch.attention import block_map
from ajet_torch.checkpoint import load_checkpoint, save_checkpoint
from ajet_torch.config import LoraConfig, OptimizerConfig, WorkerConfig, parse_config
from ajet_torch.errors import WorkerError
from ajet_torch.head import HeadOptions, Pairs, head_logprobs
from ajet_torch.joint import join_projections
from ajet_torch.losses import LossConfig, check_batch, kl_estimate, parse_loss, term_loss
from ajet_torch.optimizer import PlainAdamW, SplitAdamW, join_halves, round_at_random, split_halves
from ajet_torch.model import compiles_for_all_sizes, decoder_layers
from ajet_torch.pack import DeviceTerms, check_pack, merge_padding, move_together, pad_pack, padded_length, row_starts
from ajet_torch.sampling.choose import choose_tokens, uniforms
from ajet_torch.schedule import learning_rate
from ajet_torch.share_out import share_out
from ajet_torch.training import Trainer, rows_pack
from tiny import FAMILIES, cpu_placement, gradients, random_rows, rows_packs, supervise, tiny_folder, tiny_lm, tiny_trainer, tree_pack


def test_block_map_is_the_dense_mask_in_blocks() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = random_rows(rng, num=8, alphabet=2)
        pack = tree_pack(rows, supervise(rng, rows))
        pack = pad_pack(pack, -(-pack.num_tokens // 4) * 4)
        index = np.arange(pack.num_tokens)
        visible = (index[None] <= index[:, None]) & (index[:, None] < pack.ends[None])
        blocks = visible.reshape(len(index) // 4, 4, -1, 4).transpose(0, 2, 1, 3)
        full, partial = block_map(pack.ends, 4)
        assert not (full & partial).any()
        assert np.all(blocks[full])
        assert not blocks[~full & ~partial].any()


@pytest.mark.parametrize("options", [HeadOptions(), HeadOptions(keep_bytes=0, chunk_bytes=3 * 17 * 8)])
def test_head_equals_autograd_of_plain_softmax(options: HeadOptions) -> None:
    torch.manual_seed(0)
    hidden, weight = torch.randn(7, 5, dtype=torch.float64, requires_grad=True), torch.randn(17, 5, dtype=torch.float64, requires_grad=True)
    row, target = torch.tensor([0, 0, 1, 3, 3, 6]), torch.tensor([2, 9, 2, 0, 16, 5])
    logprob, entropy = head_logprobs(hidden, weight, Pairs(row, target, row.numpy()), 1 / 0.7, options)
    loss = (logprob * torch.arange(1.0, 7.0)).sum() + (entropy * torch.linspace(-1, 1, 7)).sum()
    found = torch.autograd.grad(loss, (hidden, weight))
    plain = ((hidden @ weight.T) / 0.7).log_softmax(-1)
    again = (plain[row, target] * torch.arange(1.0, 7.0)).sum() + (-(plain.exp() * plain).sum(-1) * torch.linspace(-1, 1, 7)).sum()
    expected = torch.autograd.grad(again, (hidden, weight))
    assert torch.allclose(loss, again, atol=1e-12)
    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(found, expected))


def one_term(advantage: float, old: float, weight: float = 1.0) -> DeviceTerms:
    real = lambda value: torch.tensor([value], dtype=torch.float64)  # noqa: E731
    return DeviceTerms(torch.tensor([0]), torch.tensor([0]), real(weight), real(advantage), real(old))


def loss_and_slope(terms: DeviceTerms, logprob: float, config: LossConfig, reference: float | None = None) -> tuple[float, float]:
    value = torch.tensor([logprob], dtype=torch.float64, requires_grad=True)
    result = term_loss(terms, value, torch.zeros(1, dtype=torch.float64), None if reference is None else torch.tensor([reference], dtype=torch.float64), config)
    (slope,) = torch.autograd.grad(result.loss, value)
    return float(result.loss), float(slope)


def test_losses_by_hand() -> None:
    r = math.exp(0.5)
    assert loss_and_slope(one_term(2.0, -1.0), -0.5, LossConfig()) == pytest.approx((-1.28 * 2, 0))
    assert loss_and_slope(one_term(2.0, -1.0), -1.5, LossConfig()) == pytest.approx((-2 / r, -2 / r))
    assert loss_and_slope(one_term(-1.0, -1.0), -0.5, LossConfig()) == pytest.approx((r, r))
    assert loss_and_slope(one_term(-1.0, -4.0), -1.0, LossConfig()) == pytest.approx((3, 0))
    assert loss_and_slope(one_term(-1.0, -4.0), -1.0, LossConfig(dual_clip=0)) == pytest.approx((math.exp(3), math.exp(3)))
    assert loss_and_slope(one_term(2.0, -1.0), -0.5, LossConfig(objective="cispo")) == pytest.approx((-1.28 * 2 * -0.5, -1.28 * 2))
    assert loss_and_slope(one_term(2.0, -1.0), -0.5, LossConfig(objective="reinforce")) == pytest.approx((1, -2))
    assert loss_and_slope(one_term(2.0, -1.0), -0.5, LossConfig(tis_cap=1.2)) == pytest.approx((-1.2 * 2, -1.2 * 2))
    assert loss_and_slope(one_term(2.0, -1.0), -0.5, LossConfig(tis_cap=9)) == pytest.approx((-2 * r, -2 * r))
    assert loss_and_slope(one_term(0.0, -1.0), -1.0, LossConfig(kl_coef=0.5), -1.3) == pytest.approx((0.5 * (math.exp(-0.3) + 0.3 - 1), 0.5 * (1 - math.exp(-0.3))))
    assert loss_and_slope(one_term(5.0, -1.0), -0.5, LossConfig(kind="sft")) == pytest.approx((0.5, -1))


def test_a_capped_importance_weight_and_a_clip_against_the_beginning_of_the_batch_by_hand() -> None:
    r, config = math.exp(0.1), LossConfig(tis_cap=1.5)
    begun = lambda proximal: replace(one_term(2.0, -1.0), proximal_K=torch.tensor([proximal], dtype=torch.float64))  # noqa: E731
    assert loss_and_slope(begun(-0.6), -0.5, config) == pytest.approx((-math.exp(0.4) * r * 2, -math.exp(0.4) * r * 2))
    assert loss_and_slope(begun(-1.0), -0.5, config) == pytest.approx((-1.28 * 2, 0))
    assert loss_and_slope(begun(-0.1), -0.5, config) == pytest.approx((-1.5 * math.exp(-0.4) * 2, -1.5 * math.exp(-0.4) * 2))


@pytest.mark.parametrize("objective", ["ppo", "gspo"])
@pytest.mark.parametrize("advantage", [1.0, 0.0, -1.0])
def test_a_ratio_that_no_float_holds_is_clipped_like_any_other(objective: str, advantage: float) -> None:
    at = lambda old: loss_and_slope(one_term(advantage, old), -1.0, LossConfig(objective=objective))  # noqa: E731
    assert at(-9999.0) == at(-20.0)


def test_kl_estimates_are_zero_at_equality_and_agree_nearby() -> None:
    logprob, reference = torch.tensor([-1.0], dtype=torch.float64), torch.tensor([-1.001], dtype=torch.float64)
    assert [float(kl_estimate(logprob, logprob, kind)) for kind in ("k1", "k2", "k3")] == [0, 0, 0]
    assert float(kl_estimate(logprob, reference, "k2")) == pytest.approx(float(kl_estimate(logprob, reference, "k3")), rel=1e-2)


def test_gspo_ratio_is_the_sequences_geometric_mean() -> None:
    terms = DeviceTerms(torch.tensor([0, 1, 2]), torch.tensor([4, 4, 9]), torch.ones(3), torch.tensor([1.0, 1.0, 1.0]), torch.tensor([-1.0, -1.0, -1.0]))
    logprob = torch.tensor([-0.9, -0.7, -0.5], requires_grad=True)
    result = term_loss(terms, logprob, torch.zeros(3), None, LossConfig(objective="gspo", clip_high=5.0))
    assert float(result.loss) == pytest.approx(-(2 * math.exp(0.2) + math.exp(0.5)), rel=1e-6)
    (slope,) = torch.autograd.grad(result.loss, logprob)
    assert slope.tolist() == pytest.approx([-math.exp(0.2), -math.exp(0.2), -math.exp(0.5)], rel=1e-6)


def test_gspo_takes_its_ratio_against_the_weights_that_the_batch_began_with_if_it_has_their_logprobs() -> None:
    begun = torch.tensor([-1.0, -1.0, -1.0])
    terms = DeviceTerms(torch.tensor([0, 1, 2]), torch.tensor([4, 4, 9]), torch.ones(3), torch.ones(3), begun + 0.01, begun)
    logprob = begun.clone().requires_grad_()
    result = term_loss(terms, logprob, torch.zeros(3), None, LossConfig(objective="gspo", clip_low=3e-4, clip_high=4e-4))
    (slope,) = torch.autograd.grad(result.loss, logprob)
    assert (slope.tolist(), float(result.sums["clipped"])) == ([-1.0, -1.0, -1.0], 0.0)
    assert float(result.peak) == pytest.approx(0.01, rel=1e-4)


def test_gspo_refuses_a_sequence_in_two_packs() -> None:
    rng = np.random.default_rng(3)
    rows = random_rows(rng)
    pack = tree_pack(rows, supervise(rng, rows))
    with pytest.raises(WorkerError, match="in two"):
        check_batch([pack, pack], LossConfig(objective="gspo"))


def test_halves_join_to_the_same_float() -> None:
    bits = torch.cat([torch.randint(-(2**31), 2**31, (100_000,), dtype=torch.int64).to(torch.int32), torch.tensor([0, 1, 0x7FFF, 0x8000, 0x17FFF, 0x18000], dtype=torch.int32)])
    floats = bits.view(torch.float32)
    floats = floats[floats.abs() < 1e38]
    high, low = split_halves(floats)
    assert torch.equal(join_halves(high, low), floats)
    assert (high.float() - floats).abs().max() <= (floats.bfloat16().float() - floats).abs().max() * 1.001


def test_a_master_that_is_nan_stays_nan_however_it_is_rounded() -> None:
    masters = torch.tensor([0x7FFFFFFF, -1, 0x7F800001, 0x7FC00000, -0x400000], dtype=torch.int32).view(torch.float32)
    infinite = torch.tensor([math.inf, -math.inf])
    assert masters.isnan().all()
    high, low = split_halves(masters)
    assert high.isnan().all() and join_halves(high, low).isnan().all()
    assert torch.equal(join_halves(*split_halves(infinite)), infinite)
    for salt in range(50):
        assert round_at_random(masters, torch.tensor(salt)).isnan().all()
        assert torch.equal(round_at_random(infinite, torch.tensor(salt)).float(), infinite)


@pytest.mark.parametrize("clip", [0.0, 0.5])
def test_both_optimizers_are_adamw(clip: float) -> None:
    torch.manual_seed(0)
    config = OptimizerConfig(learning_rate=0.1, weight_decay=0.1, max_grad_norm=clip)
    start = torch.randn(40).bfloat16()
    plain = PlainAdamW({"w": torch.nn.Parameter(start.float())}, config)
    split = SplitAdamW({"w": torch.nn.Parameter(start.clone())}, config)
    oracle = torch.nn.Parameter(start.float())
    adam = torch.optim.AdamW([oracle], lr=0.1, weight_decay=0.1)
    for _ in range(5):
        gradient = torch.randn(40).bfloat16()
        plain.parameters["w"].grad, split.parameters["w"].grad, oracle.grad = gradient.float(), gradient.clone(), gradient.float()
        if clip:
            torch.nn.utils.clip_grad_norm_([oracle], clip)
        adam.step()
        norms = [optimizer.update(0.1) for optimizer in (plain, split)]
        for optimizer in (plain, split):
            optimizer.num_steps += 1
        assert [float(n) for n in norms] == pytest.approx([float(gradient.float().norm())] * 2, rel=1e-5)
        for optimizer in (plain, split):
            assert torch.allclose(optimizer.state("w")["master"], oracle.detach(), atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_gradient_that_is_not_finite_changes_nothing(dtype: torch.dtype) -> None:
    trainer = tiny_trainer(dtype=dtype)
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    pack = tree_pack(rows, supervise(rng, rows))
    before = [p.clone() for p in trainer.policy.lm.parameters()]
    pack.terms.advantages[0] = np.nan
    with pytest.raises(WorkerError) as raised:
        trainer.step([pack], LossConfig())
    assert raised.value.code == "non_finite_gradient" and trainer.policy_version == 0
    assert all(torch.equal(a, b) for a, b in zip(before, trainer.policy.lm.parameters()))


def test_bfloat16_compute_with_split_masters_learns_over_many_packs() -> None:
    trainer = tiny_trainer(dtype=torch.bfloat16, optimizer=OptimizerConfig(learning_rate=0.01))
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    packs = rows_packs(rows, supervise(rng, rows))
    losses = [trainer.step(packs, LossConfig(kind="sft"))["loss"] for _ in range(8)]
    assert losses[-1] < 0.7 * losses[0]


def test_activation_checkpointing_gives_the_same_gradient() -> None:
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    pack = tree_pack(rows, supervise(rng, rows))
    found = []
    for checkpointing in (False, True):
        trainer = tiny_trainer(activation_checkpointing=checkpointing)
        trainer.backward(trainer.place(pack), LossConfig())
        found.append(gradients(trainer).clone())
    assert torch.allclose(*found, atol=1e-12)


def test_padding_and_the_order_of_packs_change_nothing() -> None:
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    pack = tree_pack(rows, supervise(rng, rows))
    trainer = tiny_trainer()
    trainer.backward(trainer.place(pack), LossConfig())
    plain = gradients(trainer).clone()
    trainer.optimizer.clear()
    trainer.backward(trainer.place(pad_pack(pack, pack.num_tokens + 9)), LossConfig())
    assert torch.allclose(plain, gradients(trainer), atol=1e-12)


def test_logprobs_of_rows_of_any_length() -> None:
    trainer = tiny_trainer(max_pack_tokens=16)
    rows = [np.arange(n, dtype=np.int32) % 61 for n in (1, 9, 2, 30, 9)]
    found = trainer.logprobs(rows)
    alone = [trainer.logprobs([row])[0] for row in rows]
    assert [len(x) for x in found] == [1, 9, 2, 30, 9]
    assert all(a == pytest.approx(b, abs=1e-6) and a[0] == 0 for a, b in zip(found, alone))


def test_logprobs_of_a_trees_terms_are_those_of_its_rows_at_the_temperature() -> None:
    trainer = tiny_trainer()
    rng = np.random.default_rng(3)
    rows = random_rows(rng)
    labels = supervise(rng, rows)
    trees, separate = [tree_pack(rows, labels)], rows_packs(rows, labels)
    of_tree = np.concatenate(trainer.term_logprobs(trees, 0.7))
    of_rows = np.concatenate(trainer.term_logprobs(separate, 0.7))
    assert len(of_tree) == sum(len(pack.terms.pair) for pack in separate)
    assert of_tree == pytest.approx(of_rows, abs=1e-5)
    assert np.abs(of_rows - np.concatenate(trainer.term_logprobs(separate, 1.0))).max() > 1e-2


def test_compiling_is_announced_once_or_for_each_size_of_packs(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(0)
    packs = [rows_pack([rng.integers(0, 61, length).astype(np.int32)]) for length in (40, 40, 70)]
    with caplog.at_level("INFO", "ajet_torch"):
        for options, words in (({"compile": "off"}, []), ({"compile": "on"}, ["all sizes"]), ({"compile": "on", "lora": LoraConfig(rank=2)}, ["40 tokens", "70 tokens"])):
            caplog.clear()
            trainer = tiny_trainer(**options)
            for pack in packs:
                trainer.place(pack)
            assert [word for word in words for record in caplog.records if word in record.getMessage()] == words
            assert len(caplog.records) == len(words)


def test_small_models_with_plain_training_compile_once_for_all_sizes() -> None:
    small, large = tiny_lm("qwen2"), empty_qwen2(layers=28)
    assert large.num_parameters() > 1e9
    assert compiles_for_all_sizes(small, WorkerConfig(), sharded=False)
    assert not compiles_for_all_sizes(large, WorkerConfig(), sharded=False)
    assert not compiles_for_all_sizes(small, WorkerConfig(), sharded=True)
    for config in (WorkerConfig(matmul="fp8"), WorkerConfig(lora=LoraConfig(rank=2)), WorkerConfig(activation_budget=0.5)):
        assert not compiles_for_all_sizes(small, config, sharded=False)


def empty_qwen2(layers: int) -> Qwen2ForCausalLM:
    """Makes a model of the Qwen2.5-1.5B shape without memory for its weights."""
    config = Qwen2Config(hidden_size=1536, num_hidden_layers=layers, num_attention_heads=12, num_key_value_heads=2, intermediate_size=8960, vocab_size=151936, tie_word_embeddings=True)
    with torch.device("meta"):
        return Qwen2ForCausalLM(config)


def test_learning_rate_schedules() -> None:
    at = lambda schedule, step: learning_rate(OptimizerConfig(learning_rate=1.0, schedule=schedule, warmup_steps=4, total_steps=12), step)  # noqa: E731
    assert [at("constant", s) for s in (0, 3, 99)] == [0.25, 1, 1]
    assert [at("linear", s) for s in (1, 4, 8, 12, 20)] == pytest.approx([0.5, 1, 0.5, 0, 0])
    assert [at("cosine", s) for s in (4, 8, 12)] == pytest.approx([1, 0.5, 0])
    wsd = OptimizerConfig(learning_rate=1.0, schedule="warmup_stable_decay", warmup_steps=4, total_steps=12, decay_steps=4, min_rate_share=0.5)
    assert [learning_rate(wsd, s) for s in (0, 8, 10, 12, 99)] == pytest.approx([0.25, 1, 0.75, 0.5, 0.5])
    for schedule in ("constant", "linear", "cosine", "warmup_stable_decay"):
        assert parse_config({"optimizer": {"schedule": schedule}}).optimizer.schedule == schedule


def test_packs_are_shared_out_evenly() -> None:
    packs = [rows_pack([np.zeros(n, np.int32)]) for n in (50, 40, 30, 20, 10)]
    shares = share_out(packs, 2, 64)
    assert [sum(p.row_tokens for p in share) for share in shares] in ([80, 70], [70, 80])
    assert len({len(share) for share in shares}) == 1


def test_sizes_and_documents() -> None:
    assert [padded_length(n, 8192) for n in (1, 1024, 1025, 8192, 8193)] == [1024, 1024, 2048, 8192, 9216]
    assert row_starts(np.array([2, 2, 5, 5, 5])).tolist() == [0, 2, 5]
    assert row_starts(np.array([4, 4, 3, 4])) is None
    assert merge_padding(row_starts(np.array([2, 2, 3, 4, 5])), 2).tolist() == [0, 2, 5]


def test_packs_that_point_outside_are_refused() -> None:
    good = rows_pack([np.arange(4, dtype=np.int32)])
    check_pack(good, 61)
    for field, bad in (("ids", 61), ("positions", -1), ("ends", 0), ("predictors", 9), ("targets", -1)):
        broken = rows_pack([np.arange(4, dtype=np.int32)])
        getattr(broken, field)[0] = bad
        with pytest.raises(WorkerError, match=field):
            check_pack(broken, 61)


def test_configuration_names_the_wrong_key() -> None:
    assert parse_config({"optimizer": {"learning_rate": 1}, "lora": {"target_modules": ["q_proj"]}}) == WorkerConfig(
        optimizer=OptimizerConfig(learning_rate=1.0), lora=WorkerConfig().lora.__class__(target_modules=("q_proj",))
    )
    for wrong, text in (({"max_tokens": 3}, "max_tokens"), ({"dtype": "int8"}, "int8"), ({"optimizer": {"beta1": "x"}}, "optimizer.beta1"), ({"cpu_offload": 1}, "cpu_offload")):
        with pytest.raises(WorkerError, match=text):
            parse_config(wrong)
    for wrong, text in (({"objective": "dpo"}, "dpo"), ({"clip": 1}, "clip")):
        with pytest.raises(WorkerError, match=text):
            parse_loss(wrong)


def test_draws_are_those_of_splitmix64_at_every_seed_and_index() -> None:
    found = uniforms(np.asarray([0, 7, 2**64 - 1], np.uint64), np.asarray([0, 3, 4095]))
    assert found.tolist() == [0.5079605879681605, 0.595391231526763, 0.006389807321130037]


def test_sampling_follows_the_truncated_distribution() -> None:
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0]]).repeat(4000, 1)
    draws = uniforms(np.arange(4000, dtype=np.uint64), np.zeros(4000, np.int64)).tolist()
    for temperature, top_k, top_p in ((1, 0, 1), (0.5, 0, 1), (1, 2, 1), (1, 0, 0.8), (1.0, 3, 0.7)):
        controls = np.asarray([[temperature, top_k, top_p, u] for u in draws])
        ids, logprobs = choose_tokens(logits, controls)
        p = (logits[0] / temperature).softmax(-1)
        kept = torch.arange(4) < (top_k or 4)
        p = p * kept / (p * kept).sum()
        p = p * ((p.cumsum(-1) - p) < top_p)
        p = p / p.sum()
        share = torch.bincount(ids, minlength=4) / len(ids)
        assert (share - p).abs().max() < 0.03
        assert torch.allclose(logprobs, p.log()[ids], atol=1e-5)


def test_greedy_is_the_argmax_beside_any_other_row() -> None:
    logits = torch.randn(3, 50)
    ids, logprobs = choose_tokens(logits, np.asarray([[0, 0, 1, 0.9], [1, 5, 0.5, 0.2], [0, 3, 0.1, 0.1]]))
    assert ids[0] == logits[0].argmax() and ids[2] == logits[2].argmax()
    assert float(logprobs[0]) == pytest.approx(float(logits[0].log_softmax(-1).max()), abs=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_checkpoint_made_before_the_first_step_resumes(tmp_path: Path, dtype: torch.dtype) -> None:
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    packs = rows_packs(rows, supervise(rng, rows))
    trainer = tiny_trainer(dtype=dtype)
    save_checkpoint(trainer, str(tmp_path / "first"))
    expected = trainer.step(packs, LossConfig())
    trainer.step(packs, LossConfig())
    load_checkpoint(trainer, str(tmp_path / "first"))
    assert trainer.policy_version == 0
    assert trainer.step(packs, LossConfig()) == expected


@pytest.mark.parametrize("family, checkpointing", [*((family, False) for family in FAMILIES), ("qwen2", True)])
def test_joined_projections_are_the_same_layer(family: str, checkpointing: bool) -> None:
    """Projections are joined only in a compiled graph. The test counts the products of the graph, so it fails if
    nothing is joined."""
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    pack = tree_pack(rows, supervise(rng, rows))
    trainer = tiny_trainer(family, activation_checkpointing=checkpointing)
    trainer.backward(trainer.place(pack), LossConfig())
    apart = gradients(trainer).clone()
    trainer.optimizer.clear()
    join_projections(trainer.policy.lm)
    products: list[int] = []

    def count_products(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]):
        products.append(sum("linear" in str(node.target) for node in graph.graph.nodes))
        return aot_eager(graph, inputs)

    for layer in decoder_layers(trainer.policy.lm):
        layer.compile(dynamic=False, fullgraph=True, backend=count_products)
    trainer.backward(trainer.place(pack), LossConfig())
    assert products == [5, 5]
    assert torch.allclose(apart, gradients(trainer), atol=1e-12)


def test_arrays_moved_together_arrive_as_they_were() -> None:
    arrays = [np.arange(5, dtype=np.int32), np.zeros(0, np.float32), np.arange(6, dtype=np.int64).reshape(1, 2, 3)]
    assert all(np.array_equal(a, b.numpy()) and a.shape == tuple(b.shape) for a, b in zip(arrays, move_together(arrays, torch.device("cpu"))))


@pytest.mark.parametrize("estimator", ["k1", "k2", "k3"])
def test_the_reference_stays_the_initial_model(tmp_path: Path, estimator: str) -> None:
    folder = tiny_folder(tmp_path / "model")
    config = WorkerConfig(model_dir=str(folder), optimizer=OptimizerConfig(learning_rate=0.01))
    trainer = Trainer(config, cpu_placement(torch.float64))
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    packs = rows_packs(rows, supervise(rng, rows))
    found = [trainer.step(packs, LossConfig(kl_coef=0.1, kl_estimator=estimator))["kl"] for _ in range(3)]
    assert found[0] == pytest.approx(0, abs=1e-12) and abs(found[1]) > 0 and abs(found[2]) > 0
    start = Trainer(config, cpu_placement(torch.float64))
    assert all(torch.equal(a, b) for a, b in zip(start.policy.lm.parameters(), trainer.reference.lm.parameters()))
    assert not any(p.requires_grad for p in trainer.reference.lm.parameters())

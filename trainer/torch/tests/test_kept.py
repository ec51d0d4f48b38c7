"""Tests training after top-p or top-k. Logprobs, entropies and the KL must be those of the tokens that the sampler
kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ajet_torch.attention import ATTENTION_NAME
from ajet_torch.errors import WorkerError
from ajet_torch.head import HeadOptions
from ajet_torch.kept import OUTSIDE, WHOLE, KeptTokens, Truncation
from ajet_torch.losses import LossConfig, parse_loss
from ajet_torch.pack import TreePack, parse_pack
from ajet_torch.sampling.choose import choose_tokens, uniforms
from ajet_torch.config import OptimizerConfig, WorkerConfig
from ajet_torch.training import Trainer
from tiny import VOCAB, cpu_placement, gradients, rows_packs, tiny_lm, tiny_trainer, tree_pack

CUTS = {"top_p 0.5": Truncation(0.5, 0), "top_p 0.9": Truncation(0.9, 0), "top_k 2": Truncation(1.0, 2), "both": Truncation(0.8, 7)}


def sharp_lm(dtype: torch.dtype = torch.float64, seed: int = 0, attention: str = ATTENTION_NAME):
    """Makes a model with sharp distributions, of which top-p keeps few tokens."""
    lm = tiny_lm("qwen3", dtype, seed, attention)
    with torch.no_grad():
        lm.get_output_embeddings().weight.mul_(12)
    return lm


def kept_of(logits: np.ndarray, temperature: float, cut: Truncation) -> list[int]:
    """Computes the kept set token by token: the k likeliest, then the fewest with a mass of at least p."""
    order = np.argsort(-logits, kind="stable")[: cut.top_k or len(logits)]
    p = np.exp(logits[order] / temperature - logits[order].max() / temperature)
    p = p / p.sum()
    held, kept = 0.0, []
    for token, share in zip(order.tolist(), p):
        if kept and held >= cut.top_p:
            break
        kept.append(token)
        held += share
    return kept


class Reference:
    """Computes the loss of rows in float64 by autograd, with a dense softmax over the kept set of each token. The sets
    come from the weights of `start`."""

    def __init__(self, rows, labels, cut: Truncation, loss: LossConfig, start) -> None:
        self.rows, self.labels, self.cut, self.loss = rows, labels, cut, loss
        self.sets = [[self._set(start, row, t) for t in label["at"]] for row, label in zip(rows, labels)]
        self.outside = [[int(row[t]) not in kept for t, kept in zip(label["at"], sets)] for row, label, sets in zip(rows, labels, self.sets)]

    def _set(self, lm, row, t) -> list[int]:
        with torch.no_grad():
            return kept_of(self._logits(lm, row)[t - 1].numpy(), self.loss.temperature, self.cut)

    def _logits(self, lm, row) -> torch.Tensor:
        return lm(input_ids=torch.from_numpy(row.astype(np.int64))[None], use_cache=False).logits[0]

    def logprobs(self, lm, index: int) -> list[torch.Tensor]:
        """Returns the logprobs of the whole kept set, for each supervised token."""
        row, label = self.rows[index], self.labels[index]
        if len(label["at"]) == 0:
            return []
        logits = self._logits(lm, row) / self.loss.temperature
        return [logits[t - 1][kept].log_softmax(-1) for t, kept in zip(label["at"], self.sets[index])]

    def total(self, lm, reference) -> torch.Tensor:
        total = torch.zeros((), dtype=torch.float64)
        for index, (row, label) in enumerate(zip(self.rows, self.labels)):
            own = self.logprobs(lm, index)
            with torch.no_grad():
                theirs = self.logprobs(reference, index)
            for k, t in enumerate(label["at"]):
                if self.outside[index][k]:
                    continue
                at = self.sets[index][k].index(int(row[t]))
                total = total + float(np.float32(label["weights"][k])) * self._term(own[k], theirs[k], at, float(np.float32(label["advantages"][k])), float(np.float32(label["logprobs"][k])))
        return total

    def _term(self, logprobs, theirs, at, advantage, behaviour) -> torch.Tensor:
        loss = self.loss
        ratio = (logprobs[at] - behaviour).exp()
        value = torch.maximum(-ratio * advantage, -ratio.clamp(1 - loss.clip_low, 1 + loss.clip_high) * advantage)
        if advantage < 0:
            value = torch.minimum(value, torch.tensor(-loss.dual_clip * advantage, dtype=torch.float64))
        if loss.kl_coef:
            d = theirs[at] - logprobs[at]
            value = value + loss.kl_coef * (d.exp() - d - 1)
        return value + loss.entropy_coef * (logprobs.exp() * logprobs).sum()


def drawn_rows(lm, cut: Truncation, temperature: float, seed: int = 0):
    """Returns rows that a sampler drew, with labels. The behaviour logprobs have noise."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    trunk = rng.integers(0, VOCAB, 4).tolist()
    for number in range(6):
        ids, logprobs = list(trunk[: 2 + number % 3]), []
        start = len(ids)
        for step in range(6):
            with torch.no_grad():
                logits = lm(input_ids=torch.tensor([ids]), use_cache=False).logits[0, -1:]
            token, logprob = choose_tokens(logits, np.asarray([[temperature, cut.top_k, cut.top_p, float(uniforms(np.asarray([seed * 100 + number], np.uint64), np.asarray([step]))[0])]]))
            ids.append(int(token))
            logprobs.append(float(logprob) + float(rng.normal()) * 0.1)
        at = np.arange(start, len(ids))
        rows.append(np.asarray(ids, np.int32))
        labels.append({"at": at, "weights": rng.random(len(at)) + 0.1, "advantages": rng.normal(size=len(at)), "logprobs": np.asarray(logprobs)})
    return rows, labels


def plain_lm(dtype: torch.dtype = torch.float64, seed: int = 0):
    return sharp_lm(dtype, seed, "eager")


EXTRAS = {"plain": {}, "temperature 0.7": {"temperature": 0.7}, "KL": {"kl_coef": 0.3}, "entropy": {"entropy_coef": 0.2}}


@pytest.mark.parametrize("keep_bytes", [12 << 30, 0])
@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("cut", CUTS)
def test_the_gradient_is_that_of_the_distribution_that_was_sampled(cut: str, extra: str, keep_bytes: int) -> None:
    loss = LossConfig(top_p=CUTS[cut].top_p, top_k=CUTS[cut].top_k, **EXTRAS[extra])
    rows, labels = drawn_rows(plain_lm(), CUTS[cut], loss.temperature)
    trainer = tiny_trainer(lm=sharp_lm())
    trainer.policy.head = HeadOptions(keep_bytes=keep_bytes, chunk_bytes=3 * VOCAB * 8)
    reference = Trainer(WorkerConfig(), cpu_placement(), sharp_lm(seed=1)).policy
    trainer.reference = reference
    result = trainer.backward(trainer.place(tree_pack(rows, labels)), loss)
    oracle = plain_lm()
    expected = Reference(rows, labels, CUTS[cut], loss, plain_lm()).total(oracle, plain_lm(seed=1))
    expected.backward()
    whole = torch.cat([p.grad.flatten() for p in oracle.parameters()])
    assert float(result.loss) == pytest.approx(float(expected), rel=1e-5)
    assert (gradients(trainer) - whole).norm() / whole.norm() < 1e-5
    assert whole.norm() > 1e-3 and result.sums["outside"] == 0


@pytest.mark.parametrize("cut", CUTS)
def test_a_second_step_on_a_batch_keeps_the_sets_of_the_first(cut: str) -> None:
    loss = LossConfig(top_p=CUTS[cut].top_p, top_k=CUTS[cut].top_k)
    rows, labels = drawn_rows(plain_lm(), CUTS[cut], 1.0)
    trainer = tiny_trainer(lm=sharp_lm(), optimizer=OptimizerConfig(learning_rate=0.02))
    pack = tree_pack(rows, labels)
    [kept] = trainer.kept_tokens([pack], 1.0, CUTS[cut])
    pack = replace(pack, terms=replace(pack.terms, kept=kept))
    assert trainer.step([pack], loss)["tokens_outside_support"] == 0
    trainer.backward(trainer.place(pack), loss)
    oracle = plain_lm()
    oracle.load_state_dict(trainer.policy.lm.state_dict())
    reference = Reference(rows, labels, CUTS[cut], loss, plain_lm())
    reference.total(oracle, oracle).backward()
    whole = torch.cat([p.grad.flatten() for p in oracle.parameters()])
    assert (gradients(trainer) - whole).norm() / whole.norm() < 1e-5
    moved = Reference(rows, labels, CUTS[cut], loss, oracle)
    assert moved.sets != reference.sets


def test_sets_of_the_wire_and_of_the_step_are_the_same_gradient() -> None:
    loss = LossConfig(top_p=0.9, top_k=9, temperature=0.7, objective="gspo")
    rows, labels = drawn_rows(plain_lm(), Truncation(0.9, 9), 0.7)
    pack = tree_pack(rows, labels)
    found = []
    trainer = tiny_trainer(lm=sharp_lm())
    [kept] = trainer.kept_tokens([pack], 0.7, Truncation(0.9, 9))
    for terms in (pack.terms, replace(pack.terms, kept=kept)):
        trainer.optimizer.clear()
        result = trainer.backward(trainer.place(replace(pack, terms=terms)), loss)
        found.append((float(result.loss), gradients(trainer).clone()))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-12) and torch.allclose(found[0][1], found[1][1], atol=1e-12)
    assert trainer.term_logprobs([replace(pack, terms=replace(pack.terms, kept=kept))], 0.7)[0] == pytest.approx(result.report.logprobs_K.numpy(), abs=1e-5)


def test_a_token_outside_of_its_set_is_counted_and_not_trained() -> None:
    pack = tree_pack(*drawn_rows(plain_lm(), Truncation(), 1.0))
    cut = Truncation(1.0, 2)
    trainer = tiny_trainer(lm=sharp_lm())
    [kept] = trainer.kept_tokens([pack], 1.0, cut)
    outside = kept.set == OUTSIDE
    assert 0 < outside.sum() < len(outside)
    without = replace(pack, terms=replace(pack.terms, weights=np.where(outside, 0, pack.terms.weights).astype(np.float32)))
    for loss in (LossConfig(top_k=2), LossConfig(top_k=2, objective="gspo", entropy_coef=0.1), LossConfig(top_k=2, tis_cap=2.0), LossConfig(top_k=2, objective="cispo")):
        found = []
        for each in (pack, replace(pack, terms=replace(pack.terms, kept=kept)), without):
            trainer.optimizer.clear()
            result = trainer.backward(trainer.place(each), loss)
            found.append((result, gradients(trainer).clone()))
        (step, a), (wire, b), (masked, c) = found
        assert torch.allclose(a, b, atol=1e-12) and torch.allclose(a, c, atol=1e-12) and float(step.loss) == pytest.approx(float(masked.loss))
        assert step.sums["outside"] == wire.sums["outside"] == outside.sum() and masked.sums["outside"] == 0
        assert step.sums["terms"] == masked.sums["terms"] and torch.isfinite(step.peak)
        for report in (step.report, wire.report):
            assert all(torch.isfinite(values).all() for values in (report.logprobs_K, report.entropies_K, report.ratios_K))
            assert torch.equal(report.ratios_K[torch.from_numpy(outside)], torch.ones(int(outside.sum()), dtype=torch.float64))
    assert trainer.step([pack], LossConfig(top_k=2))["tokens_outside_support"] == outside.sum()
    assert trainer.step([pack], LossConfig())["tokens_outside_support"] == 0


def test_greedy_tokens_and_those_of_other_temperatures_in_one_pack() -> None:
    rng = np.random.default_rng(1)
    pack = tree_pack(*drawn_rows(plain_lm(), Truncation(), 1.0))
    temperatures = rng.choice(np.asarray([0.0, 0.7, 1.0], np.float32), len(pack.terms.pair))
    mixed = replace(pack, terms=replace(pack.terms, temperatures=temperatures))
    trainer = tiny_trainer(lm=sharp_lm())
    cut = Truncation(0.6, 0)
    [kept] = trainer.kept_tokens([mixed], 1.0, cut)
    assert np.array_equal(kept.set == WHOLE, temperatures == 0)
    logprobs = trainer.term_logprobs([replace(mixed, terms=replace(mixed.terms, kept=kept))], 1.0)[0]
    greedy = trainer.term_logprobs([pack], 1.0)[0]
    assert logprobs[temperatures == 0] == pytest.approx(greedy[temperatures == 0], abs=1e-6)
    for value in (0.7, 1.0):
        [alone] = trainer.kept_tokens([pack], value, cut)
        chosen = temperatures == value
        expected = trainer.term_logprobs([replace(pack, terms=replace(pack.terms, kept=alone))], value)[0]
        assert np.array_equal((kept.set == OUTSIDE)[chosen], (alone.set == OUTSIDE)[chosen])
        inside = chosen & (alone.set >= 0)
        assert logprobs[inside] == pytest.approx(expected[inside], abs=1e-6) and inside.any()


def test_the_samplers_logprob_is_the_trainers_at_the_same_setting() -> None:
    for cut in CUTS.values():
        lm = plain_lm(torch.float32)
        rows, labels = drawn_rows(lm, cut, 0.7)
        trainer = tiny_trainer(lm=sharp_lm(torch.float32), dtype=torch.float32)
        packs = rows_packs(rows, labels)
        kept = trainer.kept_tokens(packs, 0.7, cut)
        assert all((each.set >= 0).all() for each in kept)
        found = trainer.term_logprobs([replace(pack, terms=replace(pack.terms, kept=each)) for pack, each in zip(packs, kept)], 0.7)
        for row, values in zip(rows, found):
            with torch.no_grad():
                logits = lm(input_ids=torch.from_numpy(row.astype(np.int64))[None], use_cache=False).logits[0].double().numpy()
            for place, value in enumerate(values.tolist(), len(row) - len(values)):
                tokens = kept_of(logits[place - 1], 0.7, cut)
                exact = torch.tensor(logits[place - 1][tokens] / 0.7).log_softmax(-1)[tokens.index(int(row[place]))]
                assert value == pytest.approx(float(exact), abs=1e-5)


def to_message(pack: TreePack, kept: KeptTokens) -> dict:
    ints = {name: getattr(pack, name).astype(np.int32).tobytes() for name in ("ids", "positions", "ends", "predictors", "targets")}
    terms = {name: getattr(pack.terms, name).tobytes() for name in ("pair", "sequence", "weights", "advantages", "logprobs")}
    return {**ints, "terms": {**terms, "kept": kept.to_wire()}, "row_tokens": pack.row_tokens}


def test_kept_tokens_come_back_over_the_wire_and_bad_ones_are_refused() -> None:
    rows, labels = drawn_rows(plain_lm(), Truncation(0.9, 0), 1.0)
    pack = tree_pack(rows, labels)
    [kept] = tiny_trainer(lm=sharp_lm()).kept_tokens([pack], 1.0, Truncation(0.9, 0))
    again = parse_pack(to_message(pack, kept), VOCAB).terms.kept
    assert again is not None and all(np.array_equal(getattr(kept, name), getattr(again, name)) for name in ("set", "starts", "ids"))
    for broken in (replace(kept, set=kept.set[1:]), replace(kept, set=kept.set + 10**6), replace(kept, starts=kept.starts[:-1]), replace(kept, ids=kept.ids + VOCAB)):
        with pytest.raises(WorkerError, match="terms.kept"):
            parse_pack(to_message(pack, broken), VOCAB)


@pytest.mark.parametrize("wrong", [{"top_p": 0.0}, {"top_p": 1.5}, {"top_k": -1}])
def test_a_truncation_that_keeps_nothing_is_refused(wrong: dict) -> None:
    with pytest.raises(WorkerError, match="top_p"):
        parse_loss(wrong)

"""Tests that the worker trains what the model's own code computes, or refuses the model by name at the start."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel

from ajet_torch import likeness
from ajet_torch.attention import AttentionPlan, DensePlan
from ajet_torch.config import WorkerConfig
from ajet_torch.errors import WorkerError
from ajet_torch.head import HeadOptions
from ajet_torch.likeness import COARSE_LIMIT, check_likeness, draw_rows, our_logprobs, own_attention, own_logprobs
from ajet_torch.logits import logits_scale
from ajet_torch.model import PolicyModel, load_lm, smallest_window
from ajet_torch.training import Trainer
from answering import check_sampled_logprobs
from families import judge, open_config
from tiny import SIZES, cpu_placement, tiny_folder, tiny_lm
from tiny_config import tiny_config

CPU = torch.device("cpu")


def folder_of(model_type: str, path: Path, shows: bool = True) -> Path:
    open_config(tiny_config(model_type, shows)).save_pretrained(path)
    return path


@pytest.mark.parametrize("model_type", ["seed_oss", "opt", "starcoder2", "granite", "cohere", "mixtral", "mistral", "deepseek_v3"])
def test_dropout_in_functions_scales_of_logits_and_small_windows_are_computed_as_by_the_models_own_code(model_type: str) -> None:
    found = judge(model_type)
    assert (found["result"], found.get("shown")) == ("equal", "equal")


@pytest.mark.parametrize("model_type, reason", [
    ("gpt_oss", "GptOssAttention gives its attention 's_aux'"),
    ("nemotron", "NemotronAttention does not pass the worker's plan"),
    ("falcon", "FalconForCausalLM does not take a custom attention function"),
    ("gptj", "GPTJForCausalLM does not take a custom attention function"),
    ("nanochat", "NanoChatForCausalLM caps its logits (final_logit_softcapping is 3.0)"),
    ("gemma2", "attn_logit_softcapping"),
    ("doge", "DogeAttention gives its attention a mask that it made itself"),
])
def test_what_a_token_tree_cannot_compute_is_refused_by_name_before_the_weights_are_used(model_type: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(WorkerError) as raised:
        load_lm(str(folder_of(model_type, tmp_path)), torch.float32, CPU) if model_type != "nanochat" else PolicyModel(load_lm(str(folder_of(model_type, tmp_path)), torch.float32, CPU), HeadOptions())
    assert raised.value.code == "unsupported_model" and reason in str(raised.value)


def test_a_forward_pass_that_differs_from_the_models_own_is_refused_with_the_gap(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="PhimoeForCausalLM computes something that the worker does not: .* nats a token"):
        Trainer(WorkerConfig(model_dir=str(folder_of("phimoe", tmp_path)), device="cpu", dtype="float32"), cpu_placement(torch.float32))


class WithoutWindow(PolicyModel):
    """Computes layers with a sliding window as if they had no window."""

    def hidden(self, ids_BN: torch.Tensor, positions_BN: torch.Tensor, plan: AttentionPlan) -> torch.Tensor:
        assert isinstance(plan, DensePlan)
        return super().hidden(ids_BN, positions_BN, DensePlan(plan.mask, None))


def test_the_check_sees_beyond_a_small_window() -> None:
    check_likeness(PolicyModel(tiny_lm("mistral", torch.float32), HeadOptions()), CPU)
    with pytest.raises(WorkerError, match="MistralForCausalLM computes something"):
        check_likeness(WithoutWindow(tiny_lm("mistral", torch.float32), HeadOptions()), CPU)


def with_large_logits(model_type: str) -> PreTrainedModel:
    """Returns a model in bfloat16 with logits of up to 200."""
    lm = tiny_lm(model_type, torch.bfloat16)
    with torch.no_grad(), own_attention(lm):
        largest = lm(input_ids=torch.arange(20)[None]).logits.abs().max()
        lm.get_output_embeddings().weight.mul_(200 / largest)
    return lm


def test_a_model_whose_logits_are_large_may_differ_by_their_rounding() -> None:
    lm = with_large_logits("mistral")
    rows = draw_rows(lm.config.vocab_size, smallest_window(lm.config))
    with torch.no_grad():
        gap = (our_logprobs(PolicyModel(lm, HeadOptions()), rows, CPU) - own_logprobs(lm, rows, CPU)).abs().mean()
    assert gap > COARSE_LIMIT
    check_likeness(PolicyModel(lm, HeadOptions()), CPU)
    with pytest.raises(WorkerError, match="MistralForCausalLM computes something"):
        check_likeness(WithoutWindow(lm, HeadOptions()), CPU)


def test_a_gap_that_rounding_may_explain_is_measured_again_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = with_large_logits("mistral")
    monkeypatch.setattr(likeness, "COARSE_LIMIT", 1e-3)
    monkeypatch.setattr(likeness, "COARSE_SHARE", 0.0)
    with torch.no_grad():
        gap, limit = likeness.measure_gap(PolicyModel(lm, HeadOptions()), CPU)
    assert gap > limit
    check_likeness(PolicyModel(lm, HeadOptions()), CPU)
    assert lm.dtype == torch.bfloat16
    with pytest.raises(WorkerError, match="MistralForCausalLM computes something"):
        check_likeness(WithoutWindow(lm, HeadOptions()), CPU)


def test_two_forward_passes_are_the_same_although_layers_may_be_computed_again(tmp_path: Path) -> None:
    folder = folder_of("seed_oss", tmp_path)
    for checkpointing in (False, True):
        trainer = Trainer(WorkerConfig(model_dir=str(folder), device="cpu", dtype="float32", activation_checkpointing=checkpointing), cpu_placement(torch.float32))
        rows = draw_rows(61, None)
        with torch.enable_grad():
            assert torch.equal(our_logprobs(trainer.policy, rows, CPU), our_logprobs(trainer.policy, rows, CPU))
        assert trainer.policy.lm.base_model.layers[0].gradient_checkpointing is checkpointing and trainer.policy.lm.base_model.layers[0].training is checkpointing


def test_the_scale_of_logits_is_found_without_weights() -> None:
    for model_type, scale in (("granite", 1 / 1.75), ("cohere", 1.75), ("llama", 1.0)):
        with torch.device("meta"):
            lm = AutoModelForCausalLM.from_config(tiny_config(model_type))
        assert logits_scale(lm) == pytest.approx(scale, rel=1e-5)


class CountedLayer(torch.nn.Module):
    """Counts the computations of the layer's last part."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner, self.calls = inner, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.inner(x)


def test_layers_are_computed_again_in_backward_although_dropout_is_off(tmp_path: Path) -> None:
    for checkpointing, calls in ((False, 1), (True, 2)):
        trainer = Trainer(WorkerConfig(model_dir=str(tiny_folder(tmp_path)), device="cpu", dtype="float32", activation_checkpointing=checkpointing), cpu_placement(torch.float32))
        layer = trainer.policy.lm.base_model.layers[0]
        layer.mlp = counted = CountedLayer(layer.mlp)
        our_logprobs(trainer.policy, draw_rows(61, None), CPU).sum().backward()
        assert counted.calls == calls


@pytest.mark.parametrize("model_type", ["granite", "deepseek_v3", "mistral"])
def test_the_sampler_draws_from_what_is_trained(model_type: str, tmp_path: Path) -> None:
    trainer = Trainer(WorkerConfig(model_dir=str(folder_of(model_type, tmp_path)), device="cpu", dtype="float32"), cpu_placement(torch.float32))
    check_sampled_logprobs(trainer, np.arange(3, 15, dtype=np.int32), 9)


def test_a_configuration_that_is_not_a_causal_language_model_is_named(tmp_path: Path) -> None:
    LlamaConfig(**SIZES, rope_parameters={"rope_type": "default", "rope_theta": 1e4}).save_pretrained(tmp_path)
    with pytest.raises(WorkerError, match="No \\*.safetensors"):
        load_lm(str(tmp_path), torch.float32, CPU)


def test_a_model_that_is_equal_starts_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "ajet_torch"):
        Trainer(WorkerConfig(model_dir=str(tiny_folder(tmp_path)), device="cpu", dtype="float32"), cpu_placement(torch.float32))
    assert not caplog.records

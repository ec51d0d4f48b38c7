"""Tests that adapters on any layer are trained and saved in a folder that transformers opens, or refused at the
start."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from ajet_torch.checkpoint import load_checkpoint, save_checkpoint
from ajet_torch.config import LoraConfig, OptimizerConfig, WorkerConfig
from ajet_torch.errors import WorkerError
from ajet_torch.lora import CONFIG_FILE, WEIGHTS_FILE
from ajet_torch.losses import LossConfig
from ajet_torch.training import Trainer
from answering import check_sampled_logprobs
from tiny import cpu_placement, random_rows, rows_packs, supervise, tiny_folder, tree_pack

TARGETS = (("embed_tokens",), ("lm_head",), ("embed_tokens", "lm_head"), ("q_proj", "lm_head"), ("all-linear",))


def open_with(folder: Path, targets: tuple[str, ...], dtype: torch.dtype = torch.float32) -> Trainer:
    lora = LoraConfig(rank=2, alpha=4.0, target_modules=targets)
    name = str(dtype).removeprefix("torch.")
    return Trainer(WorkerConfig(model_dir=str(folder), device="cpu", dtype=name, lora=lora, optimizer=OptimizerConfig(learning_rate=0.05)), cpu_placement(dtype))


def random_pack(seed: int = 0):
    rng = np.random.default_rng(seed)
    rows = random_rows(rng)
    labels = supervise(rng, rows)
    return rows, labels


@pytest.mark.parametrize("targets", TARGETS)
def test_adapters_are_trained_and_saved_into_the_weights_that_they_change(targets: tuple[str, ...], tmp_path: Path) -> None:
    trainer = open_with(tiny_folder(tmp_path / "model", "llama"), targets)
    rows, labels = random_pack()
    for _ in range(3):
        trainer.step(rows_packs(rows, labels), LossConfig(kind="sft"))
    assert all(p.abs().max() > 1e-4 for n, p in trainer.policy.lm.named_parameters() if "lora_B" in n or "embedding_B" in n)
    save_checkpoint(trainer, str(tmp_path / "saved"))
    plain, before = (AutoModelForCausalLM.from_pretrained(tmp_path / name, dtype=torch.float32, attn_implementation="eager").eval() for name in ("saved", "model"))
    row = np.arange(12, dtype=np.int32)
    with torch.no_grad():
        found, start = (lm(input_ids=torch.arange(12)[None]).logits[0, :-1].log_softmax(-1)[torch.arange(11), torch.arange(1, 12)].numpy() for lm in (plain, before))
    ours = trainer.logprobs([row])[0][1:]
    assert ours == pytest.approx(found, abs=1e-4) and np.abs(ours - start).max() > 1e-2
    again = open_with(tmp_path / "model", targets)
    load_checkpoint(again, str(tmp_path / "saved"))
    assert again.logprobs([row])[0] == pytest.approx(trainer.logprobs([row])[0], abs=1e-6)


@pytest.mark.parametrize("targets", TARGETS)
def test_an_adapters_gradient_is_that_of_pefts_own_layers(targets: tuple[str, ...], tmp_path: Path) -> None:
    trainer = open_with(tiny_folder(tmp_path, "llama"), targets, torch.float64)
    rows, labels = random_pack()
    with torch.no_grad():
        for name, p in trainer.policy.lm.named_parameters():
            if p.requires_grad:
                p.add_(torch.randn(p.shape, generator=torch.Generator().manual_seed(len(name)), dtype=p.dtype) * 0.1)
    trainer.backward(trainer.place(tree_pack(rows, labels)), LossConfig(kind="sft"))
    ours = {name: p.grad.clone() for name, p in trainer.policy.lm.named_parameters() if p.grad is not None}
    trainer.optimizer.clear()
    lm = trainer.policy.lm
    lm.set_attn_implementation("eager")
    for row, label in zip(rows, labels):
        if len(label["at"]):
            logits = lm(input_ids=torch.from_numpy(row.astype(np.int64))[None], use_cache=False).logits[0].log_softmax(-1)
            at = torch.from_numpy(label["at"])
            (-(logits[at - 1, torch.from_numpy(row.astype(np.int64))[at]] * torch.from_numpy(label["weights"].astype(np.float32)).double()).sum()).backward()
    theirs = {name: p.grad for name, p in lm.named_parameters() if p.grad is not None}
    assert set(ours) == set(theirs)
    for name, gradient in theirs.items():
        assert (ours[name] - gradient).norm() <= 1e-5 * gradient.norm() and gradient.norm() > 0


def test_the_sampler_and_the_kl_know_of_the_heads_adapter(tmp_path: Path) -> None:
    trainer = open_with(tiny_folder(tmp_path, "llama"), ("embed_tokens", "lm_head"))
    rows, labels = random_pack()
    kl = [trainer.step(rows_packs(rows, labels), LossConfig(kl_coef=0.1))["kl"] for _ in range(3)]
    assert kl[0] == pytest.approx(0, abs=1e-6) and kl[2] > 1e-4
    check_sampled_logprobs(trainer, np.arange(9, dtype=np.int32), 6)


def test_a_float32_folder_keeps_what_a_small_adapter_adds(tmp_path: Path) -> None:
    trainer = open_with(tiny_folder(tmp_path / "model", "llama"), ("q_proj",), torch.bfloat16)
    lm = trainer.policy.lm
    with torch.no_grad():
        for name, parameter in lm.named_parameters():
            "lora_B" in name and parameter.fill_(2.0**-14)
    save_checkpoint(trainer, str(tmp_path / "saved"))
    stored = load_file(tmp_path / "saved" / "model.safetensors")
    layer = lm.model.layers[0].self_attn.q_proj
    added = layer.scaling["default"] * (layer.lora_B["default"].weight.float() @ layer.lora_A["default"].weight.float())
    found = stored["model.layers.0.self_attn.q_proj.weight"] - layer.base_layer.weight.float()
    assert (found - added).norm() < 1e-3 * added.norm()


def test_a_small_adapter_of_the_head_is_seen_in_bfloat16(tmp_path: Path) -> None:
    trainer = open_with(tiny_folder(tmp_path, "llama"), ("lm_head",), torch.bfloat16)
    head = trainer.policy.lm.get_output_embeddings()
    with torch.no_grad():
        head.weight.fill_(1.0)
        head.lora_A["default"].weight.fill_(2.0**-8)
        head.lora_B["default"].weight.copy_(torch.arange(61)[:, None] * 2.0**-9)
    hidden, weight = trainer.policy.with_head(torch.ones(1, 32, dtype=torch.bfloat16))
    logits = (hidden.float() @ weight.float().T)[0]
    assert (logits.diff() > 0).all()


@pytest.mark.parametrize("targets, message", [
    (("embed_tokens",), "one tensor .tie_word_embeddings."),
    (("q_proj", "lm_head"), "'lm_head', but the embedding and the LM head"),
    (("q_prj",), "names 'q_prj', which Qwen2ForCausalLM does not have. Its linear layers are down_proj, gate_proj, k_proj"),
    (("q_proj", "wq"), "names 'wq'"),
    (("all-linear", "lm_head"), "Use 'all-linear' alone"),
])
def test_targets_that_cannot_be_trained_or_saved_are_refused_at_the_start(targets: tuple[str, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=message):
        open_with(tiny_folder(tmp_path), targets)


def saved_adapter(tmp_path: Path, settings: dict[str, object]) -> tuple[Path, Path]:
    """Returns the folders of a model and of an adapter of it, with more settings in its adapter_config.json."""
    base = tiny_folder(tmp_path / "model")
    save_checkpoint(open_with(base, ("q_proj",)), str(tmp_path / "saved"))
    config = tmp_path / "saved" / "adapter" / CONFIG_FILE
    config.write_text(json.dumps(json.loads(config.read_text()) | settings))
    return base, config.parent


def begin_with(base: Path, start: Path, alpha: float = 4.0) -> Trainer:
    lora = LoraConfig(rank=2, alpha=alpha, target_modules=("q_proj",), start=str(start))
    return Trainer(WorkerConfig(model_dir=str(base), device="cpu", dtype="float32", lora=lora, optimizer=OptimizerConfig()), cpu_placement(torch.float32))


@pytest.mark.parametrize("settings, message", [
    ({"init_lora_weights": "pissa"}, "init_lora_weights pissa"),
    ({"alora_invocation_tokens": [1]}, "alora_invocation_tokens"),
    ({"use_anything": True}, "use_anything"),
    ({"bias": "all"}, "it sets bias"),
    ({"use_rslora": True}, r"use_rslora: lora.alpha 5.65\d+ is the same"),
])
def test_an_adapter_that_computes_something_else_is_refused_by_name(settings: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match=message):
        begin_with(*saved_adapter(tmp_path, settings))


def test_an_adapter_with_a_nan_is_refused_by_the_name_of_its_tensor(tmp_path: Path) -> None:
    base, start = saved_adapter(tmp_path, {})
    tensors = load_file(start / WEIGHTS_FILE)
    next(iter(tensors.values())).view(-1)[0] = float("nan")
    save_file(tensors, start / WEIGHTS_FILE)
    with pytest.raises(WorkerError, match=r"q_proj.lora_A.weight contains NaN or infinite values"):
        begin_with(base, start)


def test_an_adapter_that_divides_by_the_root_of_its_rank_is_taken_with_the_alpha_of_the_same_scale(tmp_path: Path) -> None:
    harmless = {"use_rslora": True, "init_lora_weights": "gaussian", "eva_config": {}, "use_dora": False}
    assert begin_with(*saved_adapter(tmp_path, harmless), alpha=4 * 2**0.5).config.lora is not None

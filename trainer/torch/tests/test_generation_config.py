"""Tests that a run reaches its first checkpoint if transformers refuses to save its generation_config.json."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, GenerationConfig

from ajet_torch.checkpoint import save_checkpoint
from ajet_torch.config import WorkerConfig
from ajet_torch.training import Trainer
from tiny import cpu_placement, tiny_folder


@pytest.mark.parametrize("given, kept", [
    ({"do_sample": False, "temperature": 0.6, "top_p": 0.9, "eos_token_id": [2, 5], "max_new_tokens": 40}, {"eos_token_id": [2, 5], "max_new_tokens": 40}),
    ({"temperature": 0.6, "eos_token_id": 2}, {"eos_token_id": 2}),
])
def test_a_checkpoint_gets_one_that_can_be_saved_and_it_is_said_once(given: dict, kept: dict, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tiny_folder(tmp_path / "model")
    (folder / "generation_config.json").write_text(json.dumps(given))
    with caplog.at_level(logging.INFO, "ajet_torch"):
        for _ in range(2):
            trainer = Trainer(WorkerConfig(model_dir=str(folder), device="cpu", dtype="float32"), cpu_placement(torch.float32))
    assert [str(folder) in record.getMessage() for record in caplog.records if record.name == "ajet_torch"] == [True]
    save_checkpoint(trainer, str(tmp_path / "saved"))
    found = json.loads((tmp_path / "saved" / "generation_config.json").read_text())
    assert {name: found.get(name) for name in kept} == kept
    AutoModelForCausalLM.from_pretrained(tmp_path / "saved").save_pretrained(tmp_path / "again")


def test_one_that_can_be_saved_stays_byte_for_byte(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tiny_folder(tmp_path / "model")
    text = json.dumps({"do_sample": True, "temperature": 0.6, "eos_token_id": 2, "vendors_own": 1})
    (folder / "generation_config.json").write_text(text)
    with caplog.at_level(logging.INFO, "ajet_torch"):
        trainer = Trainer(WorkerConfig(model_dir=str(folder), device="cpu", dtype="float32"), cpu_placement(torch.float32))
    save_checkpoint(trainer, str(tmp_path / "saved"))
    assert (tmp_path / "saved" / "generation_config.json").read_text() == text and not [record for record in caplog.records if record.name == "ajet_torch"]
    assert GenerationConfig.from_pretrained(tmp_path / "saved").temperature == 0.6

"""Tests that any number of processes makes the same steps as one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from ajet_torch.sharding import layer_groups
from start_ranks import start_ranks
from tiny import tiny_folder, tiny_lm
from torch import nn

STARTS = ("start-file", "start-dithered")


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes all runs in four starts: one process, two processes, one process that resumes from the two, and two nodes
    of two processes each."""
    path = tmp_path_factory.mktemp("ranks")
    tiny_folder(path / "model", num_hidden_layers=6)
    tiny_folder(path / "untied", "llama", num_hidden_layers=6)
    tiny_lm("llama", torch.bfloat16, attention="eager").save_pretrained(path / "half")
    start_ranks(path, 1, "plain-save", "offload-checkpointing", "plain-lora-kl", "resume-from1", "cut-kl", "lora-head-kl-cut", *STARTS)
    start_ranks(path, 2, "plain-save", "broken-checkpointing", "plain-lora-kl", "resume-from1", "cut-kl", "lora-head-kl-cut", *STARTS)
    start_ranks(path, 1, "resume-from2")
    start_ranks(path, 4, "plain-save", "all-resume-from2", nodes=2)
    return path


def read(out: Path, mode: str, size: int) -> dict:
    return json.loads((out / f"{mode}-{size}.json").read_text())


def close(a: dict, b: dict, tolerance: float = 1e-9) -> None:
    for first, second in zip(a["steps"], b["steps"], strict=True):
        for name, value in first.items():
            assert second[name] == pytest.approx(value, rel=tolerance, abs=tolerance), name
    for first, second in zip(a["logprobs"], b["logprobs"], strict=True):
        assert second == pytest.approx(first, rel=1e-5, abs=1e-5)


def test_two_processes_equal_one(out: Path) -> None:
    close(read(out, "plain-save", 1), read(out, "plain-save", 2))


def test_sharding_one_process_offloading_and_recomputing_change_nothing(out: Path) -> None:
    close(read(out, "plain-save", 1), read(out, "offload-checkpointing", 1))


def test_a_step_that_fails_between_two_layers_of_a_group_leaves_the_next_steps_as_they_were(out: Path) -> None:
    close(read(out, "plain-save", 1), read(out, "broken-checkpointing", 2))


def test_groups_hold_each_layer_once_and_in_order() -> None:
    layers = nn.ModuleList(nn.Linear(1, 1) for _ in range(7))
    assert layer_groups(layers, 4) == [list(layers[:4]), list(layers[4:])]
    assert layer_groups(layers, 1) == [[layer] for layer in layers]


def test_two_processes_resume_what_one_saved_and_back(out: Path) -> None:
    resumed = read(out, "resume-from1", 1)
    assert resumed["steps"][0]["policy_version"] == 4
    close(resumed, read(out, "resume-from1", 2))
    close(resumed, read(out, "resume-from2", 1))


def test_lora_and_the_reference_on_two_processes_equal_one(out: Path) -> None:
    one = read(out, "plain-lora-kl", 1)
    assert one["steps"][2]["kl"] > 0
    close(one, read(out, "plain-lora-kl", 2))


def test_two_nodes_with_replicas_or_one_set_of_shards_equal_one_process(out: Path) -> None:
    close(read(out, "plain-save", 1), read(out, "plain-save", 4))
    close(read(out, "resume-from1", 1), read(out, "all-resume-from2", 4))
    shards = sorted(file.name for file in (out / "from4/trainer_state").glob("shard-*"))
    assert shards == ["shard-00001-of-00002.safetensors", "shard-00002-of-00002.safetensors"]


@pytest.mark.parametrize("mode", ["cut-kl", "lora-head-kl-cut"])
def test_what_was_kept_and_adapters_of_head_and_embedding_are_the_same_on_two_processes(out: Path, mode: str) -> None:
    one, two = read(out, mode, 1), read(out, mode, 2)
    close(one, two, 1e-6)
    assert one["kept"] == two["kept"] and len(one["kept"]) == 3
    assert 0 < one["steps"][0]["tokens_outside_support"] < one["steps"][0]["trained_tokens"] + one["steps"][0]["tokens_outside_support"]
    assert one["steps"][2]["kl"] > 0


@pytest.mark.parametrize("mode", STARTS)
def test_masters_on_two_processes_begin_as_on_one(out: Path, mode: str) -> None:
    one, two = read(out, mode, 1), read(out, mode, 2)
    apart = np.concatenate([np.abs(np.subtract(bits, two["masters"][name])) for name, bits in one["masters"].items()])
    # One process moves a value of the file that is halfway between two bfloat16 numbers by one bit.
    assert (apart <= (mode == "start-file")).all() and apart.sum() < 10
    assert sum(bit & 0xFFFF != 0 for bits in two["masters"].values() for bit in bits) > 0.9 * len(apart)
    assert two["losses"] == pytest.approx(one["losses"], rel=0.02) and one["losses"][2] < one["losses"][0]

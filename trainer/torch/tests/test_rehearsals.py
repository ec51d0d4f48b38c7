"""Tests that a rehearsal compiles what a run needs, once."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from ajet_torch import rehearsal
from ajet_torch.config import WorkerConfig
from ajet_torch.rehearsals import Rehearsals, are_possible, mark_of
from ajet_torch.sampling.builtin import BuiltinServer
from ajet_torch.training import Trainer
from tiny import cpu_placement, tiny_folder

CPU = torch.device("cpu")


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collects the code of the graphs that modules are compiled to, instead of compiling it."""
    found: list[str] = []

    def record(graph: torch.fx.GraphModule, _: object) -> object:
        found.append(graph.code)
        return graph.forward

    compile_module = torch.nn.Module.compile
    monkeypatch.setattr(torch.nn.Module, "compile", lambda module, dynamic: compile_module(module, dynamic=dynamic, backend=record))
    torch._dynamo.reset()
    return found


@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_a_rehearsal_compiles_the_graphs_of_the_run_and_no_others(tmp_path: Path, graphs: list[str], family: str) -> None:
    folder = str(tiny_folder(tmp_path, family, num_hidden_layers=5))
    config = WorkerConfig(model_dir=folder, compile="on", dtype="float32", max_pack_tokens=256)
    rehearsal.rehearse_training(config, CPU)
    rehearsed = list(graphs)
    assert len(rehearsed) == 2  # a layer and the last norm
    graphs.clear()
    torch._dynamo.reset()
    trainer = Trainer(config, cpu_placement(torch.float32))
    for tokens in (96, 200):
        trainer.step([rehearsal.random_pack(tokens, trainer.policy.lm.config.vocab_size)], rehearsal.LossConfig())
    assert graphs == rehearsed


def test_large_models_are_not_rehearsed(tmp_path: Path, graphs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ajet_torch.model.MOST_PARAMETERS_FOR_ALL_SIZES", 1000)
    rehearsal.rehearse_training(WorkerConfig(model_dir=str(tiny_folder(tmp_path)), compile="on", dtype="float32"), CPU)
    assert graphs == []


def test_the_sampler_is_rehearsed_with_many_rows_and_with_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[tuple[int, bool]] = set()
    decode = BuiltinServer._groups_of

    def watch(server: BuiltinServer, slots: object) -> object:
        groups = decode(server, slots)
        seen.add((len(slots), len(groups) > 0))
        return groups

    monkeypatch.setattr(BuiltinServer, "_groups_of", watch)
    config = WorkerConfig(model_dir=str(tiny_folder(tmp_path, max_position_embeddings=512)), dtype="float32")
    rehearsal.rehearse_sampling(config, CPU)
    assert {(rows, True) for rows in (16, 64)} | {(rows, False) for rows in (16, 64)} <= seen


OBEDIENT = (sys.executable, "-c", "import json, pathlib, sys; task = json.loads(sys.stdin.readline()); pathlib.Path(task['mark']).touch(); print('took', task['device'], sys.argv[1], flush=True); sys.stdin = None; import time; time.sleep(60)")
"""Does what the processes do, without PyTorch, and does not end by itself."""


def test_a_rehearsal_is_awaited_ended_and_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    (tmp_path / "rehearsed").mkdir()
    config = {"model_dir": str(tmp_path), "compile": "on"}
    first = Rehearsals(("training", "sampling"), OBEDIENT)
    own = dict(first.processes)
    first.begin(config, ("training",), "cuda:0", "a GPU")
    assert list(first.processes) == ["training"]
    with caplog.at_level("INFO", "ajet_torch"):
        assert 0 < first.wait("training") < 30
    assert "compiled what training needs (took cuda:0 training)" in caplog.text
    assert all(process.poll() is not None for process in own.values())
    mark = mark_of("training", config, "a GPU")
    assert mark is not None and mark.exists()
    second = Rehearsals(("training",), OBEDIENT)
    second.begin(config, ("training",), "cuda:0", "a GPU")
    assert second.wait("training") == 0


def test_what_the_code_depends_on_changes_the_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    config = {"model_dir": str(tmp_path), "max_pack_tokens": 4096, "seed": 1, "optimizer": {"learning_rate": 1}}
    one = mark_of("training", config, "a GPU")
    assert one == mark_of("training", {**config, "seed": 2, "optimizer": {}}, "a GPU")
    others = [mark_of("training", config, "another GPU"), mark_of("sampling", config, "a GPU"), mark_of("training", {**config, "max_pack_tokens": 512}, "a GPU")]
    (tmp_path / "config.json").write_text("{}")
    assert len({one, *others, mark_of("training", config, "a GPU")}) == 5
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR")
    assert mark_of("training", config, "a GPU") is None


def test_a_process_that_does_not_come_to_its_end_is_not_awaited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ajet_torch.rehearsals.MOST_SECONDS", 0.2)
    started = Rehearsals(("training",), (sys.executable, "-c", "import time; time.sleep(60)"))
    process = started.processes["training"]
    assert 0.1 < started.wait("training") < 30
    assert process.poll() is not None


def run_alone(monkeypatch: pytest.MonkeyPatch, config: dict[str, object], mark: Path) -> int:
    line = json.dumps({"config": config, "device": "cpu", "mark": str(mark)})
    monkeypatch.setattr(sys, "argv", ["rehearsal", "training"])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(readline=lambda: line))
    for name in ("end_with_parent", "warm_pool"):
        monkeypatch.setattr(rehearsal, name, lambda: None)
    monkeypatch.setattr(os, "nice", lambda _: 0)
    return rehearsal.main()


def test_only_a_rehearsal_that_succeeds_leaves_a_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = tmp_path / "rehearsed" / "mark"
    assert run_alone(monkeypatch, {"model_dir": "/nowhere"}, mark) == 1
    assert not mark.exists()
    folder = str(tiny_folder(tmp_path / "model"))
    assert run_alone(monkeypatch, {"model_dir": folder, "dtype": "float32", "compile": "off", "max_pack_tokens": 256}, mark) == 0
    assert mark.exists()


def test_rehearsals_need_a_gpu_that_one_process_trains_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda _: True)
    assert are_possible({})
    for env in ({"WORLD_SIZE": "2"}, {"CUDA_VISIBLE_DEVICES": ""}, {"AJET_REHEARSE": "0"}):
        assert not are_possible(env)
    monkeypatch.setattr(Path, "exists", lambda _: False)
    assert not are_possible({})

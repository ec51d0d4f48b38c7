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
from ajet_torch.rehearsals import Rehearsals, choose_parts, mark_of, start_rehearsals
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
    rehearsal.rehearse_layers(config, CPU)
    rehearsed = list(graphs)
    assert len(rehearsed) == 1
    graphs.clear()
    torch._dynamo.reset()
    trainer = Trainer(config, cpu_placement(torch.float32))
    for tokens in (96, 200):
        trainer.step([rehearsal.random_pack(tokens, trainer.policy.lm.config.vocab_size)], rehearsal.LossConfig())
    assert graphs == rehearsed


def test_large_models_are_not_rehearsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ajet_torch.model.MOST_PARAMETERS_FOR_ALL_SIZES", 1000)
    config = WorkerConfig(model_dir=str(tiny_folder(tmp_path)), compile="on", dtype="float32")
    with pytest.raises(rehearsal.WorkerError, match="too large"):
        rehearsal.require_small(config)


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


def test_the_update_is_rehearsed_with_one_pack_and_with_several(tmp_path: Path, graphs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    step = Trainer.step
    monkeypatch.setattr(Trainer, "step", lambda trainer, packs, loss: (seen.append(len(packs)), step(trainer, packs, loss))[1])
    rehearsal.rehearse_update(WorkerConfig(model_dir=str(tiny_folder(tmp_path)), compile="on", dtype="float32"), CPU)
    assert seen == [2, 1] and graphs == []


OBEDIENT = (sys.executable, "-c", "import json, pathlib, sys, time; task = json.loads(sys.stdin.readline()); pathlib.Path(task['mark']).touch(); print('took', task['config']['compile'], sys.argv[1], flush=True); time.sleep(60)")
"""Does what the processes do, without PyTorch, and does not end by itself."""


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment in which everything is rehearsed."""
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda path: str(path) == "/dev/nvidiactl" or exists(path))
    (tmp_path / "rehearsed").mkdir()
    return {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path), "AJET_CONFIG": json.dumps({"model_dir": str(tmp_path), "compile": "on"})}


def test_rehearsals_are_awaited_ended_and_not_repeated(env: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    first = start_rehearsals(env, OBEDIENT)
    own = dict(first.processes)
    assert list(own) == ["layers", "update", "sampling"]
    with caplog.at_level("INFO", "ajet_torch"):
        assert 0 < first.wait("layers") < 30
    assert "compiled the layers (took on layers)" in caplog.text
    for process in own.values():
        assert process.stdout is None or process.stdout.closed or process.stdout.readline().startswith("took")
    first.close()
    assert all(process.poll() is not None for process in own.values())
    second = start_rehearsals(env, OBEDIENT)
    assert second.processes == {} and second.wait("layers") == 0


def test_what_the_code_depends_on_changes_the_mark(tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"model_dir": str(tmp_path), "max_pack_tokens": 4096, "seed": 1, "optimizer": {"learning_rate": 1}}
    one = mark_of("layers", config, env)
    assert one == mark_of("layers", {**config, "seed": 2, "optimizer": {}}, env)
    others = [mark_of("sampling", config, env), mark_of("layers", {**config, "max_pack_tokens": 512}, env)]
    (tmp_path / "config.json").write_text("{}")
    others.append(mark_of("layers", config, env))
    monkeypatch.setattr("ajet_torch.rehearsals.gpu_names", lambda: ["Model: another GPU"])
    assert len({one, *others, mark_of("layers", config, env)}) == 5
    assert mark_of("layers", config, {}) is None


def test_a_process_that_does_not_come_to_its_end_is_not_awaited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ajet_torch.rehearsals.MOST_SECONDS", 0.2)
    started = Rehearsals()
    started.start("layers", [sys.executable, "-c", "import time; time.sleep(60)"], {})
    process = started.processes["layers"]
    assert 0.1 < started.wait("layers") < 30
    assert process.poll() is not None
    started.start("layers", ["/no/such/program"], {})
    assert started.wait("layers") == 0


def test_only_a_gpu_that_other_processes_may_use_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, is_shared in (("Default\nDefault\n", True), ("Exclusive_Process\n", False), ("", False)):
        monkeypatch.setattr(rehearsal.subprocess, "run", lambda *_, said=said, **__: SimpleNamespace(stdout=said, stderr=""))
        if is_shared:
            rehearsal.require_shared_gpu()
        else:
            with pytest.raises(rehearsal.WorkerError):
                rehearsal.require_shared_gpu()


def run_alone(monkeypatch: pytest.MonkeyPatch, config: dict[str, object], mark: Path) -> int:
    line = json.dumps({"config": {**config, "device": "cpu"}, "mark": str(mark)})
    monkeypatch.setattr(sys, "argv", ["rehearsal", "update"])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(readline=lambda: line))
    for name in ("end_with_parent", "require_shared_gpu"):
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


def test_parts_are_rehearsed_if_one_process_trains_on_a_gpu_in_the_usual_way(env: dict[str, str]) -> None:
    assert choose_parts({}, {}) == ("layers", "update", "sampling")
    assert choose_parts({"compile": "off"}, {}) == ("sampling",)
    assert choose_parts({"inference": {"server": "vllm"}}, {}) == ("layers", "update")
    for config in ({"device": "cpu"}, {"lora": {"rank": 8}}, {"cpu_offload": True}, {"fsdp": "always"}):
        assert choose_parts(config, {}) == ()
    for environment in ({"WORLD_SIZE": "2"}, {"CUDA_VISIBLE_DEVICES": ""}, {"AJET_REHEARSE": "0"}):
        assert choose_parts({}, environment) == ()
    assert start_rehearsals({}).processes == {}


def test_layers_that_need_no_compiler_are_rehearsed_with_the_update(tmp_path: Path, env: dict[str, str]) -> None:
    config = {"model_dir": str(tmp_path)}
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    assert choose_parts(config, {}) == ("update", "sampling")
    for options in ({"compile": "on"}, {"attention": "flex"}, {"matmul": "fp8"}):
        assert choose_parts({**config, **options}, {}) == ("layers", "update", "sampling")
    for text in ('{"model_type": "gemma3_text"}', "[]", "{"):
        (tmp_path / "config.json").write_text(text)
        assert choose_parts(config, {}) == ("layers", "update", "sampling")


def test_nothing_is_rehearsed_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "exists", lambda _: False)
    assert choose_parts({}, {}) == ()

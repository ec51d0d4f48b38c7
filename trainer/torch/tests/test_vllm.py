"""Tests the worker's side of vLLM with a small server that has only vLLM's HTTP interface (tests/fake_vllm)."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Callable, Iterator

import numpy as np
import pytest
import torch

from ajet_torch.config import InferenceConfig, LoraConfig, OptimizerConfig, WorkerConfig
from ajet_torch.errors import WorkerError
from ajet_torch.losses import LossConfig
from ajet_torch.ranks import Ranks
from ajet_torch.sampling.server import SampleRequest, TokenEvent
from ajet_torch.sampling import vllm_weights
from ajet_torch.sampling.vllm_gpus import buffer_devices, require_gpus, visible_to_vllm
from ajet_torch.sampling.vllm_process import VllmProcess, environment, require_version, require_vllm
from ajet_torch.sampling.vllm_stream import with_finish
from ajet_torch.session import Session
from start_ranks import start_ranks
from tiny import cpu_placement, random_rows, supervise, tiny_folder, tree_pack

FAKE = str(Path(__file__).parent / "fake_vllm")


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("vllm") / "model")


def forget_vllm(patch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "vllm"]:
        patch.delitem(sys.modules, name)


def open_session(model_dir: Path, patch: pytest.MonkeyPatch, lora: LoraConfig = LoraConfig(), version: str = "0.33.0") -> Session:
    patch.setenv("FAKE_VLLM_VERSION", version)
    patch.setenv("PYTHONPATH", os.pathsep.join([FAKE, os.environ.get("PYTHONPATH", "")]))
    patch.syspath_prepend(FAKE)
    forget_vllm(patch)
    inference = InferenceConfig(server="vllm", kv_tokens=64)
    return Session(WorkerConfig(model_dir=str(model_dir), inference=inference, lora=lora, optimizer=OptimizerConfig(learning_rate=0.05)), cpu_placement(torch.float32))


@pytest.fixture(scope="module")
def session(model_dir: Path) -> Iterator[Session]:
    with pytest.MonkeyPatch.context() as patch:
        opened = open_session(model_dir, patch)
        yield opened
        opened.server.close()


def process_of(session: Session) -> VllmProcess:
    return session.server.replicas[0].process


def request(number: int, prompt: list[int], **changes: object) -> SampleRequest:
    values = dict(id=number, prompt_ids=np.asarray(prompt, np.int32), temperature=1.0, top_p=1.0, top_k=0, max_tokens=6, stop_ids=frozenset(), seed=number, stream=True)
    return SampleRequest(**{**values, **changes})


def answers(session: Session, *requests: SampleRequest) -> dict[int, list[TokenEvent]]:
    found: dict[int, list[TokenEvent]] = {each.id: [] for each in requests}
    submitted = list(requests)
    while any(not events or events[-1].finish is None for events in found.values()):
        for event in session.sample(submitted, []):
            found.setdefault(event.id, []).append(event)
        submitted = []
    return found


def gap(session: Session, prompt: list[int], events: list[TokenEvent]) -> float:
    """Returns the largest gap between the sampler's logprobs and the trainer's."""
    row = np.asarray([*prompt, *(event.token for event in events)], np.int32)
    return float(np.abs(session.trainer.logprobs([row])[0][len(prompt) :] - [event.logprob for event in events]).max())


def train(session: Session) -> None:
    rng = np.random.default_rng(0)
    rows = random_rows(rng)
    session.trainer.step([tree_pack(rows, supervise(rng, rows))], LossConfig(kind="sft"))


def test_answers_come_token_by_token_with_the_trainers_logprobs(session: Session) -> None:
    prompts = {1: [3, 1, 4], 2: [1, 5], 3: [9, 2, 6, 5]}
    found = answers(session, *(request(number, prompt) for number, prompt in prompts.items()))
    for number, events in found.items():
        assert len(events) == 6 and [event.finish for event in events] == [None] * 5 + ["length"]
        assert gap(session, prompts[number], events) < 1e-4
    assert not session.server.is_busy() and not session.server.has_queue()


def test_a_stop_id_ends_an_answer_and_is_its_last_token(session: Session) -> None:
    free = answers(session, request(4, [3, 1, 4], temperature=0.0))[4]
    stopped = answers(session, request(5, [3, 1, 4], temperature=0.0, stop_ids=frozenset([free[2].token])))[5]
    cut = [event.token for event in free].index(free[2].token) + 1
    assert [event.token for event in stopped] == [event.token for event in free][:cut]
    assert stopped[-1].finish == "stop"


def test_new_weights_arrive_and_are_checked(session: Session) -> None:
    before = answers(session, request(6, [3, 1, 4], temperature=0.0))[6]
    train(session)
    assert gap(session, [3, 1, 4], before) > 1e-2
    assert session.server.sender.is_direct and session.sync_weights() > 0
    assert gap(session, [3, 1, 4], answers(session, request(7, [3, 1, 4], temperature=0.0))[7]) < 1e-4


def test_an_aborted_answer_gives_no_more_tokens_and_others_go_on(session: Session) -> None:
    events = session.sample([request(8, [1, 2], max_tokens=60), request(9, [1, 2])], [])
    while not any(event.id == 8 for event in events):
        events = session.sample([], [])
    session.sample([], [8])
    assert len(answers(session, request(10, [2, 2]))[10]) == 6
    assert not any(event.id == 8 for event in session.sample([], []))


def test_an_answer_in_one_piece_is_that_of_a_streamed_one(session: Session) -> None:
    streamed = answers(session, request(12, [3, 1, 4], seed=5))[12]
    whole = answers(session, request(13, [3, 1, 4], seed=5, stream=False))[13]
    assert [(event.token, event.logprob, event.finish) for event in whole] == [(event.token, event.logprob, event.finish) for event in streamed]


def stand_in(session: Session) -> dict[str, int]:
    return process_of(session).http.get("/stand_in")


@contextmanager
def fault(session: Session, kind: str) -> Iterator[None]:
    http = process_of(session).http
    http.post("/stand_in", {"fault": kind})
    try:
        yield
    finally:
        http.post("/stand_in", {"fault": ""})


def wait_for(condition: Callable[[], bool], what: str, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@pytest.mark.parametrize("stream", [True, False])
def test_an_aborted_answer_ends_in_the_server_too(session: Session, stream: bool) -> None:
    before = stand_in(session)["hung_up"]
    with fault(session, "slow"):
        session.sample([request(1, [1, 2], max_tokens=60, stream=stream)], [])
        wait_for(lambda: stand_in(session)["running"] == 1, "the request did not arrive")
        session.sample([], [1])
        wait_for(lambda: stand_in(session)["hung_up"] == before + 1, "the request continued")
        assert not session.server.is_busy()


def test_a_prompt_without_room_is_refused(session: Session) -> None:
    with pytest.raises(WorkerError) as raised:
        session.server.submit(request(11, [1] * 64))
    assert raised.value.code == "context_overflow"


@pytest.mark.parametrize("version", ["0.26.0", "0.33.0"])
def test_a_quantized_model_takes_folded_adapters_in_small_chunks_by_vllms_own_update(model_dir: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(vllm_weights, "CHUNK_BYTES", 1)
    monkeypatch.setenv("FAKE_VLLM_QUANTIZED", "1")
    session = open_session(model_dir, monkeypatch, LoraConfig(rank=2, alpha=8.0), version)
    try:
        assert not session.server.sender.is_direct
        largest = max(tensor.numel() * tensor.element_size() for _, tensor in session.weights())
        assert session.server.replicas[0].is_exact and [buffer.numel() for buffer in session.server.sender.buffers] == [largest]
        for _ in range(2):
            train(session)
            session.sync_weights()
            assert gap(session, [3, 1, 4], answers(session, request(1, [3, 1, 4]))[1]) < 1e-4
    finally:
        session.server.close()


@pytest.mark.parametrize(("kind", "words"), [("deaf", "does not hold the new weights: their bits"), ("stale", "on a probe .* does not hold the new weights")])
def test_a_sampler_that_does_not_use_the_weights_stops_the_run(session: Session, kind: str, words: str) -> None:
    with fault(session, kind):
        for _ in range(3):
            train(session)
        with pytest.raises(WorkerError, match=words) as raised:
            session.sync_weights()
        assert raised.value.code == "weight_sync"
    session.sync_weights()


def test_weights_laid_out_otherwise_must_change_at_least(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.server.replicas[0], "is_exact", False)
    session.sync_weights()
    session.sync_weights()
    with fault(session, "deaf"):
        train(session)
        with pytest.raises(WorkerError, match="does not hold the new weights: their bits"):
            session.sync_weights()
    session.sync_weights()


def test_an_error_within_an_answer_is_told(session: Session) -> None:
    with fault(session, "midstream"), pytest.raises(WorkerError, match="vLLM failed: .*EngineCore encountered an issue"):
        answers(session, request(14, [1, 2, 3]))
    session.server.abort(14)


def test_a_server_that_dies_in_an_answer_is_told_with_its_last_lines(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(model_dir, monkeypatch)
    try:
        process_of(session).http.post("/stand_in", {"fault": "crash"})
        for number, stream in enumerate([True, False]):
            with pytest.raises(WorkerError, match="vLLM failed: ") as raised:
                answers(session, request(number, [1, 2, 3], stream=stream))
            assert raised.value.code == "failed" and "Loading weights" in str(raised.value)
        with pytest.raises(WorkerError, match="did not answer /pause"):
            session.sync_weights()
    finally:
        session.server.close()


def test_a_server_that_is_closed_ends_without_errors_in_the_log(model_dir: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    session = open_session(model_dir, monkeypatch)
    process = process_of(session)
    session.server.close()
    process.reader.join(5)
    assert "EngineDeadError" in process.lines[-1]
    shown = capfd.readouterr().err
    assert "Loading weights" in shown and "EngineDeadError" not in shown


def test_a_server_that_does_not_start_is_told_with_its_first_error_however_much_follows_it(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VLLM_FAIL", "1")
    with pytest.raises(WorkerError, match="(?s)ended with code 1 while it started.*rollout.gpu_memory_utilization.*first error: ValueError: Free memory on device.*last lines:.*See root cause above") as raised:
        open_session(model_dir, monkeypatch)
    assert raised.value.code == "out_of_memory"


def test_an_answer_that_the_server_gave_up_is_no_answer() -> None:
    chunk = {"choices": [{"token_ids": [1], "logprobs": {"token_logprobs": [-0.5]}, "finish_reason": None}]}
    for finish in ("abort", "error", None):
        with pytest.raises(ValueError, match="early"):
            list(with_finish([chunk, {"choices": [{"token_ids": [], "logprobs": None, "finish_reason": finish}]}], 1))


def test_a_server_over_more_gpus_than_the_trainer_has_is_refused(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FAKE)
    forget_vllm(monkeypatch)
    with pytest.raises(WorkerError, match="tensor_model_parallel_size"):
        Session(WorkerConfig(model_dir=str(model_dir), inference=InferenceConfig(server="vllm", tensor_parallel_size=2)), cpu_placement(torch.float32))


@pytest.mark.parametrize(("mode", "nodes"), [("vllm", 1), ("vllm-alone", 1), ("vllm-nodes", 2)])
def test_two_ranks_of_a_sharded_trainer_feed_one_server_on_each_node(model_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, nodes: int) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([FAKE, os.environ.get("PYTHONPATH", "")]))
    (tmp_path / "model").symlink_to(model_dir)
    start_ranks(tmp_path, 2, mode, nodes=nodes)
    assert max(json.loads((tmp_path / f"{mode}-2.json").read_text())["gaps"]) < 1e-4


def test_vllm_has_the_trainers_first_gpus_or_those_after_them(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = [torch.device("cuda", index) for index in range(6)]
    shared, alone = (InferenceConfig(server="vllm", tensor_parallel_size=2, colocated=colocated) for colocated in (True, False))
    assert [buffer_devices(shared, Ranks(rank, 4, rank), cuda[rank]) for rank in range(4)] == [[cuda[0]], [cuda[1]], [], []]
    assert [buffer_devices(alone, Ranks(rank, 4, rank), cuda[rank]) for rank in range(4)] == [[cuda[4], cuda[5]], [], [], []]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert (visible_to_vllm(shared, 4, 8), visible_to_vllm(alone, 4, 8), visible_to_vllm(alone, 1, 0)) == (None, "4,5", None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7,5,3,1")
    assert visible_to_vllm(alone, 2, 4) == "3,1" and environment("3,1")["CUDA_VISIBLE_DEVICES"] == "3,1"
    assert (shared.gpu_share, alone.gpu_share, replace(alone, gpu_memory_utilization=0.5).gpu_share) == (0.45, 0.9, 0.5)


def test_too_few_gpus_are_told_with_the_keys_that_help() -> None:
    shared, alone = (InferenceConfig(server="vllm", tensor_parallel_size=2, colocated=colocated) for colocated in (True, False))
    for inference, num_trainers, num_visible in ((shared, 2, 2), (alone, 2, 4), (alone, 1, 0)):
        require_gpus(inference, num_trainers, num_visible)
    with pytest.raises(WorkerError, match="rollout.colocated=false"):
        require_gpus(shared, 1, 8)
    with pytest.raises(WorkerError, match="takes 2 GPUs .* vLLM takes 2 separate ones .* there are 3"):
        require_gpus(alone, 2, 3)


@pytest.mark.parametrize(("version", "pair"), [("0.26.0", (0, 26)), ("0.31.1rc2", (0, 31)), ("1.0.0", (1, 0)), ("0.1.dev12+g0123abc", (0, 33)), ("dev", (0, 33))])
def test_versions_are_read(version: str, pair: tuple[int, int]) -> None:
    assert require_version(version) == pair


def test_what_is_too_old_or_lacks_a_part_is_told_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FAKE)
    forget_vllm(monkeypatch)
    for version, words in (("0.25.1", "0.25.1 is too old"), ("0.26.0", "pip install ray")):
        monkeypatch.setattr(importlib.metadata, "version", lambda _, version=version: version)
        with pytest.raises(WorkerError, match=words) as raised:
            require_vllm()
        assert raised.value.code == "bad_request"


def test_torchruns_surroundings_do_not_reach_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TORCHELASTIC_USE_AGENT_STORE", "RANK", "AJET_TOKEN", "VLLM_API_KEY", "PYTORCH_CUDA_ALLOC_CONF"):
        monkeypatch.setenv(name, "1")
        assert name not in environment()


def test_without_vllm_the_error_says_what_to_install(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != FAKE])
    forget_vllm(monkeypatch)
    with pytest.raises(WorkerError, match="pip install"):
        Session(WorkerConfig(model_dir=str(model_dir), inference=InferenceConfig(server="vllm")), cpu_placement(torch.float32))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such signal")
def test_a_server_ends_with_a_worker_that_was_killed() -> None:
    program = """
import subprocess, sys, time
from ajet_torch.parent import end_with_parent
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], preexec_fn=end_with_parent)
print(child.pid, flush=True)
time.sleep(60)
"""
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    server = int(worker.stdout.readline())
    worker.kill()
    worker.wait()
    wait_for(lambda: not is_running(server), "the server outlived its worker")


def is_running(pid: int) -> bool:
    """Returns whether the process runs. A zombie, for which no process has waited, does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False

"""The worker's side of vLLM, against a small server that speaks its HTTP (tests/fake_vllm)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Iterator

import numpy as np
import pytest
import torch

from ajet_torch.config import InferenceConfig, LoraConfig, OptimizerConfig, WorkerConfig
from ajet_torch.errors import WorkerError
from ajet_torch.losses import LossConfig
from ajet_torch.sampling.server import SampleRequest, TokenEvent
from ajet_torch.session import Session
from tiny import cpu_placement, random_rows, supervise, tiny_folder, tree_pack

FAKE = str(Path(__file__).parent / "fake_vllm")


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_folder(tmp_path_factory.mktemp("vllm") / "model")


def forget_vllm(patch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "vllm"]:
        patch.delitem(sys.modules, name)


def open_session(model_dir: Path, patch: pytest.MonkeyPatch, lora: LoraConfig = LoraConfig()) -> Session:
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
    """Between the sampler's logprobs and the trainer's."""
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
    assert session.sync_weights() > 0
    assert gap(session, [3, 1, 4], answers(session, request(7, [3, 1, 4], temperature=0.0))[7]) < 1e-4


def test_an_aborted_answer_gives_no_more_tokens_and_others_go_on(session: Session) -> None:
    events = session.sample([request(8, [1, 2], max_tokens=60), request(9, [1, 2])], [])
    while not any(event.id == 8 for event in events):
        events = session.sample([], [])
    session.sample([], [8])
    assert len(answers(session, request(10, [2, 2]))[10]) == 6
    assert not any(event.id == 8 for event in session.sample([], []))


def test_a_prompt_without_room_is_refused(session: Session) -> None:
    with pytest.raises(WorkerError) as raised:
        session.server.submit(request(11, [1] * 64))
    assert raised.value.code == "context_overflow"


def test_adapters_reach_the_sampler_folded(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session(model_dir, monkeypatch, LoraConfig(rank=2, alpha=8.0))
    try:
        train(session)
        session.sync_weights()
        assert gap(session, [3, 1, 4], answers(session, request(1, [3, 1, 4]))[1]) < 1e-4
    finally:
        session.server.close()


def test_a_sampler_that_does_not_take_the_weights_stops_the_run(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VLLM_DEAF", "1")
    session = open_session(model_dir, monkeypatch)
    try:
        for _ in range(3):
            train(session)
        with pytest.raises(WorkerError, match="does not hold the new weights") as raised:
            session.sync_weights()
        assert raised.value.code == "weight_sync"
        session.server.process.kill()
        session.server.process.wait()
        with pytest.raises(WorkerError, match="vLLM failed"):
            answers(session, request(1, [1, 2, 3]))
    finally:
        session.server.close()


def test_without_vllm_the_error_says_what_to_install(model_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != FAKE])
    forget_vllm(monkeypatch)
    with pytest.raises(WorkerError, match="pip install"):
        Session(WorkerConfig(model_dir=str(model_dir), inference=InferenceConfig(server="vllm")), cpu_placement(torch.float32))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such signal")
def test_a_server_ends_with_a_worker_that_was_killed() -> None:
    program = """
import subprocess, sys, time
from ajet_torch.sampling.vllm_server import end_with_parent
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], preexec_fn=end_with_parent)
print(child.pid, flush=True)
time.sleep(60)
"""
    worker = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    server = int(worker.stdout.readline())
    worker.kill()
    worker.wait()
    deadline = time.monotonic() + 10
    while is_running(server):
        assert time.monotonic() < deadline, "the server outlived its worker"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    """A zombie that nobody waits for runs no more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False

"""Tests several vLLM servers of one worker: episodes, weights, and answers while servers fail and return."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Iterator

import numpy as np
import pytest
import torch

from ajet_torch.config import InferenceConfig, OptimizerConfig, WorkerConfig
from ajet_torch.errors import WorkerError
from ajet_torch.sampling.server import CallFailure, TokenEvent
from ajet_torch.sampling.vllm_gpus import buffer_devices, require_gpus, visible_to_vllm
from ajet_torch.sampling.vllm_process import environment
from ajet_torch.sampling.vllm_replica import MOST_RESTARTS, Replica
from ajet_torch.ranks import Ranks
from ajet_torch.session import Session
from run_rank import make_packs
from test_apart import ControlPlane, answer, logprobs
from test_vllm import FAKE, answers, forget_vllm, gap, request, train, wait_for
from tiny import cpu_placement, tiny_folder

PROMPT = [3, 1, 4]


def open_replicas(model_dir: Path, patch: pytest.MonkeyPatch, count: int = 2) -> Session:
    patch.setenv("FAKE_VLLM_VERSION", "0.33.0")
    patch.setenv("PYTHONPATH", os.pathsep.join([FAKE, os.environ.get("PYTHONPATH", "")]))
    patch.syspath_prepend(FAKE)
    forget_vllm(patch)
    inference = InferenceConfig(server="vllm", kv_tokens=64, num_replicas=count, colocated=False)
    return Session(WorkerConfig(model_dir=str(model_dir), inference=inference, optimizer=OptimizerConfig(learning_rate=0.05)), cpu_placement(torch.float32))


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with pytest.MonkeyPatch.context() as patch:
        opened = open_replicas(tiny_folder(tmp_path_factory.mktemp("replicas") / "model"), patch)
        yield opened
        opened.server.close()


def replica(session: Session, index: int) -> Replica:
    return session.server.replicas[index]


def set_fault(session: Session, index: int, kind: str) -> None:
    replica(session, index).process.http.post("/stand_in", {"fault": kind})


def prompts(session: Session, index: int) -> list[int]:
    """Returns the first token id of each prompt that a replica has received."""
    return replica(session, index).process.http.get("/stand_in")["prompts"]


def states(session: Session) -> list[str]:
    return [each.state for each in session.server.replicas]


def until(session: Session, index: int, state: str) -> None:
    def has_come() -> bool:
        session.sample([], [])
        return replica(session, index).state == state

    wait_for(has_come, f"replica {index} did not become {state}", 120)


def until_all_serve(session: Session) -> None:
    def is_so() -> bool:
        session.sample([], [])
        session.server.lacks_weights() and session.catch_up()
        return states(session) == ["serving", "serving"]

    wait_for(is_so, "a replica did not come back", 120)


def bring_back(session: Session, index: int) -> None:
    until(session, index, "outdated")
    assert session.server.lacks_weights()
    session.catch_up()
    assert states(session) == ["serving", "serving"] and not session.server.lacks_weights()


def episode_of(session: Session, index: int) -> str:
    """Returns the name of a new episode that is assigned to the replica `index`."""
    for number in range(100):
        name = f"new-{len(session.server.pins.pins)}-{number}"
        if session.server.pins.choose(name, [0, 1], lambda _: 0) == index:
            return name
    raise AssertionError("never chosen")


def test_an_episode_stays_with_one_replica_and_episodes_are_spread(session: Session) -> None:
    for call in range(3):
        answers(session, *(request(10 * call + number, [30 + number, 1], episode_id=f"episode {number}") for number in range(4)))
    asked = [prompts(session, 0), prompts(session, 1)]
    assert [len(of_one) for of_one in asked] == [6, 6]
    for number in range(4):
        assert sorted(of_one.count(30 + number) for of_one in asked) == [0, 3]


def test_new_weights_reach_all(session: Session) -> None:
    train(session)
    session.sync_weights()
    for index in (0, 1):
        found = answers(session, request(1, PROMPT, episode_id=episode_of(session, index)))[1]
        assert gap(session, PROMPT, found) < 1e-4
        assert prompts(session, index)[-1] == PROMPT[0]


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_of_a_dead_replica_goes_on_at_another_with_exact_logprobs(session: Session, stream: bool) -> None:
    set_fault(session, 0, "crash")
    asked = [request(number, PROMPT, max_tokens=12, stream=stream, episode_id=episode_of(session, index)) for number, index in enumerate([0, 1, 0])]
    found = answers(session, *asked)
    for events in found.values():
        assert len(events) == 12 and events[-1].finish == "length"
        assert gap(session, PROMPT, events) < 1e-4
    assert states(session)[1] == "serving" and states(session)[0] != "serving"
    bring_back(session, 0)
    assert gap(session, PROMPT, answers(session, request(1, PROMPT, episode_id=episode_of(session, 0)))[1]) < 1e-4
    assert len(prompts(session, 0)) == 2, "the probe and the call"


def test_a_replica_that_missed_an_update_serves_nothing_until_it_has_it(session: Session) -> None:
    set_fault(session, 1, "deaf")
    train(session)
    session.sync_weights()
    assert states(session)[0] == "serving" and states(session)[1] in ("ending", "starting")
    until(session, 1, "outdated")
    found = answers(session, *(request(number, PROMPT, episode_id=f"meanwhile {number}") for number in range(4)))
    assert all(gap(session, PROMPT, events) < 1e-4 for events in found.values())
    assert prompts(session, 1) == []
    session.catch_up()
    assert gap(session, PROMPT, answers(session, request(9, PROMPT, episode_id=episode_of(session, 1)))[9]) < 1e-4
    assert len(prompts(session, 1)) == 2, "the probe and the call"


def test_a_replica_that_samples_from_old_weights_is_found_by_its_probe(session: Session) -> None:
    set_fault(session, 0, "stale")
    for _ in range(3):
        train(session)
    session.sync_weights()
    assert states(session)[1] == "serving" and states(session)[0] in ("ending", "starting")
    bring_back(session, 0)


def test_weights_that_reach_none_stop_the_run(session: Session) -> None:
    for index in (0, 1):
        set_fault(session, index, "deaf")
    train(session)
    with pytest.raises(WorkerError, match="does not hold the new weights") as raised:
        session.sync_weights()
    assert raised.value.code == "weight_sync"
    for index in (0, 1):
        set_fault(session, index, "")
    session.sync_weights()
    assert states(session) == ["serving", "serving"]


def test_a_moved_answer_can_be_aborted(session: Session) -> None:
    set_fault(session, 0, "crash")
    set_fault(session, 1, "slow")
    session.sample([request(1, PROMPT, max_tokens=60, episode_id=episode_of(session, 0))], [])

    def has_moved() -> bool:
        session.sample([], [])
        return 1 in session.server.streams and session.server.streams[1].server is replica(session, 1)

    wait_for(has_moved, "the answer was not moved", 30)
    session.sample([], [1])
    assert not session.server.is_busy() and not session.server.has_queue()
    wait_for(lambda: replica(session, 1).process.http.get("/stand_in")["running"] == 0, "the request continued", 30)
    set_fault(session, 1, "")
    bring_back(session, 0)


def test_a_replica_that_hangs_in_midstream_is_ended_and_its_answer_goes_on_at_another(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    set_fault(session, 0, "slow")
    hanging = replica(session, 0).process.child
    found = session.sample([request(1, PROMPT, max_tokens=24, episode_id=episode_of(session, 0))], [])
    while len(found) < 3:
        found += session.sample([], [])
    hanging.send_signal(signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr("ajet_torch.sampling.vllm_server.ANSWER_TIMEOUT_S", 0.5)
        while states(session)[0] == "serving":
            found += session.sample([], [])
    while found[-1].finish is None:
        found += session.sample([], [])
    assert len(found) == 24 and gap(session, PROMPT, found) < 1e-4
    assert states(session)[0] in ("ending", "starting") and replica(session, 0).num_restarts == 1
    bring_back(session, 0)


def test_an_answer_that_breaks_off_twice_fails_alone_and_what_was_not_begun_waits(session: Session) -> None:
    for index in (0, 1):
        set_fault(session, index, "crash")
    events = session.sample([request(1, PROMPT, max_tokens=12)], [])
    while not events or not isinstance(events[-1], CallFailure):
        events += session.sample([], [])
    assert events[-1].id == 1 and events[-1].error.code == "failed" and "vLLM failed" in str(events[-1].error)
    assert session.sample([request(2, PROMPT)], []) == [] and session.server.has_queue()
    until(session, 0, "outdated")
    session.catch_up()
    found: list[TokenEvent] = []
    while not found or found[-1].finish is None:
        found += [event for event in session.sample([], []) if isinstance(event, TokenEvent)]
    assert len(found) == 6 and gap(session, PROMPT, found) < 1e-4
    until_all_serve(session)


def test_a_replica_that_fails_again_and_again_is_given_up_and_the_last_one_ends_the_run(session: Session) -> None:
    first, second = session.server.replicas
    first.num_restarts = second.num_restarts = MOST_RESTARTS
    first.process.child.kill()
    until(session, 0, "gone")
    assert len(answers(session, request(1, PROMPT))[1]) == 6
    second.num_restarts = MOST_RESTARTS
    second.process.child.kill()
    with pytest.raises(WorkerError, match="vLLM failed: it ended with code -9"):
        until(session, 1, "gone")


def servers_of(worker: int) -> list[int]:
    children = Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
    return [int(pid) for pid in children if b"vllm.entrypoints" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.skipif(sys.platform != "linux", reason="children are read from /proc")
def test_a_worker_whose_replicas_are_killed_one_after_the_other_loses_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first replica is killed before a step and the second one after it. When the first one returns, it must get the
    weights of the step that it missed, because no other replica can answer."""
    monkeypatch.setenv("FAKE_VLLM_VERSION", "0.33.0")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([FAKE, str(Path(__file__).parent)]))
    inference = {"server": "vllm", "colocated": False, "kv_tokens": 64, "num_replicas": 2}
    plane = ControlPlane({"model_dir": str(tiny_folder(tmp_path / "model")), "device": "cpu", "dtype": "float32", "inference": inference, "optimizer": {"learning_rate": 0.05}}, 1)
    prompt = np.asarray(PROMPT, np.int32)

    def ask(seed: int) -> list[int]:
        return [plane.generate(prompt, 40, seed + number, f"episode {number}") for number in range(4)]

    try:
        first, second = servers_of(plane.process.pid)
        asked = ask(0)
        os.kill(first, signal.SIGKILL)
        assert [answer(plane.result(number))[2] for number in asked] == [0] * 4
        assert plane.result(plane.train_step(make_packs(6), {"kind": "sft"}))["policy_version"] == 1
        os.kill(second, signal.SIGKILL)
        for number in ask(10):
            ids, heard, version = answer(plane.result(number))
            assert len(ids) == 40 and version == 1 and logprobs(plane, ids) == pytest.approx(heard, abs=1e-4)
    finally:
        plane.close()


def test_replicas_have_separate_gpus_and_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    shared, alone = (InferenceConfig(server="vllm", num_replicas=2, tensor_parallel_size=2, colocated=colocated) for colocated in (True, False))
    cuda = [torch.device("cuda", index) for index in range(6)]
    assert [buffer_devices(shared, Ranks(rank, 4, rank), cuda[rank]) for rank in range(4)] == [[cuda[0]], [cuda[1]], [cuda[2]], [cuda[3]]]
    assert buffer_devices(alone, Ranks(0, 2, 0), cuda[0]) == cuda[2:]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert [visible_to_vllm(shared, 4, 8, index) for index in (0, 1)] == ["0,1", "2,3"]
    assert [visible_to_vllm(alone, 2, 8, index) for index in (0, 1)] == ["2,3", "4,5"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7,5,3,1")
    assert [visible_to_vllm(shared, 4, 4, index) for index in (0, 1)] == ["7,5", "3,1"]
    monkeypatch.delenv("VLLM_PORT", raising=False)
    assert "VLLM_PORT" not in environment("1", 1)
    monkeypatch.setenv("VLLM_PORT", "9000")
    assert [environment("1", index)["VLLM_PORT"] for index in (0, 1)] == ["9000", "9100"]


def test_too_few_gpus_for_the_replicas_are_told_with_the_keys_that_help() -> None:
    shared, alone = (InferenceConfig(server="vllm", num_replicas=2, tensor_parallel_size=2, colocated=colocated) for colocated in (True, False))
    require_gpus(shared, 4, 4)
    require_gpus(alone, 4, 8)
    with pytest.raises(WorkerError, match="would use 4 GPUs .rollout.num_replicas 2 x rollout.tensor_model_parallel_size 2. .* a trainer on 3"):
        require_gpus(shared, 3, 8)
    with pytest.raises(WorkerError, match="takes 4 GPUs .* vLLM takes 4 separate ones .rollout.num_replicas 2 x .* there are 7"):
        require_gpus(alone, 4, 7)


def test_a_replica_that_does_not_start_is_told_and_the_others_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VLLM_FAIL", "1")
    with pytest.raises(WorkerError, match="(?s)ended with code 1 while it started.*first error: ValueError: Free memory on device") as raised:
        open_replicas(tiny_folder(tmp_path / "model"), monkeypatch)
    assert raised.value.code == "out_of_memory"

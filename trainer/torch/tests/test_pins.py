"""Tests which sampler answers the calls of an episode."""

from __future__ import annotations

from ajet_torch.sampling.pins import EpisodePins


def idle(_: int) -> int:
    return 0


def test_an_episode_stays_where_its_first_call_went() -> None:
    pins = EpisodePins()
    first = {name: pins.choose(name, [0, 1], idle) for name in "abcd"}
    assert sorted(first.values()) == [0, 0, 1, 1]
    loads = {0: 9, 1: 9}
    assert {name: pins.choose(name, [0, 1], lambda place: loads[place]) for name in "dcba"} == first


def test_a_new_episode_goes_to_the_least_loaded() -> None:
    pins = EpisodePins()
    loads = [2, 0, 1]
    assert pins.choose("a", [0, 1, 2], loads.__getitem__) == 1
    loads[1] = 3
    assert pins.choose("b", [0, 1, 2], loads.__getitem__) == 2
    assert pins.choose("a", [0, 1, 2], loads.__getitem__) == 1


def test_an_episode_whose_place_is_gone_gets_another_and_stays_there() -> None:
    pins = EpisodePins()
    assert pins.choose("a", [0, 1], idle) == 0
    assert pins.choose("a", [1], idle) == 1
    assert pins.choose("a", [0, 1], idle) == 1


def test_calls_without_an_episode_are_spread() -> None:
    pins = EpisodePins()
    assert [pins.choose(None, [0, 1], idle) for _ in range(4)] == [0, 1, 0, 1]
    assert not pins.pins


def test_the_episode_that_was_asked_for_longest_ago_is_forgotten() -> None:
    pins = EpisodePins(most=2)
    for name in ("a", "b", "a", "c"):
        pins.choose(name, [0, 1], idle)
    assert list(pins.pins) == ["a", "c"]

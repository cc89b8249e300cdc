"""Who leads, and when: with the default terms, in virtual time, on a server that fails."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from dragoman.kube import leaderelection
from dragoman.kube.errors import ApiError
from dragoman.kube.leaderelection import LeaderElectionConfig
from tests.unit.dragoman.kube.fake_lease import Candidate, LeaseServer
from tests.unit.dragoman.kube.virtual_time import VirtualLoop, run
from tests.unit.examples import examples

Play = Callable[[Callable[[LeaseServer], Coroutine[Any, Any, None]]], LeaseServer]
TERMS = LeaderElectionConfig()
TAKE_OVER = TERMS.duration + TERMS.retry_period * 1.2 + 0.5


@pytest.fixture
def play() -> Play:
    """Return a function that runs a scene on a fresh server, in virtual time."""

    def played(scene: Callable[[LeaseServer], Coroutine[Any, Any, None]]) -> LeaseServer:
        loop = VirtualLoop()
        server = LeaseServer()
        run(scene(server), loop)
        return server

    return played


async def until(condition: Callable[[], bool], within: float) -> float:
    """Wait for something; returns after how many seconds it was so."""
    clock = asyncio.get_running_loop().time
    began = clock()
    while not condition():
        assert clock() - began <= within, "it never was"
        await asyncio.sleep(0.01)
    return clock() - began


@pytest.mark.parametrize(
    ("duration", "deadline", "retry"),
    [(10, 10, 2), (15, 2, 2), (2, 10, 1)],
    ids=["deadline as long as the lease", "no time for a retry", "deadline after the lease"],
)
def test_terms_under_which_two_could_lead_are_refused(
    duration: float, deadline: float, retry: float
) -> None:
    with pytest.raises(ValueError, match="retry period < renew deadline < lease duration"):
        LeaderElectionConfig(duration, deadline, retry)


def test_the_first_candidate_leads_at_once_and_the_lease_says_so(play: Play) -> None:
    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        assert await until(lambda: first.works, 1) < 0.1
        spec = server.read()["spec"]
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("first", 15)
        assert spec["leaseTransitions"] == 1
        await asyncio.sleep(600)
        assert first.works

    assert play(scene).version > 600 / (TERMS.retry_period * 1.3)


def test_a_second_candidate_waits_as_long_as_the_first_renews(play: Play) -> None:
    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        await until(lambda: first.works, 1)
        second = Candidate(server, "second")
        await asyncio.sleep(600)
        assert first.works
        assert not second.led
        assert not second.works

    play(scene)


def test_after_a_sudden_death_another_leads_within_lease_duration_and_a_try(play: Play) -> None:
    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        await until(lambda: first.works, 1)
        second = Candidate(server, "second")
        await asyncio.sleep(7.3)
        first.die()
        took = await until(lambda: second.works, TAKE_OVER)
        assert took > TERMS.renew_deadline
        assert server.read()["spec"]["leaseTransitions"] == 2

    play(scene)


@pytest.mark.parametrize("tenths", range(10))
def test_a_lease_given_back_at_a_clean_stop_is_taken_in_under_two_seconds(
    play: Play, tenths: int
) -> None:
    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        await until(lambda: first.works, 1)
        second = Candidate(server, "second")
        await asyncio.sleep(5 + tenths / 10)
        await first.stop()
        assert server.holder == ""
        await until(lambda: second.works, TERMS.retry_period - 0.1)

    play(scene)


@pytest.mark.parametrize("hundredths", range(0, 60, 2))
def test_a_stop_in_the_middle_of_a_renewal_gives_the_lease_back_all_the_same(
    play: Play, hundredths: int
) -> None:
    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        first.line.latency = 0.2
        await until(lambda: first.works, 5)
        await asyncio.sleep(TERMS.retry_period + hundredths / 100)
        await first.stop()
        assert server.holder == ""

    play(scene)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda line: setattr(line, "silent", True),
        lambda line: setattr(line, "loses_answers", True),
        lambda line: setattr(line, "refusal", ApiError(503, "ServiceUnavailable", "down")),
        lambda line: setattr(line, "refusal", ApiError(429, "TooManyRequests", "busy")),
        lambda line: setattr(line, "refusal", ApiError(403, "Forbidden", "no")),
    ],
    ids=["silence", "lost answers", "503", "429", "403"],
)
def test_a_leader_that_cannot_renew_has_stopped_before_another_starts(
    play: Play, spoil: Callable[[Any], None]
) -> None:
    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        await until(lambda: first.works, 1)
        second = Candidate(server, "second")
        await asyncio.sleep(5)
        spoil(first.line)
        stopped = await until(lambda: not first.leading, TERMS.renew_deadline + 0.1)
        assert stopped > TERMS.renew_deadline - TERMS.retry_period * 1.5
        assert not second.works
        if not first.line.loses_answers:
            await until(lambda: second.works, TAKE_OVER)

    play(scene)


def test_a_short_outage_costs_no_leadership(play: Play) -> None:
    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        await until(lambda: first.works, 1)
        for _ in range(20):
            first.line.refusal = ApiError(500, "InternalError", "etcd is being restarted")
            await asyncio.sleep(5)
            first.line.refusal = None
            await asyncio.sleep(5)
        assert first.works
        assert not first.led

    play(scene)


def test_a_lease_stolen_by_hand_is_respected_for_its_duration_then_taken_back(play: Play) -> None:
    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        await until(lambda: first.works, 1)
        server.by_hand(holderIdentity="thief", renewTime="2000-01-01T00:00:00.000000Z")
        await until(lambda: not first.works, TERMS.retry_period + 0.1)
        assert server.holder == "thief"
        back = await until(lambda: first.works, TERMS.retry_period * 2 + TAKE_OVER)
        assert back > TERMS.duration - TERMS.retry_period

    play(scene)


def test_an_edit_of_the_lease_by_others_costs_no_leadership(play: Play) -> None:
    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        await until(lambda: first.works, 1)
        for number in range(20):
            server.by_hand(strategy=f"edit {number}")
            await asyncio.sleep(1.7)
        assert first.works
        assert not first.led

    play(scene)


def test_a_deleted_lease_is_made_again(play: Play) -> None:
    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        await until(lambda: first.works, 1)
        server.lease = None
        await until(lambda: server.holder == "first", 10)
        await until(lambda: first.works, 10)

    play(scene)


def test_annotations_get_onto_the_lease_soon_and_reach_the_next_leader(play: Play) -> None:
    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        await until(lambda: first.works, 1)
        first.leader_elector.annotate("dragoman.dev/claims-mode", "own")
        await asyncio.sleep(0.1)
        kept = server.read()["metadata"]["annotations"]
        assert kept == {"dragoman.dev/claims-mode": "own"}
        second = Candidate(server, "second")
        await first.stop()
        await until(lambda: second.works, 5)
        assert second.leader_elector.annotations == {"dragoman.dev/claims-mode": "own"}

    play(scene)


def test_wall_clocks_that_jump_change_nothing(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = random.Random(7)
    monkeypatch.setattr(
        leaderelection, "_micro_time", lambda: f"{jumps.randint(1970, 2200)}-01-01T00:00:00.000000Z"
    )

    async def scene(server: LeaseServer) -> None:
        first = Candidate(server, "first")
        await until(lambda: first.works, 1)
        second = Candidate(server, "second")
        await asyncio.sleep(1800)
        assert first.works
        assert not second.works
        first.die()
        await until(lambda: second.works, TAKE_OVER)

    play(scene)


@pytest.mark.parametrize("seed", range(examples(8)))
def test_never_two_lead_however_the_lines_to_the_server_fail(play: Play, seed: int) -> None:
    chance = random.Random(seed)

    async def scene(server: LeaseServer) -> None:
        candidates = [Candidate(server, name) for name in "abc"]
        led = set()
        for step in range(4000):
            await asyncio.sleep(0.05)
            writers = [one.leader_elector.identity for one in candidates if one.leading]
            assert len(writers) <= 1, f"step {step}: {writers}"
            led.update(writers)
            if step % 60 == 0:
                line = chance.choice(candidates).line
                line.latency = chance.choice([0.01, 0.01, 0.5, 3.0])
                line.silent = chance.random() < 0.25
                line.loses_answers = chance.random() < 0.15
                down = ApiError(500, "InternalError", "down")
                line.refusal = down if chance.random() < 0.15 else None
        assert led

    play(scene)

"""Whether only a restart helps, and whether the API server can be reached, by a clock of ours."""

import asyncio
from types import SimpleNamespace

import pytest

from dragoman import vitals as module
from dragoman.kube import pulse as pulses
from dragoman.kube.pulse import WatchHealth
from dragoman.vitals import Liveness
from tests.unit.kube.virtual_time import Clock, VirtualLoop, in_virtual_time


class Patient:
    """An operator with two feeds, some time after it began.

    Attributes:
        clock: What time it is.
        feeds: The pulses of its feeds.
        stuck_for: For how long a worker has had its key.
        vitals: What is tested.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.feeds = (WatchHealth(), WatchHealth())
        self.stuck_for = 0.0
        self.vitals = Liveness(self.feeds, lambda: self.stuck_for)

    def after(self, seconds: float) -> None:
        """Let time pass while the loop turns."""
        self.clock.seconds += seconds
        self.vitals._beat = self.clock.seconds


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> Patient:
    """Return an operator in good health."""
    clock = Clock()
    for one in (module, pulses):
        monkeypatch.setattr(one, "time", SimpleNamespace(monotonic=clock))
    return Patient(clock)


def test_all_is_well_while_the_loop_turns_and_feeds_hear_something(patient: Patient) -> None:
    for _ in range(20):
        patient.after(100.0)
        for feed in patient.feeds:
            feed.works()
        assert patient.vitals.fault() is None
        assert not patient.vitals.unreachable()


def test_a_loop_that_stands_still_is_a_fault(patient: Patient) -> None:
    patient.clock.seconds += 11.5
    assert patient.vitals.fault() == "the event loop is 10 s late"


def test_one_silent_feed_of_two_is_a_fault(patient: Patient) -> None:
    patient.after(301.0)
    patient.feeds[0].works()
    assert patient.vitals.fault() == "a feed has heard nothing for 301 s"


def test_a_feed_that_tries_and_fails_is_alive_for_a_restart_would_change_nothing(
    patient: Patient,
) -> None:
    for _ in range(30):
        patient.after(40.0)
        for feed in patient.feeds:
            feed.fails()
    assert patient.vitals.fault() is None
    assert patient.vitals.unreachable()


def test_a_worker_that_never_comes_back_is_a_fault(patient: Patient) -> None:
    patient.stuck_for = 181.0
    assert patient.vitals.fault() == "a worker has been at one key for 181 s"


def test_a_watch_that_broke_once_and_is_silent_since_is_no_outage(patient: Patient) -> None:
    patient.feeds[0].fails()
    patient.after(60.0)
    assert not patient.vitals.unreachable()


def test_an_outage_ends_with_the_first_thing_that_comes_in(patient: Patient) -> None:
    feed = patient.feeds[0]
    for _ in range(4):
        feed.fails()
        patient.after(15.0)
    assert feed.failing_for() == 45.0
    assert patient.vitals.unreachable()
    feed.works()
    assert not patient.vitals.unreachable()
    feed.fails()
    assert feed.failing_for() == 0.0


@in_virtual_time
async def test_the_loop_beats_each_second(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=loop.time))
    vitals = Liveness((), lambda: 0.0)
    task = asyncio.create_task(vitals.run())
    await asyncio.sleep(100.0)
    assert vitals.fault() is None
    task.cancel()
    await asyncio.sleep(60.0)
    fault = vitals.fault()
    assert fault is not None
    assert "the event loop is" in fault

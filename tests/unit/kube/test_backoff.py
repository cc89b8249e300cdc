"""How long to wait after faults, by a clock of ours."""

from itertools import islice
from types import SimpleNamespace

import pytest

from dragoman.kube import backoff as module
from dragoman.kube.backoff import FIRST, LONGEST, QUIET, Backoff, EndlessBackoff
from tests.unit.kube.virtual_time import Clock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Hold the clock, and let chance be its mean."""
    clock = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr(module, "random", SimpleNamespace(random=lambda: 0.5))
    return clock


def test_pauses_double_up_to_half_a_minute() -> None:
    pauses = Backoff()
    found = [pauses.next() for _ in range(12)]
    assert found[:4] == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST]
    assert found[-1] == LONGEST


@pytest.mark.parametrize(("luck", "share"), [(0.0, 0.75), (1.0, 1.25)])
def test_chance_spreads_them_by_a_quarter_each_way(
    monkeypatch: pytest.MonkeyPatch, luck: float, share: float
) -> None:
    monkeypatch.setattr(module, "random", SimpleNamespace(random=lambda: luck))
    assert Backoff().next() == pytest.approx(FIRST * share)


def test_what_a_server_asks_for_is_the_least() -> None:
    pauses = Backoff()
    assert pauses.next(2.0) == 2.0
    assert pauses.next() == 2 * FIRST


def test_a_minute_without_a_fault_is_a_new_beginning(clock: Clock) -> None:
    pauses = Backoff()
    for _ in range(9):
        pauses.next()
    clock.seconds += QUIET + 1
    assert pauses.next() == FIRST


def test_a_single_success_in_a_bad_time_forgives_nothing(clock: Clock) -> None:
    pauses = Backoff()
    pauses.next()
    pauses.succeeded()
    assert pauses.next() == 2 * FIRST
    clock.seconds += QUIET + 1
    pauses.succeeded()
    assert pauses.next() == FIRST


def test_who_never_gives_up_gets_pauses_for_ever_and_anew_each_time() -> None:
    endless = EndlessBackoff()
    assert [*islice(endless, 200)][-1] == LONGEST
    assert next(iter(endless)) == FIRST

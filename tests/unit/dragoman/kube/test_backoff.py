"""How long to wait after faults, by a clock of ours."""

from types import SimpleNamespace

import pytest

from dragoman import surroundings
from dragoman.kube.backoff import FIRST, LONGEST, RESET_AFTER, Backoff
from tests.unit.dragoman.kube.virtual_time import Clock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Hold the clock, and let chance be its mean."""
    clock = Clock()
    monkeypatch.setattr(surroundings, "monotonic", clock)
    monkeypatch.setattr(surroundings, "chance", lambda: SimpleNamespace(random=lambda: 0.5))
    return clock


def test_backoff_double_up_to_half_a_minute() -> None:
    backoff = Backoff()
    found = [backoff.next() for _ in range(12)]
    assert found[:4] == [FIRST, 2 * FIRST, 4 * FIRST, 8 * FIRST]
    assert found[-1] == LONGEST


@pytest.mark.parametrize(("luck", "share"), [(0.0, 0.75), (1.0, 1.25)])
def test_chance_spreads_them_by_a_quarter_each_way(
    monkeypatch: pytest.MonkeyPatch, luck: float, share: float
) -> None:
    monkeypatch.setattr(surroundings, "chance", lambda: SimpleNamespace(random=lambda: luck))
    assert Backoff().next() == pytest.approx(FIRST * share)


def test_what_a_server_asks_for_is_the_least() -> None:
    backoff = Backoff()
    assert backoff.next(2.0) == 2.0
    assert backoff.next() == 2 * FIRST


def test_a_minute_without_a_fault_is_a_new_beginning(clock: Clock) -> None:
    backoff = Backoff()
    for _ in range(9):
        backoff.next()
    clock.seconds += RESET_AFTER + 1
    assert backoff.next() == FIRST


def test_a_single_success_in_a_bad_time_forgives_nothing(clock: Clock) -> None:
    backoff = Backoff()
    backoff.next()
    backoff.succeeded()
    assert backoff.next() == 2 * FIRST
    clock.seconds += RESET_AFTER + 1
    backoff.succeeded()
    assert backoff.next() == FIRST

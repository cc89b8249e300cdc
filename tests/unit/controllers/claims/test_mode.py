"""The mode in force, and what is due in it, by a clock that the tests hold."""

from dataclasses import dataclass, field

import pytest

from dragoman.claims.mode import SEVERAL, Activity, Mode
from dragoman.controllers.claims.enqueue import Key
from dragoman.controllers.claims.mode import ClaimMode
from dragoman.metrics import REGISTRY

GRACE, QUIET = 30.0, 300.0
POD, OTHER = Key("pod", "ns", "pod"), Key("pod", "ns", "other")


@dataclass
class Flight:
    """A pilot, its clock, and what it wanted to be kept."""

    configured: str = "auto"
    now: float = 5000.0
    kept: list[Mode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pilot = ClaimMode(
            self.configured,
            grace=GRACE,
            takeover_after=QUIET,
            keep=self.kept.append,
            clock=lambda: self.now,
        )

    def make_claims(self, count: int = SEVERAL) -> None:
        for _ in range(count):
            self.pilot.made_claim()

    def become_own(self) -> None:
        self.make_claims()
        self.now += QUIET
        assert self.pilot.tick()


@pytest.mark.parametrize(
    ("configured", "mode"), [("auto", Mode.ASSIST), ("assist", Mode.ASSIST), ("own", Mode.OWN)]
)
def test_each_setting_begins_in_its_mode(configured: str, mode: Mode) -> None:
    flight = Flight(configured)
    assert flight.pilot.mode is mode
    for one in Mode:
        value = REGISTRY.get_sample_value("dragoman_claims_mode", {"mode": one.value})
        assert value == float(one is mode)


def test_own_acts_at_once() -> None:
    assert Flight("own").pilot.delay(POD) == 0.0


def test_in_assist_a_need_is_due_when_the_grace_has_passed_since_it_was_first_seen() -> None:
    flight = Flight("assist")
    assert flight.pilot.delay(POD) == GRACE
    flight.now += 29
    assert flight.pilot.delay(POD) == 1.0
    assert flight.pilot.delay(OTHER) == GRACE
    flight.now += 1
    assert flight.pilot.delay(POD) == 0.0


def test_a_controller_that_still_works_may_only_be_slow() -> None:
    flight = Flight("assist")
    flight.pilot.delay(POD)
    for _ in range(10):
        flight.now += 20
        flight.pilot.other_seen(Activity.PROGRESS)
        assert flight.pilot.delay(POD) == GRACE
    flight.now += GRACE
    assert flight.pilot.delay(POD) == 0.0


def test_a_controller_that_only_flaps_is_waited_for_no_longer_and_still_there() -> None:
    flight = Flight("auto")
    flight.pilot.delay(POD)
    for _ in range(3):
        flight.now += GRACE / 3
        flight.pilot.other_seen(Activity.FLAPPING)
    assert flight.pilot.delay(POD) == 0.0
    flight.make_claims()
    flight.now += QUIET - 1
    flight.pilot.other_seen(Activity.FLAPPING)
    flight.now += 2
    assert not flight.pilot.tick()


def test_a_need_that_was_met_begins_anew_when_it_comes_back() -> None:
    flight = Flight("assist")
    flight.pilot.delay(POD)
    flight.now += GRACE
    flight.pilot.settled(POD)
    assert flight.pilot.delay(POD) == GRACE


def test_a_pod_that_comes_again_under_its_name_does_not_inherit_the_grace() -> None:
    flight = Flight("assist")
    flight.pilot.delay(POD, "uid-1")
    flight.now += GRACE
    assert flight.pilot.delay(POD, "uid-1") == 0.0
    assert flight.pilot.delay(POD, "uid-2") == GRACE


def test_a_new_leader_counts_the_grace_anew() -> None:
    flight = Flight("assist")
    flight.pilot.delay(POD, "uid-1")
    flight.now += GRACE
    flight.pilot.resume(None)
    assert flight.pilot.delay(POD, "uid-1") == GRACE


def test_auto_becomes_own_after_several_claims_and_silence_and_says_so() -> None:
    flight = Flight()
    flight.make_claims()
    flight.now += QUIET - 1
    assert not flight.pilot.tick()
    flight.now += 1
    assert flight.pilot.tick()
    assert (flight.pilot.mode, flight.kept) == (Mode.OWN, [Mode.OWN])
    assert flight.pilot.delay(POD) == 0.0


def test_auto_goes_back_to_assist_at_the_first_sign() -> None:
    flight = Flight()
    flight.become_own()
    flight.pilot.other_seen(Activity.PROGRESS)
    assert (flight.pilot.mode, flight.kept) == (Mode.ASSIST, [Mode.OWN, Mode.ASSIST])
    assert flight.pilot.delay(POD) == GRACE


@pytest.mark.parametrize("configured", ["own", "assist"])
def test_what_people_have_set_stays(configured: str) -> None:
    flight = Flight(configured)
    before = flight.pilot.mode
    flight.pilot.other_seen(Activity.PROGRESS)
    flight.make_claims()
    flight.now += QUIET * 10
    assert not flight.pilot.tick()
    flight.pilot.resume("own" if configured == "assist" else "assist")
    assert (flight.pilot.mode, flight.kept) == (before, [])


def test_a_new_leader_goes_on_in_the_mode_of_the_one_before() -> None:
    flight = Flight()
    flight.pilot.resume("own")
    assert flight.pilot.mode == "own"
    flight.now += QUIET * 10
    flight.pilot.tick()
    assert flight.pilot.mode == "own"
    flight.pilot.other_seen(Activity.PROGRESS)
    assert flight.pilot.mode == "assist"


@pytest.mark.parametrize("kept", [None, "", "off", "nonsense"])
def test_an_unusable_note_of_the_leader_before_means_doubt(kept: str | None) -> None:
    flight = Flight()
    flight.pilot.resume(kept)
    assert flight.pilot.mode is Mode.ASSIST


def test_own_does_not_come_back_without_new_evidence() -> None:
    flight = Flight()
    flight.become_own()
    flight.pilot.other_seen(Activity.PROGRESS)
    flight.now += QUIET * 10
    assert not flight.pilot.tick()
    flight.make_claims()
    assert flight.pilot.tick()

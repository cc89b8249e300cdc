"""The mode in force, and what is due in it, by a clock that the tests hold."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman.claims.mode import SEVERAL, Activity, Mode
from dragoman.controllers.claims.enqueue import ObjectKey
from dragoman.controllers.claims.mode import (
    CONFIGURED_ANNOTATION,
    MODE_ANNOTATION,
    ClaimMode,
    say_off,
)
from dragoman.metrics import REGISTRY

GRACE, QUIET = 30.0, 300.0
POD, OTHER = ObjectKey("pod", "ns", "pod"), ObjectKey("pod", "ns", "other")
ELSEWHERE = ObjectKey("pod", "elsewhere", "pod")
OLDER, SINCE, NEWER = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", "2026-01-01T00:06:00Z"


@dataclass
class Setup:
    """A claim mode, its clock, and the modes that it kept."""

    configured: str = "auto"
    now: float = 5000.0
    kept: list[Mode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mode = ClaimMode(
            self.configured,
            grace=GRACE,
            takeover_after=QUIET,
            keep=self.kept.append,
            clock=lambda: self.now,
        )

    def other_seen(
        self,
        namespace: str = "ns",
        created: str = OLDER,
        *,
        flapping: bool = False,
        namespaces: int = 1,
    ) -> None:
        self.mode.other_seen(Activity(namespace, created, flapping), namespaces=namespaces)

    def delay(self, key: ObjectKey = POD, uid: str = "uid", created: str = SINCE) -> float:
        return self.mode.delay(key, uid, created)

    def make_claims(self, count: int = SEVERAL) -> None:
        for _ in range(count):
            self.mode.made_claim()

    def become_own(self) -> None:
        self.make_claims()
        self.now += QUIET
        assert self.mode.tick()


@pytest.mark.parametrize(
    ("configured", "mode"), [("auto", Mode.ASSIST), ("assist", Mode.ASSIST), ("own", Mode.OWN)]
)
def test_each_setting_begins_in_its_mode(configured: str, mode: Mode) -> None:
    setup = Setup(configured)
    assert setup.mode.mode is mode
    for one in Mode:
        value = REGISTRY.get_sample_value("dragoman_claims_mode", {"mode": one.value})
        assert value == float(one is mode)


def test_own_acts_at_once() -> None:
    assert Setup("own").delay(POD) == 0.0


def test_in_assist_a_need_is_due_when_the_grace_has_passed_since_it_was_first_seen() -> None:
    setup = Setup("assist")
    assert setup.delay(POD) == GRACE
    setup.now += 29
    assert setup.delay(POD) == 1.0
    assert setup.delay(OTHER) == GRACE
    setup.now += 1
    assert setup.delay(POD) == 0.0


def test_a_controller_that_works_on_older_pods_may_only_be_slow() -> None:
    setup = Setup("assist")
    setup.delay()
    for _ in range(5):
        setup.now += 20
        setup.other_seen(created=OLDER)
        assert setup.delay() == GRACE
    setup.now += GRACE
    assert setup.delay() == 0.0


def test_a_controller_that_works_on_newer_pods_has_failed_the_older_ones() -> None:
    setup = Setup("assist")
    setup.delay()
    for _ in range(3):
        setup.now += GRACE / 3
        setup.other_seen(created=NEWER)
    assert setup.delay() == 0.0


def test_work_on_a_newer_pod_does_not_hide_later_work_on_an_older_one() -> None:
    setup = Setup("assist")
    setup.delay()
    setup.other_seen(created=OLDER)
    setup.now += 10
    setup.other_seen(created=NEWER)
    assert setup.delay() == GRACE - 10
    setup.other_seen(created=OLDER)
    assert setup.delay() == GRACE


@pytest.mark.hostile("forged objects")
def test_activity_in_another_namespace_excuses_nothing() -> None:
    setup = Setup("assist")
    setup.delay(ELSEWHERE)
    for _ in range(3):
        setup.now += GRACE / 3
        setup.other_seen(created=OLDER)
    assert setup.delay(ELSEWHERE) == 0.0
    assert setup.delay(POD) == GRACE


@pytest.mark.hostile("forged objects")
def test_a_need_waits_ten_graces_at_most_whatever_is_forged() -> None:
    setup = Setup("assist")
    setup.delay()
    for _ in range(100):
        setup.now += GRACE / 10
        setup.other_seen(created=OLDER)
    assert setup.delay() == 0.0


@pytest.mark.hostile("forged objects")
def test_forged_activity_in_one_of_several_namespaces_delays_no_other() -> None:
    setup = Setup("auto")
    setup.make_claims()
    for _ in range(150):
        setup.now += 2
        setup.other_seen(namespaces=2)
        setup.mode.tick()
    assert setup.mode.mode is Mode.OWN
    assert setup.delay(ELSEWHERE) == 0.0
    assert setup.delay(POD) == GRACE


def test_activity_in_several_namespaces_makes_auto_assist_everywhere() -> None:
    setup = Setup("auto")
    setup.become_own()
    for number in range(2):
        setup.other_seen(f"ns-{number}", namespaces=50)
        assert setup.mode.mode is Mode.OWN
    setup.other_seen("ns-2", namespaces=50)
    assert setup.mode.mode is Mode.ASSIST


def test_a_controller_that_only_flaps_is_waited_for_no_longer_and_still_there() -> None:
    setup = Setup("auto")
    setup.delay(POD)
    for _ in range(3):
        setup.now += GRACE / 3
        setup.other_seen(flapping=True)
    assert setup.delay(POD) == 0.0
    setup.make_claims()
    setup.now += QUIET - 1
    setup.other_seen(flapping=True)
    setup.now += 2
    assert not setup.mode.tick()


def test_a_need_that_was_met_begins_anew_when_it_comes_back() -> None:
    setup = Setup("assist")
    setup.delay(POD)
    setup.now += GRACE
    setup.mode.settled(POD)
    assert setup.delay(POD) == GRACE


def test_a_pod_that_comes_again_under_its_name_does_not_inherit_the_grace() -> None:
    setup = Setup("assist")
    setup.delay(POD, "uid-1")
    setup.now += GRACE
    assert setup.delay(POD, "uid-1") == 0.0
    assert setup.delay(POD, "uid-2") == GRACE


def test_a_new_leader_counts_the_grace_anew() -> None:
    setup = Setup("assist")
    setup.delay(POD, "uid-1")
    setup.now += GRACE
    setup.mode.resume(None)
    assert setup.delay(POD, "uid-1") == GRACE


def test_auto_becomes_own_after_several_claims_and_silence_and_says_so() -> None:
    setup = Setup()
    setup.make_claims()
    setup.now += QUIET - 1
    assert not setup.mode.tick()
    setup.now += 1
    assert setup.mode.tick()
    assert (setup.mode.mode, setup.kept) == (Mode.OWN, [Mode.OWN])
    assert setup.delay(POD) == 0.0


def test_auto_goes_back_to_assist_at_the_first_sign() -> None:
    setup = Setup()
    setup.become_own()
    setup.other_seen()
    assert (setup.mode.mode, setup.kept) == (Mode.ASSIST, [Mode.OWN, Mode.ASSIST])
    assert setup.delay(POD) == GRACE


@pytest.mark.parametrize("configured", ["own", "assist"])
def test_what_people_have_set_stays(configured: str) -> None:
    setup = Setup(configured)
    before = setup.mode.mode
    setup.other_seen()
    setup.make_claims()
    setup.now += QUIET * 10
    assert not setup.mode.tick()
    setup.mode.resume("own" if configured == "assist" else "assist")
    assert (setup.mode.mode, setup.kept) == (before, [before])


def test_a_new_leader_goes_on_in_the_mode_of_the_one_before() -> None:
    setup = Setup()
    setup.mode.resume("own")
    assert setup.mode.mode == "own"
    setup.now += QUIET * 10
    setup.mode.tick()
    assert setup.mode.mode == "own"
    setup.other_seen()
    assert setup.mode.mode == "assist"


@pytest.mark.parametrize("kept", [None, "", "off", "nonsense"])
def test_an_unusable_note_of_the_leader_before_means_doubt(kept: str | None) -> None:
    setup = Setup()
    setup.mode.resume(kept)
    assert setup.mode.mode is Mode.ASSIST


def test_own_does_not_come_back_without_new_evidence() -> None:
    setup = Setup()
    setup.become_own()
    setup.other_seen()
    setup.now += QUIET * 10
    assert not setup.mode.tick()
    setup.make_claims()
    assert setup.mode.tick()


def test_an_operator_without_claims_leaves_no_mode_to_a_later_one() -> None:
    notes: dict[str, str] = {}
    mode = Setup("own").mode
    assert mode.mode is Mode.OWN
    process: Any = SimpleNamespace(elector=SimpleNamespace(annotate=notes.__setitem__))
    say_off(process)
    assert notes == {MODE_ANNOTATION: "off", CONFIGURED_ANNOTATION: "off"}
    for one in Mode:
        assert REGISTRY.get_sample_value("dragoman_claims_mode", {"mode": one.value}) == 0

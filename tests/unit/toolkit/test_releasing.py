"""Which objects `undrain` and `untaint` delete, and which they name with their remedy."""

from dataclasses import replace

import pytest

from dragoman.maintenance.holds import Hold, HoldSelector, HoldTaint
from dragoman.maintenance.targets import Target
from dragoman_toolkit.releasing import Release, is_taint, release
from tests.unit.dragoman.maintenance.builders import A, B, held_claim, rule

WHOLE = rule(HoldSelector(A.driver, A.pool))
TAINT = replace(rule(), taint=HoldTaint("example.com/xid"), name="xid")


def of(*holds: Hold, devices: tuple = (A,), target: Target = Target(*A)) -> Release:  # type: ignore[type-arg]  # noqa: B008 — frozen
    return release(holds, (A, B), devices, [target])


def test_own_holds_of_the_device_are_deleted() -> None:
    assert of(rule(), held_claim(), rule(HoldSelector(*B))).deleted == (rule(), held_claim())


def test_a_hold_of_more_devices_is_kept_and_named() -> None:
    assert of(WHOLE).kept == ((WHOLE, f"kubectl dra undrain {A.driver}/n (all of its devices)"),)
    pool = of(WHOLE, devices=(A, B), target=Target(A.driver, A.pool))
    assert pool.deleted == (WHOLE,)


@pytest.mark.parametrize(
    ("hold", "remedy"),
    [
        (replace(rule(), maintenance="m"), "kubectl delete devicemaintenance m"),
        (TAINT, f"kubectl dra untaint {A} example.com/xid-"),
        (replace(TAINT, managed=False), "kubectl delete devicetaintrule xid"),
    ],
)
def test_what_others_made_is_kept_and_named(hold: Hold, remedy: str) -> None:
    assert of(hold) == Release((), ((hold, remedy),))


def test_marks_without_effect_are_not_named() -> None:
    mark = replace(TAINT, taint=HoldTaint("k", effect="None"))
    assert of(mark) == Release(())


def test_a_hold_of_a_device_that_is_not_published_is_found_by_name() -> None:
    found = release([rule()], (), (), [Target(*A)])
    assert found.deleted == (rule(),)


@pytest.mark.parametrize(
    ("key", "effect", "deleted"),
    [("", "", True), ("example.com/xid", "", True), ("other", "", False), ("", "NoExecute", False)],
)
def test_untaint_is_about_taints_of_a_key(key: str, effect: str, deleted: bool) -> None:
    found = release([TAINT, rule()], (A,), (A,), [Target(*A)], is_taint(key, effect))
    assert found.deleted == ((TAINT,) if deleted else ())
    assert (rule(), f"kubectl dra undrain {A}") in found.kept

"""Verdicts that are shipped: which image they are about, and what an unknown version says."""

import json

import pytest

from dragoman.doctor import verdicts
from dragoman.doctor.finding import Id
from dragoman_drivers.conformance import checks
from dragoman_toolkit.anonymous import vocabulary
from tests.support.worlds import inventory as builders
from tests.support.worlds.doctor import cases
from tests.unit.dragoman.doctor.test_examination import diagnosis

CASE = next(one for one in cases() if one.id is Id.DRIVER_NOT_CONFORMANT)
VERDICT = verdicts.DriverVerdict(
    "gpu.example.com",
    "v1",
    frozenset({"driver:v1"}),
    frozenset({"sha256:ab"}),
    (("I3", "one claim for a device"),),
)


@pytest.mark.parametrize(
    ("image", "known"),
    [
        ("registry.k8s.io/folder/driver:v1", True),
        ("driver:v1", True),
        ("registry:5000/driver@sha256:ab", True),
        ("driver:v1@sha256:ab", True),
        ("docker-pullable://registry/driver@sha256:ab", True),
        ("driver:v1@sha256:cd", True),
        ("driver:v2", False),
        ("other-driver:v1", False),
        ("driver", False),
        ("", False),
    ],
)
def test_a_version_is_known_by_tag_or_digest(image: str, *, known: bool) -> None:
    assert VERDICT.names(image) == known


def test_another_version_is_unknown_and_has_no_finding() -> None:
    assert diagnosis(builders.snapshot(*CASE.bad)).unknown == ()
    other = diagnosis(builders.snapshot(*CASE.good))
    assert other.unknown == ("gpu.example.com",)
    assert Id.DRIVER_NOT_CONFORMANT not in other.counts()


def test_shipped_verdicts_name_checks_of_the_kit_and_their_images_stay_in_snapshots() -> None:
    shipped = verdicts.shipped()
    assert {name for one in shipped for name in one.images} == vocabulary.IMAGES
    titles = {(one.id, one.title) for one in checks.table() if one.level == checks.MUST}
    assert {one for each in shipped for one in each.failed} <= titles


def test_shipped_verdicts_are_of_these_checks_and_the_pretended_driver_is_conformant() -> None:
    trees = [json.loads(path.read_text()) for path in verdicts.FOLDER.glob("*.json")]
    assert {one["checks"] for one in trees} == {checks.digest()}
    (own,) = (one for one in trees if one["driver"].startswith("pretend."))
    assert (own["verdict"], own["failed"], own["notRun"]) == (checks.CONFORMANT, [], [])


def test_the_finding_names_a_pod_that_runs_the_version() -> None:
    (found,) = (
        one
        for one in diagnosis(builders.snapshot(*CASE.bad)).findings
        if one.id is Id.DRIVER_NOT_CONFORMANT
    )
    plugin = next(one for one in CASE.bad if one["kind"] == "Pod")["metadata"]
    assert f"runs in {plugin['namespace']}/{plugin['name']}, and breaks" in found.message

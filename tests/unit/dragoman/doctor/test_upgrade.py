"""What an upgrade takes away from requests, drivers and flags."""

from dataclasses import replace
from typing import Any

import pytest

from dragoman.allocation import profile
from dragoman.doctor.doctorfacts import DoctorFacts, Requested, Upgrade
from dragoman.doctor.examination import examine
from dragoman.doctor.finding import UPGRADE, Finding, Id
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman_base.versions import Version
from tests.support.manifests import Json
from tests.support.worlds import inventory as builders
from tests.support.worlds.doctor import World

WORLD = World("w")


def written(*entries: tuple[str, str]) -> Json:
    """Return a slice that was last written in some versions, at some hours."""
    made = WORLD.slice()
    made["metadata"]["managedFields"] = [
        {"manager": "driver", "apiVersion": f"resource.k8s.io/{version}", "time": hour}
        for version, hour in ((one, f"2026-11-01T{at}:00:00Z") for one, at in entries)
    ]
    return made


def facts(*objects: Json, target: Version = (1, 38), **more: Any) -> DoctorFacts:
    snapshot = builders.snapshot(WORLD.node(), *objects)
    inventory = take(parse(snapshot), profile("1.36"))
    return DoctorFacts(snapshot, inventory, upgrade=Upgrade(target, **more))


def found(given: DoctorFacts, key: Id) -> list[Finding]:
    return [one for one in examine(given, UPGRADE).findings if one.id is key]


def test_a_driver_that_writes_v1beta1_is_named() -> None:
    (one,) = found(facts(written(("v1beta1", "10"))), Id.DRIVER_OUTDATED)
    assert one.subject.text == f"{WORLD.driver} v1beta1"
    assert "Kubernetes 1.38 does not serve" in one.message
    assert one.severity == "error"


@pytest.mark.parametrize(
    ("target", "version", "severity"),
    [((1, 37), "v1beta1", "warning"), ((1, 38), "v1beta2", "warning")],
)
def test_what_a_later_version_removes_is_a_warning(
    target: Version, version: str, severity: str
) -> None:
    (one,) = found(facts(written((version, "10")), target=target), Id.DRIVER_OUTDATED)
    assert one.severity == severity


def test_a_driver_that_writes_v1_now_is_not_named() -> None:
    for hour in ("10", "11"):
        assert not found(facts(written(("v1beta1", "10"), ("v1", hour))), Id.DRIVER_OUTDATED)
    assert found(facts(written(("v1", "10"), ("v1beta1", "11"))), Id.DRIVER_OUTDATED)


def test_names_with_the_drivers_domain_are_named_from_1_38_on() -> None:
    name = f"{WORLD.driver}/model"
    device = {"name": "d0", "attributes": {name: {"string": "a"}}}
    bad = WORLD.slice([device])
    (one,) = found(facts(bad), Id.DRIVER_OUTDATED)
    assert one.subject.text == f"{WORLD.driver} {name}"
    assert not found(facts(bad, target=(1, 37)), Id.DRIVER_OUTDATED)


def test_requests_of_removed_versions_are_named_with_their_clients() -> None:
    asked = (
        Requested("v1beta1", "resourceclaims", ("a", "b", "c", "d")),
        Requested("v1beta2", "resourceslices"),
        Requested("v1", "resourceslices"),
    )
    first, second = found(facts(requested=asked), Id.API_REMOVED)
    assert (first.severity, second.severity) == ("error", "warning")
    assert "asked for by a" in first.message
    assert "since the API server started" in second.message
    assert "--audit-log" in second.remedy


@pytest.mark.parametrize(
    ("target", "gates"),
    [
        ((1, 37), {"SidecarContainers": "error", "DynamicResourceAllocation": "warning"}),
        ((1, 38), {"SidecarContainers": "error", "DynamicResourceAllocation": "error"}),
    ],
)
def test_gates_that_the_target_does_not_know(target: Version, gates: dict[str, str]) -> None:
    seen = {"kube-system/kube-apiserver-1": (*gates, "DRAAdminAccess", "KubeletPodResourcesGet")}
    findings = found(facts(gates=seen, target=target), Id.GATE_REMOVED)
    assert {one.subject.text.split()[1]: str(one.severity) for one in findings} == gates


def test_what_could_not_be_read_is_said_of_the_rule() -> None:
    given = facts(unread={Id.API_REMOVED: ("metrics of the API server",)})
    assert examine(given).partial[Id.API_REMOVED] == ("metrics of the API server",)
    assert Id.API_REMOVED not in examine(given, [Id.GATE_REMOVED]).partial


def test_without_a_target_nothing_is_judged() -> None:
    given = replace(facts(written(("v1beta1", "10"))), upgrade=None)
    assert not examine(given, UPGRADE).findings


def test_the_remedy_says_how_the_finding_ends() -> None:
    """An upgraded driver leaves slices alone that it need not change: they keep their version."""
    (one,) = found(facts(written(("v1beta1", "10"))), Id.DRIVER_OUTDATED)
    assert "last written in resource.k8s.io/v1beta1" in one.message
    assert "delete them" in one.remedy
    assert "metadata.managedFields" in one.remedy


def test_slices_that_do_not_say_their_version_are_not_clean() -> None:
    given = facts(WORLD.slice())
    assert examine(given, UPGRADE).partial.keys() == {Id.DRIVER_OUTDATED}
    assert not examine(facts(written(("v1", "10"))), UPGRADE).partial

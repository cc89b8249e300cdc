"""Each finding in a world that has it, and not in the nearest one that has not."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from dragoman.allocation import DeviceID, profile
from dragoman.doctor.doctorfacts import DoctorFacts, Thresholds
from dragoman.doctor.examination import OVER_TIME, RULES, Diagnosis, examine
from dragoman.doctor.finding import SEVERITIES, UPGRADE, Finding, Id, Severity
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.snapshot import Snapshot, Unseen
from dragoman.preemption.reservation import rule_manifest
from tests.support import manifests as objects
from tests.support.manifests import Json
from tests.support.worlds import inventory as builders
from tests.support.worlds.doctor import Case, World, cases

CASES = cases()


def diagnosis(snapshot: Snapshot, thresholds: Thresholds | None = None) -> Diagnosis:
    """Examine a snapshot."""
    inventory = take(parse(snapshot), profile("1.36"))
    return examine(DoctorFacts(snapshot, inventory, thresholds or Thresholds(settle=60, idle=60)))


def found(*manifests: Mapping[str, Any], **more: Any) -> tuple[Finding, ...]:
    """Return the findings of manifests that are an hour old."""
    ready = [
        {**one, "metadata": {**one["metadata"], "uid": uid}} if (uid := _uid(one)) else one
        for one in manifests
    ]
    return diagnosis(builders.snapshot(*ready), **more).findings


def _uid(manifest: Mapping[str, Any]) -> str:
    if manifest["kind"] != "Pod":
        return ""
    return f"uid-of-{manifest['metadata']['namespace']}-{manifest['metadata']['name']}"


def ids(findings: Iterable[Finding]) -> list[Id]:
    return [one.id for one in findings]


def test_every_finding_has_a_severity_a_rule_and_worlds() -> None:
    assert set(SEVERITIES) == set(RULES) == set(Id)
    tried = {Id.DRIVER_RIGHTS, Id.POD_NEVER_FITS, Id.POD_REJECTED}
    tried |= {Id.QUEUE_REFUSES, Id.QUEUE_DIFFERS, Id.SHAPE_DIFFERS}
    assert set(Id) - {case.id for case in CASES} == {*OVER_TIME, *UPGRADE, *tried}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_world_has_its_finding(case: Case) -> None:
    findings = [one for one in found(*case.bad) if one.id is case.id]
    assert [one.subject.text for one in findings] == [case.about]
    assert findings[0].message
    assert findings[0].remedy


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_nearest_world_has_nothing(case: Case) -> None:
    # Maintenance, a deletion that waits for a pod, and admin access to idle devices are in order.
    assert ids(found(*case.good)) == []


@pytest.mark.parametrize(
    "key", [Id.POOL_INCOMPLETE, Id.CLAIM_IDLE, Id.CLAIM_UNOWNED, Id.FINALIZER_STUCK]
)
def test_what_is_young_is_not_reported(key: Id) -> None:
    [case] = [one for one in CASES if one.id is key]
    assert key in ids(found(*case.bad))
    patient = Thresholds(settle=24 * 3600, idle=24 * 3600)
    assert key not in ids(found(*case.bad, thresholds=patient))


def test_errors_come_first() -> None:
    world = World("w")
    findings = found(
        *world.base(world.claim("claim", "gone"), world.claim("a-idle", "d0", users=[]))
    )
    assert ids(findings) == [Id.DEVICE_LOST, Id.CLAIM_IDLE, Id.CLAIM_IDLE]
    assert next(one.severity for one in findings) is Severity.ERROR


def test_a_device_of_a_pool_that_is_being_published_is_not_lost() -> None:
    world = World("w")
    claim = world.claim("claim", "d9", users=["pod"])
    pods = (world.pod(claims={"gpu": "claim"}),)
    partly = (world.node(), world.slice(resourceSliceCount=2), world.device_class())
    assert Id.DEVICE_LOST not in ids(found(*partly, claim, *pods))
    assert Id.DEVICE_LOST in ids(found(*world.base(claim, *pods)))


def test_a_claim_without_owner_is_to_be_adopted_by_the_pod_that_uses_it() -> None:
    [case] = [one for one in CASES if one.id is Id.CLAIM_UNOWNED]
    [finding] = found(*case.bad)
    assert "kubectl dra adopt " in finding.remedy
    unused = [one for one in case.bad if one["kind"] != "Pod"]
    [finding] = [one for one in found(*unused) if one.id is Id.CLAIM_UNOWNED]
    assert finding.remedy.startswith("kubectl delete resourceclaim ")


def test_a_claim_of_a_pod_that_has_ended_is_unowned() -> None:
    world = World("w")
    claim = world.owned(world.claim("claim", "d0", users=["pod"]), "pod")
    [finding] = found(*world.base(claim))
    assert finding.id is Id.CLAIM_UNOWNED
    assert finding.remedy == "kubectl delete resourceclaim -n w claim"


def test_drift_names_the_field() -> None:
    [case] = [one for one in CASES if one.id is Id.TEMPLATE_DRIFT]
    [finding] = found(*case.bad)
    assert "spec.devices.requests[0].exactly.count" in finding.message


@pytest.mark.parametrize("gone", ["plugin", "node", "kubelet"])
def test_a_driver_is_silent_without_its_pod_its_node_or_its_kubelet(gone: str) -> None:
    world = World("w")
    node = world.node(1)
    if gone == "kubelet":
        node["status"]["conditions"] = [
            {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-11-22T11:00:00Z"}
        ]
    manifests = [world.node(0), world.slice(index=0), world.slice(index=1), world.plugin(0)]
    manifests += [] if gone == "node" else [node]
    manifests += [] if gone == "plugin" else [world.plugin(1)]
    [finding] = found(*manifests)
    assert finding.id is Id.DRIVER_SILENT
    assert finding.subject.text == f"{world.driver} on w-n1"
    assert {"plugin": "no plugin pod", "node": "does not exist", "kubelet": "kubelet of w-n1"}[
        gone
    ] in finding.message


def test_other_kubelet_plugins_do_not_stand_for_a_driver() -> None:
    """A storage plugin on every node says nothing about a driver that runs without pods."""
    world = World("w")
    other = world.plugin(0)
    other["spec"]["volumes"].pop()  # the folder of the driver's name
    both = [world.node(0), world.node(1), world.slice(index=0)]
    assert found(*both, other, {**other, "metadata": {**other["metadata"], "name": "x"}}) == ()


def test_the_driver_of_a_vendor_and_its_device_plugin_book_twice() -> None:
    node = objects.node("n")
    node["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    pool = builders.pool("n", 8, driver="gpu.nvidia.com")
    [finding] = found(node, pool)
    assert finding.id is Id.DOUBLE_BOOKED
    assert "publishes 8 nvidia.com/gpu, DRA publishes gpu.nvidia.com 8" in finding.message


def test_rules_name_what_they_could_not_see() -> None:
    whole = builders.snapshot()
    objects = {key: value for key, value in whole.objects.items() if key != "nodes"}
    some = Snapshot(whole.taken, whole.kubernetes, objects, (Unseen("pods", "forbidden", "ns"),))
    partial = diagnosis(some).partial
    assert partial[Id.DOUBLE_BOOKED] == ("nodes",)
    assert partial[Id.DRIVER_SILENT] == ("nodes", "pods")
    assert Id.POOL_INVALID not in partial
    assert diagnosis(whole).partial == {}


def test_claims_of_unseen_pods_are_not_called_unowned() -> None:
    world = World("w")
    whole = builders.snapshot(*world.base(world.owned(world.claim("claim", "d0"), "pod")))
    some = Snapshot(
        whole.taken, whole.kubernetes, whole.objects, (Unseen("pods", "forbidden", "other"),)
    )
    assert Id.CLAIM_UNOWNED in ids(diagnosis(whole).findings)
    assert Id.CLAIM_UNOWNED not in ids(diagnosis(some).findings)


def test_a_rule_of_a_drain_that_taints_nothing_is_stale() -> None:
    world = World("w")
    rule: Json = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "dragoman-d9-7h2kq"},
        "spec": {
            "deviceSelector": {"driver": world.driver, "pool": "w-n0", "device": "d9"},
            "taint": {"key": "dragoman.dev/drain", "effect": "NoSchedule"},
        },
    }
    [finding] = found(*world.base(rule))
    assert finding.id is Id.HOLD_STALE
    assert finding.subject.kind == "DeviceTaintRule"
    assert finding.message == f"taints {world.driver}/w-n0/d9: in no slice"
    rule["spec"]["deviceSelector"]["device"] = "d1"
    assert found(*world.base(rule)) == ()
    foreign = {**rule, "metadata": {"name": "of-an-admin"}}
    foreign["spec"]["deviceSelector"]["device"] = "d9"
    assert found(*world.base(foreign)) == ()
    del rule["spec"]["deviceSelector"]  # which taints every device, on Kubernetes 1.36
    assert Id.HOLD_STALE not in ids(found(*world.base(rule)))


def test_a_reservation_whose_pod_does_not_wait_any_more_is_stale() -> None:
    """As where mode on of preemption was ended while devices were reserved."""
    world = World("w")
    waits = world.pod("train", nodeName=None)
    waits["status"] = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
    uid = f"uid-of-{world.name}-train"
    rule = rule_manifest("resource.k8s.io/v1beta2", DeviceID(world.driver, "w-n0", "d1"), uid)
    assert found(*world.base(rule, waits)) == ()
    for left in ((), (world.pod("train"),)):
        [finding] = found(*world.base(rule, *left))
        assert finding.id is Id.HOLD_STALE
        assert finding.message.endswith("d1: reserved for a pod that does not wait any more")
        assert finding.remedy == f"kubectl delete devicetaintrule {rule['metadata']['name']}"
    assert found(*world.base(rule), thresholds=Thresholds(settle=24 * 3600)) == ()
    some = builders.snapshot(*world.base(rule))
    unseen = replace(some, unseen=(Unseen("pods", "forbidden", "other"),))
    assert Id.HOLD_STALE not in ids(diagnosis(unseen).findings)


def test_maintenance_for_a_week_is_stale() -> None:
    world = World("w")
    manifests = world.base(world.claim("dragoman-hold-x", "d0"))
    assert found(*manifests) == ()
    [finding] = found(*manifests, thresholds=Thresholds(held=1800))
    assert finding.id is Id.HOLD_STALE


def test_a_stale_hold_of_a_maintenance_ends_with_it() -> None:
    world = World("w")
    hold = world.claim("dragoman-hold-x", "gone")
    hold["metadata"]["labels"] = {"dragoman.dev/maintenance": "gpu-swap"}
    [finding] = found(*world.base(hold))
    assert finding.remedy == "kubectl delete devicemaintenance gpu-swap"


def test_near_names_are_those_of_explain() -> None:
    by_id = {case.id: case for case in CASES}
    for key, near in (
        (Id.CLASS_FAILS, "write modelName in spec.selectors"),
        (Id.CLASS_EMPTY, "write gpu."),
        (Id.REFERENCE_MISSING, "did you mean h100-pair?"),
    ):
        (finding,) = [one for one in found(*by_id[key].bad) if one.id is key]
        assert finding.remedy.startswith(near)


def test_a_class_without_devices_matters_where_a_pod_waits_for_it() -> None:
    world = World("w")
    selectors = [{"cel": {"expression": f'device.driver == "{world.driver}" && false'}}]
    empty = (world.node(), world.slice(), world.device_class(selectors=selectors))
    assert Id.CLASS_EMPTY not in ids(found(*empty))
    waits = world.pod(nodeName="", claims={"gpu": "claim"})
    waits["status"] = {"phase": "Pending"}
    (finding,) = [one for one in found(*empty, waits, world.claim()) if one.id is Id.CLASS_EMPTY]
    assert finding.severity is Severity.WARNING
    assert finding.message == "selects no device; 1 pod waits for it"

"""What `release` and `adopt` write, and when they write nothing."""

import copy
from typing import Any

import pytest

from dragoman_toolkit.doctor.repairs import RepairRefusal, Write, plan_adoption, plan_release
from tests.support.manifests import Json
from tests.support.worlds.doctor import OLD, PROTECTION, World

WORLD = World("w")


def stored(manifest: Json, **meta: Any) -> Json:
    """Return a manifest as the API server has it."""
    made = copy.deepcopy(manifest)
    uid = f"uid-of-w-{made['metadata']['name']}"
    made["metadata"] |= {"uid": uid, "resourceVersion": "7", **meta}
    return made


POD = stored(WORLD.pod(claims={"gpu": "claim"}))
CLAIM = stored(WORLD.claim("claim", "d0", "d1", users=["pod"]))
IDLE = stored(WORLD.claim("claim", "d0", "d1"))
PRECONDITION = {"uid": "uid-of-w-claim", "resourceVersion": "7"}


def done(pod: Json) -> Json:
    return {**pod, "status": {"phase": "Succeeded"}}


@pytest.mark.parametrize(
    ("claim", "pods"),
    [(IDLE, []), (CLAIM, []), (CLAIM, [done(POD)]), (IDLE, [done(POD)])],
    ids=["idle", "pod deleted", "pod ended", "pod ended, not reserved"],
)
def test_a_claim_that_no_pod_uses_is_released(claim: Json, pods: list[Json]) -> None:
    plan = plan_release(claim, pods)
    assert isinstance(plan, Write)
    assert plan.subresource == "status"
    assert plan.patch == {
        "metadata": PRECONDITION,
        "status": {"allocation": None, "reservedFor": None},
    }
    assert plan.done == "released 2 devices of claim w/claim"


@pytest.mark.parametrize(
    ("claim", "pods", "why"),
    [
        (CLAIM, [POD], "reserved for pod pod"),
        (IDLE, [POD], "pod pod on node w-n0 uses claim"),
        (stored(WORLD.claim("dragoman-hold-x", "d0")), [], "out of service"),
    ],
    ids=["reserved", "running without a reservation", "hold"],
)
def test_a_claim_in_use_stays(claim: Json, pods: list[Json], why: str) -> None:
    plan = plan_release(claim, pods)
    assert isinstance(plan, RepairRefusal)
    assert not plan.settled
    assert why in plan.reason


def test_consumers_that_are_not_pods_are_left_alone() -> None:
    claim = copy.deepcopy(CLAIM)
    claim["status"]["reservedFor"] = [
        {"apiGroup": "example.com", "resource": "jobs", "name": "j", "uid": "u"}
    ]
    plan = plan_release(claim, [])
    assert isinstance(plan, RepairRefusal)
    assert "reserved for jobs j" in plan.reason


def test_a_pending_pod_does_not_keep_devices() -> None:
    pending = copy.deepcopy(POD)
    del pending["spec"]["nodeName"]
    assert isinstance(plan_release(IDLE, [pending]), Write)


def test_a_claim_without_devices_is_settled_or_loses_the_finalizer() -> None:
    empty = stored(WORLD.claim(finalizers=[PROTECTION, "example.com/own"]))
    plan = plan_release(empty, [])
    assert isinstance(plan, RepairRefusal)
    assert plan.settled
    plan = plan_release(stored(empty, deletionTimestamp=OLD), [])
    assert isinstance(plan, Write)
    assert plan.subresource == ""
    assert plan.patch["metadata"] == {**PRECONDITION, "finalizers": ["example.com/own"]}


def ownerless() -> Json:
    made = copy.deepcopy(CLAIM)
    made["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    return made


USER = stored(WORLD.pod(templates={"gpu": "template"}, published={"gpu": "claim"}))


def test_the_pod_that_names_a_claim_adopts_it() -> None:
    claim = ownerless()
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"}
    claim["metadata"]["ownerReferences"] = [other]
    plan = plan_adoption(claim, [USER])
    assert isinstance(plan, Write)
    assert plan.subresource == ""
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "pod",
        "uid": "uid-of-w-pod",
        "controller": True,
    }
    assert plan.patch == {"metadata": {**PRECONDITION, "ownerReferences": [other, owner]}}


def test_the_scheduler_s_claim_goes_to_the_pod_with_the_extended_resource() -> None:
    claim = copy.deepcopy(CLAIM)
    claim["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    pod = stored(WORLD.pod())
    pod["status"]["extendedResourceClaimStatus"] = {
        "resourceClaimName": "claim",
        "requestMappings": [],
    }
    assert isinstance(plan_adoption(claim, [pod]), Write)


@pytest.mark.parametrize(
    ("claim", "pods", "settled", "why"),
    [
        (stored(WORLD.owned(CLAIM, "pod")), [USER], True, "Pod pod owns claim"),
        (CLAIM, [USER], True, "made by a user"),
        (ownerless(), [], False, "no pod names claim"),
        (ownerless(), [done(USER)], False, "no pod names claim"),
        (
            ownerless(),
            [USER, {**USER, "metadata": {**USER["metadata"], "name": "b", "uid": "b"}}],
            False,
            "several pods",
        ),
    ],
    ids=["owned", "user's", "no pod", "pod ended", "two pods"],
)
def test_no_other_claim_is_adopted(claim: Json, pods: list[Json], settled: bool, why: str) -> None:
    plan = plan_adoption(claim, pods)
    assert isinstance(plan, RepairRefusal)
    assert plan.settled is settled
    assert why in plan.reason

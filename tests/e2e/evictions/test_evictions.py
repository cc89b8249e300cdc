"""Who is evicted and when: the stock controller and dragoman in the same cases."""

import time
from collections.abc import Callable

import pytest

from tests.e2e.evictions.conftest import only_ours
from tests.e2e.evictions.harness import EVICTED, KEPT, MARK, STAYED, Devices, Evictor, stamp, taint
from tests.e2e.versions import HAS_POD_GROUPS, NO_POD_GROUPS, POD_GROUPS
from tests.support.controlplane.api import Json, wait_for

BROKEN: Json = {"name": "gpu-0", "taints": [taint()]}
EXISTS = {"operator": "Exists", "effect": "NoExecute"}
IN_TIME = 8
"""Seconds in which a controller on a busy machine sees that a taint is gone."""


def stays(devices: Devices) -> bool:
    """Whether pod `a` stays while one whose claim tolerates nothing is evicted."""
    devices.pod("tolerates-nothing")
    devices.evicted("tolerates-nothing")
    time.sleep(KEPT)
    return not devices.is_evicted("a")


def evicts(devices: Devices, timeout: float = STAYED) -> bool:
    """Whether pod `a` is evicted within the time that an eviction takes."""
    try:
        devices.evicted(timeout=timeout)
    except TimeoutError:
        return False
    return True


# Taints ---------------------------------------------------------------------------------------


def test_a_taint_of_the_driver_evicts_with_the_mark_and_the_event(devices: Devices) -> None:
    devices.publish()
    devices.pod()
    devices.kept(seconds=0.5)
    devices.publish(BROKEN)
    devices.evicted()
    pod = devices.api.get("pods", "a", devices.namespace)
    marks = [one for one in pod["status"]["conditions"] if one["type"] == MARK["type"]]
    assert [MARK.items() <= one.items() for one in marks] == [True]
    wait_for(lambda: devices.events("a"), 30, "the Event")
    assert devices.events("a") == ["Marking for deletion"]


def test_a_taint_that_goes_in_time_evicts_nobody(devices: Devices) -> None:
    devices.publish()
    devices.pod("a", devices.result("gpu-0", {**EXISTS, "tolerationSeconds": IN_TIME}))
    devices.publish(BROKEN)
    devices.seen()
    devices.publish({"name": "gpu-0", "taints": [taint("minor", "NoSchedule")]})
    wait_for(lambda: devices.events("a"), IN_TIME, "the Event")
    devices.kept(seconds=IN_TIME)
    assert devices.events("a") == ["Cancelling deletion"]


def test_a_key_that_is_not_tolerated_any_more_evicts(devices: Devices) -> None:
    devices.publish(BROKEN)
    devices.pod("a", devices.result("gpu-0", {**EXISTS, "key": "broken"}))
    devices.kept()
    devices.publish({"name": "gpu-0", "taints": [taint("worse")]})
    devices.evicted()


def test_a_higher_generation_takes_the_taint_away(devices: Devices) -> None:
    devices.publish(BROKEN)
    devices.publish("gpu-0", name="newer", generation=2)
    devices.seen()
    devices.pod()
    devices.kept()
    devices.withdraw("newer")
    devices.evicted()


CHANGES: dict[str, Callable[[Devices], object]] = {
    "created": lambda devices: devices.rule(),
    "effect": lambda devices: (devices.rule("None"), devices.rule("NoExecute")),
    "selector": lambda devices: (devices.rule(device="gpu-9"), devices.rule(device="gpu-0")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_rule_evicts(devices: Devices, change: str) -> None:
    devices.publish("gpu-0", "gpu-1")
    devices.pod()
    CHANGES[change](devices)
    devices.evicted()


def test_a_rule_that_goes_in_time_evicts_nobody(devices: Devices) -> None:
    devices.pod("a", devices.result("gpu-0", {**EXISTS, "tolerationSeconds": IN_TIME}))
    devices.seen()
    devices.rule()
    devices.condition_with(reason="PodsPendingEviction")
    devices.remove_rule()
    devices.kept(seconds=IN_TIME)


def test_a_rule_evicts_from_devices_that_are_gone(devices: Devices) -> None:
    devices.publish()
    devices.pod()
    devices.withdraw()
    devices.rule(pool=devices.pool, device="gpu-0")
    devices.evicted()


# Times ----------------------------------------------------------------------------------------


def seconds(*limits: int | None) -> list[Json]:
    """Return tolerations with these tolerationSeconds; None for no limit."""
    return [EXISTS if one is None else {**EXISTS, "tolerationSeconds": one} for one in limits]


def test_tolerations_delay_from_the_time_of_the_taint(devices: Devices) -> None:
    devices.publish("gpu-0", "gpu-1")
    for name, limits in {"soon": (4,), "first": (60, 4), "never": (None, 4)}.items():
        devices.pod(name, devices.result("gpu-0", *seconds(*limits)))
    devices.pod("later", devices.result("gpu-0", *seconds(60)))
    before = time.time()
    devices.publish({"name": "gpu-0", "taints": [taint(timeAdded=stamp())]}, "gpu-1")
    devices.evicted("soon", "first", timeout=4 + EVICTED)
    # Times of taints have a resolution of one second.
    assert time.time() - before > 4 - 1.1
    devices.kept("never", "later", seconds=0.5)


def test_one_of_two_taints_and_one_of_two_claims_suffice(devices: Devices) -> None:
    devices.publish({"name": "gpu-0", "taints": [taint(), taint("worse")]}, "gpu-1")
    devices.pod("taints", devices.result("gpu-0", {**EXISTS, "key": "broken"}))
    devices.evicted("taints")
    devices.claim("healthy", devices.result("gpu-1"))
    devices.claim("broken", devices.result("gpu-0"))
    entries = [{"name": one, "resourceClaimName": one} for one in ("healthy", "broken")]
    pod = devices.bare_pod(
        "claims", "healthy", resourceClaims=entries, containers=[{"name": "main", "image": "pause"}]
    )
    devices.reserve("healthy", pod)
    devices.kept("claims", seconds=0.5)
    devices.reserve("broken", pod)
    devices.evicted("claims")


def test_a_toleration_without_effect_is_honoured(devices: Devices, evictor: Evictor) -> None:
    """The stock controller evicts: it compares the effect as text."""
    devices.publish(BROKEN)
    devices.pod("a", devices.result("gpu-0", {"operator": "Exists"}))
    only_ours(evictor, passed=stays(devices))


def test_many_seconds_do_not_overflow(devices: Devices, evictor: Evictor) -> None:
    devices.publish(BROKEN)
    devices.pod("a", devices.result("gpu-0", *seconds(10**10)))
    only_ours(evictor, passed=stays(devices))


# Pods -----------------------------------------------------------------------------------------


def test_pods_that_do_not_use_the_claim_stay(devices: Devices) -> None:
    devices.publish(BROKEN)
    devices.pod("unscheduled", nodeName="")
    devices.claim("other-uid")
    made = devices.bare_pod("other-uid", "other-uid")
    devices.reserve("other-uid", {"metadata": {**made["metadata"], "uid": "gone"}})
    devices.kept("unscheduled", "other-uid")


def test_a_pod_whose_status_names_the_claim_of_another_stays(
    devices: Devices, evictor: Evictor
) -> None:
    if evictor == "stock":
        pytest.skip("it ends kube-controller-manager 1.36, which dereferences a nil pointer")
    devices.publish(BROKEN)
    owner = devices.bare_pod("owner", "none")
    generated(devices, "foreign", owner, pod="foreign")
    devices.kept("foreign")


def generated(devices: Devices, claim: str, owner: Json, pod: str) -> None:
    """Create a pod whose status names a claim that was generated for `owner`."""
    reference = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
    }
    devices.claim(claim, ownerReferences=[reference])
    entries = [{"name": "a", "resourceClaimTemplateName": "template"}]
    made = devices.bare_pod(pod, "unused", resourceClaims=entries)
    status = {"resourceClaimStatuses": [{"name": "a", "resourceClaimName": claim}]}
    where = ("pods", pod, devices.namespace)
    devices.api.patch(*where, {"status": status}, subresource="status")
    devices.reserve(claim, made)


def test_all_pods_of_a_shared_claim_are_evicted(devices: Devices) -> None:
    devices.publish()
    devices.claim("shared")
    pods = [devices.bare_pod(name, "shared") for name in "abc"]
    devices.reserve("shared", *pods[:2])
    devices.publish(BROKEN)
    devices.evicted("a", "b")
    devices.kept("c", seconds=0.5)
    devices.reserve("shared", *pods)
    devices.evicted("c")


@pytest.mark.skipif(not HAS_POD_GROUPS, reason=NO_POD_GROUPS)
def test_the_pods_of_a_group_that_holds_the_claim_are_evicted(devices: Devices) -> None:
    """A claim of a PodGroup is reserved for the group, not for its pods (KEP-5729)."""
    devices.publish()
    metadata = {"name": "group", "namespace": devices.namespace}
    spec: Json = {"schedulingPolicy": {"basic": {}}}
    manifest = {"apiVersion": POD_GROUPS, "kind": "PodGroup", "metadata": metadata, "spec": spec}
    group = devices.api.create(manifest)
    devices.claim("shared")
    for name in "ab":
        devices.bare_pod(name, "shared", schedulingGroup={"podGroupName": "group"})
    devices.bare_pod("stranger", "shared")
    consumer = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group"}
    body = {"status": {"reservedFor": [{**consumer, "uid": group["metadata"]["uid"]}]}}
    where = ("resourceclaims", "shared", devices.namespace)
    devices.api.patch(*where, body, subresource="status")
    devices.publish(BROKEN)
    devices.evicted("a", "b")
    devices.kept("stranger", seconds=0.5)


def test_a_pod_with_admin_access_is_no_exception(devices: Devices) -> None:
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    devices.api.patch("namespaces", devices.namespace, None, label)
    devices.publish(BROKEN)
    devices.pod("a", devices.result("gpu-0", adminAccess=True))
    devices.evicted()


def test_a_pod_with_extended_resources_is_evicted(devices: Devices, evictor: Evictor) -> None:
    """The stock controller forgets it: kubernetes/kubernetes#141290."""
    devices.publish(BROKEN)
    devices.extended_pod()
    only_ours(evictor, passed=evicts(devices, EVICTED if evictor == "own" else STAYED))


def test_a_finished_pod_is_not_deleted(devices: Devices, evictor: Evictor) -> None:
    """The stock controller deletes it, and its logs, while its reservation lasts."""
    devices.publish()
    devices.pod()
    body = {"status": {"phase": "Succeeded"}}
    devices.api.patch("pods", "a", devices.namespace, body, subresource="status")
    devices.seen()
    devices.publish(BROKEN)
    only_ours(evictor, passed=stays(devices))

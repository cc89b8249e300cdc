"""Devices come back when nobody uses them, with as few writes as the API allows."""

from functools import partial

import pytest

from tests.e2e.scene import PROTECTION, Scene
from tests.support.controlplane.api import wait_for

RELEASE = {
    "patch resourceclaims/status": 1,
    "delete resourceclaims": 1,
    "patch resourceclaims": 1,
}
FREE = {"patch resourceclaims/status": 1, "patch resourceclaims": 1}


def scheduled(scene: Scene, claim: str, *pods: str) -> None:
    """Wait until the scheduler has reserved the claim for the pods and bound them to nodes."""
    scene.reserved(claim, *pods)
    for pod in pods:
        placed = partial(scene.node_of, pod)
        wait_for(placed, message=f"pod {pod} to be scheduled")


def running_pod(scene: Scene, name: str = "pod") -> str:
    """Apply a pod with a template claim and let it have a device; returns the claim's name."""
    scene.apply(scene.template(device_class=scene.devices()), scene.pod(name))
    claim = scene.published(name)["a"]
    scheduled(scene, claim, name)
    scene.forget()
    return claim


def shared_claim(scene: Scene, *pods: str) -> None:
    """Apply a claim named `shared` that these pods use, and let them have it."""
    scene.apply(
        scene.claim("shared", scene.devices()),
        *(scene.pod(name, claims={"a": "shared"}) for name in pods),
    )
    scheduled(scene, "shared", *pods)
    scene.forget()


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_an_allocated_claim_of_a_finished_pod_goes_with_three_writes(
    scene: Scene, phase: str
) -> None:
    claim = running_pod(scene)
    scene.finish("pod", phase=phase)
    scene.gone(claim)
    assert scene.writes() == RELEASE


def test_a_claim_that_was_never_allocated_goes_with_one_delete(scene: Scene) -> None:
    scene.apply(scene.template(), scene.pod())
    claim = scene.published()["a"]
    scene.forget()
    scene.finish("pod", phase="Failed")
    scene.gone(claim)
    assert scene.writes() == {"delete resourceclaims": 1}


def test_all_claims_of_a_finished_pod_go(scene: Scene) -> None:
    scene.apply(
        scene.template("free"),
        scene.template("busy", scene.devices(2)),
        scene.pod("both", templates={"a": "busy", "b": "busy"}),
        scene.pod("none", templates={"a": "free", "b": "free", "c": "free"}),
    )
    both = scene.published("both", ["a", "b"])
    none = scene.published("none", ["a", "b", "c"])
    for claim in both.values():
        scheduled(scene, claim, "both")
    scene.forget()
    scene.finish("both", "none")
    for claim in (*both.values(), *none.values()):
        scene.gone(claim)
    assert scene.writes() == {
        "patch resourceclaims/status": 2,
        "delete resourceclaims": 5,
        "patch resourceclaims": 2,
    }


def test_a_device_that_comes_free_goes_to_the_pod_that_waits_for_it(scene: Scene) -> None:
    scene.apply(
        scene.template(device_class=scene.devices(1)), *(scene.pod(f"pod-{n}") for n in range(5))
    )
    waiting = {f"pod-{number}": scene.published(f"pod-{number}")["a"] for number in range(5)}

    def lucky() -> str | None:
        return next((pod for pod, name in waiting.items() if scene.allocated(name)), None)

    while waiting:
        pod = wait_for(lucky, message=f"one of {sorted(waiting)} to get the device")
        scheduled(scene, waiting[pod], pod)
        scene.finish(pod)
        del waiting[pod]
    wait_for(lambda: not scene.claims(), message="all claims to go")
    assert scene.writes() == {
        "create resourceclaims": 5,
        "patch pods/status": 5,
        **dict.fromkeys(RELEASE, 5),
    }


def test_a_running_pod_that_is_being_deleted_keeps_its_device_until_it_ends(scene: Scene) -> None:
    scene.apply(
        scene.template(device_class=scene.devices()), scene.pod(terminationGracePeriodSeconds=60)
    )
    claim = scene.published()["a"]
    scheduled(scene, claim, "pod")
    scene.forget()
    scene.plane.kubectl("delete", "-n", scene.namespace, "pod", "pod", "--wait=false")
    scene.seen()
    assert scene.get("pods", "pod")["metadata"]["deletionTimestamp"]
    assert scene.writes() == {}
    assert scene.consumers(claim) == ["pod"]
    scene.finish("pod")
    scene.gone(claim)
    assert scene.writes() == RELEASE


def test_consumers_of_a_shared_claim_leave_one_by_one_and_the_last_frees_it(scene: Scene) -> None:
    pods = ["first", "second", "third"]
    shared_claim(scene, *pods)
    for number, pod in enumerate(pods):
        assert scene.allocated("shared")
        scene.finish(pod)
        scene.reserved("shared", *pods[number + 1 :])
    wait_for(lambda: not scene.allocated("shared"), message="the claim to be deallocated")
    assert scene.writes() == {"patch resourceclaims/status": 3, "patch resourceclaims": 1}
    assert "finalizers" not in scene.get("resourceclaims", "shared")["metadata"]


def test_a_claim_of_a_user_is_free_at_once_when_its_pods_vanish(scene: Scene) -> None:
    shared_claim(scene, "first", "second")
    scene.delete_pods("first", "second")
    scene.reserved("shared")
    writes = scene.writes()
    assert writes["patch resourceclaims"] == 1
    assert 1 <= writes["patch resourceclaims/status"] <= 2
    assert not scene.allocated("shared")


def test_a_freed_claim_can_be_allocated_again(scene: Scene) -> None:
    shared_claim(scene, "first")
    scene.finish("first")
    scene.reserved("shared")
    scene.apply(scene.pod("second", claims={"a": "shared"}))
    scheduled(scene, "shared", "second")
    assert scene.writes() == FREE


def test_a_pod_that_took_the_name_of_a_consumer_does_not_keep_its_reservation(scene: Scene) -> None:
    shared_claim(scene, "pod", "other")
    old = scene.get("pods", "pod")["metadata"]["uid"]
    scene.delete_pods("pod")
    scene.apply(scene.pod(templates={"b": "missing"}))

    def without_old() -> bool:
        reserved = scene.get("resourceclaims", "shared")["status"]["reservedFor"]
        return [one["name"] for one in reserved] == ["other"] and reserved[0]["uid"] != old

    wait_for(without_old, message="the replaced pod to leave")
    assert scene.writes()["patch resourceclaims/status"] == 1


def test_foreign_consumers_stay_and_do_not_keep_pods_in(scene: Scene) -> None:
    shared_claim(scene, "pod")
    foreign = {"apiGroup": "foo.com", "resource": "foo", "name": "bar", "uid": "some-uid"}
    reserved = scene.get("resourceclaims", "shared")["status"]["reservedFor"]
    body = {"status": {"reservedFor": [*reserved, foreign]}}
    scene.api.patch("resourceclaims", "shared", scene.namespace, body, subresource="status")
    scene.finish("pod")
    scene.reserved("shared", "bar")
    assert scene.writes() == {"patch resourceclaims/status": 1}
    assert scene.allocated("shared")
    assert PROTECTION in scene.get("resourceclaims", "shared")["metadata"]["finalizers"]


def test_without_the_schedulers_finalizer_the_allocation_stays(scene: Scene) -> None:
    shared_claim(scene, "pod")
    body = {"metadata": {"finalizers": None}}
    scene.api.patch("resourceclaims", "shared", scene.namespace, body)
    scene.finish("pod")
    scene.reserved("shared")
    assert scene.writes() == {"patch resourceclaims/status": 1}
    assert scene.allocated("shared")


def test_a_deleted_claim_goes_with_its_last_pod(scene: Scene) -> None:
    shared_claim(scene, "pod")
    scene.plane.kubectl("delete", "-n", scene.namespace, "resourceclaim", "shared", "--wait=false")
    scene.seen()
    assert scene.writes() == {}
    scene.finish("pod")
    scene.gone("shared")
    assert scene.writes() == FREE


def test_two_hundred_finished_pods_cost_one_delete_each_and_then_silence(scene: Scene) -> None:
    pods = [f"pod-{number}" for number in range(200)]
    scene.apply(scene.template())
    scene.api.create_many(scene.pod(name) for name in pods)
    wait_for(lambda: len(scene.claims()) == 200, message="200 claims")
    assert scene.writes() == {"create resourceclaims": 200, "patch pods/status": 200}
    scene.forget()
    scene.finish(*pods)
    wait_for(lambda: not scene.claims(), message="all claims to go")
    for name in pods[:20]:
        scene.label("pods", name, "again")
    scene.seen()
    assert scene.writes() == {"delete resourceclaims": 200}

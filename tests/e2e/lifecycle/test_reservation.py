"""Pods that got their node without the scheduler are reserved for by the operator."""

from typing import Any

from tests.e2e.scene import PROTECTION, Scene
from tests.support.controlplane.api import Json, wait_for

LIMIT = 256
FOREIGN = {"apiGroup": "foo.com", "resource": "foo"}


def allocate(scene: Scene, claim: str, consumers: list[Json] | None = None) -> None:
    """Allocate a claim by hand: a device of no node, which any node may use."""
    device = {
        "request": "devices",
        "driver": "hand.example.com",
        "pool": "pool",
        "device": "device",
    }
    body: dict[str, Any] = {"status": {"allocation": {"devices": {"results": [device]}}}}
    if consumers:
        body["status"]["reservedFor"] = consumers
    finalizer = {"metadata": {"finalizers": [PROTECTION]}}
    scene.api.patch("resourceclaims", claim, scene.namespace, finalizer)
    scene.api.patch("resourceclaims", claim, scene.namespace, body, subresource="status")


def foreigners(count: int) -> list[Json]:
    """Return consumers that nobody here knows."""
    return [FOREIGN | {"name": f"foo-{number}", "uid": f"uid-{number}"} for number in range(count)]


def placed(scene: Scene, name: str, **more: Any) -> Json:
    """Return a pod that somebody put on a node by hand."""
    return scene.pod(name, nodeName="by-hand", **more)


def test_a_template_claim_of_a_placed_pod_is_made_then_reserved_once_it_is_allocated(
    scene: Scene,
) -> None:
    scene.apply(scene.template(), placed(scene, "pod"))
    claim = scene.published()["a"]
    assert scene.writes() == {"create resourceclaims": 1, "patch pods/status": 1}
    scene.forget()
    allocate(scene, claim)
    scene.reserved(claim, "pod")
    assert scene.get("resourceclaims", claim)["status"]["reservedFor"] == [
        {"resource": "pods", "name": "pod", "uid": scene.get("pods", "pod")["metadata"]["uid"]}
    ]
    assert scene.writes() == {"patch resourceclaims/status": 1}
    assert scene.writes(refused=True) == {}


def test_a_placed_pod_joins_a_shared_claim(scene: Scene) -> None:
    scene.apply(scene.claim())
    allocate(scene, "shared", foreigners(1))
    scene.apply(placed(scene, "pod", claims={"a": "shared"}))
    scene.reserved("shared", "foo-0", "pod")
    assert scene.writes() == {"patch resourceclaims/status": 1}


def test_pods_that_wait_for_the_scheduler_are_left_to_it(scene: Scene) -> None:
    scene.apply(scene.claim())
    allocate(scene, "shared")
    scene.apply(scene.pod(claims={"a": "shared"}, schedulingGates=[{"name": "example.com/wait"}]))
    scene.seen()
    assert scene.writes() == {}
    assert scene.consumers("shared") == []


def test_an_allocated_claim_that_nobody_used_stays_allocated(scene: Scene) -> None:
    scene.apply(scene.claim())
    allocate(scene, "shared")
    scene.label("resourceclaims", "shared", "again")
    scene.seen()
    assert scene.writes() == {}
    assert scene.allocated("shared")


def test_a_finished_pod_with_a_node_is_never_reserved_for(scene: Scene) -> None:
    scene.apply(scene.claim(), placed(scene, "done", claims={"a": "shared"}))
    scene.finish("done")
    allocate(scene, "shared", foreigners(1))
    for number in range(5):
        scene.label("pods", "done", str(number))
        scene.label("resourceclaims", "shared", str(number))
    scene.seen()
    assert scene.writes() == {}
    assert scene.consumers("shared") == ["foo-0"]


def test_a_claim_that_is_being_deleted_takes_nobody_in(scene: Scene) -> None:
    scene.apply(scene.claim())
    allocate(scene, "shared", foreigners(1))
    scene.api.delete("resourceclaims", "shared", scene.namespace)
    scene.apply(placed(scene, "pod", claims={"a": "shared"}))
    scene.seen()
    assert scene.writes(refused=None) == {}


def test_the_limit_of_256_consumers_is_told_and_not_tried(scene: Scene) -> None:
    scene.apply(scene.claim())
    allocate(scene, "shared", foreigners(LIMIT))
    scene.apply(placed(scene, "pod", claims={"a": "shared"}))
    (event,) = scene.event("ReservedForFull")
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("ResourceClaim", "shared")
    assert str(LIMIT) in event["note"]
    scene.label("resourceclaims", "shared", "again")
    scene.seen()
    assert scene.writes(refused=None) == {"create events": 1}


def test_a_place_that_comes_free_goes_to_the_pod_that_waited_for_it(scene: Scene) -> None:
    scene.apply(scene.claim())
    allocate(scene, "shared", foreigners(LIMIT))
    scene.apply(placed(scene, "pod", claims={"a": "shared"}))
    scene.event("ReservedForFull")
    body = {"status": {"reservedFor": foreigners(LIMIT - 1)}}
    scene.api.patch("resourceclaims", "shared", scene.namespace, body, subresource="status")
    wait_for(lambda: "pod" in scene.consumers("shared"), message="the pod to be reserved for")
    assert scene.writes() == {"create events": 1, "patch resourceclaims/status": 1}


def test_of_260_placed_pods_256_share_the_claim(scene: Scene) -> None:
    scene.apply(scene.claim())
    allocate(scene, "shared")
    pods = [f"pod-{number}" for number in range(LIMIT + 4)]
    scene.api.create_many(placed(scene, name, claims={"a": "shared"}) for name in pods)
    scene.event("ReservedForFull")
    wait_for(lambda: len(scene.consumers("shared")) == LIMIT, message="the claim to be full")
    waiting = sorted({*pods} - {*scene.consumers("shared")})
    scene.finish(*(name for name in pods if name not in waiting))
    scene.reserved("shared", *waiting)
    scene.finish(*waiting)
    scene.reserved("shared")
    assert not scene.allocated("shared")
    assert scene.writes(refused=True)["patch resourceclaims/status"] == 0

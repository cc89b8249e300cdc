"""Pods that got their node without the scheduler are reserved for by the operator."""

from typing import Any

from tests.e2e.setup import PROTECTION, Setup
from tests.support.controlplane.api import Json, wait_for

LIMIT = 256
FOREIGN = {"apiGroup": "foo.com", "resource": "foo"}


def allocate(setup: Setup, claim: str, consumers: list[Json] | None = None) -> None:
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
    setup.api.patch("resourceclaims", claim, setup.namespace, finalizer)
    setup.api.patch("resourceclaims", claim, setup.namespace, body, subresource="status")


def foreigners(count: int) -> list[Json]:
    """Return consumers that nobody here knows."""
    return [FOREIGN | {"name": f"foo-{number}", "uid": f"uid-{number}"} for number in range(count)]


def placed(setup: Setup, name: str, **more: Any) -> Json:
    """Return a pod that somebody put on a node by hand."""
    return setup.pod(name, nodeName="by-hand", **more)


def test_a_template_claim_of_a_placed_pod_is_made_then_reserved_once_it_is_allocated(
    setup: Setup,
) -> None:
    setup.apply(setup.template(), placed(setup, "pod"))
    claim = setup.published()["a"]
    setup.wrote({"create resourceclaims": 1, "patch pods/status": 1})
    setup.forget()
    allocate(setup, claim)
    setup.reserved(claim, "pod")
    assert setup.get("resourceclaims", claim)["status"]["reservedFor"] == [
        {"resource": "pods", "name": "pod", "uid": setup.get("pods", "pod")["metadata"]["uid"]}
    ]
    setup.wrote({"patch resourceclaims/status": 1})
    assert setup.writes(refused=True) == {}


def test_a_placed_pod_joins_a_shared_claim(setup: Setup) -> None:
    setup.apply(setup.claim())
    allocate(setup, "shared", foreigners(1))
    setup.apply(placed(setup, "pod", claims={"a": "shared"}))
    setup.reserved("shared", "foo-0", "pod")
    setup.wrote({"patch resourceclaims/status": 1})


def test_pods_that_wait_for_the_scheduler_are_left_to_it(setup: Setup) -> None:
    setup.apply(setup.claim())
    allocate(setup, "shared")
    setup.apply(setup.pod(claims={"a": "shared"}, schedulingGates=[{"name": "example.com/wait"}]))
    setup.seen()
    assert setup.writes() == {}
    assert setup.consumers("shared") == []


def test_an_allocated_claim_that_nobody_used_stays_allocated(setup: Setup) -> None:
    setup.apply(setup.claim())
    allocate(setup, "shared")
    setup.label("resourceclaims", "shared", "again")
    setup.seen()
    assert setup.writes() == {}
    assert setup.allocated("shared")


def test_a_finished_pod_with_a_node_is_never_reserved_for(setup: Setup) -> None:
    setup.apply(setup.claim(), placed(setup, "done", claims={"a": "shared"}))
    setup.finish("done")
    setup.seen()
    allocate(setup, "shared", foreigners(1))
    for number in range(5):
        setup.label("pods", "done", str(number))
        setup.label("resourceclaims", "shared", str(number))
    setup.seen()
    assert setup.writes() == {}
    assert setup.consumers("shared") == ["foo-0"]


def test_a_claim_that_is_being_deleted_takes_nobody_in(setup: Setup) -> None:
    setup.apply(setup.claim())
    allocate(setup, "shared", foreigners(1))
    setup.api.delete("resourceclaims", "shared", setup.namespace)
    setup.seen()
    setup.apply(placed(setup, "pod", claims={"a": "shared"}))
    setup.seen()
    assert setup.writes(refused=None) == {}


def test_the_limit_of_256_consumers_is_told_and_not_tried(setup: Setup) -> None:
    setup.apply(setup.claim())
    allocate(setup, "shared", foreigners(LIMIT))
    setup.apply(placed(setup, "pod", claims={"a": "shared"}))
    (event,) = setup.event("ReservedForFull")
    assert (event["regarding"]["kind"], event["regarding"]["name"]) == ("ResourceClaim", "shared")
    assert str(LIMIT) in event["note"]
    setup.label("resourceclaims", "shared", "again")
    setup.seen()
    setup.wrote({"create events": 1}, refused=None)


def test_a_place_that_comes_free_goes_to_the_pod_that_waited_for_it(setup: Setup) -> None:
    setup.apply(setup.claim())
    allocate(setup, "shared", foreigners(LIMIT))
    setup.apply(placed(setup, "pod", claims={"a": "shared"}))
    setup.event("ReservedForFull")
    body = {"status": {"reservedFor": foreigners(LIMIT - 1)}}
    setup.api.patch("resourceclaims", "shared", setup.namespace, body, subresource="status")
    wait_for(lambda: "pod" in setup.consumers("shared"), message="the pod to be reserved for")
    setup.wrote({"create events": 1, "patch resourceclaims/status": 1})


def test_of_260_placed_pods_256_share_the_claim(setup: Setup) -> None:
    setup.apply(setup.claim())
    allocate(setup, "shared")
    pods = [f"pod-{number}" for number in range(LIMIT + 4)]
    setup.api.create_many(placed(setup, name, claims={"a": "shared"}) for name in pods)
    setup.event("ReservedForFull")
    wait_for(lambda: len(setup.consumers("shared")) == LIMIT, message="the claim to be full")
    waiting = sorted({*pods} - {*setup.consumers("shared")})
    setup.finish(*(name for name in pods if name not in waiting))
    setup.reserved("shared", *waiting)
    setup.finish(*waiting)
    setup.reserved("shared")
    assert not setup.allocated("shared")
    assert setup.writes(refused=True)["patch resourceclaims/status"] == 0

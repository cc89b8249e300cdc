"""Devices come back when nobody uses them, with as few writes as the API allows."""

import pytest

from tests.e2e.setup import PROTECTION, Setup
from tests.support.controlplane.api import wait_for

RELEASE = {
    "patch resourceclaims/status": 1,
    "delete resourceclaims": 1,
    "patch resourceclaims": 1,
}
FREE = {"patch resourceclaims/status": 1, "patch resourceclaims": 1}


def running_pod(setup: Setup, name: str = "pod") -> str:
    """Apply a pod with a template claim and let it have a device; returns the claim's name."""
    setup.apply(setup.template(device_class=setup.devices()), setup.pod(name))
    claim = setup.published(name)["a"]
    setup.scheduled(claim, name)
    setup.forget()
    return claim


def shared_claim(setup: Setup, *pods: str) -> None:
    """Apply a claim named `shared` that these pods use, and let them have it."""
    setup.apply(
        setup.claim("shared", setup.devices()),
        *(setup.pod(name, claims={"a": "shared"}) for name in pods),
    )
    setup.scheduled("shared", *pods)
    setup.forget()


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_an_allocated_claim_of_a_finished_pod_goes_with_three_writes(
    setup: Setup, phase: str
) -> None:
    claim = running_pod(setup)
    setup.finish("pod", phase=phase)
    setup.gone(claim)
    setup.wrote(RELEASE)


def test_a_claim_that_was_never_allocated_goes_with_one_delete(setup: Setup) -> None:
    setup.apply(setup.template(), setup.pod())
    claim = setup.published()["a"]
    setup.forget()
    setup.finish("pod", phase="Failed")
    setup.gone(claim)
    setup.wrote({"delete resourceclaims": 1})


def test_all_claims_of_a_finished_pod_go(setup: Setup) -> None:
    setup.apply(
        setup.template("free"),
        setup.template("busy", setup.devices(2)),
        setup.pod("both", templates={"a": "busy", "b": "busy"}),
        setup.pod("none", templates={"a": "free", "b": "free", "c": "free"}),
    )
    both = setup.published("both", ["a", "b"])
    none = setup.published("none", ["a", "b", "c"])
    for claim in both.values():
        setup.scheduled(claim, "both")
    setup.forget()
    setup.finish("both", "none")
    for claim in (*both.values(), *none.values()):
        setup.gone(claim)
    setup.wrote(
        {
            "patch resourceclaims/status": 2,
            "delete resourceclaims": 5,
            "patch resourceclaims": 2,
        }
    )


def test_a_device_that_comes_free_goes_to_the_pod_that_waits_for_it(setup: Setup) -> None:
    setup.apply(
        setup.template(device_class=setup.devices(1)), *(setup.pod(f"pod-{n}") for n in range(5))
    )
    waiting = {f"pod-{number}": setup.published(f"pod-{number}")["a"] for number in range(5)}

    def lucky() -> str | None:
        return next((pod for pod, name in waiting.items() if setup.allocated(name)), None)

    while waiting:
        pod = wait_for(lucky, message=f"one of {sorted(waiting)} to get the device")
        setup.scheduled(waiting[pod], pod)
        setup.finish(pod)
        del waiting[pod]
    wait_for(lambda: not setup.claims(), message="all claims to go")
    setup.wrote(
        {
            "create resourceclaims": 5,
            "patch pods/status": 5,
            **dict.fromkeys(RELEASE, 5),
        }
    )


def test_a_running_pod_that_is_being_deleted_keeps_its_device_until_it_ends(setup: Setup) -> None:
    setup.apply(
        setup.template(device_class=setup.devices()), setup.pod(terminationGracePeriodSeconds=60)
    )
    claim = setup.published()["a"]
    setup.scheduled(claim, "pod")
    setup.forget()
    setup.plane.kubectl("delete", "-n", setup.namespace, "pod", "pod", "--wait=false")
    setup.seen()
    assert setup.get("pods", "pod")["metadata"]["deletionTimestamp"]
    assert setup.writes() == {}
    assert setup.consumers(claim) == ["pod"]
    setup.finish("pod")
    setup.gone(claim)
    setup.wrote(RELEASE)


def test_consumers_of_a_shared_claim_leave_one_by_one_and_the_last_frees_it(setup: Setup) -> None:
    pods = ["first", "second", "third"]
    shared_claim(setup, *pods)
    for number, pod in enumerate(pods):
        assert setup.allocated("shared")
        setup.finish(pod)
        setup.reserved("shared", *pods[number + 1 :])
    wait_for(lambda: not setup.allocated("shared"), message="the claim to be deallocated")
    setup.wrote({"patch resourceclaims/status": 3, "patch resourceclaims": 1})
    assert "finalizers" not in setup.get("resourceclaims", "shared")["metadata"]


def test_a_claim_of_a_user_is_free_at_once_when_its_pods_vanish(setup: Setup) -> None:
    shared_claim(setup, "first", "second")
    setup.delete_pods("first", "second")
    setup.reserved("shared")
    writes = setup.writes()
    assert writes["patch resourceclaims"] == 1
    assert 1 <= writes["patch resourceclaims/status"] <= 2
    assert not setup.allocated("shared")


def test_a_freed_claim_can_be_allocated_again(setup: Setup) -> None:
    shared_claim(setup, "first")
    setup.finish("first")
    setup.wrote(FREE)  # with the second write, the scheduler may add the finalizer again
    setup.apply(setup.pod("second", claims={"a": "shared"}))
    setup.scheduled("shared", "second")
    setup.wrote(FREE)


def test_a_pod_that_took_the_name_of_a_consumer_does_not_keep_its_reservation(setup: Setup) -> None:
    shared_claim(setup, "pod", "other")
    old = setup.get("pods", "pod")["metadata"]["uid"]
    setup.delete_pods("pod")
    setup.apply(setup.pod(templates={"b": "missing"}))

    def without_old() -> bool:
        reserved = setup.get("resourceclaims", "shared")["status"]["reservedFor"]
        return [one["name"] for one in reserved] == ["other"] and reserved[0]["uid"] != old

    wait_for(without_old, message="the replaced pod to leave")
    setup.wrote({"patch resourceclaims/status": 1}, others=True)


def test_foreign_consumers_stay_and_do_not_keep_pods_in(setup: Setup) -> None:
    shared_claim(setup, "pod")
    foreign = {"apiGroup": "foo.com", "resource": "foo", "name": "bar", "uid": "some-uid"}
    reserved = setup.get("resourceclaims", "shared")["status"]["reservedFor"]
    body = {"status": {"reservedFor": [*reserved, foreign]}}
    setup.api.patch("resourceclaims", "shared", setup.namespace, body, subresource="status")
    setup.finish("pod")
    setup.reserved("shared", "bar")
    setup.wrote({"patch resourceclaims/status": 1})
    assert setup.allocated("shared")
    assert PROTECTION in setup.get("resourceclaims", "shared")["metadata"]["finalizers"]


def test_without_the_schedulers_finalizer_the_allocation_stays(setup: Setup) -> None:
    shared_claim(setup, "pod")
    body = {"metadata": {"finalizers": None}}
    setup.api.patch("resourceclaims", "shared", setup.namespace, body)
    setup.finish("pod")
    setup.reserved("shared")
    setup.wrote({"patch resourceclaims/status": 1})
    assert setup.allocated("shared")


def test_a_deleted_claim_goes_with_its_last_pod(setup: Setup) -> None:
    shared_claim(setup, "pod")
    setup.plane.kubectl("delete", "-n", setup.namespace, "resourceclaim", "shared", "--wait=false")
    setup.seen()
    assert setup.writes() == {}
    setup.finish("pod")
    setup.gone("shared")
    setup.wrote(FREE)


def test_two_hundred_finished_pods_cost_one_delete_each_and_then_silence(setup: Setup) -> None:
    pods = [f"pod-{number}" for number in range(200)]
    setup.apply(setup.template())
    setup.api.create_many(setup.pod(name) for name in pods)
    wait_for(lambda: len(setup.claims()) == 200, message="200 claims")
    setup.wrote({"create resourceclaims": 200, "patch pods/status": 200})
    setup.forget()
    setup.finish(*pods)
    wait_for(lambda: not setup.claims(), message="all claims to go")
    for name in pods[:20]:
        setup.label("pods", name, "again")
    setup.seen()
    setup.wrote({"delete resourceclaims": 200})

"""Remedies of doctor are safe to paste, and findings about holders name those that have ended."""

import pytest

from dragoman.doctor.devices import of_plugin
from dragoman.doctor.finding import Finding, Id
from tests.support.manifests import Json
from tests.support.worlds import inventory as builders
from tests.support.worlds.doctor import World
from tests.unit.dragoman.doctor.test_examination import diagnosis

WORLD = World("w")


def idle(phase: str, *, users: tuple[str, ...] = ("pod",)) -> list[Finding]:
    """Return what is found of a claim whose pod has a phase."""
    pod = WORLD.pod(claims={"gpu": "claim"})
    pod["metadata"]["uid"] = "uid-of-w-pod"
    pod["status"] = {"phase": phase}
    manifests = WORLD.base(pod, WORLD.claim("claim", "d0", users=users))
    found = diagnosis(builders.snapshot(*manifests)).findings
    return [one for one in found if one.id is Id.CLAIM_IDLE]


@pytest.mark.parametrize(
    ("resource", "driver", "same"),
    [
        ("nvidia.com/gpu", "gpu.nvidia.com", True),
        ("nvidia.com/gpu.shared", "gpu.nvidia.com", True),
        ("nvidia.com/mig-3g.40gb", "gpu.nvidia.com", True),
        ("google.com/tpu", "tpu.google.com", True),
        ("habana.ai/gaudi", "gaudi.intel.com", True),
        ("gpu.intel.com/i915", "gpu.intel.com", True),
        ("amd.com/gpu", "gpu.amd.com", True),
        ("nvidia.com/gpu", "compute-domain.nvidia.com", False),
        ("nvidia.com/gpu", "gpu.amd.com", False),
        ("intel.com/sriov_netdevice", "gpu.intel.com", False),
    ],
)
def test_resources_of_plugins_are_known_by_vendor_and_word(
    resource: str, driver: str, same: bool
) -> None:
    assert of_plugin(resource, driver) is same


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_claim_that_only_ended_pods_reserve_is_found(phase: str) -> None:
    (one,) = idle(phase)
    assert "reserved only for pod, ended" in one.message
    assert one.remedy == "kubectl dra release w/claim"


def test_a_claim_that_a_pod_uses_is_nothing() -> None:
    assert idle("Running") == []


def test_a_claim_that_a_bound_pod_names_is_not_to_be_released() -> None:
    (one,) = idle("Pending", users=())
    assert "release w/claim" not in one.remedy
    assert "pod pod on w-n0 needs it" in one.remedy


def negative(pod: Json | None, *users: str) -> str:
    """Return the remedy of a claim that holds a negative share."""
    share = {
        "shareID": "11111111-2222-3333-4444-555555555555",
        "consumedCapacity": {"memory": "-1Gi"},
    }
    made = WORLD.base(
        *([pod] if pod else []), WORLD.claim("claim", "d0", users=users, result=share)
    )
    found = diagnosis(builders.snapshot(*made)).findings
    (one,) = [one for one in found if one.id is Id.CONSUMED_NEGATIVE]
    return one.remedy


def test_a_negative_share_is_released_only_where_no_pod_needs_it() -> None:
    pod = WORLD.pod(claims={"gpu": "claim"})
    assert negative(None) == "kubectl dra release w/claim"
    assert "do not release it: pod pod on w-n0 needs it" in negative(pod)
    assert "pod pod has no controller: save its manifest" in negative(pod, "pod")
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "r"}
    pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    assert negative(pod, "pod") == "kubectl delete pod -n w pod"

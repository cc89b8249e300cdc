"""A pod whose devices are allocated but not ready: `explain` names what the scheduler waits for."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.e2e.toolkit.commands import dra
from tests.support import manifests as objects
from tests.support.controlplane import binaries
from tests.support.controlplane.api import ApiError, Json, wait_for
from tests.support.controlplane.plane import ControlPlane

DRIVER = "fabric.example.com"
NAME = "binding-conditions"
DEVICE = {"name": "gpu-0", "bindingConditions": ["Cabled"], "bindingFailureConditions": ["Cut"]}
READY = {
    "type": "Cabled",
    "status": "True",
    "reason": "Cabled",
    "message": "",
    "lastTransitionTime": "2026-05-01T12:00:00Z",
}

pytestmark = pytest.mark.skipif(
    binaries.chosen_version() < "v1.36", reason="binding conditions are on by default since 1.36"
)


@pytest.fixture
def claimed(plane: ControlPlane, namespace: str) -> Iterator[str]:
    """Let a pod have a device that its driver has not made ready; yield the namespace."""
    api = plane.api()
    made = [
        ("nodes", objects.node(NAME)),
        ("deviceclasses", objects.device_class(NAME, DRIVER)),
        ("resourceslices", objects.resource_slice(NAME, [DEVICE], DRIVER)),
    ]
    for _, manifest in made:
        api.create(manifest)
    api.create(objects.claim("gpu", namespace, NAME))
    api.create(objects.pod("trainer", namespace, claims={"gpu": "gpu"}))
    yield namespace
    for plural, manifest in made:
        with suppress(ApiError):
            api.delete(plural, manifest["metadata"]["name"])


def test_a_pod_waits_for_the_driver_of_its_device(plane: ControlPlane, claimed: str) -> None:
    api = plane.api()

    def allocation() -> Json | None:
        status = api.get("resourceclaims", "gpu", claimed).get("status", {})
        found: Json | None = status.get("allocation")
        return found

    wait_for(allocation, message="an allocation")
    where = ("--kubeconfig", plane.kubeconfig, "-n", claimed)
    printed = dra("explain", "pod", "trainer", *where).output
    assert (
        f"claim gpu, {DRIVER}/{NAME}/gpu-0: the device is not ready: waits for Cabled: "
        "the scheduler waits for its driver before it binds the pod."
    ) in " ".join(printed.split())

    device = {"driver": DRIVER, "pool": NAME, "device": "gpu-0", "conditions": [READY]}
    body = {"status": {"devices": [device]}}
    api.patch("resourceclaims", "gpu", claimed, body, subresource="status")
    wait_for(
        lambda: api.get("pods", "trainer", claimed)["spec"].get("nodeName") == NAME,
        message="a node for the pod",
    )
    assert "has its devices on node" in dra("explain", "pod", "trainer", *where).output

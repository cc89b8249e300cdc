"""Claims that the scheduler makes for extended resources (KEP-5004): released, never made by us."""

from collections.abc import Iterator

import pytest

from tests.e2e.scene import Scene
from tests.e2e.versions import VERSION
from tests.support.controlplane import objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane

RESOURCE = "example.com/gpu"
RELEASE = {
    "patch resourceclaims/status": 1,
    "delete resourceclaims": 1,
    "patch resourceclaims": 1,
}
BY_DEFAULT = VERSION >= (1, 36)

if not BY_DEFAULT:

    @pytest.fixture(scope="module")
    def plane() -> Iterator[ControlPlane]:
        """Run a control plane with the gate on that is alpha before 1.36."""
        with ControlPlane(scheduler=True, feature_gates={"DRAExtendedResource": True}) as running:
            yield running


def devices_for(scene: Scene, resource: str) -> str:
    """Add a node with two devices that stand for an extended resource; returns their class."""
    name = scene.devices(2)
    body = {"spec": {"extendedResourceName": resource}}
    scene.api.patch("deviceclasses", name, None, body)
    return name


def consumer(scene: Scene, resource: str, **more: Json) -> Json:
    """Return a pod that asks for one of an extended resource."""
    pod = objects.pod("pod", scene.namespace, **more)
    pod["spec"]["containers"][0].setdefault("resources", {})["limits"] = {resource: "1"}
    return pod


def claim_for_extended(scene: Scene) -> str:
    """Wait until the scheduler has made a claim and the pod has its node; returns its name."""

    def named() -> str | None:
        status = scene.get("pods", "pod")["status"].get("extendedResourceClaimStatus") or {}
        return status.get("resourceClaimName") if scene.node_of("pod") else None

    return wait_for(named, message="the scheduler to make a claim for the extended resource")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_claim_of_a_finished_pod_is_released_and_deleted(scene: Scene, phase: str) -> None:
    resource = f"{scene.namespace}.{RESOURCE}"
    devices_for(scene, resource)
    scene.apply(consumer(scene, resource))
    claim = claim_for_extended(scene)
    scene.seen()
    assert scene.writes() == {}
    scene.finish("pod", phase=phase)
    scene.gone(claim)
    assert scene.writes() == RELEASE


def test_a_pod_may_use_templates_and_extended_resources_together(scene: Scene) -> None:
    resource = f"{scene.namespace}.{RESOURCE}"
    scene.apply(
        scene.template(device_class=devices_for(scene, resource)),
        consumer(scene, resource, templates={"a": "template"}),
    )
    claims = {scene.published()["a"], claim_for_extended(scene)}
    assert {*scene.claims()} == claims
    assert scene.writes() == {"create resourceclaims": 1, "patch pods/status": 1}
    scene.forget()
    scene.finish("pod")
    for claim in claims:
        scene.gone(claim)
    assert scene.writes() == dict.fromkeys(RELEASE, 2)


def test_the_device_of_a_deleted_pod_comes_free(scene: Scene) -> None:
    resource = f"{scene.namespace}.{RESOURCE}"
    devices_for(scene, resource)
    scene.apply(consumer(scene, resource))
    claim = claim_for_extended(scene)
    scene.delete_pods("pod")
    wait_for(
        lambda: (
            not (scene.api.find("resourceclaims", claim, scene.namespace) or {})
            .get("status", {})
            .get("allocation")
        ),
        message="the device to be free",
    )
    assert scene.counts()["patch resourceclaims/status"] == 1

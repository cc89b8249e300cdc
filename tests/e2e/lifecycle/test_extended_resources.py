"""Claims that the scheduler makes for extended resources (KEP-5004): released, never made by us."""

from collections.abc import Iterator

import pytest

from tests.e2e.setup import Setup
from tests.e2e.versions import VERSION
from tests.support import manifests as objects
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


def devices_for(setup: Setup, resource: str) -> str:
    """Add a node with two devices that stand for an extended resource; returns their class."""
    name = setup.devices(2)
    body = {"spec": {"extendedResourceName": resource}}
    setup.api.patch("deviceclasses", name, None, body)
    return name


def consumer(setup: Setup, resource: str, **more: Json) -> Json:
    """Return a pod that asks for one of an extended resource."""
    pod = objects.pod("pod", setup.namespace, **more)
    pod["spec"]["containers"][0].setdefault("resources", {})["limits"] = {resource: "1"}
    return pod


def claim_for_extended(setup: Setup) -> str:
    """Wait until the scheduler has made a claim and the pod has its node; returns its name."""

    def named() -> str | None:
        status = setup.get("pods", "pod")["status"].get("extendedResourceClaimStatus") or {}
        return status.get("resourceClaimName") if setup.node_of("pod") else None

    return wait_for(named, message="the scheduler to make a claim for the extended resource")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_the_claim_of_a_finished_pod_is_released_and_deleted(setup: Setup, phase: str) -> None:
    resource = f"{setup.namespace}.{RESOURCE}"
    devices_for(setup, resource)
    setup.apply(consumer(setup, resource))
    claim = claim_for_extended(setup)
    setup.seen()
    assert setup.writes() == {}
    setup.finish("pod", phase=phase)
    setup.gone(claim)
    setup.wrote(RELEASE)


def test_a_pod_may_use_templates_and_extended_resources_together(setup: Setup) -> None:
    resource = f"{setup.namespace}.{RESOURCE}"
    setup.apply(
        setup.template(device_class=devices_for(setup, resource)),
        consumer(setup, resource, templates={"a": "template"}),
    )
    claims = {setup.published()["a"], claim_for_extended(setup)}
    assert {*setup.claims()} == claims
    setup.wrote({"create resourceclaims": 1, "patch pods/status": 1})
    setup.forget()
    setup.finish("pod")
    for claim in claims:
        setup.gone(claim)
    setup.wrote(dict.fromkeys(RELEASE, 2))


def test_the_device_of_a_deleted_pod_comes_free(setup: Setup) -> None:
    resource = f"{setup.namespace}.{RESOURCE}"
    devices_for(setup, resource)
    setup.apply(consumer(setup, resource))
    claim = claim_for_extended(setup)
    setup.delete_pods("pod")
    wait_for(
        lambda: (
            not (setup.api.find("resourceclaims", claim, setup.namespace) or {})
            .get("status", {})
            .get("allocation")
        ),
        message="the device to be free",
    )
    setup.wrote({"patch resourceclaims/status": 1}, others=True)

"""API servers that serve resource.k8s.io in an older version, or not at all."""

from collections.abc import Iterator

import pytest

from dragoman_base.versions import parse, removal
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import START_SECONDS, OperatorProcess
from tests.e2e.setup import Setup
from tests.support import manifests as objects
from tests.support.controlplane.binaries import chosen_version
from tests.support.controlplane.plane import ControlPlane

GROUP = "resource.k8s.io"
RELEASE = parse(chosen_version())
OLDER = [
    one
    for one in ("v1beta2", "v1beta1")
    if (removal(f"{GROUP}/{one}", "ResourceClaim") or RELEASE) > RELEASE
]
"""What the server of the test still serves, where it is told to."""
OLDEST = OLDER[-1:]
PARAMS = [pytest.param(one, marks=[pytest.mark.slow] * (one not in OLDEST)) for one in OLDER]


@pytest.fixture(scope="module", params=PARAMS)
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Run an API server that serves one older version only."""
    served = {f"{GROUP}/{version}": version == request.param for version in ("v1", *OLDER)}
    with ControlPlane(runtime_config=served) as running:
        yield running


def test_the_life_of_a_claim_is_the_same_in_every_version(
    plane: ControlPlane, setup: Setup
) -> None:
    version = plane.api().resource("resourceclaims").version
    assert version in OLDER
    setup.apply(setup.template(metadata={"labels": {"team": "blue"}}), setup.pod())
    claim = setup.claim_of("pod")
    assert claim["apiVersion"] == f"{GROUP}/{version}"
    assert claim["spec"] == setup.get("resourceclaimtemplates", "template")["spec"]["spec"]
    assert claim["metadata"]["labels"] == {"team": "blue"}
    setup.wrote({"create resourceclaims": 1, "patch pods/status": 1})
    setup.forget()
    setup.finish("pod")
    setup.gone(claim["metadata"]["name"])
    setup.wrote({"delete resourceclaims": 1})


def test_manifests_are_stored_through_the_only_version_that_is_served(
    plane: ControlPlane, namespace: str
) -> None:
    api = plane.api()
    version = api.resource("resourceclaims").version
    try:
        api.create(plane.served(objects.device_class("gpu")))
        api.create(plane.served(objects.resource_slice("node", 2)))
        api.create(plane.served(objects.claim("one", namespace, "gpu", count=2)))
        api.create(plane.served(objects.template("many", namespace, "gpu")))
        assert api.get("ResourceClaim", "one", namespace)["apiVersion"] == f"{GROUP}/{version}"
        assert len(api.get("resourceslices", "node-gpu.example.com")["spec"]["devices"]) == 2
    finally:
        api.delete("resourceslices", "node-gpu.example.com")
        api.delete("deviceclasses", "gpu")


def test_a_late_template_and_a_lost_claim_are_noticed_in_every_version(setup: Setup) -> None:
    setup.apply(setup.pod())
    setup.event()
    setup.apply(setup.template())
    before = setup.claim_of("pod")
    name = before["metadata"]["name"]
    setup.plane.kubectl("delete", "-n", setup.namespace, "resourceclaim", name)
    setup.replaced(before)
    setup.wrote({"create resourceclaims": 2}, others=True)


def test_placed_pods_are_reserved_for_and_let_go_in_every_version(setup: Setup) -> None:
    setup.apply(setup.template(), setup.pod(nodeName="by-hand"))
    claim = setup.published()["a"]
    device = {"request": "devices", "driver": "x.example.com", "pool": "p", "device": "d"}
    body = {"status": {"allocation": {"devices": {"results": [device]}}}}
    finalizer = {"metadata": {"finalizers": ["resource.kubernetes.io/delete-protection"]}}
    setup.api.patch("resourceclaims", claim, setup.namespace, finalizer)
    setup.api.patch("resourceclaims", claim, setup.namespace, body, subresource="status")
    setup.reserved(claim, "pod")
    setup.forget()
    setup.finish("pod")
    setup.gone(claim)
    setup.wrote(
        {
            "patch resourceclaims/status": 1,
            "delete resourceclaims": 1,
            "patch resourceclaims": 1,
        }
    )


@pytest.mark.slow
def test_without_any_version_one_clear_line_is_said_and_the_status_is_one() -> None:
    served = {f"{GROUP}/{version}": False for version in ("v1", *OLDER)}
    with ControlPlane(runtime_config=served) as bare:
        operator = OperatorProcess(bare, bare.user("dragoman", OPERATOR_RULES))
        operator.launch()
        assert operator.wait(START_SECONDS) == 1
        last = operator.said().splitlines()[-1]
        assert last.startswith("dragoman: the API server serves no resource.k8s.io in v1, v1beta2")
        assert "Kubernetes >= 1.34" in last
        assert operator.faults() == []
        assert "Unclosed" not in operator.said()

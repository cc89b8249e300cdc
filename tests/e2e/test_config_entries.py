"""Config entries stand at the same places in every version of resource.k8s.io."""

from collections.abc import Iterator
from typing import Any

import pytest

from dragoman_configs.objects.entries import Configured, configured
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds import driverconfigs as builders

VERSIONS = ("v1", "v1beta2", "v1beta1")
ENTRIES = [
    builders.entry({**builders.KIND, "v": [1, {"w": None}]}, requests=["plain", "main"]),
    builders.entry({}, "other.example.com"),
    builders.entry({"n": 1.0}, requests=["main/small"]),
]
OBJECTS = [
    builders.claim(*ENTRIES, requests=["plain", ("main", ("small", "large"))]),
    {
        **builders.template(),
        "spec": {
            "spec": builders.claim(*ENTRIES, requests=["plain", ("main", ("small",))])["spec"]
        },
    },
    builders.device_class(*(builders.entry(e["opaque"]["parameters"]) for e in ENTRIES)),
]


@pytest.fixture(scope="module")
def everything() -> Iterator[ControlPlane]:
    """Run a plane that serves the beta versions too."""
    betas = {f"resource.k8s.io/{version}": True for version in VERSIONS[1:]}
    with ControlPlane(runtime_config=betas) as plane:
        yield plane


@pytest.mark.parametrize("document", OBJECTS, ids=lambda document: str(document["kind"]))
def test_entries_are_found_in_every_version(
    everything: ControlPlane, document: dict[str, Any]
) -> None:
    api = everything.api()
    kind = document["kind"]
    namespace = None if kind == "DeviceClass" else "default"
    api.create({**document, "metadata": {"name": "x", "namespace": namespace or ""}})
    found: dict[str, Configured] = {}
    plural = "deviceclasses" if kind == "DeviceClass" else f"{kind.lower()}s"
    for version in VERSIONS:
        stored = api.get(f"{plural}.resource.k8s.io/{version}", "x", namespace)
        assert stored["apiVersion"] == f"resource.k8s.io/{version}"
        found[version] = configured(kind, stored)
    assert found["v1"] == found["v1beta2"] == found["v1beta1"]
    given = configured(kind, document)
    assert [entry.path for entry in found["v1"].entries] == [entry.path for entry in given.entries]
    assert found["v1"].targets == given.targets
    assert found["v1"].entries == given.entries

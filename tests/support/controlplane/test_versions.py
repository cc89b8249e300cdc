"""Planes that serve older versions of resource.k8s.io."""

import pytest

from tests.support import manifests as objects
from tests.support.controlplane.plane import ControlPlane

GROUP = "resource.k8s.io"


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
def test_manifests_are_stored_through_the_only_version_that_is_served(version: str) -> None:
    served = {f"{GROUP}/{name}": name == version for name in ("v1", "v1beta1", "v1beta2")}
    with ControlPlane(runtime_config=served, audit=False) as plane:
        api = plane.api()
        api.create(plane.served(objects.device_class("gpu")))
        api.create(plane.served(objects.resource_slice("node", 2)))
        api.create(plane.served(objects.claim("one", "default", "gpu", count=2)))
        api.create(plane.served(objects.template("many", "default", "gpu")))
        assert api.get("ResourceClaim", "one", "default")["apiVersion"] == f"{GROUP}/{version}"
        assert len(api.get("resourceslices", "node-gpu.example.com")["spec"]["devices"]) == 2
        with pytest.raises(RuntimeError, match="audit=False"):
            plane.audit.mark()

"""`check --target` next to an API server without the version that the target serves no more."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from dragoman_toolkit.check.check import check
from tests.support.controlplane.api import ApiError, Json
from tests.support.controlplane.plane import ControlPlane

SIZE = 300
WITHOUT = (
    "--runtime-config=resource.k8s.io/v1beta1=false,resource.k8s.io/v1beta2=true,"
    "resource.k8s.io/v1=true"
)


@pytest.fixture(scope="module")
def future() -> Iterator[ControlPlane]:
    """Run an API server that serves what 1.38 will."""
    with ControlPlane(audit=False, extra_apiserver_flags=(WITHOUT,)) as plane:
        yield plane


def corpus(seed: int = 38) -> list[Json]:
    """Return manifests that an API server of 1.36 accepts, in all versions."""
    chosen = random.Random(seed)
    kinds = (device_class, claim, template, resource_slice)
    return [
        chosen.choice(kinds)(f"m{index}", chosen.choice(("v1", "v1beta2", "v1beta1")), chosen)
        for index in range(SIZE)
    ]


def _object(kind: str, name: str, version: str, spec: Json, namespace: str = "") -> Json:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    api_version = f"resource.k8s.io/{version}"
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def device_class(name: str, version: str, chosen: random.Random) -> Json:
    expression = f'device.driver == "{chosen.choice("abc")}.example.com"'
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    return _object("DeviceClass", name, version, spec)


def _devices(version: str, chosen: random.Random) -> Json:
    request = {"deviceClassName": "gpu", "count": chosen.randint(1, 8)}
    request["allocationMode"] = "ExactCount"
    shape = request if version == "v1beta1" else {"exactly": request}
    return {"devices": {"requests": [{"name": "r", **shape}]}}


def claim(name: str, version: str, chosen: random.Random) -> Json:
    return _object("ResourceClaim", name, version, _devices(version, chosen), "default")


def template(name: str, version: str, chosen: random.Random) -> Json:
    spec = {"spec": _devices(version, chosen)}
    return _object("ResourceClaimTemplate", name, version, spec, "default")


def resource_slice(name: str, version: str, chosen: random.Random) -> Json:
    fields = {"attributes": {"index": {"int": chosen.randint(0, 9)}}}
    device = {"name": "d0", **({"basic": fields} if version == "v1beta1" else fields)}
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "a.example.com", "nodeName": name, "pool": pool, "devices": [device]}
    return _object("ResourceSlice", name, version, spec)


def flagged(manifests: list[Json], folder: Path) -> set[str]:
    """Return the names of the manifests with errors."""
    for one in manifests:
        (folder / f"{one['metadata']['name']}.yaml").write_text(yaml.safe_dump(one))
    arguments = [str(folder), "--target", "1.38", "-o", "json"]
    ran = CliRunner().invoke(check, arguments, catch_exceptions=False)
    listed = json.loads(ran.stdout)["findings"]
    return {Path(one["file"]).stem for one in listed if one["severity"] == "error"}


def refused(plane: ControlPlane, manifests: list[Json]) -> set[str]:
    """Return the names of the manifests that the API server does not take."""
    api, found = plane.api(), set()
    plurals = {"DeviceClass": "deviceclasses", "ResourceSlice": "resourceslices"}
    for one in manifests:
        kind, namespace = one["kind"], one["metadata"].get("namespace")
        plural = plurals.get(kind, f"{kind.lower()}s")
        where = f"namespaces/{namespace}/" if namespace else ""
        path = f"/apis/{one['apiVersion']}/{where}{plural}"
        try:
            api.request("POST", path, one, dryRun="All")
        except ApiError as error:
            if error.code != 404:  # the corpus has another fault
                raise
            found.add(one["metadata"]["name"])
    return found


def test_exactly_the_manifests_that_the_api_server_refuses_are_flagged(
    future: ControlPlane, tmp_path: Path
) -> None:
    manifests = corpus()
    gone = refused(future, manifests)
    assert 50 < len(gone) < 150
    assert flagged(manifests, tmp_path) == gone

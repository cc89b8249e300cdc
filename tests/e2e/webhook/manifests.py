"""What people apply in these tests: objects whose config is right, or wrong."""

from collections.abc import Callable
from typing import Any

import yaml

from tests.support import manifests as objects
from tests.support.controlplane.api import Api
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds import driverconfigs as worlds

Json = dict[str, Any]
LEVEL = {"level": {"type": "integer", "maximum": 9}}
GOOD = {**worlds.KIND, "level": 1}
BAD = {**worlds.KIND, "level": "high"}
WORSE = {**worlds.KIND, "level": 10}
MAKERS: dict[str, tuple[Callable[..., Json], str]] = {
    "ResourceClaim": (worlds.claim, "spec.devices.config[0]"),
    "ResourceClaimTemplate": (worlds.template, "spec.spec.devices.config[0]"),
    "DeviceClass": (worlds.device_class, "spec.config[0]"),
}
"""Makers of objects with entries, and the path of the first entry, by kind."""


def schema(**spec: Any) -> Json:
    """Make the schema of these tests, as a person writes it."""
    document = worlds.schema(worlds.config(LEVEL), **spec)
    del document["metadata"]["uid"], document["metadata"]["generation"]
    return document


def broken_schema() -> Json:
    """Make a schema that the CRD accepts and that does not compile."""
    document = schema()
    document["spec"]["configs"] = [worlds.config({"level": {"type": "nonsense"}})]
    return document


def manifest(
    kind: str, namespace: str, *parameters: Json, name: str = "made", version: str = "v1"
) -> Json:
    """Make an object with one entry for each of the parameters."""
    make, _ = MAKERS[kind]
    made = make(*(worlds.entry(one) for one in parameters))
    place = {} if kind == "DeviceClass" else {"namespace": namespace}
    return objects.in_version({**made, "metadata": {"name": name, **place}}, version)


def apply(plane: ControlPlane, document: Json) -> tuple[int, str]:
    """`kubectl apply` a manifest; returns the exit status and what was printed."""
    done = plane.kubectl("apply", "-f", "-", input=yaml.safe_dump(document), check=False)
    return done.returncode, done.stdout + done.stderr


def delete_class(api: Api, name: str = "made") -> None:
    """Remove a class that is left."""
    if api.find("deviceclasses", name) is not None:
        api.delete("deviceclasses", name)

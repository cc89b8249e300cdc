"""The check beside the real API server: who refuses a manifest, and who takes it."""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dragoman_base.versions import parse
from dragoman_toolkit.linting import engine
from dragoman_toolkit.linting.findings.finding import ERROR
from dragoman_toolkit.linting.knowledge.api import api_of
from dragoman_toolkit.linting.knowledge.devices import KnownDevices
from tests.e2e.check.generator import GROUP, Generator
from tests.support.controlplane.api import Api, ApiError
from tests.support.controlplane.plane import ControlPlane

REFUSING = ("dra/api-removed", "dra/unknown-field", "dra/invalid", "dra/cel-invalid")
"""Rules that report what the API server refuses."""

GATES = {
    "v1.34.4": (
        "DRAAdminAccess", "DRAConsumableCapacity", "DRADeviceTaints", "DRADeviceBindingConditions",
        "DRAExtendedResource", "DRAPartitionableDevices", "DRAResourceClaimDeviceStatus",
    ),
    "v1.36.3": ("DRADeviceTaintRules",),
}  # fmt: skip
"""Gates without which the API server drops fields instead of looking at them."""

KINDS = (
    "ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice", "DeviceTaintRule",
    "Pod", "Workload",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """One manifest on which both disagree.

    Attributes:
        manifest: what was asked.
        server: the API server's words; empty where it takes the manifest.
        ours: the findings; empty where there are none.
    """

    manifest: Any
    server: str
    ours: tuple[str, ...]

    def __str__(self) -> str:
        return f"\n{json.dumps(self.manifest)}\n  server: {self.server}\n  ours: {self.ours}"


def plane_of(version: str) -> ControlPlane:
    """Return a plane that serves every version of resource.k8s.io."""
    return ControlPlane(
        version,
        audit=False,
        runtime_config={"api/all": True},
        feature_gates=dict.fromkeys(GATES[version], True),
    )


def served_versions(version: str, kind: str) -> list[str]:
    """Return the versions of a kind that a Kubernetes version serves."""
    names = [key.split("/") for key in api_of(parse(version)).kinds]
    return [name[1] for name in names if name[0] == GROUP and name[-1] == kind] or ["v1"]


def refusal(api: Api, manifest: Any) -> str:
    """Return why the API server refuses to create a manifest, without creating it."""
    api_version, kind = manifest["apiVersion"], manifest["kind"]
    try:
        resource = api.resource(f"{PLURALS[kind]}.{api_version}" if "/" in api_version else "pods")
        path = resource.path(manifest["metadata"].get("namespace"))
        api.request("POST", path, manifest, dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        return str(error)
    return ""


PLURALS = {
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "DeviceClass": "deviceclasses",
    "ResourceSlice": "resourceslices",
    "DeviceTaintRule": "devicetaintrules",
    "Pod": "pods",
    "Deployment": "deployments",
    "DaemonSet": "daemonsets",
}


def complaints(manifest: Any, version: str) -> tuple[str, ...]:
    """Return the findings that say that the API server refuses a manifest."""
    source = engine.read("m.json", json.dumps(manifest))
    api = api_of(parse(version))
    report = engine.check([source], api, KnownDevices(), engine.CheckOptions()).report
    assert not report.failures, report.failures
    return tuple(
        f"{one.id}: {one.message}"
        for one in report.findings
        if (one.id in REFUSING and one.severity == ERROR)
        or (one.id == "dra/reference-missing" and "Not found" in one.message)
    )


def manifests(version: str, seed: int, count: int, namespace: str) -> Iterator[Any]:
    """Yield manifests of all kinds and versions in turn, a quarter of them sound."""
    generator = Generator(seed, counters_together=version.startswith("v1.34"))
    for index in range(count):
        kind = KINDS[index % len(KINDS)]
        served = served_versions(version, kind)
        made = generator.sound(kind, served[(index // len(KINDS)) % len(served)])
        if index % 4:
            made = generator.changed(made)
        yield _in_namespace(made, namespace)


def _in_namespace(manifest: Any, namespace: str) -> Any:
    made = copy.deepcopy(manifest)
    if made["metadata"].get("namespace") == "NS":
        made["metadata"]["namespace"] = namespace
    return made


def differences(plane: ControlPlane, seed: int, count: int) -> tuple[list[Difference], int]:
    """Ask both about generated manifests; return where they differ, and how many are refused."""
    namespace = plane.create_namespace(**{"resource.kubernetes.io/admin-access": "true"})
    found: list[Difference] = []
    refused = 0
    for manifest in manifests(plane.version, seed, count, namespace):
        server = refusal(plane.api(), manifest)
        ours = complaints(manifest, plane.version)
        refused += bool(server)
        if bool(server) != bool(ours):
            found.append(Difference(manifest, server, ours))
    return found, refused

"""`dra/off-by-default`: what a server has only where an administrator turned it on.

Sources: pkg/features/kube_features.go and `dropDisabledFields` in the strategy.go of
pkg/registry/resource of Kubernetes 1.34 to 1.38; `betaAPIGroupVersionsDisabledByDefault` and
`alphaAPIGroupVersionsDisabledByDefault` in pkg/controlplane/instance.go.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dragoman.allocation.features import on_by_default, stage
from dragoman.allocation.gates import BETA
from dragoman_base import versions
from dragoman_base.versions import Version
from dragoman_toolkit.linting.findings.edits import Edit
from dragoman_toolkit.linting.findings.finding import ERROR, Problem, Steps, render
from dragoman_toolkit.linting.knowledge.context import Context
from dragoman_toolkit.linting.manifests.manifestobjects import Object, mapping, sequence

OFF_BY_DEFAULT = "dra/off-by-default"
DROPS = "the API server drops the field"
_KEEPS = "the API server stores the field, and the scheduler does not know it"
_REFUSES = "the API server drops the value, and rejects the attribute without one"
_DEVICE: Mapping[str, str] = {
    "taints": "DRADeviceTaints",
    "consumesCounters": "DRAPartitionableDevices",
    "nodeName": "DRAPartitionableDevices",
    "nodeSelector": "DRAPartitionableDevices",
    "allNodes": "DRAPartitionableDevices",
    "bindsToNode": "DRADeviceBindingConditions",
    "bindingConditions": "DRADeviceBindingConditions",
    "bindingFailureConditions": "DRADeviceBindingConditions",
    "allowMultipleAllocations": "DRAConsumableCapacity",
    "nodeAllocatableResources": "DRANodeAllocatableResources",
    "compatibilityGroups": "DRADeviceCompatibilityGroups",
}
_SLICE: Mapping[str, str] = {
    "sharedCounters": "DRAPartitionableDevices",
    "perDeviceNodeSelection": "DRAPartitionableDevices",
    "partitionTypeAttribute": "DRAPartitionableDevicesType",
    "skipNodeOperations": "DRAOptionalNodeOperations",
}
_REQUEST: Mapping[str, str] = {
    "tolerations": "DRADeviceTaints",
    "capacity": "DRAConsumableCapacity",
    "derivedAttributes": "DRADerivedAttributes",
    "adminAccess": "DRAAdminAccess",
}
_KEPT = ("tolerations", "distinctAttribute")
"""What the strategy of claims does not drop."""
_LISTS = ("bools", "ints", "strings", "versions")


def off_version(obj: Object, context: Context) -> str:
    """Return the group and version of an object that a server has only on demand; else empty."""
    unstable = "alpha" in obj.version or "beta" in obj.version
    ours = obj.in_group or obj.group == "scheduling.k8s.io"
    return obj.api_version if unstable and ours and obj.api_version not in context.served else ""


def check_version(obj: Object, context: Context, edits: tuple[Edit, ...]) -> Iterator[Problem]:
    """Find an object in a version that is off by default and that no better one replaces."""
    version = off_version(obj, context)
    if version:
        message = (
            f"Kubernetes {context.kubernetes} serves {version} only with"
            f" --runtime-config={version}=true, and rejects this {obj.kind} by default"
        )
        instead = f"--runtime-config {version} checks for a server that has it"
        yield Problem(OFF_BY_DEFAULT, ("apiVersion",), message, instead, ERROR, edits, at_key=True)


def check_gates(obj: Object, context: Context) -> Iterator[Problem]:
    """Find fields whose feature gate is off by default, once for each gate."""
    told: set[str] = set()
    for steps, gate, effect in _gated(obj):
        if gate in told or _is_on(gate, context):
            continue
        told.add(gate)
        message = (
            f"{render(steps)}: needs the feature gate {gate}, which is off by default in Kubernetes"
            f" {context.kubernetes}: {effect}"
        )
        instead = f"--feature-gates {gate}=true checks for a server that has it on"
        if later := _promotion(gate, context.api.version):
            instead += f"; it is {later}"
        yield Problem(OFF_BY_DEFAULT, steps, message, instead)


def _promotion(gate: str, version: Version) -> str:
    """Say from which later version on a gate is on by default; empty where none is known."""
    for later in (one for one in versions.KNOWN if one > version):
        if on_by_default(gate, later):
            is_beta = stage(gate, later) == BETA
            return f"{'on by default' if is_beta else 'GA'} in {versions.name(later)}"
    return ""


def _is_on(gate: str, context: Context) -> bool:
    version: Version = context.api.version
    return context.gates.get(gate, on_by_default(gate, version))


def _gated(obj: Object) -> Iterator[tuple[Steps, str, str]]:
    """Yield the fields of an object that have a gate, with what happens without it."""
    if not obj.in_group:
        return
    for request in obj.requests:
        yield from _set(request.steps, request.body, _REQUEST)
    if obj.claim_steps is not None:
        for index, one in enumerate(sequence(obj.devices.get("constraints"))):
            place = (*obj.claim_steps, "constraints", index)
            yield from _set(place, mapping(one), {"distinctAttribute": "DRAConsumableCapacity"})
    spec = mapping(obj.tree.get("spec"))
    if obj.kind == "DeviceClass":
        yield from _set(("spec",), spec, {"extendedResourceName": "DRAExtendedResource"})
    elif obj.kind == "DeviceTaintRule":
        yield ("spec",), "DRADeviceTaintRules", "no controller applies the rule"
    elif obj.kind == "ResourceSlice":
        yield from _set(("spec",), spec, _SLICE)
        for index, one in enumerate(map(mapping, sequence(spec.get("devices")))):
            basic = ("basic",) if isinstance(one.get("basic"), dict) else ()
            yield from _of_device(
                ("spec", "devices", index, *basic), one["basic"] if basic else one
            )


def _set(
    steps: Steps, holder: dict[str, Any], gates: Mapping[str, str]
) -> Iterator[tuple[Steps, str, str]]:
    for name, gate in gates.items():
        if holder.get(name):
            yield (*steps, name), gate, _KEEPS if name in _KEPT else DROPS


def _of_device(place: Steps, device: dict[str, Any]) -> Iterator[tuple[Steps, str, str]]:
    yield from _set(place, device, _DEVICE)
    for name, value in mapping(device.get("attributes")).items():
        for kind in _LISTS:
            if mapping(value).get(kind):
                yield (*place, "attributes", name, kind), "DRAListTypeAttributes", _REFUSES
    for name, value in mapping(device.get("capacity")).items():
        policy = {"requestPolicy": "DRAConsumableCapacity"}
        yield from _set((*place, "capacity", name), mapping(value), policy)

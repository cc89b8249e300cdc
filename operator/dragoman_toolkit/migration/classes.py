"""The DeviceClasses that serve the resources of device plug-ins under the same names."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dragoman.model.deviceclass import DeviceClass
from dragoman_base.words import counted
from dragoman_toolkit.migration.counterparts import SRIOV
from dragoman_toolkit.migration.losses import Code
from dragoman_toolkit.migration.settings import Pool
from dragoman_toolkit.migration.sources import Resource, Sources

MANAGED_BY = {"app.kubernetes.io/managed-by": "dragoman"}
_OTHERS = re.compile(r"[^a-z0-9.-]")


@dataclass(frozen=True, slots=True)
class MadeClass:
    """A class that is missing."""

    resource: str
    manifest: dict[str, Any]
    comment: str  # What it selects in the cluster
    usable: bool  # Whether it selects a device, or its driver publishes none yet
    note: str = ""  # What an administrator has to do before it serves


@dataclass(frozen=True, slots=True)
class NoClass:
    """A resource for which no class can be made."""

    resource: str
    code: Code
    asked: bool  # Whether pods ask for it


def made(
    resources: Iterable[Resource], sources: Sources, taken: Collection[str], asked: Collection[str]
) -> Iterator[MadeClass | NoClass]:
    """Yield the class of each resource that no class serves with the same devices.

    Args:
        resources: Of the cluster.
        sources: Finds the devices that a class selects.
        taken: Names of classes that exist.
        asked: Resources that pods ask for.
    """
    for one in resources:
        stands = one.counterpart
        if not stands.known:
            if one.serving is None:
                code = Code(stands.loss or Code.UNKNOWN_RESOURCE)
                yield NoClass(one.name, code, one.name in asked)
            continue
        own = DeviceClass(one.name, stands.selectors)
        devices = sources.selected(own)
        note = ""
        if one.serving is not None:
            served = {device.id for device in sources.selected(one.serving)}
            same = not devices or served == {device.id for device in devices}
            if same and not sources.selects_no_parts(one):
                continue
            note = (
                f"class {one.serving.name} names {one.name} and selects other devices: the newest "
                f"class serves, so delete extendedResourceName of {one.serving.name}"
            )
        yield MadeClass(
            one.name,
            _manifest(one.name, stands.selectors, taken),
            _comment(one, Counter(device.node for device in devices)),
            usable=bool(devices) or not one.published,
            note=note,
        )


def _comment(one: Resource, nodes: Counter[str]) -> str:
    driver = one.counterpart.driver
    devices = nodes.total()
    if not devices and not one.published:
        return f"not evaluated: no slices of {driver} on nodes with {one.name}"
    if not devices:
        return f"NoDevices: {driver} publishes devices, and none that stands for {one.name}"
    named = [node for node in nodes if node]
    where = f" on {named[0] if len(named) == 1 else counted(len(named), 'node')}" if named else ""
    return f"selects {counted(devices, 'device')}{where}"


def _manifest(resource: str, selectors: Iterable[str], taken: Collection[str]) -> dict[str, Any]:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {
            "name": class_name(resource, taken),
            "labels": dict(MANAGED_BY),
        },
        "spec": {
            "extendedResourceName": resource,
            "selectors": [{"cel": {"expression": one}} for one in selectors],
        },
    }


def policies(pools: Iterable[Pool]) -> Iterator[dict[str, Any]]:
    """Yield what makes the SR-IOV driver publish the names of pools as attributes of devices.

    Source: dra-driver-sriov pkg/api/sriovdra/v1alpha1, SriovResourcePolicy and DeviceAttributes.
    """
    for one in pools:
        name = _OTHERS.sub("-", one.name.lower())
        head = {"apiVersion": f"{SRIOV}/v1alpha1"}
        metadata = {"name": name, "namespace": "dra-driver-sriov"}
        labels = {**MANAGED_BY, "pool": name}
        attribute = {"k8s.cni.cncf.io/resourceName": {"string": one.name}}
        yield {
            **head,
            "kind": "DeviceAttributes",
            "metadata": {**metadata, "labels": labels},
            "spec": {"attributes": attribute},
        }
        terms = [
            {"key": key, "operator": "In", "values": [value]}
            for key, value in sorted(one.nodes.items())
        ]
        selector = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": terms}]}}
        filters = [{key: [*found] for key, found in row.items()} for row in one.filters]
        config = {
            "deviceAttributesSelector": {"matchLabels": {"pool": name}},
            "resourceFilters": filters,
        }
        yield {
            **head,
            "kind": "SriovResourcePolicy",
            "metadata": {**metadata, "labels": dict(MANAGED_BY)},
            "spec": {**(selector if terms else {}), "configs": [config]},
        }


def class_name(resource: str, taken: Collection[str]) -> str:
    """Return the name of the class that is made for a resource."""
    prefix, _, last = resource.partition("/")
    name = _OTHERS.sub("-", f"{last}.{prefix}".lower())
    return f"{name}-extended" if name in taken else name

"""Where each node gets an extended resource from: its device plug-in, devices of a class, or both.

kube-scheduler decides per node (KEP-5004): a class serves a resource only where
`status.allocatable` has 0 of it or lacks it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from dragoman.allocation.extendedresources import class_of, is_extended
from dragoman.inventory.inventory import Classes, Inventory, InventoryDevice
from dragoman.model.amounts import AmountError, amount
from dragoman.model.device import parse_device
from dragoman.model.deviceclass import DeviceClass
from dragoman.model.deviceid import DeviceID
from dragoman.model.fields import part, parts
from dragoman_base.words import natural
from dragoman_toolkit.migration.counterparts import (
    NVIDIA,
    SRIOV,
    Around,
    Counterpart,
    Exactness,
    counterpart,
)
from dragoman_toolkit.migration.settings import NOTHING_SAID, Settings

Document = Mapping[str, Any]
_GPU = "nvidia.com/gpu"
_LIKE = {
    name: {"string": value}
    for name, value in (
        *(("uuid", "GPU-0"), ("profile", "1g.5gb"), ("productName", "NVIDIA A100-SXM4-40GB")),
        *(("brand", "Nvidia"), ("architecture", "Ampere")),
    )
} | {name: {"version": "12.0.0"} for name in ("driverVersion", "cudaDriverVersion")}
"""Attributes of a device of dra-driver-nvidia-gpu."""


class NodeSource(StrEnum):
    """What serves a resource on a node."""

    PLUGIN = "plugin"
    DRA = "dra"
    BOTH = "both"
    """A plug-in, and devices that the class selects as well: two pods can get one device."""
    STALE = "stale"
    """A plug-in that has ended: capacity or pods are left, allocatable is 0."""


@dataclass(frozen=True, slots=True)
class ResourceNode:
    """One resource on one node."""

    name: str  # Of the node
    source: NodeSource
    now: int  # What pods can get of it today
    devices: int  # Devices there that the serving class selects
    replicas: int = 1  # Pods that share a device today
    strategy: str = ""  # How they share it, such as `time-slicing`; empty where they do not

    @property
    def then(self) -> int:
        """Devices that pods can get once DRA serves the resource there."""
        return self.devices or self.now // self.replicas


@dataclass(frozen=True)
class Resource:
    """An extended resource of the cluster."""

    name: str
    counterpart: Counterpart  # Which devices stand for it
    serving: DeviceClass | None  # The class that names it; None where none does
    selecting: DeviceClass | None  # The serving class, or the one that would be made
    rivals: tuple[DeviceClass, ...]  # Further classes that name it
    nodes: tuple[ResourceNode, ...]  # That have it, or devices for it, by name
    published: bool  # Whether the driver publishes devices where the resource is
    devices: tuple[InventoryDevice, ...] = ()  # That `selecting` selects
    strategy: str = ""  # How pods share devices, such as `time-slicing`, where nodes do
    mig: str = ""  # NVIDIA's `migStrategy` where nodes say one

    # Every workload that asks for the resource asks for these, and a cluster has many of both.

    def of(self, source: NodeSource) -> tuple[str, ...]:
        """Return the nodes with a source."""
        return self._by_source[source]

    @cached_property
    def _by_source(self) -> Mapping[NodeSource, tuple[str, ...]]:
        return {
            source: tuple(one.name for one in self.nodes if one.source is source)
            for source in NodeSource
        }

    @cached_property
    def now(self) -> int:
        """What pods can get today."""
        return sum(one.now for one in self.nodes)

    @cached_property
    def then(self) -> int:
        """Devices with DRA alone; 0 where no device stands for it."""
        lost = self.counterpart.exact in (Exactness.NONE, Exactness.LOST)
        return 0 if lost and not self.serving else sum(one.then for one in self.nodes)

    @cached_property
    def most(self) -> int:
        """The most that pods can get on one node today."""
        return max((one.now for one in self.nodes), default=0)

    @cached_property
    def replicas(self) -> int:
        """The most pods that share a device."""
        return max((one.replicas for one in self.nodes), default=1)

    @property
    def exact(self) -> Exactness:
        """Whether pods get with DRA what they get today."""
        return Exactness.LOST if self.replicas > 1 else self.counterpart.exact


class Sources:
    """Finds the resources of a cluster.

    Args:
        inventory: Of the cluster.
        nodes: Reduced Nodes.
        mapped: Classes for resources that are not known, by resource.
        settings: What configs of plug-ins say.
    """

    def __init__(
        self,
        inventory: Inventory,
        nodes: Iterable[Document],
        mapped: Mapping[str, str],
        settings: Settings = NOTHING_SAID,
    ) -> None:
        self.inventory = inventory
        self.settings = settings
        self.nodes = sorted(nodes, key=lambda one: natural(_name(one)))
        self.mapped = mapped
        self._evaluator = Classes(inventory.profile)

    def resources(self, asked: Iterable[str], only: Iterable[str] = ()) -> tuple[Resource, ...]:
        """Return the resources that nodes publish, classes name or workloads ask for, by name."""
        names = {*asked} | {
            name
            for node in self.nodes
            for field in ("allocatable", "capacity")
            for name in part(node, "status", field)
            if is_extended(name)
        }
        names |= {one.extended_resource for one in self.inventory.world.classes.values()}
        wanted = {*only}
        found = (one for one in sorted(names - {""}) if not wanted or one in wanted)
        return tuple(map(self._resource, found))

    def _resource(self, name: str) -> Resource:
        labels = [part(node, "metadata", "labels") for node in self._with(name)]
        migs = [self.settings.mig(one) for one in labels if name.startswith("nvidia.com/")]
        mig = "single" if "single" in migs else next(filter(None, migs), "")
        stands = self._counterpart(name, single=mig == "single")
        classes = self.inventory.world.classes
        serving = class_of(name, classes)
        rivals = [one for one in classes.values() if one.extended_resource == name]
        selecting = serving or (DeviceClass(name, stands.selectors) if stands.known else None)
        devices = self.selected(selecting) if selecting else ()
        counts = Counter(one.node for one in devices)
        nodes = [self._on(name, node, counts[_name(node)]) for node in self.nodes]
        return Resource(
            name=name,
            counterpart=stands,
            serving=serving,
            selecting=selecting,
            rivals=tuple(sorted((one for one in rivals if one is not serving), key=_class_name)),
            nodes=tuple(one for one in nodes if one),
            published=self._published(stands.driver, [one for one in nodes if one]),
            devices=devices,
            strategy=next((one.strategy for one in nodes if one and one.strategy), ""),
            mig=mig,
        )

    def _counterpart(self, name: str, *, single: bool) -> Counterpart:
        if mapped := self.inventory.world.classes.get(self.mapped.get(name, "")):
            return Counterpart(given=tuple(filter(None, mapped.selectors)) or ("true",))
        pools = {name} if self.settings.pool(name) else set()
        around = Around(
            single,
            self._partitioned,
            self._drivers,
            self._sriov | pools,
            self.settings.shared,
        )
        return counterpart(name, around)

    @property
    def classes(self) -> Iterable[DeviceClass]:
        """The classes of the cluster, by name."""
        found = self.inventory.world.classes
        return [found[name] for name in sorted(found)]

    def selected(self, kind: DeviceClass) -> tuple[InventoryDevice, ...]:
        """Return the devices that a class selects."""
        found = self.inventory.devices.values()
        return tuple(
            one
            for one in found
            if one.content and self._evaluator.selects(kind, one.id, one.content)
        )

    def selects_no_parts(self, one: Resource) -> bool:
        """Whether nodes count MIG devices as GPUs, and the class that serves them selects none.

        A class is asked about devices like those of the driver, which publishes them too late.
        """
        if one.serving is None or one.mig != "single" or not one.name.startswith(_GPU):
            return False
        labels = (part(node, "metadata", "labels") for node in self._with(one.name))
        if not any(map(_in_parts, labels)):
            return False
        whole, piece = ({**_LIKE, "type": {"string": kind}} for kind in ("gpu", "mig"))
        evaluator = Classes(self.inventory.profile)
        like = DeviceID(NVIDIA, "", "")
        return [
            evaluator.selects(one.serving, like, parse_device(device, NVIDIA, "").content)
            for device in ({"name": "like", "attributes": found} for found in (whole, piece))
        ] == [True, False]

    def _with(self, resource: str) -> Iterable[Document]:
        for node in self.nodes:
            if resource in part(node, "status", "allocatable"):
                yield node

    def _on(self, resource: str, node: Document, devices: int) -> ResourceNode | None:
        status = part(node, "status")
        allocatable = count(part(status, "allocatable"), resource)
        capacity = count(part(status, "capacity"), resource)
        labels = part(node, "metadata", "labels")
        share = self.settings.share(resource, labels)
        replicas, strategy = (share.replicas, share.strategy) if share else (1, "")
        if allocatable:
            source = NodeSource.BOTH if devices else NodeSource.PLUGIN
            return ResourceNode(_name(node), source, allocatable, devices, replicas, strategy)
        if devices:
            return ResourceNode(_name(node), NodeSource.DRA, devices, devices)
        held = (_name(node), resource) in self._holding
        if capacity or (held and resource in part(status, "allocatable")):
            return ResourceNode(_name(node), NodeSource.STALE, capacity if held else 0, 0, replicas)
        return None

    @cached_property
    def _holding(self) -> frozenset[tuple[str, str]]:
        """Nodes with pods that ask for a resource and have not ended."""
        return frozenset(
            (node, name)
            for one in self.inventory.world.pods.values()
            if one.pod.phase not in ("Succeeded", "Failed")
            if (node := str(part(one.document, "spec").get("nodeName") or ""))
            for container in parts(one.document, "spec", "containers")
            for name in part(container, "resources", "requests")
            if is_extended(name)
        )

    def _published(self, driver: str, nodes: Iterable[ResourceNode]) -> bool:
        """Whether a driver has slices on a node that has the resource by its plug-in.

        A driver that runs on other nodes alone says nothing about the devices of these.
        """
        plugin = {one.name for one in nodes if one.source is not NodeSource.DRA}
        own = [one for one in self.inventory.devices.values() if one.id.driver == driver]
        return any(not plugin or one.node in plugin for one in own)

    @cached_property
    def _drivers(self) -> frozenset[str]:
        return frozenset(pool.driver for pool in self.inventory.pools)

    @cached_property
    def _partitioned(self) -> bool:
        return any(one not in ("", "amdgpu") for one in self._texts("gpu.amd.com", "type"))

    @cached_property
    def _sriov(self) -> frozenset[str]:
        """Resource names that SR-IOV devices carry as an attribute."""
        return frozenset(self._texts(SRIOV, "k8s.cni.cncf.io/resourceName")) - {""}

    def _texts(self, driver: str, attribute: str) -> list[str]:
        """Return an attribute of each device of a driver; empty for a device without it."""
        return [
            str(one.content.attributes.get(attribute, {}).get("string") or "")
            for one in self.inventory.devices.values()
            if one.id.driver == driver and one.content
        ]


def _in_parts(labels: Document) -> bool:
    """Whether a node's GPUs are in MIG mode, by gpu-feature-discovery or NVIDIA's MIG manager."""
    product, wanted = (
        str(labels.get(f"nvidia.com/{one}")) for one in ("gpu.product", "mig.config")
    )
    return "-MIG-" in product or wanted not in ("None", "", "all-disabled")


def count(amounts: Document, resource: str) -> int:
    """Return a whole number of a Node's status; 0 for what is none."""
    try:
        return amount(str(amounts.get(resource) or "0")).nanos // 10**9
    except (AmountError, ValueError):
        return 0


def _name(node: Document) -> str:
    return str(part(node, "metadata").get("name") or "")


def _class_name(kind: DeviceClass) -> str:
    return kind.name

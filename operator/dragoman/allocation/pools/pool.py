"""Pools of devices as one node sees them: generation, completeness, validity, order.

Source: `GatherPools` of k8s.io/dynamic-resource-allocation/structured, described in section "pools"
of docs/allocation.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from dragoman.allocation.facts.amounts import Amount
from dragoman.allocation.facts.objects import Content, CounterSet, Device, Node, PoolID, Slice
from dragoman.allocation.features import Profile
from dragoman.allocation.pools.nodeselector import NodeSelectorError, matches
from dragoman.allocation.pools.usage import PoolUsage, Usage

NODE_OPERATIONS: Final = "DRAOptionalNodeOperations"
"""What a node declares that can do without operations of the driver (1.37, alpha)."""

Counters = Mapping[tuple[str, str], Amount]
"""Counters of a pool by counter set and name."""


class Pool:
    """One pool, as seen from a node; frozen but for what is remembered of its usage.

    Attributes:
        id: Driver and name.
        generation: The one that counts.
        want: `resourceSliceCount`.
        have: Slices that were found of it.
        incomplete: Whether slices are missing or superfluous; then there are no devices.
        invalid: Why the pool cannot be used, empty if it can.
        slices: Slices with devices for the node, in the order of allocation.
        others: Slices with devices for other nodes, whose counters count.
        counters: What the counter sets hold.
        devices: All devices of `slices`.
        contents: Their contents.
        origins: The slice of each device.
        per_device: Whether devices are bound to nodes one by one.
        last: Whether the pool comes last because of binding conditions.
        alike: Whether another pool with the same devices serves requests in the same way.
        shape: Equal for pools that differ in names only.
    """

    __slots__ = (
        "_usage", "alike", "contents", "counters", "devices", "generation", "have", "id",
        "incomplete",
        "invalid", "last", "origins", "others", "per_device", "shape", "slices", "want",
    )  # fmt: skip

    def __init__(self, pool_id: PoolID, generation: int, have: int, want: int) -> None:
        self.id = pool_id
        self.generation = generation
        self.have = have
        self.want = want
        self.incomplete = False
        self.invalid = ""
        self.slices: tuple[Slice, ...] = ()
        self.others: tuple[Slice, ...] = ()
        self.counters: Counters = {}
        self.devices: tuple[Device, ...] = ()
        self.contents: tuple[Content, ...] = ()
        self.origins: tuple[Slice, ...] = ()
        self.per_device = False
        self.alike = False
        self.last = False
        self.shape: object = None
        self._usage: PoolUsage | None = None

    @property
    def usable(self) -> bool:
        """Whether devices can be allocated from the pool."""
        return not self.incomplete and not self.invalid

    @property
    def sort_key(self) -> tuple[bool, PoolID]:
        """Where the pool stands among all pools of a node."""
        return self.last, self.id

    def fill(self, slices: Sequence[Slice], others: Sequence[Slice], counters: Counters) -> None:
        """Set the content of a usable pool."""
        self.slices, self.others, self.counters = tuple(slices), tuple(others), counters
        self.devices = tuple(device for item in slices for device in item.devices)
        self.contents = tuple(device.content for device in self.devices)
        self.origins = tuple(item for item in slices for _ in item.devices)
        self.per_device = any(item.per_device for item in slices)
        self.alike = not self.per_device and not any(map(_special, slices))

    def usage(self, usage: Usage) -> PoolUsage:
        """Return what claims hold of the pool."""
        if self._usage is None:
            self._usage = PoolUsage(self, usage)
        return self._usage

    def forget_usage(self) -> None:
        """Look at the claims again on next use."""
        self._usage = None


def _special(item: Slice) -> bool:
    selector = item.node_selector
    return bool(item.skip_node_operations) or (selector is not None and len(selector.terms) > 1)


def skipped(item: Slice, profile: Profile) -> bool:
    """Tell whether the scheduler ignores a slice because of a feature that is off."""
    features = profile.features
    if not features.PartitionableDevices and (item.per_device is not None or item.shared_counters):
        return True
    return profile.new and not features.CompatibilityGroups and _has_groups(item)


def _has_groups(item: Slice) -> bool:
    return any(
        consumption.groups for device in item.devices for consumption in device.content.consumes
    )


def counters_everywhere(profile: Profile) -> bool:
    """Tell whether counter slices belong to the pool on every node, whatever they say."""
    return profile.stable or not profile.new


def relevant(item: Slice, node: Node, profile: Profile) -> bool:
    """Tell whether a slice has devices for a node.

    Raises:
        NodeSelectorError: with the scheduler's text.
    """
    if item.shared_counters and counters_everywhere(profile):
        return True
    if item.node_name:
        return item.node_name == node.name
    if item.all_nodes:
        return True
    within = "gather pool information: failed to perform node selection for"
    if item.node_selector is not None:
        try:
            return matches(item.node_selector, node)
        except NodeSelectorError as error:
            raise NodeSelectorError(f"{within} slice {item.name}: {error}") from None
    if not item.per_device:
        return False
    for device in item.devices:
        try:
            if device_on_node(device.content, node):
                return True
        except NodeSelectorError as error:
            where = f"device {device.name} in slice {item.name}"
            raise NodeSelectorError(f"{within} {where}: {error}") from None
    return False


def device_on_node(content: Content, node: Node) -> bool:
    """Tell whether a device of a slice with perDeviceNodeSelection can be used on a node.

    Raises:
        NodeSelectorError: with the scheduler's text.
    """
    if content.node_name:
        return content.node_name == node.name
    if content.all_nodes:
        return True
    return content.node_selector is not None and matches(content.node_selector, node)


def assemble(
    pool_id: PoolID, candidates: Iterable[Slice], everything: Iterable[Slice], profile: Profile
) -> Pool | None:
    """Make a pool of the slices that are relevant for a node.

    Args:
        pool_id: The pool.
        candidates: Its relevant slices, in the order of their discovery.
        everything: All slices of the pool in the cluster.
        profile: Which scheduler looks.

    Returns:
        The pool; None where no slice is relevant, or all of them are of an old generation.
    """
    found: list[Slice] = []
    for item in candidates:
        if found and item.generation < found[0].generation:
            continue
        if found and item.generation > found[0].generation:
            found.clear()
        found.append(item)
    if not found:
        return None
    generation, want = found[0].generation, found[0].slice_count
    whole: Sequence[Slice] = found
    if len(found) != want:
        if any(item.generation > generation for item in everything):
            return None
        whole = [item for item in everything if item.generation == generation]
        if profile.new and not profile.features.CompatibilityGroups:
            whole = [item for item in whole if not _has_groups(item)]
    pool = Pool(pool_id, generation, len(whole), want)
    if len(whole) != want:
        pool.incomplete = True
    else:
        _build(pool, found, whole, profile)
    return pool


def _build(pool: Pool, found: list[Slice], whole: Sequence[Slice], profile: Profile) -> None:
    if not profile.stable:
        found = sorted(found, key=lambda item: item.name)
    partitionable = profile.features.PartitionableDevices
    mine = {item.name for item in found}
    rest = [item for item in whole if item.name not in mine]
    devices = [item for item in found if not (partitionable and item.shared_counters)]
    holders = [item for item in found if partitionable and item.shared_counters]
    checked = devices
    if counters_everywhere(profile):
        checked = found
    else:
        holders += [item for item in rest if partitionable and item.shared_counters]
        rest = [item for item in rest if not (partitionable and item.shared_counters)]
    counters: Counters = {}
    pool.invalid = _duplicate_device(devices)
    if partitionable and not pool.invalid:
        counters, pool.invalid = _counters(
            set_ for item in holders for set_ in item.shared_counters
        )
        pool.invalid = pool.invalid or _dangling(counters, holders, [*checked, *rest])
    if not pool.invalid:
        pool.fill(devices, rest if partitionable else (), counters)
        if not profile.stable:
            pool.last = any(content.binding_conditions is not None for content in pool.contents)


def _duplicate_device(slices: Iterable[Slice]) -> str:
    names: set[str] = set()
    for item in slices:
        for device in item.devices:
            if device.name in names:
                return f"duplicate device name {device.name}"
            names.add(device.name)
    return ""


def _counters(sets: Iterable[CounterSet]) -> tuple[Counters, str]:
    counters: dict[tuple[str, str], Amount] = {}
    names: set[str] = set()
    for item in sets:
        if item.name in names:
            return {}, f"duplicate counter set name {item.name}"
        names.add(item.name)
        counters.update({(item.name, name): value for name, value in item.counters.items()})
    return counters, ""


def _dangling(counters: Counters, holders: Iterable[Slice], slices: Iterable[Slice]) -> str:
    sets = {item.name for holder in holders for item in holder.shared_counters}
    for item in slices:
        for device in item.devices:
            for consumption in device.content.consumes:
                if consumption.counter_set not in sets:
                    return f"counter set {consumption.counter_set} not found"
                for name in consumption.counters:
                    if (consumption.counter_set, name) not in counters:
                        return f"counter {name} not found in counter set {consumption.counter_set}"
    return ""

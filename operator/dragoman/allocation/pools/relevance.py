"""Which slices have devices for a node.

Source: `GatherPools` of k8s.io/dynamic-resource-allocation/structured.
"""

from collections.abc import Mapping

from dragoman.allocation.features import Profile
from dragoman.allocation.pools.nodeselector import NodeSelectorError, matches
from dragoman.model.device import Content
from dragoman.model.nodes import Node
from dragoman.model.nodeselector import NodeSelector
from dragoman.model.slice import Slice

NODE_OPERATIONS = "DRAOptionalNodeOperations"
"""A node with this declared feature needs no node operations of the driver (1.37, alpha)."""


def skipped(item: Slice, profile: Profile) -> bool:
    """Tell whether the scheduler ignores a slice because of a feature that is off."""
    features = profile.features
    if not features.PartitionableDevices and (item.per_device is not None or item.shared_counters):
        return True
    return profile.compatibility_groups and not features.CompatibilityGroups and has_groups(item)


def has_groups(item: Slice) -> bool:
    """Tell whether a device of a slice declares compatibility groups (1.37, alpha)."""
    return any(
        consumption.groups for device in item.devices for consumption in device.content.consumes
    )


def counters_everywhere(profile: Profile) -> bool:
    """Tell whether counter slices belong to the pool on every node, whatever they say."""
    return profile.stable or not profile.counters_by_node


def relevant(item: Slice, node: Node, profile: Profile) -> bool:
    """Tell whether a slice has devices for a node.

    Raises:
        NodeSelectorError: With the scheduler's text.
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
        NodeSelectorError: With the scheduler's text.
    """
    if content.node_name:
        return content.node_name == node.name
    if content.all_nodes:
        return True
    return content.node_selector is not None and matches(content.node_selector, node)


class ConditionalSlices:
    """Such slices of all pools; an equal selector of several slices is evaluated once a node.

    Args:
        profile: Which scheduler looks.
        order: Number of each slice by name, in the order in which the scheduler meets them.
    """

    def __init__(self, profile: Profile, order: Mapping[str, int]) -> None:
        self._profile = profile
        self._order = order
        self._selected: dict[NodeSelector, dict[str, Slice]] = {}
        self._per_device: dict[str, Slice] = {}

    def put(self, item: Slice) -> bool:
        """Add a slice; answer whether it is one of these."""
        if item.node_selector is not None:
            self._selected.setdefault(item.node_selector, {})[item.name] = item
        elif item.per_device:
            self._per_device[item.name] = item
        else:
            return False
        return True

    def remove(self, item: Slice) -> bool:
        """Remove a slice; answer whether it was one of these."""
        if item.node_selector is None:
            return self._per_device.pop(item.name, None) is not None
        slices = self._selected.get(item.node_selector, {})
        if slices.pop(item.name, None) is None:
            return False
        if not slices:
            del self._selected[item.node_selector]
        return True

    def of_node(self, node: Node) -> list[Slice]:
        """Return the slices that have devices for a node.

        Raises:
            NodeSelectorError: Of the first slice with an invalid selector.
        """
        found: list[Slice] = []
        try:
            for selector, slices in self._selected.items():
                if matches(selector, node):
                    found += slices.values()
            found += [
                item for item in self._per_device.values() if relevant(item, node, self._profile)
            ]
        except NodeSelectorError:
            everything = [item for slices in self._selected.values() for item in slices.values()]
            everything += self._per_device.values()
            for item in sorted(everything, key=lambda item: self._order[item.name]):
                relevant(item, node, self._profile)
            raise
        return found

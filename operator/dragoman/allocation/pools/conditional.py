"""Slices that belong to nodes by their labels, or by the nodes of single devices."""

from collections.abc import Mapping

from dragoman.allocation.features import Profile
from dragoman.allocation.pools.nodeselector import NodeSelectorError, matches
from dragoman.allocation.pools.relevance import relevant
from dragoman.model.nodes import Node
from dragoman.model.nodeselector import NodeSelector
from dragoman.model.slice import Slice


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

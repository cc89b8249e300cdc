"""Compatibility groups of partitionable devices (1.37, alpha, gate DRADeviceCompatibilityGroups).

Devices that draw from one counter set must have a group in common. A device without groups goes
with such devices only.
"""

from dragoman.allocation.pools.pool import PoolUsage
from dragoman.model.device import Content

Intersection = frozenset[str] | None
"""What the devices of a counter set have in common; None while none of them has groups."""

Before = tuple[tuple[str, Intersection, bool], ...]


class Groups:
    """The groups of one pool during a search, by counter set; without an entry nothing is taken."""

    def __init__(self, usage: PoolUsage) -> None:
        self._common: dict[str, Intersection] = {}
        for content in usage.held_contents():
            for consumption in content.consumes:
                self._add(consumption.counter_set, frozenset(consumption.groups))

    def admit(self, content: Content) -> Before | None:
        """Take a device in; return what `restore` needs, or None if it does not go with others."""
        before: list[tuple[str, Intersection, bool]] = []
        for consumption in content.consumes:
            name, groups = consumption.counter_set, frozenset(consumption.groups)
            if not self._admits(name, groups):
                self.restore(tuple(before))
                return None
            before.append((name, self._common.get(name), name in self._common))
            self._add(name, groups)
        return tuple(before)

    def restore(self, before: Before) -> None:
        """Undo the last `admit` that is not undone."""
        for name, common, existed in reversed(before):
            if existed:
                self._common[name] = common
            else:
                del self._common[name]

    def _admits(self, name: str, groups: frozenset[str]) -> bool:
        if name not in self._common:
            return True
        common = self._common[name]
        if common is None:
            return not groups
        return bool(common & groups)

    def _add(self, name: str, groups: frozenset[str]) -> None:
        if name not in self._common:
            self._common[name] = groups or None
            return
        common = self._common[name]
        if common is not None and groups:
            self._common[name] = common & groups

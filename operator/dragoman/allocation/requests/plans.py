"""What one request takes of devices of one content."""

from collections.abc import Sequence

from dragoman.allocation.features import Profile
from dragoman.allocation.pools.taints import untolerated
from dragoman.allocation.rules.capacity import Amounts
from dragoman.model.device import Content, qualified
from dragoman.model.taints import Toleration

TAINT, COUNTERS = "taint", "counters"
"""What blocks devices: a taint that is not tolerated, or counters without their feature."""


class Plan:
    """What one request means for devices of one content.

    Attributes:
        blocked: Why no such device can be taken although it is selectable; empty if it can.
        consumed: What is taken of each capacity; empty without consumable capacity.
        nanos: The same as numbers, beside what the device has; by the names that usage has.
        alone: Whether a device without other shares has enough.
        shareable: Whether the device allows multiple allocations.
        needs: Counters in nanos by set and name.
    """

    __slots__ = ("alone", "blocked", "consumed", "content", "nanos", "needs", "shareable", "simple")

    def __init__(
        self,
        content: Content,
        consumed: Amounts,
        tolerations: Sequence[Toleration],
        profile: Profile,
    ) -> None:
        features = profile.features
        self.content = content
        self.consumed = consumed
        self.nanos = [
            (
                qualified(name, content.driver) if profile.names_qualified else name,
                value.nanos,
                content.capacity[name].value.nanos,
            )
            for name, value in consumed.items()
        ]
        self.alone = all(need <= have for _, need, have in self.nanos)
        self.shareable = features.ConsumableCapacity and content.shareable
        self.needs = _needs(content)
        self.blocked = ""
        if content.consumes and not features.PartitionableDevices:
            self.blocked = COUNTERS
        elif features.DeviceTaints and untolerated(content.taints, tolerations):
            self.blocked = TAINT
        self.simple = not (self.needs or self.shareable or self.blocked or content.consumes)


def _needs(content: Content) -> dict[tuple[str, str], int]:
    needs: dict[tuple[str, str], int] = {}
    for item in content.consumes:
        for name, value in item.counters.items():
            key = (item.counter_set, name)
            needs[key] = needs.get(key, 0) + value.nanos
    return needs

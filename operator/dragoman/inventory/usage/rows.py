"""Rows of `top`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dragoman.inventory.inventory import InventoryDevice
from dragoman.model.deviceid import DeviceID, PoolID


@dataclass(frozen=True, slots=True)
class Share:
    """How much of one capacity shares take.

    Attributes:
        capacity: Its name.
        consumed: By all shares, in units of 10^-9.
        total: Of all shareable devices, in units of 10^-9.
    """

    capacity: str
    consumed: int
    total: int


@dataclass(frozen=True, slots=True)
class ClassRow:
    """Devices of one DeviceClass.

    Attributes:
        name: Of the class.
        drivers: Of its devices, sorted.
        free: Claims for one device that would still be allocated, one after the other.
        used: Allocated to claims, without admin access.
        tainted: Idle and tainted.
        held: Kept out of service.
        blocked: Idle partitions for which the shared counters do not suffice beside the free ones.
        unusable: Idle devices of incomplete and invalid pools; not part of `devices`.
        lost: Allocated, but in no current slice; not part of `devices`.
        pending: Pods that wait for a claim of the class.
        shares: Of devices that allow multiple allocations.
        failure: Why a selector of the class fails, empty where none does.
    """

    name: str
    drivers: tuple[str, ...]
    free: int
    used: int
    tainted: int
    held: int
    blocked: int
    unusable: int
    lost: int
    pending: int
    shares: tuple[Share, ...] = ()
    failure: str = ""

    @property
    def devices(self) -> int:
        """All devices that count."""
        return self.free + self.used + self.tainted + self.held + self.blocked


@dataclass(frozen=True, slots=True)
class NodeRow:
    """Devices of one node.

    Attributes:
        node: Its name; empty for devices that several nodes can use.
        free: As in `ClassRow`.
        devices: As in `ClassRow`.
        users: Devices by holder: a pod, else a claim; the largest first.
        tainted: Tainted devices with their taints, used or not.
        pools: Pools of the node that do not count.
    """

    node: str
    free: int
    devices: int
    users: tuple[tuple[str, int], ...] = ()
    tainted: tuple[InventoryDevice, ...] = ()
    pools: tuple[PoolID, ...] = ()


@dataclass(frozen=True, slots=True)
class PodRow:
    """Devices of one pod.

    Attributes:
        pod: `namespace/name`.
        node: Where it runs, empty while it waits.
        devices: Allocated to its claims, by class.
        waiting: Claims without devices.
        since: When the first of its claims was allocated, as an API timestamp.
    """

    pod: str
    node: str
    devices: Mapping[str, int]
    waiting: tuple[str, ...] = ()
    since: str = ""
    ids: tuple[DeviceID, ...] = field(default=(), compare=False)

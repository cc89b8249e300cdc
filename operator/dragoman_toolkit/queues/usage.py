"""Rows of `kubectl dra top queues`: what a queue is charged, what its pods hold, and every reason.

CHARGED is the manager's own number. It is HELD, and what is charged but not held, less what is held
but not charged. What these sums leave open is unexplained: no reason is ever estimated.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from dragoman.allocation.extendedresources import is_extended
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.snapshots.queuekinds import KAI_LABEL
from dragoman_toolkit.queues.facts import (
    KUEUE_GATES,
    QUEUE_LABEL,
    VOLCANO_GATE,
    Queues,
    gates_of,
    labels_of,
)
from dragoman_toolkit.queues.held import DEVICE_CLASS, Code, Held
from dragoman_toolkit.queues.managers import KAI, KUEUE, VOLCANO, Manager


class Side(StrEnum):
    """Where a difference counts."""

    CHARGED = "charged"
    """Charged, not held."""
    HELD = "held"
    """Held by pods of the queue, not charged."""
    BESIDE = "beside"
    """Held in the queue's namespaces by no pod of the queue; no part of HELD."""
    NEITHER = "neither"
    """Admin access: takes no device away."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One reason."""

    code: Code
    amount: int  # In units of 10^-9
    subject: str  # Workload, pod or claim
    side: Side


@dataclass(frozen=True, slots=True)
class Quota:
    """What a queue may use of a resource, in units of 10^-9."""

    nominal: int | None = None  # None for no limit
    borrowable: int = 0  # Beyond that, from its cohort
    deserved: int | None = None  # Volcano
    guarantee: int | None = None  # Volcano


@dataclass(slots=True)
class Row:
    """One resource of one queue; amounts in units of 10^-9."""

    manager: str  # `kueue`, `volcano` or `kai`
    queue: str  # Its name
    resource: str  # Key of the quota
    quota: Quota = field(default_factory=Quota)
    flavors: dict[str, tuple[int, int]] = field(default_factory=dict)  # Nominal and charged
    cohort: str = ""
    local_queues: tuple[str, ...] = ()  # `namespace/name`
    charged: int = 0  # By the manager's status
    held: int = 0
    differences: list[Difference] = field(default_factory=list)
    waiting: dict[str, int] = field(default_factory=dict)  # By workload that has no reservation
    # Why workloads wait indefinitely, by workload
    refused: dict[str, Code] = field(default_factory=dict)
    computed: bool = True  # Whether differences are computed

    def total(self, *sides: Side) -> int:
        """Return the sum of the differences of some sides."""
        return sum(one.amount for one in self.differences if one.side in sides)

    @property
    def not_counted(self) -> int:
        """What is held in the queue's namespaces and not charged."""
        return self.total(Side.HELD, Side.BESIDE)

    @property
    def unexplained(self) -> int:
        """What no reason explains; negative where less is charged than is explained."""
        if not self.computed:
            return 0
        explained = self.held + self.total(Side.CHARGED) - self.total(Side.HELD)
        return self.charged - explained


@dataclass(slots=True)
class Rows:
    """Rows of one queue manager that are being made."""

    manager: str
    found: dict[tuple[str, str], Row] = field(default_factory=dict)
    # Claims and devices of a queue that were counted: pods share claims
    counted: set[tuple[str, str, str, str]] = field(default_factory=set)

    def of(self, queue: str, resource: str) -> Row:
        """Return a row, a new one where there is none yet."""
        return self.found.setdefault((queue, resource), Row(self.manager, queue, resource))

    def add(self, queue: str, resource: str, new: Difference) -> None:
        """Add a reason, to the one of the same code and subject if there is one."""
        if new.amount:
            found = self.of(queue, resource).differences
            for index, one in enumerate(found):
                if (one.code, one.subject, one.side) == (new.code, new.subject, new.side):
                    found[index] = replace(one, amount=one.amount + new.amount)
                    return
            found.append(new)

    def beside(self, queues: Iterable[str], held: Iterable[Held], code: Code, subject: str) -> None:
        """Add what is held by no pod of these queues, where they have a row for it."""
        found = [one for one in held if one.code is not Code.ADMIN_ACCESS]
        for name in queues:
            for one in found:
                if (name, one.key) in self.found and self.first(name, one):
                    new = Difference(code, one.amount, subject, Side.BESIDE)
                    self.add(name, one.key, new)

    def first(self, queue: str, one: Held) -> bool:
        """Whether a device is counted for a queue for the first time."""
        if not one.claim:
            return True
        place = (queue, one.key, one.claim, one.device)
        new = place not in self.counted
        self.counted.add(place)
        return new


def manager_of(queues: Queues, pod: PodFact) -> str:
    """Return the queue manager of a pod, by its gates, labels and annotations; empty for none."""
    gates = {*gates_of(pod)}
    if gates & set(KUEUE_GATES) or queues.workload_of(pod) is not None:
        return KUEUE
    if VOLCANO_GATE in gates or queues.group_of(pod) is not None:
        return VOLCANO
    if KAI_LABEL in labels_of(pod):
        return KAI
    return KUEUE if QUEUE_LABEL in labels_of(pod) else ""


def is_device(key: str, manager: Manager) -> bool:
    """Whether a key of a quota stands for devices."""
    mapped = {one.name for one in manager.classes.values()}
    return key in mapped or is_extended(key) or DEVICE_CLASS in key


def without_queue(pod: PodFact) -> str:
    """Name a pod of no queue."""
    labelled = QUEUE_LABEL in labels_of(pod)
    namespace, _, name = pod.key.partition("/")
    return f"{namespace}/pod/{name}{' without a Workload' if labelled else ' without a queue'}"

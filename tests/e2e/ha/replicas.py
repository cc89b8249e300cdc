"""Several operators that share one Lease, each known to the API server by its own name."""

import re
import time
from collections import Counter
from collections.abc import Sequence

from dragoman.process.operator import LEASE_NAME
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane

SHORT = ("--lease-duration=4", "--renew-deadline=3", "--retry-period=0.6")
SHORT_DURATION = 4.0
STARTS = re.compile(r"Leading ")


class Replicas:
    """Operators of one namespace's Lease.

    Args:
        plane: The control plane.
        namespace: Where the Lease is.
        count: How many operators there are.
        flags: Flags of each.
    """

    def __init__(
        self, plane: ControlPlane, namespace: str, count: int, flags: Sequence[str] = SHORT
    ) -> None:
        self.plane = plane
        self.namespace = namespace
        self.all: list[OperatorProcess] = []
        for number in range(count):
            user = plane.user(f"{namespace}-replica-{number}", OPERATOR_RULES)
            replica = OperatorProcess(plane, user, f"--namespace={namespace}", *flags)
            replica.environment = {"POD_NAME": f"replica-{number}"}
            self.all.append(replica)

    def start(self) -> OperatorProcess:
        """Start all, the first one first; returns the leader."""
        for replica in self.all:
            replica.launch()
        for replica in self.all:
            wait_for(replica.ready, 60, "a replica to be ready")
        return self.leader()

    def stop(self) -> None:
        """Stop all, and see that none of them had a fault."""
        for replica in self.all:
            replica.stop()
        for replica in self.all:
            assert replica.faults() == []

    def holder(self) -> str:
        """Return who holds the Lease; empty for nobody."""
        found = self.plane.api().find("leases.coordination.k8s.io", LEASE_NAME, self.namespace)
        identity = (found or {}).get("spec", {}).get("holderIdentity") or ""
        return str(identity).partition("_")[0]

    def leader(self, but: OperatorProcess | None = None, timeout: float = 30) -> OperatorProcess:
        """Wait until a replica holds the Lease, one other than `but`; returns it."""

        def found() -> OperatorProcess | None:
            holder = self.holder()
            named = [one for one in self.all if one.environment["POD_NAME"] == holder]
            return named[0] if named and named[0] is not but else None

        return wait_for(found, timeout, f"a leader other than {but and but.name}")

    def others(self, leader: OperatorProcess) -> list[OperatorProcess]:
        """Return the replicas that do not lead."""
        return [one for one in self.all if one is not leader]

    def writes(self, since: int = 0) -> Counter[str]:
        """Return what all of them wrote in the namespace, Leases apart."""
        total: Counter[str] = Counter()
        for replica in self.all:
            total += self.plane.audit.counts(replica.user.name, since, namespace=self.namespace)
        return total

    def settled(self) -> None:
        """Wait until none of them writes any more."""
        for replica in self.all:
            self.plane.audit.settled(replica.user.name)


def seconds(began: float) -> float:
    """Return how long ago that was."""
    return time.monotonic() - began

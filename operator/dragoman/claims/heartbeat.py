"""Signs of life of a kubelet: what looks at the Lease of its node prove (ADR 17)."""

from dataclasses import dataclass, replace
from typing import Self

from dragoman.model.departure import epoch

SILENCE = 0.625
"""Share of the duration of a Lease after which a kubelet without renewals counts as away: 25 s of
40. It renews after each quarter, and may miss one."""
LEASE_DURATION = 40.0
"""Seconds that Leases of nodes last where they do not say (kubelet: nodeLeaseDurationSeconds)."""


@dataclass(frozen=True, slots=True)
class Alive:
    """A span of time in which a kubelet was alive, in seconds since the epoch."""

    # It renewed its Lease without a break since then: it was neither stopped nor cut off
    since: float
    until: float  # The latest time after which it is known to have renewed it


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What looks at a Lease showed so far.

    The times in the Lease are the kubelet's: only that they change counts, and by how much.
    """

    renewed: str  # `spec.renewTime` at the last look.
    looked: float  # When that look began
    changed: float | None = None  # When a look first showed it; None where the first look did
    alive: Alive | None = None  # The span that is known

    def look(self, renewed: str, duration: float, began: float, answered: float) -> Self:
        """Return what is known after another look.

        Args:
            renewed: `spec.renewTime`.
            duration: `spec.leaseDurationSeconds`.
            began: When the Lease was asked for.
            answered: When the API server answered.
        """
        if not renewed or renewed == self.renewed:
            return replace(self, looked=began)
        silence = SILENCE * max(duration, LEASE_DURATION)
        passed = _between(self.renewed, renewed)
        unbroken = 0 < passed <= silence
        if self.changed is not None and answered - self.changed > silence:
            unbroken = False
        if not unbroken:
            since = answered
        elif self.alive is not None:
            since = self.alive.since
        else:
            since = answered - passed
        return replace(
            self,
            renewed=renewed,
            looked=began,
            changed=answered,
            # The renewal came after the last look, which did not show it.
            alive=Alive(since, self.looked),
        )


def _between(earlier: str, later: str) -> float:
    """Return the seconds between two times of a kubelet; 0 where one is none."""
    begin, end = epoch(earlier), epoch(later)
    return end - begin if begin is not None and end is not None else 0.0

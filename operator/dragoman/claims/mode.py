"""Whether dragoman is the claim controller, or helps another one that is.

Two controllers that create claims for one pod create duplicates, and silence is not absence: the
stock controller at its default limits answered a pod behind 600 others after 56 s. So doubt means
to assist.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from dragoman.claims.naming import claim_name
from dragoman.model.claim import Claim

SEVERAL = 3
"""Overdue claims that dragoman must have created before `auto` takes over."""
SEVERAL_NAMESPACES = 3
"""Namespaces with activity of another controller that count for the whole cluster."""
LONGEST_GRACE = 10
"""How many graces a need waits at most, whatever another controller does."""
EXCUSES_LIMIT = 64
"""Activities of one namespace that are remembered."""
OWN_ATTEMPTS = 3
"""How many of the names that dragoman would give are compared with a claim's name."""


class Mode(StrEnum):
    """What dragoman does about claims."""

    OWN = "own"
    """Act at once, as the only claim controller."""
    ASSIST = "assist"
    """Another controller is: act only where it failed, after live reads."""


class Activity(NamedTuple):
    """A write that looks like another claim controller's.

    Everything in it can be forged by tenants of the namespace: a field manager's name and an
    annotation. It therefore excuses needs of that namespace alone.
    """

    namespace: str  # Where it was written
    created: str  # When the pod was created that the write is about, as an API timestamp
    flapping: bool = False  # Whether the same status is rewritten without progress


@dataclass(frozen=True, slots=True)
class ModeState:
    """The mode under `--claims=auto`, and the evidence for it."""

    mode: Mode  # The current mode
    # When another controller was last active, or observation began; in seconds of the caller's
    # clock
    quiet_since: float
    created: int = 0  # Overdue claims that dragoman created since then

    def other_seen(self, now: float) -> "ModeState":
        """Return the state after activity of another controller: assist, at once."""
        return ModeState(Mode.ASSIST, now)

    def made_claim(self) -> "ModeState":
        """Return the state after dragoman created an overdue claim."""
        return replace(self, created=self.created + 1)

    def at(self, now: float, *, takeover_after: float) -> "ModeState":
        """Return the state at a time: own, after several claims and a long silence."""
        if self.created >= SEVERAL and now - self.quiet_since >= takeover_after:
            return replace(self, mode=Mode.OWN)
        return self


@dataclass(frozen=True, slots=True)
class Excuses:
    """Activity in one namespace, by the age of the pods that it was about.

    A controller that works on pods older than ours may only be slow; one that works on newer pods
    has failed ours. `created` and `seen` are parallel and both ascend: activity about a newer pod
    is kept only while it is also the later one.
    """

    created: Sequence[str] = ()
    seen: Sequence[float] = ()

    def with_activity(self, created: str, now: float) -> "Excuses":
        """Return the excuses after activity about a pod of this creation timestamp."""
        # Activity now excuses everything that earlier activity about newer pods excused.
        kept = next((i for i, known in enumerate(self.created) if known >= created), None)
        older = (*self.created[:kept], created)[-EXCUSES_LIMIT:]
        times = (*self.seen[:kept], now)[-EXCUSES_LIMIT:]
        return Excuses(older, times)

    def for_need(self, created: str) -> float:
        """Return when the last activity was seen that excuses a need, or minus infinity.

        Args:
            created: Since when it is needed, as an API timestamp: a pod's creation.
        """
        index = bisect_right(self.created, created)
        return self.seen[index - 1] if index else float("-inf")


def due_at(needed: float, excused: float, grace: float) -> float:
    """Return when a need is overdue, in seconds of the caller's clock.

    Args:
        needed: When the need was first seen.
        excused: When activity was last seen that excuses it.
        grace: Seconds that another controller has.
    """
    return min(max(needed, excused) + grace, needed + LONGEST_GRACE * grace)


def made_by_another(claim: Claim) -> bool:
    """Whether a generated claim has a name that dragoman would not have given it."""
    owner = claim.metadata.owner
    if owner is None or claim.entry is None or claim.extended:
        return False
    ours = (
        claim_name(owner=owner.name, owner_uid=owner.uid, entry=claim.entry, attempt=attempt)
        for attempt in range(OWN_ATTEMPTS)
    )
    return claim.metadata.name not in ours

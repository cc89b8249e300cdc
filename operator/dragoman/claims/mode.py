"""Whether dragoman is the claim controller, or helps another one that is.

Two controllers that make claims for one pod make duplicates, and silence is not absence: the
stock controller at its default limits answered a pod behind 600 others after 56 s. So doubt means
to assist.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from dragoman.claims.naming import claim_name
from dragoman.model import Claim

SEVERAL = 3
"""Claims that had to be made in another controller's stead before its absence is believed."""
OWN_ATTEMPTS = 3
"""How many of the names that dragoman would give are compared with a claim's name."""


class Mode(StrEnum):
    """What is done about claims."""

    OWN = "own"
    """Be the claim controller: act at once."""
    ASSIST = "assist"
    """Another one is: act only where that one failed, after a live look."""


class Activity(StrEnum):
    """What a write of another controller tells."""

    PROGRESS = "progress"
    """It does something new: what is still needed may soon come."""
    FLAPPING = "flapping"
    """It is there, and writes the same for ever: nothing comes of waiting for it."""


@dataclass(frozen=True, slots=True)
class ModeState:
    """The mode under `--claims=auto`, and what it rests on.

    Attributes:
        mode: In force now.
        quiet_since: When another controller was last seen at work, or observation began; in
            seconds of the caller's clock.
        created: Claims made in another controller's stead since then.
    """

    mode: Mode
    quiet_since: float
    created: int = 0

    def other_seen(self, now: float) -> "ModeState":
        """Return the standing after a sign of another controller: assist, at once."""
        return ModeState(Mode.ASSIST, now)

    def made_claim(self) -> "ModeState":
        """Return the standing after a claim was made that another controller should have made."""
        return replace(self, created=self.created + 1)

    def at(self, now: float, *, takeover_after: float) -> "ModeState":
        """Return the standing at a time: own, after several claims and a long silence."""
        if self.created >= SEVERAL and now - self.quiet_since >= takeover_after:
            return replace(self, mode=Mode.OWN)
        return self


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

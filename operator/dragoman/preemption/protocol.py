"""The protocol of a preemption: one step of a journal, from facts to actions with reasons.

Devices are reserved by rules that only the pod's claims tolerate, victims are evicted, and
kube-scheduler allocates: it stays the only writer of allocations (ADR 18). Every step is computed
from what the API server has, so that any process can go on after any write.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dragoman.allocation import DeviceID
from dragoman.preemption.candidates import Victim
from dragoman.preemption.refusals import other_reason
from dragoman.preemption.stored import (
    DEFAULT_LIMITS,
    ENDED,
    Journal,
    Phase,
    PreemptionLimits,
    RequestedEviction,
    digest,
)

SETTLE = 1.0
"""Seconds between the last rule and the first eviction, in which the scheduler sees the rules.
Without them the pod might lose a device; no device is ever in two claims."""
PATIENCE = 10.0
"""Seconds for which the scheduler may still say what it said before the devices were reserved."""
_NO_TIME = "there was no time to compute the plan again"


class Sight(StrEnum):
    """What a plan that is computed again says of a journal."""

    SAME = "Same"
    """The same pods, or fewer, would have to end."""
    ROOM = "Room"
    """Nothing has to be evicted any more: the scheduler places the pod."""
    CHANGED = "Changed"
    """The plan does not hold any more."""
    UNKNOWN = "Unknown"
    """There was no time to compute it."""


@dataclass(frozen=True, slots=True)
class Look:
    """A plan for the journal's pod and node, computed again."""

    sight: Sight  # What it says
    victims: tuple[Victim, ...] = ()  # Who would have to end; only for SAME
    why: str = ""  # What has changed, for tenants: it names no pod of another namespace
    kept_away: int = 0  # Nodes that other pods keep the pod away from, as the plan knows


@dataclass(frozen=True, slots=True)
class ClaimState:
    """A claim of the pod that waits."""

    name: str  # Its name
    allocated: bool = False  # Whether it has devices
    tolerates: bool = False  # Whether each request tolerates the reservation
    # The claim with the toleration; None where it may not be replaced
    replacement: Mapping[str, Any] | None = None
    uid: str = ""  # Of the stored claim; empty where it is missing
    version: str = ""  # `metadata.resourceVersion` of the stored claim.
    why_not: str = ""  # Why it may not be replaced


@dataclass(frozen=True, slots=True)
class ProtocolFacts:
    """What a step is computed from."""

    journal: Journal  # The preemption
    now: float  # Unix time
    node: str = ""  # Of the pod that waits, empty while it has none
    gone: bool = False  # Whether the pod ended, is being deleted, or does not exist any more
    claims: tuple[ClaimState, ...] = ()  # Of the pod
    # Name and UID of the rules that reserve devices for the pod, by device
    rules: Mapping[DeviceID, tuple[str, str]] = field(default_factory=dict)
    look: Look | None = None  # The plan computed again; None where none was computed for this step
    said: str = ""  # What the scheduler says of the pod; see `refusals`
    limits: PreemptionLimits = DEFAULT_LIMITS  # For the time limit
    # A reserved device that others took out of service since the plan was made. They win, unless
    # the plan holds without it: the pod may tolerate it, or need another one.
    drained: DeviceID | None = None


@dataclass(frozen=True, slots=True)
class CreateReservation:
    """Reserve a device."""

    device: DeviceID


@dataclass(frozen=True, slots=True)
class DeleteRule:
    """Release a reservation."""

    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class ReplaceClaim:
    """Delete an unallocated claim, where it is there, and create it with the toleration."""

    claim: ClaimState


@dataclass(frozen=True, slots=True)
class EvictVictim:
    """Evict a pod through the Eviction API."""

    victim: Victim


@dataclass(frozen=True, slots=True)
class SetStatus:
    """Write fields of the journal's status; `phase` counts an ended preemption."""

    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RemoveJournalFinalizer:
    """Let the journal be deleted."""


@dataclass(frozen=True, slots=True)
class Tell:
    """Post an Event about the pod that waits."""

    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class TellVictim:
    """Post an Event about a pod that is evicted."""

    victim: Victim
    note: str


Action = (
    CreateReservation
    | DeleteRule
    | ReplaceClaim
    | EvictVictim
    | SetStatus
    | RemoveJournalFinalizer
    | Tell
    | TellVictim
)


@dataclass(frozen=True, slots=True)
class ProtocolStep:
    """What is to be done now."""

    reason: str  # Why, in a clause
    # In this order; where one is refused, the others wait for the next step
    actions: tuple[Action, ...] = ()
    look: bool = False  # Whether a plan has to be computed again, and the step again


def step(seen: ProtocolFacts) -> ProtocolStep:
    """Return what a preemption does now."""
    journal = seen.journal
    if journal.deleting or journal.phase in ENDED:
        return _cleaned_up(seen)
    ended = _end(seen)
    if ended is not None:
        return ended
    if journal.phase is Phase.RESERVING:
        return _reserve(seen)
    if journal.phase is Phase.EVICTING:
        return _evict(seen)
    return ProtocolStep("the scheduler places the pod")


def _cleaned_up(seen: ProtocolFacts) -> ProtocolStep:
    reason = "the object is being deleted" if seen.journal.deleting else "the preemption has ended"
    actions: list[Action] = [*_releases(seen)]
    if seen.journal.finalized:
        actions.append(RemoveJournalFinalizer())
    return ProtocolStep(reason, tuple(actions))


def _end(seen: ProtocolFacts) -> ProtocolStep | None:
    journal = seen.journal
    if seen.gone:
        return _ended(seen, Phase.ABORTED, "the pod has ended, or is being deleted")
    if seen.node:
        text = f"placed on {seen.node}"
        return _ended(seen, Phase.PLACED, text)
    if seen.drained is not None and journal.phase is Phase.PLACING:
        if seen.look is None:
            return ProtocolStep(
                "a device is taken out of service: the plan is computed again", look=True
            )
        if seen.look.sight is Sight.CHANGED:
            return _changed(seen, seen.look)
    if seen.now < deadline(journal, seen.limits):
        return None
    count = len(journal.evictions)
    if not count:
        return _ended(seen, Phase.ABORTED, "no place in time, and nothing was evicted")
    seconds = round(seen.now - journal.evictions[0].at)
    plural = "" if count == 1 else "s"
    text = f"not placed within {seconds} s after {count} eviction{plural}"
    if seen.look is not None and seen.look.why:
        text += f": {seen.look.why}"
    elif journal.phase is Phase.EVICTING and journal.message:
        # A refused eviction; beside it, a message has room for 100 characters more.
        text += f": {journal.message[:900]}"
    phase = Phase.ABORTED if _refused(journal) else Phase.FAILED
    return _ended(seen, phase, text, tell=True)


def _changed(seen: ProtocolFacts, look: Look) -> ProtocolStep:
    """End a preemption whose plan does not hold; a drain is no failure, which would count."""
    if seen.drained is not None:
        text = f"device {seen.drained} is taken out of service by a rule"
        return _ended(seen, Phase.ABORTED, text, tell=bool(seen.journal.evictions))
    asked = bool(seen.journal.evictions)
    phase = Phase.FAILED if asked and not _refused(seen.journal) else Phase.ABORTED
    return _ended(seen, phase, look.why, tell=asked)


def _refused(journal: Journal) -> bool:
    """Whether the Eviction API refuses a pod: that says nothing about the scheduler."""
    return journal.phase is Phase.EVICTING and bool(journal.message)


def deadline(journal: Journal, limits: PreemptionLimits) -> float:
    """Return the Unix time at which a preemption ends at the latest."""
    first = journal.created + limits.timeout
    return min(journal.deadline or first, journal.created + limits.longest)


def _reserve(seen: ProtocolFacts) -> ProtocolStep:
    """Reserve the devices, and evict once the scheduler knows it and the plan still holds."""
    found = _tolerated(seen) or _reserved(seen)
    if found is not None:
        return found
    if seen.look is None:
        return ProtocolStep("the plan is computed again", look=True)
    match seen.look.sight:
        case Sight.SAME if other := other_reason(seen.said, seen.look.kept_away):
            if seen.now - seen.journal.reserved < PATIENCE:
                return ProtocolStep("the scheduler may look at the pod again")
            text = "kube-scheduler rejects the pod for another reason than devices"
            return _ended(seen, Phase.ABORTED, f"{text}: {other}"[:1000])
        case Sight.SAME:
            return ProtocolStep("the plan still holds", _evictions(seen, seen.look.victims))
        case Sight.CHANGED:
            return _changed(seen, seen.look)
        case Sight.ROOM:
            return ProtocolStep("nothing has to be evicted any more")
        case Sight.UNKNOWN:
            return ProtocolStep(_NO_TIME)


def _tolerated(seen: ProtocolFacts) -> ProtocolStep | None:
    """Return the step that lets the pod's claims tolerate the reservation; None where they do."""
    for claim in seen.claims:
        if claim.allocated or claim.tolerates:
            continue
        if claim.replacement is None:
            return _ended(seen, Phase.ABORTED, f"claim {claim.name} {claim.why_not}")
        # One at a time, and the pod is read again: a claim must not be missing for long.
        return ProtocolStep("claims tolerate the reservation", (ReplaceClaim(claim),))
    return None


def _reserved(seen: ProtocolFacts) -> ProtocolStep | None:
    """Return the step that reserves the devices; None once the scheduler knows about it."""
    journal = seen.journal
    missing = [one for one in journal.devices if one not in seen.rules]
    if missing:
        return ProtocolStep(
            "devices are reserved", tuple(CreateReservation(device) for device in missing)
        )
    if not journal.reserved:
        fields = {"phase": Phase.RESERVING.value, "reservedAt": seen.now}
        return ProtocolStep("all devices are reserved", (SetStatus(fields),))
    if seen.now - journal.reserved < SETTLE:
        return ProtocolStep("the scheduler learns of the reservation")
    return None


def _evict(seen: ProtocolFacts) -> ProtocolStep:
    """Go on after a refusal, or where a process ended between two evictions."""
    if seen.look is None:
        return ProtocolStep("the plan is computed again", look=True)
    match seen.look.sight:
        case Sight.SAME:
            return ProtocolStep("pods are left", _evictions(seen, seen.look.victims))
        case Sight.ROOM:
            return ProtocolStep("all pods end", (_status(Phase.PLACING),))
        case Sight.CHANGED:
            return _changed(seen, seen.look)
        case Sight.UNKNOWN:
            return ProtocolStep(_NO_TIME)


def _evictions(seen: ProtocolFacts, victims: tuple[Victim, ...]) -> tuple[Action, ...]:
    """Return the evictions; they are counted before they are asked for, so that limits hold."""
    journal = seen.journal
    known = {one.pod for one in journal.evictions}
    asked = tuple(
        RequestedEviction(
            digest(one.pod.uid), digest(one.pod.owner.uid if one.pod.owner else ""), seen.now
        )
        for one in victims
        if digest(one.pod.uid) not in known
    )
    ends = deadline(journal, seen.limits)
    if asked:
        grace = max(one.pod.grace for one in victims)
        ends = max(journal.deadline, seen.now + grace + seen.limits.timeout + seen.limits.release)
    fields: dict[str, Any] = {
        "phase": Phase.EVICTING.value,
        "evictions": [one.document() for one in (*journal.evictions, *asked)],
        "deadline": ends,
    }
    told: tuple[Action, ...] = ()
    if not journal.evictions:
        told = (Tell("DevicePreempting", _evicting(journal, victims)),)
    return (
        SetStatus(fields),
        *told,
        *(
            action
            for one in victims
            for action in (EvictVictim(one), TellVictim(one, _evicted(journal, one)))
        ),
        _status(Phase.PLACING),
    )


def _evicting(journal: Journal, victims: tuple[Victim, ...]) -> str:
    count = len(victims)
    pods = "1 pod" if count == 1 else f"{count} pods"
    held = len(journal.devices)
    reserved = "1 device is" if held == 1 else f"{held} devices are"
    return f"Evicting {pods} of lower priority on {journal.node}; {reserved} reserved."


def _evicted(journal: Journal, victim: Victim) -> str:
    """Say for whom a pod ends; another namespace learns neither name nor priority."""
    pod = victim.pod
    bare = "" if pod.owner else " No controller creates this pod again."
    if pod.namespace != journal.namespace:
        return f"Evicted for a pod of higher priority in another namespace.{bare}"
    devices = ", ".join(map(str, journal.devices[:1]))
    more = f" and {len(journal.devices) - 1} more" if len(journal.devices) > 1 else ""
    return (
        f"Evicted for {journal.key} (priority {journal.priority}, this pod {pod.priority}), "
        f"which needs {devices}{more}.{bare}"
    )


def _ended(seen: ProtocolFacts, phase: Phase, why: str, *, tell: bool = False) -> ProtocolStep:
    """Say how it ended, then release the devices: nothing is left of ours but the record.

    The status comes first because it is refused where another process has gone on, whose
    evictions need the reservation. A process that ends between the two leaves the finalizer.

    Args:
        seen: What the step is computed from.
        phase: How it ended.
        why: The reason, for the message.
        tell: Whether the pod gets an Event although the phase is no failure.
    """
    fields = {"phase": phase.value, "endedAt": seen.now, "message": why}
    told: tuple[Action, ...] = ()
    if tell or phase is Phase.FAILED:
        told = (Tell("DevicePreemptionFailed", f"{why[:1].upper()}{why[1:]}."),)
    return ProtocolStep(why, (SetStatus(fields), *_releases(seen), *told, RemoveJournalFinalizer()))


def _releases(seen: ProtocolFacts) -> Iterator[DeleteRule]:
    return (DeleteRule(name, uid) for name, uid in seen.rules.values())


def _status(phase: Phase) -> SetStatus:
    return SetStatus({"phase": phase.value})

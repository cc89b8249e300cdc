"""What planners are given, and what they answer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from dragoman.claims.actions import Action
from dragoman.claims.reasons import ClaimReason
from dragoman.claims.saferelease import Left, SafeRelease
from dragoman.model.claim import Claim
from dragoman.model.nodehealth import NodeHealth
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup
from dragoman.model.template import Template


class LiveRead(NamedTuple):
    """An object that a planner must see live before it decides."""

    resource: Literal["pods", "resourceclaims", "resourceclaimtemplates", "podgroups", "nodes"]
    namespace: str
    name: str


Found = Pod | Claim | PodGroup | Template | NodeHealth | None
"""The result of a live read: the object, or None where it does not exist."""

LiveAnswers = Mapping[LiveRead, Found]


@dataclass(frozen=True, slots=True)
class Pending:
    """Something that cannot be done yet, or at all.

    Attributes:
        reason: Why.
        subject: The entry or claim that it is about.
        message: A sentence for people.
        after: Seconds until the next reconciliation; None where an event enqueues the key.
        report: Whether it is worth an Event on the object.
    """

    reason: ClaimReason
    subject: str
    message: str
    after: float | None = None
    report: bool = False


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """The result of a planner.

    Attributes:
        actions: What to do now, in this order. Empty when settled.
        pending: What is not done, and why.
        live_reads: Objects to read from the API server before anything is decided; the next plan
            has the results. A plan has actions or live reads, never both.
        left: Consumers of a claim that stay reserved although their pods left the API.
    """

    actions: tuple[Action, ...] = ()
    pending: tuple[Pending, ...] = ()
    live_reads: tuple[LiveRead, ...] = ()
    left: tuple[Left, ...] = ()


@dataclass(frozen=True, slots=True)
class HolderFacts:
    """The facts for `plan_pod` and `plan_group`.

    Attributes:
        holder: The pod or PodGroup.
        claims: Claims of its namespace by name, own writes included.
        owned: The claims that the holder, or the pod's PodGroup, controls.
        by_entry: The same claims by the entry that they were made for.
        templates: Templates of its namespace by name.
        groups: PodGroups of its namespace by name; None where the API is not served.
        age: Seconds since the holder was created.
        live: Results of live reads.
        failed_reads: Live reads that failed; the entries that need them wait, the others do not.
    """

    holder: Pod | PodGroup
    claims: Mapping[str, Claim] = field(default_factory=dict)
    owned: Collection[Claim] = ()
    templates: Mapping[str, Template] = field(default_factory=dict)
    groups: Mapping[str, PodGroup] | None = None
    age: float = 0.0
    live: LiveAnswers = field(default_factory=dict)
    failed_reads: Collection[LiveRead] = ()
    by_entry: Mapping[str | None, Sequence[Claim]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Sort the claims by entry: a pod may have thousands of both."""
        by_entry: dict[str | None, list[Claim]] = {}
        for claim in self.owned:
            by_entry.setdefault(claim.entry, []).append(claim)
        object.__setattr__(self, "by_entry", by_entry)


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """What `plan_claim` decides on.

    Attributes:
        claim: The claim.
        pods: Pods of its namespace by name, as far as they use claims.
        users: Pods that refer to the claim by name.
        groups: PodGroups of its namespace by name; None where the API is not served.
        twins: Other claims that the same owner controls, for the same entry.
        duplicate_for: Seconds since another claim for the same entry was first seen beside it.
        deleted: UIDs of pods and PodGroups that are known to be deleted.
        owner_missing_for: Seconds since the claim's owner was first found missing; 0 while
            it is there.
        unchanged_for: Seconds since this state of the claim was first seen.
        live: Results of live reads.
        safe: For safe release; None where a claim is released as soon as its pods are gone.
    """

    claim: Claim
    pods: Mapping[str, Pod] = field(default_factory=dict)
    users: Collection[Pod] = ()
    groups: Mapping[str, PodGroup] | None = None
    twins: Collection[Claim] = ()
    duplicate_for: float = 0.0
    deleted: Collection[str] = frozenset()
    owner_missing_for: float = 0.0
    unchanged_for: float = 0.0
    live: LiveAnswers = field(default_factory=dict)
    safe: SafeRelease | None = None

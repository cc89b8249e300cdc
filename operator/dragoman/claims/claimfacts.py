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
    """Something that cannot be done yet, or at all."""

    reason: ClaimReason  # Why
    subject: str  # The entry or claim that it is about
    message: str  # A sentence for people
    # Seconds until the next reconciliation; None where an event enqueues the key
    after: float | None = None
    report: bool = False  # Whether it is worth an Event on the object


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """The result of a planner."""

    actions: tuple[Action, ...] = ()  # What to do now, in this order. Empty when settled.
    pending: tuple[Pending, ...] = ()  # What is not done, and why
    # Objects to read from the API server before anything is decided; the next plan has the results.
    # A plan has actions or live reads, never both.
    live_reads: tuple[LiveRead, ...] = ()
    # Consumers of a claim that stay reserved although their pods left the API
    left: tuple[Left, ...] = ()


@dataclass(frozen=True, slots=True)
class HolderFacts:
    """The facts for `plan_pod` and `plan_group`."""

    holder: Pod | PodGroup  # The pod or PodGroup
    # Claims of its namespace by name, own writes included
    claims: Mapping[str, Claim] = field(default_factory=dict)
    owned: Collection[Claim] = ()  # The claims that the holder, or the pod's PodGroup, controls
    # Templates of its namespace by name
    templates: Mapping[str, Template] = field(default_factory=dict)
    # PodGroups of its namespace by name; None where the API is not served
    groups: Mapping[str, PodGroup] | None = None
    age: float = 0.0  # Seconds since the holder was created
    live: LiveAnswers = field(default_factory=dict)  # Results of live reads
    # Live reads that failed; the entries that need them wait, the others do not
    failed_reads: Collection[LiveRead] = ()
    # The same claims by the entry that they were made for
    by_entry: Mapping[str | None, Sequence[Claim]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Sort the claims by entry: a pod may have thousands of both."""
        by_entry: dict[str | None, list[Claim]] = {}
        for claim in self.owned:
            by_entry.setdefault(claim.entry, []).append(claim)
        object.__setattr__(self, "by_entry", by_entry)


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """What `plan_claim` decides on."""

    claim: Claim  # The claim
    # Pods of its namespace by name, as far as they use claims
    pods: Mapping[str, Pod] = field(default_factory=dict)
    users: Collection[Pod] = ()  # Pods that refer to the claim by name
    # PodGroups of its namespace by name; None where the API is not served
    groups: Mapping[str, PodGroup] | None = None
    twins: Collection[Claim] = ()  # Other claims that the same owner controls, for the same entry
    # Seconds since another claim for the same entry was first seen beside it
    duplicate_for: float = 0.0
    # UIDs of pods and PodGroups that are known to be deleted
    deleted: Collection[str] = frozenset()
    # Seconds since the claim's owner was first found missing; 0 while it is there
    owner_missing_for: float = 0.0
    unchanged_for: float = 0.0  # Seconds since this state of the claim was first seen
    live: LiveAnswers = field(default_factory=dict)  # Results of live reads
    # For safe release; None where a claim is released as soon as its pods are gone
    safe: SafeRelease | None = None

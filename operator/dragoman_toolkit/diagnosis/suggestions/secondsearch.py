"""Second searches: whether a pod fits after one change, and what a change is in words."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from dragoman.allocation import Allocated, Claim, Cluster, allocate
from dragoman.inventory.facts.world import PodFact
from dragoman.model.requests import ExactRequest
from dragoman_toolkit.diagnosis.suggestions.nodespace import NodeFilters

SEARCHES = 256
"""Second searches for one answer."""
FEW = 64
"""Second searches for tolerations, as many for pools, and as many for corrections."""
BUDGET = 20_000
"""Steps of each."""


class ChangeKind(StrEnum):
    """Changes; names are part of the JSON output."""

    END_HOLDER = "EndHolder"
    ADD_TOLERATION = "AddToleration"
    TOLERATE_NODE = "TolerateNode"
    HEAL_NODE = "HealNode"
    COMPLETE_POOL = "CompletePool"
    GUARD_SELECTOR = "GuardSelector"
    CORRECT = "Correct"
    SEVERAL_CHANGES = "SeveralChanges"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change after which the pod fits."""

    kind: ChangeKind  # What is changed
    node: str  # Where the pod fits then
    text: str  # In words, to follow "It fits "; that of several changes begins with the node
    details: Mapping[str, Any] = field(default_factory=dict)  # What exactly; JSON types only


def toleration_text(key: str, effects: Iterable[str]) -> str:
    """Write a toleration as a change: `with a toleration for vendor.test/hot (NoExecute)`."""
    listed = [one or "every effect" for one in effects]
    evicts = "; a new NoExecute taint evicts again" if "NoExecute" in listed else ""
    return f"with a toleration for {key} ({', '.join(listed)}{evicts})"


Change = Callable[[], AbstractContextManager[tuple[Claim, ...]]]


@dataclass(slots=True)
class SecondSearches:
    """Second searches, as many as may be made."""

    cluster: Cluster  # Changed and restored for each search
    claims: tuple[Claim, ...]  # Of the pod
    left: int = SEARCHES  # Searches that may still be made
    # What else keeps the pod from a node; None where only nodes are asked that it may run on
    filters: NodeFilters | None = None

    def fits(self, node: str, change: Change) -> bool:
        """Whether the pod fits on a node after a change."""
        if self.left <= 0:
            return False
        self.left -= 1
        with change() as claims:
            if self.filters is not None and not self.filters.pass_node(node):
                return False
            outcome = allocate(node, claims, self.cluster, budget=BUDGET)
            return isinstance(outcome, Allocated)


def without(search: SecondSearches, claims: Iterable[str], pods: Iterable[PodFact] = ()) -> Change:
    """Return the change after which claims, by `namespace/name`, hold nothing.

    Args:
        search: The searches.
        claims: Those that come free.
        pods: Those that end, and leave their room on their nodes.
    """
    users = tuple(pods)

    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        removed = [search.cluster.claims[key] for key in claims if key in search.cluster.claims]
        for claim in removed:
            search.cluster.remove_claim(claim.key)
        gone = nullcontext() if search.filters is None else search.filters.without(users)
        try:
            with gone:
                yield search.claims
        finally:
            for claim in removed:
                search.cluster.put_claim(claim)

    return change


def with_requests(
    claim: Claim, names: set[str], change: Callable[[ExactRequest], ExactRequest]
) -> Claim:
    """Return a claim of which some requests are changed.

    Args:
        claim: It stays as it is.
        names: Requests by name, subrequests as `request/subrequest`.
        change: Returns the changed request.
    """
    requests = tuple(
        replace(
            outer,
            exactly=change(outer.exactly)
            if outer.exactly is not None and outer.name in names
            else outer.exactly,
            first_available=tuple(
                change(request) if f"{outer.name}/{request.name}" in names else request
                for request in outer.first_available
            ),
        )
        for outer in claim.spec.requests
    )
    return replace(claim, spec=replace(claim.spec, requests=requests))

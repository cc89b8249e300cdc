"""Changes that let a pod run only together, as the ends of two holders."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from dragoman.allocation import Claim
from dragoman.diagnosis.wording import listed
from dragoman_toolkit.diagnosis.suggestions.secondsearch import (
    Change,
    ChangeKind,
    SecondSearches,
    Suggestion,
)

PAIRED = 16
"""Changes of one node of which all pairs are tried."""


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """One of the changes."""

    kind: ChangeKind  # What is changed
    change: Change  # Made and undone for a search
    text: str  # In words
    details: dict[str, Any] = field(default_factory=dict)  # What exactly; JSON types only
    end: tuple[str, ...] = ()  # The users that run and end; empty for another change
    frees: int = 0  # Devices of the node that come free

    def suggestion(self, node: str) -> Suggestion:
        """Return the change as one that suffices on a node."""
        degraded = ": degraded devices" if self.kind is ChangeKind.ADD_TOLERATION else ""
        return Suggestion(self.kind, node, f"{self.text} ({node}{degraded})", self.details)


def pair(search: SecondSearches, node: str, steps: Sequence[ChangeStep]) -> Suggestion | None:
    """Return two changes that suffice together on a node; None where no two do."""
    for two in combinations(steps[:PAIRED], 2):
        if search.fits(node, _all(search, two)):
            return _several(node, two)
    return None


def together(search: SecondSearches, node: str, steps: Sequence[ChangeStep]) -> Suggestion | None:
    """Return the changes of which the pod needs each one on a node; None where all do not suffice.

    Args:
        search: Limits the number of searches: one for each change, and one more.
        node: Where the pod is to fit.
        steps: Those that are given up first come last.
    """
    if not search.fits(node, _all(search, steps)):
        return None
    kept = list(steps)
    for one in reversed(steps):
        fewer = [other for other in kept if other is not one]
        if len(fewer) > 1 and search.fits(node, _all(search, fewer)):
            kept = fewer
    return _several(node, kept)


def _several(node: str, steps: Sequence[ChangeStep]) -> Suggestion:
    frees = sum(one.frees for one in steps)
    changes = [{"kind": str(one.kind), **one.details} for one in steps]
    return Suggestion(
        ChangeKind.SEVERAL_CHANGES,
        node,
        _text(node, steps, frees),
        {"frees": frees, "changes": changes},
    )


def _text(node: str, steps: Iterable[ChangeStep], frees: int) -> str:
    users = [user for one in steps for user in one.end]
    verb = "ends" if len(users) == 1 else "end"
    parts = [f"when {listed(users)} {verb}"] if users else []
    parts += [one.text for one in steps if not one.end]
    does = f"frees {frees}" if frees else "serves it"
    return f"{node} {does} {listed(parts)}"


def _all(search: SecondSearches, steps: Sequence[ChangeStep]) -> Change:
    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        before = search.claims
        try:
            with ExitStack() as stack:
                for one in steps:
                    # The next change starts from the claims of this one.
                    search.claims = stack.enter_context(one.change())
                yield search.claims
        finally:
            search.claims = before

    return change

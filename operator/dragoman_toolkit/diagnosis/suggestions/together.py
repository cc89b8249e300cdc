"""Changes that let a pod run only together, as the ends of two holders."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from dragoman.allocation import Claim
from dragoman.diagnosis.wording import listed
from dragoman_toolkit.diagnosis.suggestions.secondsearch import (
    Change,
    ChangeKind,
    SecondSearches,
    Suggestion,
)


@dataclass(frozen=True, slots=True)
class ChangeStep:
    """One of the changes."""

    change: Change  # Made and undone for a search
    end: tuple[str, ...] = ()  # The users that end; empty for another change
    text: str = ""  # In words, where no user ends
    frees: int = 0  # Devices of the node that come free
    details: dict[str, Any] = field(default_factory=dict)  # What exactly; JSON types only


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
    frees = sum(one.frees for one in kept)
    return Suggestion(
        ChangeKind.SEVERAL_CHANGES,
        node,
        _text(node, kept, frees),
        {"frees": frees, "changes": [one.details for one in kept]},
    )


def _text(node: str, steps: Iterable[ChangeStep], frees: int) -> str:
    users = [user for one in steps for user in one.end]
    verb = "ends" if len(users) == 1 else "end"
    parts = [f"when {listed(users)} {verb}"] if users else []
    parts += [one.text for one in steps if one.text]
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

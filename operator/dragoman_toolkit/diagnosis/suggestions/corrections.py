"""Names and values to write in place of others; those that help now have a node."""

from collections.abc import Iterator
from contextlib import contextmanager

from dragoman.allocation import Claim, Cluster
from dragoman.diagnosis.answers import Explanation
from dragoman.diagnosis.idleclaims import removed
from dragoman.diagnosis.slips import corrected, corrected_class
from dragoman_toolkit.diagnosis.suggestions.secondsearch import (
    FEW,
    Change,
    ChangeKind,
    SecondSearches,
    Suggestion,
)


def corrected_names(explanation: Explanation, cluster: Cluster) -> tuple[Suggestion, ...]:
    """Return the corrections of a pod's slips, each with the node where the pod fits now with it.

    Args:
        explanation: Of the pod; its hints let the pod fit once devices are free.
        cluster: That of the explanation; it is as before afterwards.
    """
    found = [
        _suggestion(one.written, one.meant, "")
        for one in explanation.subject.obstacles
        if one.meant
    ]
    hints = [one for one in explanation.hints if one.meant]
    with removed(cluster, explanation.subject.claims):
        search = SecondSearches(cluster, explanation.subject.claims, left=FEW)
        for hint in hints:
            change = _correcting(search, {hint.old: hint.new})
            nodes = (one.node for one in explanation.nodes if not one.filtered)
            node = next((name for name in nodes if search.fits(name, change)), "")
            found.append(_suggestion(hint.written, hint.meant, node))
    return tuple(found)


def _suggestion(written: str, meant: str, node: str) -> Suggestion:
    where = f" ({node})" if node else ""
    return Suggestion(
        ChangeKind.CORRECT,
        node,
        f"write {meant} (in place of {written}){where}",
        {"from": written, "to": meant},
    )


def _correcting(search: SecondSearches, swaps: dict[str, str]) -> Change:
    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        before = [
            one
            for one in search.cluster.classes.values()
            if any(text and old in text for text in one.selectors for old in swaps)
        ]
        for one in before:
            search.cluster.put_class(corrected_class(one, swaps))
        try:
            yield tuple(corrected(one, swaps) for one in search.claims)
        finally:
            for one in before:
                search.cluster.put_class(one)

    return change

"""What is not there, and what only could not be seen: no answer mistakes the one for the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dragoman_base.words import listed, natural
from dragoman_base.words.nearnames import did_you_mean
from dragoman_toolkit.dra.reports import Unusable

if TYPE_CHECKING:  # heavy, and not needed for --help
    from dragoman.inventory.facts.world import World

LACKING = "not in the file"
"""Why a file that kubectl wrote shows no objects of a kind."""
SHOWN = 5
"""Names that a hint lists."""


def cannot_tell(unseen: Iterable[Mapping[str, Any]]) -> str:
    """Say in one line what the user cannot list; empty where everything was read.

    Args:
        unseen: As in every document: `resource`, and `outsideOf` for all but one namespace.
    """
    everywhere: dict[str, list[str]] = {}
    unseen = [*unseen]
    if unseen and all(one["reason"] == LACKING for one in unseen):
        names = ", ".join(str(one["resource"]) for one in unseen)
        return f"Cannot tell: the file has no {names}; list them in `kubectl get` as well"
    for one in unseen:
        everywhere.setdefault(str(one["outsideOf"] or ""), []).append(str(one["resource"]))
    parts = [
        ", ".join(plurals) + (f" outside of namespace {namespace}" if namespace else "")
        for namespace, plurals in sorted(everywhere.items())
    ]
    if not parts:
        return ""
    listed = ", nor ".join(parts)
    return f"Cannot tell: you cannot list {listed}; `kubectl dra auth` prints what is missing"


def unseen_of(world: World, plurals: Iterable[str] = ()) -> list[dict[str, Any]]:
    """Return what could not be listed, of some resources or of all, as documents have it."""
    wanted = [*plurals]
    return [
        {"resource": one.plural, "outsideOf": one.namespace, "reason": one.reason}
        for one in world.unseen
        if not wanted or one.plural in wanted
    ]


def missing(world: World, text: str, *plurals: str) -> Unusable:
    """Return the error for something that is not there, or for lists that would have shown it.

    Args:
        world: What was read.
        text: What is not there, with hints.
        plurals: The resources that would have it.
    """
    blind = cannot_tell(unseen_of(world, plurals))
    return Unusable(f"{blind[0].lower()}{blind[1:]} ({text})" if blind else text)


def elsewhere(key: str, known: Iterable[str], command: str) -> str:
    """Return where an object of this name is, or names that are near; empty for neither.

    Args:
        key: `namespace/name` that is not there.
        known: `namespace/name` of all that are.
        command: What finds it, to which `-n NAMESPACE` is added.
    """
    namespace, _, name = key.partition("/")
    there = [*known]
    places = sorted(one.partition("/")[0] for one in there if one.partition("/")[2] == name)
    if places:
        return f"; it is in namespace {', '.join(places[:SHOWN])}: {command} -n {places[0]}"
    here = [one.partition("/")[2] for one in there if one.startswith(f"{namespace}/")]
    anywhere = {one.partition("/")[2]: one for one in there}
    return did_you_mean(name, here) or did_you_mean(name, anywhere, anywhere)


def near_names(name: str, known: Sequence[str], what: str) -> str:
    """Return the nearest name, or all names where they are few."""
    every = listed(sorted(known, key=natural), SHOWN)
    there = f"are {every}" if known else f"are no {what}: is a DRA driver installed?"
    return did_you_mean(name, known) or f"; there {there}"

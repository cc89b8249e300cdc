"""Changes to one document, applied by `fixes` to its text and to its tree."""

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Set:
    """Give a scalar another value."""

    steps: Steps
    value: str


@dataclass(frozen=True, slots=True)
class Nest:
    """Move fields of the mapping at `steps` into a new mapping `name` in the place of the first."""

    steps: Steps
    name: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lift:
    """Replace the mapping at `steps` by its fields, in the mapping that holds it."""

    steps: Steps


Edit = Set | Nest | Lift


def applied(tree: Any, edits: Iterable[Edit]) -> Any:
    """Return what a tree must be after edits.

    Raises:
        LookupError, TypeError: The tree has no such place.
    """
    tree = deepcopy(tree)
    # Deep edits first: those above would change the paths of those below.
    for edit in sorted(edits, key=lambda one: -len(one.steps)):
        match edit:
            case Set(steps, value):
                _reach(tree, steps[:-1])[steps[-1]] = value
            case Nest(steps, name, keys):
                holder = _reach(tree, steps)
                holder[name] = {key: holder.pop(key) for key in keys}
            case Lift(steps):
                holder = _reach(tree, steps[:-1])
                holder.update(holder.pop(steps[-1]))
    return tree


def _reach(tree: Any, steps: Steps) -> Any:
    for step in steps:
        tree = tree[step]
    return tree

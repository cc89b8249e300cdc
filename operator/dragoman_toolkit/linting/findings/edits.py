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


@dataclass(frozen=True, slots=True)
class Rename:
    """Give a field another name."""

    steps: Steps  # Of the field
    name: str


@dataclass(frozen=True, slots=True)
class Splice:
    """Write a text in place of a part of a string; several may concern one string."""

    steps: Steps
    start: int  # Offset in the value, in code points
    end: int  # As above; equal to the start where the text is inserted
    text: str


@dataclass(frozen=True, slots=True)
class Fields:
    """Remove fields of the mapping at `steps`, and add others at its end."""

    steps: Steps
    remove: tuple[str, ...] = ()
    add: tuple[tuple[str, Any], ...] = ()  # Names that are not there, with JSON values


@dataclass(frozen=True, slots=True)
class Append:
    """Add an entry at the end of the list at `steps`."""

    steps: Steps
    value: Any  # A JSON value


Edit = Set | Nest | Lift | Rename | Splice | Fields | Append


def applied(tree: Any, edits: Iterable[Edit]) -> Any:
    """Return what a tree must be after edits.

    Raises:
        LookupError, TypeError: The tree has no such place.
    """
    tree = deepcopy(tree)
    # Strings from their ends, then deep edits first: those above change the paths of those below.
    edits = list(edits)
    strings = sorted((one for one in edits if isinstance(one, Splice)), key=_place, reverse=True)
    others = [one for one in edits if not isinstance(one, Splice)]
    for edit in (*strings, *sorted(others, key=lambda one: -len(one.steps))):
        _apply(tree, edit)
    return tree


def _apply(tree: Any, edit: Edit) -> None:
    match edit:
        case Set(steps, value):
            _reach(tree, steps[:-1])[steps[-1]] = value
        case Nest(steps, name, keys):
            holder = _reach(tree, steps)
            holder[name] = {key: holder.pop(key) for key in keys}
        case Lift(steps):
            holder = _reach(tree, steps[:-1])
            holder.update(holder.pop(steps[-1]))
        case Rename(steps, name):
            holder = _reach(tree, steps[:-1])
            if name in holder:
                raise LookupError(f"{name} is there already")
            holder[name] = holder.pop(steps[-1])
        case Fields(steps, remove, add):
            holder = _reach(tree, steps)
            for name in remove:
                del holder[name]
            holder.update(add)
        case Append(steps, value):
            _reach(tree, steps).append(value)
        case Splice(steps, start, end, text):
            holder = _reach(tree, steps[:-1])
            value = holder[steps[-1]]
            holder[steps[-1]] = value[:start] + text + value[end:]


def _place(edit: Splice) -> tuple[int, int, str]:
    return edit.start, edit.end, edit.text


def _reach(tree: Any, steps: Steps) -> Any:
    for step in steps:
        tree = tree[step]
    return tree

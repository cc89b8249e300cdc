"""The members of parameters, before their values are judged: unknown, repeated, null and defaulted.

One walk along the schema does what a driver's decoder does with the shape of a document. It gives
back the parameters as the driver would see them: nulls are absent (as in Go, unless the schema says
`nullable`), unknown fields are gone, defaults are filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from dragoman.cel.budget import StepBudget
from dragoman.driverconfigs import fielderrors
from dragoman.driverconfigs.fielderrors import Finding
from dragoman.driverconfigs.strictjson import Beyond, Repeated
from dragoman.driverconfigs.suggestions import Effort, nearest

MAX_FINDINGS: Final = 50
"""Complaints about one entry's members that are kept; a hostile entry could cause thousands."""

MAX_DEPTH: Final = 64
"""Levels of objects and arrays in parameters; no driver's types come near."""

_SUGGESTIONS: Final = 3
_DEFAULT_STEPS: Final = 2  # for memory more than for time: `{}` can become hundreds of fields
_ABSENT: Final = object()
_NOTABLE: Final = (dict, list, Beyond)


class TooDeep(Exception):  # noqa: N818 — says what the parameters are
    """A value of more levels than are allowed."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What one schema says about members; everything about values is left out.

    Attributes:
        members: shapes of the named fields.
        others: shape of all other values (additionalProperties), None without.
        items: shape of array items, None without.
        free: unknown fields are kept and nothing is known of them.
        nullable: null is a value here.
        default: the default, or the marker of none.
    """

    members: Mapping[str, Shape]
    others: Shape | None = None
    items: Shape | None = None
    free: bool = False
    nullable: bool = False
    default: Any = _ABSENT
    defaults: tuple[tuple[str, Any], ...] = ()


_FREE: Final = Shape({}, free=True, nullable=True)
_EMBEDDED: Final = ("apiVersion", "kind", "metadata")


def shape_of(schema: Mapping[str, Any]) -> Shape:
    """Read the shape out of a schema that passed the structural check."""
    members = {name: shape_of(child) for name, child in (schema.get("properties") or {}).items()}
    if schema.get("x-kubernetes-embedded-resource"):
        members = dict.fromkeys(_EMBEDDED, _FREE) | members
    others = schema.get("additionalProperties")
    items = schema.get("items")
    return Shape(
        members=members,
        others=shape_of(others) if isinstance(others, dict) else _FREE if others is True else None,
        items=shape_of(items) if isinstance(items, dict) else None,
        # Where no object is wanted, its fields are not what is wrong with it.
        free=schema.get("type") != "object"
        or bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        nullable=bool(schema.get("nullable")),
        default=schema.get("default", _ABSENT),
        defaults=tuple(
            (name, child.default) for name, child in members.items() if child.default is not _ABSENT
        ),
    )


@dataclass(slots=True)
class Members:
    """One walk over one entry's parameters.

    Attributes:
        budget: where every visited value is paid for.
        depth: levels that are allowed.
        strangers: paths of fields that the schema does not know, with the shape around them.
        repeated: keys that occur more than once.
        beyond: numbers that no double can hold.
    """

    budget: StepBudget
    depth: int = MAX_DEPTH
    strangers: list[tuple[tuple[str | int, ...], Shape]] = field(default_factory=list)
    repeated: list[Finding] = field(default_factory=list)
    beyond: list[Finding] = field(default_factory=list)

    def settle(self, shape: Shape, value: Any, steps: tuple[str | int, ...] = ()) -> Any:
        """Return the value as the driver sees it, noting what is wrong with its members.

        Raises:
            StepBudgetExceeded: the budget was used up.
            TooDeep: the value has more levels than `depth`.
        """
        if not isinstance(value, _NOTABLE):
            return value
        if isinstance(value, Beyond):
            detail = "must be a number that a double can hold"
            self.beyond.append(fielderrors.finding(steps, fielderrors.TYPE_INVALID, detail, value))
            return value
        if len(steps) >= self.depth:
            raise TooDeep
        self.budget.spend(1 + len(value))
        if isinstance(value, dict):
            return self._object(shape, value, steps)
        below = shape.items or _FREE
        return [
            self.settle(below, item, (*steps, index)) if isinstance(item, _NOTABLE) else item
            for index, item in enumerate(value)
        ]

    def unknown(self) -> list[Finding]:
        """Return the fields that the schema does not know, the first ones with a suggestion.

        They are sorted, so that it does not depend on the order of keys which ones are named.

        Raises:
            StepBudgetExceeded: the budget was used up.
        """
        first = sorted(self.strangers, key=itemgetter(0))[:MAX_FINDINGS]
        effort = Effort()
        found = []
        for index, (path, shape) in enumerate(first):
            detail = "unknown field"
            if index < _SUGGESTIONS:
                guess = nearest(str(path[-1]), shape.members, effort=effort)
                detail += f"; did you mean {guess}?" if guess else ""
            found.append(fielderrors.finding(path, fielderrors.FORBIDDEN, detail))
        self.budget.spend(effort.steps)
        return found

    def _object(
        self, shape: Shape, value: dict[str, Any], steps: tuple[str | int, ...]
    ) -> dict[str, Any]:
        if isinstance(value, Repeated):
            self._note_repeated(value.keys_repeated, steps)
        others = shape.others or (_FREE if shape.free else None)
        settled = {}
        for name, member in value.items():
            below = shape.members.get(name, others)
            if below is None:
                self.strangers.append(((*steps, name), shape))
            elif isinstance(member, _NOTABLE):
                settled[name] = self.settle(below, member, (*steps, name))
            elif member is not None or below.nullable:
                settled[name] = member
        self.budget.spend(_DEFAULT_STEPS * len(shape.defaults))
        for name, default in shape.defaults:
            # Shared, not copied: nothing after this walk changes a value.
            settled.setdefault(name, default)
        return settled

    def _note_repeated(self, names: Iterable[str], steps: tuple[str | int, ...]) -> None:
        for name in names:
            if len(self.repeated) < MAX_FINDINGS:
                place = (*steps, name)
                self.repeated.append(
                    fielderrors.finding(place, fielderrors.DUPLICATE, "the key is repeated")
                )

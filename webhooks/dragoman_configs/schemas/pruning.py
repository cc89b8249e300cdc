"""Pruning and defaulting: the parameters as the driver's decoder sees them.

One walk along the schema removes unknown fields and nulls (which Go decodes as absent, unless the
schema says `nullable`) and fills in defaults. It also collects unknown fields, repeated keys and
unreadable values, so that they become field errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from dragoman_base.files.unreadable import DuplicateKeys, UnreadableValue
from dragoman_base.words.spelling import SuggestionBudget, closest
from dragoman_cel import budget as steps
from dragoman_cel.budget import StepBudget
from dragoman_cel.errors import StepBudgetExceeded
from dragoman_configs import fielderrors
from dragoman_configs.fielderrors import ConfigFieldError
from dragoman_configs.schemas import openapi
from dragoman_configs.schemas.jsonschema import field_errors
from dragoman_configs.schemas.validator import Validator

MAX_FIELD_ERRORS = 50
"""Field errors kept of each kind for one entry; a hostile entry could cause thousands."""

MAX_DEPTH = 64
"""Levels of objects and arrays in parameters; drivers' types have far fewer."""

UNKNOWN_FIELD = "unknown field"
"""The beginning of the detail of an error about a field that the schema does not list."""

_SUGGESTIONS = 3
_DEFAULT_STEPS = 2  # bounds memory more than time: `{}` can become hundreds of fields
_ABSENT = object()
_NOT_SCALAR = (dict, list, UnreadableValue)


class TooDeepError(Exception):
    """A value nested deeper than allowed."""


@dataclass(frozen=True, slots=True)
class PruningSchema:
    """The part of a structural schema that pruning and defaulting need."""

    properties: Mapping[str, PruningSchema]  # Schemas of the named fields
    # Schema of all other fields (additionalProperties), None without
    additional: PruningSchema | None = None
    items: PruningSchema | None = None  # Schema of array items, None without
    preserves_unknown: bool = False  # Unknown fields are kept, without any check
    nullable: bool = False  # `null` is a value here
    default: Any = _ABSENT  # The default, or the marker of none
    defaults: tuple[tuple[str, Any], ...] = ()  # Names and defaults of the properties that have one


_ANYTHING = PruningSchema({}, preserves_unknown=True, nullable=True)
_EMBEDDED = ("apiVersion", "kind", "metadata")


def pruning_schema(schema: Mapping[str, Any]) -> PruningSchema:
    """Reduce a schema that passed the structural check to what pruning needs."""
    named = {name: pruning_schema(one) for name, one in (schema.get("properties") or {}).items()}
    if schema.get("x-kubernetes-embedded-resource"):
        named = dict.fromkeys(_EMBEDDED, _ANYTHING) | named
    additional, items = schema.get("additionalProperties"), schema.get("items")
    if isinstance(additional, dict):
        others: PruningSchema | None = pruning_schema(additional)
    else:
        others = _ANYTHING if additional is True else None
    return PruningSchema(
        properties=named,
        additional=others,
        items=pruning_schema(items) if isinstance(items, dict) else None,
        # An object in place of another type is one type error; its fields add nothing to that.
        preserves_unknown=schema.get("type") != "object"
        or bool(schema.get("x-kubernetes-preserve-unknown-fields")),
        nullable=bool(schema.get("nullable")),
        default=schema.get("default", _ABSENT),
        defaults=tuple(
            (name, one.default) for name, one in named.items() if one.default is not _ABSENT
        ),
    )


@dataclass(slots=True)
class Pruner:
    """One walk over one entry's parameters."""

    budget: StepBudget  # Pays for every visited value
    depth: int = MAX_DEPTH  # Allowed levels
    # Paths of unknown fields, each with the schema of the object around it
    unknown: list[tuple[tuple[str | int, ...], PruningSchema]] = field(default_factory=list)
    duplicates: list[ConfigFieldError] = field(default_factory=list)  # Errors of repeated keys
    # Errors of values that no decoder can hold
    unreadable: list[ConfigFieldError] = field(default_factory=list)

    def prune(self, schema: PruningSchema, value: Any, path: tuple[str | int, ...] = ()) -> Any:
        """Return the value pruned and defaulted, and collect its errors.

        Raises:
            StepBudgetExceeded: The budget was used up.
            TooDeepError: The value has more levels than `depth`.
        """
        if not isinstance(value, _NOT_SCALAR):
            return value
        if isinstance(value, UnreadableValue):
            detail = value.requirement
            error = fielderrors.field_error(path, fielderrors.TYPE_INVALID, detail, value)
            self.unreadable.append(error)
            return value
        if len(path) >= self.depth:
            raise TooDeepError
        self.budget.spend(1 + len(value))
        if isinstance(value, dict):
            return self._object(schema, value, path)
        below = schema.items or _ANYTHING
        return [
            self.prune(below, item, (*path, index)) if isinstance(item, _NOT_SCALAR) else item
            for index, item in enumerate(value)
        ]

    def unknown_field_errors(self) -> list[ConfigFieldError]:
        """Return an error for each unknown field, the first ones with a suggestion.

        They are sorted, so that the order of keys does not decide which ones are listed.

        Raises:
            StepBudgetExceeded: The budget was used up.
        """
        first = sorted(self.unknown, key=itemgetter(0))[:MAX_FIELD_ERRORS]
        suggesting = SuggestionBudget()
        found = []
        for index, (path, schema) in enumerate(first):
            detail = UNKNOWN_FIELD
            if index < _SUGGESTIONS:
                guess = closest(str(path[-1]), schema.properties, budget=suggesting)
                detail += f"; did you mean {guess}?" if guess else ""
            error = fielderrors.field_error(path, fielderrors.FORBIDDEN, detail)
            found.append(replace(error, known=schema.properties))
        self.budget.spend(suggesting.steps)
        return found

    def _object(
        self, schema: PruningSchema, value: dict[str, Any], path: tuple[str | int, ...]
    ) -> dict[str, Any]:
        if isinstance(value, DuplicateKeys):
            self._add_duplicates(value.duplicate_keys, path)
        others = schema.additional or (_ANYTHING if schema.preserves_unknown else None)
        pruned = {}
        for name, member in value.items():
            below = schema.properties.get(name, others)
            if below is None:
                self.unknown.append(((*path, name), schema))
            elif isinstance(member, _NOT_SCALAR):
                pruned[name] = self.prune(below, member, (*path, name))
            elif member is not None or below.nullable:
                pruned[name] = member
        self.budget.spend(_DEFAULT_STEPS * len(schema.defaults))
        for name, default in schema.defaults:
            # Shared, not copied: nothing changes a value after this walk.
            pruned.setdefault(name, default)
        return pruned

    def _add_duplicates(self, names: Iterable[str], path: tuple[str | int, ...]) -> None:
        detail = "the key is repeated"
        for name in names:
            if len(self.duplicates) < MAX_FIELD_ERRORS:
                error = fielderrors.field_error((*path, name), fielderrors.DUPLICATE, detail)
                self.duplicates.append(error)


def validate_defaults(
    schema: PruningSchema, validator: Validator | None, path: str
) -> Iterator[ConfigFieldError]:
    """Yield the errors of a schema's defaults: each must be valid where it stands.

    Args:
        schema: For pruning the defaults.
        validator: Of the same schema, None where it accepts any value.
        path: Of the schema.
    """
    budget = StepBudget(steps.REVIEW_STEPS)
    token = steps.current.set(budget)
    try:
        yield from list(_default_errors(schema, validator, path, budget))
    except (StepBudgetExceeded, TooDeepError):
        yield ConfigFieldError(
            path, fielderrors.TOO_LONG, "the defaults are too large to be checked"
        )
    finally:
        steps.current.reset(token)


def _default_errors(
    schema: PruningSchema, validator: Validator | None, path: str, budget: StepBudget
) -> Iterator[ConfigFieldError]:
    if schema.default is not _ABSENT and schema.default is not None:
        pruner = Pruner(budget)
        pruned = pruner.prune(schema, schema.default)
        values = field_errors(validator, pruned) if validator else ()
        for error in (*pruner.unknown_field_errors(), *values):
            yield error.under(f"{path}.default")
    for step, child, below in _children(schema, validator):
        yield from _default_errors(child, below, path + step, budget)


def _children(
    schema: PruningSchema, validator: Validator | None
) -> Iterator[tuple[str, PruningSchema, Validator | None]]:
    """List the sub-schemas: relative path, schema, validator."""
    prepared: Any = validator.schema if validator else {}
    named = prepared.get("properties", {})
    for name, child in schema.properties.items():
        yield openapi.property_step(name), child, named.get(name)
    if schema.items:
        yield ".items", schema.items, prepared.get("items")
    if schema.additional:
        yield ".additionalProperties", schema.additional, prepared.get("additionalProperties")

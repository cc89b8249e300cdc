"""Rule sets: all rules of a schema, and their evaluation on a value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from dragoman_base.versions import Version
from dragoman_cel import types
from dragoman_cel.budget import StepBudget
from dragoman_cel.environment import Environment
from dragoman_cel.errors import FieldError
from dragoman_cel.estimate import Path
from dragoman_cel.rules.conversion import Converters
from dragoman_cel.rules.rule import Rule, compile_rule
from dragoman_cel.rules.shapes import (
    Schema,
    Shape,
    Shapes,
    declared_type,
    depth_of,
    is_embedded,
    size_of,
    with_meta,
)
from dragoman_cel.rules.validation import OBJECT_LIMIT, Level, Outcome, Validation
from dragoman_cel.rules.variables import RuleVariables
from dragoman_cel.types import Type

__all__ = ["OBJECT_LIMIT", "Outcome", "RuleProblem", "RuleSet", "compile"]

_VERSION: Version = (1, 36)
_SELF = "selfType"
_REMEMBERED = 128

_MEMORABLE = 16 * 1024
"""Characters of the largest schema whose rule set is cached: a compiled rule takes a hundred times
its text, so larger ones would let the cache grow to more than a gigabyte."""

MAX_LEVELS = 100
"""Levels of the deepest schema; in Kubernetes only the size of a request limits them."""


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """An error in a rule itself, for the author of the schema."""

    path: str  # Path in the schema, such as `properties[ports].items.x-kubernetes-validations[0]`.
    message: str  # The text of the API server


class RuleSet:
    """The compiled rules of a schema: immutable, so that threads can share it.

    Attributes:
        path: Path that errors start with.
        level: The rules, nested as the schema is; None without any rule.
        problems: Rules, messages and field paths that do not compile.
    """

    def __init__(self, path: str, level: Level | None, variables: RuleVariables) -> None:
        self.path = path
        self.level = level
        self.problems = tuple(_problems(level, "")) if level is not None else ()
        self._variables = variables

    def validate(
        self, value: Any, old: Any = None, *, budget: StepBudget | None = None
    ) -> list[FieldError]:
        """Return the errors of a value, none if it is valid.

        Args:
            value: Data as `json.loads` returns it; it does not change.
            old: The stored value in an update; rules that read `oldSelf` are skipped without it.
            budget: Plain steps shared with other evaluations.

        Raises:
            StepBudgetExceeded: The shared budget is used up.
        """
        return self.outcome(value, old, budget=budget).errors

    def outcome(self, value: Any, old: Any = None, *, budget: StepBudget | None = None) -> Outcome:
        """Return the errors together with their cost in CEL units.

        Args:
            value: As for `validate`.
            old: As for `validate`.
            budget: As for `validate`.
        """
        validation = Validation(self._variables.values, budget)
        if self.level is not None:
            validation.run(self.level, self.path, value, old)
        return Outcome(validation.errors, OBJECT_LIMIT - max(validation.remaining, 0))


def compile(  # noqa: A001 — read as rules.compile
    schema: Schema,
    *,
    path: str = "spec",
    variables: Mapping[str, Any] | None = None,
    resource_root: bool = False,
    cache: bool = True,
) -> RuleSet:
    """Compile the x-kubernetes-validations of a structural schema, at every level.

    Rules that do not compile do not raise: like the API server, `validate` reports them as errors
    of the value, and `RuleSet.problems` has them for the schema's author. A cache keeps the rule
    sets compiled last by the schema's content.

    Args:
        schema: An OpenAPI v3 structural schema as JSON.
        path: Path of the value that errors start with; "" for a whole object.
        variables: Read-only variables by name, such as `{"variables.limit": 3}`, with plain JSON
            values; their types are the values' (bool, int, double, string, list, map).
        resource_root: Whether the schema describes a whole resource, so that rules can read
            apiVersion, kind, metadata.name and metadata.generateName.
        cache: Whether to keep the rule set, and to reuse one that was kept.

    Raises:
        ValueError: The schema has more than 100 levels.
    """
    if depth_of(schema) > MAX_LEVELS:
        raise ValueError(f"the schema has more than {MAX_LEVELS} levels")
    text = ""
    if cache:
        with suppress(TypeError, ValueError):
            text = json.dumps([schema, variables or {}])
    if 0 < len(text) <= _MEMORABLE:
        return _remembered(text, path, resource_root)
    return _built(schema, path, variables or {}, resource_root=resource_root)


@lru_cache(maxsize=_REMEMBERED)
def _remembered(text: str, path: str, resource_root: bool) -> RuleSet:  # noqa: FBT001 — a key
    schema, variables = json.loads(text)
    return _built(schema, path, variables, resource_root=resource_root)


def _built(
    schema: Schema, path: str, variables: Mapping[str, Any], *, resource_root: bool
) -> RuleSet:
    known = RuleVariables(variables)
    level = None
    if _has_rules(schema):
        shapes = Shapes()
        shape = shapes.of(schema, root=resource_root)
        level = _Builder(known, shapes).level(schema, schema, shape, root=resource_root)
    return RuleSet(path, level, known)


def _has_rules(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    if schema.get("x-kubernetes-validations"):
        return True
    parts = [schema.get("items"), schema.get("additionalProperties")]
    parts += (schema.get("properties") or {}).values()
    return any(map(_has_rules, parts))


class _Builder:
    """Builds the levels of one schema, each with its own environments."""

    def __init__(self, variables: RuleVariables, shapes: Shapes) -> None:
        self.variables = variables
        self.shapes = shapes
        self.converters = Converters(shapes)

    def level(
        self, rules: Schema, node: Schema, shape: Shape | None, *, root: bool
    ) -> Level | None:
        """Return the rules of a schema and of its parts, None without any.

        Args:
            rules: The schema that has the rules: the node, or a part of its `allOf`.
            node: The schema of the value.
            shape: The part of the value that expressions can see.
            root: Whether it is a whole resource.
        """
        own = self.rules(rules, node, shape)
        element = shape.element if shape is not None else None
        items = self.part(rules.get("items"), node.get("items"), element)
        values = self.part(
            rules.get("additionalProperties"), node.get("additionalProperties"), element
        )
        properties = dict(self.properties(rules, node, shape))
        alternatives = [
            found
            for part in rules.get("allOf") or ()
            if (found := self.level(part, node, shape, root=root)) is not None
        ]
        if not (own or items or values or properties or alternatives):
            return None
        source = with_meta(node) if root else node
        keys = node.get("x-kubernetes-list-map-keys") or ()
        correlated = node.get("x-kubernetes-list-type") == "map" and node.get("type") == "array"
        return Level(
            rules=own,
            convert=self.converters.of(source),
            items=items,
            values=values,
            properties=properties,
            alternatives=tuple(alternatives),
            list_map_keys=tuple(keys) if correlated else (),
        )

    def part(self, rules: Any, node: Any, shape: Shape | None) -> Level | None:
        if not isinstance(rules, Mapping) or not isinstance(node, Mapping):
            return None
        return self.level(rules, node, shape, root=is_embedded(node))

    def properties(
        self, rules: Schema, node: Schema, shape: Shape | None
    ) -> Iterator[tuple[str, Level]]:
        known = node.get("properties") or {}
        for name, part in (rules.get("properties") or {}).items():
            if name not in known or shape is None:
                continue
            part_shape = self.shapes.of_part(known[name])
            found = self.part(part, known[name], part_shape) if part_shape is not None else None
            if found is not None:
                yield name, found

    def rules(self, rules: Schema, node: Schema, shape: Shape | None) -> tuple[Rule, ...]:
        sources = rules.get("x-kubernetes-validations") or ()
        if not sources or shape is None:
            return ()
        environments = self.environments(shape)
        return tuple(compile_rule(source, environments, node) for source in sources)

    def environments(self, shape: Shape) -> tuple[Environment, Environment]:
        structs: dict[str, Mapping[str, Type]] = {}
        kind = declared_type(shape, _SELF, structs)

        def size_of_path(path: Path) -> int | None:
            if path[0] in self.variables.types:
                return self.variables.size_of(path)
            return size_of(shape, path[1:])

        def environment(old: Type) -> Environment:
            declared = {"self": kind, "oldSelf": old, **self.variables.types}
            return Environment(_VERSION, declared, structs, size_of_path, guarded=True)

        return environment(kind), environment(types.optional_of(kind))


def _problems(level: Level, path: str) -> Iterator[RuleProblem]:
    for number, rule in enumerate(level.rules):
        at = f"{path}.x-kubernetes-validations[{number}]".removeprefix(".")
        if rule.error:
            yield RuleProblem(f"{at}.rule", rule.error)
        if rule.message_error:
            yield RuleProblem(f"{at}.messageExpression", rule.message_error)
        if rule.field_path_error:
            yield RuleProblem(f"{at}.fieldPath", rule.field_path_error)
    for number, part in enumerate(level.alternatives):
        yield from _problems(part, f"{path}.allOf[{number}]")
    below = {"items": level.items, "additionalProperties": level.values}
    below |= {f"properties[{name}]": part for name, part in level.properties.items()}
    for place, inner in below.items():
        if inner is not None:
            yield from _problems(inner, f"{path}.{place}")

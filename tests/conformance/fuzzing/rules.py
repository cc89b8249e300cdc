"""Rule cases: a structural schema with x-kubernetes-validations, a value and an old value."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from dragoman_cel import rules
from tests.conformance.fuzzing import schemas
from tests.conformance.fuzzing.expressions import Expressions, Tree

Answer = dict[str, Any]
Steps = tuple[str, ...]

_REASONS = (
    "FieldValueInvalid",
    "FieldValueForbidden",
    "FieldValueRequired",
    "FieldValueDuplicate",
)
_RESOURCE = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "n", "labels": {}}}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: where it stands in the schema, its expression and what else belongs to it."""

    place: Steps
    tree: Tree
    message: Tree | None
    extras: tuple[tuple[str, Any], ...]

    def document(self) -> Answer:
        """Return the rule as it is written in a schema."""
        written = {"rule": str(self.tree), **dict(self.extras)}
        return (
            written if self.message is None else {**written, "messageExpression": str(self.message)}
        )


@dataclass(frozen=True, slots=True)
class RuleCase:
    """A schema, its rules, a value and an old value (None: there is none)."""

    schema: schemas.Schema
    rules: tuple[Rule, ...]
    value: Any
    old: Any
    root: bool

    @classmethod
    def generate(cls, random: Random, _kubernetes: str = "") -> RuleCase:
        """Generate a case."""
        root = random.random() < 0.1
        schema = schemas.object_schema(random, 3)
        places = list(_places(schema, ()))
        chosen = [
            () if random.random() < 0.75 else random.choice(places)
            for _ in range(random.choice((1, 1, 2)))
        ]
        value = schemas.value(random, schema)
        old = _old(random, schema, value)
        if root and isinstance(value, dict):
            value = {**value, **_RESOURCE}
            old = {**old, **_RESOURCE} if isinstance(old, dict) else old
        found = tuple(_rule(random, schema, place, root=root) for place in chosen)
        return cls(schema, found, value, old, root)

    def request(self) -> Answer:
        """Return the request to the oracle."""
        return {
            "op": "rules",
            "schema": self.document(),
            "value": self.value,
            "old": self.old,
            "root": self.root,
            "path": "spec",
        }

    def document(self) -> schemas.Schema:
        """Return the schema with the rules in it."""
        schema = copy.deepcopy(self.schema)
        for rule in self.rules:
            node = _at(schema, rule.place)
            node.setdefault("x-kubernetes-validations", []).append(rule.document())
        return schema

    def ours(self) -> Answer:
        """Answer with dragoman, in the oracle's form."""
        return answer_rules(self.request())

    def simpler(self) -> Iterator[RuleCase]:
        """Yield smaller cases."""
        for index, rule in enumerate(self.rules):
            others = (*self.rules[:index], *self.rules[index + 1 :])
            if others:
                yield replace(self, rules=others)
            for slim in _simpler(rule):
                yield replace(self, rules=(*self.rules[:index], slim, *self.rules[index + 1 :]))
        for name in self.schema["properties"]:
            if all(rule.place[:2] != ("properties", name) for rule in self.rules):
                yield self._without(name)
        if self.old is not None:
            yield replace(self, old=None)
        if self.root:
            yield replace(self, root=False)

    def _without(self, name: str) -> RuleCase:
        kept = {key: form for key, form in self.schema["properties"].items() if key != name}
        schema = {**self.schema, "properties": kept}
        return replace(
            self, schema=schema, value=_dropped(self.value, name), old=_dropped(self.old, name)
        )

    def size(self) -> int:
        """Return the measure that shrinking reduces."""
        return len(json.dumps(self.request()))


def answer_rules(request: Answer) -> Answer:
    """Answer a request of the kind "rules" with dragoman, in the oracle's form."""
    compiled = rules.compile(request["schema"], path=request["path"], resource_root=request["root"])
    outcome = compiled.outcome(request["value"], request["old"])
    own = compiled.level.rules if compiled.level is not None else ()
    return {
        "errors": [
            {"type": error.type, "field": error.field, "detail": error.detail}
            for error in outcome.errors
        ],
        "cost": outcome.cost,
        "max_costs": [rule.program.max_cost if rule.program else None for rule in own],
    }


def _simpler(rule: Rule) -> Iterator[Rule]:
    if rule.message is not None:
        yield replace(rule, message=None)
        for tree in rule.message.variants():
            yield replace(rule, message=tree)
    for index in range(len(rule.extras)):
        yield replace(rule, extras=(*rule.extras[:index], *rule.extras[index + 1 :]))
    for tree in sorted(rule.tree.variants(), key=lambda tree: len(str(tree))):
        yield replace(rule, tree=tree)


def _dropped(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key != name}


def _old(random: Random, schema: schemas.Schema, value: Any) -> Any:
    choice = random.random()
    if choice < 0.6:
        return None
    return value if choice < 0.75 else schemas.value(random, schema)


def _rule(random: Random, schema: schemas.Schema, place: Steps, *, root: bool) -> Rule:
    node = _at(schema, place)
    transition = random.random() < 0.25
    paths = schemas.Paths(node, names=("self", "oldSelf") if transition else ("self",))
    roots = paths.roots
    if root and not place:
        roots = [*roots, (("string",), "self.metadata.name"), (("string",), "self.kind")]
    source = Expressions(random, roots, paths.fields)
    tree = source.expression(("bool",), random.choice((1, 2, 2, 3, 3)))
    message = source.expression(("string",), 2) if random.random() < 0.15 else None
    return Rule(place, tree, message, _extras(random, node, transition=transition))


def _extras(
    random: Random, node: schemas.Schema, *, transition: bool
) -> tuple[tuple[str, Any], ...]:
    found: dict[str, Any] = {}
    if random.random() < 0.2:
        found["message"] = random.choice(("must hold", " padded ", "two\nlines"))
    if random.random() < 0.2:
        found["reason"] = random.choice(_REASONS)
    if random.random() < 0.2:
        found["fieldPath"] = _field_path(random, node)
    if transition and random.random() < 0.3:
        found["optionalOldSelf"] = random.random() < 0.8
    return tuple(found.items())


def _field_path(random: Random, node: schemas.Schema) -> str:
    name = random.choice((*node.get("properties", {"a": 1}), "nosuch"))
    return random.choice((f".{name}", f"['{name}']", f".{name}.b", f".{name}[0]", name))


def _places(schema: schemas.Schema, place: Steps) -> Iterator[Steps]:
    yield place
    for name, inner in schema.get("properties", {}).items():
        yield from _places(inner, (*place, "properties", name))
    for step in ("items", "additionalProperties"):
        if step in schema:
            yield from _places(schema[step], (*place, step))


def _at(schema: schemas.Schema, place: Steps) -> schemas.Schema:
    for step in place:
        schema = schema[step]
    return schema

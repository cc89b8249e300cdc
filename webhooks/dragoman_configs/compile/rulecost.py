"""Estimate the worst-case cost of rules, so that too expensive ones are refused at admission.

The API server does the same to CRDs (apiextensions-apiserver, StaticEstimatedCostLimit) and assumes
values that fill a request of 3 MiB. Parameters have at most 10 KiB, which is assumed here, so that
authors need not bound every string and list.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dragoman_cel.rules import Rule, RuleProblem, RuleSet
from dragoman_cel.rules.validation import Level
from dragoman_configs.schemas import openapi

RULE_LIMIT = 10_000_000
"""CEL units of one rule, for all values that it may be applied to in one entry."""

TOTAL_LIMIT = 100_000_000
"""CEL units of all rules of a config."""

_BYTES = 10 * 1024
_CHARACTER_BYTES = 4
# The shortest item is a digit with a comma; the shortest pair has quotes, a colon, a comma and one.
_MOST_ITEMS = _BYTES // 2
_MOST_PAIRS = _BYTES // 5
_BOUNDS = {
    "maxLength": _BYTES // _CHARACTER_BYTES,
    "maxItems": _MOST_ITEMS,
    "maxProperties": _MOST_PAIRS,
}
_ADVICE = "simplify it, or add maxItems, maxProperties or maxLength to what it looks at"


def with_size_bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a structural schema and add the bounds that 10 KiB of parameters imply."""
    copy = {**schema}
    for word, most in _BOUNDS.items():
        if word != "maxLength" or not copy.get("enum"):  # an enum is the closer bound
            given = copy.get(word)
            copy[word] = most if given is None else min(given, most)
    return openapi.map_children(copy, with_size_bounds)


def too_expensive(rules: RuleSet, schema: Mapping[str, Any]) -> Iterator[RuleProblem]:
    """Yield the expressions that may cost too much, or the most expensive if only the sum does.

    Args:
        rules: Compiled with the schema.
        schema: From `with_size_bounds`.
    """
    costs = dict(_costs(rules.level, schema, "", 1)) if rules.level else {}
    for place, cost in costs.items():
        if cost > RULE_LIMIT:
            yield RuleProblem(place, _message("the", cost / RULE_LIMIT))
    total = sum(costs.values())
    if total > TOTAL_LIMIT and max(costs.values()) <= RULE_LIMIT:
        highest = max(costs, key=costs.__getitem__)
        yield RuleProblem(highest, _message("with all other rules the", total / TOTAL_LIMIT))


def _message(whose: str, factor: float) -> str:
    shown = "more than 100" if factor > 100 else f"{factor:.1f}"
    return f"{whose} estimated cost exceeds the limit by a factor of {shown}: {_ADVICE}"


def _costs(
    level: Level, schema: Mapping[str, Any], path: str, count: int
) -> Iterator[tuple[str, int]]:
    """Yield each expression's place and cost, for up to `count` values at that place."""
    for number, rule in enumerate(level.rules):
        place = f"{path}.x-kubernetes-validations[{number}]".removeprefix(".")
        for word, cost in _costs_once(rule):
            yield f"{place}.{word}", cost * count
    if level.items is not None:
        most = min(count * schema["maxItems"], _MOST_ITEMS)
        yield from _costs(level.items, schema["items"], f"{path}.items", most)
    if level.values is not None:
        most = min(count * schema["maxProperties"], _MOST_PAIRS)
        below = schema["additionalProperties"]
        yield from _costs(level.values, below, f"{path}.additionalProperties", most)
    for name, part in level.properties.items():
        below = schema["properties"][name]
        yield from _costs(part, below, f"{path}.properties[{name}]", count)


def _costs_once(rule: Rule) -> Iterator[tuple[str, int]]:
    if rule.program is not None:
        yield "rule", rule.program.max_cost
    if rule.message_program is not None:
        yield "messageExpression", rule.message_program.max_cost

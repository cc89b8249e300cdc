"""CEL rules of a config: those inside its schema and those beside it, with the variables."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman_cel import errors as cel_errors
from dragoman_cel import rules as cel
from dragoman_cel.budget import StepBudget
from dragoman_configs import fielderrors
from dragoman_configs.compile.rulecost import too_expensive, with_size_bounds
from dragoman_configs.fielderrors import ConfigFieldError
from dragoman_configs.objects.driverconfigschema import ConfigSpec, Variable
from dragoman_configs.schemas import openapi
from dragoman_configs.schemas.pruning import MAX_FIELD_ERRORS

WARNING = "Warning"

_ERROR = "Error"
_ERROR_STEPS = 6
_PATH_LENGTH = 256
_WORD = "x-kubernetes-validations"
_EXPRESSIONS = ("rule", "messageExpression")
_TEXTS = ("rule", "message", "messageExpression", "fieldPath", "reason", "severity")
_REASONS = (
    fielderrors.INVALID,
    fielderrors.FORBIDDEN,
    fielderrors.REQUIRED,
    fielderrors.DUPLICATE,
)
_SEVERITIES = (_ERROR, WARNING)
_VARIABLE = re.compile(r"\bvariables\s*\.\s*([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Rules:
    """The compiled rules of one config."""

    enforced: cel.RuleSet  # Rules of severity Error: the driver fails where they are broken
    advisory: cel.RuleSet  # Rules of severity Warning: the driver does something unexpected
    messages: frozenset[str]  # The fixed messages of all rules, which hold no user values
    # The variables that rules read, by the fixed messages of the rules
    reads: Mapping[str, tuple[str, ...]]

    def evaluate(
        self, rules: cel.RuleSet, value: Any, budget: StepBudget
    ) -> list[ConfigFieldError]:
        """Evaluate the enforced or the advisory rules; paths are relative to the parameters.

        Raises:
            StepBudgetExceeded: The budget was used up.
        """
        if rules.level is None:
            return []
        broken = rules.validate(value, budget=budget)
        # Spent afterwards, because the number is unknown before: a rule for items can fail 5000
        # times.
        budget.spend(_ERROR_STEPS * len(broken))
        return [self._field_error(error) for error in broken[:MAX_FIELD_ERRORS]]

    def _field_error(self, error: cel_errors.FieldError) -> ConfigFieldError:
        # The path holds map keys as the user wrote them.
        place = fielderrors.clip(fielderrors.printable(error.field), _PATH_LENGTH)
        path = place if place.startswith("[") else f".{place}"
        # A messageExpression's text may hold values, and so may an error at run time.
        fixed = error.detail in self.messages
        public = None if fixed else "breaks a rule of the schema"
        detail = fielderrors.clip(error.detail, fielderrors.DETAIL_LENGTH)
        if not fixed:
            detail = fielderrors.clip(fielderrors.printable(detail), fielderrors.DETAIL_LENGTH)
        reads = self.reads.get(error.detail, ())
        return ConfigFieldError(
            path if error.field else "", error.type, detail, None, public, reads
        )


def compile_rules(
    schema: Mapping[str, Any],
    beside: Sequence[Mapping[str, Any]],
    variables: Iterable[Variable],
    path: str,
) -> tuple[Rules | None, tuple[ConfigFieldError, ...]]:
    """Compile the rules of a config.

    Args:
        schema: The structural schema, rules inside included.
        beside: The rules of `spec.configs[].rules`.
        variables: Values that rules read as `variables.NAME`.
        path: Of the config in its object.

    Returns:
        The rules, None without any, and their errors with full paths.
    """
    inside = f"{path}.schema.openAPIV3Schema"
    malformed = [*_malformed_within(schema, inside), *_malformed(beside, f"{path}.rules")]
    if malformed:
        return None, tuple(malformed)
    values = {f"variables.{variable.name}": variable.value for variable in variables}
    own = list(schema.get(_WORD) or ())
    places: dict[str, list[int]] = {_ERROR: [], WARNING: []}
    for index, rule in enumerate(beside):
        places[rule.get("severity") or _ERROR].append(index)
    # Not cached: the registry keeps what is active and counts its memory.
    bounded = with_size_bounds(schema)
    strict = {**bounded, _WORD: own + [beside[index] for index in places[_ERROR]]}
    mild = {**_without_rules(bounded), _WORD: [beside[index] for index in places[WARNING]]}
    enforced = cel.compile(strict, path="", variables=values, cache=False)
    advisory = cel.compile(mild, path="", variables=values, cache=False)
    problems = (*enforced.problems, *too_expensive(enforced, strict))
    doubts = (*advisory.problems, *too_expensive(advisory, mild))
    errors = (
        *_errors(problems, inside, f"{path}.rules", len(own), places[_ERROR]),
        *_errors(doubts, inside, f"{path}.rules", 0, places[WARNING]),
    )
    if enforced.level is None and advisory.level is None:
        return None, errors
    rules = [*_all_rules(schema), *beside]
    return Rules(enforced, advisory, frozenset(_messages(rules)), _reads(rules)), errors


def size_of_rules(config: ConfigSpec) -> int:
    """Count the bytes of all expressions of a config, inside its schema and beside it."""
    texts = (rule.get(word) for rule in _objects(config) for word in _EXPRESSIONS)
    return sum(len(text.encode("utf-8", "replace")) for text in texts if isinstance(text, str))


def count_rules(config: ConfigSpec) -> int:
    """Count the rules of a config, inside its schema and beside it."""
    inside = (node.get(_WORD) for node in _objects(config))
    return len(config.rules) + sum(len(rules) for rules in inside if isinstance(rules, list))


def _objects(config: ConfigSpec) -> Iterator[dict[str, Any]]:
    """List all JSON objects of a config, whose schema has not been checked yet."""
    nodes: list[Any] = [config.schema, *config.rules]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            yield node
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node


def _errors(
    problems: Iterable[cel.RuleProblem], inside: str, beside: str, own: int, places: Sequence[int]
) -> Iterator[ConfigFieldError]:
    """Translate paths: rules beside the schema were compiled as the last ones of its root."""
    moved = {f"{_WORD}[{own + n}]": f"{beside}[{index}]" for n, index in enumerate(places)}
    for problem in problems:
        rule, _, word = problem.path.rpartition(".")
        place = moved.get(rule, f"{inside}.{rule}")
        detail = fielderrors.clip(problem.message, fielderrors.DETAIL_LENGTH)
        yield ConfigFieldError(f"{place}.{word}", fielderrors.INVALID, detail)


def _malformed_within(schema: Mapping[str, Any], path: str) -> Iterator[ConfigFieldError]:
    yield from _malformed(schema.get(_WORD) or (), f"{path}.{_WORD}")
    for step, child in openapi.children(schema):
        yield from _malformed_within(child, path + step)


def _malformed(rules: Iterable[Any], path: str) -> Iterator[ConfigFieldError]:
    for index, rule in enumerate(rules):
        place = f"{path}[{index}]"
        if not isinstance(rule, dict):
            yield ConfigFieldError(place, fielderrors.TYPE_INVALID, "must be a rule")
            continue
        for word, detail in _malformed_words(rule):
            yield ConfigFieldError(f"{place}.{word}", fielderrors.INVALID, detail)


def _malformed_words(rule: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    wrong = [word for word in _TEXTS if not isinstance(rule.get(word, ""), str)]
    if wrong:
        yield from ((word, "must be a string") for word in wrong)
        return
    if not rule.get("rule", "").strip():
        yield "rule", "must not be empty"
    message = rule.get("message", "").strip()
    if len(message.splitlines()) > 1:
        yield "message", "must not contain line breaks"
    if len(rule.get("rule", "").strip().splitlines()) > 1 and not message:
        yield "message", "must be specified if rule contains line breaks"
    if rule.get("reason", fielderrors.INVALID) not in _REASONS:
        yield "reason", f"supported values: {', '.join(_REASONS)}"
    if rule.get("severity", WARNING) not in _SEVERITIES:
        yield "severity", f"supported values: {', '.join(_SEVERITIES)}"


def _messages(rules: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for rule in rules:
        yield rule.get("message", "").strip()
        yield f"failed rule: {rule['rule'].strip()}"


def _reads(rules: Iterable[Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """List the variables that rules read, by the messages with which they fail."""
    found: dict[str, tuple[str, ...]] = {}
    for rule in rules:
        names = _VARIABLE.findall(rule["rule"])
        for message in _messages([rule]) if names else ():
            found[message] = tuple(dict.fromkeys((*found.get(message, ()), *names)))
    return found


def _all_rules(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from schema.get(_WORD) or ()
    for _, child in openapi.children(schema):
        yield from _all_rules(child)


def _without_rules(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a schema without the rules inside."""
    bare = {word: value for word, value in schema.items() if word != _WORD}
    return openapi.map_children(bare, _without_rules)

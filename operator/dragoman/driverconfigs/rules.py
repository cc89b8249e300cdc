"""CEL rules of a config: those inside its schema and those beside it, with the variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dragoman.cel import rules as cel
from dragoman.cel.budget import StepBudget
from dragoman.cel.errors import FieldError
from dragoman.driverconfigs import fielderrors, openapi
from dragoman.driverconfigs.driverconfigschema import ConfigSpec, Variable
from dragoman.driverconfigs.fielderrors import Finding
from dragoman.driverconfigs.pruning import MAX_FINDINGS
from dragoman.driverconfigs.rulecost import bounded, too_dear

WARNING: Final = "Warning"

_ERROR: Final = "Error"
_ERROR_STEPS: Final = 6
_PATH_LENGTH: Final = 256
_WORD: Final = "x-kubernetes-validations"
_TEXTS: Final = ("rule", "message", "messageExpression", "fieldPath", "reason", "severity")
_REASONS: Final = (
    fielderrors.INVALID,
    fielderrors.FORBIDDEN,
    fielderrors.REQUIRED,
    fielderrors.DUPLICATE,
)
_SEVERITIES: Final = (_ERROR, WARNING)


@dataclass(frozen=True, slots=True)
class Rules:
    """The compiled rules of one config.

    Attributes:
        errors: rules that the driver enforces.
        warnings: rules about what the driver takes and treats otherwise than expected.
        known: the fixed messages of all rules, which hold nothing of users' values.
    """

    errors: cel.RuleSet
    warnings: cel.RuleSet
    known: frozenset[str]

    def broken_by(self, value: Any, budget: StepBudget) -> list[Finding]:
        """List what the enforced rules have against parameters; paths are relative to them.

        Raises:
            StepBudgetExceeded: the budget was used up.
        """
        return self._found(self.errors, value, budget)

    def doubted_by(self, value: Any, budget: StepBudget) -> list[Finding]:
        """List what the other rules have against parameters, as `broken_by`."""
        return self._found(self.warnings, value, budget)

    def _found(self, rules: cel.RuleSet, value: Any, budget: StepBudget) -> list[Finding]:
        if rules.level is None:
            return []
        broken = rules.validate(value, budget=budget)
        # Afterwards, since nobody can tell before: a rule for items can fail 5000 times.
        budget.spend(_ERROR_STEPS * len(broken))
        return [self._finding(error) for error in broken[:MAX_FINDINGS]]

    def _finding(self, error: FieldError) -> Finding:
        # Keys of maps stand in it as users wrote them.
        place = fielderrors.clip(fielderrors.printable(error.field), _PATH_LENGTH)
        path = place if place.startswith("[") else f".{place}"
        # A message that an expression made may hold values, and so may an error at run time.
        known = error.detail in self.known
        public = None if known else "breaks a rule of the schema"
        detail = fielderrors.clip(error.detail, fielderrors.DETAIL_LENGTH)
        if not known:
            detail = fielderrors.clip(fielderrors.printable(detail), fielderrors.DETAIL_LENGTH)
        return Finding(path if error.field else "", error.type, detail, public=public)


def compile_rules(
    schema: Mapping[str, Any],
    beside: Sequence[Mapping[str, Any]],
    variables: Iterable[Variable],
    path: str,
) -> tuple[Rules | None, tuple[Finding, ...]]:
    """Compile the rules of a config.

    Args:
        schema: the structural schema, rules inside included.
        beside: the rules of `spec.configs[].rules`.
        variables: what rules may read as `variables.NAME`.
        path: of the config in its object.

    Returns:
        The rules, None without any, and what is wrong with them, with full paths.
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
    known_size = bounded(schema)
    enforced = {**known_size, _WORD: own + [beside[index] for index in places[_ERROR]]}
    doubted = {**_bare(known_size), _WORD: [beside[index] for index in places[WARNING]]}
    errors = cel.compile(enforced, path="", variables=values)
    warnings = cel.compile(doubted, path="", variables=values)
    dear = [too_dear(errors, enforced), too_dear(warnings, doubted)]
    wrong = [
        *_problems((*errors.problems, *dear[0]), inside, f"{path}.rules", len(own), places[_ERROR]),
        *_problems((*warnings.problems, *dear[1]), inside, f"{path}.rules", 0, places[WARNING]),
    ]
    if errors.level is None and warnings.level is None:
        return None, tuple(wrong)
    known = frozenset(_messages([*_all_rules(schema), *beside]))
    return Rules(errors, warnings, known), tuple(wrong)


def size_of_rules(config: ConfigSpec) -> int:
    """Count the bytes of all expressions of a config, inside its schema and beside it."""
    texts: list[Any] = []
    # Not along the schema: nobody has checked yet that it is one.
    nodes: list[Any] = [config.schema, *config.rules]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            texts += [node.get("rule"), node.get("messageExpression")]
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
    return sum(len(text.encode("utf-8", "replace")) for text in texts if isinstance(text, str))


def _problems(
    problems: Iterable[cel.Problem], inside: str, beside: str, own: int, places: Sequence[int]
) -> Iterator[Finding]:
    """Translate places: rules beside the schema were compiled as the last ones of its root."""
    moved = {f"{_WORD}[{own + n}]": f"{beside}[{index}]" for n, index in enumerate(places)}
    for problem in problems:
        rule, _, word = problem.path.rpartition(".")
        place = moved.get(rule, f"{inside}.{rule}")
        detail = fielderrors.clip(problem.message, fielderrors.DETAIL_LENGTH)
        yield Finding(f"{place}.{word}", fielderrors.INVALID, detail)


def _malformed_within(schema: Mapping[str, Any], path: str) -> Iterator[Finding]:
    yield from _malformed(schema.get(_WORD) or (), f"{path}.{_WORD}")
    for step, child in openapi.children(schema):
        yield from _malformed_within(child, path + step)


def _malformed(rules: Iterable[Any], path: str) -> Iterator[Finding]:
    for index, rule in enumerate(rules):
        place = f"{path}[{index}]"
        if not isinstance(rule, dict):
            yield Finding(place, fielderrors.TYPE_INVALID, "must be a rule")
            continue
        for word, detail in _complaints(rule):
            yield Finding(f"{place}.{word}", fielderrors.INVALID, detail)


def _complaints(rule: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
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


def _all_rules(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from schema.get(_WORD) or ()
    for _, child in openapi.children(schema):
        yield from _all_rules(child)


def _bare(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Copy a schema without the rules inside."""
    bare = {word: value for word, value in schema.items() if word != _WORD}
    return openapi.altered(bare, _bare)

"""Node selectors, with the semantics of required node affinity.

Source: k8s.io/component-helpers/scheduling/corev1/nodeaffinity. Terms are ORed, requirements of a
term ANDed, an empty term matches nothing, and of fields only `metadata.name` exists.
"""

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from dragoman.model.allocated import Held
from dragoman.model.nodes import Node
from dragoman.model.nodeselector import NodeSelector, NodeSelectorTerm, Requirement
from dragoman_base.words.dns import SUBDOMAIN
from dragoman_cel.values.quoting import quoted
from dragoman_cel.values.scalars import INT_MAX, INT_MIN

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_SETS = ("In", "NotIn")
# Compiled on first use, because many clusters have no selector that needs them.
_INTEGER = r"[+-]?[0-9]{1,40}"
_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_ESCAPES = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}


class NodeSelectorError(ValueError):
    """A node selector that the scheduler cannot parse; the message is the scheduler's."""


def matches(selector: NodeSelector, node: Node) -> bool:
    """Tell whether a node meets a selector.

    Raises:
        NodeSelectorError: A requirement is invalid, in whichever term.
    """
    check(selector)
    return any(_meets(term, node) for term in selector.terms if term.expressions or term.fields)


def usable_on(held: Held, node: Node) -> bool:
    """Tell whether an allocated claim can be used on a node; with an invalid selector it cannot."""
    if held.node_selector is None:
        return True
    try:
        return matches(held.node_selector, node)
    except NodeSelectorError:
        return False


@lru_cache(1024)
def check(selector: NodeSelector) -> None:
    """Raise NodeSelectorError when a requirement of the selector is invalid."""
    errors = [
        error
        for index, term in enumerate(selector.terms)
        for error in _errors(term, f"nodeSelectorTerms[{index}]")
    ]
    if errors:
        text = errors[0] if len(errors) == 1 else "[" + ", ".join(dict.fromkeys(errors)) + "]"
        raise NodeSelectorError(f"failed to parse node selector {_dump(selector)}: {text}")


def _meets(term: NodeSelectorTerm, node: Node) -> bool:
    if not all(_expression_holds(requirement, node) for requirement in term.expressions):
        return False
    # A node without a name has no fields, and then fields are not compared.
    return not node.name or all(_field_holds(requirement, node) for requirement in term.fields)


def _expression_holds(requirement: Requirement, node: Node) -> bool:
    value = node.labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    found = None if value is None else _int64(value)
    limit = _int64(requirement.values[0])
    if found is None or limit is None:
        return False
    return found > limit if requirement.operator == "Gt" else found < limit


def _field_holds(requirement: Requirement, node: Node) -> bool:
    value = node.name if requirement.key == "metadata.name" else ""
    return (value == requirement.values[0]) == (requirement.operator == "In")


def _int64(text: str) -> int | None:
    if re.fullmatch(_INTEGER, text, re.ASCII) is None:
        return None
    number = int(text)
    return number if INT_MIN <= number <= INT_MAX else None


def _errors(term: NodeSelectorTerm, path: str) -> Iterator[str]:
    for index, requirement in enumerate(term.expressions):
        yield from _expression_errors(requirement, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(term.fields):
        within = f"{path}.matchFields[{index}]"
        if requirement.operator not in _SETS:
            yield _unsupported(requirement.operator, within, _SETS)
        elif len(requirement.values) != 1:
            values = _listed(requirement.values)
            yield f"{within}.values: Invalid value: {values}: must have one element"


def _listed(values: Sequence[str]) -> str:
    """Return values as Go's encoder of JSON writes them."""
    written = json.dumps(list(values) or None, separators=(",", ":"), ensure_ascii=False)
    return written.translate(_ESCAPES)


def _expression_errors(requirement: Requirement, path: str) -> Iterator[str]:
    if requirement.operator not in _OPERATORS:
        yield _unsupported(requirement.operator, path, _OPERATORS)
        return
    problems = [*_label_problems(requirement, path)]
    # The checks of one requirement are one error, in brackets when there are several.
    if len(problems) == 1:
        yield problems[0]
    elif problems:
        yield "[" + ", ".join(problems) + "]"


def _label_problems(requirement: Requirement, path: str) -> Iterator[str]:
    values, operator = requirement.values, requirement.operator
    if problem := _key_problem(requirement.key):
        yield f"{path}.key: Invalid value: {quoted(requirement.key)}: {problem}"
    shown = _listed(values)
    if operator in _SETS and not values:
        yield (
            f"{path}.values: Invalid value: {shown}: "
            "for 'in', 'notin' operators, values set can't be empty"
        )
    elif operator in ("Exists", "DoesNotExist") and values:
        yield (
            f"{path}.values: Invalid value: {shown}: "
            "values set must be empty for exists and does not exist"
        )
    elif operator in ("Gt", "Lt"):
        yield from _bound_problems(values, shown, path)
    for index, value in enumerate(values):
        if value and (len(value) > 63 or re.fullmatch(_NAME, value, re.ASCII) is None):
            where = f"{path}.values[{index}][{requirement.key}]"
            yield f"{where}: Invalid value: {quoted(value)}: {_VALUE}"


def _bound_problems(values: tuple[str, ...], shown: str, path: str) -> Iterator[str]:
    if len(values) != 1:
        yield (
            f"{path}.values: Invalid value: {shown}: "
            "for 'Gt', 'Lt' operators, exactly one value is required"
        )
    for index, value in enumerate(values):
        if _int64(value) is None:
            yield (
                f"{path}.values[{index}]: Invalid value: {quoted(value)}: "
                "for 'Gt', 'Lt' operators, the value must be an integer"
            )


_VALUE = "a valid label must be an empty string or consist of alphanumeric characters"


def _key_problem(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    if slash and (not prefix or len(prefix) > 253 or SUBDOMAIN.fullmatch(prefix) is None):
        return "prefix part must be a DNS subdomain"
    if not name or len(name) > 63 or re.fullmatch(_NAME, name, re.ASCII) is None:
        return "name part must consist of alphanumeric characters, '-', '_' or '.'"
    return ""


def _unsupported(operator: str, path: str, known: tuple[str, ...]) -> str:
    values = ", ".join(f'"{name}"' for name in known)
    return f"{path}.operator: Unsupported value: {quoted(operator)}: supported values: {values}"


def _dump(selector: NodeSelector) -> str:
    """Print a selector as Go's generated `String()` does."""
    terms = "".join(
        "NodeSelectorTerm{"
        f"MatchExpressions:{_dumped(term.expressions)},MatchFields:{_dumped(term.fields)},}},"
        for term in selector.terms
    )
    return f"&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{terms}}},}}"


def _dumped(requirements: tuple[Requirement, ...]) -> str:
    inner = "".join(
        f"NodeSelectorRequirement{{Key:{item.key},Operator:{item.operator},"
        f"Values:[{' '.join(item.values)}],}},"
        for item in requirements
    )
    return f"[]NodeSelectorRequirement{{{inner}}}"

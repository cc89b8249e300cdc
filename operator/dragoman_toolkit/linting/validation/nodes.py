"""Node selectors of slices (ValidateNodeSelector)."""

import re
from typing import Any

from dragoman_toolkit.linting.findings.finding import Steps
from dragoman_toolkit.linting.manifests.manifestobjects import mapping, sequence, text
from dragoman_toolkit.linting.validation.errors import Errors
from dragoman_toolkit.linting.validation.names import (
    label_value_fault,
    qualified_fault,
    subdomain_fault,
)

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)


def check_node_selector(errors: Errors, steps: Steps, selector: Any, *, one_term: bool) -> None:
    """Check a node selector.

    Args:
        errors: Where errors go.
        steps: The selector.
        selector: Its fields.
        one_term: Whether it must have exactly one term, as that of a whole slice.
    """
    terms, place = (
        sequence(mapping(selector).get("nodeSelectorTerms")),
        (*steps, "nodeSelectorTerms"),
    )
    if not terms:
        errors.required(place, "must have at least one node selector term")
    if one_term and len(terms) != 1:
        errors.add(place, "Invalid value: must have exactly one node selector term")
    for index, term in enumerate(map(mapping, terms)):
        for name in ("matchExpressions", "matchFields"):
            for number, one in enumerate(sequence(term.get(name))):
                at = (*place, index, name, number)
                _check_requirement(errors, at, mapping(one), fields=name == "matchFields")


def _check_requirement(
    errors: Errors, steps: Steps, requirement: dict[str, Any], *, fields: bool
) -> None:
    operator, key = text(requirement.get("operator")), text(requirement.get("key"))
    values = [text(value) for value in sequence(requirement.get("values"))]
    if fields:
        _check_field(errors, steps, (operator, key), values)
        return
    _check_values(errors, steps, operator, values)
    if fault := qualified_fault(key):
        errors.invalid((*steps, "key"), key, fault)
    for index, value in enumerate(values):
        if fault := label_value_fault(value):
            errors.invalid((*steps, "values", index), value, fault)


def _check_values(errors: Errors, steps: Steps, operator: str, values: list[str]) -> None:
    place = (*steps, "values")
    if operator not in _OPERATORS:
        errors.add((*steps, "operator"), "Invalid value: not a valid selector operator")
    elif operator in ("In", "NotIn") and not values:
        errors.required(place, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist") and values:
        detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        errors.forbidden(place, detail)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.required(place, detail)
        elif not _INTEGER.fullmatch(values[0]):
            errors.invalid((*place, 0), values[0], "must be an integer")


def _check_field(errors: Errors, steps: Steps, what: tuple[str, str], values: list[str]) -> None:
    operator, key = what
    if operator not in ("In", "NotIn"):
        errors.add((*steps, "operator"), "Invalid value: not a valid selector operator")
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.required((*steps, "values"), detail)
    if key != "metadata.name":
        errors.invalid((*steps, "key"), key, "not a valid field selector key")
    else:
        for index, value in enumerate(values):
            if fault := subdomain_fault(value):
                errors.invalid((*steps, "values", index), value, fault)

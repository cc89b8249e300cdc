"""Just enough of Kubernetes' library for celpy to evaluate the benchmark's selectors.

celpy's compiled runner finds functions by module and name, so they are plain module functions.
"""

from collections.abc import Callable
from typing import Any

from celpy import celtypes

from dragoman_cel.values.quantity import Quantity
from dragoman_cel.values.quantityparser import parse_quantity
from dragoman_cel.values.semver import Semver, parse_semver


def lower_ascii(text: celtypes.StringType) -> celtypes.StringType:
    return celtypes.StringType(text.lower())


def quantity(text: celtypes.StringType) -> Quantity:
    return parse_quantity(str(text))


def semver(text: celtypes.StringType) -> Semver:
    return parse_semver(str(text))


def is_greater_than(left: Any, right: Any) -> celtypes.BoolType:
    return celtypes.BoolType(left.compare(right) > 0)


def compare_to(left: Any, right: Any) -> celtypes.IntType:
    return celtypes.IntType(left.compare(right))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "lowerAscii": lower_ascii,
    "quantity": quantity,
    "semver": semver,
    "isGreaterThan": is_greater_than,
    "compareTo": compare_to,
}

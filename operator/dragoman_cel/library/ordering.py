"""`<`, `<=`, `>`, `>=` of all types with an order."""

import operator
from collections.abc import Callable
from typing import Any

from dragoman_cel.equality import compare
from dragoman_cel.state import TEXT_PER_STEP, Functions, paced

_ALIKE = ("bool", "int64", "uint64", "timestamp", "duration")
_LONG = ("string", "bytes")
_NUMBERS = ("int64", "uint64", "double")
_PAIRS = [(a, b) for a in _NUMBERS for b in _NUMBERS if a != b]
_TESTS: dict[str, Callable[[int, int], bool]] = {
    "less": operator.lt,
    "less_equals": operator.le,
    "greater": operator.gt,
    "greater_equals": operator.ge,
}


def _compared(test: Callable[[int, int], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: test(compare(left, right), 0)


def _unordered(test: Callable[[int, int], bool]) -> Callable[[Any, Any], bool]:
    """Return the form of 1.38: NaN, which is not itself, is neither less nor greater."""
    return lambda left, right: left == left and right == right and test(compare(left, right), 0)  # noqa: PLR0124


def _all() -> dict[str, Callable[[Any, Any], bool]]:
    found: dict[str, Callable[[Any, Any], bool]] = {}
    for name, test in _TESTS.items():
        # Doubles and mixed numbers have rules for NaN and precision; Python's operators do others.
        found.update({f"{name}_{kind}": test for kind in _ALIKE})
        found[f"{name}_double"] = _compared(test)
        found.update({f"{name}_{a}_{b}": _compared(test) for a, b in _PAIRS})
        doubles = ["double", *(f"{a}_{b}" for a, b in _PAIRS if "double" in (a, b))]
        found.update({f"{name}_{kinds}@1.38": _unordered(test) for kinds in doubles})
    return found


OVERLOADS: Functions = _all()
STATEFUL: Functions = paced(
    TEXT_PER_STEP, {f"{name}_{kind}": test for name, test in _TESTS.items() for kind in _LONG}
)

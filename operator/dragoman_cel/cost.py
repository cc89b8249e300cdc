"""The cost of a call at run time: cel-go's cost tracker with Kubernetes' additions.

A cost is a number, or a function of the arguments and the result. An argument that failed is
passed as FAILED, a result that failed likewise; both have the size 1. Sources: cel-go
interpreter/runtimecost.go and ext/{lists,sets}.go 0.26, apiserver pkg/cel/library/cost.go 0.36.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from math import ceil
from typing import Any

from dragoman_base.versions import Release
from dragoman_cel.errors import EvaluationAborted
from dragoman_cel.representation import LISTS, MAPS, Optional, go_name, keys, size
from dragoman_cel.values.durations import Duration
from dragoman_cel.values.formats import NamedFormat
from dragoman_cel.values.scalars import Uint
from dragoman_cel.values.timestamps import Timestamp

CostFunction = Callable[[Sequence[Any], Any], int]

FAILED = object()
LIST_LITERAL = 10
MAP_LITERAL = 30
AUTHORIZATION = 350_000
"""A check by the authorizer; the cost limit of an expression allows two of them."""
REQUIREMENT = 50
"""One requirement of a label or field selector."""
TRAVERSAL = 0.1
"""The traversal of one code point, byte or element."""
REGEX = 0.25
"""The match of one code point of a pattern, for each traversed one of the text."""
ALLOCATION = 11
"""Dispatch and allocation of the result, for the functions of cel-go's list library."""

TENTHS = tuple(ceil(n * TRAVERSAL) for n in range(1024))


def tenth(length: int) -> int:
    """Return the cost of one traversal of so many units, rounded up as float64 does."""
    return TENTHS[length] if length < 1024 else ceil(length * TRAVERSAL)


def _traverse(index: int, factor: float = TRAVERSAL) -> CostFunction:
    return lambda args, _: ceil(size(args[index]) * factor)


def _join(_: Sequence[Any], result: Any) -> int:
    return ceil(size(result) * 2 * TRAVERSAL)


def regex_cost(text: int, pattern: int) -> int:
    """Return the cost of a match, given the lengths of text and pattern."""
    return ceil((1.0 + text) * TRAVERSAL) * ceil(pattern * REGEX)


def _regex(args: Sequence[Any], _: Any) -> int:
    return regex_cost(size(args[0]), size(args[1]))


def _validate(args: Sequence[Any], _: Any) -> int:
    form = args[0]
    return regex_cost(size(args[1]), form.regex_size) if type(form) is NamedFormat else 1


def _contains_ip(args: Sequence[Any], _: Any) -> int:
    base = size(args[0])
    return ceil((base + base) * TRAVERSAL)


def _contains_cidr(args: Sequence[Any], _: Any) -> int:
    return _contains_ip(args, None) + tenth(size(args[0])) + 1


def _with_parsing(cost: CostFunction) -> CostFunction:
    return lambda args, result: cost(args, result) + tenth(size(args[1]))


def _traversed(args: Sequence[Any], _: Any) -> int:
    return _traversal(args[0], {})


def _traversal(value: Any, known: dict[int, int]) -> int:
    """Return the cost of a traversal of every part of a value.

    Args:
        value: Any value.
        known: Costs by identity: many parts can be the same container or long text.
    """
    kind = type(value)
    if kind is bytes or (kind is str and value.isascii()):
        return int(len(value) * TRAVERSAL)
    if kind is not str and kind not in LISTS and kind not in MAPS:
        return 1
    found = known.get(id(value))
    if found is None:
        if kind is str:
            found = int(len(value.encode(errors="replace")) * TRAVERSAL)
        else:
            parts = value if kind in LISTS else chain(keys(value), value.values())
            found = sum(_traversal(part, known) for part in parts)
        known[id(value)] = found
    return found


_ADDERS = frozenset((str, bytes, int, Uint, float, Timestamp, Duration))
"""Types with the method Add of Go's list interface, so that cel-go reports Contains as missing."""


def _confused(conversion: str) -> EvaluationAborted:
    """Return the error of cel-go's cost tracker for an argument of an unexpected type."""
    return EvaluationAborted(f"internal error: interface conversion: {conversion}")


def _go_type(value: Any) -> str:
    return "*types.Err" if value is FAILED else go_name(value)


def _extent(value: Any) -> int:
    """Return the size for cel-go's extensions, which do not unwrap an optional."""
    return 1 if type(value) is Optional else size(value)


def _of_result(_: Sequence[Any], result: Any) -> int:
    return ALLOCATION + _extent(result)


def _of_found(_: Sequence[Any], result: Any) -> int:
    """Return the cost by the result, without one that failed (1.38)."""
    return ALLOCATION + (0 if result is FAILED else _extent(result))


def _flattened(args: Sequence[Any], _: Any) -> int:
    depth = args[1] if len(args) == 2 else 1
    if type(depth) is not int:
        raise _confused(f"ref.Val is {_go_type(depth)}, not types.Int")
    return ALLOCATION + int(_extent(args[0]) * float(depth))


def _self_compared(index: int) -> CostFunction:
    def cost(args: Sequence[Any], _: Any) -> int:
        items = args[index]
        if type(items) not in LISTS:
            method = "Contains" if type(items) in _ADDERS else "Add"
            raise _confused(f"{_go_type(items)} is not traits.Lister: missing method {method}")
        length = size(items)
        texts = type(items) in LISTS and length > 0 and type(items[0]) in (str, bytes)
        return ALLOCATION + int(length * length * (2.1 if texts else 2.0))

    return cost


def _as_sets(factor: float) -> CostFunction:
    return lambda args, _: 1 + int(_extent(args[0]) * _extent(args[1]) * factor)


def equality(left: Any, right: Any) -> int:
    """Return the cost of `==`: a tenth of the shorter operand."""
    return tenth(min(size(left), size(right)))


def _selector(args: Sequence[Any], _: Any) -> int:
    length = size(args[1])
    # At worst every second character begins a requirement.
    return LIST_LITERAL + tenth(length) + ceil(length * 0.5) * REQUIREMENT


_BY_FUNCTION: dict[str, int | CostFunction] = {
    "check": AUTHORIZATION,
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traversed),
    **dict.fromkeys(("url", "lowerAscii", "upperAscii", "substring", "trim"), _traverse(0)),
    **dict.fromkeys(("cidr", "isIP", "isCIDR"), _traverse(0)),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver"), _traverse(0)),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _traverse(0, 2 * TRAVERSAL)),
    **dict.fromkeys(("find", "findAll"), _regex),
    "ip": _traverse(0),
    "join": _join,
    "validate": _validate,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
}
"""Kubernetes' costs depend on the function's name, not on the overloads that are left."""

COMPARED_TEXTS = tuple(
    f"{test}_{kind}"
    for test in ("less", "less_equals", "greater", "greater_equals")
    for kind in ("string", "bytes")
)
_AFFIX = _traverse(1)
_BY_OVERLOAD: dict[str, CostFunction] = {
    **dict.fromkeys(("starts_with_string", "ends_with_string"), _traverse(0)),
    **dict.fromkeys(("string_to_bytes", "bytes_to_string"), _traverse(0)),
    **dict.fromkeys(("strings_quote", "string_format"), _traverse(0)),
    **dict.fromkeys(
        ("add_string", "add_bytes"), lambda args, _: tenth(size(args[0]) + size(args[1]))
    ),
    **dict.fromkeys(COMPARED_TEXTS, lambda args, _: equality(args[0], args[1])),
    "in_list": lambda args, _: size(args[1]),
    "matches_string": _regex,
    "contains_string": lambda args, _: tenth(size(args[0])) * tenth(size(args[1])),
}
"""cel-go's costs depend on the overload, if the checker left exactly one."""

_LIST_LIBRARY: dict[str, CostFunction] = {
    **dict.fromkeys(("slice", "lists.range", "reverse"), _of_result),
    "flatten": _flattened,
    "distinct": _self_compared(0),
    "sort": _self_compared(0),
    "@sortByAssociatedKeys": _self_compared(1),
    "sets.contains": _as_sets(1.0),
    "sets.intersects": _as_sets(1.0),
    "sets.equivalent": _as_sets(2.0),
}
"""Overload trackers of cel-go's extensions; each function's overloads share one."""


COSTED_BY_RESULT = frozenset((_join, _of_result, _of_found))
"""Costs that depend on the result; all others are charged before the call."""


_MATCHES = ("matches", "matches_string")
_AFFIXES = ("starts_with_string", "ends_with_string")


def call_cost_of(function: str, overloads: tuple[str, ...], release: Release) -> int | CostFunction:
    """Return the cost of a call.

    Args:
        function: Its qualified name.
        overloads: The overloads that the checker left open.
        release: How it evaluates.
    """
    only = overloads[0] if len(overloads) == 1 else ""
    if only in _AFFIXES and release.affixes_measured:
        return _AFFIX
    if only in _MATCHES and release.matches_measured:
        return _regex
    if function == "includes" and release.includes_traversed:
        return _traversed
    if only and function in _LIST_LIBRARY:
        found = _LIST_LIBRARY[function]
        return _of_found if found is _of_result and release.arguments_first else found
    if only == "cidr_ip":
        return 1
    by_function = _BY_FUNCTION.get(function)
    if by_function is not None:
        parses = only in ("cidr_contains_ip_string", "cidr_contains_cidr_string")
        if parses and not isinstance(by_function, int):
            return _with_parsing(by_function)
        return by_function
    return _BY_OVERLOAD.get(only, 1)

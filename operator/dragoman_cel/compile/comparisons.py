"""`==`, `!=`, `<` and `in`, with Python's operators where the types are known."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import isnan
from typing import Any

from dragoman_base.versions import Release
from dragoman_cel import types
from dragoman_cel.compile.calls import both
from dragoman_cel.compile.closure import ABSENT, Closure, Code, constant
from dragoman_cel.cost import FAILED, equality, tenth
from dragoman_cel.equality import equal
from dragoman_cel.errors import EvaluationAborted, EvaluationError, OperationError
from dragoman_cel.library.lists import contains
from dragoman_cel.lookup import has_key
from dragoman_cel.representation import (
    KUBERNETES,
    LISTS,
    MAPS,
    NUMBERS,
    entry_key,
    no_such_overload,
    size,
)
from dragoman_cel.state import COST, State, spend_text_steps
from dragoman_cel.types import Kind, Type
from dragoman_cel.values.scalars import Uint

_FIXED = (types.BOOL, types.INT, types.UINT, types.DOUBLE, types.TIMESTAMP, types.DURATION)


def equals(
    left: Closure, right: Closure, kinds: tuple[Type, Type], release: Release, *, negated: bool
) -> Closure:
    """Compile `==`, or `!=` when negated."""
    strict = release.arguments_first
    cost = left.cost + right.cost
    flat = left.flat and right.flat
    test = operator.ne if negated else operator.eq
    if kinds[0] is kinds[1] and kinds[0] in _FIXED:
        run = _strict_alike(test, left, right, 0) if strict else _alike(test, left, right)
        return Closure(run, cost + 1, flat)
    if not left.is_constant and type(right.constant) in _SIMPLE:
        return _with_constant(left, right.constant, negated=negated, unit=strict)
    if not right.is_constant and type(left.constant) in _SIMPLE and _is_scalar(kinds[1]):
        return _with_constant(right, left.constant, negated=negated)
    run = _strict_any(left, right, negated=negated) if strict else _any(left, right, negated)
    return Closure(run, cost, flat=False)


def _is_scalar(kind: Type) -> bool:
    """Return whether no list or map of a schema can be of the type: theirs fail on the left."""
    return kind.exact and kind.kind is Kind.SCALAR


def _alike(test: Callable[[Any, Any], bool], left: Closure, right: Closure) -> Code:
    first, second = left.run, right.run
    if right.known is not ABSENT:
        value = right.known
        return lambda state: test(first(state), value)
    if left.is_constant:
        value = left.constant
        return lambda state: test(value, second(state))
    return lambda state: test(*both(first, second, state))


def _strict_alike(
    test: Callable[[Any, Any], bool], left: Closure, right: Closure, own: int
) -> Code:
    """Compile a comparison whose failed left side is the last to run.

    Args:
        test: Compares.
        left: One side.
        right: The other one.
        own: What a failure of a side refunds of the comparison itself.
    """
    first, second, behind = left.run, right.run, right.cost + own

    def run(state: State) -> bool:
        refund = behind
        try:
            one = first(state)
            refund = own
            two = second(state)
        except EvaluationError:
            state[COST] -= refund
            raise
        return test(one, two)

    return run


_SIMPLE = frozenset((str, int, bool))


def _with_constant(
    closure: Closure, constant: Any, *, negated: bool, unit: bool = False
) -> Closure:
    """Compile the comparison of any value with a constant text, int or bool.

    The caller charges the cost for the constant's size; a shorter or failed value refunds the
    difference.

    Args:
        closure: The value.
        constant: The constant.
        negated: Whether unequal values are meant.
        unit: Whether a failed value costs one unit, whatever the constant.
    """
    code, of = closure.run, type(constant)
    most = tenth(least := size(constant))
    equals = not negated

    def other(state: State, value: Any) -> bool:
        if size(value) < least or not least:
            state[COST] += _equality_cost(value, constant, negated=negated) - most
        return _equality(value, constant, state, negated=negated)

    def run(state: State) -> bool:
        try:
            value = code(state)
        except OperationError:
            state[COST] += (1 if unit else equality(FAILED, constant)) - most
            raise
        if type(value) is of:
            if value == constant:
                return equals
            if of is not str or len(value) >= len(constant):
                return negated
        return other(state, value)

    return Closure(run, closure.cost + most, closure.flat)


def _strict_any(left: Closure, right: Closure, *, negated: bool) -> Code:
    first, second, behind = left.run, right.run, right.cost

    def run(state: State) -> bool:
        try:
            one = first(state)
        except OperationError:
            state[COST] += 1 - behind
            raise
        try:
            two = second(state)
        except OperationError:
            state[COST] += equality(one, FAILED)
            raise
        state[COST] += _equality_cost(one, two, negated=negated)
        return _equality(one, two, state, negated=negated)

    return run


def _any(left: Closure, right: Closure, negated: bool) -> Code:  # noqa: FBT001 — as above
    def run(state: State) -> bool:
        one, two, failure = operands(left.run, right.run, state)
        if failure is not None:
            state[COST] += equality(one, two)
            raise failure
        # Only `==` has a fixed cost for Kubernetes' types, and their size is 1 anyway.
        state[COST] += _equality_cost(one, two, negated=negated)
        return _equality(one, two, state, negated=negated)

    return run


def _equality(left: Any, right: Any, state: State, *, negated: bool) -> bool:
    """Return `==` or `!=`; incomparable values are an error for `==` and unequal for `!=`."""
    if not negated:
        return equal(left, right, state)
    try:
        return not equal(left, right, state)
    except OperationError:
        return True


def _equality_cost(left: Any, right: Any, *, negated: bool) -> int:
    # A Kubernetes type on the left has a cost of its own.
    if not negated and type(left) in KUBERNETES:
        return 1
    return equality(left, right)


def operands(left: Code, right: Code, state: State) -> tuple[Any, Any, EvaluationError | None]:
    """Evaluate both sides; return FAILED for a side that failed, and the first error."""
    failure: EvaluationError | None = None
    one: Any = FAILED
    two: Any = FAILED
    try:
        one = left(state)
    except OperationError as error:
        failure = error
    try:
        two = right(state)
    except OperationError as error:
        failure = failure or error
    return one, two, failure


Code2 = Callable[[Any, Any], bool]
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}
_EXACT_ORDER = (types.INT, types.UINT, types.BOOL, types.TIMESTAMP, types.DURATION)


def ordered(
    function: str, left: Closure, right: Closure, kinds: tuple[Type, Type], release: Release
) -> Closure | None:
    """Compile an ordering of two values of one simple type; None for any other."""
    if kinds[0] is not kinds[1] or kinds[0] not in _EXACT_ORDER:
        return None
    test = _TESTS[function]
    strict = release.arguments_first
    run = _strict_alike(test, left, right, 1) if strict else _alike(test, left, right)
    return Closure(run, left.cost + right.cost + 1, left.flat and right.flat)


def ordered_with(
    function: str, left: Closure, number: int, other: Code2, release: Release
) -> Closure:
    """Compile an ordering of any value with a constant int.

    Args:
        function: The operator.
        left: The value.
        number: The constant.
        other: Compares values that are not ints, or raises.
        release: What evaluates.
    """
    test, code = _TESTS[function], left.run

    def run(state: State) -> bool:
        value = code(state)
        return test(value, number) if type(value) is int else other(value, number)

    def run_strictly(state: State) -> bool:
        try:
            value = code(state)
        except EvaluationError:
            state[COST] -= 1
            raise
        return test(value, number) if type(value) is int else other(value, number)

    made = run_strictly if release.arguments_first else run
    return Closure(made, left.cost + 1, left.flat)


def contained(
    item: Closure,
    items: Closure,
    kinds: tuple[Type, Type],
    overloads: tuple[str, ...],
    release: Release,
) -> Closure:
    """Compile `item in items`."""
    if overloads == ("in_list",) and items.is_constant:
        if not items.constant:
            return constant(value=False)
        members = _members(items.constant)
        if members is not None:
            return Closure(_in_set(item.run, members), item.cost, item.flat)
    cost = item.cost + items.cost
    if release.arguments_first:
        return _strict_contained(item, items, overloads)
    if overloads == ("in_list",):
        return Closure(_in_list(item.run, items.run), cost, flat=False)
    straight = kinds[0] is types.STRING and kinds[1].kind is Kind.MAP
    run = _in_map(item, items.run) if straight else _in_any(item.run, items.run)
    return Closure(run, cost + 1, item.flat and items.flat)


def _strict_contained(item: Closure, items: Closure, overloads: tuple[str, ...]) -> Closure:
    listed = overloads == ("in_list",)
    own = 0 if listed else 1
    first, second, behind = item.run, items.run, items.cost + own

    def run(state: State) -> bool:
        refund = behind
        try:
            one = first(state)
            refund = own
            many = second(state)
        except EvaluationError:
            state[COST] -= refund
            raise
        if listed:
            state[COST] += size(many)
        try:
            return _has(many, one, state)
        except EvaluationAborted:
            state[COST] -= own  # cel-go fails before it charges the call
            raise

    cost = item.cost + items.cost + own
    return Closure(run, cost, item.flat and items.flat and not listed)


def _members(items: list[Any]) -> dict[type, frozenset[Any]] | None:
    """Return the elements by type, for a list of plain constants."""
    kinds = set(map(type, items))
    if not kinds <= {bool, int, Uint, float, str}:
        return None
    # NaN is in no list: it is not equal to itself.
    numbers = frozenset(item for item in items if type(item) in NUMBERS and not isnan(item))
    texts = frozenset(item for item in items if type(item) is str)
    bools = frozenset(item for item in items if type(item) is bool)
    return {str: texts, bool: bools, int: numbers, Uint: numbers, float: numbers}


def _in_set(code: Code, members: dict[type, frozenset[Any]]) -> Code:
    nothing: frozenset[Any] = frozenset()

    def run(state: State) -> bool:
        value = code(state)
        of_kind = members.get(type(value), nothing)
        if of_kind is nothing:
            # cel-go looks the value up in a Go map, which fails for values without a hash.
            entry_key(value)
            return False
        return value in of_kind

    return run


def _in_list(item: Code, items: Code) -> Code:
    def run(state: State) -> bool:
        one, many, failure = operands(item, items, state)
        state[COST] += size(many)
        if failure is not None:
            raise failure
        return _has(many, one, state)

    return run


def _in_map(item: Closure, items: Code) -> Code:
    find = item.run
    if item.is_constant:
        key = item.constant
        return lambda state: key in items(state)

    def run(state: State) -> bool:
        key, mapping = both(find, items, state)
        spend_text_steps(state, key)
        return key in mapping

    return run


def _in_any(item: Code, items: Code) -> Code:
    def run(state: State) -> bool:
        one, many = both(item, items, state)
        try:
            return _has(many, one, state)
        except EvaluationAborted:
            state[COST] -= 1  # cel-go fails before it charges the call
            raise

    return run


def _has(items: Any, item: Any, state: State) -> bool:
    if type(items) in LISTS:
        return contains(items, item, state)
    if type(items) in MAPS:
        return has_key(items, item, state)
    raise no_such_overload()

"""Function calls: evaluate every argument, pay, run the overload.

cel-go evaluates both arguments of a call with one or two even if the first one fails, and charges
the call as well; a call in sequence (three arguments or more, several overloads left open, a
constant pattern) stops at the first failure and charges nothing further.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dragoman.cel.compile.closure import ABSENT, Code, Piece, drain, paid, spend
from dragoman.cel.cost import FAILED, RESULT_PRICED, Price
from dragoman.cel.errors import EvaluationAborted, EvaluationError
from dragoman.cel.representation import NONE, Invalid, Optional
from dragoman.cel.state import COST, Paced, State

Function = Callable[..., Any]
"""An overload: function of the arguments, or of (state, *arguments)."""


def call(
    function: Function,
    args: Sequence[Piece],
    price: int | Price,
    *,
    stateful: bool,
    sequence: bool = False,
) -> Piece:
    """Compile a call.

    Args:
        function: the overload's implementation.
        args: the arguments, receiver first.
        price: what the call itself costs.
        stateful: whether the function takes the state first.
        sequence: whether the arguments behind one that fails are left out.
    """
    cost = sum(arg.cost for arg in args)
    flat = all(arg.flat for arg in args)
    pure = function.function if isinstance(function, Paced) else None if stateful else function
    if pure is not None and all(arg.is_constant for arg in args):
        once = _once(pure, [arg.constant for arg in args], price)
        if once is not None:
            return once
    codes = [arg.run for arg in args]
    if len(args) > 2 or (sequence and len(args) == 2):
        return _in_sequence(function, args, price, cost, stateful=stateful)
    if not isinstance(price, int):
        if len(args) == 1 and not stateful:
            return Piece(_priced_one(function, codes[0], price), cost, flat=False)
        if len(args) == 2 and not stateful and args[1].known is not ABSENT:
            run = _priced_with(function, codes[0], args[1].known, price)
        else:
            run = _priced(function, codes, price, stateful=stateful)
        return Piece(run, cost, flat=False)
    if stateful:
        return Piece(_stateful(function, args), cost + price, flat)
    return Piece(_plain(function, args), cost + price, flat)


def _in_sequence(
    function: Function, args: Sequence[Piece], price: int | Price, cost: int, *, stateful: bool
) -> Piece:
    """Compile a call whose arguments come one after the other until one fails."""
    if len(args) == 2 and isinstance(price, int):
        flat = all(arg.flat for arg in args)
        return Piece(_pair(function, args, price, stateful=stateful), cost + price, flat)
    priced = not isinstance(price, int) and price not in RESULT_PRICED
    if priced and len(args) == 2 and args[1].is_constant:
        run = _with_constant(function, args, price, stateful=stateful)
        return Piece(run, cost, flat=False)
    run = _sequence(function, args, price, stateful=stateful)
    return Piece(run, cost + _fixed(price), flat=False)


def _once(function: Function, values: list[Any], price: int | Price) -> Piece | None:
    """Call a function of constants now; None if it fails, which then happens each time."""
    try:
        result = function(*values)
    except (EvaluationError, AttributeError, TypeError):
        return None
    return paid(result, price if isinstance(price, int) else price(values, result))


def _fixed(price: int | Price) -> int:
    return price if isinstance(price, int) else 0


def _plain(function: Function, args: Sequence[Piece]) -> Code:
    if not args:
        return lambda _: function()
    first = args[0].run
    if len(args) == 1:
        return lambda state: function(first(state))
    second = args[1].run
    if args[1].known is not ABSENT:
        value = args[1].known
        return lambda state: function(first(state), value)
    return lambda state: function(*both(first, second, state))


def _stateful(function: Function, args: Sequence[Piece]) -> Code:
    if not args:
        return function
    first = args[0].run
    if len(args) == 1:
        return lambda state: function(state, first(state))
    second = args[1].run
    return lambda state: function(state, *both(first, second, state))


def both(first: Code, second: Code, state: State) -> tuple[Any, Any]:
    """Evaluate two operands; the second one runs, and costs, even if the first one fails."""
    try:
        left = first(state)
    except EvaluationAborted:
        raise
    except EvaluationError:
        drain(second, state)
        raise
    return left, second(state)


def _priced_one(function: Function, code: Code, price: Price) -> Code:
    if price in RESULT_PRICED:
        return _priced(function, (code,), price, stateful=False)

    def run(state: State) -> Any:
        try:
            value = code(state)
        except EvaluationAborted:
            raise
        except EvaluationError:
            spend(state, price((FAILED,), FAILED))
            raise
        spend(state, price((value,), None))
        return function(value)

    return run


def _priced_with(function: Function, code: Code, second: Any, price: Price) -> Code:
    """Compile a call whose second argument is known."""
    if price in RESULT_PRICED:
        return _priced(function, (code, lambda _: second), price, stateful=False)

    def run(state: State) -> Any:
        try:
            value = code(state)
        except EvaluationAborted:
            raise
        except EvaluationError:
            spend(state, price((FAILED, second), FAILED))
            raise
        spend(state, price((value, second), None))
        return function(value, second)

    return run


def _priced(function: Function, codes: Sequence[Code], price: Price, *, stateful: bool) -> Code:
    """Compile a call whose price depends on its values."""

    def run(state: State) -> Any:
        values, failure = [], None
        for code in codes:
            try:
                values.append(code(state))
            except EvaluationAborted:
                raise
            except EvaluationError as error:
                failure = failure or error
                values.append(FAILED)
        if failure is not None:
            spend(state, price(values, FAILED))
            raise failure
        return _paid_call(function, values, price, state, stateful=stateful)

    return run


def _paid_call(
    function: Function, values: list[Any], price: Price, state: State, *, stateful: bool
) -> Any:
    """Pay for a call and make it; the price comes first unless only the result tells it."""
    first = price not in RESULT_PRICED
    if first:
        spend(state, price(values, None))
    try:
        result = function(state, *values) if stateful else function(*values)
    except EvaluationAborted:
        raise
    except EvaluationError:
        if not first:
            spend(state, price(values, FAILED))
        raise
    if not first:
        spend(state, price(values, result))
    return result


def _pair(function: Function, args: Sequence[Piece], price: int, *, stateful: bool) -> Code:
    """Compile a call of two arguments in sequence with a fixed price."""
    first, second, known = args[0].run, args[1].run, args[1].known
    unpaid = args[1].cost + price
    call_of: Function = function if stateful else lambda _, one, two: function(one, two)

    def run(state: State) -> Any:
        try:
            value = first(state)
        except EvaluationError:
            state[COST] -= unpaid
            raise
        return call_of(state, value, second(state))

    def run_known(state: State) -> Any:
        try:
            value = first(state)
        except EvaluationError:
            state[COST] -= unpaid
            raise
        return function(value, known)

    return run if known is ABSENT or stateful else run_known


def _with_constant(
    function: Function, args: Sequence[Piece], price: int | Price, *, stateful: bool
) -> Code:
    """Compile a call in sequence whose second argument is constant and whose price varies."""
    assert not isinstance(price, int)
    first, constant = args[0].run, args[1].constant

    def run(state: State) -> Any:
        value = first(state)
        spend(state, price((value, constant), None))
        return function(state, value, constant) if stateful else function(value, constant)

    return run


def _sequence(
    function: Function, args: Sequence[Piece], price: int | Price, *, stateful: bool
) -> Code:
    """Compile a call in sequence of any number of arguments and with any price."""
    codes = [arg.run for arg in args]
    # What a failure of each argument leaves unpaid: the arguments behind it and the call.
    unpaid = [sum(arg.cost for arg in args[n + 1 :]) + _fixed(price) for n in range(len(args))]
    unpaid[-1] = 0

    def run(state: State) -> Any:
        values: list[Any] = []
        for index, code in enumerate(codes):
            try:
                values.append(code(state))
            except EvaluationError:
                state[COST] -= unpaid[index]
                if index == len(codes) - 1 and not isinstance(price, int):
                    spend(state, price([*values, FAILED], FAILED))
                raise
        if isinstance(price, int):
            return function(state, *values) if stateful else function(*values)
        return _paid_call(function, values, price, state, stateful=stateful)

    return run


def or_else(optional: Piece, other: Piece, *, unwrap: bool) -> Piece:
    """Compile `optional.or(other)` and `optional.orValue(other)`, which cost nothing themselves."""
    run_optional, run_other, cost = optional.run, other.run, other.cost

    def run(state: State) -> Any:
        value = run_optional(state)
        if value is NONE:
            state[COST] += cost
            return run_other(state)
        if not unwrap or type(value) is not Optional:
            return value
        if type(value.value) is Invalid:
            raise value.value.error
        return value.value

    return Piece(run, optional.cost, flat=optional.flat and other.flat and cost == 0)

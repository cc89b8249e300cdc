"""Function calls: evaluate every argument, charge the cost, run the overload.

cel-go evaluates both arguments of a call with one or two even if the first one fails, and charges
the call as well; a call in sequence (three arguments or more, several overloads left open, a
constant pattern) stops at the first failure and charges nothing further.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from dragoman_base.versions import Release
from dragoman_cel.compile.closure import ABSENT, Closure, Code, known, spend_cost
from dragoman_cel.cost import COSTED_BY_RESULT, FAILED, CostFunction
from dragoman_cel.data import Invalid
from dragoman_cel.errors import EvaluationError, OperationError
from dragoman_cel.representation import NONE, Optional, no_such_overload
from dragoman_cel.state import COST, Paced, State

Function = Callable[..., Any]
"""An overload: function of the arguments, or of (state, *arguments)."""


def call(  # noqa: PLR0913 — how a call is made
    function: Function,
    args: Sequence[Closure],
    call_cost: int | CostFunction,
    release: Release,
    *,
    stateful: bool,
    sequence: bool = False,
    charged: bool = False,
) -> Closure:
    """Compile a call.

    Args:
        function: The overload's implementation.
        args: The arguments, receiver first.
        call_cost: Cost of the call itself.
        release: What evaluates.
        stateful: Whether the function takes the state first.
        sequence: Whether a failed argument ends the evaluation of arguments.
        charged: Whether the call costs something also where an argument fails, in every release.
    """
    cost = sum(arg.cost for arg in args)
    flat = all(arg.flat for arg in args)
    pure = function.function if isinstance(function, Paced) else None if stateful else function
    if pure is not None and all(arg.is_constant for arg in args):
        once = _once(pure, [arg.constant for arg in args], call_cost)
        if once is not None:
            return once
    if release.arguments_first and not charged:
        run = _strict(function, args, call_cost, stateful=stateful)
        return Closure(run, cost + _fixed(call_cost), flat and isinstance(call_cost, int))
    if len(args) > 2 or (sequence and len(args) == 2):
        return _in_sequence(function, args, call_cost, cost, stateful=stateful)
    if not isinstance(call_cost, int):
        run = _at_varying_cost(function, args, call_cost, stateful=stateful)
        return Closure(run, cost, flat=False)
    if stateful:
        return Closure(_stateful(function, args), cost + call_cost, flat)
    return Closure(_plain(function, args), cost + call_cost, flat)


def _at_varying_cost(
    function: Function, args: Sequence[Closure], call_cost: CostFunction, *, stateful: bool
) -> Code:
    """Compile a call whose cost depends on its values, by the fastest closure that fits."""
    codes = [arg.run for arg in args]
    if not stateful and call_cost not in COSTED_BY_RESULT:
        if len(args) == 1:
            return _costed_unary(function, codes[0], call_cost)
        if args[1].known is not ABSENT:
            return _costed_with_known(function, codes[0], args[1].known, call_cost)
    return _costed(function, codes, call_cost, stateful=stateful)


def _in_sequence(
    function: Function,
    args: Sequence[Closure],
    call_cost: int | CostFunction,
    cost: int,
    *,
    stateful: bool,
) -> Closure:
    """Compile a call whose first failed argument ends the evaluation."""
    if len(args) == 2 and isinstance(call_cost, int):
        flat = all(arg.flat for arg in args)
        return Closure(_pair(function, args, call_cost, stateful=stateful), cost + call_cost, flat)
    varies = not isinstance(call_cost, int) and call_cost not in COSTED_BY_RESULT
    if varies and len(args) == 2 and args[1].is_constant:
        run = _with_constant(function, args, call_cost, stateful=stateful)
        return Closure(run, cost, flat=False)
    run = _sequence(function, args, call_cost, stateful=stateful)
    return Closure(run, cost + _fixed(call_cost), flat=False)


def _strict(
    function: Function, args: Sequence[Closure], call_cost: int | CostFunction, *, stateful: bool
) -> Code:
    """Compile a call that costs nothing where an argument fails."""
    codes, fixed = [arg.run for arg in args], _fixed(call_cost)
    varies = None if isinstance(call_cost, int) else call_cost
    # The refund after a failure of each argument: the arguments behind it and the call.
    unpaid = [sum(arg.cost for arg in args[n + 1 :]) + fixed for n in range(len(args))]
    if len(args) == 1 and varies is None:
        return _strict_unary(function, codes[0], fixed, stateful=stateful)
    if len(args) == 2 and varies is None and not stateful:
        return _strict_pair(function, codes[0], args[1], unpaid)

    def run(state: State) -> Any:
        values: list[Any] = []
        try:
            for code in codes:
                values.append(code(state))  # noqa: PERF401 — how far it came decides the refund
        except EvaluationError:
            state[COST] -= unpaid[len(values)]
            raise
        if varies is None:
            return function(state, *values) if stateful else function(*values)
        return _charged_call(function, values, varies, state, stateful=stateful)

    return run


def _strict_unary(function: Function, code: Code, fixed: int, *, stateful: bool) -> Code:
    def run(state: State) -> Any:
        try:
            value = code(state)
        except EvaluationError:
            state[COST] -= fixed
            raise
        return function(state, value) if stateful else function(value)

    return run


def _strict_pair(function: Function, first: Code, second: Closure, unpaid: list[int]) -> Code:
    both_left, call_left = unpaid
    other, known = second.run, second.known

    def run(state: State) -> Any:
        left = both_left
        try:
            one = first(state)
            left = call_left
            two = other(state) if known is ABSENT else known
        except EvaluationError:
            state[COST] -= left
            raise
        return function(one, two)

    return run


def _once(function: Function, values: list[Any], call_cost: int | CostFunction) -> Closure | None:
    """Call a function of constants now; None if it fails: then every evaluation fails."""
    try:
        result = function(*values)
    except (EvaluationError, AttributeError, TypeError):
        return None
    return known(result, call_cost if isinstance(call_cost, int) else call_cost(values, result))


def _fixed(call_cost: int | CostFunction) -> int:
    return call_cost if isinstance(call_cost, int) else 0


def _plain(function: Function, args: Sequence[Closure]) -> Code:
    first = args[0].run
    if len(args) == 1:
        return lambda state: function(first(state))
    second = args[1].run
    if args[1].known is not ABSENT:
        value = args[1].known
        return lambda state: function(first(state), value)
    return lambda state: function(*both(first, second, state))


def _stateful(function: Function, args: Sequence[Closure]) -> Code:
    first = args[0].run
    if len(args) == 1:
        return lambda state: function(state, first(state))
    second = args[1].run
    return lambda state: function(state, *both(first, second, state))


def both(first: Code, second: Code, state: State) -> tuple[Any, Any]:
    """Evaluate two operands; the second one runs, and costs, even if the first one fails."""
    try:
        left = first(state)
    except OperationError:
        with suppress(OperationError):
            second(state)
        raise
    return left, second(state)


def _costed_unary(function: Function, code: Code, call_cost: CostFunction) -> Code:
    def run(state: State) -> Any:
        try:
            value = code(state)
        except OperationError:
            spend_cost(state, call_cost((FAILED,), FAILED))
            raise
        spend_cost(state, call_cost((value,), None))
        return function(value)

    return run


def _costed_with_known(
    function: Function, code: Code, second: Any, call_cost: CostFunction
) -> Code:
    """Compile a call whose second argument is known."""

    def run(state: State) -> Any:
        try:
            value = code(state)
        except OperationError:
            spend_cost(state, call_cost((FAILED, second), FAILED))
            raise
        spend_cost(state, call_cost((value, second), None))
        return function(value, second)

    return run


def _costed(
    function: Function, codes: Sequence[Code], call_cost: CostFunction, *, stateful: bool
) -> Code:
    """Compile a call whose cost depends on its values."""

    def run(state: State) -> Any:
        values, failure = [], None
        for code in codes:
            try:
                values.append(code(state))
            except OperationError as error:
                failure = failure or error
                values.append(FAILED)
        if failure is not None:
            spend_cost(state, call_cost(values, FAILED))
            raise failure
        return _charged_call(function, values, call_cost, state, stateful=stateful)

    return run


def _charged_call(
    function: Function, values: list[Any], call_cost: CostFunction, state: State, *, stateful: bool
) -> Any:
    """Charge and run a call; the charge comes first unless it depends on the result."""
    first = call_cost not in COSTED_BY_RESULT
    if first:
        spend_cost(state, call_cost(values, None))
    try:
        result = function(state, *values) if stateful else function(*values)
    except OperationError:
        if not first:
            spend_cost(state, call_cost(values, FAILED))
        raise
    if not first:
        spend_cost(state, call_cost(values, result))
    return result


def _pair(function: Function, args: Sequence[Closure], call_cost: int, *, stateful: bool) -> Code:
    """Compile a call of two arguments in sequence with a fixed cost."""
    first, second, known = args[0].run, args[1].run, args[1].known
    unpaid = args[1].cost + call_cost
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
    function: Function, args: Sequence[Closure], call_cost: int | CostFunction, *, stateful: bool
) -> Code:
    """Compile a call in sequence whose second argument is constant and whose cost varies."""
    assert not isinstance(call_cost, int)
    first, constant = args[0].run, args[1].constant

    def run(state: State) -> Any:
        value = first(state)
        spend_cost(state, call_cost((value, constant), None))
        return function(state, value, constant) if stateful else function(value, constant)

    return run


def _sequence(
    function: Function, args: Sequence[Closure], call_cost: int | CostFunction, *, stateful: bool
) -> Code:
    """Compile a call in sequence of any number of arguments and with any cost."""
    codes = [arg.run for arg in args]
    # The refund after a failure of each argument: the arguments behind it and the call.
    unpaid = [sum(arg.cost for arg in args[n + 1 :]) + _fixed(call_cost) for n in range(len(args))]
    unpaid[-1] = 0

    def run(state: State) -> Any:
        values: list[Any] = []
        for index, code in enumerate(codes):
            try:
                values.append(code(state))
            except EvaluationError:
                state[COST] -= unpaid[index]
                if index == len(codes) - 1 and not isinstance(call_cost, int):
                    spend_cost(state, call_cost([*values, FAILED], FAILED))
                raise
        if isinstance(call_cost, int):
            return function(state, *values) if stateful else function(*values)
        return _charged_call(function, values, call_cost, state, stateful=stateful)

    return run


def or_else(optional: Closure, other: Closure, release: Release, *, unwrap: bool) -> Closure:
    """Compile `optional.or(other)` and `optional.orValue(other)`, which cost nothing themselves.

    Args:
        optional: The receiver.
        other: The argument.
        release: What evaluates.
        unwrap: Whether the content is the result.
    """
    run_optional, run_other, cost = optional.run, other.run, other.cost
    only = release.optionals_only

    def run(state: State) -> Any:
        value = run_optional(state)
        if value is NONE:
            state[COST] += cost
            return run_other(state)
        if type(value) is not Optional:
            if only:
                raise no_such_overload()
            return value
        if not unwrap:
            return value
        if type(value.value) is Invalid:
            raise value.value.error
        return value.value

    return Closure(run, optional.cost, flat=optional.flat and other.flat and cost == 0)

"""`&&`, `||` and `?:`: they evaluate only what decides, and absorb errors of the rest."""

from __future__ import annotations

from contextlib import suppress
from itertools import accumulate
from typing import Any

from dragoman_cel.compile.closure import Closure, Code
from dragoman_cel.errors import EvaluationError, OperationError
from dragoman_cel.representation import no_such_overload
from dragoman_cel.state import COST, STEPS_PER_ERROR, State, spend_steps


def logical(terms: list[Closure], *, decisive: bool) -> Closure:
    """Compile `&&` (decided by false) or `||` (decided by true); else the first error counts."""
    first = terms[0].cost
    # Cost of the terms up to each one, without the first, which the caller charges.
    paid = [total - first for total in accumulate(term.cost for term in terms)]
    codes = tuple(zip((term.run for term in terms), paid, strict=True))
    flat = all(term.flat for term in terms) and paid[-1] == 0
    if len(terms) == 2:
        return Closure(_pair(terms[0].run, terms[1].run, paid[1], decisive=decisive), first, flat)
    return Closure(_many(codes, paid[-1], decisive=decisive), first, flat)


def _pair(left: Code, right: Code, cost: int, *, decisive: bool) -> Code:
    other = not decisive

    def run(state: State) -> Any:
        error = None
        try:
            value = left(state)
            if value is decisive:
                return decisive
            if value is not other:
                error = no_such_overload()
        except OperationError as failure:
            spend_steps(state, STEPS_PER_ERROR)
            error = failure
        state[COST] += cost
        value = right(state) if error is None else _last(right, state, error, decisive=decisive)
        if value is decisive or value is other:
            return bool(value)
        raise no_such_overload()

    return run


def _last(code: Code, state: State, error: EvaluationError, *, decisive: bool) -> Any:
    """Run the other operand after an error: only the decisive value absorbs the error."""
    with suppress(OperationError):
        if code(state) is decisive:
            return decisive
    raise error


def _many(codes: tuple[tuple[Code, int], ...], total: int, *, decisive: bool) -> Code:
    other = not decisive

    def run(state: State) -> Any:
        error: EvaluationError | None = None
        for code, paid in codes:
            try:
                value = code(state)
            except OperationError as failure:
                spend_steps(state, STEPS_PER_ERROR)
                error = error or failure
                continue
            if value is decisive:
                state[COST] += paid
                return decisive
            if value is not other:
                error = error or no_such_overload()
        state[COST] += total
        if error is not None:
            raise error
        return other

    return run


def conditional(test: Closure, then: Closure, other: Closure) -> Closure:
    """Compile `test ? then : other`; only the branch taken runs and costs."""
    check, yes, no = test.run, then.run, other.run
    yes_cost, no_cost = then.cost, other.cost

    def run(state: State) -> object:
        value = check(state)
        if value is True:
            state[COST] += yes_cost
            return yes(state)
        if value is False:
            state[COST] += no_cost
            return no(state)
        raise no_such_overload()

    free = yes_cost == 0 and no_cost == 0
    flat = free and test.flat and then.flat and other.flat
    return Closure(run, test.cost, flat)

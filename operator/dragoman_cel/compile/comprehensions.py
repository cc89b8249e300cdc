"""Comprehensions: the macros all, exists, exists_one, map, filter and transform*.

cel-go evaluates the expansion of a macro step by step. A closure runs a plain loop instead, and
charges what the expansion would cost. Errors differ: all and exists absorb them like `&&` and `||`;
the others continue, and charge, with an accumulator that has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dragoman_cel.compile.closure import Closure, Code, spend_cost
from dragoman_cel.compile.loops import Loop, begin, rounds_of
from dragoman_cel.data import BuiltMap
from dragoman_cel.errors import EvaluationError, OperationError
from dragoman_cel.library.containers import insert
from dragoman_cel.representation import LISTS, MAPS, no_such_overload, value_of
from dragoman_cel.state import COST, LIMIT, STEPS_PER_ENTRY, STEPS_PER_ERROR, State, spend_steps

_RESULT = 1
"""Cost of reading the accumulator at the end of the loop."""


def comprehension(macro: str, loop: Loop, parts: Sequence[Closure | None]) -> Closure:
    """Compile a macro.

    Args:
        macro: `Comprehension.macro`.
        loop: What the macro iterates over.
        parts: The predicate, None without one, and the transformation if there is any.
    """
    predicate, *others = parts
    if macro in ("all", "exists"):
        assert predicate is not None
        return quantifier(loop, predicate, decisive=macro == "exists")
    if macro == "exists_one":
        assert predicate is not None
        return exists_one(loop, predicate)
    transform = tuple(part for part in others if part is not None)
    if macro == "map":
        return collect(loop, predicate, transform[0])
    return collect_map(loop, predicate, transform)


def quantifier(loop: Loop, predicate: Closure, *, decisive: bool) -> Closure:
    """Compile `all` (decided by false) or `exists` (decided by true)."""
    check = 3 if decisive else 2  # the loop condition; exists also negates
    costs = (check + 1 + predicate.cost, check)
    if predicate.flat and not loop.second:
        run = _quantify_fast(loop, predicate.run, costs, decisive=decisive)
    else:
        run_items = loop.items.run
        careful = _quantify_carefully(loop, predicate.run, costs, decisive=decisive)

        def run(state: State) -> Any:
            return careful(state, run_items(state))

    return Closure(run, loop.items.cost, flat=False)


def _quantify_fast(loop: Loop, code: Code, costs: tuple[int, int], *, decisive: bool) -> Code:
    """Compile a loop whose rounds all cost the same: over a list it charges them together."""
    each, check = costs
    run_items, slot, other = loop.items.run, loop.slot, not decisive
    careful = _quantify_carefully(loop, code, costs, decisive=decisive)

    def run(state: State) -> Any:
        items = run_items(state)
        if type(items) not in LISTS or len(items) * each > state[LIMIT] - state[COST]:
            return careful(state, items)
        spend_steps(state, len(items) + 1)
        error: EvaluationError | None = None
        done = 0
        for item in items:
            state[slot] = item
            done += 1
            try:
                value = code(state)
            except OperationError as failure:
                spend_steps(state, STEPS_PER_ERROR)
                error = error or failure
                continue
            if value is decisive:
                state[COST] += done * each + (check if done < len(items) else 0) + _RESULT
                return decisive
            if value is not other:
                error = error or no_such_overload()
        state[COST] += done * each + _RESULT
        if error is not None:
            raise error
        return other

    return run


def _quantify_carefully(
    loop: Loop, code: Code, costs: tuple[int, int], *, decisive: bool
) -> Callable[[State, Any], Any]:
    each, check = costs
    other = not decisive

    def run(state: State, items: Any) -> Any:
        error: EvaluationError | None = None
        for done, _ in enumerate(begin(loop, items, state), 1):
            spend_cost(state, each)
            try:
                value = code(state)
            except OperationError as failure:
                spend_steps(state, STEPS_PER_ERROR)
                error = error or failure
                continue
            if value is decisive:
                state[COST] += (check if done < len(items) else 0) + _RESULT
                return decisive
            if value is not other:
                error = error or no_such_overload()
        state[COST] += _RESULT
        if error is not None:
            raise error
        return other

    return run


def exists_one(loop: Loop, predicate: Closure) -> Closure:
    """Compile `exists_one`: no early end, no absorbed error."""
    start, holds = rounds_of(loop), _test(predicate)
    hit = 2  # reading the counter and adding
    strict = loop.release.arguments_first

    def run(state: State) -> bool:
        found, error = 0, None
        for _ in start(state):
            try:
                if holds(state):
                    found += 1
                    state[COST] += hit if error is None or not strict else 1
            except OperationError as failure:
                spend_steps(state, STEPS_PER_ERROR)
                error = failure
        state[COST] += _RESULT + 1
        if error is not None:
            raise error
        return found == 1

    return Closure(run, loop.items.cost, flat=False)


def _test(predicate: Closure | None) -> Callable[[State], bool]:
    """Return a function that charges and evaluates a predicate, which must be a bool."""
    if predicate is None:
        return lambda _: True
    code, cost = predicate.run, predicate.cost

    def holds(state: State) -> bool:
        spend_cost(state, cost)
        value = code(state)
        if value is True or value is False:
            return bool(value)
        raise no_such_overload()

    return holds


Take = Callable[[State, Any, bool], None]
"""Charges an element or entry and adds it; the flag says if the accumulator has failed before."""


def collect(loop: Loop, predicate: Closure | None, transform: Closure) -> Closure:
    """Compile map, filter and transformList: a list of what the transformation gives."""
    # The accumulator, the call of `+`, and the one-element list unless that is a constant.
    cost = 2 + (0 if transform.is_constant else 10) + transform.cost
    build, strict = transform.run, loop.release.arguments_first
    own = cost - 1 - transform.cost if strict else 0

    def take(state: State, built: list[Any], failed: bool) -> None:  # noqa: FBT001 — as Take
        if failed and strict:
            spend_cost(state, 1)
            return
        spend_cost(state, cost)
        try:
            built.append(build(state))
        except OperationError:
            state[COST] -= own
            raise

    return _accumulate(loop, predicate, list, take)


def collect_map(loop: Loop, predicate: Closure | None, entry: tuple[Closure, ...]) -> Closure:
    """Compile transformMap (key and value) and transformMapEntry (a map)."""
    cost = 2 + sum(part.cost for part in entry)  # reading the accumulator, inserting
    codes, strict = [part.run for part in entry], loop.release.arguments_first
    # Once the accumulator has failed, a call of three arguments stops there; one of two goes on.
    stops = len(entry) == 2 or strict
    # The refund after a failure of each part, the parts behind it and the insertion.
    unpaid = [1 + sum(part.cost for part in entry[n + 1 :]) for n in range(len(entry))]

    def take(state: State, built: dict[Any, Any], failed: bool) -> None:  # noqa: FBT001 — as Take
        if failed and stops:
            spend_cost(state, 1)
        else:
            spend_cost(state, cost)
            spend_steps(state, STEPS_PER_ENTRY)
            values: list[Any] = []
            try:
                for code in codes:
                    values.append(code(state))  # noqa: PERF401 — how far it came decides
            except OperationError:
                state[COST] -= unpaid[len(values)] if strict else 0
                raise
            _add(state, built, values)

    return _accumulate(loop, predicate, BuiltMap, take)


def _accumulate(
    loop: Loop, predicate: Closure | None, empty: Callable[[], Any], take: Take
) -> Closure:
    """Compile a loop that builds a list or map, and continues after an error to count the cost."""
    start, holds = rounds_of(loop), _test(predicate)

    def run(state: State) -> Any:
        built = empty()
        error: EvaluationError | None = None
        for _ in start(state):
            try:
                if not holds(state):
                    continue
            except OperationError as failure:
                spend_steps(state, STEPS_PER_ERROR)
                error = failure
                continue
            try:
                take(state, built, error is not None)
            except OperationError as failure:
                spend_steps(state, STEPS_PER_ERROR)
                error = error or failure
        state[COST] += _RESULT
        if error is not None:
            raise error
        return built

    return Closure(run, loop.items.cost, flat=False)


def _add(state: State, building: dict[Any, Any], entry: list[Any]) -> None:
    if len(entry) == 2:
        insert(building, *entry)
    elif type(entry[0]) in MAPS:
        spend_steps(state, len(entry[0]))
        for key, value in entry[0].items():
            insert(building, value_of(key), value)
    else:
        raise no_such_overload("cel.@mapInsert", building, entry[0])

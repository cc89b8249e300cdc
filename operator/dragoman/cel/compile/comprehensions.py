"""The macros that loop: all, exists, exists_one, map, filter, transform*; and cel.bind.

Each stands for a fold, but is compiled to a plain loop that charges what the fold would. Errors
differ: all and exists absorb them like `&&` and `||`; the others keep folding, and paying, with an
accumulator that has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from dragoman.cel.compile.closure import Closure, Code, spend_cost
from dragoman.cel.errors import EvaluationAborted, EvaluationError
from dragoman.cel.library.containers import insert
from dragoman.cel.representation import LISTS, MAPS, go_name, keys, no_such_overload, value_of
from dragoman.cel.state import COST, LIMIT, State, spend_steps

_RESULT: Final = 1
"""Reading the accumulator when the loop is done."""


@dataclass(frozen=True, slots=True)
class Loop:
    """What is iterated over, and where the loop variables live.

    Attributes:
        items: the list or map.
        slot: slot of the element or key, or of the index in a two-variable macro.
        second: slot of the value of a two-variable macro, 0 for one variable.
    """

    items: Closure
    slot: int
    second: int


Rounds = Callable[[State], tuple[Iterator[None], int]]
"""Starts a loop: returns what sets the variables for each round, and the number of rounds."""


def _rounds(loop: Loop) -> Rounds:
    run = loop.items.run
    return lambda state: _start(loop, run(state), state)


def _start(loop: Loop, items: Any, state: State) -> tuple[Iterator[None], int]:
    """Begin to loop over a value, or refuse it.

    Raises:
        EvaluationError: it is neither list nor map.
        StepBudgetExceeded: there are not enough steps left for all rounds.
    """
    two = bool(loop.second)
    kind = type(items)
    if kind not in LISTS and kind not in MAPS:
        name = go_name(items)
        if two:
            raise EvaluationError(f"unsupported comprehension range type: {name}")
        raise EvaluationError(f"got '{name}', expected iterable type")
    spend_steps(state, len(items) + 1)
    if two:
        pairs = enumerate(items) if kind in LISTS else _pairs(items)
        return _set_two(state, loop, pairs), len(items)
    return _set_one(state, loop.slot, items if kind in LISTS else keys(items)), len(items)


def _pairs(mapping: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    return ((value_of(key), value) for key, value in mapping.items())


def _set_one(state: State, slot: int, items: Iterable[Any]) -> Iterator[None]:
    for item in items:
        state[slot] = item
        yield


def _set_two(state: State, loop: Loop, pairs: Iterable[tuple[Any, Any]]) -> Iterator[None]:
    slot, second = loop.slot, loop.second
    for key, value in pairs:
        state[slot], state[second] = key, value
        yield


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
    """Loop over a list when no round can cost more than the others."""
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
            except EvaluationAborted:
                raise
            except EvaluationError as failure:
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
        rounds, size = _start(loop, items, state)
        error: EvaluationError | None = None
        for done, _ in enumerate(rounds, 1):
            spend_cost(state, each)
            try:
                value = code(state)
            except EvaluationAborted:
                raise
            except EvaluationError as failure:
                error = error or failure
                continue
            if value is decisive:
                state[COST] += (check if done < size else 0) + _RESULT
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
    start, holds = _rounds(loop), _test(predicate)
    hit = 2  # reading the counter and adding

    def run(state: State) -> bool:
        found, error = 0, None
        for _ in start(state)[0]:
            try:
                if holds(state):
                    found += 1
                    state[COST] += hit
            except EvaluationAborted:
                raise
            except EvaluationError as failure:
                error = failure
        state[COST] += _RESULT + 1
        if error is not None:
            raise error
        return found == 1

    return Closure(run, loop.items.cost, flat=False)


def _test(predicate: Closure | None) -> Callable[[State], bool]:
    """Return what pays for and evaluates a predicate, and refuses anything but a bool."""
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
"""Pays for an element or entry and adds it; told whether the accumulator has failed before."""


def collect(loop: Loop, predicate: Closure | None, transform: Closure) -> Closure:
    """Compile map, filter and transformList: a list of what the transformation gives."""
    # The accumulator, the call of `+`, and the one-element list unless that is a constant.
    cost = 2 + (0 if transform.is_constant else 10) + transform.cost
    build = transform.run

    def take(state: State, built: list[Any], _: bool) -> None:  # noqa: FBT001 — as Take
        spend_cost(state, cost)
        built.append(build(state))

    return _accumulate(loop, predicate, list, take)


def collect_map(loop: Loop, predicate: Closure | None, entry: tuple[Closure, ...]) -> Closure:
    """Compile transformMap (key and value) and transformMapEntry (a map)."""
    cost = 2 + sum(part.cost for part in entry)  # reading the accumulator, inserting
    codes = [part.run for part in entry]
    # Once the accumulator has failed, a call of three arguments stops there; one of two goes on.
    stops = len(entry) == 2

    def take(state: State, built: dict[Any, Any], failed: bool) -> None:  # noqa: FBT001 — as Take
        if failed and stops:
            spend_cost(state, 1)
        else:
            spend_cost(state, cost)
            _add(state, built, [code(state) for code in codes])

    return _accumulate(loop, predicate, dict, take)


def _accumulate(
    loop: Loop, predicate: Closure | None, empty: Callable[[], Any], take: Take
) -> Closure:
    """Compile a loop that builds a list or map, and goes on after an error without it."""
    start, holds = _rounds(loop), _test(predicate)

    def run(state: State) -> Any:
        built = empty()
        error: EvaluationError | None = None
        for _ in start(state)[0]:
            try:
                if not holds(state):
                    continue
            except EvaluationAborted:
                raise
            except EvaluationError as failure:
                error = failure
                continue
            try:
                take(state, built, error is not None)
            except EvaluationAborted:
                raise
            except EvaluationError as failure:
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


class _Unset:
    """Marks the slot of a bound variable that nobody has asked for yet."""


_UNSET: Final = _Unset()


class _Failed:
    """Holds the error of a bound variable whose expression failed."""

    __slots__ = ("error",)

    def __init__(self, error: EvaluationError) -> None:
        self.error = error


def bound_variable(slot: int, value: Closure) -> Closure:
    """Compile reading a variable of `cel.bind`: its expression runs once, when first asked for."""
    compute, cost = value.run, value.cost

    def run(state: State) -> Any:
        found = state[slot]
        if found is _UNSET:
            state[COST] += cost
            try:
                found = compute(state)
            except EvaluationError as error:
                state[slot] = _Failed(error)
                raise
            state[slot] = found
        elif type(found) is _Failed:
            # Its traceback would grow with every use of the variable.
            raise found.error.with_traceback(None)
        return found

    return Closure(run, 0, flat=False)


def bind(slot: int, body: Closure) -> Closure:
    """Compile the body of `cel.bind`, which starts with the variable not computed."""
    inner = body.run

    def run(state: State) -> Any:
        state[slot] = _UNSET
        return inner(state)

    return Closure(run, body.cost, flat=False)

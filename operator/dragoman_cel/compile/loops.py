"""Loops of comprehensions: their variables, set for each item of a list or map."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dragoman_base.versions import Release
from dragoman_cel.compile.closure import Closure
from dragoman_cel.errors import OperationError
from dragoman_cel.representation import LISTS, MAPS, go_name, keys, value_of
from dragoman_cel.state import State, spend_steps
from dragoman_cel.values.ip import CIDR


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop: its items, and the slots of its variables."""

    items: Closure  # The list or map
    slot: int  # Slot of the element or key, or of the index in a two-variable macro
    second: int  # Slot of the value of a two-variable macro, 0 for one variable
    release: Release  # What evaluates


def rounds_of(loop: Loop) -> Callable[[State], Iterator[None]]:
    """Return what starts a loop by evaluating its items."""
    run = loop.items.run
    return lambda state: begin(loop, run(state), state)


def begin(loop: Loop, items: Any, state: State) -> Iterator[None]:
    """Start a loop over a value; return an iterator that sets the variables of each round.

    Raises:
        OperationError: The value is neither list nor map.
        StepBudgetExceeded: There are not enough steps left for all rounds.
    """
    two = bool(loop.second)
    kind = type(items)
    if kind not in LISTS and kind not in MAPS:
        if loop.release.empty_iterated and _is_empty(items):
            return iter(())
        name = go_name(items)
        if two:
            raise OperationError(f"unsupported comprehension range type: {name}")
        raise OperationError(f"got '{name}', expected iterable type")
    spend_steps(state, len(items) + 1)
    if two:
        return _set_two(state, loop, enumerate(items) if kind in LISTS else _pairs(items))
    return _set_one(state, loop.slot, items if kind in LISTS else keys(items))


def _is_empty(value: Any) -> bool:
    """Return whether a value that is neither list nor map has a size, of zero."""
    return value in ("", b"") or (isinstance(value, CIDR) and value.size == 0)


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

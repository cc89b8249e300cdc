"""Dispatchers: they choose an overload at run time, where the static types leave it open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dragoman_cel import types
from dragoman_cel.check.overloads import Overload
from dragoman_cel.errors import OperationError
from dragoman_cel.library import OVERLOADS, STATEFUL
from dragoman_cel.representation import (
    LISTS,
    MAPS,
    NUMBERS,
    PLAIN,
    Optional,
    no_such_overload,
    type_name,
    value_of,
)
from dragoman_cel.state import State, spend_steps
from dragoman_cel.types import Kind, Type
from dragoman_cel.values.durations import Duration
from dragoman_cel.values.scalars import Uint
from dragoman_cel.values.timestamps import Timestamp

_RECEIVERS = frozenset((str, Timestamp, Duration))
"""Types that receive calls by function name in cel-go; their errors lack the name."""
_ABLE: dict[str, frozenset[type]] = {
    "_+_": NUMBERS | LISTS | {str, bytes, Duration, Timestamp},
    "_-_": NUMBERS | {Duration, Timestamp},
    "_*_": NUMBERS,
    "_/_": NUMBERS,
    "_%_": frozenset((int, Uint)),
    "-_": frozenset((int, float, bool)),
    "matches": frozenset((str,)),
    "sort": LISTS,
    "@sortByAssociatedKeys": LISTS,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), PLAIN),
    "size": MAPS | LISTS | {str, bytes},
}
"""Functions that cel-go calls on the first operand: the error of an unfit operand names them."""


_STEPS_PER_CHOICE = 2
"""Plain steps of an overload whose fit the parts of a list or map decide, at each call."""

_Choices = Sequence[tuple[tuple[Type, ...], Callable[..., Any]]]
"""The parameters of overloads, and the functions to call."""


def _implementation(name: str) -> Callable[..., Any]:
    """Return an overload's function of (state, *args)."""
    if name in STATEFUL:
        return STATEFUL[name]
    plain = OVERLOADS[name]
    return lambda _, *args: plain(*args)


def _chosen(function: str, choices: _Choices, args: Sequence[Any]) -> Callable[..., Any]:
    """Return the function of the first overload that fits."""
    for params, run in choices:
        if all(map(fits, params, args)):
            return run
    raise _refusal(function, args)


def plain_dispatcher(function: str, overloads: Sequence[Overload]) -> Callable[..., Any] | None:
    """Return a function of two arguments that calls the overload for their types.

    None if the choice needs more than their types, or an overload needs the state.
    """
    if any(overload.name not in OVERLOADS or _looks_inside(overload) for overload in overloads):
        return None
    choices = [(overload.params, OVERLOADS[overload.name]) for overload in overloads]
    chosen: dict[tuple[type, type], Callable[..., Any]] = {}

    def dispatch(left: Any, right: Any) -> Any:
        run = chosen.get((type(left), type(right)))
        if run is None:
            run = chosen[type(left), type(right)] = _chosen(function, choices, (left, right))
        return run(left, right)

    return dispatch


def fits(kind: Type, value: Any) -> bool:
    """Return whether a value fits a parameter; of a container, its first part decides."""
    if kind.kind is Kind.SCALAR:
        return type_name(value) == kind.name
    if kind.kind is Kind.LIST:
        return type(value) in LISTS and (not value or fits(kind.params[0], value[0]))
    if kind.kind is Kind.MAP:
        if type(value) not in MAPS:
            return False
        first = next(iter(value.items()), None)
        if first is None:
            return True
        return fits(kind.params[0], value_of(first[0])) and fits(kind.params[1], first[1])
    if kind.kind is Kind.OPAQUE and kind.name == "optional_type":
        return type(value) is Optional
    if kind.kind in (Kind.DYN, Kind.ANY, Kind.PARAM):
        return True
    return type_name(value) == kind.name


def dispatcher(function: str, overloads: Sequence[Overload]) -> Callable[..., Any]:
    """Return a function of (state, *args) that calls the first overload that fits."""
    if function == "flatten":
        return _flatten
    choices = [(overload.params, _implementation(overload.name)) for overload in overloads]
    if function == "-_":
        # cel-go negates durations, although no overload declares it.
        choices.append(((types.DURATION,), lambda _, duration: duration.negated()))
    if any(_looks_inside(overload) for overload in overloads):

        def choose(state: State, *args: Any) -> Any:
            spend_steps(state, _STEPS_PER_CHOICE * (len(choices) + 1))
            return _chosen(function, choices, args)(state, *args)

        return choose
    # The types of the arguments decide.
    chosen: dict[tuple[type, ...], Callable[..., Any]] = {}

    def dispatch(state: State, *args: Any) -> Any:
        kinds = tuple(map(type, args))
        run = chosen.get(kinds)
        if run is None:
            run = chosen[kinds] = _chosen(function, choices, args)
        return run(state, *args)

    return dispatch


def _looks_inside(overload: Overload) -> bool:
    """Return whether the parts of an argument decide whether it fits."""
    return any(kind.kind in (Kind.LIST, Kind.MAP) for kind in overload.params)


def _flatten(state: State, items: Any, *depth: Any) -> Any:
    """Flatten any list: cel-go does not check the elements before this overload."""
    if type(items) not in LISTS or (depth and type(depth[0]) is not int):
        shown = ", ".join(map(type_name, depth))
        name = "map(dyn, dyn)" if type(items) in MAPS else type_name(items)
        raise no_such_overload(f"{name}.flatten({shown})")
    return STATEFUL["list_flatten"](state, items, *depth)


_UNGUARDED = frozenset(("contains", "startsWith", "endsWith", "!_"))
"""Functions whose own code raises the error, without its name."""


def _refusal(function: str, args: Sequence[Any]) -> Exception:
    if function in _UNGUARDED:
        return no_such_overload()
    if function in ("sort", "@sortByAssociatedKeys") and all(type(one) in LISTS for one in args):
        return OperationError("list elements must be comparable")
    able = _ABLE.get(function)
    if able is None:
        return no_such_overload(function, *args)
    kind = type(args[0])
    return no_such_overload() if kind in able or kind in _RECEIVERS else no_such_overload(function)

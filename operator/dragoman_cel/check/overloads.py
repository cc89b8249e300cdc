"""Overloads of functions, and which of them fit the types of arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dragoman_cel.types import DYN, Bindings, Kind, Type


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function."""

    name: str  # The overload id, the key of costs and implementations
    member: bool  # Whether the first parameter is the receiver
    params: tuple[Type, ...]  # Types of the parameters, the receiver's first
    result: Type  # Type of the result
    names: tuple[str, ...]  # The type parameters in the signature


def fitting(
    overloads: Sequence[Overload], args: list[Type], bindings: Bindings, *, member: bool
) -> tuple[tuple[str, ...], Type | None]:
    """Return the names of the overloads that fit, and what they return, None if none fits.

    Overloads of different results together return dyn: only the run-time types decide then.

    Args:
        overloads: All overloads of the function.
        args: Types of the arguments, the receiver's first.
        bindings: Of the expression; every overload that fits binds the parameters it unifies.
        member: Whether the call has a receiver.
    """
    result: Type | None = None
    names = []
    for overload in overloads:
        if overload.member is not member or len(overload.params) != len(args):
            continue
        params, returned = overload.params, overload.result
        if overload.names:
            fresh = {name: bindings.fresh() for name in overload.names}
            params = tuple(_instance(part, fresh) for part in params)
            returned = _instance(returned, fresh)
        if not bindings.all_assignable(args, params):
            continue
        names.append(overload.name)
        returned = bindings.substitute(returned)
        if result is None:
            result = returned
        elif not result.dynamic and returned != result:
            result = DYN
    return tuple(names), result


def _instance(of: Type, fresh: Mapping[str, Type]) -> Type:
    """Return a signature's type with its parameters replaced by fresh ones."""
    if not of.open:
        return of
    if of.kind is Kind.PARAM:
        return fresh[of.name]
    return Type(of.kind, of.name, tuple(_instance(part, fresh) for part in of.params))

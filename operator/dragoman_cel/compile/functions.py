"""The implementation of a call: one overload where the types are known, else a dispatcher."""

from collections.abc import Sequence

from dragoman_base.versions import Release
from dragoman_cel.check.overloads import Overload
from dragoman_cel.compile.calls import call
from dragoman_cel.compile.closure import Closure
from dragoman_cel.cost import call_cost_of
from dragoman_cel.library import OVERLOADS, STATEFUL
from dragoman_cel.library.dispatch import dispatcher, plain_dispatcher
from dragoman_cel.syntax.nodes import Call

_SHARED = frozenset(
    (
        "_+_", "_-_", "_*_", "_/_", "_%_", "_<_", "_<=_", "_>_", "_>=_", "matches",
        "@sortByAssociatedKeys",
    )
)  # fmt: skip
"""Functions of two arguments whose overloads share one implementation in cel-go."""
_OPEN = _SHARED | {"-_", "sort", "size"}
"""Functions for which cel-go ignores the overload that the checker has found."""


def function_call(
    node: Call,
    args: Sequence[Closure],
    overloads: Sequence[Overload],
    release: Release,
    *,
    exact: bool,
) -> Closure:
    """Compile a call.

    Args:
        node: Annotated by the checker.
        args: The arguments, the receiver first.
        overloads: All overloads of the function.
        release: How it evaluates.
        exact: Whether every argument is sure to have its static type.
    """
    call_cost = call_cost_of(node.function, node.overloads, release)
    # cel-go still charges a negation whose operand fails.
    charged = node.function == "!_"
    # cel-go evaluates the argument list of `format` like the arguments of a call of three.
    formats = node.function == "format"
    if len(node.overloads) == 1 and exact:
        name = node.overloads[0]
        if name in STATEFUL:
            return call(STATEFUL[name], args, call_cost, release, stateful=True, sequence=formats)
        return call(OVERLOADS[name], args, call_cost, release, stateful=False, charged=charged)
    several = len(node.overloads) > 1
    choices = [
        overload
        for overload in overloads
        if len(overload.params) == len(args)
        and (several or node.function in _OPEN or overload.name in node.overloads)
    ]
    several = several and node.function not in _SHARED
    plain = plain_dispatcher(node.function, choices) if len(args) == 2 else None
    if plain is not None:
        return call(plain, args, call_cost, release, stateful=False, sequence=several or formats)
    run, sequence = dispatcher(node.function, choices), several or formats
    return call(run, args, call_cost, release, stateful=True, sequence=sequence, charged=charged)

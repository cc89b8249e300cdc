"""The implementation of a call: one overload where the types are known, else a dispatcher."""

from collections.abc import Sequence

from dragoman_cel.check.overloads import Overload
from dragoman_cel.compile.calls import call
from dragoman_cel.compile.closure import Closure
from dragoman_cel.cost import call_cost_of
from dragoman_cel.engine import Engine
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
    engine: Engine,
    *,
    exact: bool,
) -> Closure:
    """Compile a call.

    Args:
        node: Annotated by the checker.
        args: The arguments, the receiver first.
        overloads: All overloads of the function.
        engine: How the release evaluates.
        exact: Whether every argument is sure to have its static type.
    """
    call_cost = call_cost_of(node.function, node.overloads, engine)
    # cel-go still charges a negation whose operand fails.
    strict = engine.arguments_first and node.function != "!_"
    # cel-go evaluates the argument list of `format` like the arguments of a call of three.
    formats = node.function == "format"
    if len(node.overloads) == 1 and exact:
        name = node.overloads[0]
        if name in STATEFUL:
            return call(
                STATEFUL[name], args, call_cost, stateful=True, sequence=formats, strict=strict
            )
        return call(OVERLOADS[name], args, call_cost, stateful=False, strict=strict)
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
        return call(
            plain, args, call_cost, stateful=False, sequence=several or formats, strict=strict
        )
    run = dispatcher(node.function, choices)
    return call(run, args, call_cost, stateful=True, sequence=several or formats, strict=strict)

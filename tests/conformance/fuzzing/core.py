"""Cases of core CEL: one expression over plain variables, for dragoman and for cel-python."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import celpy
from celpy import celtypes

from dragoman_cel import representation, types
from dragoman_cel.environment import Environment
from dragoman_cel.errors import CompileError, EvaluationError
from dragoman_cel.types import Type
from dragoman_cel.values.scalars import Uint
from tests.conformance.fuzzing.expressions import Expressions, Tree
from tests.conformance.fuzzing.grammar import Type as Production

NO_PROGRAM = "does not compile"
FAILURE = "error"

_SHRINKS = 200


class Variable(NamedTuple):
    """A variable with one value: its type for the generator and for the checker."""

    production: Production
    type: Type
    value: Any


VARIABLES = {
    "b": Variable(("bool",), types.BOOL, True),
    "i": Variable(("int",), types.INT, 3),
    "u": Variable(("uint",), types.UINT, Uint(7)),
    "f": Variable(("double",), types.DOUBLE, 2.5),
    "s": Variable(("string",), types.STRING, "abc"),
    "l": Variable(("L", ("int",)), types.list_of(types.INT), [1, 2, 3]),
    "m": Variable(
        ("M", ("string",), ("int",)), types.map_of(types.STRING, types.INT), {"a": 1, "name": 2}
    ),
}
_ROOTS = [(variable.production, name) for name, variable in VARIABLES.items()]
_RESULTS: tuple[Production, ...] = (
    *(("bool",), ("int",), ("uint",), ("double",), ("string",), ("bytes",)),
    *(("L", ("int",)), ("M", ("string",), ("int",))),
)
_ENVIRONMENT = Environment(
    (1, 36), {name: variable.type for name, variable in VARIABLES.items()}, {}, lambda _: None
)


def dragoman_outcome(expression: str) -> str:
    """Return the result in CEL's notation, FAILURE or NO_PROGRAM."""
    try:
        program = _ENVIRONMENT.compile(expression)
    except CompileError:
        return NO_PROGRAM
    try:
        result, _ = program.evaluate([variable.value for variable in VARIABLES.values()])
    except EvaluationError:
        return FAILURE
    return _written(result)


def dragoman_syntax_error(expression: str) -> bool:
    """Return whether dragoman rejects the text itself, not its types."""
    try:
        _ENVIRONMENT.compile(expression)
    except CompileError as error:
        return "Syntax error" in error.message
    return False


def _celpy_environment() -> celpy.Environment:
    limit = sys.getrecursionlimit()
    try:
        return celpy.Environment()
    finally:
        sys.setrecursionlimit(limit)  # celpy changes it for the whole process


_CELPY = _celpy_environment()
_CELPY_VALUES = {
    name: celtypes.UintType(variable.value)
    if variable.type is types.UINT
    else celpy.json_to_cel(variable.value)
    for name, variable in VARIABLES.items()
}


def celpy_outcome(expression: str) -> str:
    """Return cel-python's result in CEL's notation, FAILURE or NO_PROGRAM.

    cel-python raises its own errors and many of Python's for faulty expressions.
    """
    try:
        tree = _CELPY.compile(expression)
    except Exception:  # noqa: BLE001 — see above
        return NO_PROGRAM
    try:
        return _written(_CELPY.program(tree).evaluate(dict(_CELPY_VALUES)))
    except Exception:  # noqa: BLE001 — see above
        return FAILURE


def _written(value: Any) -> str:
    """Write a value of either side; cel-python mixes its own types with Python's."""
    if value is None or isinstance(value, (celtypes.BoolType, bool)):
        return {None: "null", True: "true", False: "false"}[value if value is None else bool(value)]
    for kinds, write in _NOTATIONS:
        if isinstance(value, kinds):
            return write(value)
    return "a timestamp, duration or type"


def _double(value: float) -> str:
    return "NaN" if value != value else repr(float(value))  # noqa: PLR0124 — NaN alone differs


def _entries(value: dict[Any, Any]) -> str:
    entries = [f"{_written(representation.value_of(k))}: {_written(v)}" for k, v in value.items()]
    return f"{{{', '.join(sorted(entries))}}}"


# IntType and UintType are both Python ints, so the order counts.
_NOTATIONS: tuple[tuple[Any, Callable[[Any], str]], ...] = (
    ((celtypes.UintType, Uint), lambda value: f"{int(value)}u"),
    (int, lambda value: str(int(value))),
    (float, _double),
    (str, lambda value: json.dumps(str(value))),
    (bytes, lambda value: f"b{json.dumps(bytes(value).decode('latin-1'))}"),
    (list, lambda value: f"[{', '.join(map(_written, value))}]"),
    (dict, _entries),
)


@dataclass(frozen=True, slots=True)
class CoreCase:
    """An expression over `VARIABLES`."""

    tree: Tree

    @classmethod
    def generate(cls, random: Random) -> CoreCase:
        """Make a random case."""
        source = Expressions(random, _ROOTS, core=True)
        return cls(source.expression(random.choice(_RESULTS), random.choice((1, 2, 2, 3))))

    @property
    def expression(self) -> str:
        """Return the text."""
        return str(self.tree)

    def outcomes(self) -> tuple[str, str]:
        """Return the outcomes of dragoman and of cel-python."""
        return dragoman_outcome(self.expression), celpy_outcome(self.expression)

    def differs(self) -> bool:
        """Return whether the outcomes differ, other than in when a fault is found."""
        ours, theirs = self.outcomes()
        faults = (FAILURE, NO_PROGRAM)
        return ours != theirs and not (ours in faults and theirs in faults)

    def simpler(self) -> Iterator[CoreCase]:
        """Yield shorter cases, the shortest first."""
        for tree in sorted(self.tree.variants(), key=lambda tree: len(str(tree))):
            if len(str(tree)) < len(self.expression):
                yield CoreCase(tree)

    def shrunk(self) -> CoreCase:
        """Return a shorter case that still differs in the same way."""
        case, tried, fault = self, 0, self.outcomes()[0] == NO_PROGRAM
        while True:
            for simpler in case.simpler():
                tried += 1
                if tried > _SHRINKS:
                    return case
                if simpler.differs() and (simpler.outcomes()[0] == NO_PROGRAM) is fault:
                    case = simpler
                    break
            else:
                return case

"""Names that stand for types, and errors of a program that cannot be made."""

from typing import Final

from dragoman.cel.errors import CompileError, EvaluationError, OperationError
from dragoman.cel.library.conversions import type_named
from dragoman.cel.types import Type

_TYPES: Final = frozenset(
    ("bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint")
)


def instantiation_failure(error: EvaluationError) -> CompileError:
    """Return the error of a constant that cannot be converted."""
    return CompileError(f"program instantiation failed: {error.message}")


def undefined_type(name: str) -> CompileError:
    """Return the error of a type that the evaluator does not know."""
    return instantiation_failure(OperationError(f"reference to undefined type: {name}"))


def type_called(name: str) -> Type:
    """Return the type of a name: to cel-go a variable of type `type` is the type of its name."""
    if name not in _TYPES:
        raise undefined_type(name)
    return type_named(name)

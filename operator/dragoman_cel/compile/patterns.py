"""Constant patterns of `matches`, `find` and `findAll`: RE2 compiles each one only once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from dragoman_cel.errors import OperationError
from dragoman_cel.state import State, spend_steps
from dragoman_cel.types import Type
from dragoman_cel.values.regex import STEPS_PER_MATCH, Regex, compile_regex

PATTERN_FUNCTIONS = frozenset(("matches", "find", "findAll"))

_STEPS_MAX = 200_000
"""Plain steps that the compilation of all constant patterns of an expression may take."""
_SHORT = 256
"""Code points of a text that matches any pattern within the overhead of an evaluation."""


class Patterns:
    """The constant patterns of one expression, which share a limit of plain steps."""

    def __init__(self) -> None:
        self._steps = 0

    def function(self, name: str, pattern: str) -> Callable[..., Any]:
        """Return the implementation of a function for a constant pattern.

        Raises:
            OperationError: The pattern is invalid, or all patterns together are too large.
        """
        regex = compile_regex(pattern)
        self._steps += regex.steps
        if self._steps > _STEPS_MAX:
            raise OperationError(f"error parsing regexp: expression too large: `{pattern}`")
        method = {"matches": Regex.matches, "find": Regex.find}.get(name)

        def run(state: State, text: Any, _pattern: Any, *limit: Any) -> Any:
            if type(text) is Type:
                text = text.name  # cel-go expects a Go string, which a type also contains
            if type(text) is not str or (limit and type(limit[0]) is not int):
                raise OperationError("no such overload")
            if method is None:
                return regex.find_all(text, *limit, pay=partial(spend_steps, state))
            if len(text) > _SHORT or name == "find":
                spend_steps(state, STEPS_PER_MATCH + regex.match_steps(text))
            return method(regex, text)

        return run

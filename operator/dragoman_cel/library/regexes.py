"""`matches`, `find` and `findAll` with patterns that are computed at run time, on RE2."""

from functools import partial

from dragoman_cel.errors import OperationError
from dragoman_cel.state import Functions, State, spend_steps
from dragoman_cel.values.regex import Regex, compile_regex, failed_steps

_COMPILING = 2
"""Plain steps of one of a compilation: that is a microsecond, others take half of it."""
_CALL = 15
"""Plain steps of a compilation, however short the pattern is."""


def _compiled(state: State, pattern: str) -> Regex:
    """Compile a pattern and deduct plain steps for it, which CEL's cost does not count."""
    try:
        regex = compile_regex(pattern)
    except OperationError:
        spend_steps(state, failed_steps(pattern))
        raise
    spend_steps(state, _CALL + _COMPILING * regex.steps)
    return regex


def _matches(state: State, value: str, pattern: str) -> bool:
    regex = _compiled(state, pattern)
    spend_steps(state, regex.match_steps(value))
    return regex.matches(value)


def _find(state: State, value: str, pattern: str) -> str:
    regex = _searching(state, pattern)
    spend_steps(state, regex.match_steps(value))
    return regex.find(value)


def _find_all(state: State, value: str, pattern: str, limit: int = -1) -> list[str]:
    return _searching(state, pattern).find_all(value, limit, pay=partial(spend_steps, state))


def _searching(state: State, pattern: str) -> Regex:
    try:
        return _compiled(state, pattern)
    except OperationError as error:
        raise OperationError(f"Illegal regex: {error.message}") from None


STATEFUL: Functions = {
    "matches": _matches,
    "matches_string": _matches,
    "string_find_string": _find,
    "string_find_all_string": _find_all,
    "string_find_all_string_int": _find_all,
}

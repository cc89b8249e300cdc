"""The strings extension: searching, cutting, joining, quoting and formatting."""

from typing import Any

from dragoman_cel.data import Invalid
from dragoman_cel.errors import OperationError
from dragoman_cel.representation import LISTS, MAPS, type_name, value_of
from dragoman_cel.state import STEPS_PER_CONTAINER, Functions, State, spend_steps, spend_text_steps
from dragoman_cel.values import text
from dragoman_cel.values.formatting import format_string

_STEPS_PER_PART = 14
"""Plain steps of an element, key or value of a list or map in a text."""
_QUOTED_PER_STEP = 8
"""Code points that a plain step escapes."""
_PRINTED_PER_STEP = 128
"""Code points that a plain step writes."""


class _Entries(dict[Any, Any]):
    """A map for the formatter: bool keys as values, distinct from 0 and 1."""

    def items(self) -> Any:
        return [(value_of(key), value) for key, value in super().items()]


def _name(value: Any) -> str:
    return "map" if type(value) is _Entries else type_name(value)


def _printable(state: State, value: Any) -> Any:
    """Prepare a value for formatting; shared nested lists can print exponentially long texts."""
    if type(value) in LISTS:
        spend_steps(state, _STEPS_PER_PART * len(value) + STEPS_PER_CONTAINER)
        return [_printable(state, item) for item in value]
    if type(value) in MAPS:
        spend_steps(state, 2 * _STEPS_PER_PART * len(value) + STEPS_PER_CONTAINER)
        return _Entries((key, _printable(state, item)) for key, item in value.items())
    spend_text_steps(state, value, _QUOTED_PER_STEP)
    return value


def _format(state: State, template: str, args: list[Any]) -> str:
    # CEL's cost depends on the template's length, not on the formatted arguments.
    spend_steps(state, 2 * template.count("%"))
    made = format_string(template, _printable(state, args), _name)
    spend_steps(state, len(made) // _PRINTED_PER_STEP)
    return made


def _replace(state: State, value: str, old: str, new: str, limit: int = -1) -> str:
    made = text.replace(value, old, new, limit)
    spend_steps(state, 1 + len(made) // _PRINTED_PER_STEP)
    return made


def _join(state: State, parts: list[Any], separator: str = "") -> str:
    # CEL's cost depends on the result only: a list with an invalid element would cost nothing.
    spend_steps(state, len(parts))
    if parts and type(parts[0]) is not str:
        # The overload does not fit such a list; see Program.untyped.
        raise TypeError
    odd = next((part for part in parts if type(part) is not str), None)
    if type(odd) is Invalid:
        raise OperationError(f"join: invalid input: {odd.error}")
    return text.join(parts, separator)


OVERLOADS: Functions = {
    "contains_string": lambda value, part: part in value,
    "starts_with_string": str.startswith,
    "ends_with_string": str.endswith,
    "string_char_at_int": text.char_at,
    "string_index_of_string": text.index_of,
    "string_index_of_string_int": text.index_of,
    "string_last_index_of_string": text.last_index_of,
    "string_last_index_of_string_int": text.last_index_of,
    "string_lower_ascii": text.lower_ascii,
    "string_upper_ascii": text.upper_ascii,
    "string_trim": text.trim,
    "string_substring_int": text.substring,
    "string_substring_int_int": text.substring,
    "string_split_string": text.split,
    "string_split_string_int": text.split,
    "strings_quote": text.quote,
}
STATEFUL: Functions = {
    "string_replace_string_string": _replace,
    "string_replace_string_string_int": _replace,
    "list_join": _join,
    "list_join_string": _join,
    "string_format": _format,
}

"""`string.format`: clauses %s %d %f %e %b %x %X %o, a precision, and %% for itself."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from dragoman_cel.errors import OperationError
from dragoman_cel.values.durations import Duration
from dragoman_cel.values.quoting import quoted
from dragoman_cel.values.text import bounded, format_double
from dragoman_cel.values.timestamps import Timestamp

TypeName = Callable[[object], str]
"""Returns the CEL type of a value, such as `int` or `kubernetes.Quantity`."""

_CLAUSE = re.compile(r"(?:\.([0-9]*))?(.)?", re.ASCII | re.DOTALL)
_PRECISION = 6
_TIMES_TEN = "\u00d710"
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_NUMBERS_AS_TEXT = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "-Infinity": -math.inf,
}

MISMATCHES = {
    "s": (
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
        "types, durations, and timestamps"
    ),
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}
"""The error of a clause for an argument of the wrong type, without `, was given <type>`."""


class Clause(NamedTuple):
    """One clause of a format string."""

    letter: str  # One of `s d f e b x X o`
    precision: int | None  # Digits behind the point, None when not given

    @property
    def mismatch(self) -> str:
        """Return the start of the error for an argument of the wrong type."""
        return MISMATCHES[self.letter.lower()]


def parse_format(template: str, size: int, visit: Callable[[int, Clause], str]) -> str:
    """Return a format string with every clause replaced by the result of `visit(index, clause)`.

    Args:
        template: The format string.
        size: Number of arguments.
        visit: Called for each clause in order; it raises for an argument of the wrong type.

    Raises:
        OperationError: A malformed clause, or one without argument, with cel-go's text.
    """
    built: list[str] = []
    position = index = length = 0
    while (percent := template.find("%", position)) >= 0:
        built.append(template[position:percent])
        if template.startswith("%%", percent):
            built.append("%")
            position = percent + 2
        else:
            if index >= size:
                raise OperationError(f"index {index} out of range")
            clause, position = _clause(template, percent + 1)
            try:
                built.append(visit(index, clause))
            except OperationError as error:
                raise OperationError(f"error during formatting: {error.message}") from None
            index += 1
        length += len(built[-1])
        bounded(length)
    built.append(template[position:])
    return "".join(built)


def format_string(template: str, arguments: Sequence[object], type_name: TypeName) -> str:
    """Format with values.

    Raises:
        OperationError: A malformed clause or an argument of the wrong type, with cel-go's text.
    """

    def visit(index: int, clause: Clause) -> str:
        return _formatted(clause, arguments[index], type_name)

    return parse_format(template, len(arguments), visit)


def _clause(template: str, position: int) -> tuple[Clause, int]:
    if position >= len(template):
        raise OperationError("unexpected end of string")
    match = _CLAUSE.match(template, position)
    assert match is not None  # all parts of the pattern are optional
    digits, letter = match.groups()
    if letter is None:
        raise _malformed("error while parsing precision: could not find end of precision specifier")
    precision = None if digits is None else _precision(digits)
    if letter not in "sdfebxXo":
        # Go reads bytes: its text has the first byte of a longer character.
        raise _malformed(f'unrecognized formatting clause "{chr(letter.encode()[0])}"')
    return Clause(letter, precision), match.end()


def _precision(digits: str) -> int:
    digits_kept = digits.lstrip("0") or digits[:1]
    reason = "invalid syntax" if not digits else "value out of range"
    if not digits or len(digits_kept) > 18:
        raise _malformed(
            "error while parsing precision: error while converting precision to integer: "
            f"strconv.Atoi: parsing {quoted(digits)}: {reason}"
        )
    return int(digits_kept)


def _malformed(reason: str) -> OperationError:
    return OperationError(f"could not parse formatting clause: {reason}")


def _formatted(clause: Clause, value: object, type_name: TypeName) -> str:
    text: str | None
    match clause.letter:
        case "s":
            text = _string(value, type_name)
        case "d" | "o":
            text = _radix(value, clause.letter)
        case "f":
            text = _on_double(_fixed, value, clause.precision)
        case "e":
            text = _on_double(_scientific, value, clause.precision)
        case "b":
            text = _radix(value, "b") if not isinstance(value, bool) else str(int(value))
        case _:
            text = _hex(value, clause.letter)
    if text is None:
        raise OperationError(f"{clause.mismatch}, was given {type_name(value)}")
    return text


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _radix(value: object, letter: str) -> str | None:
    return format(value, letter) if _is_integer(value) else None


def _hex(value: object, letter: str) -> str | None:
    if isinstance(value, str):
        value = value.encode(errors="replace")
    text = value.hex() if isinstance(value, bytes) else _radix(value, "x")
    return text.upper() if text is not None and letter == "X" else text


def _on_double(
    write: Callable[[float, int], str], value: object, precision: int | None
) -> str | None:
    if isinstance(value, str):
        value = _NUMBERS_AS_TEXT.get(value)
    if not isinstance(value, float):
        return None
    number = _PRECISION if precision is None else precision
    bounded(number)
    return write(value, number)


def _fixed(value: float, places: int) -> str:
    return f"{value:,.{places}f}" if math.isfinite(value) else _not_finite(value)


def _scientific(value: float, width: int) -> str:
    """Write six decimals always: cel-go passes the clause's precision as the width."""
    if not math.isfinite(value):
        return _not_finite(value).rjust(width)
    mantissa, _, exponent = f"{value:.{_PRECISION}e}".partition("e")
    sign = "⁻" if exponent[0] == "-" else ""
    return f"{mantissa}{_TIMES_TEN}{sign}{exponent[1:].translate(_SUPERSCRIPT)}".rjust(width)


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "∞" if value > 0 else "-∞"


def _string(value: object, type_name: TypeName) -> str | None:
    if value is None:
        return "null"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Timestamp | Duration):
        return str(value)
    if isinstance(value, float):
        return format_double(value)
    if isinstance(value, bytes):
        return _decoded(value)
    if isinstance(value, Mapping):
        return _map(value, type_name)
    if isinstance(value, Sequence):
        return f"[{_joined(_element(item, type_name) for item in value)}]"
    return str(value) if type_name(value) == "type" else None


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise OperationError(
            'could not convert argument "invalid UTF-8 in bytes, cannot convert to string" '
            "to string"
        ) from None


def _map(value: Mapping[object, object], type_name: TypeName) -> str:
    entries: list[tuple[str, str]] = []
    length = 0
    for key, item in value.items():
        entries.append((_key(key, type_name), _element(item, type_name)))
        length += len(entries[-1][0]) + len(entries[-1][1])
        bounded(length)
    return "{" + ", ".join(f"{key}:{item}" for key, item in sorted(entries)) + "}"


def _joined(elements: Iterable[str]) -> str:
    """Join the elements of a list, many of which can be the same long text."""
    built: list[str] = []
    length = 0
    for element in elements:
        built.append(element)
        length += len(element)
        bounded(length)
    return ", ".join(built)


def _key(key: object, type_name: TypeName) -> str:
    if isinstance(key, str | bool | int):
        return _element(key, type_name)
    raise OperationError(f"no formatting function for map key of type {type_name(key)}")


def _element(value: object, type_name: TypeName) -> str:
    """Write a value inside of a list or map, similar to a CEL literal, as cel-go does."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, float):
        return f"{value:.6f}" if math.isfinite(value) else f'"{format_double(value)}"'
    if isinstance(value, Timestamp):
        return f'timestamp("{value}")'
    if isinstance(value, Duration):
        return f'duration("{value}")'
    text = _string(value, type_name)
    if text is None:
        raise OperationError(f"no formatting function for {type_name(value)}")
    return "b" + quoted(text) if isinstance(value, bytes) else text

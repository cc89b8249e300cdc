"""`bool int uint double string bytes timestamp duration dyn type` of a value."""

import math
import re
from functools import cache
from typing import Any

from dragoman_cel.errors import OperationError
from dragoman_cel.representation import type_name
from dragoman_cel.state import Functions, paced
from dragoman_cel.types import Kind, Type
from dragoman_cel.values.durations import Duration, parse_duration
from dragoman_cel.values.scalars import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Uint,
    checked_int,
    checked_uint,
)
from dragoman_cel.values.text import format_double
from dragoman_cel.values.timestamps import parse_timestamp, timestamp_from_seconds

_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}
_SIGNED = re.compile(r"[+-]?[0-9]{1,400}", re.ASCII)
_UNSIGNED = re.compile(r"[0-9]{1,400}", re.ASCII)
_DECIMAL = re.compile(
    r"[+-]?(?:(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?|inf|infinity|nan)",
    re.ASCII | re.IGNORECASE,
)
_HEXADECIMAL = re.compile(
    r"[+-]?0x[0-9a-f]*+(?:\.[0-9a-f]*+)?p[+-]?[0-9]++", re.ASCII | re.IGNORECASE
)


def _failure(source: str, target: str) -> OperationError:
    return OperationError(f"type conversion error from '{source}' to '{target}'")


def _bool_of_text(text: str) -> bool:
    if text not in _BOOLS:
        raise _failure("string", "bool")
    return _BOOLS[text]


def _int_of_text(text: str) -> int:
    if _SIGNED.fullmatch(text) and INT_MIN <= (number := int(text)) <= INT_MAX:
        return number
    raise _failure("string", "int")


def _int_of_double(number: float) -> int:
    if math.isnan(number) or number <= INT_MIN or number >= INT_MAX:
        raise OperationError("integer overflow")
    return int(number)


def _uint_of_text(text: str) -> Uint:
    if _UNSIGNED.fullmatch(text) and (number := int(text)) <= UINT_MAX:
        return Uint(number)
    raise _failure("string", "uint")


def _uint_of_double(number: float) -> Uint:
    if math.isnan(number) or number < 0 or number >= UINT_MAX:
        raise OperationError("unsigned integer overflow")
    return Uint(number)


def _double_of_text(text: str) -> float:
    if _DECIMAL.fullmatch(text):
        number = float(text)
        if math.isfinite(number) or text.lstrip("+-").lower() in ("inf", "infinity", "nan"):
            return number
    elif _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text)
        except (ValueError, OverflowError):
            pass
    raise _failure("string", "double")


def _text_of_bytes(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        text = "invalid UTF-8 in bytes, cannot convert to string"
        raise OperationError(text) from None


def _duration_of_int(_: int) -> Duration:
    raise _failure("int", "google.protobuf.Duration")


@cache
def type_named(name: str) -> Type:
    """Return the type of that name as a value."""
    return Type(Kind.TYPE, name)


def type_value(value: Any) -> Type:
    """Return the type of a value as a value."""
    return type_named(type_name(value))


def _same(value: Any) -> Any:
    if value is None:
        # The checker accepts null for some types; see Program.untyped.
        raise TypeError
    return value


def _shown(value: Any) -> str:
    return str(_same(value))


OVERLOADS: Functions = {
    "bool_to_bool": _same,
    "string_to_bool": _bool_of_text,
    "int64_to_int64": _same,
    "double_to_int64": _int_of_double,
    "duration_to_int64": lambda value: value.nanos,
    "string_to_int64": _int_of_text,
    "timestamp_to_int64": lambda value: value.seconds,
    "uint64_to_int64": lambda number: checked_int(int(number)),
    "uint64_to_uint64": _same,
    "double_to_uint64": _uint_of_double,
    "int64_to_uint64": checked_uint,
    "string_to_uint64": _uint_of_text,
    "double_to_double": _same,
    "int64_to_double": float,
    "uint64_to_double": float,
    "string_to_string": _same,
    "bool_to_string": lambda value: "true" if value else "false",
    "bytes_to_string": _text_of_bytes,
    "double_to_string": format_double,
    "int64_to_string": _shown,
    "uint64_to_string": _shown,
    "bytes_to_bytes": _same,
    "string_to_bytes": lambda text: text.encode(errors="replace"),
    "timestamp_to_timestamp": _same,
    "int64_to_timestamp": timestamp_from_seconds,
    "duration_to_duration": _same,
    "int64_to_duration": _duration_of_int,
    "to_dyn": lambda value: value,
    "type": type_value,
}
STATEFUL: Functions = {
    **paced(1, {"duration_to_string": _shown, "timestamp_to_string": _shown}, call=5),
    **paced(1, {"ip_to_string": _shown, "cidr_to_string": _shown}, call=8),
    **paced(64, {"string_to_double": _double_of_text}),
    **paced(64, {"string_to_timestamp": parse_timestamp}, call=4),
    **paced(1, {"string_to_duration": parse_duration}, call=2),
}

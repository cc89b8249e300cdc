"""From JSON data to CEL values, guided by a structural schema.

Data that does not fit the schema becomes `Invalid`: only expressions that read it fail.
Source: apiserver pkg/cel/common/valuesunstructured.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from dragoman_cel.data import DataList, DataMap, Invalid, MapList, Record, SetList
from dragoman_cel.errors import OperationError
from dragoman_cel.rules.shapes import Schema, Shapes, escape, is_embedded, with_meta
from dragoman_cel.syntax.tokens import RESERVED
from dragoman_cel.values.base64 import decode_base64
from dragoman_cel.values.dates import parse_date, parse_date_time
from dragoman_cel.values.durations import Duration, parse_duration
from dragoman_cel.values.scalars import INT_MAX, wrap_int64

_GO_NAMES = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    type(None): "<nil>",
}


class Converter:
    """Converts values of one schema, each part once."""

    def __init__(self, schema: Schema, convert: _Convert) -> None:
        self._schema = schema
        self._nullable = bool(schema.get("nullable"))
        self._convert = convert

    def __call__(self, value: Any, known: Known) -> Any:
        """Return the CEL value of JSON data.

        Args:
            value: Data as `json.loads` returns it.
            known: The caller's cache of converted parts, for one validation.
        """
        if value is None:
            if self._nullable:
                return None
            return Invalid("invalid data, got null for schema with nullable=false")
        if not isinstance(value, (dict, list)):
            return self._convert(value, known)
        key = (id(self._schema), id(value))
        if key not in known:
            known[key] = self._convert(value, known)
        return known[key]


Known = dict[tuple[int, int], Any]
Fields = dict[str, tuple[tuple[str, ...], Converter]]
"""By name of a property: its name in expressions and its converter."""

_Convert = Callable[[Any, Known], Any]


class Converters:
    """Builds the converters of the parts of one schema, each once."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
        self._made: dict[int, tuple[Schema, Converter]] = {}

    def of(self, schema: Schema) -> Converter:
        """Return the converter of a schema."""
        if id(schema) not in self._made:
            self._made[id(schema)] = schema, Converter(schema, self._convert(schema))
        return self._made[id(schema)][1]

    def _convert(self, schema: Schema) -> _Convert:
        if schema.get("x-kubernetes-int-or-string"):
            return _int_or_string
        kind = schema.get("type", "")
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return self._array(schema)
        if kind == "string":
            return _TEXTS.get(schema.get("format", ""), _string)
        known = _SCALARS.get(kind)
        if known is not None:
            return known
        return lambda *_: Invalid(f"invalid type, got {kind}")

    def _array(self, schema: Schema) -> _Convert:
        items = schema.get("items")
        if not isinstance(items, Mapping):
            text = "invalid array type, expected Items with a non-empty Schema"
            return lambda *_: Invalid(text)
        keys = schema.get("x-kubernetes-list-map-keys") or ()
        names = tuple(escape(name) or name for name in keys)
        return _list(self.of(items), schema.get("x-kubernetes-list-type"), names)

    def _object(self, schema: Schema) -> _Convert:
        values = schema.get("additionalProperties")
        embedded = is_embedded(schema)
        if isinstance(values, Mapping) and not embedded and schema.get("properties") is None:
            return _map(self.of(values))
        fields: Fields = {}
        whole = with_meta(schema) if embedded else schema
        for name, part in (whole.get("properties") or {}).items():
            escaped = escape(name)
            if escaped is not None and self._shapes.of_part(part) is not None:
                names = (escaped, name) if name in RESERVED else (escaped,)
                fields[name] = names, self.of(part)
        return _record(fields)


def _wrong(expected: str, value: Any) -> Invalid:
    return Invalid(f"invalid data, expected {expected}, got {_GO_NAMES.get(type(value), 'any')}")


def _int_or_string(value: Any, _: Known) -> Any:
    if type(value) in (str, int):
        return value
    text = "invalid data, expected XIntOrString value to be either a string or integer"
    return Invalid(text)


def _number(value: Any, _: Known) -> Any:
    return float(value) if type(value) in (int, float) else _wrong("float", value)


def _exactly(kind: type, name: str) -> _Convert:
    return lambda value, _: value if type(value) is kind else _wrong(name, value)


_string = _exactly(str, "string")
_SCALARS: dict[str, _Convert] = {
    "number": _number,
    "integer": _exactly(int, "int"),
    "boolean": _exactly(bool, "bool"),
}


def _formatted(read: Callable[[str], Any], name: str) -> _Convert:
    def convert(value: Any, _: Known) -> Any:
        if type(value) is not str:
            return _wrong("string", value)
        try:
            return read(value)
        except OperationError as error:
            return Invalid(f"Invalid {name} {value}: {error.message}")

    return convert


_UNIT = re.compile(r"(?<![0-9])([0-9]++)[\t\n\f\r ]*+([A-Za-zµ]+)")
_NANOS = (
    (("ns",), "nano", 1),
    (("us", "µs"), "micro", 1_000),
    (("ms",), "milli", 1_000_000),
    (("s",), "sec", 1_000_000_000),
    (("m",), "min", 60_000_000_000),
    (("h", "hr"), "hour", 3_600_000_000_000),
    (("d",), "day", 86_400_000_000_000),
    (("w", "wk"), "week", 604_800_000_000_000),
)


def _duration(text: str) -> Duration:
    """Parse Go's durations, and those of OpenAPI such as `2 days`."""
    try:
        return parse_duration(text)
    except OperationError:
        pass
    nanos, found = 0, False
    for digits, unit in _UNIT.findall(text):
        count = int(digits.lstrip("0")[:20] or "0")
        if count > INT_MAX:
            raise OperationError(f'strconv.Atoi: parsing "{digits}": value out of range')
        for short, long, size in _NANOS:
            if unit.lower() in short or unit.lower().startswith(long):
                nanos, found = nanos + count * size, True
    if not found:
        raise OperationError(f"unable to parse {text} as duration")
    return Duration(wrap_int64(nanos))


_TEXTS: dict[str, _Convert] = {
    "duration": _formatted(_duration, "duration"),
    "date": _formatted(parse_date, "date formatted string"),
    "date-time": _formatted(parse_date_time, "date-time formatted string"),
    "byte": _formatted(decode_base64, "byte formatted string"),
}


def _list(convert: Converter, kind: str | None, keys: tuple[str, ...]) -> _Convert:
    def array(value: Any, known: Known) -> Any:
        if type(value) is not list:
            text = "invalid data, expected an array for the provided schema with type=array"
            return Invalid(text)
        converted = [convert(item, known) for item in value]
        if kind == "set":
            return SetList(converted)
        return MapList(converted, keys) if kind == "map" else DataList(converted)

    return array


_NO_OBJECT = "invalid data, expected a map for the provided schema with type=object"


def _map(convert: Converter) -> _Convert:
    def mapping(value: Any, known: Known) -> Any:
        if type(value) is not dict:
            return Invalid(_NO_OBJECT)
        return DataMap((key, convert(item, known)) for key, item in value.items())

    return mapping


def _record(fields: Fields) -> _Convert:
    def record(value: Any, known: Known) -> Any:
        if type(value) is not dict:
            return Invalid(_NO_OBJECT)
        seen: dict[str, Any] = {}
        hidden = []
        for name, item in value.items():
            field = fields.get(name)
            if field is None:
                hidden.append(name)
            elif item is not None:  # a null field counts as absent
                converted = field[1](item, known)
                seen.update(dict.fromkeys(field[0], converted))
        return Record(seen, value, hidden)

    return record

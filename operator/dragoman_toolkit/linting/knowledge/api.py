"""The API that a Kubernetes version serves: kinds, fields and types.

The facts in `data/` come from the OpenAPI of Kubernetes; `docs/generate_api_schemas.py` writes
them. A walk over the schema settles whether a value fits, which nearly every value does;
`jsonschema` says what is wrong with the others.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dragoman_base.versions import NEWEST, OLDEST, Version
from dragoman_base.versions import name as version_name

_AGES = ("v1", "v1beta2", "v1beta1", "v1alpha3", "v1alpha2")
_DEFINITIONS = "#/definitions/"
_TIME = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?"
    r"([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
_QUANTITY = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?", re.ASCII
)
QUANTITY_WORDS = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
"""The API server's words; `1 GB` and `1GB` match them no more than its decoder."""

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that the decoder of the API refuses."""

    steps: tuple[str | int, ...]  # Path of the value
    keyword: str  # What it violates: `type`, `enum`, `format`, `range` or `unknown`
    value: Any  # The value; for `unknown` the field's name
    expected: tuple[str, ...]  # Types, values, the format, or the known names


@dataclass(frozen=True, slots=True)
class ServedApi:
    """What one Kubernetes version serves."""

    version: Version  # Such as (1, 36)
    kinds: Mapping[str, str]  # Definition by `apiVersion/kind`
    definitions: Mapping[str, Schema]  # Schemas by name

    def schema(self, api_version: str, kind: str) -> Schema | None:
        """Return the schema of a kind; None where it is not served or not known here."""
        name = self.kinds.get(f"{api_version}/{kind}")
        return self.definitions[name] if name else None

    def newest(self, group: str, kind: str) -> str:
        """Return the newest version of a kind that is served, such as `v1`; empty without one."""
        return next((age for age in _AGES if f"{group}/{age}/{kind}" in self.kinds), "")

    def kinds_of(self, group: str) -> tuple[str, ...]:
        """Return the kinds of a group in all its versions."""
        found = (name.split("/") for name in self.kinds)
        return tuple(sorted({parts[-1] for parts in found if "/".join(parts[:-2]) == group}))

    def names(self, schema: Schema) -> tuple[str, ...]:
        """Return the fields of an object's schema."""
        return tuple(self.resolved(schema).get("properties", ()))

    def resolved(self, schema: Schema) -> Schema:
        """Follow references."""
        while "$ref" in schema:
            schema = self.definitions[schema["$ref"].removeprefix(_DEFINITIONS)]
        return schema

    def fits(self, schema: Schema, value: Any) -> bool:
        """Tell whether the decoder takes a value; null is an absent value."""
        if value is None:
            return True
        schema = self.resolved(schema)
        kind = schema.get("type")
        if kind is not None and not _TYPES[kind](value):
            return False
        if kind == "object":
            return self._members_fit(schema, value)
        if kind == "array":
            items = schema.get("items", {})
            return all(self.fits(items, item) for item in value)
        if "enum" in schema and value not in schema["enum"]:
            return False
        if "format" in schema:
            return bool(_FORMATS[schema["format"]](value))
        return "minimum" not in schema or schema["minimum"] <= value <= schema["maximum"]

    def _members_fit(self, schema: Schema, value: dict[str, Any]) -> bool:
        properties = schema.get("properties", {})
        rest = schema.get("additionalProperties", {})
        for name, member in value.items():
            known = properties.get(name, rest)
            if known is False or not self.fits(known, member):
                return False
        return True

    def misfits(self, schema: Schema, value: Any) -> Iterator[Misfit]:
        """Yield what the decoder refuses of a value, in no particular order."""
        if self.fits(schema, value):
            return
        for error in _validator({**schema, "definitions": self.definitions}).iter_errors(value):
            yield from _misfits(error)


def is_older(version: str, other: str) -> bool:
    """Whether an API version is older than another; an unknown one is older than all."""
    ages = (*_AGES, version)
    return ages.index(version) > ages.index(other)


def api_of(version: Version) -> ServedApi:
    """Return the API of a version; of the oldest or newest known one for one beyond them."""
    return _load(min(max(version, OLDEST), NEWEST))


@cache
def _load(version: Version) -> ServedApi:
    name = f"openapi-{version_name(version)}.json"
    folder = Path(__file__).parent / "data"
    found = json.loads((folder / name).read_text(encoding="utf-8"))
    return ServedApi(version, found["kinds"], found["definitions"])


def _is_integer(value: Any) -> bool:
    # A decoder takes `2.0` of YAML, which becomes 2 on its way to JSON.
    return (type(value) is int) or (type(value) is float and value.is_integer())


def _is_time(value: Any) -> bool:
    return not isinstance(value, str) or value == "" or _TIME.fullmatch(value) is not None


def is_quantity(value: Any) -> bool:
    """Tell whether the API's quantity decoder takes a value."""
    if isinstance(value, str):
        return len(value) <= 128 and _QUANTITY.fullmatch(value) is not None
    return type(value) in (int, float)


_TYPES: dict[str, Any] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "number": lambda value: type(value) in (int, float),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}
_FORMATS: dict[str, Any] = {"quantity": is_quantity, "date-time": _is_time}


def _validator(schema: Schema) -> Any:
    kind, formats = _validator_kind()
    return kind(schema, format_checker=formats)


@cache
def _validator_kind() -> tuple[Any, Any]:
    import jsonschema  # noqa: PLC0415 — a tenth of a second, and only for objects that do not fit

    formats = jsonschema.FormatChecker(())
    for name, test in _FORMATS.items():
        formats.checks(name)(lambda value, test=test: value is None or test(value))

    def known_type(_: Any, kind: Any, value: Any, __: Any) -> Iterator[Any]:
        if value is not None and not _TYPES[kind](value):
            yield jsonschema.ValidationError("wrong type")

    def enum(_: Any, values: Any, value: Any, __: Any) -> Iterator[Any]:
        if value is not None and value not in values:
            yield jsonschema.ValidationError("not supported")

    extend: Any = jsonschema.validators.extend
    return extend(jsonschema.Draft7Validator, {"enum": enum, "type": known_type}), formats


def _misfits(error: Any) -> Iterator[Misfit]:
    steps = tuple(error.absolute_path)
    keyword, value = str(error.validator), error.instance
    if keyword == "additionalProperties":
        known = tuple(error.schema.get("properties", ()))
        for name in value:
            if name not in known:
                yield Misfit((*steps, name), "unknown", name, known)
    elif keyword in ("minimum", "maximum"):
        low, high = error.schema["minimum"], error.schema["maximum"]
        yield Misfit(steps, "range", value, (str(low), str(high)))
    elif keyword == "enum":
        yield Misfit(steps, keyword, value, tuple(one for one in error.validator_value if one))
    else:
        yield Misfit(steps, keyword, value, (str(error.validator_value),))

"""Shapes: the CEL type of a structural schema, and the declared sizes for cost estimates.

Source: apiserver pkg/cel/common/schemas.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman_cel import types
from dragoman_cel.estimate import Path
from dragoman_cel.syntax.tokens import RESERVED
from dragoman_cel.types import Kind, Type

Schema = Mapping[str, Any]
"""An OpenAPI v3 structural schema as JSON."""

REQUEST_SIZE = 3 * 1024 * 1024
"""Bytes of the largest request the API server accepts."""

_LONGEST_TEXT = REQUEST_SIZE - 2
_LONGEST_TIME = 32
_LONGEST_DATE = 12
_META: Schema = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}},
}


@dataclass(frozen=True, slots=True)
class Shape:
    """A declared type."""

    type: Type  # The CEL type of a scalar; of containers only its kind counts
    most: int = 0  # Maximum size, 0 for values whose size is always 1
    least_bytes: int = 0  # Minimum size of the value in JSON
    # Shapes of an object's fields, by escaped name
    fields: Mapping[str, Shape] = field(default_factory=dict)
    element: Shape | None = None  # Shape of the elements of a list or map


_OBJECT = types.struct("object")
_KEY = Shape(types.STRING, least_bytes=2)


def with_meta(schema: Schema) -> Schema:
    """Return the schema of a resource with the fields every resource has."""
    properties = schema.get("properties") or {}
    meta = (properties.get("metadata") or {}).get("properties") or {}
    known = all(_is_text(properties.get(name)) for name in ("apiVersion", "kind"))
    if known and all(_is_text(meta.get(name)) for name in ("name", "generateName")):
        return schema
    text: Schema = {"type": "string"}
    return {
        **schema,
        "properties": {**properties, "apiVersion": text, "kind": text, "metadata": _META},
    }


def _is_text(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "string"


def is_embedded(schema: Schema) -> bool:
    """Return whether a schema describes a whole resource inside of another."""
    return bool(schema.get("x-kubernetes-embedded-resource"))


def depth_of(schema: Schema) -> int:
    """Return the number of levels of a schema, without recursion."""
    level: list[Schema] = [schema]
    depth = 0
    while level:
        depth += 1
        parts = [part for one in level for part in (one.get("properties") or {}).values()]
        parts += [one.get(name) for one in level for name in _NESTING]
        parts += [part for one in level for part in one.get("allOf") or ()]
        level = [part for part in parts if isinstance(part, Mapping)]
    return depth


_NESTING = ("items", "additionalProperties")


class Shapes:
    """The shapes of the parts of one schema, each computed once."""

    def __init__(self) -> None:
        # The reference to the schema keeps its id valid as a key.
        self._made: dict[tuple[int, bool], tuple[Schema, Shape | None]] = {}

    def of(self, schema: Schema, *, root: bool = False) -> Shape | None:
        """Return the shape of a schema, None if CEL cannot represent its values.

        Args:
            schema: A structural schema.
            root: Whether it describes a whole resource.
        """
        key = (id(schema), root)
        if key not in self._made:
            self._made[key] = schema, self._make(schema, root=root)
        return self._made[key][1]

    def of_part(self, schema: Schema) -> Shape | None:
        """Return the shape of a schema within another."""
        return self.of(schema, root=is_embedded(schema))

    def _make(self, schema: Schema, *, root: bool) -> Shape | None:
        if schema.get("x-kubernetes-int-or-string"):
            length = schema.get("maxLength")
            return Shape(types.DYN, _LONGEST_TEXT if length is None else max(length, 0) * 4, 1)
        if root:
            schema = with_meta(schema)
        kind = schema.get("type", "")
        if kind == "object":
            return self._object(schema)
        if kind == "array":
            return self._list(schema)
        return _string(schema) if kind == "string" else _SCALARS.get(kind)

    def _list(self, schema: Schema) -> Shape | None:
        items = schema.get("items")
        element = self.of_part(items) if isinstance(items, Mapping) else None
        if element is None:
            return None
        most = schema.get("maxItems")
        if most is None:
            most = (REQUEST_SIZE - 2) // (element.least_bytes + 1)
        return Shape(types.list_of(types.DYN), max(most, 0), 2, element=element)

    def _object(self, schema: Schema) -> Shape | None:
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping):
            return self._map(schema, values)
        required = set(schema.get("required") or ())
        fields: dict[str, Shape] = {}
        least = 2
        for name, part in (schema.get("properties") or {}).items():
            shape = self.of_part(part)
            if shape is None:
                continue
            escaped = escape(name)
            if escaped is not None:
                fields[escaped] = shape
            if name in required and part.get("default") is None:
                least += len(name.encode()) + shape.least_bytes + 4
        return Shape(_OBJECT, 0, least, fields)

    def _map(self, schema: Schema, values: Schema) -> Shape | None:
        element = self.of_part(values)
        if element is None:
            return None
        most = schema.get("maxProperties")
        if most is None:
            most = (REQUEST_SIZE - 2) // (element.least_bytes + 6)
        return Shape(types.map_of(types.STRING, types.DYN), max(most, 0), 2, element=element)


def _string(schema: Schema) -> Shape:
    length, form = schema.get("maxLength"), schema.get("format")
    if form == "byte":
        return Shape(types.BYTES, _LONGEST_TEXT if length is None else max(length, 0), 2)
    if form in _TIMES:
        return _TIMES[form]
    if length is not None:
        return Shape(types.STRING, max(length, 0) * 4, 2)
    enum = schema.get("enum") or ()
    if enum:
        longest = max((len(value.encode()) for value in enum if isinstance(value, str)), default=0)
        return Shape(types.STRING, longest, 2)
    return Shape(types.STRING, _LONGEST_TEXT, 2)


_TIMES = {
    "duration": Shape(types.DURATION, _LONGEST_TIME, 3),
    "date": Shape(types.TIMESTAMP, _LONGEST_DATE, _LONGEST_DATE),
    "date-time": Shape(types.TIMESTAMP, _LONGEST_TIME, 21),
}
_SCALARS = {
    "boolean": Shape(types.BOOL, 0, 4),
    "number": Shape(types.DOUBLE, 0, 1),
    "integer": Shape(types.INT, 0, 1),
}


def declared_type(shape: Shape, name: str, structs: dict[str, Mapping[str, Type]]) -> Type:
    """Return the CEL type of a shape; collect its object types, named after their place.

    Args:
        shape: What to declare.
        name: Name of the type if it is an object.
        structs: Receives the fields of every object type.
    """
    kind = shape.type.kind
    if kind is Kind.STRUCT:
        fields = {
            field_name: declared_type(part, f"{name}.{field_name}", structs)
            for field_name, part in shape.fields.items()
        }
        # cel-go accepts these reserved words as names behind a dot, so they also work unescaped.
        plain = {word: fields[f"__{word}__"] for word in RESERVED if f"__{word}__" in fields}
        structs[name] = {**plain, **fields}
        return types.struct(name)
    if shape.element is None:
        return shape.type
    if kind is Kind.LIST:
        return types.list_of(declared_type(shape.element, f"{name}.@idx", structs))
    return types.map_of(types.STRING, declared_type(shape.element, f"{name}.@elem", structs))


def size_of(shape: Shape, path: Path) -> int | None:
    """Return the maximum size at a path from a shape, None for an unknown path."""
    current: Shape | None = shape
    for name in path:
        assert current is not None
        if name in ("@items", "@values"):
            current = current.element
        elif name == "@keys":
            current = _KEY if current.type.kind is Kind.MAP else None
        else:
            current = current.fields.get(name)
        if current is None:
            return None
    assert current is not None
    return current.most


_ACCESSIBLE = re.compile(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*", re.ASCII)
_ESCAPED = re.compile(r"__|[.\-/]")
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escape(name: str) -> str | None:
    """Return the identifier of a property, None if CEL cannot name it."""
    if name in RESERVED:
        return f"__{name}__"
    if not _ACCESSIBLE.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)

"""Field paths: `spec.ports[0].name` of an error, and the relative `fieldPath` of a rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]']+|'", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'",
    "\\": "\\",
}  # fmt: skip


class PathError(ValueError):
    """A `fieldPath` that names no field of the schema."""


def child(path: str, name: str) -> str:
    """Return the path of an object's field."""
    return f"{path}.{name}" if path else name


def element(path: str, key: object) -> str:
    """Return the path of an element of a list or map."""
    return f"{path}[{key}]"


def normalized(text: str, schema: Mapping[str, Any]) -> str:
    """Return a rule's `fieldPath` in the form that follows the path of its object.

    Args:
        text: Such as `.sharing.strategy` or `.labels['k']`.
        schema: The schema of the rule.

    Raises:
        PathError: The schema has no such field.
    """
    path = ""
    for name in _names(text):
        properties, values = schema.get("properties"), schema.get("additionalProperties")
        if properties is not None:
            if name not in properties:
                raise PathError("does not refer to a valid field")
            path, schema = child(path, name), properties[name]
        elif isinstance(values, Mapping):
            path, schema = element(path, name), values
        else:
            raise PathError("does not refer to a valid field")
    return path


def _names(text: str) -> Iterator[str]:
    # One part at a time: an unclosed quote ends the search at the first part.
    tokens = (match[0] for match in _TOKEN.finditer(text))
    for part in tokens:
        if part == ".":
            yield _next(tokens)
        elif part == "[":
            yield _unquoted(_next(tokens))
            if _next(tokens) != "]":
                raise PathError("expected ]")
        else:
            raise PathError(f"expected [ or . but got: {part}")


def _next(tokens: Iterator[str]) -> str:
    part = next(tokens, None)
    if part is None:
        raise PathError("unexpected end of JSON path")
    return part


def _unquoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise PathError(f"expected single quoted string but got {token}")

    def character(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPES:
            raise PathError(f"invalid escape char {match[0]}")
        return _ESCAPES[match[1]]

    return _ESCAPE.sub(character, token[1:-1])

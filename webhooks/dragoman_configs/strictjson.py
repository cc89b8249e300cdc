"""Parse JSON and keep what drivers' strict decoders distinguish.

Python's parsers silently keep the last of two equal keys. Here such an object becomes
`DuplicateKeys`, and a number written `1.0` or `1e1` stays a float. A value that no decoder could
hold becomes an `UnreadableValue`, so that a review refuses it at its place: if the whole request
were refused, the webhook's failurePolicy would decide about it.
"""

import json
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import orjson

from dragoman_base.files.unreadable import (
    MAX_DOCUMENT_DEPTH,
    DeepValue,
    DuplicateKeys,
    InvalidText,
    OutOfRangeNumber,
    UnreadableValue,
)

MAX_MEMORY = 52 * 1024 * 1024
"""Bytes that a parsed document may take beside its text, by an upper estimate.

A few bytes of text can become an object of hundreds, so the size of a text bounds little. A claim
with 32 configs of 10 KiB takes less in any shape, and so does its update.
"""

_NODE_BYTES = {b"{": 100, b"[": 110, b":": 150, b",": 85}
"""Bytes of an object, an array, a member with its key, and a value, by the character it costs."""

_WIDE = re.compile(rb"[\xf0-\xf7]")
_WIDEST = 4
"""Bytes of a character in a text with one that `_WIDE` finds."""

# More digits are out of range, and Python needs quadratic time to parse them.
_MOST_DIGITS = 310
# A lone surrogate, which stands for a value that is nested too deeply until the text is parsed.
_DEEP = "\udfff"
_NESTING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{\]}]', re.DOTALL)


class InvalidJSONError(ValueError):
    """A text that is not one JSON document, or one that exceeds `MAX_MEMORY`."""


class TooLargeError(InvalidJSONError):
    """A document whose values would take more than `MAX_MEMORY`; it is not parsed."""


def parse(text: bytes) -> Any:
    """Parse one JSON document of any size; takes microseconds for the API server's requests.

    Writing a tree never repeats a key. If that gives the very bytes of the text, as for compact
    JSON from Go, no key was repeated and the slower parser is not needed.

    Raises:
        InvalidJSONError: Invalid JSON, or a document that takes more than `MAX_MEMORY`.
    """
    _check_memory(text)
    try:
        tree = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        return _parse_leniently(text, str(error))
    if _written_back(tree) == text.strip():
        return tree
    if depth(tree) > MAX_DOCUMENT_DEPTH:
        return _parse_leniently(text, "")
    # Dropped before the second tree is built: each takes up to 50 times the text's size.
    del tree
    return json.loads(text.decode(), object_pairs_hook=_object)


def _check_memory(text: bytes, width: int = 1) -> None:
    """Estimate the bytes that parsing takes at most, strings included, before it does.

    Args:
        text: The document.
        width: Bytes of a character in a text without characters beyond the Basic Multilingual
            Plane; one of those makes Python store each character of the text in 4 bytes.

    Raises:
        TooLargeError: It may take more than `MAX_MEMORY`.
    """
    if (2 * _WIDEST + max(_NODE_BYTES.values())) * len(text) <= MAX_MEMORY:
        return  # whatever it holds: an ordinary request need not be searched
    # A long string is there twice: in the decoded text and in the tree.
    needed = 2 * (_WIDEST if _WIDE.search(text) else width) * len(text)
    if needed + max(_NODE_BYTES.values()) * len(text) > MAX_MEMORY:
        needed += sum(size * text.count(sign) for sign, size in _NODE_BYTES.items())
    if needed > MAX_MEMORY:
        raise TooLargeError(f"takes more than {MAX_MEMORY >> 20} MiB of memory")


def _parse_leniently(text: bytes, reason: str) -> Any:
    """Parse a document with unreadable values.

    Raises:
        InvalidJSONError: For the reason that the strict parser gave.
    """
    _check_memory(text, width=2)  # lone surrogates take 2 bytes, like the rest of their text
    hooks: dict[str, Any] = {
        "object_pairs_hook": _readable_object,
        "parse_int": _integer,
        "parse_float": _float,
        "parse_constant": _refuse_constant,
    }
    try:
        tree = json.loads(_without_deep_values(text.decode("utf-8", "surrogateescape")), **hooks)
    except ValueError:
        raise InvalidJSONError(reason) from None
    return _readable(tree)


def _without_deep_values(text: str) -> str:
    """Replace objects and arrays below `MAX_DOCUMENT_DEPTH`, so that parsing cannot recurse."""
    if text.count("{") + text.count("[") <= MAX_DOCUMENT_DEPTH:
        return text
    pieces, level, start = [], 0, 0
    for match in _NESTING.finditer(text):
        if match[0] in ("{", "["):
            level += 1
            if level == MAX_DOCUMENT_DEPTH + 1:
                pieces.append(text[start : match.start()])
        elif match[0] in ("}", "]"):
            level -= 1
            if level == MAX_DOCUMENT_DEPTH:
                pieces.append(f'"{_DEEP}"')
                start = match.end()
    # An array that is never closed leaves the text invalid.
    return "".join(pieces) + text[start:] if level == 0 else ""


def _readable(value: Any) -> Any:
    """Replace strings that are not Unicode, in the containers that hold no others."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return [_readable(item) for item in value]
    return value


def _text(value: str) -> str | UnreadableValue:
    if value.isascii():
        return value
    if value == _DEEP:
        return DeepValue("…")
    readable = _unicode(value)
    return value if readable == value else InvalidText(readable)


def _unicode(value: str) -> str:
    return value.encode("utf-8", "replace").decode()


def _readable_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return _object([(_unicode(key), _readable(value)) for key, value in pairs])


def _integer(text: str) -> int | OutOfRangeNumber:
    fits = len(text) < _MOST_DIGITS and math.isfinite(float(text))
    return int(text) if fits else OutOfRangeNumber(text)


def _float(text: str) -> float | OutOfRangeNumber:
    return number if math.isfinite(number := float(text)) else OutOfRangeNumber(text)


def _refuse_constant(name: str) -> Any:
    """Refuse NaN and Infinity, which Python's parser accepts."""
    raise ValueError(name)


def depth(tree: Any) -> int:
    """Count the levels of objects and arrays; 0 for a scalar. Never recurses."""
    level = [tree] if isinstance(tree, (dict, list)) else []
    levels = 0
    while level:
        levels += 1
        level = [one for node in level for one in _members(node) if isinstance(one, (dict, list))]
    return levels


def canonical(tree: Any) -> bytes | None:
    """Write a tree as compact JSON: the key of its validation result in a cache.

    Returns:
        None where the bytes would not identify the tree: Repeated keys, integers beyond 64 bits,
        numbers out of range, strings with lone surrogates.
    """
    try:
        written = orjson.dumps(tree, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    except TypeError:
        return None
    # A copy, because orjson's bytes keep a buffer of 4 KiB alive.
    return bytes(memoryview(written))


def identity(tree: Any) -> bytes:
    """Return a key that is equal for trees that are the same as written, in the same key order.

    Trees without a canonical form equal only others without one: a stored value must not block an
    update, whatever it holds.
    """
    return canonical(tree) or b"odd " + json.dumps(tree, default=str).encode()


def least_size(tree: Any) -> int:
    """Count the bytes of a tree as the shortest JSON; 0 without a canonical form.

    A float may be shorter in the request than its canonical form, such as 1E5 for 100000.0.
    """
    level, excess = [tree], 0
    while level:
        excess += sum(_excess(node) for node in level if isinstance(node, float))
        level = [one for node in level if isinstance(node, (dict, list)) for one in _members(node)]
    return len(canonical(tree) or b"") - excess


def _excess(number: float) -> int:
    """Count the bytes by which a number's canonical form exceeds its shortest."""
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    shortest = sign + len(digits) + len(f"e{exponent}")
    return max(0, len(orjson.dumps(number)) - shortest)


def _written_back(tree: Any) -> bytes | None:
    try:
        return orjson.dumps(tree)
    except TypeError:
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else DuplicateKeys(pairs)


def _members(node: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return node.values() if isinstance(node, dict) else node

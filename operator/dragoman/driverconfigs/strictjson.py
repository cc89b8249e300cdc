"""Parse JSON and keep what drivers' strict decoders distinguish.

Python's parsers silently keep the last of two equal keys. Here such an object becomes
`DuplicateKeys`, a number written `1.0` or `1e1` stays a float, and one that no double can hold
becomes an `OutOfRangeNumber`, so that a review refuses each at its place.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, Final

import orjson

MAX_DOCUMENT_DEPTH = 254
"""Levels of nesting of a whole document; deeper ones are refused before anything recurses.

orjson writes no more levels, so a document that it wrote needs no measurement of its own.
"""

MAX_TOKENS: Final = 1_000_000
"""Brackets, braces and commas of one document; two of the largest objects in etcd have fewer.

Three bytes can become an object of 64, so the size of a text alone bounds little.
"""

MAX_OUT_OF_RANGE: Final = 8
"""Numbers out of range in one document; more are an attack, not a mistake."""

_OUT_OF_RANGE: Final = "number is infinity"
_NUMBER: Final = re.compile(rb"-?[0-9][0-9.eE+-]*")
# More digits are out of range, and Python needs quadratic time to parse them.
_MOST_DIGITS: Final = 310


class InvalidJSONError(ValueError):
    """A text that is not one JSON document, or one that exceeds a limit of this module."""


class OutOfRangeNumber:
    """A number that no double can hold: valid JSON that every driver's decoder refuses.

    Attributes:
        written: the number as it was written.
    """

    __slots__ = ("written",)

    def __init__(self, written: str) -> None:
        self.written = written

    def __str__(self) -> str:
        return self.written


class DuplicateKeys(dict[str, Any]):
    """A JSON object in which keys occur more than once; it holds the last value of each.

    Attributes:
        duplicate_keys: the keys concerned, each once, in order of appearance.
    """

    __slots__ = ("duplicate_keys",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        repeated = (key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        self.duplicate_keys = tuple(dict.fromkeys(repeated))


def parse(text: bytes) -> Any:
    """Parse one JSON document of any size; takes microseconds for the API server's requests.

    Writing a tree never repeats a key. If that gives the very bytes of the text, as for compact
    JSON from Go, no key was repeated and the slower parser is not needed.

    Raises:
        InvalidJSONError: invalid JSON or UTF-8, nested too deeply, too many values, or too many
            numbers out of range.
    """
    if len(text) > MAX_TOKENS and sum(map(text.count, (b"{", b"[", b","))) > MAX_TOKENS:
        raise InvalidJSONError(f"more than {MAX_TOKENS} brackets, braces and commas")
    try:
        tree = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if not str(error).startswith(_OUT_OF_RANGE):
            raise InvalidJSONError(str(error)) from None
        return _parse_out_of_range(text)
    if _written_back(tree) == text.strip():
        return tree
    _check_depth(tree)
    # Dropped before the second tree is built: each takes up to 50 times the text's size.
    del tree
    return json.loads(text.decode(), object_pairs_hook=_object)


def _parse_out_of_range(text: bytes) -> Any:
    """Parse a document with numbers that no double can hold."""
    plain = text
    for _ in range(MAX_OUT_OF_RANGE + 1):
        try:
            # Python's parser accepts more than JSON, so the strict one decides.
            _check_depth(orjson.loads(plain))
        except orjson.JSONDecodeError as error:
            plain = _without_number(plain, error)
        else:
            hooks: dict[str, Any] = {"parse_int": _integer, "parse_float": _float}
            return json.loads(text.decode(), object_pairs_hook=_object, **hooks)
    raise InvalidJSONError(f"more than {MAX_OUT_OF_RANGE} numbers that no double can hold")


def _without_number(text: bytes, error: orjson.JSONDecodeError) -> bytes:
    """Write a zero in place of the number at which the parser stopped."""
    if not str(error).startswith(_OUT_OF_RANGE):
        raise InvalidJSONError(str(error)) from None
    start = len(text.decode()[: error.pos].encode())
    number = _NUMBER.match(text, start)
    if number is None:
        raise InvalidJSONError(str(error)) from None
    return text[:start] + b"0".ljust(len(number[0])) + text[number.end() :]


def _integer(text: str) -> int | OutOfRangeNumber:
    return (
        int(text)
        if len(text) < _MOST_DIGITS and math.isfinite(float(text))
        else OutOfRangeNumber(text)
    )


def _float(text: str) -> float | OutOfRangeNumber:
    return number if math.isfinite(number := float(text)) else OutOfRangeNumber(text)


def _check_depth(tree: Any) -> None:
    if depth(tree) > MAX_DOCUMENT_DEPTH:
        raise InvalidJSONError(f"nested deeper than {MAX_DOCUMENT_DEPTH} levels")


def depth(tree: Any) -> int:
    """Count the levels of objects and arrays; 0 for a scalar. Never recurses."""
    level = [tree] if isinstance(tree, (dict, list)) else []
    levels = 0
    while level:
        levels += 1
        level = [child for node in level for child in _children(node)]
    return levels


def canonical(tree: Any) -> bytes | None:
    """Write a tree as compact JSON: the key of its validation result in a cache.

    Returns:
        None where the bytes would not identify the tree: repeated keys, integers beyond 64 bits,
        numbers out of range, strings with lone surrogates.
    """
    try:
        written = orjson.dumps(tree, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    except TypeError:
        return None
    # A copy, because orjson's bytes keep a buffer of 4 KiB alive.
    return bytes(memoryview(written))


def least_size(tree: Any) -> int:
    """Count the bytes of a tree as the shortest JSON; 0 without a canonical form.

    A float may be shorter in the request than its canonical form, such as 1E5 for 100000.0.
    """
    level, excess = [tree], 0
    while level:
        excess += sum(_excess(node) for node in level if isinstance(node, float))
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
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


def _children(node: dict[str, Any] | list[Any]) -> list[Any]:
    values = node.values() if isinstance(node, dict) else node
    return [value for value in values if isinstance(value, (dict, list))]

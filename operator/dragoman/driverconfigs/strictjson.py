"""The way in for JSON: parse a document without losing what drivers' strict decoders look at.

Python's parsers keep the last of two equal keys and say nothing. Here such an object becomes a
`Repeated`, a number written `1.0` or `1e1` stays a float, and one that no double can hold becomes a
`Beyond`, so that the review can refuse them all at their place.
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

It is what orjson writes at most, so that a document's depth need not be measured apart from that.
"""


MAX_SIGNS: Final = 1_000_000
"""Openings and commas of one document; the largest objects that etcd takes have fewer, twice.

Three bytes can become an object of 64, so the size of a text alone bounds little.
"""

MAX_BEYOND: Final = 8
"""Numbers beyond a double in one document; more are nobody's mistake."""

_OUT_OF_RANGE: Final = "number is infinity"
_NUMBER: Final = re.compile(rb"-?[0-9][0-9.eE+-]*")
# More digits make no finite number, and Python takes its time with them.
_MOST_DIGITS: Final = 310


class Malformed(ValueError):  # noqa: N818 — says what the document is, not what went wrong in us
    """A text that is no JSON document, or one nested deeper than `MAX_DOCUMENT_DEPTH`."""


class Beyond:
    """A number that no double can hold: JSON allows it, and no driver's decoder takes it.

    Attributes:
        written: the number as it was written.
    """

    __slots__ = ("written",)

    def __init__(self, written: str) -> None:
        self.written = written

    def __str__(self) -> str:
        return self.written


class Repeated(dict[str, Any]):
    """A JSON object in which keys occur more than once; it holds the last value of each.

    Attributes:
        keys_repeated: the keys concerned, each once, in order of appearance.
    """

    __slots__ = ("keys_repeated",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        seen: set[str] = set()
        repeated = (key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        self.keys_repeated = tuple(dict.fromkeys(repeated))


def parse(text: bytes) -> Any:
    """Parse one JSON document of any size; takes microseconds for what the API server sends.

    Writing a tree back can never repeat a key. So when that gives the very bytes that came in (the
    rule for compact JSON from Go), nothing was repeated and the slower parser is not needed.

    Raises:
        Malformed: no JSON, not UTF-8, nested too deeply, of too many values, or full of numbers
            beyond a double.
    """
    if len(text) > MAX_SIGNS and sum(map(text.count, (b"{", b"[", b","))) > MAX_SIGNS:
        raise Malformed(f"more than {MAX_SIGNS} openings and commas")
    try:
        tree = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if not str(error).startswith(_OUT_OF_RANGE):
            raise Malformed(str(error)) from None
        return _parse_beyond(text)
    if _written_back(tree) == text.strip():
        return tree
    _check_depth(tree)
    return json.loads(text.decode(), object_pairs_hook=_object)


def _parse_beyond(text: bytes) -> Any:
    """Parse a document with numbers beyond a double."""
    plain = text
    for _ in range(MAX_BEYOND + 1):
        try:
            # Python's parser takes more for JSON than there is: the strict one must be content.
            _check_depth(orjson.loads(plain))
        except orjson.JSONDecodeError as error:
            plain = _without_number(plain, error)
        else:
            hooks: dict[str, Any] = {"parse_int": _integer, "parse_float": _float}
            return json.loads(text.decode(), object_pairs_hook=_object, **hooks)
    raise Malformed(f"more than {MAX_BEYOND} numbers beyond a double")


def _without_number(text: bytes, error: orjson.JSONDecodeError) -> bytes:
    """Write a zero in place of the number that the parser stopped at."""
    if not str(error).startswith(_OUT_OF_RANGE):
        raise Malformed(str(error)) from None
    start = len(text.decode()[: error.pos].encode())
    number = _NUMBER.match(text, start)
    if number is None:
        raise Malformed(str(error)) from None
    return text[:start] + b"0".ljust(len(number[0])) + text[number.end() :]


def _integer(text: str) -> int | Beyond:
    return int(text) if len(text) < _MOST_DIGITS and math.isfinite(float(text)) else Beyond(text)


def _float(text: str) -> float | Beyond:
    return number if math.isfinite(number := float(text)) else Beyond(text)


def _check_depth(tree: Any) -> None:
    if depth(tree) > MAX_DOCUMENT_DEPTH:
        raise Malformed(f"nested deeper than {MAX_DOCUMENT_DEPTH} levels")


def depth(tree: Any) -> int:
    """Count the levels of objects and arrays; 0 for a scalar. Never recurses."""
    level = [tree] if isinstance(tree, (dict, list)) else []
    levels = 0
    while level:
        levels += 1
        level = [child for node in level for child in _children(node)]
    return levels


def canonical(tree: Any) -> bytes | None:
    """Write a tree as compact JSON, as a key under which its verdict can be remembered.

    Returns:
        None where the bytes would not tell everything: repeated keys, integers beyond 64 bits,
        numbers beyond a double, strings that are no Unicode.
    """
    try:
        written = orjson.dumps(tree, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    except TypeError:
        return None
    # What orjson gives keeps the 4 KiB that it was written into for as long as it is kept.
    return bytes(memoryview(written))


def least_size(tree: Any) -> int:
    """Count the bytes of a tree as JSON, written as shortly as can be; 0 without a canonical form.

    A float may have come in fewer bytes than it is written in, such as 1E5 for 100000.0.
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
    """Count the bytes that a number's canonical form is longer than its shortest."""
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
    return members if len(members) == len(pairs) else Repeated(pairs)


def _children(node: dict[str, Any] | list[Any]) -> list[Any]:
    values = node.values() if isinstance(node, dict) else node
    return [value for value in values if isinstance(value, (dict, list))]

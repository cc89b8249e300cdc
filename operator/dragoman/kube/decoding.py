"""JSON as the API server sends it: Go's parser accepts more than others do.

The API server stores the parameters of a claim as they were sent. Half a surrogate pair, bytes that
are not UTF-8 and thousands of levels are valid there, so any user can create such an object, and it
must not end the lists and watches of all others.
"""

import json
import re
from typing import Any

import orjson

from dragoman.model.fields import TOO_DEEP

MOST_LEVELS = 200
"""Levels that are kept of a document that orjson cannot hold; it reads 1,024 and writes 254."""
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
"""An escape or a surrogate pair; the group is half a pair."""
_NESTING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]+|[\]}]+', re.DOTALL)


def decode(content: bytes) -> Any:
    """Parse one JSON document.

    What is not Unicode becomes U+FFFD, as in Go; a value below MOST_LEVELS becomes `TOO_DEEP`.

    Raises:
        orjson.JSONDecodeError: It is invalid JSON for the API server, too.
    """
    try:
        tree = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        try:
            return _decode_leniently(content)
        except (ValueError, RecursionError):
            raise error from None
    if content.count(b"{") + content.count(b"[") <= MOST_LEVELS:
        return tree
    try:
        orjson.dumps(tree)
    except TypeError:  # deeper than it writes, so that later code could neither copy nor compare it
        return _decode_leniently(content)
    return tree


def _decode_leniently(content: bytes) -> Any:
    """Parse a document that strict parsers refuse; raise ValueError or RecursionError."""
    text = content.decode("utf-8", "replace")
    if "\\u" in text:
        text = _ESCAPE.sub(lambda match: "\\ufffd" if match[1] else match[0], text)
    return json.loads(_without_deep_values(text), parse_constant=_refuse)


def _without_deep_values(text: str) -> str:
    """Replace objects and arrays below MOST_LEVELS, so that parsing cannot recurse deeply."""
    pieces, level, start = [], 0, 0
    for match in _NESTING.finditer(text):
        signs, before = match[0], level
        if signs[0] in "[{":
            level += len(signs)
            if before <= MOST_LEVELS < level:
                pieces.append(text[start : match.start() + MOST_LEVELS - before])
        elif signs[0] in "]}":
            level -= len(signs)
            if level <= MOST_LEVELS < before:
                pieces.append(json.dumps(TOO_DEEP))
                start = match.start() + before - MOST_LEVELS
    if level > MOST_LEVELS:
        raise ValueError("an object or array is never closed")
    return "".join(pieces) + text[start:]


def _refuse(constant: str) -> Any:
    """Refuse NaN and Infinity, which Python's parser accepts."""
    raise ValueError(constant)

"""Read fields out of JSON documents, or say which field is wrong and what was expected.

One level at a time, and cheap: every event about every pod with claims passes through here. The
`within` of each function is the path of the document itself, with its dot, for messages.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

Document = Mapping[str, Any]

NOTHING: Document = {}
_INT64 = 1 << 63
TOO_DEEP = "\N{REPLACEMENT CHARACTER} (nested too deeply)"
"""Stands for a value that was nested too deeply to be parsed."""


class MalformedObjectError(ValueError):
    """An object does not have the shape that its API promises.

    The message names the field's path, what was expected there and what was found.
    """


def text(document: Document, key: str, within: str = "") -> str:
    """Return the string under a key; raise MalformedObjectError when there is none."""
    found = document.get(key)
    if isinstance(found, str):
        return found
    raise _mismatch(within + key, "a string", found)


def optional_text(document: Document, key: str, within: str = "") -> str | None:
    """Return the string under a key, or None where it is absent or null."""
    found = document.get(key)
    if found is None or isinstance(found, str):
        return found
    raise _mismatch(within + key, "a string", found)


def optional_number(document: Document, key: str, within: str = "") -> float | None:
    """Return the number under a key, or None where it is absent or null."""
    found = document.get(key)
    if found is None:
        return None
    if isinstance(found, int | float) and not isinstance(found, bool):
        return found
    raise _mismatch(within + key, "a number", found)


def mapping(document: Document, key: str, within: str = "") -> Document:
    """Return the object under a key; absent and null are the empty object."""
    found = document.get(key)
    if found is None:
        return NOTHING
    if isinstance(found, dict):
        return found
    raise _mismatch(within + key, "an object", found)


def items(document: Document, key: str, within: str = "") -> Sequence[Document]:
    """Return the list of objects under a key; absent and null are the empty list."""
    found = document.get(key)
    if found is None:
        return ()
    if not isinstance(found, list):
        raise _mismatch(within + key, "a list of objects", found)
    for index, item in enumerate(found):
        if not isinstance(item, dict):
            raise _mismatch(f"{within}{key}[{index}]", "an object", item)
    return found


def texts(document: Document, key: str, within: str = "") -> tuple[str, ...]:
    """Return the list of strings under a key; absent and null are the empty list."""
    found = document.get(key)
    if found is None:
        return ()
    if not isinstance(found, list):
        raise _mismatch(within + key, "a list of strings", found)
    for index, item in enumerate(found):
        if not isinstance(item, str):
            raise _mismatch(f"{within}{key}[{index}]", "a string", item)
    return tuple(found)


def require_object(document: object) -> None:
    """Raise MalformedObjectError for what is not a JSON object."""
    if not isinstance(document, Mapping):
        raise MalformedObjectError(f"expected an object, found {type(document).__name__}")


def integer(document: Document, key: str, within: str) -> int:
    """Read an integer; absent is 0."""
    found = document.get(key)
    if found is None:
        return 0
    if type(found) is int and -_INT64 <= found < _INT64:
        return found
    raise _mismatch(within + key, "an integer of 64 bits", found)


def flag(document: Document, key: str, within: str) -> bool | None:
    """Read a boolean, None where it is absent."""
    found = document.get(key)
    if found is None or type(found) is bool:
        return found
    raise _mismatch(within + key, "true or false", found)


def strings(document: Document, key: str, within: str) -> Mapping[str, str]:
    """Read an object whose values are strings."""
    found = mapping(document, key, within)
    for name, value in found.items():
        if not isinstance(value, str):
            raise _mismatch(f"{within}{key}.{name}", "a string", value)
    return found


def instant(document: Document, key: str, within: str) -> datetime | None:
    """Read a time of RFC 3339, None where it is absent."""
    found = optional_text(document, key, within)
    if found is None:
        return None
    try:
        read = datetime.fromisoformat(found)
    except ValueError:
        read = None
    if read is None or read.tzinfo is None:
        raise MalformedObjectError(f"{within}{key}: expected a time of RFC 3339 with its zone")
    return read


def selectors(document: Document, within: str) -> tuple[str | None, ...]:
    """Read `selectors`: the CEL expressions, None for a selector of another kind."""
    found = []
    for index, item in enumerate(items(document, "selectors", within)):
        inner = f"{within}selectors[{index}]."
        cel = mapping(item, "cel", inner)
        known = item.get("cel") is not None
        found.append(optional_text(cel, "expression", f"{inner}cel.") or "" if known else None)
    return tuple(found)


def check_depth(document: Document, path: str) -> None:
    """Raise MalformedObjectError where values were left out: the rest must not be copied."""
    if TOO_DEEP in repr(document):
        raise MalformedObjectError(f"{path}: expected fewer levels, found values nested too deeply")


def _mismatch(path: str, expected: str, found: object) -> MalformedObjectError:
    what = "nothing" if found is None else type(found).__name__
    return MalformedObjectError(f"{path}: expected {expected}, found {what}")


_OBJECT = (dict, Mapping)  # An abstract class alone is slow to ask


def part(document: Any, *path: str) -> Document:
    """Return an object inside a document; empty where there is none, whatever else is there."""
    for key in path:
        document = document.get(key) if isinstance(document, _OBJECT) else None
    return document if isinstance(document, _OBJECT) else NOTHING


def parts(document: Any, *path: str) -> Sequence[Document]:
    """Return the objects of a list inside a document; empty where there is none."""
    found = part(document, *path[:-1]).get(path[-1])
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []

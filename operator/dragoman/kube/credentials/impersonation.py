"""Whom a user acts for: the headers of impersonation."""

import reprlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

Headers = tuple[tuple[str, str], ...]
"""Names and values of HTTP headers; a name may occur more than once."""
HEADER_CHARACTERS = "!#$&'*+-.^_`|~"
"""Allowed in a header's name beside letters and digits (RFC 9110), without the escape `%`."""


def impersonation_headers(user: Mapping[str, Any]) -> Headers:
    """Return the headers for `as`, `as-uid`, `as-groups` and `as-user-extra`; none without them.

    Args:
        user: `users[].user` of a kubeconfig.

    Raises:
        ValueError: A field has another form, or no user is named; the message names the field.
    """
    headers = tuple(_header_lines(user))
    if headers and headers[0][0] != "Impersonate-User":
        raise ValueError("requesting uid, groups or user-extra without impersonating a user")
    return headers


def _header_lines(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, header in (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid")):
        if user.get(name):
            yield header, _text(user[name], name)
    for group in _texts(user.get("as-groups"), "as-groups"):
        yield "Impersonate-Group", group
    extra = user.get("as-user-extra") or {}
    if not isinstance(extra, Mapping):
        raise _wrong("as-user-extra", "lists of strings by key", extra)
    for key, values in extra.items():
        escaped = quote(_text(key, "as-user-extra"), safe=HEADER_CHARACTERS)
        for value in _texts(values, f"as-user-extra[{key}]"):
            yield f"Impersonate-Extra-{escaped}", value


def _texts(found: Any, name: str) -> list[str]:
    if not isinstance(found, list | None):
        raise _wrong(name, "a list of strings", found)
    return [_text(item, name) for item in found or ()]


def _text(found: Any, name: str) -> str:
    if not isinstance(found, str) or not found.isprintable():
        raise _wrong(name, "a string of printable characters", found)
    return found


def _wrong(name: str, expected: str, found: Any) -> ValueError:
    return ValueError(f"users[].user.{name}: expected {expected}, found {reprlib.repr(found)}")

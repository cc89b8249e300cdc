"""For whom the user of a kubeconfig acts, in the headers by which the API server is told."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

Headers = tuple[tuple[str, str], ...]
"""Names and values; a name may come more than once."""
TOKEN = "!#$&'*+-.^_`|~"  # noqa: S105 — what RFC 9110 calls a token
"""What a header's name may have in it beside letters and digits, but for the sign of an escape."""


def acting_for(user: Mapping[str, Any]) -> Headers:
    """Return the headers for `as`, `as-uid`, `as-groups` and `as-user-extra`; none without them.

    Args:
        user: `users[].user` of a kubeconfig.

    Raises:
        ValueError: A field has another form, or nobody is named; the message names the field.
    """
    said = tuple(_headers(user))
    if said and said[0][0] != "Impersonate-User":
        raise ValueError("users[].user.as: expected a name beside as-uid, as-groups, as-user-extra")
    return said


def _headers(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, header in (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid")):
        if user.get(name):
            yield header, _text(user[name], name)
    for group in _texts(user.get("as-groups"), "as-groups"):
        yield "Impersonate-Group", group
    extra = user.get("as-user-extra") or {}
    if not isinstance(extra, Mapping):
        raise _wrong("as-user-extra", "lists of strings by key", extra)
    for key, values in extra.items():
        escaped = quote(_text(key, "as-user-extra"), safe=TOKEN)
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
    return ValueError(f"users[].user.{name}: expected {expected}, found {found!r:.100}")

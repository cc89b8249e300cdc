"""What a review finds: one complaint with its place, its reason and its words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import orjson

from dragoman.driverconfigs.strictjson import Beyond

REQUIRED = "FieldValueRequired"
INVALID = "FieldValueInvalid"
TYPE_INVALID = "FieldValueTypeInvalid"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"
DUPLICATE = "FieldValueDuplicate"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
INTERNAL = "InternalError"

# The words that the API machinery prints for each cause (field.ErrorType.String).
LABELS = {
    REQUIRED: "Required value",
    INVALID: "Invalid value",
    TYPE_INVALID: "Invalid value",
    NOT_SUPPORTED: "Unsupported value",
    FORBIDDEN: "Forbidden",
    DUPLICATE: "Duplicate value",
    TOO_LONG: "Too long",
    TOO_MANY: "Too many",
    INTERNAL: "Internal error",
}

VALUE_LENGTH = 64
"""Characters of a user's value that an answer repeats."""

DETAIL_LENGTH = 512
"""Characters of one complaint's text; schemas' messages and lists of values can be long."""

NOTHING = object()
"""Stands for no value, where null is one."""

_PLAIN_NAME = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Finding:
    """One complaint about a value.

    Attributes:
        path: place of the value, such as `spec.devices.config[0].opaque.parameters.sharing`.
        reason: the metav1 cause type, one of this module's constants.
        detail: what is wrong, or what would be right.
        value: the value as JSON, shortened; None where it says nothing (missing, unknown fields).
        public: the detail without anything of the user's values; None when `detail` has none.
    """

    path: str
    reason: str
    detail: str
    value: str | None = None
    public: str | None = None

    def __str__(self) -> str:
        """Say it to the person who applied the object, value included."""
        words = [self.path, LABELS.get(self.reason, "Invalid value")]
        words += [text for text in (self.value, self.detail) if text]
        return ": ".join(words)

    def without_value(self) -> str:
        """Say it to everyone: for status, Events and logs, which never show users' values.

        Names of fields and keys are shown, cut and escaped, for they are the place.
        """
        return str(self.discreet())

    def discreet(self) -> Finding:
        """Return the finding with nothing of the user's values in it."""
        detail = self.detail if self.public is None else self.public
        return replace(self, detail=detail, value=None, public=None)

    def under(self, prefix: str) -> Finding:
        """Place a finding with a relative path (`.sharing`, `[0]` or nothing) below a prefix."""
        return replace(self, path=prefix + self.path)


def finding(
    path: Iterable[str | int],
    reason: str,
    detail: str,
    value: Any = NOTHING,
    *,
    public: str | None = None,
) -> Finding:
    """Make a finding with a relative path from its steps; `value` is shortened here."""
    shown = None if value is NOTHING else shorten(value)
    return Finding(render(path), reason, clip(detail, DETAIL_LENGTH), shown, public)


def render(steps: Iterable[str | int]) -> str:
    """Write path steps as the API machinery does: `.name`, `[0]`, and `[key]` for odd keys."""
    return "".join(map(_step, steps))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if len(step) > VALUE_LENGTH:
        return f"[{printable(clip(step, VALUE_LENGTH))}]"
    return f".{step}" if _PLAIN_NAME.fullmatch(step) else f"[{printable(step)}]"


def shorten(value: Any) -> str:
    """Write a value as JSON on one line, at most `VALUE_LENGTH` characters.

    Objects and arrays are named by their type alone, as the API server does: quoting them would
    only repeat what is below the path already.
    """
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, str):
        value = printable(value[: VALUE_LENGTH + 1])
        return f'"{clip(value, VALUE_LENGTH)}"'
    if isinstance(value, Beyond):
        return clip(value.written, VALUE_LENGTH)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return "an integer beyond 64 bits"
    return orjson.dumps(value).decode()


def clip(text: str, length: int) -> str:
    """Cut a text to at most `length` characters, showing that something was cut."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def printable(text: str) -> str:
    """Escape what would break a terminal line or an HTTP header: controls, quotes, surrogates."""
    if text.isprintable() and '"' not in text:
        return text
    return "".join(char if _harmless(char) else repr(char)[1:-1] for char in text)


def _harmless(char: str) -> bool:
    return char.isprintable() and char != '"'

"""Field errors: one fault at one field, with its path, reason and message.

The shape follows `field.Error` of Kubernetes' API machinery; reasons are metav1 cause types.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import orjson

from dragoman_base.files.unreadable import UnreadableValue

REQUIRED = "FieldValueRequired"
INVALID = "FieldValueInvalid"
TYPE_INVALID = "FieldValueTypeInvalid"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"
DUPLICATE = "FieldValueDuplicate"
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
INTERNAL = "InternalError"

# The words that the API machinery prints for each cause type (field.ErrorType.String).
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
"""Characters of a user's value that an error repeats."""

DETAIL_LENGTH = 512
"""Characters of one error's detail; schemas' messages and lists of values can be long."""

OMIT_VALUE = object()
"""Marks an error without a value, because null is a value."""

Path = Iterable[str | int]
"""Steps from the root to a value: field names, map keys and list indices."""

_PLAIN_NAME = re.compile(r"[A-Za-z_$][\w$-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ConfigFieldError:
    """One fault at one field."""

    path: str  # Place of the value, such as `spec.devices.config[0].opaque.parameters.sharing`.
    reason: str  # The metav1 cause type, one of this module's constants
    detail: str  # The fault, or the allowed values
    # The value as JSON, shortened; None where a value explains nothing (missing or unknown fields)
    value: str | None = None
    public: str | None = None  # The detail without users' values; None when `detail` has none
    variables: tuple[str, ...] = ()  # Variables of the schema that the broken rule reads
    hint: str = ""  # The remedy, at the end of the text; never with users' values
    # What may stand there: values, or names of fields instead of an unknown one
    known: Collection[str] = field(default=(), compare=False, repr=False)

    def __str__(self) -> str:
        """Format the error for the user who applied the object, value included."""
        words = [self.path, LABELS.get(self.reason, "Invalid value")]
        words += [text for text in (self.value, self.detail) if text]
        return ": ".join(words) + (f"; {self.hint}" if self.hint else "")

    def redacted(self) -> Self:
        """Return a copy without user values, for status, Events and logs.

        Names of fields and map keys stay, cut and escaped, because they are the place.
        """
        detail = self.detail if self.public is None else self.public
        return replace(self, detail=detail, value=None, public=None, known=())

    def under(self, prefix: str) -> Self:
        """Return a copy whose relative path (`.sharing`, `[0]` or empty) continues a prefix."""
        return replace(self, path=prefix + self.path)


def field_error(
    path: Path, reason: str, detail: str, value: Any = OMIT_VALUE, known: Collection[str] = ()
) -> ConfigFieldError:
    """Make an error with a relative path; the value is shortened, the detail clipped."""
    shown = None if value is OMIT_VALUE else shorten(value)
    return ConfigFieldError(render(path), reason, clip(detail, DETAIL_LENGTH), shown, known=known)


def render(path: Path) -> str:
    """Write a path as the API machinery does: `.name`, `[0]`, and `[key]` for unusual keys."""
    return "".join(map(_step, path))


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if len(step) > VALUE_LENGTH:
        return f"[{printable(clip(step, VALUE_LENGTH))}]"
    return f".{step}" if _PLAIN_NAME.fullmatch(step) else f"[{printable(step)}]"


def shorten(value: Any) -> str:
    """Write a value as JSON on one line, at most `VALUE_LENGTH` characters.

    Objects and arrays appear by their type alone, as in the API server's errors: the path names
    what is inside them.
    """
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    if isinstance(value, str):
        value = printable(value[: VALUE_LENGTH + 1])
        return f'"{clip(value, VALUE_LENGTH)}"'
    if isinstance(value, UnreadableValue):
        return clip(printable(value.written), VALUE_LENGTH)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return "an integer beyond 64 bits"
    return orjson.dumps(value).decode()


def clip(text: str, length: int) -> str:
    """Cut a text to at most `length` characters; a final ellipsis marks the cut."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def printable(text: str) -> str:
    """Escape characters that break a terminal line or an HTTP header."""
    if text.isprintable() and '"' not in text:
        return text
    return "".join(
        char if char.isprintable() and char != '"' else repr(char)[1:-1] for char in text
    )

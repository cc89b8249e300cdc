"""Semantic versions as `github.com/blang/semver/v4` parses and orders them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dragoman_cel.errors import OperationError
from dragoman_cel.values.quoting import quoted
from dragoman_cel.values.scalars import UINT_MAX, wrap_int64

_COMMON = re.compile(r"(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})", re.ASCII)
_LENGTH_MAX = 512
"""Code points of the longest version: a comparison costs one unit for any length."""
_DIGITS = re.compile(r"[0-9]*", re.ASCII)
_ALPHANUMERIC = re.compile(r"[0-9A-Za-z-]*", re.ASCII)

Precedence = tuple[int, int, int, str]
_RELEASE = "2"
"""Sorts behind every prerelease, whose identifiers start with 0 (number) or 1 (text)."""
_BETWEEN = "\0"
"""Sorts before everything in an identifier, so that a prefix sorts before the longer list."""


@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """A version."""

    key: Precedence  # Precedence as a tuple; equal and ordered exactly as the versions are
    text: str = field(repr=False)  # Its text with build metadata

    @property
    def major(self) -> int:
        """Return the major number as int64: beyond 2^63-1 it wraps, as in Go."""
        return wrap_int64(self.key[0])

    @property
    def minor(self) -> int:
        """Return the minor number as int64: beyond 2^63-1 it wraps, as in Go."""
        return wrap_int64(self.key[1])

    @property
    def patch(self) -> int:
        """Return the patch number as int64: beyond 2^63-1 it wraps, as in Go."""
        return wrap_int64(self.key[2])

    def compare(self, other: Semver) -> int:
        """Return -1, 0 or 1 by SemVer 2.0 precedence, which ignores build metadata."""
        return (self.key > other.key) - (self.key < other.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return self.text


def parse_semver(text: str, normalize: bool = False) -> Semver:  # noqa: FBT001, FBT002 — CEL's own signature
    """Parse a version.

    Args:
        text: The version.
        normalize: Strip one leading "v", strip leading zeros and pad missing numbers first.

    Raises:
        OperationError: The text is not a version, with blang/semver's message.
    """
    if len(text) > _LENGTH_MAX:
        raise OperationError("operation cancelled: version is too long")
    if normalize:
        text = _normalized(text)
    if match := _COMMON.fullmatch(text):
        return Semver((int(match[1]), int(match[2]), int(match[3]), _RELEASE), text)
    return _parse_strictly(text)


def is_semver(text: str, normalize: bool = False) -> bool:  # noqa: FBT001, FBT002 — CEL's own signature
    """Return whether `parse_semver` accepts the text."""
    try:
        parse_semver(text, normalize)
    except OperationError:
        return False
    return True


def _normalized(text: str) -> str:
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise OperationError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][: max(len(parts), 3)])


def _without_zeros(part: str) -> str:
    if len(part) < 2 and part.isascii():
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1] in "0123456789" and stripped else "0" + stripped


def _parse_strictly(text: str) -> Semver:
    if not text:
        raise OperationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise OperationError("No Major.Minor.Patch elements found")
    major = _number("Major", parts[0])
    minor = _number("Minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    rest, dash, prerelease = rest.partition("-")
    patch = _number("Patch", rest)
    identifiers = _BETWEEN.join(map(_identifier, prerelease.split("."))) if dash else _RELEASE
    if plus:
        _check_build(build)
    return Semver((major, minor, patch, identifiers), text)


def _number(name: str, digits: str) -> int:
    if not _DIGITS.fullmatch(digits):
        raise OperationError(
            f"Invalid character(s) found in {name.lower()} number {quoted(digits)}"
        )
    if _has_leading_zero(digits):
        raise OperationError(f"{name} number must not contain leading zeroes {quoted(digits)}")
    return _uint64(digits)


def _has_leading_zero(digits: str) -> bool:
    return len(digits) > 1 and digits[0] == "0"


def _uint64(digits: str) -> int:
    if not digits:
        raise OperationError('strconv.ParseUint: parsing "": invalid syntax')
    if len(digits) > 20 or int(digits) > UINT_MAX:
        raise OperationError(f"strconv.ParseUint: parsing {quoted(digits)}: value out of range")
    return int(digits)


def _identifier(text: str) -> str:
    """Return a text that sorts like the identifier of a prerelease."""
    if not text:
        raise OperationError("Prerelease is empty")
    if _DIGITS.fullmatch(text):
        if _has_leading_zero(text):
            raise OperationError(
                f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}"
            )
        return f"0{len(text):02d}{_uint64(text)}"
    if not _ALPHANUMERIC.fullmatch(text):
        raise OperationError(f"Invalid character(s) found in prerelease {quoted(text)}")
    return "1" + text


def _check_build(build: str) -> None:
    for part in build.split("."):
        if not part:
            raise OperationError("Build meta data is empty")
        if not _ALPHANUMERIC.fullmatch(part):
            raise OperationError(f"Invalid character(s) found in build meta data {quoted(part)}")

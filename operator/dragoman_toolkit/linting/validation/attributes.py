"""Attributes of devices, beyond their schema."""

import re
from typing import Any

from dragoman_toolkit.linting.findings.finding import Steps
from dragoman_toolkit.linting.validation.errors import Errors
from dragoman_toolkit.linting.validation.names import size

MAX_VALUE = 64
_KINDS = ("bool", "int", "string", "version", "bools", "ints", "strings", "versions")


def _semver(number: str) -> re.Pattern[str]:
    prerelease = rf"({number}|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
    return re.compile(
        rf"{number}\.{number}\.{number}(-{prerelease}(\.{prerelease})*)?"
        r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
        re.ASCII,
    )


_SEMVER, _SHORT_SEMVER = _semver(r"(0|[1-9]\d*)"), _semver(r"(0|[1-9]\d{0,17})")
_WORDS = "must be a string compatible with semver.org spec 2.0.0"


def check_attribute(errors: Errors, steps: Steps, attribute: dict[str, Any]) -> None:
    """Check that exactly one value is set, and its form."""
    given = [kind for kind in _KINDS if attribute.get(kind) is not None]
    for kind in given:
        values = attribute[kind]
        if kind.endswith("s") and isinstance(values, list):
            if not values:
                errors.add((*steps, kind), "Invalid value: must not be empty if specified")
            for index, value in enumerate(values):
                _check_value(errors, (*steps, kind, index), kind[:-1], value)
        else:
            _check_value(errors, (*steps, kind), kind, values)
    if len(given) != 1:
        errors.add(steps, "Invalid value: exactly one value must be specified")


def _check_value(errors: Errors, steps: Steps, kind: str, value: Any) -> None:
    if kind not in ("string", "version") or not isinstance(value, str):
        return
    if kind == "version" and errors.release.version_digits_limited:
        if not _SHORT_SEMVER.fullmatch(value):
            errors.invalid(steps, value, f"{_WORDS}, with at most 18 digits in numbers")
    elif kind == "version" and not _SEMVER.fullmatch(value):
        errors.invalid(steps, value, _WORDS)
    if size(value) > MAX_VALUE:
        errors.too_long(steps, MAX_VALUE)

"""Attributes and capacities of devices, beyond their schema."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, Final

from dragoman.linting.findings.finding import Steps
from dragoman.linting.manifests.objects import mapping, sequence, text
from dragoman.linting.validation.errors import Errors
from dragoman.linting.validation.names import size
from dragoman.linting.validation.quantities import amount

MAX_VALUE: Final = 64
MAX_OPTIONS: Final = 10
_KINDS: Final = ("bool", "int", "string", "version", "bools", "ints", "strings", "versions")
_NUMBER: Final = r"(0|[1-9]\d*)"
_PRERELEASE: Final = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMVER: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)


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
    if kind == "version" and not _SEMVER.fullmatch(value):
        errors.invalid(steps, value, "must be a string compatible with semver.org spec 2.0.0")
    if size(value) > MAX_VALUE:
        errors.too_long(steps, MAX_VALUE)


def check_capacity(errors: Errors, steps: Steps, capacity: dict[str, Any], *, shared: bool) -> None:
    """Check the policy of a capacity.

    Args:
        errors: where errors go.
        steps: the capacity.
        capacity: its fields.
        shared: whether several allocations may share the device.
    """
    policy = capacity.get("requestPolicy")
    if not isinstance(policy, dict):
        return
    place = (*steps, "requestPolicy")
    if not shared:
        errors.forbidden(place, "allowMultipleAllocations must be true")
        return
    options, interval = sequence(policy.get("validValues")), policy.get("validRange")
    default = policy.get("default")
    if options and isinstance(interval, dict):
        detail = (
            "exactly one policy can be specified, cannot specify"
            ' "validValues" and "validRange" at the same time'
        )
        errors.forbidden(place, detail)
    elif options or isinstance(interval, dict):
        name = "validValues" if options else "validRange"
        if default is None:
            errors.required((*place, "default"), f"required when {name} is defined")
        elif options:
            _check_options(errors, (*place, name), options, default, capacity.get("value"))
        else:
            _check_range(errors, (*place, name), mapping(interval), default, capacity.get("value"))


def _check_options(
    errors: Errors, steps: Steps, options: list[Any], default: Any, most: Any
) -> None:
    amounts = [amount(option) for option in options]
    for index in range(len(amounts) - 1):
        if amounts[index] > amounts[index + 1]:
            detail = "values must be sorted in ascending order"
            errors.invalid((*steps, index + 1), options[index + 1], detail)

    def option(at: Steps, value: Any) -> None:
        if amount(value) > amount(most):
            errors.invalid(at, value, f"option is larger than capacity value: {most}")

    errors.entries(steps, options, MAX_OPTIONS, option, lambda value: _whole(amount(value)))
    # A list that is too long is not looked into, so that the default is not found in it either.
    if len(options) > MAX_OPTIONS or amount(default) not in amounts:
        errors.invalid(steps, default, "default value is not valid according to the requestPolicy")


def _whole(value: Fraction) -> int:
    """Round up, as Quantity.Value does."""
    return -(-value.numerator // value.denominator)


def _check_range(
    errors: Errors, steps: Steps, interval: dict[str, Any], default: Any, most: Any
) -> None:
    low, high, step = interval.get("min"), interval.get("max"), interval.get("step")
    if low is None:
        errors.required((*steps, "min"), "required when validRange is defined")
        return
    if amount(low) > amount(most):
        errors.invalid((*steps, "min"), low, f"min is larger than capacity value: {most}")
    if amount(default) < amount(low):
        errors.invalid((*steps, "min"), default, f"default is less than min: {low}")
    if high is not None:
        if amount(low) > amount(high):
            errors.invalid((*steps, "max"), low, f"min is larger than max: {high}")
        if amount(high) > amount(most):
            errors.invalid((*steps, "max"), high, f"max is larger than capacity value: {most}")
        if amount(default) > amount(high):
            errors.invalid((*steps, "max"), default, f"default is more than max: {high}")
    if step is not None:
        _check_step(errors, (*steps, "step"), (low, step, most), [default, high])


def _check_step(
    errors: Errors, steps: Steps, bounds: tuple[Any, Any, Any], values: list[Any]
) -> None:
    low, step, most = bounds
    if amount(low) + amount(step) > amount(most):
        errors.invalid(steps, step, f"one step is larger than capacity value: {most}")
    for value in values:
        if value is None or _whole(amount(step)) == 0:
            continue
        if (_whole(amount(value)) - _whole(amount(low))) % _whole(amount(step)):
            detail = f"value is not a multiple of a given step ({step}) from ({low})"
            errors.invalid(steps, text(value) or value, detail)

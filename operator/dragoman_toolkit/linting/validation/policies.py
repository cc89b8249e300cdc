"""Capacities of devices and their request policies, beyond their schema."""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dragoman_toolkit.linting.findings.finding import Steps
from dragoman_toolkit.linting.manifests.manifestobjects import mapping, sequence, text
from dragoman_toolkit.linting.validation.errors import Errors

_FORM = re.compile(r"([+-]?[0-9.]+)([KMGTPE]i|[numkMGTPE]|[eE]([+-]?[0-9]{1,3}))?", re.ASCII)
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def amount(value: Any) -> Fraction:
    """Return the amount of a quantity; 0 for what is none, which the schema reports."""
    match = _FORM.fullmatch(str(value)) if not isinstance(value, bool) else None
    if match is None or match[1].count(".") > 1 or match[1].strip("+-") == ".":
        return Fraction(0)
    number, suffix = Fraction(match[1].strip("+").rstrip(".") or "0"), match[2] or ""
    if match[3] is not None:
        return number * _ten(int(match[3]))
    if suffix in _BINARY:
        return number * (1 << 10 * _BINARY[suffix])
    return number * _ten(_POWERS.get(suffix, 0))


def _ten(power: int) -> Fraction:
    return Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)


MAX_OPTIONS = 10
MAX_INT64 = 2**63 - 1
MILLI = Fraction(1, 1000)
FINER = "value cannot be represented as a milli value"
LARGER = f"must not be larger than {MAX_INT64}"


def check_capacity(errors: Errors, steps: Steps, capacity: dict[str, Any], *, shared: bool) -> None:
    """Check the policy of a capacity.

    Args:
        errors: Where errors go.
        steps: The capacity.
        capacity: Its fields.
        shared: Whether several allocations may share the device.
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

    key = _exactly if errors.release.policies_fractional else lambda value: _whole(amount(value))
    errors.entries(steps, options, MAX_OPTIONS, option, key)
    # A list that is too long is not looked into, so that the default is not found in it either.
    if len(options) > MAX_OPTIONS or amount(default) not in amounts:
        errors.invalid(steps, default, "default value is not valid according to the requestPolicy")


def _exactly(value: Any) -> Any:
    """Return what makes two options the same; equal amounts of different digits are not."""
    fraction = "." in str(value) or str(value).endswith(("n", "u", "m"))
    return str(value) if fraction else amount(value)


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
    _check_bounds(errors, steps, (low, high, default), most)
    values = {"default": default, "min": low, "max": high, "step": step}
    unit = _unit(errors, values)
    if unit != 1 and _refused(errors, steps, values, _is_milli, FINER):
        return
    if step is None:
        return
    exact = errors.release.policies_exact
    # Before 1.37 the API server divides by it, and ends the connection.
    if amount(step) <= 0 if exact else _whole(amount(step)) == 0:
        errors.invalid((*steps, "step"), step, "must be greater than zero")
        return
    if amount(low) + amount(step) > amount(most):
        detail = f"one step is larger than capacity value: {most}"
        errors.invalid((*steps, "step"), step, detail)
    if exact and unit == 1 and _refused(errors, steps, values, _is_int64, LARGER):
        return
    _check_steps(errors, (*steps, "step"), (low, step, unit), [default, high])


def _check_bounds(errors: Errors, steps: Steps, bounds: tuple[Any, Any, Any], most: Any) -> None:
    low, high, default = bounds
    own = "default" if errors.release.policies_exact else ""
    if amount(low) > amount(most):
        errors.invalid((*steps, "min"), low, f"min is larger than capacity value: {most}")
    if amount(default) < amount(low):
        errors.invalid((*steps, own or "min"), default, f"default is less than min: {low}")
    if high is None:
        return
    if amount(low) > amount(high):
        errors.invalid((*steps, "max"), low, f"min is larger than max: {high}")
    if amount(high) > amount(most):
        errors.invalid((*steps, "max"), high, f"max is larger than capacity value: {most}")
    if amount(default) > amount(high):
        errors.invalid((*steps, own or "max"), default, f"default is more than max: {high}")


def _unit(errors: Errors, values: dict[str, Any]) -> Fraction:
    """Return in what the API server counts: thousandths where a value has a fraction."""
    whole = all(amount(one).denominator == 1 for one in values.values())
    return Fraction(1) if whole or not errors.release.policies_fractional else MILLI


def _is_milli(value: Fraction) -> bool:
    return (value / MILLI).denominator == 1


def _is_int64(value: Fraction) -> bool:
    return value <= MAX_INT64


def _refused(
    errors: Errors,
    steps: Steps,
    values: dict[str, Any],
    takes: Callable[[Fraction], bool],
    detail: str,
) -> bool:
    """Report the bounds of a range with which the API server does not compute."""
    refused = {
        name: value
        for name, value in values.items()
        if value is not None and not takes(amount(value))
    }
    for name, value in refused.items():
        errors.invalid((*steps, name), value, detail)
    return bool(refused)


def _check_steps(
    errors: Errors, steps: Steps, bounds: tuple[Any, Any, Fraction], values: list[Any]
) -> None:
    low, step, unit = bounds

    def count(value: Any) -> int:
        return _whole(amount(value) / unit)

    for value in values:
        if value is not None and (count(value) - count(low)) % count(step):
            detail = f"value is not a multiple of a given step ({step}) from ({low})"
            errors.invalid(steps, text(value) or value, detail)

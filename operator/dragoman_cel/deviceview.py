"""Devices as selectors see them, converted from the API's JSON form.

Source: k8s.io/dynamic-resource-allocation/cel, KEP-4381, KEP-5491 (list attributes).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from dragoman_base.versions import Release
from dragoman_cel.data import DefaultMap, Invalid, PartialMap
from dragoman_cel.errors import OperationError
from dragoman_cel.values.quantity import Quantity
from dragoman_cel.values.quantityparser import parse_quantity
from dragoman_cel.values.semver import parse_semver

_LISTS = ("ints", "bools", "strings")


class Device:
    """A device with converted attributes, for many evaluations.

    Attributes:
        value: The value of the variable `device`.
        failure: The error of every selector on this device, None without one.
    """

    __slots__ = ("failure", "value")

    def __init__(self, value: dict[str, Any] | None, failure: OperationError | None) -> None:
        self.value = value
        self.failure = failure

    @property
    def error(self) -> OperationError:
        """Return a new exception with the device's failure, since threads must not share one."""
        assert self.failure is not None
        return OperationError(self.failure.message)


def prepare(
    device: Mapping[str, Any],
    release: Release,
    *,
    driver: str = "",
    list_attributes: bool = False,
) -> Device:
    """Convert a device of the API; an error becomes the `failure` of the result.

    Args:
        device: `attributes` (name to one of int, bool, string, version or a list of them),
            `capacity` (name to `{"value": quantity}`), `allowMultipleAllocations`.
        release: What evaluates.
        driver: Name of the driver, the domain of names without one.
        list_attributes: Feature gate DRAListTypeAttributes; without it, a device with a list
            attribute fails every selector.
    """
    try:
        if release.attributes_lazy:
            return Device(_lazy_variable(device, driver), None)
        return Device(_variable(device, driver, list_attributes=list_attributes), None)
    except OperationError as error:
        return Device(None, error)
    except (AttributeError, TypeError):
        return Device(None, OperationError("the device has not the form of the API"))


def _variable(device: Mapping[str, Any], driver: str, *, list_attributes: bool) -> dict[str, Any]:
    """Return the value of the variable `device`.

    Raises:
        OperationError: An attribute or a capacity is invalid.
        AttributeError: The device lacks objects where the API has them.
        TypeError: The device lacks objects where the API has them.
    """
    attributes = DefaultMap()
    own: dict[str, Any] = {}
    for name, attribute in (device.get("attributes") or {}).items():
        values, local = own, name
        if "/" in name:
            domain, _, local = name.partition("/")
            values = own if domain == driver else attributes.setdefault(domain, {})
        for kind, value in attribute.items():
            if type(value) is _SCALARS.get(kind):
                values[local] = value
                break
        else:
            try:
                values[local] = _attribute(attribute, list_attributes=list_attributes)
            except OperationError as error:
                raise _about(f"attribute {name}", error) from None
    if own:
        attributes[driver] = own
    return {
        "driver": driver,
        "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
        "attributes": attributes,
        "capacity": _capacities(device.get("capacity") or {}, driver),
    }


def _lazy_variable(device: Mapping[str, Any], driver: str) -> dict[str, Any]:
    """Return the value of the variable `device` as 1.38 has it; raises as `_variable`."""
    attributes = DefaultMap()
    given = device.get("attributes") or {}
    for name, attribute in given.items():
        domain, slash, local = name.partition("/")
        if not slash:
            domain, local = driver, name
            if f"{driver}/{name}" in given:
                continue  # the qualified name counts
        value = _usable(attribute, local)
        values = attributes.setdefault(domain, {})
        if type(value) is Invalid and type(values) is dict:
            values = attributes[domain] = PartialMap(values)
        values[local] = value
    capacity = device.get("capacity") or {}
    named = {
        name: value
        for name, value in capacity.items()
        if "/" in name or f"{driver}/{name}" not in capacity
    }
    return {
        "driver": driver,
        "allowMultipleAllocations": bool(device.get("allowMultipleAllocations")),
        "attributes": attributes,
        "capacity": _capacities(named, driver),
    }


Part = tuple[str, ...]
"""A part of a device that a selector reads, see `Selector.reads`."""


def narrow(device: Mapping[str, Any], driver: str, parts: Iterable[Part]) -> Device:
    """Convert parts of a device, as `prepare` converts all of it from 1.38 on."""
    found: dict[str, DefaultMap] = {"attributes": DefaultMap(), "capacity": DefaultMap()}
    try:
        for section, domain, local in parts:
            given = device.get(section) or _EMPTY
            name = f"{domain}/{local}"
            raw = given.get(name)
            if raw is None and domain == driver:
                name, raw = local, given.get(local)
            if raw is None:
                continue
            value = _quantity(name, raw) if section == "capacity" else _usable(raw, local)
            values = found[section].get(domain)
            if values is None or (type(value) is Invalid and type(values) is dict):
                kind = PartialMap if type(value) is Invalid else dict
                values = found[section][domain] = kind(values or ())
            values[local] = value
        shareable = bool(device.get("allowMultipleAllocations"))
    except OperationError as error:
        return Device(None, error)
    except (AttributeError, TypeError):
        return Device(None, OperationError("the device has not the form of the API"))
    return Device({"driver": driver, "allowMultipleAllocations": shareable, **found}, None)


_EMPTY: Mapping[str, Any] = {}


def _usable(attribute: Mapping[str, Any], name: str) -> Any:
    """Return the value of an attribute, `Invalid` without a usable one."""
    if len(attribute) == 1:
        ((kind, value),) = attribute.items()
        if type(value) is _SCALARS.get(kind):
            return value
    for kind, of in _SCALARS.items():
        value = attribute.get(kind)
        if value is not None:
            return value if type(value) is of else _unusable(name)
    try:
        version = attribute.get("version")
        if version is not None:
            return _version(version)
        for kind in (*_LISTS, "versions"):
            values = attribute.get(kind)
            if values:
                return list(map(_version, values)) if kind == "versions" else list(values)
    except OperationError:
        pass
    return _unusable(name)


def _unusable(name: str) -> Invalid:
    return Invalid(
        f"attribute {name}: value is invalid or its type is not supported by this version"
    )


def _about(part: str, error: OperationError) -> OperationError:
    return OperationError(f"{part}: {error.message}")


_SCALARS = {"int": int, "bool": bool, "string": str}


def _attribute(attribute: Mapping[str, Any], *, list_attributes: bool) -> Any:
    """Return the value of a version or list attribute.

    Raises:
        OperationError: An invalid version, or a kind of value that needs a feature gate.
    """
    version = attribute.get("version")
    if version is not None:
        return _version(version)
    if list_attributes:
        for kind in _LISTS:
            values = attribute.get(kind)
            if values is not None:
                return list(values)
        versions = attribute.get("versions")
        if versions is not None:
            return list(map(_version, versions))
    raise OperationError("unsupported attribute value")


# Devices repeat the same few versions and quantities, and both are immutable.
_parsed_semver = lru_cache(4096)(parse_semver)
_parsed_quantity = lru_cache(4096)(parse_quantity)


def _version(text: Any) -> Any:
    if type(text) is not str:
        raise OperationError("unsupported attribute value")
    try:
        return _parsed_semver(text)
    except OperationError as error:
        raise OperationError(f"parse semantic version: {error.message}") from None


def _capacities(capacities: Mapping[str, Any], driver: str) -> DefaultMap:
    found = DefaultMap()
    for name, capacity in capacities.items():
        domain, local = driver, name
        if "/" in name:
            domain, _, local = name.partition("/")
        values = found.setdefault(domain, {})
        values[local] = _quantity(name, capacity)
    return found


def _quantity(name: str, capacity: Any) -> Quantity:
    text = capacity.get("value") if isinstance(capacity, Mapping) else capacity
    # The API accepts integers as well.
    if type(text) is not str and type(text) is not int:
        raise OperationError(f"capacity {name}: unsupported capacity value")
    try:
        return _parsed_quantity(str(text))
    except OperationError as error:
        raise _about(f"capacity {name}", error) from None

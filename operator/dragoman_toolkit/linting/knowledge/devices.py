"""Known devices: facts about drivers that are shipped, and devices of given slices.

The shipped facts in `data/devices.json` name, for a release of each driver, the attributes and
capacities of each sort of device. `?` marks those that the driver's code leaves out for some
devices, `since` and `until` the first and the last release that publishes one.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from dragoman_toolkit.linting.manifests.manifestobjects import mapping, sequence, text

ATTRIBUTES = "attributes"
CAPACITY = "capacity"
MAX_DEVICES = 4096
"""Devices of given slices that selectors are evaluated on."""

COMMON = "resource.kubernetes.io"
"""The domain of Kubernetes itself, for names that drivers share."""


@dataclass(frozen=True, slots=True)
class Sort:
    """One sort of devices of a driver."""

    driver: str  # The driver
    release: str  # Where the facts come from, such as `v25.12.0`.
    when: Mapping[str, str]  # Values that every device of this sort has
    attributes: Mapping[tuple[str, str], str]  # Type by domain and name
    capacity: frozenset[tuple[str, str]]  # Domains and names
    sometimes: frozenset[tuple[str, str]]  # Those of both that only some devices of the sort have
    # The last release that publishes an attribute, where newer ones do not
    until: Mapping[tuple[str, str], str] = field(default_factory=dict)
    local: bool = False  # Whether each device belongs to one node

    @property
    def title(self) -> str:
        """The driver, with the attributes by which its sorts of devices differ."""
        when = ", ".join(f"{name} {value}" for name, value in self.when.items())
        return f"{self.driver} ({when})" if when else f"some of {self.driver}"

    def knows(self, part: str, name: tuple[str, str]) -> bool:
        """Tell whether some devices of the sort have an attribute or capacity."""
        return name in (self.attributes if part == ATTRIBUTES else self.capacity)

    def always(self, part: str, name: tuple[str, str]) -> bool:
        """Tell whether every device of the sort has an attribute or capacity."""
        return self.knows(part, name) and name not in self.sometimes


@dataclass(frozen=True, slots=True)
class Given:
    """One device of a given slice."""

    driver: str  # Its driver
    title: str  # `driver/pool/device`
    body: dict[str, Any]  # Its fields in the form of v1
    local: bool = False  # Whether it belongs to one node


@dataclass(frozen=True)
class KnownDevices:
    """All known devices."""

    given: tuple[Given, ...] = ()  # Those of given slices; empty where none were given

    @cached_property
    def sorts(self) -> tuple[Sort, ...]:
        """What is known, given slices before shipped facts of the same driver."""
        own = tuple(_sort(device) for device in self.given)
        drivers = {one.driver for one in own}
        return (*own, *(one for one in shipped() if one.driver not in drivers))

    @cached_property
    def domains(self) -> Mapping[str, tuple[Sort, ...]]:
        """The sorts of devices by the domains of their attributes and capacities."""
        found: dict[str, list[Sort]] = {}
        for one in self.sorts:
            for domain in {domain for domain, _ in (*one.attributes, *one.capacity)}:
                found.setdefault(domain, []).append(one)
        return {domain: tuple(sorts) for domain, sorts in found.items()}

    @cached_property
    def drivers(self) -> frozenset[str]:
        """Names of the known drivers."""
        return frozenset(one.driver for one in self.sorts)

    def local(self, drivers: Iterable[str]) -> bool:
        """Tell whether all devices of drivers belong to one node each, by facts or given slices."""
        wanted = set(drivers)
        found = {one.driver for one in self.sorts if one.local}
        others = {one.driver for one in self.sorts if not one.local}
        return bool(wanted) and wanted <= found - others

    def names(self, domain: str, part: str) -> set[str]:
        """Return the names of the attributes or capacities of a domain."""
        found: set[str] = set()
        for one in self.domains.get(domain, ()):
            known: Iterable[tuple[str, str]] = (
                one.attributes if part == ATTRIBUTES else one.capacity
            )
            found |= {name for where, name in known if where == domain}
        return found

    def types(self, domain: str, name: str) -> set[str]:
        """Return the types that an attribute has."""
        return {
            one.attributes[domain, name]
            for one in self.domains.get(domain, ())
            if (domain, name) in one.attributes
        }


def common(domain: str) -> bool:
    """Tell whether a domain belongs to Kubernetes itself."""
    return domain == COMMON


@cache
def shipped() -> tuple[Sort, ...]:
    """Return the shipped facts."""
    folder = Path(__file__).parent / "data"
    facts = json.loads((folder / "devices.json").read_text(encoding="utf-8"))
    return tuple(_shipped_sort(driver, one) for driver in facts for one in driver["variants"])


def _shipped_sort(driver: Mapping[str, Any], variant: Mapping[str, Any]) -> Sort:
    name = driver["driver"]
    words = {_split(name, key): written for key, written in variant["attributes"].items()}
    attributes = {key: written.partition(" ")[0] for key, written in words.items()}
    capacity = {_split(name, key.rstrip("?")): key for key in variant["capacity"]}
    sometimes = {key for key, kind in attributes.items() if kind.endswith("?")}
    sometimes |= {key for key, written in capacity.items() if written.endswith("?")}
    plain = {key: kind.rstrip("?") for key, kind in attributes.items()}
    until = {
        key: written.partition(" until ")[2]
        for key, written in words.items()
        if " until " in written
    }
    return Sort(
        name,
        driver["release"],
        dict(variant["when"]),
        plain,
        frozenset(capacity),
        frozenset(sometimes),
        until,
        driver.get("nodeLocal", False),
    )


def _split(driver: str, name: str) -> tuple[str, str]:
    domain, slash, rest = name.partition("/")
    return (domain, rest) if slash else (driver, name)


def _sort(device: Given) -> Sort:
    attributes = mapping(device.body.get("attributes"))
    kinds = {
        _split(device.driver, name): next(iter(mapping(value)), "")
        for name, value in attributes.items()
    }
    capacity = {_split(device.driver, name) for name in mapping(device.body.get("capacity"))}
    nothing: frozenset[tuple[str, str]] = frozenset()
    return Sort(
        device.driver, "given slices", {}, kinds, frozenset(capacity), nothing, local=device.local
    )


def given(slices: Iterable[dict[str, Any]]) -> Iterator[Given]:
    """Yield the devices of ResourceSlices of any version, at most `MAX_DEVICES`."""
    count = 0
    for one in slices:
        spec = mapping(one.get("spec"))
        driver, pool = text(spec.get("driver")), text(mapping(spec.get("pool")).get("name"))
        for device in map(mapping, sequence(spec.get("devices"))):
            if count >= MAX_DEVICES:
                return
            count += 1
            body = {**device, **mapping(device.get("basic"))}
            local = bool(spec.get("nodeName") or body.get("nodeName"))
            yield Given(driver, f"{driver}/{pool}/{text(device.get('name'))}", body, local)

"""What a snapshot without names keeps of drivers: published facts that selectors compare with."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.inventory.snapshots.documents import Document
from dragoman.inventory.snapshots.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PublishedNames:
    """Names that stay."""

    drivers: frozenset[str]  # That publish slices, allocated devices or have a DriverConfigSchema
    devices: frozenset[str]  # In slices and allocations
    attributes: frozenset[str]  # With and without their domain
    capacities: frozenset[str]  # With and without their domain
    classes: frozenset[str]  # Of DeviceClasses in the domain of a driver's vendor
    managers: frozenset[str]  # Programs that wrote slices

    @property
    def words(self) -> frozenset[str]:
        """What the strings of an expression may name besides values."""
        domains = {name.partition("/")[0] for name in self.attributes | self.capacities}
        return self.drivers | self.attributes | self.capacities | domains


def published_names(snapshot: Snapshot) -> PublishedNames:
    """Find what drivers publish; objects of any shape may come."""
    drivers, devices = set[str](), set[str]()
    attributes, capacities = set[str](), set[str]()
    for spec in (one.get("spec") for one in snapshot.of("resourceslices")):
        driver = _text(spec, "driver")
        drivers.add(driver)
        for device in _items(spec, "devices"):
            devices.add(_text(device, "name"))
            attributes.update(_qualified(device, "attributes", driver))
            capacities.update(_qualified(device, "capacity", driver))
    for claim in snapshot.of("resourceclaims"):
        for result in _results(claim):
            drivers.add(_text(result, "driver"))
            devices.add(_text(result, "device"))
    drivers.update(_text(one.get("spec"), "driver") for one in snapshot.of("driverconfigschemas"))
    return PublishedNames(
        frozenset(drivers),
        frozenset(devices),
        frozenset(attributes),
        frozenset(capacities),
        frozenset(_vendor_classes(snapshot, drivers)),
        frozenset(_managers(snapshot)),
    )


def _vendor_classes(snapshot: Snapshot, drivers: set[str]) -> Iterator[str]:
    """Yield classes such as `mig.nvidia.com` of driver `gpu.nvidia.com`, whose chart has them."""
    domains = {name.partition(".")[2] for name in drivers} | drivers
    vendors = [re.escape(one) for one in domains if "." in one]
    pattern = re.compile(rf"(?:[a-z0-9-]+\.)*(?:{'|'.join(vendors) or '(?!)'})")
    # Where two classes are as old, the name decides which one serves a resource: both get tokens.
    ages = Counter(map(_age, snapshot.of("deviceclasses")))
    for one in snapshot.of("deviceclasses"):
        name = _text(one.get("metadata"), "name")
        if pattern.fullmatch(name) and (not _age(one)[0] or ages[_age(one)] == 1):
            yield name


def _age(document: Document) -> tuple[str, str]:
    resource = _text(document.get("spec"), "extendedResourceName")
    return resource, _text(document.get("metadata"), "creationTimestamp")


def _managers(snapshot: Snapshot) -> Iterator[str]:
    for one in snapshot.of("resourceslices"):
        for entry in _items(one.get("metadata"), "managedFields"):
            if name := _text(entry, "manager"):
                yield name


def _results(claim: Document) -> list[Any]:
    status = claim.get("status")
    allocation = status.get("allocation") if isinstance(status, Mapping) else None
    devices = allocation.get("devices") if isinstance(allocation, Mapping) else None
    return _items(devices, "results")


def _qualified(device: Any, key: str, driver: str) -> Iterator[str]:
    found = device.get(key) if isinstance(device, Mapping) else None
    for name in found if isinstance(found, Mapping) else ():
        yield name
        yield name if "/" in name else f"{driver}/{name}"
        yield name.rpartition("/")[2]


def _items(document: Any, key: str) -> list[Any]:
    found = document.get(key) if isinstance(document, Mapping) else None
    return found if isinstance(found, list) else []


def _text(document: Any, key: str) -> str:
    found = document.get(key) if isinstance(document, Mapping) else None
    return found if isinstance(found, str) else ""

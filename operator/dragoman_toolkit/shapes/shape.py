"""The format NodeShape: how a file is read, with an error that names the field."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

API_VERSION = "cli.dragoman.dev/v1alpha1"
KIND = "NodeShape"
Document = Mapping[str, Any]
MAX_DEVICES = 4096
"""Devices of one machine."""
_VALUES: Mapping[str, type] = {"string": str, "version": str, "int": int, "bool": bool}
_TYPES = frozenset({*_VALUES, *(f"{one}s" for one in _VALUES), "unknown"})
"""With `s`: a list of such values (DRAListTypeAttributes)."""
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
_POOL_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?")
_SHAPE_FIELDS = frozenset(
    {
        *("apiVersion", "kind", "metadata", "provider", "machineType", "machineTypeEvidence"),
        *("match", "node", "devicePlugin", "kubernetes", "pools"),
    }
)
_POOL_FIELDS = frozenset(
    {
        *(
            "driver",
            "name",
            "evidence",
            "complete",
            "count",
            "missing",
            "source",
            "recorded",
            "note",
        ),
        *("notRecorded", "notRecordedNote", "equalities", "common", "devices", "sharedCounters"),
    }
)
_DEVICE_FIELDS = frozenset(
    {
        *("name", "attributes", "capacity", "allowMultipleAllocations", "consumesCounters"),
    }
)


class ShapeError(ValueError):
    """A file is no shape; the message names the field and what was expected."""


@dataclass(frozen=True, slots=True)
class ShapePool:
    """What one driver publishes on a machine."""

    driver: str
    devices: tuple[Document, ...]  # As ResourceSlices have them, with what they have in common
    # What the name of the pool has beside the node's; empty for the driver's only or first one
    name: str = ""
    evidence: str = "recorded"  # `recorded` from a dump, `stated` from a vendor's table
    complete: bool = True  # Whether all devices are recorded
    count: int = 0  # Devices of the machine where more are there than were recorded; else 0
    missing: str = ""  # What was not recorded, in words
    source: str = ""  # Where the values come from
    recorded: str = ""  # When, as a date; empty where that is not known
    unknown: Mapping[str, str] = field(default_factory=dict)  # Attributes that differ by machine
    equalities: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    common: Document = field(default_factory=dict)  # `attributes` and `capacity` of all devices
    counters: tuple[Document, ...] = ()  # Entries of `sharedCounters`

    @property
    def total(self) -> int:
        """How many devices the machine has, as far as that is known."""
        return max(self.count, len(self.devices))


@dataclass(frozen=True, slots=True)
class Shape:
    """One machine type."""

    name: str
    provider: str
    machine: str  # Machine type
    pools: tuple[ShapePool, ...]
    document: Document  # The file
    architecture: str = "amd64"
    capacity: Mapping[str, str] = field(default_factory=dict)  # Nominal; empty where not known
    plugin: Mapping[str, int] = field(default_factory=dict)  # Resources that the plug-in publishes
    kubernetes: str = ""  # Version of the recording

    @property
    def whole(self) -> bool:
        """Whether all devices of all pools are recorded."""
        return all(one.complete for one in self.pools)


class _Reader:
    """Reads one file; every error names the field."""

    def __init__(self, origin: str) -> None:
        self.origin = origin

    def fail(self, place: str, expected: str) -> ShapeError:
        return ShapeError(f"{self.origin}: {place}: expected {expected}")

    def mapping(self, value: Any, field: str) -> Document:
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.fail(field, "an object")
        return value

    def items(self, value: Any, field: str) -> Iterator[tuple[str, Document]]:
        if value is None:
            return
        if not isinstance(value, list) or len(value) > MAX_DEVICES:
            raise self.fail(field, f"a list of at most {MAX_DEVICES} objects")
        for index, one in enumerate(value):
            yield f"{field}[{index}]", self.mapping(one, f"{field}[{index}]")

    def text(self, document: Document, name: str, within: str = "") -> str:
        value = document.get(name, "")
        if not isinstance(value, str):
            raise self.fail(within + name, "a text")
        return value

    def known(self, document: Document, fields: frozenset[str], within: str = "") -> None:
        for name in document:
            if name not in fields:
                raise ShapeError(
                    f"{self.origin}: {within}{name}: unknown field; there are "
                    f"{', '.join(sorted(fields))}"
                )

    def shape(self, document: Document) -> Shape:
        if (document.get("apiVersion"), document.get("kind")) != (API_VERSION, KIND):
            raise self.fail("apiVersion and kind", f"{API_VERSION} and {KIND}")
        self.known(document, _SHAPE_FIELDS)
        name = self.text(self.mapping(document.get("metadata"), "metadata"), "name", "metadata.")
        if not _NAME.fullmatch(name):
            raise self.fail("metadata.name", "letters, digits, `.`, `_` and `-`")
        node = self.mapping(document.get("node"), "node")
        plugin = self.mapping(document.get("devicePlugin"), "devicePlugin")
        for resource, count in plugin.items():
            if type(count) is not int or count < 0:
                raise self.fail(f"devicePlugin.{resource}", "a number of devices")
        pools = tuple(
            self.pool(one, within) for within, one in self.items(document.get("pools"), "pools")
        )
        if not pools:
            raise self.fail("pools", "at least one pool")
        if len({(one.driver, one.name) for one in pools}) < len(pools):
            raise self.fail("pools", "pools of one driver with different names")
        capacity = self.mapping(node.get("capacity"), "node.capacity")
        return Shape(
            name,
            self.text(document, "provider"),
            self.text(document, "machineType"),
            pools,
            document,
            self.text(node, "architecture", "node.") or "amd64",
            {str(key): str(value) for key, value in capacity.items()},
            {str(key): value for key, value in plugin.items()},
            self.text(document, "kubernetes"),
        )

    def pool(self, document: Document, within: str) -> ShapePool:
        self.known(document, _POOL_FIELDS, f"{within}.")
        driver = self.text(document, "driver", f"{within}.")
        if not driver:
            raise self.fail(f"{within}.driver", "the name of a driver")
        common = self.mapping(document.get("common"), f"{within}.common")
        self.values(common, f"{within}.common")
        devices = tuple(
            self.device(one, common, field)
            for field, one in self.items(document.get("devices"), f"{within}.devices")
        )
        names = [one["name"] for one in devices]
        if len(set(names)) < len(names):
            raise self.fail(f"{within}.devices", "devices of different names")
        count = document.get("count", 0)
        if type(count) is not int or not 0 <= count <= MAX_DEVICES:
            raise self.fail(f"{within}.count", f"a number up to {MAX_DEVICES}")
        unknown = self.mapping(document.get("notRecorded"), f"{within}.notRecorded")
        for attribute, kind in unknown.items():
            if not isinstance(kind, str) or kind not in _TYPES:
                field = f"{within}.notRecorded.{attribute}"
                raise self.fail(field, f"one of {', '.join(sorted(_TYPES))}")
        own = self.text(document, "name", f"{within}.")
        if own and not _POOL_NAME.fullmatch(own):
            raise self.fail(f"{within}.name", "small letters, digits and `-`")
        return ShapePool(
            driver,
            devices,
            own,
            self.text(document, "evidence", f"{within}.") or "recorded",
            document.get("complete") is not False,
            count,
            self.text(document, "missing", f"{within}."),
            self.text(document, "source", f"{within}."),
            str(document.get("recorded") or ""),
            {str(key): str(kind) for key, kind in unknown.items()},
            self.equalities(document, within, frozenset(names)),
            common,
            tuple(
                one
                for _, one in self.items(document.get("sharedCounters"), f"{within}.sharedCounters")
            ),
        )

    def device(self, document: Document, common: Document, within: str) -> Document:
        self.known(document, _DEVICE_FIELDS, f"{within}.")
        if not self.text(document, "name", f"{within}."):
            raise self.fail(f"{within}.name", "the name of a device")
        self.values(document, within)
        merged = {
            part: {**self.mapping(common.get(part), part), **(document.get(part) or {})}
            for part in ("attributes", "capacity")
        }
        return {**document, **{part: found for part, found in merged.items() if found}}

    def values(self, document: Document, within: str) -> None:
        attributes = self.mapping(document.get("attributes"), f"{within}.attributes")
        for name, value in attributes.items():
            field = f"{within}.attributes.{name}"
            entry = self.mapping(value, field)
            if len(entry) != 1 or not all(_is_value(str(kind), one) for kind, one in entry.items()):
                kinds = ", ".join(f"{{{one}: …}}, {{{one}s: […]}}" for one in _VALUES)
                raise self.fail(field, f"one of {kinds}")
        capacity = self.mapping(document.get("capacity"), f"{within}.capacity")
        for name, value in capacity.items():
            field = f"{within}.capacity.{name}"
            if not isinstance(self.mapping(value, field).get("value"), str):
                raise self.fail(field, "{value: QUANTITY}")

    def equalities(
        self, document: Document, within: str, names: frozenset[str]
    ) -> dict[str, tuple[tuple[str, ...], ...]]:
        found: dict[str, tuple[tuple[str, ...], ...]] = {}
        for place, one in self.items(document.get("equalities"), f"{within}.equalities"):
            groups = one.get("groups")
            if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
                raise self.fail(f"{place}.groups", "lists of names of devices")
            for group in groups:
                for name in group:
                    if not isinstance(name, str) or name not in names:
                        raise self.fail(f"{place}.groups", f"names of devices, found {name!r}")
            attribute = self.text(one, "attribute", f"{place}.")
            found[attribute] = tuple(tuple(map(str, group)) for group in groups)
        return found


def _is_value(kind: str, value: Any) -> bool:
    """Whether a value of an attribute is of its kind; kinds of lists end with `s`."""
    if kind in _VALUES:
        return type(value) is _VALUES[kind]
    single = _VALUES.get(kind.removesuffix("s"))
    listed = single is not None and isinstance(value, list)
    return listed and all(type(one) is single for one in value)


def parse(tree: Any, origin: str) -> Shape:
    """Read a shape.

    Args:
        tree: The file's document.
        origin: The file, for messages.

    Raises:
        ShapeError: A field has another form; the message names it.
    """
    if not isinstance(tree, Mapping):
        raise ShapeError(f"{origin}: expected one object of kind {KIND}")
    return _Reader(origin).shape(tree)

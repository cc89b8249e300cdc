"""Holds: the objects that keep devices out of service, DeviceTaintRules and held claims.

A DeviceTaintRule (KEP-5055) taints devices. Where rules are not served, a held claim stands in: a
ResourceClaim without consumers whose allocation names the device, so that the scheduler counts the
device as in use.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dragoman.inventory.snapshots.documents import (
    AUTHOR,
    DEVICE,
    MAINTENANCE,
    OVERLAPPED,
    REASON,
    Document,
)
from dragoman.model.claim import HOLD_PREFIX
from dragoman.model.deviceid import DeviceID
from dragoman.model.fields import MalformedObjectError, items, mapping, optional_text, text

TAINT_KEY = "dragoman.dev/maintenance"
"""Key of the taint that `hold` and `drain` set."""
NO_SCHEDULE = "NoSchedule"
EFFECTS = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that keep new claims away."""


class HoldKind(StrEnum):
    """What an object of a hold is."""

    RULE = "rule"
    CLAIM = "claim"


@dataclass(frozen=True, slots=True)
class HoldSelector:
    """Devices that one DeviceTaintRule selects by name; empty fields match everything."""

    driver: str = ""
    pool: str = ""
    device: str = ""

    def covers(self, device: DeviceID) -> bool:
        """Whether the selector matches a device."""
        return (
            self.driver in ("", device.driver)
            and self.pool in ("", device.pool)
            and self.device in ("", device.device)
        )

    def document(self) -> dict[str, str]:
        """Return `spec.deviceSelector` of a rule."""
        parts = {"driver": self.driver, "pool": self.pool, "device": self.device}
        return {name: value for name, value in parts.items() if value}

    def __str__(self) -> str:
        return (
            "/".join(part or "*" for part in (self.driver, self.pool, self.device)).rstrip("/*")
            or "*"
        )


@dataclass(frozen=True, slots=True)
class HoldTaint:
    """Key, value and effect of a taint."""

    key: str
    value: str = ""
    effect: str = NO_SCHEDULE

    def __str__(self) -> str:
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"


HOLD_TAINT = HoldTaint(TAINT_KEY)
_TAINT = re.compile(r"([^=:\s]{1,317})(?:=([^:\s]{0,63}))?:(NoSchedule|NoExecute|None)")


def parse_taint(text: str) -> HoldTaint:
    """Read `KEY[=VALUE]:EFFECT`; raise ValueError saying what is expected.

    The API server validates key and value further; the key of maintenance belongs to `hold`.
    """
    found = _TAINT.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text!r}: expected KEY[=VALUE]:EFFECT with effect NoSchedule, NoExecute or None"
        )
    if found[1] == TAINT_KEY:
        raise ValueError(f"{TAINT_KEY} is the taint of `kubectl dra hold` and `kubectl dra drain`")
    return HoldTaint(found[1], found[2] or "", found[3])


@dataclass(frozen=True, slots=True)
class Hold:
    """A stored object that keeps devices out of service."""

    kind: HoldKind  # DeviceTaintRule or claim
    name: str  # `metadata.name`.
    selector: HoldSelector  # The devices
    namespace: str = ""  # Of a claim; empty for a rule
    uid: str = ""  # `metadata.uid`.
    taint: HoldTaint | None = None  # Of a rule
    allocated: bool = True  # Whether the allocation of a claim is written; True for a rule
    overlapped: bool = False  # Whether another claim got the device while the held claim had it
    reason: str = ""  # From the annotation, empty where unset
    author: str = ""  # From the annotation, empty where unset
    maintenance: str = ""  # Name of the DeviceMaintenance that made it, from the label
    managed: bool = True  # Whether dragoman made it
    created: str = ""  # `metadata.creationTimestamp`.

    @property
    def keeps_away(self) -> bool:
        """Whether claims without tolerations cannot get the devices."""
        return self.taint.effect in EFFECTS if self.taint else self.allocated

    def __str__(self) -> str:
        if self.kind is HoldKind.RULE:
            return f"devicetaintrule.resource.k8s.io/{self.name}"
        return f"resourceclaim.resource.k8s.io/{self.name} (namespace {self.namespace})"


class HoldIndex:
    """Holds by the devices that they cover: a target may have thousands of both.

    Args:
        holds: In any order.
    """

    def __init__(self, holds: Iterable[Hold]) -> None:
        self._exact: dict[DeviceID, list[Hold]] = {}
        self._broad: list[Hold] = []
        for hold in holds:
            selector = hold.selector
            if selector.driver and selector.pool and selector.device:
                device = DeviceID(selector.driver, selector.pool, selector.device)
                self._exact.setdefault(device, []).append(hold)
            else:
                self._broad.append(hold)

    def of(self, device: DeviceID) -> list[Hold]:
        """Return the holds that cover a device."""
        broad = (one for one in self._broad if one.selector.covers(device))
        return [*self._exact.get(device, ()), *broad]


# Reading ------------------------------------------------------------------------------------------


def parse_rule(document: Document) -> Hold:
    """Read a DeviceTaintRule; raise MalformedObjectError naming the field."""
    spec = mapping(document, "spec")
    selector, taint = mapping(spec, "deviceSelector", "spec."), mapping(spec, "taint", "spec.")
    labels = mapping(mapping(document, "metadata"), "labels", "metadata.")
    return Hold(
        kind=HoldKind.RULE,
        selector=HoldSelector(
            *(optional_text(selector, key, "spec.deviceSelector.") or "" for key in _PARTS)
        ),
        taint=HoldTaint(
            optional_text(taint, "key", "spec.taint.") or "",
            optional_text(taint, "value", "spec.taint.") or "",
            optional_text(taint, "effect", "spec.taint.") or "",
        ),
        managed=MAINTENANCE in labels,
        **_identity(document),
    )


def parse_claim(document: Document) -> Hold | None:
    """Read a held claim; None for every other ResourceClaim."""
    name = mapping(document, "metadata").get("name")
    if not isinstance(name, str) or not name.startswith(HOLD_PREFIX):
        return None
    metadata = mapping(document, "metadata")
    annotations = mapping(metadata, "annotations", "metadata.")
    allocation = mapping(mapping(document, "status"), "allocation", "status.")
    results = items(mapping(allocation, "devices", "status.allocation."), "results")
    device = annotations.get(DEVICE)
    if results:
        selector = HoldSelector(*(str(results[0].get(key) or "") for key in _PARTS))
    elif isinstance(device, str) and device.count("/") >= 2:
        driver, _, rest = device.partition("/")
        pool, _, last = rest.rpartition("/")
        selector = HoldSelector(driver, pool, last)
    else:
        return None
    return Hold(
        kind=HoldKind.CLAIM,
        selector=selector,
        allocated=bool(results),
        overlapped=OVERLAPPED in annotations,
        **_identity(document),
    )


_PARTS = ("driver", "pool", "device")


def _identity(document: Document) -> dict[str, Any]:
    metadata = mapping(document, "metadata")
    annotations = mapping(metadata, "annotations", "metadata.")
    labels = mapping(metadata, "labels", "metadata.")
    return {
        "name": text(metadata, "name", "metadata."),
        "namespace": optional_text(metadata, "namespace", "metadata.") or "",
        "uid": optional_text(metadata, "uid", "metadata.") or "",
        "created": optional_text(metadata, "creationTimestamp", "metadata.") or "",
        "reason": str(annotations.get(REASON) or ""),
        "author": str(annotations.get(AUTHOR) or ""),
        "maintenance": str(labels.get(MAINTENANCE) or ""),
    }


def read(rules: Iterable[Document], claims: Iterable[Document]) -> Iterator[Hold]:
    """Yield the holds of a cluster; malformed objects hold nothing."""
    for document in rules:
        try:
            yield parse_rule(document)
        except MalformedObjectError:
            continue
    for document in claims:
        try:
            hold = parse_claim(document)
        except MalformedObjectError:
            continue
        if hold is not None:
            yield hold

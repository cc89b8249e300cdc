"""Manifests of holds: DeviceTaintRules and held claims.

Names depend on what is held and for what, so that two drains of one device at the same time write
the same object.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.inventory.snapshots.documents import AUTHOR, DEVICE, MAINTENANCE, REASON
from dragoman.maintenance.holds import HoldSelector, HoldTaint
from dragoman.model.claim import HOLD_PREFIX
from dragoman.model.deviceid import DeviceID

REQUEST = "hold"
HOLD_CLASS = "dragoman-hold"
"""DeviceClass that a held claim names; the API requires a name, and no such class need exist."""
REASON_LIMIT = 256
"""Characters of a reason."""
_MANAGED = {"app.kubernetes.io/managed-by": "dragoman"}


@dataclass(frozen=True, slots=True)
class Origin:
    """Who holds devices, and why."""

    reason: str = ""  # In words
    author: str = ""  # User of the command
    maintenance: str = ""  # Name of the DeviceMaintenance; empty for a command
    # The DeviceMaintenance as an ownerReference, so that its deletion ends the hold
    owner: Mapping[str, Any] | None = None


def rule_manifest(
    api_version: str, selector: HoldSelector, taint: HoldTaint, origin: Origin
) -> dict[str, Any]:
    """Return a DeviceTaintRule; its name depends on selector, taint and DeviceMaintenance."""
    last = selector.device or selector.pool or selector.driver
    identity = (*selector.document().items(), taint.key, taint.effect, origin.maintenance)
    return {
        "apiVersion": api_version,
        "kind": "DeviceTaintRule",
        "metadata": _metadata(f"dragoman-{_slug(last)}-{_digest(identity)}", origin),
        "spec": {
            "deviceSelector": selector.document(),
            "taint": {
                "key": taint.key,
                **({"value": taint.value} if taint.value else {}),
                "effect": taint.effect,
            },
        },
    }


def claim_manifest(
    api_version: str, namespace: str, device: DeviceID, origin: Origin
) -> dict[str, Any]:
    """Return a held claim without its allocation; its name depends on the device alone."""
    metadata = _metadata(held_claim_name(device), origin)
    metadata["namespace"] = namespace
    metadata["annotations"][DEVICE] = str(device)
    wanted = {"deviceClassName": HOLD_CLASS}
    flat = api_version.endswith("/v1beta1")
    request = {"name": REQUEST, **(wanted if flat else {"exactly": wanted})}
    return {
        "apiVersion": api_version,
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": {"devices": {"requests": [request]}},
    }


def handed_over(heir: Origin) -> dict[str, Any]:
    """Return the merge patch that makes a held claim that of another DeviceMaintenance."""
    metadata = _metadata("", heir)
    annotations = {REASON: None, AUTHOR: None, **metadata["annotations"]}
    return {
        "metadata": {
            "labels": metadata["labels"],
            "annotations": annotations,
            "ownerReferences": metadata["ownerReferences"],
        }
    }


def allocation(device: DeviceID) -> dict[str, Any]:
    """Return `status.allocation` of a held claim: the whole device, also of a shareable one."""
    result = {"request": REQUEST, **device._asdict()}
    return {"devices": {"results": [result]}}


def held_claim_name(device: DeviceID) -> str:
    """Return the name of the held claim of a device."""
    return f"{HOLD_PREFIX}{_slug(device.device)}-{_digest(device)}"


def _metadata(name: str, origin: Origin) -> dict[str, Any]:
    annotations = {REASON: origin.reason[:REASON_LIMIT], AUTHOR: origin.author}
    metadata: dict[str, Any] = {
        "name": name,
        "labels": {**_MANAGED, MAINTENANCE: origin.maintenance},
        "annotations": {key: value for key, value in annotations.items() if value},
    }
    if origin.owner is not None:
        metadata["ownerReferences"] = [dict(origin.owner)]
    return metadata


def _slug(name: str) -> str:
    """Return the end of a name with the letters that every object name may have."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[-30:].strip("-") or "device"


def _digest(identity: Iterable[Any]) -> str:
    return hashlib.sha256("\0".join(map(str, identity)).encode()).hexdigest()[:8]


# Choosing selectors -------------------------------------------------------------------------------


def selectors(
    devices: Sequence[DeviceID], whole: Iterable[tuple[str, str]] = ()
) -> tuple[HoldSelector, ...]:
    """Return what rules select: a pool as a whole where that is meant, else each device.

    Args:
        devices: The devices.
        whole: Driver and name of pools that are meant with all devices, also future ones.
    """
    pools = set(whole)
    found: dict[HoldSelector, None] = {}
    for device in devices:
        name = "" if (device.driver, device.pool) in pools else device.device
        found[HoldSelector(device.driver, device.pool, name)] = None
    return tuple(found)

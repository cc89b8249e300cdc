"""Slices and CDI documents with one fault. Pure."""

import copy
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dragoman_drivers.pretend.preparation import Preparation
from dragoman_drivers.pretend.slices import Manifest

SHARE = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
Change = Callable[[list[Manifest], float], list[Manifest]]


def slices(found: list[Manifest], mutants: Iterable[str], now: float) -> list[Manifest]:
    """Return slices as the faults publish them.

    Args:
        found: As the driver would publish them.
        mutants: Names in `table.MUTANTS`.
        now: Unix time in seconds.
    """
    changed = copy.deepcopy(found)
    for name in mutants:
        if change := SLICES.get(name):
            changed = change(changed, now)
    return changed


def _first(found: list[Manifest]) -> dict[str, Any]:
    """Return the first published device."""
    return next(device for one in found for device in one["spec"].get("devices") or ())


def _wrong_count(found: list[Manifest], _: float) -> list[Manifest]:
    for one in found:
        one["spec"]["pool"]["resourceSliceCount"] += 1
    return found


def _falling(found: list[Manifest], now: float) -> list[Manifest]:
    for one in found:
        one["spec"]["pool"]["generation"] = max(1, 10_000_000_000 - int(now))
    return found


def _twice(found: list[Manifest], _: float) -> list[Manifest]:
    first = next(one for one in found if one["spec"].get("devices"))
    second = copy.deepcopy(first)
    second["metadata"]["name"] += "-again"
    second["spec"]["devices"] = second["spec"]["devices"][:1]
    for one in (*found, second):
        one["spec"]["pool"]["resourceSliceCount"] = len(found) + 1
    return [*found, second]


def _orphan(found: list[Manifest], _: float) -> list[Manifest]:
    for one in found:
        one["metadata"].pop("ownerReferences", None)
    return found


def _stale_owner(found: list[Manifest], _: float) -> list[Manifest]:
    for one in found:
        for owner in one["metadata"].get("ownerReferences") or ():
            owner["uid"] = "of-an-earlier-node"
    return found


def _one_slice(found: list[Manifest], _: float) -> list[Manifest]:
    devices = [device for one in found for device in one["spec"].get("devices") or ()]
    one = copy.deepcopy(found[-1])
    one["spec"]["devices"] = devices
    one["spec"]["pool"]["resourceSliceCount"] = 1
    return [one]


def _unknown_counter(found: list[Manifest], _: float) -> list[Manifest]:
    for one in found:
        for device in one["spec"].get("devices") or ():
            for use in device.get("consumesCounters") or ():
                use["counterSet"] = "unknown"
    return found


def _high_default(found: list[Manifest], _: float) -> list[Manifest]:
    for one in found:
        for device in one["spec"].get("devices") or ():
            if device.get("allowMultipleAllocations"):
                for value in device["capacity"].values():
                    value["requestPolicy"] = {
                        "default": "900Gi",
                        "validRange": {"min": "1Gi"},
                    }
    return found


def _no_empty(found: list[Manifest], _: float) -> list[Manifest]:
    empty = not any(one["spec"].get("devices") for one in found)
    return [] if empty else found


def _future_taint(found: list[Manifest], _: float) -> list[Manifest]:
    taint = {"key": "dragoman.dev/x", "effect": "None", "timeAdded": "2099-01-01T00:00:00Z"}
    _first(found).setdefault("taints", []).append(taint)
    return found


def _without_version(found: list[Manifest], _: float) -> list[Manifest]:
    for one in found:
        for device in one["spec"].get("devices") or ():
            device["attributes"] = {
                key: value
                for key, value in (device.get("attributes") or {}).items()
                if "version" not in value and "version" not in key.lower()
            }
    return found


def _empty_devices(found: list[Manifest], _: float) -> list[Manifest]:
    for one in found:
        if one["spec"].get("sharedCounters"):
            one["spec"]["devices"] = []
    return found


def _own_domain(found: list[Manifest], _: float) -> list[Manifest]:
    name = f"{found[0]['spec']['driver']}/extra"
    _first(found).setdefault("attributes", {})[name] = {"bool": True}
    return found


def _pci_root(found: list[Manifest], _: float) -> list[Manifest]:
    attributes = _first(found).setdefault("attributes", {})
    attributes["resource.kubernetes.io/pciRoot"] = {"string": "pci0000:00"}
    return found


def _mixed_types(found: list[Manifest], _: float) -> list[Manifest]:
    _first(found).setdefault("attributes", {})["index"] = {"string": "zero"}
    return found


SLICES: Mapping[str, Change] = {
    "wrong-count": _wrong_count,
    "falling": _falling,
    "twice": _twice,
    "orphan": _orphan,
    "stale-owner": _stale_owner,
    "one-slice": _one_slice,
    "unknown-counter": _unknown_counter,
    "high-default": _high_default,
    "no-empty": _no_empty,
    "future-taint": _future_taint,
    "no-driver-version": _without_version,
    "empty-devices": _empty_devices,
    "own-domain": _own_domain,
    "pci-root": _pci_root,
    "mixed-types": _mixed_types,
}


def document(text: str, mutants: Iterable[str], ready: Preparation) -> str:
    """Return the CDI document of a prepared claim as the faults write it."""
    tree = json.loads(text)
    uid = ready.claim.uid
    for name in mutants:
        if name == "bad-document":
            tree.pop("kind", None)
        if name == "new-cdi":
            tree["cdiVersion"] = "1.0.0"
        if name == "shared-names":
            for device in tree["devices"]:
                shown = device["name"].removeprefix(f"{uid}-")
                device["name"] = f"all-{SHARE.sub('', shown)}"
        if name == "mounts-root":
            mount = {"hostPath": "/", "containerPath": "/host"}
            tree["devices"][0]["containerEdits"]["mounts"].append(mount)
        if name == "shows-secrets":
            shown = json.dumps([*ready.configs.values()])
            tree["devices"][0]["containerEdits"]["env"].append(f"ALL_CONFIGS={shown}")
    changed = json.dumps(tree)
    return text if changed == json.dumps(json.loads(text)) else changed

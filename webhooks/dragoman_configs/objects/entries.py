"""Config entries of claims, templates and classes: their place and the requests they name.

The paths are the same in resource.k8s.io v1, v1beta2 and v1beta1; the versions differ only inside
requests, and `firstAvailable` is at the same place in all of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman_configs import strictjson
from dragoman_configs.objects.driverconfigschema import CLAIM, CLASS
from dragoman_configs.objects.places import PLACES, holder_of

MAX_ENTRIES = 32
"""The API server's own limit of entries and of requests; more are ignored."""

MAX_ALTERNATIVES = 8
"""The API server's own limit of the alternatives of a request."""

WHOLE_CLASS = "(class)"
"""The target of entries in a class: they reach every request that uses the class."""


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One opaque config entry."""

    path: str  # Such as `spec.devices.config[1]`.
    driver: str  # The driver's name
    parameters: Any  # The parameters as parsed; None when missing
    requests: tuple[str, ...]  # Names of requests, or `main/sub`; empty means every request
    source: str  # `Claim` (also in templates) or `Class`

    @property
    def identity(self) -> bytes:
        """Return a key that is equal for equal entries, for ratcheting."""
        return strictjson.identity([self.driver, self.parameters, self.requests])


@dataclass(frozen=True, slots=True)
class Configured:
    """An object's entries together with the requests that they can name."""

    entries: tuple[ConfigEntry, ...]  # The opaque entries in order
    targets: tuple[str, ...]  # Every request name, with `main/sub` for the alternatives of `main`
    alternatives: frozenset[str]  # The requests that have alternatives
    # The device class of each target; of a DeviceClass, its own name as `WHOLE_CLASS`
    classes: Mapping[str, str]


def configured(kind: str, document: Any) -> Configured:
    """Find the entries of an object of one of `KINDS`, of any JSON type; others have none."""
    place, holder = PLACES.get(kind, ()), holder_of(kind, document)
    targets, alternatives, classes = _requests(holder)
    source = CLASS if kind == "DeviceClass" else CLAIM
    entries = tuple(_entries(holder, ".".join((*place, "config")), source))
    name = _member(_member(document, "metadata"), "name") if source == CLASS else None
    if isinstance(name, str):
        classes = {WHOLE_CLASS: name}
    return Configured(entries, targets, alternatives, classes)


def _entries(holder: Any, path: str, source: str) -> Iterator[ConfigEntry]:
    for index, item in enumerate(_list(_member(holder, "config"))[:MAX_ENTRIES]):
        opaque = _member(item, "opaque")
        driver = _member(opaque, "driver")
        if not isinstance(driver, str) or not driver:
            continue
        value = _member(opaque, "parameters")
        named = _list(_member(item, "requests"))[:MAX_ENTRIES]
        requests = tuple(name for name in named if isinstance(name, str))
        yield ConfigEntry(f"{path}[{index}]", driver, value, requests, source)


def _requests(holder: Any) -> tuple[tuple[str, ...], frozenset[str], dict[str, str]]:
    """List the targets, the requests with alternatives, and the device class of each target."""
    targets: list[str] = []
    alternatives: set[str] = set()
    classes: dict[str, str] = {}
    for request in _list(_member(holder, "requests"))[:MAX_ENTRIES]:
        name = _member(request, "name")
        if not isinstance(name, str):
            continue
        # v1beta1 has the class in the request itself.
        classes |= _named(name, _member(_member(request, "exactly") or request, "deviceClassName"))
        offered = _list(_member(request, "firstAvailable"))[:MAX_ALTERNATIVES]
        if offered:
            alternatives.add(name)
        else:
            targets.append(name)
        for sub in offered:
            if isinstance(_member(sub, "name"), str):
                targets.append(f"{name}/{sub['name']}")
                classes |= _named(targets[-1], _member(sub, "deviceClassName"))
    return tuple(targets), frozenset(alternatives), classes


def _named(target: str, class_name: Any) -> dict[str, str]:
    # In v1beta1 a request with alternatives has an empty class of its own.
    return {target: class_name} if isinstance(class_name, str) and class_name else {}


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

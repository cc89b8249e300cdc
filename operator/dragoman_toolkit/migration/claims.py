"""The claims that hold the devices of extended resources: what a converted pod has instead.

The requests are those of the claim that kube-scheduler would make (KEP-5004), so that both ways
hold the same devices.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman.allocation.extendedresources import requested
from dragoman.model.fields import Document, items
from dragoman.model.requests import Request

LIMIT = 32
"""Devices, and requests, of one claim (API of resource.k8s.io)."""
_LABEL = 63
_HASH = 5


@dataclass(frozen=True, slots=True)
class Serving:
    """How a resource is asked for by a claim."""

    class_name: str  # Its DeviceClass
    expressions: tuple[str, ...] = ()  # Selectors beside those of the class
    admin: bool = False  # Whether access beside other pods is meant: to all devices

    def exactly(self, count: int) -> dict[str, Any]:
        """Return the request without its name."""
        found: dict[str, Any] = {"deviceClassName": self.class_name}
        if self.expressions:
            found["selectors"] = [{"cel": {"expression": one}} for one in self.expressions]
        if self.admin:
            return {**found, "allocationMode": "All", "adminAccess": True}
        return {**found, "allocationMode": "ExactCount", "count": count}


@dataclass(frozen=True, slots=True)
class Part:
    """A request of a claim."""

    name: str  # As containers name it
    resource: str  # That it serves
    count: int  # Devices
    users: frozenset[str]  # Containers


@dataclass(frozen=True, slots=True)
class PodClaim:
    """A claim of a pod."""

    suffix: str  # Of its entry and template, such as `devices`
    parts: tuple[Part, ...]

    def use(self, container: str) -> dict[str, str] | None:
        """Return how a container names the claim; None where it does not use it."""
        used = [one for one in self.parts if container in one.users]
        if not used:
            return None
        request = {} if len(used) == len(self.parts) else {"request": used[0].name}
        return {"name": self.suffix, **request}


def claims(pod: Document, served: Mapping[str, Serving]) -> tuple[PodClaim, ...]:
    """Return the claims of a pod.

    A container lists each claim once: with one request, or whole. Two entries with one name are
    rejected by server-side apply, whose key for the list is the name.

    Args:
        pod: In the API's JSON form, as the API server stores it.
        served: The resources that become requests.

    Raises:
        MalformedObjectError: The pod does not have the form of the API.
    """
    spec = pod.get("spec") or {}
    order = [str(one.get("name")) for one in items(spec, "initContainers", "spec.")]
    initial = frozenset(order)
    order += [str(one.get("name")) for one in items(spec, "containers", "spec.")]
    parts = _parts({k: v for k, v in requested(pod).items() if k in served}, order)
    if not parts:
        return ()
    whole, apart = _split(parts, order)
    found = [PodClaim("devices", tuple(whole))] if whole else []
    for users in dict.fromkeys(one.users for one in apart):
        inside = tuple(one for one in apart if one.users == users)
        first = next(name for name in order if name in users)
        suffix = shortened(f"devices-{'init' if first in initial else first}")
        again = sum(one.suffix.startswith(suffix) for one in found)
        found.append(PodClaim(f"{suffix}-{again + 1}" if again else suffix, inside))
    return tuple(found)


def _parts(
    found: Mapping[str, tuple[Sequence[Request], Sequence[Any]]], order: Sequence[str]
) -> list[Part]:
    short = _short(found)
    parts = []
    for resource, (requests, mappings) in found.items():
        users: defaultdict[str, list[str]] = defaultdict(list)
        for one in mappings:
            users[one.request].append(one.container)
        for request in requests:
            assert request.exactly is not None
            using = users[request.name]
            # The number in the name is that of the container for which it was made.
            maker = order[int(request.name.split("-")[1])]
            name = short[resource] if len(requests) == 1 else f"{maker}-{short[resource]}"
            parts.append(Part(shortened(name), resource, request.exactly.count, frozenset(using)))
    return parts


def _short(resources: Iterable[str]) -> dict[str, str]:
    """Return a name for each resource: its last part, with the prefix where two are alike."""
    found = {one: _plain(one.rpartition("/")[2]) for one in resources}
    counts = Counter(found.values())
    return {
        one: name if counts[name] == 1 else _plain(f"{one.partition('/')[0]}-{name}")
        for one, name in found.items()
    }


def _split(parts: Sequence[Part], order: Sequence[str]) -> tuple[list[Part], list[Part]]:
    """Return the requests of one claim, and those that need claims of their own."""
    whole, apart = [*parts], []
    for container in order:
        used = [one for one in whole if container in one.users]
        if 1 < len(used) < len(whole):
            # Requests of this container alone go first; it keeps one that others use as well.
            own = [one for one in used if one.users == {container}]
            moved = own if len(own) < len(used) else own[1:]
            if len(used) - len(moved) > 1:
                return [], [*parts]
            apart += moved
            whole = [one for one in whole if one not in moved]
    return whole, apart


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-") or "devices"


def shortened(name: str, length: int = _LABEL) -> str:
    """Cut a name to a length; what is cut keeps names apart by its hash."""
    if len(name) <= length:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH]
    return f"{name[: length - _HASH - 1].rstrip('-.')}-{digest}"


def template(name: str, namespace: str, claim: PodClaim, served: Mapping[str, Serving]) -> Any:
    """Return the ResourceClaimTemplate of a claim."""
    requests = [
        {"name": one.name, "exactly": served[one.resource].exactly(one.count)}
        for one in claim.parts
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }

"""An object that the page names, as the API server has it now: YAML, and its Events."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from dragoman.kube.client import Client, items
from dragoman.kube.discovery import DRA_GROUP, DRA_VERSIONS, OPTIONAL_VERSIONS, find_resource
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import NODES, PODS, Resource
from dragoman_toolkit.dra.cluster.connection import explained
from dragoman_toolkit.dra.ui.problems import LINKED

_CORE = {"Pod": PODS, "Node": NODES}
_DRA = {
    "ResourceClaim": ("resourceclaims", DRA_VERSIONS),
    "ResourceSlice": ("resourceslices", DRA_VERSIONS),
    "DeviceClass": ("deviceclasses", DRA_VERSIONS),
    "DeviceTaintRule": ("devicetaintrules", OPTIONAL_VERSIONS),
}
_NAMESPACED = frozenset({"Pod", "ResourceClaim"})
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
_EVENTS = Resource("", "v1", "events")
SHOWN = 50
"""Events that are shown, the newest."""


async def described(client: Client, kind: str, namespace: str, name: str) -> str:
    """Return an object as YAML, with its Events as comments.

    Args:
        client: The connection, with the rights of the user.
        kind: One of `problems.LINKED`.
        namespace: Of the object; empty for cluster-scoped ones.
        name: Of the object.

    Raises:
        KeyError: The page links to no such object.
        Unusable: The API server does not show it.
    """
    names = (namespace, name) if kind in _NAMESPACED else (name,)
    if kind not in LINKED or not all(map(_NAME.fullmatch, names)):
        raise KeyError(kind)
    namespace = namespace if kind in _NAMESPACED else ""
    with explained():
        resource = _CORE.get(kind)
        if resource is None:
            plural, versions = _DRA[kind]
            resource = await find_resource(client, DRA_GROUP, versions, plural, status=False)
        if resource is None:
            raise KeyError(kind)
        found = await client.get(resource.path(namespace, name))
    found["metadata"].pop("managedFields", None)
    shown = {"apiVersion": resource.api_version, "kind": kind, **found}
    # ASCII alone: some other characters turn the direction of the text around.
    text = yaml.safe_dump(shown, sort_keys=False, allow_unicode=False)
    return "\n".join([text, *await _event_lines(client, kind, namespace, name), ""])


async def _event_lines(client: Client, kind: str, namespace: str, name: str) -> list[str]:
    fields = f"involvedObject.kind={kind},involvedObject.name={name}"
    try:
        path = _EVENTS.path(namespace or "default")
        found = [one async for one in items(client, path, fieldSelector=fields)]
    except ApiError as error:
        return [f"# Events cannot be listed: {ascii(str(error))[1:-1]}"]
    return [*_events(found)] or ["# No Events."]


def _events(found: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    ordered = sorted(found, key=_time)
    if ordered:
        yield "# Events, the newest last:"
    for one in ordered[-SHOWN:]:
        said = " ".join(str(one.get("message") or "").split())
        text = f"{_time(one)} {one.get('type')} {one.get('reason')}: {said}"
        yield f"#   {ascii(text)[1:-1]}"


def _time(event: Mapping[str, Any]) -> str:
    """Return when an Event was seen last; newer clients write its series, or a time alone."""
    series = event.get("series") or {}
    metadata = event.get("metadata") or {}
    times = (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        metadata.get("creationTimestamp"),
    )
    return str(next(filter(None, times), ""))

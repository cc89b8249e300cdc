"""Reads the objects beside nodes, pods and devices: of clusters, snapshots, and --plugin-config."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from dragoman.inventory.snapshots.snapshot import MIGRATION, Snapshot
from dragoman.kube.client import Client, items
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import Resource
from dragoman.model.fields import Document, part, parts
from dragoman_toolkit.dra.cluster.files import documents
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.output import Unusable
from dragoman_toolkit.migration.companions import (
    KINDS,
    Companions,
    Kind,
    of_files,
    of_snapshot,
    reduced,
)
from dragoman_toolkit.migration.settings import PLUGIN

_NOT_FOUND, _FORBIDDEN = 404, 403
_BROKEN = 500
"""A webhook that converts objects of one kind may fail; the others say enough without them."""
_CONFIGMAPS = "configmaps"


def companions(source: Source, snapshot: Snapshot, configs: Iterable[str] = ()) -> Companions:
    """Read them; raise Unusable for a file that is no config of a plug-in."""
    found = of_snapshot(snapshot) if source.snapshot else source.call(of_cluster)
    try:
        files = tuple(of_files(_named(configs)))
    except ValueError as error:
        raise Unusable(f"--plugin-config: {error}") from None
    return replace(found, files=files)


def with_companions(source: Source, snapshot: Snapshot) -> Snapshot:
    """Return a snapshot that has them as well."""
    lines = companions(source, snapshot).lines()
    return replace(snapshot, objects={**snapshot.objects, MIGRATION: lines})


def _named(configs: Iterable[str]) -> Iterator[tuple[str, object, dict[str, str]]]:
    """Yield the documents of `FILE[@LABEL=VALUE]` with the labels of their nodes."""
    for one in configs:
        file, at, selector = one.rpartition("@")
        label, equals, value = selector.partition("=")
        if not (at and equals and label):
            file, label = one, ""
        for name, document in documents([file]):
            yield name, document.tree, {label: value} if label else {}


async def of_cluster(client: Client) -> Companions:
    """Read them from a cluster, as far as the rights go."""
    groups = (await client.get("/apis")).get("groups") or []
    served = {one["name"]: [version["version"] for version in one["versions"]] for one in groups}
    served[""] = ["v1"]
    found = [
        (kind, version)
        for kind in KINDS
        if (version := next((v for v in kind.versions if v in served.get(kind.group, ())), ""))
    ]
    lists = await asyncio.gather(*(_list(client, kind, version) for kind, version in found))
    rejected = {kind.name for (kind, _), rows in zip(found, lists, strict=True) if rows is None}
    objects = [one for rows in lists for one in rows or ()]
    for name, namespace in sorted(_maps(objects)):
        made = await _config_maps(client, name, namespace)
        if made is None:
            rejected.add(f"{_CONFIGMAPS} {namespace}/{name}" if namespace else _CONFIGMAPS)
        objects += made or ()
    return Companions(tuple(objects), tuple(sorted(rejected)))


async def _list(client: Client, kind: Kind, version: str) -> list[Document] | None:
    """Return the objects of a kind; None where they cannot be listed."""
    head = {"apiVersion": f"{kind.group}/{version}" if kind.group else version, "kind": kind.kind}
    found = await _reduced(client, Resource(kind.group, version, kind.plural).path(), head)
    if found is None or kind.kind != "DaemonSet":
        return found
    return [one for one in found if _is_plugin(one)]


async def _reduced(
    client: Client, path: str, head: Mapping[str, str], **query: str
) -> list[Document] | None:
    """Return what is read of the objects of a list; None where it cannot be read."""
    try:
        found = [reduced({**one, **head}) async for one in items(client, path, **query)]
    except ApiError as error:
        if error.code == _NOT_FOUND:
            return []
        if error.code == _FORBIDDEN or error.code >= _BROKEN:
            return None
        raise
    return [one for one in found if one]


def _is_plugin(daemons: Document) -> bool:
    containers = parts(daemons, "spec", "template", "spec", "containers")
    return any(PLUGIN.search(str(one.get("image") or "")) for one in containers)


def _maps(objects: Iterable[Document]) -> set[tuple[str, str]]:
    """Return names and namespaces of the ConfigMaps that plug-ins use; empty for any namespace."""
    found, anywhere = set(), set()
    for one in objects:
        if one.get("kind") == "ClusterPolicy":
            config = part(one, "spec", "devicePlugin", "config")
            anywhere |= {str(config["name"])} if config.get("name") else set()
        for volume in parts(one, "spec", "template", "spec", "volumes"):
            if name := part(volume, "configMap").get("name"):
                found.add((str(name), str(part(one, "metadata").get("namespace") or "")))
    named = {name for name, _ in found}
    return found | {(name, "") for name in anywhere - named}


async def _config_maps(client: Client, name: str, namespace: str) -> list[Document] | None:
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    path = Resource("", "v1", _CONFIGMAPS).path(namespace)
    return await _reduced(client, path, head, fieldSelector=f"metadata.name={name}")

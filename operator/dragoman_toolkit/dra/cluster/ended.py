"""Pods that have ended: lists leave them out, but users see them in `kubectl get pods`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from dragoman.inventory.snapshots.documents import reduced
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import PODS

if TYPE_CHECKING:
    from dragoman.inventory.snapshots.documents import Document
    from dragoman.inventory.snapshots.snapshot import Snapshot
    from dragoman_toolkit.dra.cluster.source import Source


def with_pod(source: Source, snapshot: Snapshot, name: str) -> Snapshot:
    """Return the snapshot with a pod that is named, where the list of pods left it out.

    Args:
        source: The cluster; a file has all that there is.
        snapshot: What was read.
        name: `name`, or `namespace/name`; with -A, a name alone is meant in any namespace.
    """
    namespace, _, name = name.rpartition("/")
    if not namespace and not source.all_namespaces:
        namespace = source.namespace
    if source.snapshot or any(_is(one, namespace, name) for one in snapshot.of("pods")):
        return snapshot
    found = source.call(lambda client: _pods(client, namespace, name))
    if not found:
        return snapshot
    pods = (*snapshot.of("pods"), *(reduced("pods", one) for one in found))
    return replace(snapshot, objects={**snapshot.objects, "pods": pods})


def _is(pod: Document, namespace: str, name: str) -> bool:
    metadata = pod.get("metadata") or {}
    return metadata.get("name") == name and namespace in ("", metadata.get("namespace"))


async def _pods(client: Client, namespace: str, name: str) -> list[Document]:
    """Return the pods of a name; none where there is none, or where the user may not read it."""
    try:
        if namespace:
            return [await client.get(PODS.path(quote(namespace, safe=""), quote(name, safe="")))]
        return (await client.get(PODS.path(), fieldSelector=f"metadata.name={name}"))["items"] or []
    except ApiError as error:
        if error.code in (403, 404):
            return []
        raise

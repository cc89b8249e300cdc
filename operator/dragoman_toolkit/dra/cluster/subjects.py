"""Pods and workloads that users name: one grammar for all commands.

`NAME` and `NAMESPACE/NAME` are a pod; `KIND NAME` and `KIND/NAME` are a pod or a workload, which
stands for its pods that wait.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dragoman.inventory.facts.parser import parse
from dragoman.inventory.snapshots.documents import reduced
from dragoman.kube.client import Client, items
from dragoman.kube.discovery import find_resource
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import PODS, Resource
from dragoman_toolkit.dra.kinds import WORKLOADS, subject
from dragoman_toolkit.dra.output import Unusable
from dragoman_toolkit.workloadkinds import KINDS, WorkloadKind
from dragoman_toolkit.workloadpods import members, states, waits

if TYPE_CHECKING:
    from dragoman.inventory.snapshots.documents import Document
    from dragoman.inventory.snapshots.snapshot import Snapshot
    from dragoman_toolkit.dra.cluster.source import Source

KNOWN = ("pod", *WORKLOADS)
"""Kinds that stand for pods."""
REFUSED = (403, 404)


@dataclass(frozen=True, slots=True)
class NamedWorkload:
    """A workload that was named."""

    kind: WorkloadKind | None  # Its kind; None for a Workload of Kueue that stands for one pod
    key: str  # `namespace/name`
    tree: Mapping[str, Any] | None = None  # The object where it has no pods yet, and can be read

    @property
    def title(self) -> str:
        """Its kind and name."""
        assert self.kind is not None  # a pod has answers of its own
        return f"{self.kind.kind} {self.key}"


def named(
    source: Source, snapshot: Snapshot, kind: str, name: str
) -> tuple[NamedWorkload, Snapshot]:
    """Find out which workload is meant; also return the cluster with its pods that have ended.

    Args:
        source: The cluster, or a snapshot.
        snapshot: What was read of it.
        kind: One of `WORKLOADS`.
        name: `name` or `namespace/name`.

    Raises:
        Unusable: With -A, workloads of several namespaces have this name.
    """
    key = name if "/" in name else f"{_namespace(source, snapshot, kind, name)}/{name}"
    kind, key = owned(source, kind, key)
    if kind == "pod":
        return NamedWorkload(None, key), snapshot
    snapshot = with_ended_pods(source, snapshot, [(kind, key)])
    there = members(parse(snapshot), KINDS[kind], key)
    tree = None if there else found_object(source, KINDS[kind], key)
    return NamedWorkload(KINDS[kind], key, tree), snapshot


def _namespace(source: Source, snapshot: Snapshot, kind: str, name: str) -> str:
    if not source.all_namespaces:
        return source.namespace
    world = parse(snapshot)
    namespaces = sorted({one.pod.metadata.namespace for one in world.pods.values()})
    found = [one for one in namespaces if members(world, KINDS[kind], f"{one}/{name}")]
    if len(found) > 1:
        raise Unusable(f"{kind} {name} is in namespaces {', '.join(found)}: choose one with -n")
    return found[0] if found else source.namespace


def owned(source: Source, kind: str, key: str) -> tuple[str, str]:
    """Return kind and `namespace/name` of what a Workload of Kueue stands for; others as they are.

    A cluster that does not show it, and a snapshot, leave it to the names of Workloads.
    """
    if kind != "workload" or source.snapshot:
        return kind, key
    found = found_object(source, KINDS[kind], key)
    for owner in ((found or {}).get("metadata") or {}).get("ownerReferences") or ():
        group, _, _ = str(owner.get("apiVersion") or "").rpartition("/")
        for name, one in KINDS.items():
            if (one.kind, one.group) == (owner.get("kind"), group):
                return name, f"{key.partition('/')[0]}/{owner.get('name')}"
        if (owner.get("kind"), group) == ("Pod", ""):
            return "pod", f"{key.partition('/')[0]}/{owner.get('name')}"
    return kind, key


def found_object(source: Source, kind: WorkloadKind, key: str) -> dict[str, Any] | None:
    """Return a workload; None where there is none, the user may not read it, or it is a file."""
    if source.snapshot:
        return None
    namespace, _, name = key.partition("/")

    async def read(client: Client) -> dict[str, Any] | None:
        try:
            resource: Resource | None = Resource("", "v1", kind.plural)
            if kind.group:
                resource = await find_resource(
                    client, kind.group, kind.versions, kind.plural, status=False
                )
            if resource is None:
                return None
            path = resource.path(quote(namespace, safe=""), quote(name, safe=""))
            found = await client.get(path)
        except ApiError as error:
            if error.code in REFUSED:
                return None
            raise
        return {"apiVersion": resource.api_version, "kind": kind.kind, **found}

    return source.call(read)


def with_ended_pods(
    source: Source, snapshot: Snapshot, wanted: Iterable[tuple[str, str]]
) -> Snapshot:
    """Return the snapshot with pods that have ended, for workloads that have no other pods.

    Args:
        source: The cluster; a file has all that there is.
        snapshot: What was read.
        wanted: Kinds, and `namespace/name`.
    """
    if source.snapshot:
        return snapshot
    world = parse(snapshot)
    namespaces = {
        key.partition("/")[0] for kind, key in wanted if not members(world, KINDS[kind], key)
    }
    known = {_uid(one) for one in snapshot.of("pods")}
    more = [
        one
        for namespace in sorted(namespaces)
        for one in source.call(partial(_pods, namespace=namespace))
        if _uid(one) not in known
    ]
    pods = (*snapshot.of("pods"), *more)
    return replace(snapshot, objects={**snapshot.objects, "pods": pods}) if more else snapshot


async def _pods(client: Client, *, namespace: str) -> list[Document]:
    path = PODS.path(quote(namespace, safe=""))
    try:
        return [reduced("pods", one) async for one in items(client, path)]
    except ApiError as error:
        if error.code in REFUSED:
            return []
        raise


def _uid(pod: Document) -> str:
    return str((pod.get("metadata") or {}).get("uid") or "")


def waiting(source: Source, words: tuple[str, ...]) -> list[str]:
    """Return `namespace/name` of the pod that is meant, or of a workload's pods without a node.

    Args:
        source: The cluster, or a snapshot.
        words: As typed; see the top of this module.

    Raises:
        click.UsageError: No pod and no workload can be meant.
        Unusable: The workload has no pods that wait for a node.
    """
    kind, name = subject(words, KNOWN, "pod")
    if kind == "pod":
        return [name if "/" in name else f"{source.namespace}/{name}"]
    meant, snapshot = named(source, source.read(("pods",)), kind, name)
    if meant.kind is None:
        return [meant.key]
    found = members(parse(snapshot), meant.kind, meant.key)
    keys = [one.key for one in found if waits(one) and not one.pod.node_name]
    if not keys:
        do = f"no pod of it waits for a node: {states(found)}" if found else "it has no pods"
        raise Unusable(f"{kind} {meant.key}: {do}")
    return keys

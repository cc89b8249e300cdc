"""Objects of files, before they are applied: laid over those of a cluster, as if they were."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dragoman.inventory.snapshots.documents import (
    KINDS,
    WELL_KNOWN_LABELS,
    Document,
    named_labels,
    reduced,
)
from dragoman.inventory.snapshots.snapshot import Snapshot

CLUSTER_WIDE = frozenset(
    {"nodes", "namespaces", "resourceslices", "deviceclasses", "devicetaintrules"}
)
WORKLOADS: Mapping[str, tuple[str, ...]] = {
    "Deployment": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""Where workloads have their pod template."""


@dataclass(frozen=True, slots=True)
class PlannedCluster:
    """A cluster with the objects of files in it."""

    snapshot: Snapshot  # The objects of both; those of files win
    # `namespace/name` of the pods in files, a workload's pod by the workload's name
    pods: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()  # `namespace/name` of the claims in files
    templates: tuple[str, ...] = ()  # `namespace/name` of the templates in files

    @property
    def unknown_labels(self) -> tuple[str, ...]:
        """Labels of nodes that pods in files name and no node has.

        A snapshot keeps only those labels that objects of its cluster name.
        """
        pods = (one for one in self.snapshot.of("pods") if _key(one) in self.pods)
        known = {
            key
            for node in self.snapshot.of("nodes")
            for key in _inside(node, ("metadata", "labels"))
        }
        return tuple(sorted(named_labels({"pods": pods}) - WELL_KNOWN_LABELS - known))


def overlaid(snapshot: Snapshot, trees: Iterable[Any], namespace: str) -> PlannedCluster:
    """Lay the objects of files over a snapshot.

    Args:
        snapshot: The cluster.
        trees: JSON trees of the files' documents; kinds that matter for nothing are ignored.
        namespace: Of objects without one.
    """
    objects = {plural: {_key(one): one for one in found} for plural, found in _all(snapshot)}
    named: dict[str, list[str]] = {"pods": [], "resourceclaims": [], "resourceclaimtemplates": []}
    for tree in flat(trees):
        for plural, document in _objects(tree, namespace):
            key = _key(document)
            objects.setdefault(plural, {})[key] = document
            if plural in named:
                named[plural].append(key)
    return PlannedCluster(
        replace(snapshot, objects={plural: tuple(one.values()) for plural, one in objects.items()}),
        *(tuple(dict.fromkeys(found)) for found in named.values()),
    )


def _all(snapshot: Snapshot) -> Iterator[tuple[str, tuple[Document, ...]]]:
    yield from snapshot.objects.items()


def flat(trees: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects among documents, those of lists too."""
    for tree in trees:
        items = tree.get("items") if isinstance(tree, Mapping) else None
        for one in items if isinstance(items, list) else [tree]:
            if isinstance(one, Mapping):
                yield one


def _objects(tree: Mapping[str, Any], namespace: str) -> Iterator[tuple[str, Document]]:
    kind = str(tree.get("kind"))
    if kind in WORKLOADS:
        pod = _inside(tree, WORKLOADS[kind])
        metadata = _inside(tree, ("metadata",))
        own = {
            "name": metadata.get("name"),
            "namespace": metadata.get("namespace"),
            "labels": _inside(pod, ("metadata", "labels")),
        }
        yield "pods", _placed("pods", {"metadata": own, "spec": pod.get("spec")}, namespace)
    elif kind in KINDS:
        plural = KINDS[kind]
        yield plural, _placed(plural, tree, namespace)


def _inside(tree: Mapping[str, Any], path: Iterable[str]) -> Mapping[str, Any]:
    for name in path:
        inner = tree.get(name)
        tree = inner if isinstance(inner, Mapping) else {}
    return tree


def _placed(plural: str, tree: Mapping[str, Any], namespace: str) -> Document:
    """Return an object with what the API server would add: a namespace and defaults."""
    document = reduced(plural, tree)
    metadata = dict(_inside(document, ("metadata",)))
    metadata["name"] = str(metadata.get("name") or metadata.get("generateName") or "unnamed")
    if plural not in CLUSTER_WIDE:
        metadata["namespace"] = str(metadata.get("namespace") or namespace)
    document = {**document, "metadata": metadata}
    if plural == "resourceclaims":
        return {**document, "spec": _defaulted(_inside(document, ("spec",)))}
    if plural == "resourceclaimtemplates":
        spec = _defaulted(_inside(document, ("spec", "spec")))
        return {**document, "spec": {"spec": spec}}
    return document


def _defaulted(spec: Mapping[str, Any]) -> Document:
    """Set allocationMode and count as the API server does."""
    devices = _inside(spec, ("devices",))
    requests = devices.get("requests")
    if not isinstance(requests, list):
        return spec
    return {**spec, "devices": {**devices, "requests": [*map(_request, requests)]}}


def _request(request: Any) -> Any:
    if not isinstance(request, Mapping):
        return request
    changed = dict(request)
    if isinstance(request.get("exactly"), Mapping):
        changed["exactly"] = _exact(request["exactly"])
    if isinstance(request.get("firstAvailable"), list):
        changed["firstAvailable"] = [
            _exact(one) if isinstance(one, Mapping) else one for one in request["firstAvailable"]
        ]
    return changed


def _exact(request: Mapping[str, Any]) -> Document:
    mode = request.get("allocationMode") or "ExactCount"
    count = {"count": request.get("count") or 1} if mode == "ExactCount" else {}
    return {**request, "allocationMode": mode, **count}


def _key(document: Document) -> str:
    metadata = _inside(document, ("metadata",))
    names = (metadata.get("namespace"), metadata.get("name"))
    return "/".join(str(name) for name in names if name)

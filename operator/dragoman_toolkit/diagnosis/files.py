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
from dragoman_toolkit import stored
from dragoman_toolkit.workloads import workload

CLUSTER_WIDE = frozenset(
    {"nodes", "namespaces", "resourceslices", "deviceclasses", "devicetaintrules"}
)


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
    if kind in KINDS:
        yield KINDS[kind], _placed(KINDS[kind], tree, namespace)
    elif found := workload(tree):
        for pods in found.pods:
            name = "-".join(filter(None, (found.name, pods.role)))
            own = {"name": name, "namespace": found.namespace, "labels": pods.labels or {}}
            yield "pods", _placed("pods", {"metadata": own, "spec": pods.plain()}, namespace)


def _inside(tree: Mapping[str, Any], path: Iterable[str]) -> Mapping[str, Any]:
    for name in path:
        inner = tree.get(name)
        tree = inner if isinstance(inner, Mapping) else {}
    return tree


def _placed(plural: str, tree: Mapping[str, Any], namespace: str) -> Document:
    """Return an object with what the API server would add: a namespace and defaults."""
    # What is stored depends on fields that no answer needs, such as hostNetwork.
    if plural == "pods" and isinstance(tree.get("spec"), Mapping):
        tree = {**tree, "spec": stored.pod_spec(tree["spec"])}
    document = reduced(plural, tree)
    metadata = dict(_inside(document, ("metadata",)))
    metadata["name"] = str(metadata.get("name") or metadata.get("generateName") or "unnamed")
    if plural not in CLUSTER_WIDE:
        metadata["namespace"] = str(metadata.get("namespace") or namespace)
    document = {**document, "metadata": metadata}
    if plural == "resourceclaims":
        return {**document, "spec": stored.claim_spec(_inside(document, ("spec",)))}
    if plural == "resourceclaimtemplates":
        spec = stored.claim_spec(_inside(document, ("spec", "spec")))
        return {**document, "spec": {"spec": spec}}
    return document


def _key(document: Document) -> str:
    metadata = _inside(document, ("metadata",))
    names = (metadata.get("namespace"), metadata.get("name"))
    return "/".join(str(name) for name in names if name)

"""Objects of files, before they are applied: laid over those of a cluster, as if they were."""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dragoman.inventory.snapshots.documents import (
    GANGS,
    KINDS,
    WELL_KNOWN_LABELS,
    Document,
    named_labels,
    reduced,
)
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman_toolkit import stored
from dragoman_toolkit.workloads import Workload, workload

POD_GROUP = "kueue.x-k8s.io/pod-group-name"
"""Label of pods that Kueue admits together."""
CLUSTER_WIDE = frozenset(
    {"nodes", "namespaces", "resourceslices", "deviceclasses", "devicetaintrules"}
)


@dataclass(frozen=True, slots=True)
class PlannedPods:
    """Pods that a workload makes from one spec."""

    key: str  # `namespace/name` of one of them in the cluster, by the workload's name
    copies: int | None  # How many may run at once; None for one on each node


@dataclass(frozen=True, slots=True)
class PlannedWorkload:
    """A pod or a workload of files, or pods that say that they are of one group."""

    title: str  # Kind, namespace and name
    pods: tuple[PlannedPods, ...]  # What it makes
    gangs: int = 0  # How many sets of pods are placed whole or not at all; 0 where each is alone
    least: int = 0  # Pods of a set that are of use without the rest; 0 where all are needed


@dataclass(frozen=True, slots=True)
class PlannedCluster:
    """A cluster with the objects of files in it."""

    snapshot: Snapshot  # The objects of both; those of files win
    workloads: tuple[PlannedWorkload, ...] = ()  # In the order of the files
    left_out: tuple[str, ...] = ()  # Workloads that installing a chart does not create: its tests
    claims: tuple[str, ...] = ()  # `namespace/name` of the claims in files
    templates: tuple[str, ...] = ()  # `namespace/name` of the templates in files

    @property
    def pods(self) -> tuple[str, ...]:
        """`namespace/name` of the pods in files, a workload's pod by the workload's name."""
        return tuple(pods.key for one in self.workloads for pods in one.pods)

    @property
    def unknown_labels(self) -> tuple[str, ...]:
        """Labels of nodes that pods in files name and no node has.

        A snapshot keeps only those labels that objects of its cluster name.
        """
        if not self.pods:
            return ()
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
    read = [*flat(trees)]
    if not read:
        return PlannedCluster(snapshot, (), (), (), ())
    objects = {plural: {_key(one): one for one in found} for plural, found in _all(snapshot)}
    named: dict[str, list[str]] = {"resourceclaims": [], "resourceclaimtemplates": []}
    workloads: dict[str, PlannedWorkload] = {}
    left_out = []
    least = {_key(_named(one, namespace)): _least(one) for one in read if _is_group(one)}
    pods = objects.setdefault("pods", {})
    for tree in read:
        kind = str(tree.get("kind"))
        found = workload(tree) if kind == "Pod" or kind not in KINDS else None
        if kind in KINDS and found is None:
            plural = KINDS[kind]
            document = _placed(plural, tree, namespace)
            objects.setdefault(plural, {})[_key(document)] = document
            if plural in named:
                named[plural].append(_key(document))
        elif found is not None and _is_test(tree):
            left_out.append(found.title(namespace))
        elif found is not None:
            made = [*_pods(tree, found, namespace, pods)]
            pods.update({_key(document): document for document, _ in made})
            _add(workloads, found.title(namespace), made, found, least)
    return PlannedCluster(
        replace(snapshot, objects={plural: tuple(one.values()) for plural, one in objects.items()}),
        tuple(workloads.values()),
        tuple(left_out),
        *(tuple(dict.fromkeys(one)) for one in named.values()),
    )


def _add(
    workloads: dict[str, PlannedWorkload],
    title: str,
    made: Iterable[tuple[Document, int | None]],
    of: Workload,
    least: Mapping[str, int | None],
) -> None:
    """Add a workload; pods of one group that are objects of their own become one.

    Args:
        workloads: Those so far, by title.
        title: Its title.
        made: Its pods, and how many of each there may be.
        of: What makes them.
        least: Pods that each group of the files needs at once; None where each pod is alone.
    """
    found = tuple((document, PlannedPods(_key(document), copies)) for document, copies in made)
    group = next(filter(None, (_group(document) for document, _ in found)), "")
    alone = bool(group) and least.get(group, 0) is None
    gangs = 0 if alone else of.gangs
    title = f"PodGroup {group}" if group and not (gangs or alone) else title
    gangs = 1 if group and not (gangs or alone) else gangs
    before = workloads[title].pods if title in workloads and group and not alone else ()
    pods = tuple(one for _, one in found)
    kept = [one for one in before if one.key not in {new.key for new in pods}]
    enough = (least.get(group) or of.least) if gangs == 1 else 0
    workloads[title] = PlannedWorkload(title, (*kept, *pods), gangs, enough)


def _is_group(tree: Mapping[str, Any]) -> bool:
    return tree.get("kind") == "PodGroup" and "scheduling" in str(tree.get("apiVersion"))


def _least(group: Mapping[str, Any]) -> int | None:
    """Return how many pods a PodGroup needs at once; 0 for all, None where each is alone.

    Sources: scheduling.k8s.io/v1alpha2 (`schedulingPolicy`); `minMember` of Volcano, KAI and the
    scheduler plugin Coscheduling.
    """
    spec = _inside(group, ("spec",))
    policy = _inside(spec, ("schedulingPolicy",))
    if "basic" in policy:
        return None
    found = _inside(policy, ("gang",)).get("minCount", spec.get("minMember"))
    return found if type(found) is int and found > 0 else 0


def _named(tree: Mapping[str, Any], namespace: str) -> Document:
    metadata = _inside(tree, ("metadata",))
    return {"metadata": {"namespace": namespace, **metadata}}


def _group(pod: Document) -> str:
    """Return `namespace/name` of the group of a pod; empty for a pod alone."""
    metadata = _inside(pod, ("metadata",))
    labels = _inside(metadata, ("labels",))
    names = [_inside(pod, ("spec", "schedulingGroup")).get("podGroupName")]
    names += [labels.get(label) for label in (*GANGS, POD_GROUP)]
    found = next(filter(None, names), "")
    return f"{metadata.get('namespace')}/{found}" if found else ""


def _is_test(tree: Mapping[str, Any]) -> bool:
    """Whether Helm creates an object only for `helm test`."""
    hooks = str(_inside(tree, ("metadata", "annotations")).get("helm.sh/hook") or "")
    return bool(hooks) and all(one.strip().startswith("test") for one in hooks.split(","))


def _pods(
    tree: Mapping[str, Any], found: Workload, namespace: str, there: Container[str]
) -> Iterator[tuple[Document, int | None]]:
    """Yield one pod for each spec of a workload, and how many of it there may be.

    Its name is that of the workload, with the role and, where another pod has that, the kind.
    """
    taken: set[str] = set()
    for pods in found.pods:
        if found.kind == "Pod":
            yield _placed("pods", tree, namespace), 1
            continue
        names = ["-".join(filter(None, (found.name, pods.role)))]
        names.append(f"{names[0]}-{found.kind.lower()}")
        where = found.namespace or namespace
        free = (
            one for one in names if not {f"{where}/{one}"} & taken and f"{where}/{one}" not in there
        )
        own = {"name": next(free, names[-1]), "namespace": where, "labels": pods.labels or {}}
        taken.add(f"{where}/{own['name']}")
        yield _placed("pods", {"metadata": own, "spec": pods.plain()}, namespace), pods.copies


def _all(snapshot: Snapshot) -> Iterator[tuple[str, tuple[Document, ...]]]:
    yield from snapshot.objects.items()


def flat(trees: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects among documents, those of lists too."""
    for tree in trees:
        items = tree.get("items") if isinstance(tree, Mapping) else None
        for one in items if isinstance(items, list) else [tree]:
            if isinstance(one, Mapping):
                yield one


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

"""The pods of a workload in a cluster, found by their owners and labels."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

import orjson

from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.snapshots.documents import TEMPLATE_HASH
from dragoman.model.fields import mapping
from dragoman.model.pod import TERMINAL_PHASES
from dragoman_base.words import natural
from dragoman_toolkit.workloadkinds import KINDS, WorkloadKind


def members(world: World, kind: WorkloadKind, key: str) -> list[PodFact]:
    """Return the pods of a workload, in the order of their names.

    Args:
        world: The cluster.
        kind: Of the workload.
        key: Its `namespace/name`.
    """
    namespace, _, name = key.partition("/")
    there = [one for one in world.pods.values() if one.pod.metadata.namespace == namespace]
    found = [one for one in there if _is_of(one, kind, name)]
    if not found and kind.kind == "Workload":
        found = [one for one in there if any(_is_hashed(name, of) for of in _admitted_as(one))]
    return sorted(found, key=lambda one: natural(one.key))


def _is_of(pod: PodFact, kind: WorkloadKind, name: str) -> bool:
    if kind.kind == "PodGroup":
        return pod.pod.group_name == name
    labels = mapping(mapping(pod.document, "metadata"), "labels")
    owner = pod.pod.metadata.owner
    if any(labels.get(label) == name for label in kind.labels):
        return True
    if owner is None:
        return False
    group, _, _ = owner.api_version.rpartition("/")
    if (owner.kind, owner.name, group) == (kind.kind, name, kind.group):
        return True
    digest = labels.get(TEMPLATE_HASH)
    if digest and owner.kind == "ReplicaSet" and owner.name.endswith(f"-{digest}"):
        exact = owner.name == f"{name}-{digest}"
        return exact and any(of == "ReplicaSet" for of, _ in kind.through)
    return any(
        owner.kind == of and re.fullmatch(re.escape(name) + rest, owner.name) is not None
        for of, rest in kind.through
    )


def _is_hashed(name: str, written: str) -> bool:
    return bool(written) and re.fullmatch(re.escape(written) + "(-[0-9a-f]{5})?", name) is not None


def _admitted_as(pod: PodFact) -> Iterator[str]:
    """Yield names that Kueue's Workload of a pod can have, without the hash at their end.

    Source: kueue, pkg/controller/jobframework/workload_names.go: `KIND-NAME-HASH`.
    """
    owner = pod.pod.metadata.owner
    labels = mapping(mapping(pod.document, "metadata"), "labels")
    yield f"pod-{pod.pod.metadata.name}"
    yield str(labels.get("kueue.x-k8s.io/pod-group-name") or "")
    if owner is not None:
        yield f"{owner.kind.lower()}-{owner.name}"
    for kind in KINDS.values():
        for label in kind.labels:
            if label in labels:
                yield f"{kind.kind.lower()}-{labels[label]}"


def waits(pod: PodFact) -> bool:
    """Whether a pod has not started yet, with or without a node."""
    return not pod.pod.done and pod.pod.phase in ("", "Pending")


def alike(world: World, pods: Iterable[PodFact]) -> list[list[PodFact]]:
    """Group pods that have the same answer: equal specs and claims, at the same stage."""
    found: dict[bytes, list[PodFact]] = {}
    for pod in pods:
        found.setdefault(_signature(world, pod), []).append(pod)
    return list(found.values())


def _signature(world: World, pod: PodFact) -> bytes:
    namespace = pod.pod.metadata.namespace
    claims = []
    for entry in pod.pod.entries:
        name = pod.pod.published_name(entry) or ""
        made = world.claims.get(f"{namespace}/{name}") if name else None
        own = "" if entry.template_name else name
        claims.append(
            [own, repr(made.spec) if made else bool(name), repr(made.held) if made else ""]
        )
    status = mapping(pod.document, "status")
    stage = [pod.pod.phase, bool(status.get("conditions")), status.get("containerStatuses")]
    whole = [mapping(pod.document, "spec"), claims, stage]
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS, default=str)


def states(pods: Iterable[PodFact]) -> str:
    """Say how many pods wait, run and have ended; empty without pods."""
    counts = Counter(
        "ended" if one.pod.phase in TERMINAL_PHASES else "waiting" if waits(one) else "running"
        for one in pods
    )
    return ", ".join(
        f"{counts[word]} {word}" for word in ("waiting", "running", "ended") if counts[word]
    )

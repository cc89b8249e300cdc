"""Queues, what they admitted, and the pods of each: read from the managers' own objects."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.model.fields import part, parts
from dragoman_toolkit.queues.amounts import amounts
from dragoman_toolkit.queues.managers import Manager, managers

Document = Mapping[str, Any]
UNIT = 10**9
"""One device, in the units of all amounts here: 10^-9, as quantities have them."""
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
_PODSETS = ("kueue.x-k8s.io/podset", "kueue.x-k8s.io/role-hash")
_WORKLOAD = "kueue.x-k8s.io/workload"
_GROUP = "scheduling.k8s.io/group-name"
_JOBSET = "jobset.sigs.k8s.io/jobset-name"
KUEUE_GATES = ("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology", "kueue.x-k8s.io/elastic-job")
VOLCANO_GATE = "scheduling.volcano.sh/queue-allocation-gate"


def name_of(document: Document) -> str:
    """Return `metadata.name`."""
    return str(part(document, "metadata").get("name") or "")


def key_of(document: Document) -> str:
    """Return `namespace/name`."""
    return f"{part(document, 'metadata').get('namespace') or ''}/{name_of(document)}"


def condition(document: Document, kind: str) -> Document:
    """Return a condition of a status; empty where it is not set."""
    found = (one for one in parts(document, "status", "conditions") if one.get("type") == kind)
    return next(found, {})


def holds(document: Document, kind: str) -> bool:
    """Whether a condition is True."""
    return condition(document, kind).get("status") == "True"


@dataclass(frozen=True, slots=True)
class PodSet:
    """Pods of a Workload that are alike."""

    name: str
    count: int  # How many pods are charged, or would be
    charged: Mapping[str, int]  # By resource, for all of them; empty without an admission
    spec: Document  # Of its pods, reduced
    reclaimed: int = 0  # How many have ended and are not charged any more


@dataclass(frozen=True)
class Workload:
    """A Workload of Kueue."""

    document: Document  # The object, reduced

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.key.partition("/")[0]

    @cached_property
    def key(self) -> str:
        """`namespace/name`."""
        return key_of(self.document)

    @cached_property
    def subject(self) -> str:
        """The job that it is made for, as `namespace/name`; the Workload where there is none."""
        return f"{self.namespace}/{self.owner.get('name') or name_of(self.document)}"

    @property
    def owner(self) -> Document:
        """The owner that controls it, else the only one; empty for a group of pods."""
        owners = parts(self.document, "metadata", "ownerReferences")
        found = [one for one in owners if one.get("controller")]
        return (found or ([*owners] if len(owners) == 1 else []) or [{}])[0]

    @property
    def queue(self) -> str:
        """The LocalQueue, as `namespace/name`."""
        return f"{self.namespace}/{part(self.document, 'spec').get('queueName') or ''}"

    @property
    def admission(self) -> Document:
        """`status.admission`; empty while there is no reservation."""
        return part(self.document, "status", "admission")

    @property
    def finished(self) -> bool:
        """Whether its job has ended."""
        return holds(self.document, "Finished")

    @property
    def waits(self) -> bool:
        """Whether it wants a reservation and has none."""
        active = part(self.document, "spec").get("active") is not False
        return active and not (self.admission or self.finished)

    @cached_property
    def podsets(self) -> tuple[PodSet, ...]:
        """Its pods, with what they are charged: less what has been reclaimed."""
        given = {str(one.get("name")): one for one in parts(self.admission, "podSetAssignments")}
        reclaimed = {
            str(one.get("name")): _count(one.get("count"), 0)
            for one in parts(self.document, "status", "reclaimablePods")
        }
        return tuple(
            _podset(one, given.get(str(one.get("name"))), reclaimed.get(str(one.get("name")), 0))
            for one in parts(self.document, "spec", "podSets")
        )

    def charged(self, resource: str) -> int:
        """Return what it is charged of a resource."""
        return sum(one.charged.get(resource, 0) for one in self.podsets)


def _podset(document: Document, given: Document | None, reclaimed: int) -> PodSet:
    wanted = _count(document.get("count"), 1)
    count = wanted if given is None else _count(given.get("count"), wanted)
    left = max(count - reclaimed, 0)
    charged = {} if given is None else amounts(given.get("resourceUsage"))
    if left != count:
        charged = {name: value * left // max(count, 1) for name, value in charged.items()}
    name = str(document.get("name") or "main")
    return PodSet(name, left, charged, part(document, "template", "spec"), count - left)


def _count(value: Any, default: int) -> int:
    return value if type(value) is int and value >= 0 else default


@dataclass(frozen=True)
class Queues:
    """All objects of queue managers in a cluster."""

    snapshot: Snapshot  # The objects
    world: World  # Pods and claims

    @cached_property
    def managers(self) -> dict[str, Manager]:
        """Managers with queues, by name."""
        return managers(self.snapshot)

    @cached_property
    def cluster_queues(self) -> dict[str, Document]:
        """ClusterQueues by name."""
        return {name_of(one): one for one in self.snapshot.of("clusterqueues.kueue.x-k8s.io")}

    @cached_property
    def local_queues(self) -> dict[str, Document]:
        """LocalQueues by `namespace/name`."""
        return {key_of(one): one for one in self.snapshot.of("localqueues.kueue.x-k8s.io")}

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        """Workloads by `namespace/name`, in the order of their names."""
        found = map(Workload, self.snapshot.of("workloads.kueue.x-k8s.io"))
        return {one.key: one for one in sorted(found, key=lambda one: one.key)}

    @cached_property
    def volcano_queues(self) -> dict[str, Document]:
        """Queues of Volcano by name."""
        return {name_of(one): one for one in self.snapshot.of("queues.scheduling.volcano.sh")}

    @cached_property
    def pod_groups(self) -> dict[str, Document]:
        """PodGroups of Volcano by `namespace/name`."""
        return {key_of(one): one for one in self.snapshot.of("podgroups.scheduling.volcano.sh")}

    @cached_property
    def kai_queues(self) -> dict[str, Document]:
        """Queues of KAI by name."""
        return {name_of(one): one for one in self.snapshot.of("queues.scheduling.run.ai")}

    @cached_property
    def jobs(self) -> dict[str, Document]:
        """Jobs by UID."""
        found = self.snapshot.of("jobs.batch")
        return {str(part(one, "metadata").get("uid") or ""): one for one in found}

    def cluster_queue(self, local: str) -> str:
        """Return the ClusterQueue of a LocalQueue; empty where either is not there."""
        found = self.local_queues.get(local, {})
        return str(part(found, "spec").get("clusterQueue") or "")

    @cached_property
    def _by_owner(self) -> dict[str, Workload]:
        """Workloads by UID of each of their owners: a job, or the pods of a group."""
        return {
            str(owner.get("uid") or ""): one
            for one in self.workloads.values()
            for owner in parts(one.document, "metadata", "ownerReferences")
        }

    def workload_of(self, pod: PodFact) -> Workload | None:
        """Return the Workload of a pod: by annotation, or the one that a controller of it owns."""
        metadata = part(pod.document, "metadata")
        namespace = pod.pod.metadata.namespace
        named = part(metadata, "annotations").get(_WORKLOAD)
        if named and (found := self.workloads.get(f"{namespace}/{named}")):
            return found
        uid = pod.pod.metadata.uid
        for _ in range(8):  # Owners of owners; a cycle ends as well
            if uid in self._by_owner:
                return self._by_owner[uid]
            holder = (
                metadata if uid == pod.pod.metadata.uid else part(self.jobs.get(uid), "metadata")
            )
            owners = [one for one in parts(holder, "ownerReferences") if one.get("controller")]
            if not owners:
                break
            uid = str(owners[0].get("uid") or "")
        jobset = part(metadata, "labels").get(_JOBSET)
        return self._jobsets.get(f"{namespace}/{jobset}") if jobset else None

    @cached_property
    def _jobsets(self) -> dict[str, Workload]:
        """Workloads of JobSets, for which Jobs may not be listed."""
        found = self.workloads.values()
        return {one.subject: one for one in found if one.owner.get("kind") == "JobSet"}

    @cached_property
    def pods(self) -> dict[str, dict[str, list[PodFact]]]:
        """Pods by Workload, then by name of the PodSet."""
        found: defaultdict[str, dict[str, list[PodFact]]] = defaultdict(dict)
        for pod in self.world.pods.values():
            workload = self.workload_of(pod)
            if workload is not None:
                name = _podset_name(pod, workload)
                found[workload.key].setdefault(name, []).append(pod)
        return found

    def group_of(self, pod: PodFact) -> Document | None:
        """Return the PodGroup of Volcano of a pod."""
        annotations = part(pod.document, "metadata", "annotations")
        name = annotations.get(_GROUP)
        return self.pod_groups.get(f"{pod.pod.metadata.namespace}/{name}") if name else None

    def namespaces(self, cluster_queue: str) -> frozenset[str]:
        """Return the namespaces with a LocalQueue of a ClusterQueue."""
        return frozenset(
            key.partition("/")[0]
            for key, one in self.local_queues.items()
            if part(one, "spec").get("clusterQueue") == cluster_queue
        )


def labels_of(pod: PodFact) -> Document:
    """Return the labels of a pod, as far as they are read."""
    return part(pod.document, "metadata", "labels")


def _podset_name(pod: PodFact, workload: Workload) -> str:
    names = [one.name for one in workload.podsets]
    found = (labels_of(pod).get(key) for key in _PODSETS)
    named = next((str(one) for one in found if one in names), "")
    return named or (names[0] if names else "main")


def gates_of(pod: PodFact) -> Iterator[str]:
    """Yield the names of a pod's scheduling gates."""
    for one in parts(pod.document, "spec", "schedulingGates"):
        yield str(one.get("name") or "")

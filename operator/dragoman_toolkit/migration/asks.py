"""What workloads ask of extended resources."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman.allocation.extendedresources import asked, is_extended
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.snapshots.documents import TEMPLATE_HASH
from dragoman.model.fields import MalformedObjectError, part, parts
from dragoman_toolkit.migration.queues import queue_of
from dragoman_toolkit.stored import pod_spec
from dragoman_toolkit.workloads import Workload

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AskingPod:
    """A pod, or what a manifest makes pods from, with what it asks for."""

    document: Document  # The pod in the API's form, as the API server stores it
    requests: Mapping[str, tuple[int, ...]]  # Devices of each request, by resource
    node: str = ""  # Where it runs; empty before, and for a manifest
    copies: int = 1  # How many pods are alike

    @property
    def spec(self) -> Document:
        """Its spec."""
        return part(self.document, "spec")

    def devices(self, resource: str) -> int:
        """Return how many devices it asks for."""
        return sum(self.requests.get(resource, ()))


@dataclass(frozen=True)
class Asking:
    """A workload: the controller at the top of its pods' owners, or a pod without one."""

    namespace: str
    kind: str  # Such as `Deployment`
    name: str
    pods: list[AskingPod] = field(default_factory=list)
    from_file: bool = False  # Whether it is a manifest, which nothing has scheduled
    queue: str | None = None  # Its LocalQueue of Kueue; empty for an unknown one, None for none

    @property
    def key(self) -> tuple[str, str, str]:
        """Its namespace, kind and name: the order of the report."""
        return self.namespace, self.kind, self.name

    @property
    def count(self) -> int:
        """How many pods it has."""
        return sum(one.copies for one in self.pods)

    def each(self, resource: str) -> int:
        """Return the most devices that one of its pods asks for."""
        return max((one.devices(resource) for one in self.pods), default=0)

    def total(self, resource: str) -> int:
        """Return how many devices all of its pods ask for."""
        return sum(one.devices(resource) * one.copies for one in self.pods)

    @property
    def resources(self) -> list[str]:
        """The resources that it asks for, sorted."""
        return sorted({name for one in self.pods for name in one.requests})


def of_pods(pods: Iterable[PodFact]) -> list[Asking]:
    """Return the workloads of pods that have not ended and ask for extended resources."""
    found: dict[tuple[str, str, str], Asking] = {}
    for one in pods:
        if one.pod.phase in ("Succeeded", "Failed"):
            continue
        requests = asked_of(one.document)
        if requests:
            namespace = one.pod.metadata.namespace
            kind, name = top_owner(one.document)
            workload = found.get((namespace, kind, name))
            if workload is None:
                charged = queue_of(part(one.document, "metadata"))
                workload = Asking(namespace, kind, name, queue=charged)
                found[workload.key] = workload
            node = str(part(one.document, "spec").get("nodeName") or "")
            workload.pods.append(AskingPod(one.document, requests, node))
    return [found[key] for key in sorted(found)]


def of_manifests(workloads: Iterable[Workload], namespace: str) -> Iterator[Asking]:
    """Yield the workloads of manifests that ask for extended resources.

    Args:
        workloads: As manifests describe them.
        namespace: Of manifests without one.
    """
    for one in workloads:
        asking = Asking(
            one.namespace or namespace, one.kind, one.name, from_file=True, queue=queue(one)
        )
        for pods in one.pods:
            document = {"metadata": {"name": one.name}, "spec": pod_spec(pods.plain())}
            requests = asked_of(document)
            if requests:
                asking.pods.append(AskingPod(document, requests, copies=pods.copies or 1))
        if asking.pods:
            yield asking


def queue(one: Workload) -> str | None:
    """Return the LocalQueue of a manifest: by its own labels, or those of its pods."""
    found = (queue_of({"labels": labels}) for labels in (one.labels, *(p.labels for p in one.pods)))
    return next((name for name in found if name is not None), None)


def top_owner(pod: Document) -> tuple[str, str]:
    """Return kind and name of the controller at the top of a pod's owners.

    The Deployment of a ReplicaSet, and the CronJob of a Job, are known by their names alone: a
    Deployment appends the hash of its template, a CronJob the minute of its schedule.
    """
    metadata = part(pod, "metadata")
    owners = parts(metadata, "ownerReferences")
    owner = next((one for one in owners if one.get("controller")), None)
    if owner is None:
        return "Pod", str(metadata.get("name") or "")
    kind, name = str(owner.get("kind") or ""), str(owner.get("name") or "")
    template = str(part(metadata, "labels").get(TEMPLATE_HASH) or "")
    if kind == "ReplicaSet" and template and name.endswith(f"-{template}"):
        return "Deployment", name.removesuffix(f"-{template}")
    if kind == "Job" and (scheduled := re.fullmatch(r"(.+)-\d{8}", name)):
        return "CronJob", scheduled[1]
    return kind, name


def asked_of(pod: Document) -> dict[str, tuple[int, ...]]:
    """Return the devices of each request for extended resources; none of a malformed pod."""
    spec = part(pod, "spec")
    if not any(
        is_extended(name)  # few pods ask for any, and the requests of a claim take longer
        for kind in ("containers", "initContainers")
        for one in parts(spec, kind)
        for name in part(one, "resources", "requests")
    ):
        return {}
    try:
        return asked(pod)
    except MalformedObjectError:
        return {}

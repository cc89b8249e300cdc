"""A DevicePreemption of mode Preempt as it is stored: what one plan may do, and how far it is.

It is a record, and never an instruction: pods are evicted only where a plan that is computed again
names them as well. Pods of other namespaces are in it as digests of their UIDs, which say nothing
to those who may not list them.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Self

from dragoman.allocation import DeviceID
from dragoman.model.fields import Document, items, mapping, optional_text, text

PREEMPT = "Preempt"
REPORT = "Report"
FINALIZER = "dragoman.dev/preemption"
NEVER = 0.0
LATEST = 253_402_300_799.0
"""Unix time of the last second that has a timestamp of the API."""


class Phase(StrEnum):
    """How far a preemption is."""

    RESERVING = "Reserving"
    """Devices are being reserved; nothing is evicted yet."""
    EVICTING = "Evicting"
    """Pods are being evicted."""
    PLACING = "Placing"
    """The scheduler has the devices to give; nothing else is done."""
    PLACED = "Placed"
    """The pod has a node."""
    FAILED = "Failed"
    """Pods were evicted, and the pod has no node."""
    ABORTED = "Aborted"
    """It ended before it could succeed, and is no failure."""


ENDED = frozenset({Phase.PLACED, Phase.FAILED, Phase.ABORTED})


@dataclass(frozen=True, slots=True)
class RequestedEviction:
    """An eviction that was asked for."""

    pod: str  # Digest of the pod's UID
    owner: str  # Digest of the UID of its controller; empty for a bare pod
    at: float  # Unix time

    def document(self) -> dict[str, str]:
        """Return an item of `status.evictions`."""
        owner = {"owner": self.owner} if self.owner else {}
        return {"pod": self.pod, **owner, "at": timestamp(self.at)}


@dataclass(frozen=True, slots=True)
class Journal:
    """A DevicePreemption of mode Preempt."""

    namespace: str  # `metadata.namespace`.
    name: str  # `metadata.name`: the pod's UID, and the number of the attempt from the second on.
    uid: str  # `metadata.uid`.
    pod: str  # Name of the pod that waits
    pod_uid: str  # Its UID
    priority: int  # Its priority
    node: str  # Where it is to run
    victims: frozenset[str]  # Digests of the UIDs of pods that may be evicted
    devices: tuple[DeviceID, ...]  # What is reserved for it
    attempt: int = 1  # The first plan for a pod has 1
    phase: Phase = Phase.RESERVING  # How far it is
    created: float = NEVER  # Unix time
    reserved: float = NEVER  # Unix time at which every rule was there; 0 before
    deadline: float = NEVER  # Unix time at which it ends at the latest; 0 while that is not decided
    ended: float = NEVER  # Unix time; 0 before
    evictions: tuple[RequestedEviction, ...] = ()  # What was asked for
    message: str = ""  # `status.message`.
    deleting: bool = False  # Whether it is being deleted: an administrator stops it
    finalizers: tuple[str, ...] = (FINALIZER,)  # `metadata.finalizers`.
    version: str = ""  # `metadata.resourceVersion`.

    @property
    def key(self) -> str:
        """`namespace/name` of the pod that waits."""
        return f"{self.namespace}/{self.pod}"

    @property
    def finalized(self) -> bool:
        """Whether our finalizer is there: devices may be reserved."""
        return FINALIZER in self.finalizers

    @property
    def running(self) -> bool:
        """Whether it has not ended; one that others keep from being deleted has."""
        return self.phase not in ENDED and (self.finalized or not self.deleting)

    @property
    def active(self) -> bool:
        """Whether there may be something to do or to clean up."""
        return self.running or self.finalized

    @classmethod
    def parse(cls, document: Document) -> Self:
        """Read a DevicePreemption; raise MalformedObjectError naming the field."""
        metadata, spec = mapping(document, "metadata"), mapping(document, "spec")
        status = mapping(document, "status")
        pod = mapping(spec, "pod", "spec.")
        found = [Phase(one) for one in (status.get("phase"),) if one in set(Phase)]
        attempt, priority = spec.get("attempt"), pod.get("priority")
        digests = spec.get("victimDigests")
        return cls(
            namespace=text(metadata, "namespace", "metadata."),
            name=text(metadata, "name", "metadata."),
            uid=text(metadata, "uid", "metadata."),
            pod=text(pod, "name", "spec.pod."),
            pod_uid=text(pod, "uid", "spec.pod."),
            priority=priority if type(priority) is int else 0,
            node=text(spec, "node", "spec."),
            victims=frozenset(map(str, digests if isinstance(digests, list) else ())),
            devices=tuple(
                DeviceID(*(text(one, key, "spec.reserved[].") for key in DeviceID._fields))
                for one in items(spec, "reserved", "spec.")
            ),
            attempt=attempt if type(attempt) is int else 1,
            phase=found[0] if found else Phase.RESERVING,
            created=moment(metadata.get("creationTimestamp")),
            reserved=moment(status.get("reservedAt")),
            deadline=moment(status.get("deadline")),
            ended=moment(status.get("endedAt")),
            evictions=tuple(_eviction(one) for one in items(status, "evictions", "status.")),
            message=optional_text(status, "message", "status.") or "",
            deleting=metadata.get("deletionTimestamp") is not None,
            finalizers=tuple(map(str, metadata.get("finalizers") or ())),
            version=optional_text(metadata, "resourceVersion", "metadata.") or "",
        )


def mode_of(document: Mapping[str, Any]) -> str:
    """Return `spec.mode` of a DevicePreemption, empty where it has none."""
    spec = document.get("spec")
    return str(spec.get("mode") or "") if isinstance(spec, Mapping) else ""


def name_of(uid: str, attempt: int) -> str:
    """Return the name of a journal: two leaders create the same one."""
    return uid if attempt == 1 else f"{uid}-{attempt}"


def digest(uid: str) -> str:
    """Return what stands for a UID where not everyone who reads may know the pod."""
    return hashlib.sha256(uid.encode()).hexdigest()[:32] if uid else ""


def timestamp(at: float) -> str:
    """Return Unix time as an API timestamp with milliseconds, of the year 9999 at the latest."""
    text = datetime.fromtimestamp(min(max(at, 0.0), LATEST), UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def moment(text: object) -> float:
    """Return an API timestamp as Unix time, 0 where it is none."""
    try:
        return datetime.fromisoformat(str(text)).timestamp() if text else NEVER
    except (ValueError, OverflowError):
        return NEVER


def _eviction(document: Document) -> RequestedEviction:
    return RequestedEviction(
        str(document.get("pod") or ""),
        str(document.get("owner") or ""),
        moment(document.get("at")),
    )


@dataclass(frozen=True, slots=True)
class PreemptionLimits:
    """What is allowed at one time, and how fast."""

    parallel: int = 2  # Preemptions at a time in the whole cluster
    per_hour: int = 30  # Evictions in an hour
    per_namespace: int = 10  # The same for the pods of one namespace
    timeout: float = 60.0  # Seconds beside the victims' grace periods until a preemption has failed
    release: float = 0.0  # Seconds that the release of a victim's claim may take beside them
    max_grace: float = 120.0  # Seconds of the longest grace period of a victim
    # Seconds that a pod runs whose controller lost one to a preemption lately
    min_runtime: float = 60.0
    attempts: int = 3  # Plans for one pod
    failures: int = 3  # Failures in a row after which nothing is evicted

    @property
    def longest(self) -> float:
        """Seconds after which a preemption has ended, whatever its object says.

        It evicts within the time limit, and waits for the last victim for as long again.
        """
        return 2 * self.timeout + self.max_grace + self.release


DEFAULT_LIMITS = PreemptionLimits()

"""Event handlers: they enqueue the keys that a stored change concerns."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.clusterstate import ClusterState
from dragoman.controllers.claims.othercontroller import OtherController
from dragoman.kube.informer import Informer
from dragoman.kube.store import Fact
from dragoman.kube.workqueue import WorkQueue
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup
from dragoman.model.template import Template


class ObjectKey(NamedTuple):
    """The object that a worker reconciles."""

    kind: Literal["pod", "podgroup", "claim"]
    namespace: str
    name: str


LANES = ("create", "release")


def lane(key: ObjectKey) -> str:
    """Return the lane of a key: creation and release of claims have their own workers."""
    return "release" if key.kind == "claim" else "create"


@dataclass
class EventHandlers:
    """Observers of pods, claims, templates and PodGroups, also of responses to own writes."""

    state: ClusterState  # The stores
    queue: WorkQueue[ObjectKey]  # Receives the keys that a change concerns
    other: OtherController  # Observes what another claim controller does
    # How many pods that use claims each namespace has, where there are any
    pods_with_claims: Counter[str] = field(default_factory=Counter)
    _by: ObjectKey | None = None
    """The key whose worker wrote what is being stored, and plans again anyway."""

    def observe(self, cluster: ClusterStores) -> None:
        """Receive each change of a cluster."""
        cluster.pods.observers.append(self._pod_changed)
        cluster.claims.observers.append(self._claim_changed)
        cluster.templates.observers.append(self._template_changed)
        if cluster.groups is not None:
            cluster.groups.observers.append(self._group_changed)

    def store(self, informer: Informer[Fact], written: Fact, by: ObjectKey) -> None:
        """Store the response to a write.

        Args:
            informer: Of the resource.
            written: The object as the server answered.
            by: The key whose worker wrote it.
        """
        self.state.own_writes.add(written.metadata.resource_version)
        self._by = by
        try:
            informer.changed(written)
        finally:
            self._by = None

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Enqueue a pod that was added or changed, and its claims; of a deleted one its claims."""
        self._count(old, new)
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self.state.times.forget(old.metadata.uid)
            self._enqueue_claims(old)
        if new is None:
            return
        if self._by is None:
            self.other.pod(old, new)
        if new.uses_claims:
            self._enqueue_pod(new, self._by)

    def _count(self, old: Pod | None, new: Pod | None) -> None:
        """Count by namespace; other pods may only wait for a node."""
        for pod, change in ((new, 1), (old, -1)):
            if pod is not None and pod.uses_claims:
                self.pods_with_claims[pod.metadata.namespace] += change
                if not self.pods_with_claims[pod.metadata.namespace]:
                    del self.pods_with_claims[pod.metadata.namespace]

    def _enqueue_claims(self, holder: Pod | PodGroup) -> None:
        """Enqueue all claims that a holder used, or that were created for it."""
        for name in holder.claim_names():
            self.queue.add(ObjectKey("claim", holder.metadata.namespace, name))
        for claim in self.state.claims.find("owner", _place(holder)):
            self.queue.add(_key("claim", claim))

    def _claim_changed(self, old: Claim | None, new: Claim | None) -> None:
        """Enqueue a claim that was added or changed, and its holders; of a deleted one these."""
        by = self._by
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self.state.times.forget(old.metadata.uid)
        if new is None:
            if old is not None:
                self._enqueue_holders(old)
            return
        if by is None:
            self.other.claim(old, new)
        key = _key("claim", new)
        if key != by and not self._is_just_made(new, by):
            self.queue.add(key)
        if old is None or _identity(old) != _identity(new):
            # A change of consumers need not wake the up to 256 pods that share the claim.
            self._enqueue_holders(new, by)
        elif _use(old) != _use(new) and self._has_twin(new):
            # The owner's status may name the one of them that was not allocated.
            self._enqueue_owner(new, by)

    def _is_just_made(self, claim: Claim, by: ObjectKey | None) -> bool:
        """Whether a pod's worker created the claim, and the pod still needs it."""
        owner = claim.metadata.owner
        if by is None or by.kind != "pod" or owner is None:
            return False
        pod = self.state.pods.get(by.namespace, by.name)
        return pod is not None and pod.metadata.uid == owner.uid and not pod.done

    def _template_changed(self, old: Template | None, new: Template | None) -> None:
        """Enqueue the pods and PodGroups that wait for a template; made claims stay without it."""
        if new is None or (old is not None and old.metadata.uid == new.metadata.uid):
            # The API makes the spec immutable: labels of the template itself change no claim, and
            # must not end the back-off of the pods that wait.
            return
        namespace, name = new.metadata.namespace, new.metadata.name
        for pod in self.state.pods.find("template", (namespace, name)):
            if self._waits_for_claim(pod):
                self.queue.add(_key("pod", pod))
        for group in self.state.groups.find("template", (namespace, name)):
            self.queue.add(_key("podgroup", group))

    def _group_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        """Enqueue a PodGroup that was added, changed or deleted, its claims and its pods."""
        gone = old is not None and (new is None or new.metadata.uid != old.metadata.uid)
        if old is not None and gone:
            self.state.times.forget(old.metadata.uid)
            self._enqueue_claims(old)
        found = new or old
        assert found is not None
        self._enqueue_group(found)

    def enqueue_all(self) -> None:
        """Enqueue every pod, PodGroup and claim."""
        for pod in self.state.pods:
            self.queue.add(_key("pod", pod))
        for group in self.state.groups:
            self.queue.add(_key("podgroup", group))
        for claim in self.state.claims:
            self.queue.add(_key("claim", claim))

    def _enqueue_pod(self, pod: Pod, by: ObjectKey | None = None) -> None:
        if by is None and not pod.done and not pod.metadata.deleting:
            self.queue.add(_key("pod", pod))
        if pod.done or pod.node_name:
            for name in pod.claim_names():
                self.queue.add(ObjectKey("claim", pod.metadata.namespace, name))
        self._enqueue_unnamed(pod)

    def _enqueue_unnamed(self, pod: Pod) -> None:
        """Enqueue claims of a pod that its status does not name: they may be duplicates."""
        names = set(pod.claim_names())
        for claim in self.state.claims.find("owner", _place(pod)):
            if claim.metadata.name not in names:
                self.queue.add(_key("claim", claim))

    def _enqueue_group(self, group: PodGroup) -> None:
        self.queue.add(_key("podgroup", group))
        for name in group.claim_names():
            self.queue.add(ObjectKey("claim", group.metadata.namespace, name))
        for pod in self.state.pods.find("group", (group.metadata.namespace, group.metadata.name)):
            self._enqueue_pod(pod)

    def _enqueue_holders(self, claim: Claim, by: ObjectKey | None = None) -> None:
        namespace, name = claim.metadata.namespace, claim.metadata.name
        pods = self.state.pods.find("claim", (namespace, name))
        keys = dict.fromkeys(_key("pod", pod) for pod in pods)  # in their order, which sets lack
        for group in self.state.groups.find("claim", (namespace, name)):
            keys[_key("podgroup", group)] = None
        for key in keys:
            if key != by:
                self.queue.add(key)
        self._enqueue_owner(claim, by)

    def _enqueue_owner(self, claim: Claim, by: ObjectKey | None = None) -> None:
        owner = claim.metadata.owner
        if owner is not None and (owner.is_pod or owner.is_pod_group):
            kind: Literal["pod", "podgroup"] = "pod" if owner.is_pod else "podgroup"
            key = ObjectKey(kind, claim.metadata.namespace, owner.name)
            if key != by:
                self.queue.add(key)

    def _has_twin(self, claim: Claim) -> bool:
        owner = claim.metadata.owner
        if owner is None:
            return False
        place = (claim.metadata.namespace, owner.uid, claim.entry)
        return len(self.state.claims.find("twin", place)) > 1

    def _waits_for_claim(self, pod: Pod) -> bool:
        claims = self.state.claims.namespace(pod.metadata.namespace)
        found = (
            claims.get(pod.published_name(entry) or "")
            for entry in pod.entries
            if entry.template_name
        )
        return any(claim is None or not claim.is_for(pod.metadata.uid) for claim in found)


def _identity(claim: Claim) -> tuple[object, ...]:
    """Return what planners of pods and PodGroups read of a claim."""
    return (claim.metadata.uid, claim.metadata.owner, claim.metadata.deleting, claim.entry)


def _use(claim: Claim) -> tuple[bool, bool]:
    """Return what planners of pods and PodGroups read of a claim that is one of two."""
    return claim.allocated, bool(claim.consumers)


def _key(kind: Literal["pod", "podgroup", "claim"], found: Pod | PodGroup | Claim) -> ObjectKey:
    return ObjectKey(kind, found.metadata.namespace, found.metadata.name)


def _place(holder: Pod | PodGroup) -> tuple[str, str]:
    """Return the key of the owner index: a claim in another namespace is never the holder's."""
    return holder.metadata.namespace, holder.metadata.uid

"""Event handlers: they store a fact and enqueue the keys that its change concerns."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from dragoman.controllers.claims.othercontroller import OtherController
from dragoman.controllers.claims.state import ClusterState
from dragoman.kube.workqueue import WorkQueue
from dragoman.model import Claim, Pod, PodGroup, Template


class Key(NamedTuple):
    """The object that a worker reconciles."""

    kind: Literal["pod", "podgroup", "claim"]
    namespace: str
    name: str


class Observer(Protocol):
    """Receives each change of a pod or claim after it was stored; None where there is none."""

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Receive a pod before and after a change."""

    def claim_changed(self, old: Claim | None, new: Claim | None) -> None:
        """Receive a claim before and after a change."""


LANES = ("create", "release")


def lane(key: Key) -> str:
    """Return the lane of a key: creation and release of claims have their own workers."""
    return "release" if key.kind == "claim" else "create"


@dataclass
class EventHandlers:
    """Handlers of events from watches, and of responses to own writes.

    Attributes:
        state: The stores.
        queue: Receives the keys that a change concerns.
        other: Observes each change before it is stored.
        observers: Other controllers that need the same facts.
        departed: Called with a pod that left the API, as it was stored and as it was deleted.
    """

    state: ClusterState
    queue: WorkQueue[Key]
    other: OtherController
    observers: list[Observer] = field(default_factory=list)
    departed: Callable[[Pod | None, Pod], None] = lambda _known, _pod: None

    def pod_changed(self, pod: Pod, *, by: Key | None = None) -> None:
        """Store a pod that was added or changed, and enqueue it and its claims.

        Args:
            pod: Its current state.
            by: The key whose worker wrote it, and plans again anyway.
        """
        if self.state.pods.is_past(pod):
            # The watch lags behind our own write; ignore the older state.
            return
        if by is None:
            self.other.pod(pod)
        known = self.state.pods.get(pod.metadata.namespace, pod.metadata.name)
        if not self.state.pods.put(pod):
            return
        for observer in self.observers:
            observer.pod_changed(known, pod)
        if known is not None and known.metadata.uid != pod.metadata.uid:
            self.departed(known, known)
            self._enqueue_claims(known)
        self._enqueue_pod(pod, by)

    def pod_deleted(self, pod: Pod) -> None:
        """Delete a pod, and enqueue the claims that it used."""
        metadata = pod.metadata
        known = self.state.pods.drop(metadata.namespace, metadata.name, metadata.uid)
        self.departed(known, pod)
        self.state.times.forget(metadata.uid)
        if known is not None:
            for observer in self.observers:
                observer.pod_changed(known, None)
        # The event may have only metadata; the stored fact has the claims.
        self._enqueue_claims(known or pod)

    def _enqueue_claims(self, holder: Pod | PodGroup) -> None:
        """Enqueue all claims that a holder used, or that were created for it."""
        for name in holder.claim_names():
            self.queue.add(Key("claim", holder.metadata.namespace, name))
        for claim in self.state.claims.find("owner", _place(holder)):
            self.queue.add(_key("claim", claim))

    def claim_changed(self, claim: Claim, *, by: Key | None = None) -> None:
        """Store a claim that was added or changed, and enqueue it and its holders.

        Args:
            claim: Its current state.
            by: The key whose worker wrote it, and plans again anyway.
        """
        if self.state.claims.is_past(claim):
            return
        if by is None:
            self.other.claim(claim)
        known = self.state.claims.get(claim.metadata.namespace, claim.metadata.name)
        if not self.state.claims.put(claim):
            return
        for observer in self.observers:
            observer.claim_changed(known, claim)
        key = _key("claim", claim)
        if key != by and not self._is_just_made(claim, by):
            self.queue.add(key)
        if known is None or _identity(known) != _identity(claim):
            # A change of consumers need not wake the up to 256 pods that share the claim.
            self._enqueue_holders(claim, by)

    def _is_just_made(self, claim: Claim, by: Key | None) -> bool:
        """Whether a pod's worker created the claim, and the pod still needs it."""
        owner = claim.metadata.owner
        if by is None or by.kind != "pod" or owner is None:
            return False
        pod = self.state.pods.get(by.namespace, by.name)
        return pod is not None and pod.metadata.uid == owner.uid and not pod.done

    def claim_deleted(self, claim: Claim) -> None:
        """Delete a claim, and enqueue its pods, which may need another one."""
        metadata = claim.metadata
        known = self.state.claims.drop(metadata.namespace, metadata.name, metadata.uid)
        self.state.times.forget(metadata.uid)
        if known is not None:
            for observer in self.observers:
                observer.claim_changed(known, None)
        self._enqueue_holders(known or claim)

    def template_changed(self, template: Template) -> None:
        """Store a template, and enqueue the pods and PodGroups that wait for it."""
        namespace, name = template.metadata.namespace, template.metadata.name
        known = self.state.templates.get(namespace, name)
        if not self.state.templates.put(template):
            return
        if known is not None and known.metadata.uid == template.metadata.uid:
            # The API makes the spec immutable: labels of the template itself change no claim, and
            # must not end the back-off of the pods that wait.
            return
        for pod in self.state.pods.find("template", (namespace, name)):
            if self._waits_for_claim(pod):
                self.queue.add(_key("pod", pod))
        for group in self.state.groups.find("template", (namespace, name)):
            self.queue.add(_key("podgroup", group))

    def template_deleted(self, template: Template) -> None:
        """Delete a template; claims that were created from it stay."""
        metadata = template.metadata
        self.state.templates.drop(metadata.namespace, metadata.name, metadata.uid)

    def group_changed(self, group: PodGroup) -> None:
        """Store a PodGroup that was added or changed, and enqueue it, its claims and its pods."""
        known = self.state.groups.get(group.metadata.namespace, group.metadata.name)
        if not self.state.groups.put(group):
            return
        if known is not None and known.metadata.uid != group.metadata.uid:
            self._enqueue_claims(known)
        self._enqueue_group(group)

    def group_deleted(self, group: PodGroup) -> None:
        """Delete a PodGroup, and enqueue its claims and pods."""
        metadata = group.metadata
        known = self.state.groups.drop(metadata.namespace, metadata.name, metadata.uid)
        self.state.times.forget(metadata.uid)
        self._enqueue_group(known or group)
        self._enqueue_claims(known or group)

    def enqueue_all(self) -> None:
        """Enqueue every pod, PodGroup and claim."""
        for pod in self.state.pods:
            self.queue.add(_key("pod", pod))
        for group in self.state.groups:
            self.queue.add(_key("podgroup", group))
        for claim in self.state.claims:
            self.queue.add(_key("claim", claim))

    def _enqueue_pod(self, pod: Pod, by: Key | None = None) -> None:
        if by is None and not pod.done and not pod.metadata.deleting:
            self.queue.add(_key("pod", pod))
        if pod.done or pod.node_name:
            for name in pod.claim_names():
                self.queue.add(Key("claim", pod.metadata.namespace, name))
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
            self.queue.add(Key("claim", group.metadata.namespace, name))
        for pod in self.state.pods.find("group", (group.metadata.namespace, group.metadata.name)):
            self._enqueue_pod(pod)

    def _enqueue_holders(self, claim: Claim, by: Key | None = None) -> None:
        namespace, name = claim.metadata.namespace, claim.metadata.name
        keys = {_key("pod", pod) for pod in self.state.pods.find("claim", (namespace, name))}
        for group in self.state.groups.find("claim", (namespace, name)):
            keys.add(_key("podgroup", group))
        owner = claim.metadata.owner
        if owner is not None and (owner.is_pod or owner.is_pod_group):
            keys.add(Key("pod" if owner.is_pod else "podgroup", namespace, owner.name))
        for key in keys:
            if key != by:
                self.queue.add(key)

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


def _key(kind: Literal["pod", "podgroup", "claim"], found: Pod | PodGroup | Claim) -> Key:
    return Key(kind, found.metadata.namespace, found.metadata.name)


def _place(holder: Pod | PodGroup) -> tuple[str, str]:
    """Return the key of the owner index: a claim in another namespace is never the holder's."""
    return holder.metadata.namespace, holder.metadata.uid

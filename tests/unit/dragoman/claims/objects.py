"""Builders of objects for tests: `pod("a").using("gpu", template="t").on("node-1")`.

Objects are documents as the API server stores them, so that parsing is part of what is tested.
Each step returns a new builder; documents are shared and never changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from dragoman.model.claim import DELETE_PROTECTION, POD_CLAIM_ANNOTATION, Claim
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup
from dragoman.model.template import Template

Json = dict[str, Any]

NAMESPACE = "my-namespace"
CREATED = "2026-01-01T00:00:00Z"
DEVICES = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}


@dataclass(frozen=True)
class Object:
    """A document under construction."""

    document: Json

    @property
    def name(self) -> str:
        return str(self.document["metadata"]["name"])

    @property
    def uid(self) -> str:
        return str(self.document["metadata"]["uid"])

    def changed(self, *path: str, to: Any) -> Self:
        """Return the object with another value at a path."""
        return replace(self, document=_changed(self.document, path, to))

    def appended(self, *path: str, item: Any) -> Self:
        """Return the object with one more item in the list at a path."""
        place: Any = self.document
        for step in path:
            place = place.get(step, {})
        return self.changed(*path, to=[*place, item])

    def identity(self) -> Json:
        """Return the object as reflectors report one that is missing from a list."""
        kept = ("namespace", "name", "uid", "resourceVersion")
        return {"metadata": {key: self.document["metadata"][key] for key in kept}}

    def deleting(self) -> Self:
        """Return the object with a deletionTimestamp."""
        return self.changed("metadata", "deletionTimestamp", to=CREATED)


@dataclass(frozen=True)
class HolderObject(Object):
    """What pods and PodGroups have in common."""

    def using(self, entry: str, *, template: str | None = None, claim: str | None = None) -> Self:
        """Return the holder with one more entry."""
        names = {"resourceClaimTemplateName": template, "resourceClaimName": claim}
        given = {key: value for key, value in names.items() if value is not None}
        return self.appended("spec", "resourceClaims", item={"name": entry, **given})

    def bound(self, entry: str, claim: str | None) -> Self:
        """Return the holder whose status names this claim, or by None that none is needed."""
        named = {} if claim is None else {"resourceClaimName": claim}
        return self.appended("status", "resourceClaimStatuses", item={"name": entry, **named})


@dataclass(frozen=True)
class PodObject(HolderObject):
    """A pod."""

    def on(self, node: str) -> Self:
        """Return the pod with a node."""
        return self.changed("spec", "nodeName", to=node)

    def in_phase(self, phase: str) -> Self:
        """Return the pod in another phase."""
        return self.changed("status", "phase", to=phase)

    def in_group(self, name: str) -> Self:
        """Return the pod as a member of a PodGroup."""
        return self.changed("spec", "schedulingGroup", to={"podGroupName": name})

    def with_extended_claim(self, name: str) -> Self:
        """Return the pod with a claim for its extended resources."""
        status = {"resourceClaimName": name}
        return self.changed("status", "extendedResourceClaimStatus", to=status)


@dataclass(frozen=True)
class ClaimObject(Object):
    """A ResourceClaim."""

    def owned_by(self, owner: Object) -> Self:
        """Return the claim with a controlling owner."""
        reference = {
            "apiVersion": owner.document["apiVersion"],
            "kind": owner.document["kind"],
            "name": owner.name,
            "uid": owner.uid,
            "controller": True,
        }
        return self.changed("metadata", "ownerReferences", to=[reference])

    def generated_for(self, owner: HolderObject, entry: str) -> Self:
        """Return the claim as a controller makes it from a template."""
        return self.owned_by(owner).annotated(POD_CLAIM_ANNOTATION, entry)

    def annotated(self, key: str, value: str) -> Self:
        """Return the claim with one more annotation."""
        return self.changed("metadata", "annotations", key, to=value)

    def on_node(self, name: str) -> Self:
        """Return the claim with devices of one node."""
        field = {"key": "metadata.name", "operator": "In", "values": [name]}
        selector = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        return self.allocated().changed("status", "allocation", "nodeSelector", to=selector)

    def allocated(self) -> Self:
        """Return the claim as the scheduler leaves it: protected, and with devices."""
        return self.protected().allocated_by_others()

    def allocated_by_others(self) -> Self:
        """Return the claim with devices, but without the scheduler's finalizer."""
        return self.changed("status", "allocation", to={"devices": {"results": []}})

    def protected(self) -> Self:
        """Return the claim with the scheduler's finalizer."""
        return self.finalized(DELETE_PROTECTION)

    def finalized(self, name: str) -> Self:
        """Return the claim with one more finalizer."""
        return self.appended("metadata", "finalizers", item=name)

    def reserved_for(self, *consumers: Object | Mapping[str, str]) -> Self:
        """Return the claim with more consumers: pods, PodGroups or entries as they are."""
        claim = self
        for consumer in consumers:
            item = consumer if isinstance(consumer, Mapping) else reservation(consumer)
            claim = claim.appended("status", "reservedFor", item=dict(item))
        return claim


def pod(name: str = "test-pod", *, uid: str | None = None, namespace: str = NAMESPACE) -> PodObject:
    """Return a pending pod without claims."""
    document = _document("v1", "Pod", name, namespace, uid or f"uid-{name}")
    return PodObject({**document, "status": {"phase": "Pending"}})


def group(name: str, *, version: str = "v1alpha2", uid: str | None = None) -> HolderObject:
    """Return a PodGroup without claims."""
    uid = uid or f"uid-group-{name}"
    document = _document(f"scheduling.k8s.io/{version}", "PodGroup", name, NAMESPACE, uid)
    return HolderObject(document)


def claim(name: str, *, uid: str | None = None, namespace: str = NAMESPACE) -> ClaimObject:
    """Return a user's claim that has no devices yet."""
    uid = uid or f"uid-claim-{namespace}-{name}"
    document = _document("resource.k8s.io/v1", "ResourceClaim", name, namespace, uid)
    return ClaimObject({**document, "spec": DEVICES})


def template(name: str = "my-template", *, namespace: str = NAMESPACE) -> Object:
    """Return a ResourceClaimTemplate."""
    uid = f"uid-template-{namespace}-{name}"
    kind = "ResourceClaimTemplate"
    document = _document("resource.k8s.io/v1", kind, name, namespace, uid)
    return Object({**document, "spec": {"metadata": {}, "spec": DEVICES}})


def reservation(consumer: Object) -> dict[str, str]:
    """Return the item of `status.reservedFor` for a pod or PodGroup."""
    item = {"name": consumer.name, "uid": consumer.uid}
    if consumer.document["kind"] == "Pod":
        return {"resource": "pods", **item}
    return {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", **item}


def foreign_consumer(name: str = "foo", uid: str = "uid-foo") -> dict[str, str]:
    """Return an item of `status.reservedFor` that no controller of ours understands."""
    return {"apiGroup": "foo.com", "resource": "foos", "name": name, "uid": uid}


def fact(found: Object) -> Pod | Claim | Template | PodGroup:
    """Parse an object."""
    return parse(found.document)


def parse(document: Json) -> Pod | Claim | Template | PodGroup:
    """Parse a document by its kind."""
    kinds: dict[str, type[Pod | Claim | Template | PodGroup]] = {
        "Pod": Pod,
        "ResourceClaim": Claim,
        "ResourceClaimTemplate": Template,
        "PodGroup": PodGroup,
    }
    return kinds[document["kind"]].parse(document)


def _changed(document: Json, path: tuple[str, ...], to: Any) -> Json:
    step, *rest = path
    inner = _changed(document.get(step) or {}, tuple(rest), to) if rest else to
    return {**document, step: inner}


def _document(api_version: str, kind: str, name: str, namespace: str, uid: str) -> Json:
    metadata = {"name": name, "namespace": namespace, "uid": uid, "resourceVersion": "1"}
    metadata["creationTimestamp"] = CREATED
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata,
        "spec": {},
        "status": {},
    }

"""What a settled namespace looks like, by the pods and templates that are in it.

Written down once more and independently of the planners: it says what must be, not how.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from tests.e2e.setup import ANNOTATION
from tests.support.controlplane.api import Api, Json
from tests.support.controlplane.plane import ControlPlane

TERMINAL = {"Succeeded", "Failed"}


@dataclass(frozen=True, slots=True)
class Settled:
    """A namespace as listed, and everything that is wrong about it.

    Attributes:
        pods: By UID.
        claims: By name.
        templates: By name.
    """

    pods: dict[str, Json]
    claims: dict[str, Json]
    templates: dict[str, Json]

    @classmethod
    def read(cls, api: Api, namespace: str) -> "Settled":
        """List everything."""
        pods = {one["metadata"]["uid"]: one for one in api.list("pods", namespace)}
        claims, templates = (
            {one["metadata"]["name"]: one for one in api.list(plural, namespace)}
            for plural in ("resourceclaims", "resourceclaimtemplates")
        )
        return cls(pods, claims, templates)

    def differences(self, given_back: Collection[str] = ()) -> list[str]:
        """Return a sentence for each object that is not as it must be.

        Args:
            given_back: Claims from which the scheduler itself took the last reservation. It
                leaves them their devices, and only it may know whether it wants them again.
        """
        return [*self._about_pods(), *self._about_claims(given_back)]

    def bindings(self) -> dict[tuple[str, str], str]:
        """Return the claim UIDs of live pods, by the pod's UID and the entry."""
        found = {}
        for uid, pod in self.pods.items():
            for entry, name in statuses(pod).items():
                if is_live(pod) and name in self.claims and is_for(self.claims[name], uid, entry):
                    found[uid, entry] = self.claims[name]["metadata"]["uid"]
        return found

    def _about_pods(self) -> Iterator[str]:
        for uid, pod in self.pods.items():
            if not is_live(pod):
                continue
            for entry in pod["spec"].get("resourceClaims") or ():
                template = self.templates.get(entry.get("resourceClaimTemplateName", ""))
                if template is not None:
                    yield from self._about_entry(pod, uid, entry["name"], template)

    def _about_entry(self, pod: Json, uid: str, entry: str, template: Json) -> Iterator[str]:
        name = pod["metadata"]["name"]
        made = [one for one in self.claims.values() if is_for(one, uid, entry)]
        named = statuses(pod).get(entry)
        if [one["metadata"]["name"] for one in made] != [named]:
            found = sorted(one["metadata"]["name"] for one in made)
            yield f"pod {name}, entry {entry}: status names {named}, claims are {found}"
        for one in made:
            if one["spec"] != template["spec"]["spec"]:
                yield f"claim {one['metadata']['name']} is not what its template says"

    def _about_claims(self, given_back: Collection[str]) -> Iterator[str]:
        for name, claim in self.claims.items():
            owner = owner_of(claim)
            if owner is not None and not is_live(self.pods.get(owner["uid"])):
                yield f"claim {name} of pod {owner['name']} is left over"
                continue
            users = {uid for uid, pod in self.pods.items() if uses(pod, name)}
            status = claim.get("status") or {}
            reserved = {one["uid"] for one in status.get("reservedFor") or ()}
            if reserved != users:
                yield f"claim {name} is reserved for {reserved}, and used by {users}"
            # The scheduler keeps devices for a pod that it could not place at the first try.
            allocated = bool(status.get("allocation"))
            kept = name in given_back or self._is_awaited(name)
            if (allocated and not users and not kept) or (users and not allocated):
                yield f"claim {name}: allocated {allocated}, used by {users}"
            if "deletionTimestamp" in claim["metadata"] and not users:
                yield f"claim {name} is being deleted for ever"

    def _is_awaited(self, claim: str) -> bool:
        """Whether a live pod without a node will use the claim."""
        return any(
            is_live(pod) and not pod["spec"].get("nodeName") and claim in names(pod)
            for pod in self.pods.values()
        )


def is_live(pod: Json | None) -> bool:
    """Whether the pod exists and has not run to its end."""
    return pod is not None and pod["status"].get("phase") not in TERMINAL


def statuses(pod: Json) -> dict[str, Any]:
    """Return claim names by entry, as the pod's status has them."""
    listed = pod["status"].get("resourceClaimStatuses") or ()
    return {one["name"]: one.get("resourceClaimName") for one in listed}


def uses(pod: Json, claim: str) -> bool:
    """Whether a live pod with a node uses the claim."""
    if not is_live(pod) or not pod["spec"].get("nodeName"):
        return False
    return claim in names(pod)


def names(pod: Json) -> set[Any]:
    """Return the names of all claims that a pod refers to."""
    named = {one.get("resourceClaimName") for one in pod["spec"].get("resourceClaims") or ()}
    return named | {*statuses(pod).values()}


def owner_of(claim: Json) -> Json | None:
    """Return the reference to the pod that owns the claim."""
    for reference in claim["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return dict(reference)
    return None


def is_for(claim: Json, uid: str, entry: str) -> bool:
    """Whether the claim was made for this entry of this pod."""
    owner = owner_of(claim)
    annotations = claim["metadata"].get("annotations") or {}
    return owner is not None and owner["uid"] == uid and annotations.get(ANNOTATION) == entry


def given_back(plane: ControlPlane, namespace: str) -> set[str]:
    """Return the names of claims whose status the scheduler was the last to write."""
    writes = plane.audit.writes(resource="resourceclaims/status", namespace=namespace)
    last = {write.name: write.user for write in writes}
    return {name for name, user in last.items() if user == "system:kube-scheduler"}

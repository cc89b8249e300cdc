"""Events for users, on the objects that they concern."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.claims.actions import CreateClaim
from dragoman.claims.claimfacts import Pending
from dragoman.claims.reasons import ClaimReason
from dragoman.cluster.clusterstate import ClusterState
from dragoman.controllers.claims.applier import FEATURE_DISABLED
from dragoman.controllers.claims.enqueue import ObjectKey
from dragoman.controllers.claims.othercontroller import ControllerFault
from dragoman.controllers.context import Context
from dragoman.kube.discovery import Served
from dragoman.kube.errors import ApiError
from dragoman.kube.events import ObjectReference
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup

EVENT_REASONS = {
    ClaimReason.CLAIM_MISSING: "ResourceClaimNotFound",
    ClaimReason.CLAIM_FOREIGN: "ForeignResourceClaim",
    ClaimReason.RESERVATIONS_FULL: "ReservedForFull",
    ClaimReason.CONTAINERS_NOT_ENDED: "ContainersNotEnded",
}
"""Reasons in Events where they are not the stock controller's FailedResourceClaimCreation."""


@dataclass(frozen=True, slots=True)
class ClaimEvents:
    """Reports pending needs, refusals and another controller's faults."""

    state: ClusterState  # The stores
    served: Served  # Which API versions the server has
    context: Context  # Of the process

    def pending(self, key: ObjectKey, pending: Sequence[Pending]) -> None:
        """Report what a user must provide before a key can be settled."""
        for wait in pending:
            if wait.report:
                reason = EVENT_REASONS.get(wait.reason, ClaimReason.CREATION_FAILED.value)
                self._warn(key, reason, wait.message, wait.subject)

    def refusal(self, key: ObjectKey, creation: CreateClaim, error: ApiError) -> None:
        """Report rejections that a user can fix; other failures are only retried."""
        if error.code not in {400, 403, 422} or error.has_cause("NamespaceTerminating"):
            return
        kind = "PodResourceClaim" if creation.owner.is_pod else "PodGroupResourceClaim"
        what = f"create ResourceClaim {creation.name}: {error}"
        if error.reason == FEATURE_DISABLED:
            what = str(error)
        message = f"{kind} {creation.entry}: {what}"
        self._warn(key, ClaimReason.CREATION_FAILED.value, message, creation.entry)

    def fault(self, fault: ControllerFault, pod: Pod, note: str) -> None:
        """Report a fault of another controller."""
        if not self.context.leading():
            return  # the leader observes it as well, and one Event is enough
        self.context.recorder.warn(
            _reference(pod), reason=fault.value, action="Watching", note=note
        )

    def unsafe(self, claim: Claim, note: str) -> None:
        """Report that devices may be given to a pod while containers of another one run."""
        if not self.context.leading():
            return  # the leader saw the pod leave as well
        key = ObjectKey("claim", claim.metadata.namespace, claim.metadata.name)
        self._warn(key, ClaimReason.CONTAINERS_NOT_ENDED.value, note, "")

    def regarding(self, key: ObjectKey) -> ObjectReference | None:
        """Return a reference to the object of a key, None where it is not stored."""
        found = self.state.get(*key)
        if isinstance(found, Claim):
            version = self.served.claims.api_version
            place = (key.namespace, key.name)
            return ObjectReference(version, "ResourceClaim", *place, found.metadata.uid)
        return None if found is None else _reference(found)

    def _warn(self, key: ObjectKey, reason: str, note: str, subject: str) -> None:
        regarding = self.regarding(key)
        if regarding is not None:
            action = "Reserving" if key.kind == "claim" else "CreatingResourceClaim"
            self.context.recorder.warn(
                regarding, reason=reason, action=action, note=note, subject=subject
            )


def _reference(holder: Pod | PodGroup) -> ObjectReference:
    owner = holder.reference
    return ObjectReference(
        owner.api_version, owner.kind, holder.metadata.namespace, owner.name, owner.uid
    )

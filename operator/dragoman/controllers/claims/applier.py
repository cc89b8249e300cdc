"""Applies planned actions: one request each, its response into the store at once."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, assert_never

from dragoman import metrics, surroundings
from dragoman.claims.actions import (
    Action,
    CreateClaim,
    DeleteClaim,
    PublishClaims,
    RecordDepartures,
    RemoveFinalizer,
    UpdateReservedFor,
)
from dragoman.cluster.cluster import ClusterStores
from dragoman.controllers.claims.enqueue import EventHandlers, ObjectKey
from dragoman.controllers.claims.gather import IDLE, age
from dragoman.controllers.context import Context
from dragoman.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, find
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import PODS, Resource
from dragoman.logs import logger
from dragoman.model.claim import Claim, asks_admin_access
from dragoman.model.podgroup import PodGroup

ADMIN_ACCESS_TTL = 60.0
"""Seconds for which one dry run shows that the API server keeps `adminAccess`."""
NO_ADMIN_ACCESS_TTL = 600.0
"""The same where it drops it: only another API server changes its gates, so that connections break
before; behind a load balancer they may not."""
FEATURE_DISABLED = "FeatureDisabled"

log = logger("dragoman.claims")


class ActionOutcome(Enum):
    """The outcome of an action."""

    DONE = "done"  # The server applied it
    # The stored facts were out of date; they are refreshed, and a new plan is needed
    STALE = "stale"


@dataclass
class ClaimApplier:
    """The one place that writes."""

    context: Context  # Of the process
    cluster: ClusterStores  # Where responses are stored
    handlers: EventHandlers  # Know which key caused a write
    # Whether another controller may name claims at the same time: a status that has changed since
    # it was stored then stays
    contested: bool = False
    _admin_access_kept: float = float("-inf")
    _admin_access_dropped: tuple[float, int] = (float("-inf"), 0)

    async def apply(self, action: Action) -> ActionOutcome:
        """Send the request of an action; raise ApiError where an immediate retry cannot help."""
        name = type(action).__name__
        self.context.require_leading()
        try:
            outcome = await self._send(action)
        except ApiError as error:
            metrics.action_done(name, action.reason.value, "failed")
            log.debug("Write failed", action=name, reason=action.reason.value, code=error.code)
            raise
        metrics.action_done(name, action.reason.value, outcome.value)
        return outcome

    async def _send(self, action: Action) -> ActionOutcome:
        match action:
            case CreateClaim():
                return await self._create(action)
            case PublishClaims():
                return await self._publish(action)
            case UpdateReservedFor() | RemoveFinalizer() | RecordDepartures():
                return await self._update_claim(action)
            case DeleteClaim():
                return await self._delete(action)
            case _:
                assert_never(action)

    async def _create(self, action: CreateClaim) -> ActionOutcome:
        path = self.cluster.served.claims.path(action.namespace)
        document = action.document(self.cluster.served.claims.api_version)
        admin_access, for_pod = action.template.admin_access, action.owner.is_pod
        try:
            if admin_access:
                await self._check_admin_access(path, document)
            created = await self.cluster.client.post(path, document)
        except ApiError as error:
            if error.code:
                metrics.claim_created("failure", admin_access=admin_access, for_pod=for_pod)
            if error.code != 409 or error.reason != "AlreadyExists":
                raise
            await self.cluster.claims.refresh(action.namespace, action.name)
            return ActionOutcome.STALE
        metrics.claim_created("success", admin_access=admin_access, for_pod=for_pod)
        kind: Literal["pod", "podgroup"] = "pod" if for_pod else "podgroup"
        by = ObjectKey(kind, action.namespace, action.owner.name)
        self.handlers.store(self.cluster.claims, self.cluster.claims.parse(created), by)
        log.info(
            "Created ResourceClaim",
            namespace=action.namespace,
            name=action.name,
            owner=action.owner.name,
            entry=action.entry,
            reason=action.reason.value,
        )
        return ActionOutcome.DONE

    async def _check_admin_access(self, path: str, document: dict[str, Any]) -> None:
        """Raise ApiError where the API server would drop `adminAccess` in silence.

        It does so while its feature gate DRAAdminAccess is off; what remains is an ordinary claim,
        which takes devices away from users. A dry run shows it, whatever the version and gates; its
        result holds for all claims.
        """
        now, unanswered = surroundings.monotonic(), self.cluster.client.unanswered
        if now - self._admin_access_kept < ADMIN_ACCESS_TTL:
            return
        since, unanswered_then = self._admin_access_dropped
        if unanswered != unanswered_then or now - since >= NO_ADMIN_ACCESS_TTL:
            stored = await self.cluster.client.post(path, document, dry_run=True)
            if asks_admin_access(stored["spec"], "spec."):
                self._admin_access_kept = now
                return
            self._admin_access_dropped = (now, unanswered)
        raise ApiError(
            422,
            FEATURE_DISABLED,
            "admin access is requested, but the feature is disabled: the API server needs "
            "the feature gate DRAAdminAccess",
        )

    async def _publish(self, action: PublishClaims) -> ActionOutcome:
        holder = action.holder
        resource = PODS if holder.is_pod else self.cluster.served.groups
        assert resource is not None
        path = resource.path(action.namespace, holder.name, "status")
        try:
            written = await self.cluster.client.patch(
                path, action.document(exact=self.contested), STRATEGIC_MERGE_PATCH
            )
        except ApiError as error:
            if self.contested and error.code == 409:
                await self._refresh_holder(action)
                return ActionOutcome.STALE
            if error.code == 404 and await self._exists(resource, action):
                raise
            if error.code == 404 or (error.code in {409, 422} and error.blames("metadata.uid")):
                # Deleted or replaced; the watch reports the new object.
                self._forget_holder(action)
                return ActionOutcome.STALE
            raise
        if holder.is_pod:
            pod = self.cluster.pods.parse(written)
            key = ObjectKey("pod", action.namespace, holder.name)
            self.handlers.store(self.cluster.pods, pod, key)
            metrics.PUBLISHED.observe(age(pod.metadata.created))
        elif self.cluster.groups is not None:
            self.cluster.groups.changed(PodGroup.parse(written))
        log.info(
            "Published claims in status",
            kind=holder.kind,
            namespace=action.namespace,
            name=holder.name,
            claims=sorted(action.published.values()),
            reason=action.reason.value,
        )
        return ActionOutcome.DONE

    async def _refresh_holder(self, action: PublishClaims) -> None:
        holders = self.cluster.pods if action.holder.is_pod else self.cluster.groups
        assert holders is not None
        await holders.refresh(action.namespace, action.holder.name)

    async def _update_claim(
        self, action: UpdateReservedFor | RemoveFinalizer | RecordDepartures
    ) -> ActionOutcome:
        claim = action.claim
        fields: dict[str, int] = {}
        if isinstance(action, RemoveFinalizer):
            subresource, message = "", "Removed finalizer of ResourceClaim"
        elif isinstance(action, RecordDepartures):
            subresource, message = "", "Recorded which consumers left"
        else:
            subresource = "status"
            message = "Deallocated ResourceClaim" if action.deallocate else "Updated reservedFor"
            fields = {"before": len(claim.consumers), "after": len(action.consumers)}
        done = await self._patch_claim(claim, subresource, action.document())
        if done is ActionOutcome.DONE:
            place = {"namespace": claim.metadata.namespace, "name": claim.metadata.name}
            log.info(message, **place, **fields, reason=action.reason.value)
        return done

    async def _patch_claim(
        self, claim: Claim, subresource: str, patch: dict[str, object]
    ) -> ActionOutcome:
        namespace, name = claim.metadata.namespace, claim.metadata.name
        path = self.cluster.served.claims.path(namespace, name, subresource)
        try:
            answer = await self.cluster.client.patch(path, patch, MERGE_PATCH)
            written = self.cluster.claims.parse(answer)
        except ApiError as error:
            if error.code in {404, 409} or (error.code == 422 and error.blames("metadata.uid")):
                await self.cluster.claims.refresh(namespace, name)
                return ActionOutcome.STALE
            raise
        metadata = written.metadata
        if metadata.deleting and not written.finalizers:
            # The last finalizer was removed: the server deleted the claim in the same step.
            self.cluster.claims.deleted(written)
        else:
            self.handlers.store(self.cluster.claims, written, ObjectKey("claim", namespace, name))
        stored = self.cluster.state.claims.get(namespace, name)
        if claim.allocated and not written.allocated and stored == written:
            # Our own release: the scheduler cannot be about to allocate this version.
            self.cluster.state.times.began_long_ago(metadata.uid, IDLE, metadata.resource_version)
        return ActionOutcome.DONE

    async def _delete(self, action: DeleteClaim) -> ActionOutcome:
        metadata = action.claim.metadata
        path = self.cluster.served.claims.path(metadata.namespace, metadata.name)
        try:
            answer = await self.cluster.client.delete(path, action.document())
        except ApiError as error:
            if error.code in {404, 409}:
                await self.cluster.claims.refresh(metadata.namespace, metadata.name)
                return ActionOutcome.STALE
            raise
        if answer.get("kind") == "ResourceClaim" and answer["metadata"].get("finalizers"):
            self.cluster.claims.answered(action.claim, self.cluster.claims.parse(answer))
        else:
            self.cluster.claims.deleted(action.claim)
        log.info(
            "Deleted ResourceClaim",
            namespace=metadata.namespace,
            name=metadata.name,
            reason=action.reason.value,
        )
        return ActionOutcome.DONE

    async def _exists(self, resource: Resource, action: PublishClaims) -> bool:
        """Whether the holder exists after all: a deleted one is never reconciled again."""
        found = await find(self.cluster.client, resource.path(action.namespace, action.holder.name))
        return found is not None and found["metadata"]["uid"] == action.holder.uid

    def _forget_holder(self, action: PublishClaims) -> None:
        state = self.cluster.state
        place = (action.namespace, action.holder.name)
        pod, group = state.pods.get(*place), state.groups.get(*place)
        if action.holder.is_pod and pod is not None and pod.metadata.uid == action.holder.uid:
            self.cluster.pods.missing(pod)
        elif (
            self.cluster.groups is not None
            and group is not None
            and group.metadata.uid == action.holder.uid
        ):
            self.cluster.groups.missing(group)

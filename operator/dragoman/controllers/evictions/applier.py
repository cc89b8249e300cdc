"""Writes of the eviction controller: the requests of the stock controller, in its order."""

from enum import StrEnum
from typing import Any

from dragoman import surroundings
from dragoman.controllers.context import Context
from dragoman.inventory.facts.stored import StoredRule
from dragoman.kube.client import APPLY_PATCH, FIELD_MANAGER, STRATEGIC_MERGE_PATCH, find
from dragoman.kube.events import ObjectReference
from dragoman.kube.resources import PODS, Resource
from dragoman.logs import logger
from dragoman.model.conditions import Condition
from dragoman.model.pod import TERMINAL_PHASES, Pod

EVENT_REASON = "DeviceTaintManagerEviction"
CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByDeviceTaintManager",
    "message": "Device Taint manager: deleting due to NoExecute taint",
}
"""As in-tree, so that podFailurePolicies of Jobs match it."""

log = logger("dragoman.evictions")


class EvictionOutcome(StrEnum):
    """The outcome of an eviction."""

    EVICTED = "evicted"
    DELETING = "already-deleting"
    GONE = "gone"
    FINISHED = "finished"


class EvictionApplier:
    """The one place that writes."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._client = context.client

    async def evict(self, namespace: str, name: str, uid: str) -> EvictionOutcome:
        """Mark a pod for deletion, and delete it.

        Returns:
            What was found and done; the pod that is there under the name may be another one.

        Raises:
            ApiError: A request failed; the whole eviction is to be repeated.
            NotLeadingError: This process lost the Lease.
        """
        path = PODS.path(namespace, name)
        found = await find(self._client, path)
        if found is None or found["metadata"]["uid"] != uid:
            return EvictionOutcome.GONE
        if found["metadata"].get("deletionTimestamp") is not None:
            return EvictionOutcome.DELETING
        status = found.get("status") or {}
        if status.get("phase") in TERMINAL_PHASES:
            return EvictionOutcome.FINISHED
        self._context.require_leading()
        if not _is_marked(status):
            await self._mark(path, uid)
            # Only once per pod, because a repeated eviction finds the condition: it comes first.
            self._event(namespace, name, uid, "Marking for deletion")
        self._context.require_leading()
        # The repeated eviction finds out whether a pod that was not found is gone.
        await self._client.delete(path, {"preconditions": {"uid": uid}})
        return EvictionOutcome.EVICTED

    async def _mark(self, path: str, uid: str) -> None:
        condition = {**CONDITION, "lastTransitionTime": surroundings.timestamp()}
        # The UID is a precondition: the patch of a replaced pod fails.
        body = {"metadata": {"uid": uid}, "status": {"conditions": [condition]}}
        await self._client.patch(f"{path}/status", body, STRATEGIC_MERGE_PATCH)

    def cancelled(self, pod: Pod) -> None:
        """Report that a pod stays after all."""
        if self._context.leading():
            metadata = pod.metadata
            self._event(metadata.namespace, metadata.name, metadata.uid, "Cancelling deletion")

    async def write_progress(
        self, resource: Resource, rule: StoredRule, progress: Condition
    ) -> dict[str, Any]:
        """Write the condition of a rule; return the rule.

        Raises:
            ApiError: The request failed, or the rule was replaced.
            NotLeadingError: This process lost the Lease.
        """
        self._context.require_leading()
        condition = {
            "type": progress.type,
            "status": progress.status,
            "reason": progress.reason,
            "message": progress.message,
            "observedGeneration": progress.observed_generation,
            "lastTransitionTime": surroundings.timestamp(),
        }
        body = {
            "apiVersion": resource.api_version,
            "kind": "DeviceTaintRule",
            "metadata": {"name": rule.metadata.name, "uid": rule.metadata.uid},
            "status": {"conditions": [condition]},
        }
        path = resource.path(name=rule.metadata.name, subresource="status")
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        return await self._client.request("PATCH", path, body, APPLY_PATCH, query)

    def _event(self, namespace: str, name: str, uid: str, note: str) -> None:
        pod = ObjectReference("v1", "Pod", namespace, name, uid)
        self._context.recorder.post(pod, reason=EVENT_REASON, action="Evicting", note=note)


def _is_marked(status: dict[str, Any]) -> bool:
    return any(
        all(condition.get(key) == value for key, value in CONDITION.items())
        for condition in status.get("conditions") or ()
    )

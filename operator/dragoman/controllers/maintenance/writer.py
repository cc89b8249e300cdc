"""The one place that writes holds and evicts pods: one request for each action of a plan."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, assert_never

from dragoman.inventory.snapshots.documents import OVERLAPPED
from dragoman.kube.client import MERGE_PATCH, Client, find
from dragoman.kube.controller import NotLeadingError
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import PODS, Resource
from dragoman.maintenance import manifests
from dragoman.maintenance.actions import (
    Action,
    Allocate,
    CreateHeldClaim,
    CreateTaintRule,
    EvictPod,
    MarkOverlap,
    Reallocate,
)
from dragoman.maintenance.holds import HOLD_TAINT, Hold, HoldKind, HoldSelector, HoldTaint
from dragoman.maintenance.manifests import Origin
from dragoman.model.deviceid import DeviceID

_NOT_FOUND, _CONFLICT, _INVALID, _TOO_MANY = 404, 409, 422, 429
_REFUSED = frozenset({_TOO_MANY, 403, 500})
"""Answers of the Eviction API that may change: budgets, policies, several budgets of one pod."""


class WriteResult(StrEnum):
    """The outcome of an action."""

    DONE = "done"
    EXISTS = "exists"
    """Another process has written the same; also where the object is deleted already."""
    CONFLICT = "conflict"
    """The pod was replaced under its name, or it or its budget changed: plan again."""
    REFUSED = "refused"
    """The Eviction API does not allow it now."""


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The answer to an action."""

    result: WriteResult  # The outcome
    message: str = ""  # Why it was refused, in the API server's words
    # The object as the server answered it; of a rule or a claim
    written: Mapping[str, Any] | None = None
    retry_after: float | None = None  # Seconds that the server asks to wait


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes holds and evictions."""

    client: Client  # Where to write
    claims: Resource  # ResourceClaims in the served version
    rules: Resource | None  # DeviceTaintRules in the served version; None where they are not served
    namespace: str  # Of held claims
    origin: Origin  # Who holds devices, and why
    grace: int | None = None  # Seconds that evicted pods have to end; None for each pod's own
    # Whether this process leads; asked before each write
    leading: Callable[[], bool] = lambda: True

    @property
    def _writing(self) -> Client:
        """The client, for one write."""
        if not self.leading():
            raise NotLeadingError
        return self.client

    async def do(self, action: Action) -> WriteOutcome:
        """Carry out an action.

        Raises:
            ApiError: The server does not, for a reason that no other outcome stands for.
            NotLeadingError: Another process leads by now.
        """
        match action:
            case CreateTaintRule(selector):
                return await self.create_rule(selector, HOLD_TAINT)
            case CreateHeldClaim(device):
                return await self._create_claim(device)
            case Allocate(hold, device):
                return await self._patch(hold, {"status": _status(device)}, "status")
            case MarkOverlap(hold):
                return await self._patch(hold, _annotated("true"))
            case Reallocate(hold, device):
                await self._patch(hold, {"status": {"allocation": None}}, "status")
                await self._patch(hold, {"status": _status(device)}, "status")
                return await self._patch(hold, _annotated(None))
            case EvictPod():
                return await self._evict(action)
            case _:
                assert_never(action)

    async def create_rule(self, selector: HoldSelector, taint: HoldTaint) -> WriteOutcome:
        """Create a DeviceTaintRule."""
        assert self.rules is not None, "a rule is planned only where rules are served"
        manifest = manifests.rule_manifest(self.rules.api_version, selector, taint, self.origin)
        return await self._create(self.rules, "", manifest)

    async def delete(self, hold: Hold) -> bool:
        """Delete a hold, the one with this UID; return whether it was there, and is gone.

        The allocation of a held claim is cleared first: kube-scheduler tries pending pods again
        when a claim changes, but not when one is deleted.
        """
        resource = self.rules if hold.kind is HoldKind.RULE else self.claims
        assert resource is not None, "a rule was read, so rules are served"
        if hold.kind is HoldKind.CLAIM and hold.allocated:
            try:
                await self._patch(hold, {"status": {"allocation": None}}, "status")
            except ApiError as error:
                # A pod names the held claim: it keeps the device, but not the hold.
                if error.code != _INVALID:
                    raise
        options = {"preconditions": {"uid": hold.uid}}
        try:
            left = await self._writing.delete(resource.path(hold.namespace, hold.name), options)
        except ApiError as error:
            if error.code in {_NOT_FOUND, _CONFLICT}:
                return False
            raise
        # Another finalizer keeps it, with its taint.
        return not (left.get("metadata") or {}).get("deletionTimestamp")

    async def hand_over(self, hold: Hold, heir: Origin) -> None:
        """Make a held claim that of another DeviceMaintenance; the device stays held throughout."""
        await self._patch(hold, manifests.handed_over(heir))

    async def _create_claim(self, device: DeviceID) -> WriteOutcome:
        manifest = manifests.claim_manifest(
            self.claims.api_version, self.namespace, device, self.origin
        )
        return await self._create(self.claims, self.namespace, manifest)

    async def _create(
        self, resource: Resource, namespace: str, manifest: Mapping[str, Any]
    ) -> WriteOutcome:
        try:
            written = await self._writing.post(resource.path(namespace), manifest)
        except ApiError as error:
            if error.code != _CONFLICT:
                raise
            name = manifest["metadata"]["name"]
            found = await find(self.client, resource.path(namespace, name))
            return WriteOutcome(WriteResult.EXISTS, written=found)
        return WriteOutcome(WriteResult.DONE, written=written)

    async def _patch(
        self, hold: Hold, body: Mapping[str, Any], subresource: str = ""
    ) -> WriteOutcome:
        path = self.claims.path(hold.namespace, hold.name, subresource)
        precondition = {"metadata": {"uid": hold.uid, **body.get("metadata", {})}}
        try:
            written = await self._writing.patch(path, {**body, **precondition}, MERGE_PATCH)
        except ApiError as error:
            if error.code in {_NOT_FOUND, _CONFLICT}:
                return WriteOutcome(WriteResult.EXISTS)
            raise
        return WriteOutcome(WriteResult.DONE, written=written)

    async def _evict(self, action: EvictPod) -> WriteOutcome:
        options: dict[str, Any] = {"preconditions": {"uid": action.uid}}
        if self.grace is not None:
            options["gracePeriodSeconds"] = self.grace
        return await evict(self._writing, action, options)


async def evict(client: Client, action: EvictPod, options: Mapping[str, Any]) -> WriteOutcome:
    """Evict or delete a pod; raise ApiError for a failure that no outcome stands for.

    Args:
        client: Who asks.
        action: The pod, and how it ends.
        options: The DeleteOptions.
    """
    path = PODS.path(action.namespace, action.name)
    try:
        if action.now:
            await client.delete(path, options)
        else:
            await client.post(f"{path}/eviction", _eviction(action, options))
    except ApiError as error:
        if error.code == _NOT_FOUND:
            return WriteOutcome(WriteResult.EXISTS)
        if error.code == _CONFLICT:
            return WriteOutcome(WriteResult.CONFLICT)
        if error.code in _REFUSED:
            return WriteOutcome(WriteResult.REFUSED, _refusal(error), retry_after=error.retry_after)
        raise
    return WriteOutcome(WriteResult.DONE)


def _eviction(action: EvictPod, options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": action.name, "namespace": action.namespace},
        "deleteOptions": options,
    }


def _refusal(error: ApiError) -> str:
    """Return the cause that names the PodDisruptionBudget, else the message."""
    causes = error.details.get("causes") or ()
    found = [cause.get("message") for cause in causes if cause.get("reason") == "DisruptionBudget"]
    return str(found[0]) if found and found[0] else str(error)


def _status(device: DeviceID) -> dict[str, Any]:
    return {"allocation": manifests.allocation(device)}


def _annotated(value: str | None) -> dict[str, Any]:
    return {"metadata": {"annotations": {OVERLAPPED: value}}}


def hold_name(action: Action, outcome: WriteOutcome) -> str:
    """Return the name under which a new hold is reported, empty for other writes."""
    metadata = (outcome.written or {}).get("metadata") or {}
    name = metadata.get("name", "")
    spec = (outcome.written or {}).get("spec") or {}
    if not name or not isinstance(action, CreateTaintRule | Allocate):
        return ""
    if "taint" in spec:
        return f"devicetaintrule.resource.k8s.io/{name}"
    return f"resourceclaim.resource.k8s.io/{name}"

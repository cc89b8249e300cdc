"""DeviceMaintenance: what it asks for, and the status that says how far it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from dragoman.maintenance.actions import EvictionMode
from dragoman.maintenance.plan import MaintenancePlan
from dragoman.maintenance.preview import listed
from dragoman.maintenance.targets import Target
from dragoman.model.conditions import changed_at
from dragoman.model.fields import (
    Document,
    MalformedObjectError,
    items,
    mapping,
    optional_text,
    texts,
)
from dragoman.model.metadata import Metadata
from dragoman_base.words import counted

API_VERSION = "dragoman.dev/v1alpha1"
KIND = "DeviceMaintenance"
FINALIZER = "dragoman.dev/devicemaintenance"
"""Only on DeviceMaintenances: the devices are put back in service before the object is deleted."""
HELD, IDLE, EXPIRED = "Held", "Idle", "Expired"
_FIELDS = ("driver", "pool", "device", "node", "where")


@dataclass(frozen=True, slots=True)
class DeviceMaintenance:
    """A DeviceMaintenance."""

    metadata: Metadata  # Identity
    target: Target  # `spec.target`.
    generation: int = 0  # `metadata.generation`.
    finalizers: tuple[str, ...] = ()  # `metadata.finalizers`.
    reason: str = ""  # `spec.reason`.
    until: str = ""  # `spec.until` as an API timestamp; empty for no end.
    evict: EvictionMode = EvictionMode.NEVER  # `spec.evict`.
    status: Mapping[str, Any] = field(default_factory=dict)  # The stored status

    @classmethod
    def parse(cls, document: Document) -> Self:
        """Read a DeviceMaintenance; raise MalformedObjectError naming the field."""
        metadata, spec = mapping(document, "metadata"), mapping(document, "spec")
        target = mapping(spec, "target", "spec.")
        evict = optional_text(spec, "evict", "spec.") or EvictionMode.NEVER
        if evict not in {*EvictionMode}:
            raise MalformedObjectError(
                f"spec.evict: expected {', '.join(EvictionMode)}, found {evict!r}"
            )
        generation = metadata.get("generation")
        return cls(
            metadata=Metadata.parse(document),
            target=Target(*(optional_text(target, key, "spec.target.") or "" for key in _FIELDS)),
            generation=generation if isinstance(generation, int) else 0,
            finalizers=texts(metadata, "finalizers", "metadata."),
            reason=optional_text(spec, "reason", "spec.") or "",
            until=optional_text(spec, "until", "spec.") or "",
            evict=EvictionMode(evict),
            status=mapping(document, "status"),
        )

    def remaining(self, now: datetime) -> float | None:
        """Return the seconds until the end, None for no end; an unreadable time never comes."""
        end = self._end
        return None if end is None else (end - now).total_seconds()

    @property
    def unreadable(self) -> bool:
        """Whether `until` is a time for the API server alone, as with an offset of 99 hours."""
        return bool(self.until) and self._end is None

    @property
    def _end(self) -> datetime | None:
        try:
            # The API server also accepts RFC 3339 in small letters.
            found = datetime.fromisoformat(self.until.upper())
        except ValueError:
            return None
        return found if found.tzinfo else None

    @property
    def state(self) -> str:
        """What the stored conditions say: `in-use`, `idle`, `expired` or `failed`."""
        found = {
            str(one.get("type")): (one.get("status") == "True", one.get("reason"))
            for one in items(self.status, "conditions", "status.")
        }
        held, reason = found.get(HELD, (False, ""))
        if found.get(EXPIRED, (False, ""))[0]:
            return "expired"
        if reason == "Failed":
            return "failed"
        return "idle" if held and found.get(IDLE, (False, ""))[0] else "in-use"

    @property
    def owner(self) -> dict[str, str]:
        """The object as an ownerReference."""
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "name": self.metadata.name,
            "uid": self.metadata.uid,
        }


@dataclass(frozen=True, slots=True)
class MaintenanceProgress:
    """How far a DeviceMaintenance is."""

    devices: int = 0  # Devices of the target
    # The last plan; None before the first one, and after the end
    plan: MaintenancePlan | None = None
    settled: bool = False  # Whether the scheduler must have seen all holds
    # Why the Eviction API refused pods, by `namespace/name`
    refusals: Mapping[str, str] = field(default_factory=dict)
    expired: bool = False  # Whether the end has passed, and all holds are deleted
    fault: str = ""  # Why there is no plan, or why a write failed; empty otherwise


def status(stored: DeviceMaintenance, progress: MaintenanceProgress, now: str) -> dict[str, Any]:
    """Return the status of a DeviceMaintenance.

    Args:
        stored: With the conditions so far; a time changes only with the status of its condition.
        progress: How far it is.
        now: As an API timestamp.
    """
    plan = progress.plan
    known = plan if plan is not None and not progress.expired else None
    conditions = (_held(progress, known), _idle(progress, known), _expired(progress, stored))
    return {
        "observedGeneration": stored.generation,
        "devices": progress.devices,
        "held": progress.devices - len(known.unheld) if known else 0,
        "idle": progress.devices - len(known.busy) if known else 0,
        "pods": len(known.pods) if known else 0,
        "conditions": [_dated(one, stored, now) for one in conditions],
    }


_Condition = Sequence[str]
"""Type, status, reason and message."""


def _held(progress: MaintenanceProgress, plan: MaintenancePlan | None) -> _Condition:
    if progress.expired:
        return HELD, "False", "Released", "The devices are back in service."
    if progress.fault:
        return HELD, "Unknown" if plan is None else "False", "Failed", progress.fault
    if plan is None:
        return HELD, "Unknown", "Starting", "The devices are looked up."
    if not progress.devices:
        return HELD, "False", "NoDevices", "No device meets the target."
    if plan.unheld:
        devices = listed(map(str, plan.unheld))
        return HELD, "False", "InUse", f"Held as soon as a claim releases them: {devices}."
    return HELD, "True", "AllHeld", f"New claims cannot get {counted(progress.devices, 'device')}."


def _idle(progress: MaintenanceProgress, plan: MaintenancePlan | None) -> _Condition:
    if plan is None:
        return IDLE, "Unknown", "NotWatched", "The devices are not watched."
    if not progress.devices:
        return IDLE, "False", "NoDevices", "No device meets the target."
    if plan.busy:
        return IDLE, "False", "InUse", _waits(progress, plan)
    if plan.unheld or not progress.settled:
        return IDLE, "False", "NotHeld", "No claim has a device, but a new claim can get one."
    return IDLE, "True", "NoClaims", "No claim has a device."


def _waits(progress: MaintenanceProgress, plan: MaintenancePlan) -> str:
    pods = [f"{one.metadata.namespace}/{one.metadata.name}" for one in plan.pods]
    text = f"{counted(len(plan.busy), 'device')} in use"
    if pods:
        text += f" by {listed(sorted(pods))}"
    unused = [claim.key for claim in plan.claims if not claim.consumers]
    if unused:
        text += f"; no pod uses {listed(sorted(unused), 'claim')}"
    if plan.returning:
        text += f"; placed again on a claim in use: {listed(plan.returning)}"
    for pod in sorted(progress.refusals)[:1]:
        text += f"; {pod}: {progress.refusals[pod]}"
    return f"{text.rstrip('.')}."


def _expired(progress: MaintenanceProgress, stored: DeviceMaintenance) -> _Condition:
    until = stored.until
    if stored.unreadable:
        text = f"spec.until, {until}, cannot be read: it ends when the object is deleted."
        return EXPIRED, "False", "Unreadable", text
    if progress.expired:
        return EXPIRED, "True", "UntilPassed", f"The end, {until}, has passed."
    ends = f"It ends at {until}." if until else "It ends when the object is deleted."
    return EXPIRED, "False", "NotExpired", ends


def _dated(condition: _Condition, stored: DeviceMaintenance, now: str) -> dict[str, Any]:
    kind, state, reason, message = condition
    return {
        "type": kind,
        "status": state,
        "observedGeneration": stored.generation,
        "reason": reason,
        "message": message,
        "lastTransitionTime": changed_at(stored.status, kind, state, now),
    }

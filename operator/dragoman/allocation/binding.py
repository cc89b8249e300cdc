"""Binding conditions of allocated claims (KEP-5007): devices that are made ready first.

Source: the plugin DynamicResources of kube-scheduler 1.36. Results are looked at in their order,
and the first device that is not ready decides: a failure of a later one is not seen until then. A
claim that failed or is not ready in time makes every node unusable, and the scheduler deallocates
it; one that is still waited for keeps no node from the pod, which is bound later.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from dragoman.allocation.codes import Code, Reason
from dragoman.model.allocated import AllocatedDevice, Held
from dragoman.model.claim import Claim

TIMEOUT = timedelta(seconds=600)
"""How long the scheduler waits after the allocation, unless its configuration says otherwise."""
_STOPPING = frozenset({Code.BINDING_FAILED, Code.BINDING_TIMEOUT})


def usable(claim: Claim, now: datetime | None) -> bool:
    """Tell whether an allocated claim can be used as far as its binding conditions go.

    Args:
        claim: The claim.
        now: Without it no claim is too late.
    """
    return all(reason.code not in _STOPPING for reason in waiting(claim, now))


def waiting(claim: Claim, now: datetime | None) -> Iterator[Reason]:
    """Yield why an allocated claim is not ready, if it is not; see `usable`."""
    held = claim.held
    device = None if held is None else _unready(held)
    if held is None or device is None:
        return
    failed = _failed(device)
    if failed is not None:
        yield Reason(Code.BINDING_FAILED, claim.key, device=device.id, details=failed)
        return
    missing = tuple(one for one in device.details.binding_conditions if not device.is_true(one))
    details: dict[str, object] = {"conditions": missing}
    since = datetime.fromisoformat(held.allocated_at) if held.allocated_at else None
    if now is None or since is None or since + TIMEOUT >= now:
        yield Reason(Code.BINDING_PENDING, claim.key, device=device.id, details=details)
        return
    details |= {"since": since.isoformat(), "seconds": int(TIMEOUT.total_seconds())}
    yield Reason(Code.BINDING_TIMEOUT, claim.key, device=device.id, details=details)


def _unready(held: Held) -> AllocatedDevice | None:
    """Return the first device that failed or is not ready."""
    for device in held.devices:
        if not device.details.binding_conditions:
            continue
        if _failed(device) is not None or not all(
            map(device.is_true, device.details.binding_conditions)
        ):
            return device
    return None


def _failed(device: AllocatedDevice) -> dict[str, str] | None:
    for name in device.details.binding_failure_conditions:
        condition = device.condition(name)
        if condition is not None and condition.status == "True":
            return {"condition": name, "reason": condition.reason, "text": condition.message}
    return None

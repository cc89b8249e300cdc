"""Binding conditions: the scheduler binds a pod when its devices are ready, and not before."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dragoman_drivers.pretend.loop import RetryLoop
from dragoman_drivers.pretend.slices import PretendPool
from dragoman_drivers.throwaway.api import Api


class Binder:
    """Set the binding conditions of one pool's allocated devices, while it is started.

    Args:
        api: May list claims and update their status.
        pool: Whose devices.
    """

    def __init__(self, api: Api, pool: PretendPool) -> None:
        self._api = api
        self.pool = pool
        self._loop = RetryLoop(self.step, "binding conditions are not set")

    @property
    def needed(self) -> bool:
        """Whether any device has binding conditions."""
        return any(one.get("bindingConditions") for one in self.pool.devices)

    def start(self) -> None:
        """Look at claims from now on, if any device needs it."""
        if self.needed:
            self._loop.start()

    def stop(self) -> None:
        """Look at claims no longer."""
        self._loop.stop()

    def step(self) -> None:
        """Set what is missing, once."""
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for claim in self._api.list("resourceclaims"):
            devices = decided(claim, self.pool.driver, self.pool.title, now)
            if devices is not None:
                status = {**claim["status"], "devices": devices}
                manager = {"fieldManager": self.pool.driver}
                self._api.update({**claim, "status": status}, "status", **manager)


def decided(
    claim: Mapping[str, Any], driver: str, pool: str, now: str
) -> list[dict[str, Any]] | None:
    """Return `status.devices` of a claim with all binding conditions true; None for no change.

    Args:
        claim: As the API server has it.
        driver: Whose results count.
        pool: Whose devices count.
        now: For `lastTransitionTime`.
    """
    status = claim.get("status") or {}
    results = (status.get("allocation") or {}).get("devices", {}).get("results") or ()
    found = [dict(one) for one in status.get("devices") or ()]
    changed = False
    for result in results:
        if (result["driver"], result["pool"]) != (driver, pool):
            continue
        wanted = result.get("bindingConditions") or ()
        if not wanted:
            continue
        entry = _entry(found, result)
        have = [*(entry.get("conditions") or ())]
        known = {one["type"] for one in have}
        for name in wanted:
            if name not in known:
                have.append(_condition(name, now))
                changed = True
        entry["conditions"] = have
    return found if changed else None


def _entry(found: list[dict[str, Any]], result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry of a result's device, which is made if it is missing."""
    key = {name: result[name] for name in ("driver", "pool", "device", "shareID") if name in result}
    for one in found:
        if all(one.get(name) == key.get(name) for name in ("driver", "pool", "device", "shareID")):
            return one
    found.append(key)
    return key


def _condition(name: str, now: str) -> dict[str, str]:
    return {
        "type": name,
        "status": "True",
        "reason": "Ready",
        "message": "pretended",
        "lastTransitionTime": now,
    }

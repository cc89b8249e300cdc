"""DevicePoolReports: the devices of one pool, counted for users who may not list claims.

The numbers are those of `kubectl dra top`: both count one inventory.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dragoman.allocation.features import Profile
from dragoman.inventory.facts.stored import StoredSlice
from dragoman.inventory.facts.world import world_of
from dragoman.inventory.inventory import DeviceState, Inventory, take
from dragoman.inventory.usage.summary import tally
from dragoman.model.allocated import Held
from dragoman.model.claim import Claim
from dragoman.model.deviceid import PoolID
from dragoman.model.taints import DeviceTaintRule

MOST_HOLDERS = 128
LONGEST_STATE = 256


def report_name(pool: PoolID) -> str:
    """Return the name of a pool's report: pools may have names that objects may not."""
    digest = hashlib.sha256(pool.pool.encode()).hexdigest()[:10]
    return f"{pool.driver}-{digest}"


def pool_inventory(
    pool: PoolID,
    slices: Iterable[StoredSlice],
    claims: Iterable[Claim],
    rules: Iterable[DeviceTaintRule],
    profile: Profile,
) -> Inventory:
    """Return the inventory of one pool.

    Args:
        pool: Driver and pool.
        slices: Those of the pool, with content.
        claims: With devices of the pool, and others.
        rules: DeviceTaintRules.
        profile: How the scheduler of the cluster behaves.
    """
    contents = (one.content for one in slices)
    world = world_of(
        (one for one in contents if one is not None),
        (_within(pool, claim) for claim in claims),
        rules,
    )
    return take(world, profile)


def _within(pool: PoolID, claim: Claim) -> Claim:
    """Return a claim with its devices of a pool alone."""
    if all(one.id.pool_id == pool for one in claim.devices):
        return claim
    devices = tuple(one for one in claim.devices if one.id.pool_id == pool)
    return replace(claim, held=Held(devices, claim.allocated_at))


def report(pool: PoolID, inventory: Inventory, *, holders: bool = False) -> dict[str, Any]:
    """Return the field `report` of a DevicePoolReport.

    Args:
        pool: A pool of the inventory.
        inventory: Of this pool alone.
        holders: Whether claims with devices of the pool are named, as `namespace/name`.
    """
    current = inventory.pools[pool]
    found: dict[str, Any] = {
        "generation": current.generation,
        "state": str(current)[:LONGEST_STATE],
    }
    if current.node:
        found["node"] = current.node
    devices = inventory.devices.values()
    if holders and (named := sorted({one.claim.key for device in devices for one in device.owned})):
        found["holders"] = named[:MOST_HOLDERS]
    if len(current.slices) != current.wanted:
        return found
    states = tally(inventory, devices)
    lost = sum(device.state is DeviceState.LOST and bool(device.owned) for device in devices)
    return found | {
        "devices": sum(states.values()) - states[DeviceState.LOST] - states[DeviceState.UNUSABLE],
        "free": states[DeviceState.FREE],
        "used": states[DeviceState.USED],
        "tainted": states[DeviceState.TAINTED],
        "held": states[DeviceState.HELD],
        "blocked": states[DeviceState.BLOCKED],
        "unusable": states[DeviceState.UNUSABLE],
        "orphaned": lost,
    }

"""DevicePoolReports: the devices of one pool, counted for users who may not list claims."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final

from dragoman.allocation.facts.objects import DeviceTaintRule, PoolID
from dragoman.inventory.pools.currentpools import CurrentPool
from dragoman.inventory.poolstatus.status import invalid_reason, is_tainted

MOST_HOLDERS: Final = 128
LONGEST_STATE: Final = 256


def report_name(pool: PoolID) -> str:
    """Return the name of a pool's report: pools may have names that objects may not."""
    digest = hashlib.sha256(pool.pool.encode()).hexdigest()[:10]
    return f"{pool.driver}-{digest}"


def report(
    pool: CurrentPool, rules: Iterable[DeviceTaintRule], holders: Iterable[str] = ()
) -> dict[str, Any]:
    """Return the field `report` of a DevicePoolReport.

    Args:
        pool: The pool, with its slices' content.
        rules: DeviceTaintRules.
        holders: Claims with devices of the pool, as `namespace/name`; empty to name none.
    """
    first = pool.slices[0]
    found: dict[str, Any] = {"generation": first.generation, "state": "Complete"}
    if pool.node:
        found["node"] = pool.node
    if named := sorted(holders)[:MOST_HOLDERS]:
        found["holders"] = named
    if len(pool.slices) != first.slice_count:
        found["state"] = f"Incomplete ({len(pool.slices)} of {first.slice_count})"
        return found
    if reason := invalid_reason(pool):
        found["state"] = f"Invalid ({reason})"[:LONGEST_STATE]
    active = tuple(rules)
    contents = {name: content for name, _, content in pool.contents}
    tainted = {name for name in contents if is_tainted(pool, name, contents[name], active)}
    return found | {
        "devices": len(contents),
        "used": sum(name in pool.used for name in contents),
        "tainted": len(tainted),
        "free": sum(name not in pool.used and name not in tainted for name in contents),
        "orphaned": sum(name not in contents for name in pool.used),
    }

"""What stands below every answer: what could not be read, and what does not count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dragoman.inventory.ages import age
from dragoman.inventory.facts.world import World
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.pools.pools import InventoryPool, PoolState
from dragoman_base.versions import NEWEST, beyond
from dragoman_base.versions import name as version_name
from dragoman_base.words import natural
from dragoman_toolkit.dra.missing import unseen_of
from dragoman_toolkit.dra.output import Exit

if TYPE_CHECKING:
    from dragoman_toolkit.diagnosis.files import PlannedCluster
    from dragoman_toolkit.dra.cluster.source import Source

SHOWN = 20
"""Notes of one kind that are written out."""


def status(world: World) -> Exit:
    """Return CLEAR where everything could be read, else UNKNOWN."""
    return Exit.UNKNOWN if world.unseen else Exit.CLEAR


def common(world: World) -> Iterator[str]:
    """Yield what was not understood; what was not read stands above the answer."""
    if said := beyond(world.kubernetes):
        yield said
    yield from shortened(
        f"{one.plural} {one.name} is left out: {one.problem}" for one in world.malformed
    )


def unknown_labels(source: Source, planned: PlannedCluster) -> Iterator[str]:
    """Yield labels of nodes that a snapshot may have left out."""
    listed = ", ".join(planned.unknown_labels) if source.snapshot else ""
    if listed:
        yield (
            f"not seen: labels {listed} of nodes; snapshots have only those that objects of the "
            "cluster name"
        )


def broken_pools(inventory: Inventory) -> Iterator[str]:
    """Yield why pools do not count."""
    yield from shortened(
        f"{pool_text(pool, inventory.world.now)}: its idle devices do not count"
        for pool in sorted(inventory.pools.values(), key=lambda one: natural(str(one.id)))
        if not pool.usable
    )


def failures(inventory: Inventory) -> Iterator[str]:
    """Yield selectors of classes that fail."""
    for name, failure in inventory.failures.items():
        yield f"DeviceClass {name}: {failure}"


def pool_text(pool: InventoryPool, now: str) -> str:
    """Say what is wrong with a pool."""
    if pool.state is PoolState.INVALID:
        return f"pool {pool.id} is invalid ({pool.reason})"
    since = age(now, pool.since)
    return f"pool {pool.id} is incomplete ({len(pool.slices)} of {pool.wanted} slices, {since})"


def shortened(lines: Iterable[str]) -> Iterator[str]:
    """Yield the first lines, and how many more there are."""
    count = 0
    for count, line in enumerate(lines, 1):
        if count <= SHOWN:
            yield line
    if count > SHOWN:
        yield f"and {count - SHOWN} more of this kind"


def header(world: World) -> dict[str, Any]:
    """Return the fields that every document has."""
    return {
        "takenAt": world.now,
        "kubernetes": world.kubernetes,
        **({"rules": version_name(NEWEST)} if beyond(world.kubernetes) else {}),
        "unseen": unseen_of(world),
        "malformed": [
            {"resource": one.plural, "name": one.name, "problem": one.problem}
            for one in world.malformed
        ],
    }


def pool_document(pool: InventoryPool) -> dict[str, Any]:
    """Return a pool for programs."""
    return {
        "driver": pool.id.driver,
        "pool": pool.id.pool,
        "generation": pool.generation,
        "state": str(pool.state),
        "slices": len(pool.slices),
        "slicesWanted": pool.wanted,
        "obsoleteSlices": list(pool.obsolete),
        "reason": pool.reason,
    }

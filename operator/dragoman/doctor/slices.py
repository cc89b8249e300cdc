"""Findings about slices that the API server accepts, and whose devices are never allocated.

Source: the API server validates one slice at a time, so that nothing compares a device with the
counters of its pool, or the default of a request policy with its capacity (Kubernetes 1.36.3).
"""

from collections.abc import Iterator

from dragoman.allocation import Code, DeviceID, Reason
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, FindingSubject, Id
from dragoman.inventory.pools.pools import InventoryPool
from dragoman.inventory.pools.published import counter_faults, defaults_above
from dragoman.model.fields import part, parts
from dragoman_base.words import counted

MAKERS = "report it to the driver's makers: "


def slice_unowned(facts: DoctorFacts) -> Iterator[Finding]:
    """A slice of a node has no owner, so that it stays when the node is deleted."""
    for pool in facts.inventory.pools.values():
        bare = [one.name for one in pool.slices if one.node_name and not _owned(facts, one.name)]
        if bare:
            metadata = part(facts.slices.get(bare[0]), "metadata")
            yield Finding(
                Id.SLICE_UNOWNED,
                FindingSubject(
                    str(pool.id), "ResourceSlice", bare[0], uid=str(metadata.get("uid") or "")
                ),
                f"{counted(len(bare), 'slice')} without an owner: once the node is deleted, the "
                "scheduler still sees the devices",
                f"{MAKERS}a slice needs its Node, or the driver's workload, as owner",
                str(metadata.get("creationTimestamp") or ""),
            )


def _owned(facts: DoctorFacts, name: str) -> bool:
    return bool(parts(facts.slices.get(name), "metadata", "ownerReferences"))


def counter_overdrawn(facts: DoctorFacts) -> Iterator[Finding]:
    """A device takes more of a counter than its set holds, so that it is never allocated."""
    for pool in facts.inventory.pools.values():
        found = [
            (
                one.device,
                Reason(
                    Code.COUNTERS_EXCEEDED,
                    device=_id(pool, one.device),
                    details={
                        "set": one.set,
                        "counter": one.counter,
                        "need": str(one.need),
                        "free": str(one.holds),
                        "holders": "none",
                    },
                ),
            )
            for one in counter_faults(pool)
            if one.holds is not None  # of an unknown counter, the pool is invalid
        ]
        if found:
            yield _never(
                facts, Id.COUNTER_OVERDRAWN, pool, found, "a device takes what a set holds"
            )


def policy_default_too_big(facts: DoctorFacts) -> Iterator[Finding]:
    """A request that names no amount takes more of a capacity than the device has."""
    for pool in facts.inventory.pools.values():
        found = [
            (
                one.device,
                Reason(
                    Code.CAPACITY_EXCEEDED,
                    device=_id(pool, one.device),
                    details={
                        "capacity": one.capacity,
                        "free": str(one.value),
                        "value": str(one.value),
                        "rounded": str(one.taken),
                        "holders": "none",
                    },
                ),
            )
            for one in defaults_above(pool, facts.inventory.profile)
        ]
        if found:
            remedy = "a default is at most the capacity; until then name an amount in each request"
            yield _never(facts, Id.POLICY_DEFAULT_TOO_BIG, pool, found, remedy)


def _id(pool: InventoryPool, device: str) -> DeviceID:
    return DeviceID(pool.id.driver, pool.id.pool, device)


def _never(
    facts: DoctorFacts, key: Id, pool: InventoryPool, found: list[tuple[str, Reason]], remedy: str
) -> Finding:
    first, reason = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    answer = str(reason._replace(device=None)).removesuffix(" (held by none)")
    return Finding(
        key,
        facts.pool_subject(pool),
        f"{first}{more}: never allocated, because {answer}",
        f"{MAKERS}{remedy}",
        pool.since,
    )

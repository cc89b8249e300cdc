"""Why what ResourceQuota charges for claims differs from the devices they hold.

Source: KEP-4381, the quota evaluator of ResourceClaims: each claim is charged by its spec from its
creation on, whether or not it is allocated.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dragoman.inventory.inventory import Inventory
from dragoman.inventory.usage.charges import charges
from dragoman.inventory.usage.summary import class_of
from dragoman.model.claim import Claim
from dragoman.model.timestamps import seconds

IDLE_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class Charge:
    """One DeviceClass in one namespace."""

    held: int  # Devices that claims of the namespace have, without admin access
    charged: int  # What the quota of the namespace counts, also where there is no quota
    hard: int | None = None  # The lowest limit; None without a quota
    differences: tuple[str, ...] = ()  # Why `charged` is not `held`, the largest difference first


@dataclass(frozen=True, slots=True)
class NamespaceRow:
    """Devices of one namespace."""

    namespace: str  # Its name
    held: int  # Devices that its claims have, without admin access
    idle: int  # Those whose claim has been reserved by nothing for an hour
    classes: Mapping[str, Charge]  # By DeviceClass


def namespaces(inventory: Inventory) -> tuple[NamespaceRow, ...]:
    """Return a row for each namespace with claims or a quota for devices."""
    world = inventory.world
    names = {one.namespace for one in world.claims.values()}
    names |= {quota.namespace for quota in world.quotas}
    held = _held(inventory)
    claims: defaultdict[str, list[Claim]] = defaultdict(list)
    for key in sorted(world.claims):
        claims[world.claims[key].metadata.namespace].append(world.claims[key])
    return tuple(_row(inventory, name, held[name], claims[name]) for name in sorted(names))


def _held(inventory: Inventory) -> defaultdict[str, Counter[tuple[str, str]]]:
    """Count devices by namespace, then by claim and class."""
    found: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for device in inventory.devices.values():
        for holding in device.owned:
            namespace = holding.claim.metadata.namespace
            found[namespace][holding.claim.key, class_of(holding)] += 1
    return found


def _row(
    inventory: Inventory,
    namespace: str,
    held: Counter[tuple[str, str]],
    claims: list[Claim],
) -> NamespaceRow:
    limits: dict[str, int] = {}
    for quota in inventory.world.quotas:
        if quota.namespace == namespace:
            for name, hard in quota.hard.items():
                limits[name] = min(hard, limits.get(name, hard))
    charged: Counter[str] = Counter()
    for claim in claims:
        charged.update(charges(claim))
    return NamespaceRow(
        namespace=namespace,
        held=sum(held.values()),
        idle=sum(count for (key, _), count in held.items() if _idle(inventory, key)),
        classes={
            name: Charge(
                held=sum(count for (_, of), count in held.items() if of == name),
                charged=charged[name],
                hard=limits.get(name),
                differences=tuple(_differences(name, claims, held)),
            )
            for name in sorted({*charged, *limits})
        },
    )


def _idle(inventory: Inventory, key: str) -> bool:
    claim = inventory.world.claims[key]
    if claim.consumers or claim.is_hold:
        return False
    elapsed = seconds(inventory.world.now, claim.changed_at or claim.since)
    return elapsed is not None and elapsed > IDLE_SECONDS


def _differences(name: str, claims: list[Claim], held: Counter[tuple[str, str]]) -> Iterator[str]:
    waiting = 0
    for claim in claims:
        charged, has = charges(claim).get(name, 0), held[claim.key, name]
        if charged == has:
            continue
        if claim.held is None:
            waiting += charged
        else:
            why = _why(claim, name)
            yield f"{charged} for {why} in claim {claim.name}, which has {has}"
    if waiting:
        yield f"{waiting} for claims without devices"


def _why(claim: Claim, name: str) -> str:
    requests = [
        (exact, bool(request.first_available))
        for request in claim.spec.requests
        for exact in request.alternatives
        if exact.class_name == name
    ]
    if any(exact.mode == "All" for exact, _ in requests):
        return "allocationMode All"
    if any(alternative for _, alternative in requests):
        return "alternatives of firstAvailable"
    if any(exact.admin_access for exact, _ in requests):
        return "adminAccess"
    return "requests"

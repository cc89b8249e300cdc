"""Findings about devices: lost, promised twice, overcommitted, tainted."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from dragoman.allocation import DeviceID, PoolID
from dragoman.allocation.extendedresources import is_extended
from dragoman.allocation.pools.taints import untolerated
from dragoman.allocation.pools.usage import negative_capacity
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, Id
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.holders import Holding
from dragoman.inventory.inventory import DeviceState, InventoryDevice
from dragoman.inventory.snapshots.documents import PREEMPTION
from dragoman.inventory.usage.summary import inventory_shares
from dragoman.model.claim import Claim
from dragoman.model.requests import ExactRequest
from dragoman_base.words import listed

_SAME_HARDWARE: Mapping[str, frozenset[str]] = {
    "gpu": frozenset({"gpu", "mig", "vgpu", "pgpu"}),
}
"""What device plugins call devices of a driver, by the first label of its name."""
_VENDORS: Mapping[str, str] = {
    "habana.ai": "intel.com",
    "amazonaws.com": "amazon.com",
    "aws.com": "amazon.com",
}
"""Domains of one vendor."""
_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Implicit extended resources of DeviceClasses (KEP-5004)."""
_PARTS = re.compile(r"[._-]")
_NAMES = 3
"""Names of one kind that a message lists."""


def device_lost(facts: DoctorFacts) -> Iterator[Finding]:
    """A claim has a device that no current slice has, although its pool is not being published."""
    lost: defaultdict[str, list[InventoryDevice]] = defaultdict(list)
    for device in facts.inventory.devices.values():
        if device.state is DeviceState.LOST and not _in_motion(facts, device.id):
            for one in device.holdings:
                if not one.claim.is_hold:
                    lost[one.claim.key].append(device)
    for key, devices in lost.items():
        claim = facts.inventory.world.claims[key]
        pools = ", ".join(dict.fromkeys(f"{one.id.driver}/{one.id.pool}" for one in devices))
        names = few(one.id.device for one in devices)
        yield Finding(
            Id.DEVICE_LOST,
            facts.claim_subject(claim),
            f"{names} of {pools} {'is' if len(devices) == 1 else 'are'} in no slice",
            _replace(facts, claim),
            claim.since,
        )


def _in_motion(facts: DoctorFacts, device: DeviceID) -> bool:
    """Whether the missing slice of an incomplete pool may still bring the device."""
    pool = facts.inventory.pools.get(PoolID(device.driver, device.pool))
    return pool is not None and len(pool.slices) != pool.wanted


def _replace(facts: DoctorFacts, claim: Claim) -> str:
    """Say how the users of a claim get other devices; nothing replaces a pod without controller."""
    pods = [facts.pods_by_uid.get(one.uid) for one in claim.consumers if one.is_pod]
    namespace = claim.metadata.namespace
    names = [one.name for one in claim.consumers if one.is_pod]
    alone = [one.pod.metadata.name for one in pods if one and one.pod.metadata.owner is None]
    if alone:
        return (
            f"pod {few(alone)} has no controller: save its manifest before it is deleted: "
            f"kubectl get pod -n {namespace} {few(alone, ' ')} -o yaml"
        )
    if names:
        return f"kubectl delete pod -n {namespace} {few(names, ' ')}"
    used = facts.pods_by_claim.get(claim.key, ())
    return kept_by(used[0]) if used else f"kubectl dra release {claim.key}"


def kept_by(pod: PodFact) -> str:
    """Say why a claim that a pod names is not to be released, though it is not reserved for it."""
    name = pod.pod.metadata.name
    where = f" on {pod.pod.node_name}" if pod.pod.node_name else ""
    return (
        f"do not release it: pod {name}{where} needs it; see why no claim controller has reserved "
        "it for the pod"
    )


def double_booked(facts: DoctorFacts) -> Iterator[Finding]:
    """A device plugin and a DRA driver hand out devices of one node under one name."""
    served = _served(facts)
    for name, node in facts.inventory.world.nodes.items():
        for resource, drivers in sorted(served.get(name, {}).items()):
            count = node.node.allocatable.get(resource, 0)
            if count > 0:
                published = ", ".join(f"{driver} {drivers[driver]}" for driver in sorted(drivers))
                yield Finding(
                    Id.DOUBLE_BOOKED,
                    facts.node_subject(name, f"{name} {resource}"),
                    f"a device plugin publishes {count} {resource}, DRA publishes {published}: "
                    "pods can get one device twice",
                    f"disable the device plugin of {resource} on {name}, or the DRA driver: "
                    f"kubectl dra migrate plan {name}",
                )


def _served(facts: DoctorFacts) -> dict[str, dict[str, dict[str, int]]]:
    """Count DRA devices by node, extended resource and driver."""
    by_class = {
        name: [one for one in (found.extended_resource, f"{_PREFIX}{name}") if one]
        for name, found in facts.inventory.world.classes.items()
    }
    resources: defaultdict[DeviceID, set[str]] = defaultdict(set)
    for name, members in facts.inventory.members.items():
        for device in members:
            resources[device.id].update(by_class[name])
    found: dict[str, dict[str, dict[str, int]]] = {}
    nodes = facts.inventory.world.nodes
    published = {
        name: tuple(filter(is_extended, node.node.allocatable)) for name, node in nodes.items()
    }
    for device in facts.inventory.devices.values():
        if not device.node:
            continue
        driver = device.id.driver
        names = {one for one in published.get(device.node, ()) if of_plugin(one, driver)}
        for resource in names | resources[device.id]:
            drivers = found.setdefault(device.node, {}).setdefault(resource, {})
            drivers[device.id.driver] = drivers.get(device.id.driver, 0) + 1
    return found


def of_plugin(resource: str, driver: str) -> bool:
    """Whether the resource of a device plugin stands for the hardware of a DRA driver.

    Either is of the driver's own domain, or both are of one vendor and its name has the driver's
    word: `nvidia.com/gpu.shared` and `nvidia.com/mig-1g.5gb` are devices of `gpu.nvidia.com`.
    """
    domain, _, name = resource.partition("/")
    if domain == driver:
        return True
    word = driver.partition(".")[0]
    if _vendor(domain) != _vendor(driver):
        return False
    words = _SAME_HARDWARE.get(word, frozenset({word}))
    return any(part.startswith(one) for part in _PARTS.split(name) for one in words)


@cache
def _vendor(domain: str) -> str:
    """Return the last two labels of a domain, or those of the vendor that it belongs to."""
    found = ".".join(domain.split(".")[-2:])
    return _VENDORS.get(found, found)


def share_over_capacity(facts: DoctorFacts) -> Iterator[Finding]:
    """Shares of a device take more of a capacity than the device has now."""
    for device in facts.inventory.devices.values():
        if device.content is None or not device.content.shareable:
            continue
        for name, taken in inventory_shares(device).items():
            capacity = device.content.capacity.get(name)
            if capacity is not None and taken > capacity.value.nanos:
                claims = sorted({one.claim.key for one in device.owned})
                pool = facts.inventory.pools[PoolID(device.id.driver, device.id.pool)]
                share = f"{_ratio(taken, capacity.value.nanos)} of {name} is allocated"
                yield Finding(
                    Id.SHARE_OVER_CAPACITY,
                    facts.pool_subject(pool, str(device.id)),
                    f"{share}, to {few(claims)}",
                    f"delete the pods of one claim; kubectl dra who {device.id} lists them",
                    pool.since,
                    public=f"{share} of device {device.id}",
                )


def _ratio(taken: int, whole: int) -> str:
    return f"{taken * 100 // whole}%" if whole else "more than the whole"


def consumed_negative(facts: DoctorFacts) -> Iterator[Finding]:
    """A claim holds a negative capacity: while it exists, the scheduler of 1.38 allocates none."""
    for claim in facts.inventory.world.claims.values():
        if claim.held is not None and (problem := negative_capacity(claim.held.devices)):
            yield Finding(
                Id.CONSUMED_NEGATIVE,
                facts.claim_subject(claim),
                f"{problem}; from Kubernetes 1.38 on, nothing is allocated while it does",
                _replace(facts, claim),
                claim.since,
            )


def tainted_in_use(facts: DoctorFacts) -> Iterator[Finding]:
    """A tainted device is in use by a claim that does not tolerate the taint."""
    for device in facts.inventory.devices.values():
        if not device.taints:
            continue
        for one in device.owned:
            if one.claim.is_hold:
                continue
            exact = exact_request(one)
            # A reservation is for the time after this claim: its pod is about to be evicted.
            taints = [taint for taint in device.taints if taint.key != PREEMPTION]
            taint = untolerated(taints, exact.tolerations if exact else ())
            if taint is not None:
                value = f"={taint.value}" if taint.value else ""
                source = f" of rule {taint.rule}" if taint.rule else ""
                yield Finding(
                    Id.TAINTED_IN_USE,
                    facts.claim_subject(one.claim),
                    f"{device.id} has taint {taint.key}{value}:{taint.effect}{source}",
                    _replace(facts, one.claim),
                )


def admin_overlap(facts: DoctorFacts) -> Iterator[Finding]:
    """A claim with admin access uses devices that belong to other claims."""
    watched: defaultdict[str, list[str]] = defaultdict(list)
    for device in facts.inventory.devices.values():
        owners = sorted({one.claim.key for one in device.owned if not one.claim.is_hold})
        for one in device.holdings:
            if one.result.admin and owners:
                watched[one.claim.key].append(f"{device.id} ({few(owners)})")
    for key, devices in watched.items():
        claim = facts.inventory.world.claims[key]
        yield Finding(
            Id.ADMIN_OVERLAP,
            facts.claim_subject(claim),
            f"has admin access to devices of other claims: {few(devices)}",
            f"nothing, if namespace {claim.metadata.namespace} monitors devices",
            claim.since,
        )


def exact_request(holding: Holding) -> ExactRequest | None:
    """Return the request, or subrequest, that a device was allocated for."""
    top, _, sub = holding.result.request.partition("/")
    for request in holding.claim.spec.requests:
        if request.name == top:
            return next((one for one in request.alternatives if sub in ("", one.name)), None)
    return None


def few(names: Iterable[str], separator: str = ", ") -> str:
    """Return the first names, and how many more there are."""
    return listed(names, _NAMES, separator)

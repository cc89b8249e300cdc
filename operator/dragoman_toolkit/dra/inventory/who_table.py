"""Table and document of `who`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.inventory.ages import UNKNOWN, age
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.holders import Holding, User
from dragoman.inventory.inventory import DeviceState, Inventory, InventoryDevice, take
from dragoman.maintenance.targets import Target, near
from dragoman.model.deviceid import DeviceID
from dragoman.model.fields import parts
from dragoman_toolkit.dra import notes
from dragoman_toolkit.dra.cluster import subjects
from dragoman_toolkit.dra.cluster.ended import with_pod
from dragoman_toolkit.dra.inventory import hardwareids
from dragoman_toolkit.dra.inventory.top_tables import taints_of
from dragoman_toolkit.dra.kinds import WORKLOADS, kind_of
from dragoman_toolkit.dra.missing import elsewhere, missing
from dragoman_toolkit.dra.output import Cell, Report, Table, Unusable
from dragoman_toolkit.workloadpods import members, states

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from dragoman.inventory.facts.world import PodFact
    from dragoman.inventory.snapshots.snapshot import Snapshot
    from dragoman.model.device import Content
    from dragoman_toolkit.dra.cluster.source import Source

_NEEDS = ("resourceslices", "resourceclaims", "devicetaintrules", "pods")

Row = tuple[InventoryDevice, Holding | None, User | None]


def report(source: Source, target: str, *, wide: bool) -> Report:
    """Read the cluster, and answer; see `answer`."""
    snapshot = source.read(_NEEDS)
    word, slash, rest = target.partition("/")
    if slash and rest and kind_of(word) in WORKLOADS:
        return _of_workload(source, snapshot, kind_of(word), rest, wide=wide)
    kind, name = parsed(target)
    if kind == "pod":
        snapshot = with_pod(source, snapshot, name)
    world = parse(snapshot)
    inventory = take(world, source.profile(world))
    namespace = "" if source.all_namespaces else source.namespace
    return answer(inventory, target, namespace, wide=wide)


def _of_workload(source: Source, snapshot: Snapshot, kind: str, name: str, *, wide: bool) -> Report:
    """Return which devices the pods of a workload have."""
    meant, snapshot = subjects.named(source, snapshot, kind, name)
    world = parse(snapshot)
    if meant.kind is None:
        pods = [one for one in (world.pods.get(meant.key),) if one]
    else:
        pods = members(world, meant.kind, meant.key)
    found = of_pods(take(world, source.profile(world)), pods, wide=wide)
    if found is None:
        do = f"has no devices: {states(pods)}" if pods else "has no pods"
        raise missing(world, f"{kind} {meant.key} {do}", "pods", "resourceclaims")
    return found


def answer(inventory: Inventory, target: str, namespace: str, *, wide: bool) -> Report:
    """Return who has a device, or what a claim or pod has.

    Args:
        inventory: What is known.
        target: `driver/pool/device`, `driver/pool`, or a claim or pod: `name`, `namespace/name`,
            each with `claim/` or `pod/` in front where it is meant alone. A device also by what
            identifies it: UUID, PCI address or serial number; a node's name stands for its devices.
        namespace: Of names without one; empty for any.
        wide: Whether more columns are wanted.

    Raises:
        Unusable: Nothing has that name.
    """
    rows = list(_rows(inventory, target, namespace)) or list(_of_node(inventory, target))
    if not rows:
        raise _nothing(inventory, target, namespace)
    return _report(inventory, rows, wide=wide)


def of_pod(inventory: Inventory, pod: PodFact, claims: Collection[str]) -> Report | None:
    """Return which devices a pod has through these claims; None where they have none.

    Args:
        inventory: What is known.
        pod: The pod.
        claims: `namespace/name` of its claims, some of which may be reserved for its PodGroup.
    """
    rows: list[Row] = []
    for device in inventory.devices.values():
        for holding in device.holdings:
            if holding.claim.key in claims:
                own = (one for one in holding.users if one.key == pod.key)
                rows.append((device, holding, next(own, None)))
    return _report(inventory, rows, wide=False) if rows else None


def of_pods(inventory: Inventory, pods: Iterable[PodFact], *, wide: bool = False) -> Report | None:
    """Return which devices pods have; None where they have none."""
    keys = {pod.key for pod in pods}
    rows: list[Row] = [
        (device, holding, user)
        for device in inventory.devices.values()
        for holding in device.holdings
        for user in holding.users
        if user.key in keys
    ]
    return _report(inventory, rows, wide=wide) if rows else None


def _report(inventory: Inventory, rows: list[Row], *, wide: bool) -> Report:
    headers = ("DEVICE", "CLAIM", "POD", "CONTAINER", "SINCE", "STATE")
    more = ("NODE", "REQUEST", "SHARE", "CONSUMED") if wide else ()
    lines = tuple(_line(inventory, row, wide=wide) for row in rows)
    pools = {(device.id.driver, device.id.pool) for device, _, _ in rows}
    broken = (
        f"{notes.pool_text(pool, inventory.world.now)}: its idle devices cannot be allocated"
        for pool in inventory.pools.values()
        if not pool.usable and pool.id in pools
    )
    return Report(
        "Who",
        {**notes.header(inventory.world), "devices": [*_documents(rows)]},
        (Table((*headers[:-1], *more, headers[-1]), lines),),
        notes.status(inventory.world),
        (*broken, *notes.common(inventory.world)),
    )


def _rows(inventory: Inventory, target: str, namespace: str) -> Iterator[Row]:
    kind, name = parsed(target)
    if kind in ("", "device"):
        devices = [*_named(inventory, name)] or hardwareids.devices_with(inventory, name)
        for device in devices:
            yield from _of_device(device)
        if devices:
            return
    for device in inventory.devices.values():
        for holding in device.holdings:
            if kind in ("", "claim") and _means(name, namespace, holding.claim.key):
                yield from _of_holding(device, holding)
            elif kind in ("", "pod"):
                for user in holding.users:
                    if _means(name, namespace, user.key):
                        yield device, holding, user


def _of_node(inventory: Inventory, target: str) -> Iterator[Row]:
    """Yield the devices of a node that is named."""
    name = target.partition("/")[2] if kind_of(target.partition("/")[0]) == "node" else target
    for device in inventory.devices.values():
        if device.node == name:
            yield from _of_device(device)


def _means(name: str, namespace: str, key: str) -> bool:
    """Whether a name, in a namespace or in any, is the one of `namespace/name`."""
    if "/" in name or namespace:
        return key == (name if "/" in name else f"{namespace}/{name}")
    return key.partition("/")[2] == name


def parsed(target: str) -> tuple[str, str]:
    """Return the kind that a target names, if it does, and the rest."""
    first, slash, rest = target.partition("/")
    kind = kind_of(first) if slash else ""
    return (kind, rest) if kind in ("pod", "claim", "device") else ("", target)


def _named(inventory: Inventory, name: str) -> Iterator[InventoryDevice]:
    driver, _, rest = name.partition("/")
    pool, _, device = rest.rpartition("/")
    # A pool's name may have slashes itself: the whole rest is tried as a pool, too.
    exact = inventory.devices.get(DeviceID(driver, pool, device))
    if exact is not None:
        yield exact
        return
    for one in inventory.devices.values():
        if (one.id.driver, one.id.pool) == (driver, rest):
            yield one


def _of_device(device: InventoryDevice) -> Iterator[Row]:
    if not device.holdings:
        yield device, None, None
    for holding in device.holdings:
        yield from _of_holding(device, holding)


def _of_holding(device: InventoryDevice, holding: Holding) -> Iterator[Row]:
    if not holding.users:
        yield device, holding, None
    for user in holding.users:
        yield device, holding, user


def _line(inventory: Inventory, row: Row, *, wide: bool) -> tuple[str | Cell, ...]:
    device, holding, user = row
    now = inventory.world.now
    more: tuple[str, ...] = ()
    if wide:
        result = holding.result if holding else None
        consumed = result.consumed or () if result else ()
        more = (
            device.node or UNKNOWN,
            result.request if result else UNKNOWN,
            (result.share if result else "") or UNKNOWN,
            ", ".join(f"{name}={value}" for name, value in consumed) or UNKNOWN,
        )
    return (
        str(device.id),
        holding.claim.key if holding else UNKNOWN,
        user.key if user else UNKNOWN,
        ", ".join(user.containers) or UNKNOWN if user else UNKNOWN,
        age(now, holding.claim.since) if holding else UNKNOWN,
        *more,
        Cell(", ".join(_states(inventory, device, holding)), _STYLES.get(device.state, "")),
    )


_STYLES = {
    DeviceState.FREE: "green",
    DeviceState.LOST: "red",
    DeviceState.TAINTED: "red",
    DeviceState.UNUSABLE: "red",
    DeviceState.BLOCKED: "yellow",
}


def _states(
    inventory: Inventory, device: InventoryDevice, holding: Holding | None
) -> Iterator[str]:
    """Yield the state of a device, what identifies it, and what its driver reported."""
    if device.state is not DeviceState.TAINTED:  # its taints follow
        yield str(device.state)
    if holding is not None and holding.result.admin:
        yield "admin access"
    if holding is not None and holding.idle:
        yield "reserved by nothing"
    uuid = _uuid(device.content)
    if uuid:
        yield f"uuid {uuid}"
    if device.taints:
        said = " ".join(taints_of(device))
        yield said if said.startswith("reserved") else f"tainted {said}"
    ready = holding.result.condition("Ready") if holding else None
    if ready is not None and ready.status == "False":
        yield f"not ready since {age(inventory.world.now, ready.changed)}"
    for user in holding.users if holding else ():
        health = _health(user, device)
        if health:
            yield f"{health.lower()} for pod {user.key}"
    yield from filter(None, (user.waits for user in (holding.users if holding else ())))


def _uuid(content: Content | None) -> str:
    """Return the attribute by which people know a device."""
    for name, value in (content.attributes if content else {}).items():
        if name.rpartition("/")[2].lower() == "uuid" and isinstance(value.get("string"), str):
            return str(value["string"])
    return ""


def _health(user: User, device: InventoryDevice) -> str:
    """Return a health other than Healthy that the kubelet reports (KEP-4680)."""
    for container in parts(user.pod and user.pod.document, "status", "containerStatuses"):
        for resource in parts(container, "allocatedResourcesStatus"):
            for one in parts(resource, "resources"):
                named = str(one.get("resourceID") or "")
                if named.endswith(f"/{device.id.device}") or named == device.id.device:
                    health = str(one.get("health") or "")
                    return "" if health == "Healthy" else health
    return ""


def _documents(rows: list[Row]) -> Iterator[dict[str, Any]]:
    for device, holding, user in rows:
        yield {
            "driver": device.id.driver,
            "pool": device.id.pool,
            "device": device.id.device,
            "node": device.node,
            "state": str(device.state),
            "taints": [
                {"key": one.key, "value": one.value, "effect": one.effect, "rule": one.rule}
                for one in device.taints
            ],
            "claim": holding.claim.key if holding else None,
            "request": holding.result.request if holding else None,
            "adminAccess": holding.result.admin if holding else False,
            "shareID": holding.result.share or None if holding else None,
            "consumed": dict(holding.result.consumed or ()) if holding else {},
            "since": holding.claim.since if holding else None,
            "pod": user.key if user else None,
            "containers": list(user.containers) if user else [],
            "waitsForNode": user.departure.node if user and user.departure else None,
        }


def _nothing(inventory: Inventory, target: str, namespace: str) -> Unusable:
    """Say why there is nothing to show."""
    kind, name = parsed(target)
    world = inventory.world
    known = (one for one in (*world.claims, *world.pods) if _means(name, namespace, one))
    key = next(known, name if "/" in name else f"{namespace}/{name}".lstrip("/"))
    if kind in ("", "claim") and key in world.claims:
        return Unusable(f"claim {key} has no devices: `kubectl dra explain claim` says why")
    if kind in ("", "pod") and key in world.pods:
        text = f"pod {key} has no devices: `kubectl dra explain pod` says why"
        return missing(world, text, "resourceclaims")
    where = f"namespace {namespace}" if namespace else "any namespace"
    text = f"no device, claim, pod or node {target} (in {where})"
    if kind:
        text = f"{kind} {name if kind == 'device' else key} not found"
    return missing(world, text + _near(inventory, name, key), *_SOURCES)


def near_device(inventory: Inventory, name: str) -> str:
    """Return which drivers, pools or devices there are instead of `driver/pool/device`."""
    driver, _, rest = name.partition("/")
    pool, _, device = rest.rpartition("/")
    hint = near(Target(driver, pool or rest, device if pool else ""), inventory)
    return f"; {hint}" if hint else ""


_SOURCES = ("resourceslices", "resourceclaims", "pods")
"""What names the devices, claims and pods that `who` finds."""


def _near(inventory: Inventory, name: str, key: str) -> str:
    """Return what there is: names near a device's, or where a pod or claim of the name is."""
    if name.count("/") > 1 or "." in name.partition("/")[0]:
        return near_device(inventory, name)
    world = inventory.world
    short = key.partition("/")[2]
    return elsewhere(key, {**world.claims, **world.pods}, f"kubectl dra who {short}")

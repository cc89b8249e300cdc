"""Virtual nodes of recorded machines in `simulate`: what is asked, and what cannot be stated."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman.diagnosis.subject import of_pod
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.inventory import Inventory
from dragoman_toolkit.diagnosis.simulate import PlacedWorkload, Placement
from dragoman_toolkit.diagnosis.virtualnodes import Virtual, is_count
from dragoman_toolkit.diagnosis.virtualnodes import added as nodes_of
from dragoman_toolkit.dra.output import Unusable
from dragoman_toolkit.shapes import known
from dragoman_toolkit.shapes.nodes import UNRECORDED, NodeOptions, trees
from dragoman_toolkit.shapes.shape import Shape, ShapeError, ShapePool

MOST = 1000
_KEYS = "type=, count=, label=, taint=, allocatable.RESOURCE=, drivers=, source=dra|plugin"
_NAME = re.compile(r"[^a-z0-9.-]+")


@dataclass(frozen=True, slots=True)
class TypedNodes:
    """Virtual nodes of one machine type."""

    shape: Shape
    count: int
    options: NodeOptions

    @property
    def names(self) -> list[str]:
        """Of the nodes."""
        base = _NAME.sub("-", self.shape.machine.lower()).strip("-.")[:40]
        return [f"{base}-virtual-{number}" for number in range(1, self.count + 1)]


def is_typed(text: str) -> bool:
    """Whether --add-node names a machine type."""
    return text.startswith("type=")


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return keys and values; `drivers=a,b` has a comma in its value."""
    given: list[tuple[str, str]] = []
    for part in text.split(","):
        key, equals, value = part.partition("=")
        if not equals and given and given[-1][0] == "drivers":
            given[-1] = ("drivers", f"{given[-1][1]},{part}")
        else:
            given.append((key, value))
    return given


def parse(text: str, folder: Path | None = None) -> TypedNodes:
    """Read `type=TYPE[,count=N]…`; raise Unusable naming the key."""
    labels: dict[str, str] = {}
    taints: list[Mapping[str, str]] = []
    allocatable: dict[str, str] = {}
    single: dict[str, str] = {}
    for key, value in _pairs(text):
        if key == "label":
            name, _, content = value.partition("=")
            labels[name] = content
        elif key == "taint":
            taints.append(_taint(text, value))
        elif key.startswith("allocatable."):
            allocatable[key.removeprefix("allocatable.")] = value
        elif key in ("type", "count", "drivers", "source") and key not in single:
            single[key] = value
        else:
            raise Unusable(f"--add-node {text}: unknown or repeated key {key!r}; there are {_KEYS}")
    return _checked(text, single, folder, labels, (tuple(taints), allocatable))


def _checked(
    text: str,
    single: Mapping[str, str],
    folder: Path | None,
    labels: Mapping[str, str],
    more: tuple[tuple[Mapping[str, str], ...], Mapping[str, str]],
) -> TypedNodes:
    count = single.get("count", "1")
    if not is_count(count, MOST):
        raise Unusable(f"--add-node {text}: count: expected a number from 1 to {MOST}")
    if single.get("source", "dra") not in ("dra", "plugin"):
        raise Unusable(f"--add-node {text}: source: expected dra or plugin")
    try:
        shape = known.named(single["type"], folder)
    except ShapeError as error:
        raise Unusable(f"--add-node {text}: {error}") from None
    drivers = frozenset(filter(None, single.get("drivers", "").split(",")))
    there = {pool.driver for pool in shape.pools}
    if drivers - there:
        raise Unusable(f"--add-node {text}: drivers: {shape.name} has {', '.join(sorted(there))}")
    taints, allocatable = more
    options = NodeOptions(labels, taints, allocatable, drivers, single.get("source") == "plugin")
    return TypedNodes(shape, int(count), options)


def _taint(text: str, value: str) -> Mapping[str, str]:
    pair, colon, effect = value.rpartition(":")
    key, _, content = pair.partition("=")
    if not colon or not key or effect not in ("NoSchedule", "NoExecute", "PreferNoSchedule"):
        raise Unusable(f"--add-node {text}: taint: expected KEY[=VALUE]:EFFECT")
    return {"key": key, "value": content, "effect": effect}


def virtual(one: TypedNodes, taken: str) -> tuple[Virtual, ...]:
    """Return the nodes with their slices."""
    return nodes_of(trees(one.shape, one.names, one.options), taken, f"type={one.shape.name}")


def notes(one: TypedNodes) -> Iterator[str]:
    """Yield what users have to know of a shape."""
    pools = [pool for pool in one.shape.pools if _chosen(one, pool)]
    dates = {pool.recorded for pool in pools if pool.recorded}
    versions = {
        str(value.get("version"))
        for pool in pools
        if (value := (pool.common.get("attributes") or {}).get("driverVersion"))
    }
    parts = [
        f"recorded{f' {min(dates)}' if dates else ''}"
        + (f" with Kubernetes {one.shape.kubernetes}" if one.shape.kubernetes else ""),
        *(f"driver {version}" for version in sorted(versions)),
    ]
    checked = {**one.shape.capacity, **one.options.allocatable}
    room = "cpu and memory are nominal" if checked else "cpu and memory are not checked"
    yield f"shape {one.shape.name}: {', '.join(parts)}; {room}"
    for pool in pools:
        if not pool.complete and not one.options.plugin:
            more = pool.missing or "more devices are there than this shape has"
            yield f"shape {one.shape.name}, {pool.driver}: not recorded: {more}"


def _chosen(one: TypedNodes, pool: ShapePool) -> bool:
    return not one.options.drivers or pool.driver in one.options.drivers


def untold(
    typed: Sequence[TypedNodes],
    inventory: Inventory,
    workloads: Sequence[PlacedWorkload],
    then: Sequence[Placement],
) -> Iterator[str]:
    """Yield why an answer hangs on a value that was not recorded.

    Pods that were placed on nodes whose values are known do not.
    """
    for workload, placement in zip(workloads, then, strict=True):
        pods = {copies.pod.key: copies.pod for parts in workload.sets for copies in parts}
        for one in typed:
            on = [
                device
                for name in one.names
                for pod in placement.nodes.get(name, ())
                for device in placement.devices.get(pod, ())
            ]
            if on or placement.refused:
                yield from unrecorded(one, inventory.world, pods.values(), on)


def unrecorded(
    one: TypedNodes, world: World, pods: Iterable[PodFact], devices: Sequence[str]
) -> Iterator[str]:
    """Yield which values that pods ask for were not recorded.

    Args:
        one: The nodes.
        world: With classes and templates of the claims.
        pods: That are placed there.
        devices: Names of what they get there.
    """
    reads, compared = set[str](), set[str]()
    for pod in pods:
        for wanted in of_pod(world, pod, planned=True).wanted:
            for request in wanted.claim.spec.requests:
                for exact in request.alternatives:
                    known_class = world.classes.get(exact.class_name)
                    texts = (*exact.selectors, *(known_class.selectors if known_class else ()))
                    reads |= {text for text in texts if text}
            compared |= {found.attribute for found in wanted.claim.spec.constraints}
    yield from _of_shape(one, reads, compared, devices)


def _of_shape(
    one: TypedNodes, reads: set[str], compared: set[str], devices: Sequence[str]
) -> Iterator[str]:
    for pool in one.shape.pools:
        if one.options.plugin or not _chosen(one, pool):
            continue
        for name in pool.unknown:
            grouped = name in pool.equalities
            if any(_names(text, name) for text in reads) or (
                _in(name, pool, compared) and not grouped
            ):
                yield f"can not tell: {name} is not recorded in shape {one.shape.name}"
        common = set(pool.common.get("attributes") or ())
        partial = pool.total > len(pool.devices)
        beyond = {name for name in compared if not any(_is(name, own, pool) for own in common)}
        if (
            partial
            and (beyond or any(UNRECORDED in device for device in devices))
            and (beyond or not _within(reads, common))
        ):
            missing = pool.missing or "other devices"
            yield f"can not tell: shape {one.shape.name} does not have {missing}"


def _names(text: str, attribute: str) -> bool:
    short = attribute.rpartition("/")[2]
    return re.search(rf"(?<![\w]){re.escape(short)}(?![\w])", text) is not None


def _is(name: str, own: str, pool: ShapePool) -> bool:
    return name in (own, f"{pool.driver}/{own}")


def _in(own: str, pool: ShapePool, compared: set[str]) -> bool:
    return any(_is(name, own, pool) for name in compared)


def _within(reads: set[str], common: set[str]) -> bool:
    """Whether selectors read the driver's name and common attributes alone."""
    for text in reads:
        found = re.findall(r"attributes\[[^\]]*\]\.(\w+)", text)
        if any(all(one != own.rpartition("/")[2] for own in common) for one in found):
            return False
    return True

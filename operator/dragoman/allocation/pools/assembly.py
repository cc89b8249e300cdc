"""From relevant slices to a pool: generation, completeness, validity, order.

Source: `GatherPools` of k8s.io/dynamic-resource-allocation/structured, described in section "pools"
of docs/allocation.md.
"""

from collections.abc import Iterable, Sequence

from dragoman.allocation.features import Profile
from dragoman.allocation.pools.pool import Counters, Pool
from dragoman.allocation.pools.relevance import counters_everywhere, has_groups
from dragoman.model.amounts import Amount
from dragoman.model.device import CounterSet
from dragoman.model.deviceid import PoolID
from dragoman.model.slice import Slice


def assemble(
    pool_id: PoolID, candidates: Iterable[Slice], everything: Iterable[Slice], profile: Profile
) -> Pool | None:
    """Make a pool of the slices that are relevant for a node.

    Args:
        pool_id: The pool.
        candidates: Its relevant slices, in the order of their discovery.
        everything: All slices of the pool in the cluster.
        profile: Which scheduler looks.

    Returns:
        The pool; None where no slice is relevant, or all of them are of an old generation.
    """
    found: list[Slice] = []
    for item in candidates:
        if found and item.generation < found[0].generation:
            continue
        if found and item.generation > found[0].generation:
            found.clear()
        found.append(item)
    if not found:
        return None
    generation, want = found[0].generation, found[0].slice_count
    whole: Sequence[Slice] = found
    if len(found) != want and profile.incomplete_pools_unused:
        if any(item.generation > generation for item in everything):
            return None
        whole = [item for item in everything if item.generation == generation]
        if profile.compatibility_groups and not profile.features.CompatibilityGroups:
            whole = [item for item in whole if not has_groups(item)]
    pool = Pool(pool_id, generation, len(whole), want)
    pool.incomplete = len(whole) != want
    # 1.34 takes devices from a pool that is incomplete on the node.
    if not (pool.incomplete and profile.incomplete_pools_unused):
        _build(pool, found, whole, profile)
    return pool


def _build(pool: Pool, found: list[Slice], whole: Sequence[Slice], profile: Profile) -> None:
    if not profile.stable:
        found = sorted(found, key=lambda item: item.name)
    partitionable = profile.features.PartitionableDevices
    mine = {item.name for item in found}
    rest = [item for item in whole if item.name not in mine]
    devices = [item for item in found if not (partitionable and item.shared_counters)]
    holders = [item for item in found if partitionable and item.shared_counters]
    checked = devices
    if counters_everywhere(profile):
        checked = found
    else:
        holders += [item for item in rest if partitionable and item.shared_counters]
        rest = [item for item in rest if not (partitionable and item.shared_counters)]
    counters: Counters = {}
    pool.invalid = _duplicate_device(devices)
    if partitionable and not pool.invalid:
        counters, pool.invalid = _counters(
            set_ for item in holders for set_ in item.shared_counters
        )
        pool.invalid = pool.invalid or _dangling(counters, holders, [*checked, *rest])
    if not pool.invalid:
        pool.fill(devices, rest if partitionable else (), counters)
        if not profile.stable:
            pool.last = any(content.binding_conditions is not None for content in pool.contents)


def _duplicate_device(slices: Iterable[Slice]) -> str:
    names: set[str] = set()
    for item in slices:
        for device in item.devices:
            if device.name in names:
                return f"duplicate device name {device.name}"
            names.add(device.name)
    return ""


def _counters(sets: Iterable[CounterSet]) -> tuple[Counters, str]:
    counters: dict[tuple[str, str], Amount] = {}
    names: set[str] = set()
    for item in sets:
        if item.name in names:
            return {}, f"duplicate counter set name {item.name}"
        names.add(item.name)
        counters.update({(item.name, name): value for name, value in item.counters.items()})
    return counters, ""


def _dangling(counters: Counters, holders: Iterable[Slice], slices: Iterable[Slice]) -> str:
    sets = {item.name for holder in holders for item in holder.shared_counters}
    for item in slices:
        for device in item.devices:
            for consumption in device.content.consumes:
                if consumption.counter_set not in sets:
                    return f"counter set {consumption.counter_set} not found"
                for name in consumption.counters:
                    if (consumption.counter_set, name) not in counters:
                        return f"counter {name} not found in counter set {consumption.counter_set}"
    return ""

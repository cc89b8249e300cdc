"""What requests want together and no node has: devices, shared counters, capacity of shares.

Each number is a bound that holds whatever devices are chosen, so that what is said is true of every
choice; where no bound is exceeded, the caller looks for another cause.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, combinations

from dragoman.allocation.extendedresources import NAME as EXTENDED
from dragoman.allocation.rules.capacity import CapacityError, PolicyError
from dragoman.allocation.timebudget import check
from dragoman.diagnosis.meant import RequestDevices
from dragoman.diagnosis.wording import listed, shortened
from dragoman.inventory.facts.world import World
from dragoman.model.amounts import Amount, printed
from dragoman.model.device import Content
from dragoman.model.deviceid import DeviceID, PoolID
from dragoman_base.words import natural

MOST = 8
"""Requests of which all combinations are looked at."""
There = Mapping[DeviceID, Content]
Limits = Mapping[tuple[PoolID, str], Mapping[str, Amount]]
"""The counters of each counter set of a pool."""


def crowded(world: World, devices: Sequence[RequestDevices]) -> Iterator[str]:
    """Yield what the fewest requests want that no node has for them together.

    Args:
        world: The facts.
        devices: Of each request; those of prioritized lists and of admins compete for nothing.

    Raises:
        TooExpensiveError: The entered `TimeBudget` is used up.
    """
    single = [one for one in devices if "/" not in one.name and not one.request.admin][:MOST]
    limits = _limits(world)
    for many in range(1, len(single) + 1):
        found = [text for group in combinations(single, many) for text in _of_group(group, limits)]
        if found:
            yield from found
            return


def _of_group(group: Sequence[RequestDevices], limits: Limits) -> Iterator[str]:
    """Yield the first thing of which a group wants too much."""
    check()
    nodes = {node for one in group for node in one.meant}
    there: dict[str, There] = {
        node: {key: value for one in group for key, value in one.meant.get(node, {}).items()}
        for node in nodes
    }
    wanted = sum(one.wanted for one in group)
    if any(content.shareable for of_node in there.values() for content in of_node.values()):
        yield from _shares(group, there)
        return
    counts = {node: len(of_node) for node, of_node in there.items()}
    if len(group) > 1 and wanted > max(counts.values(), default=0):
        yield _text(group, wanted, counts)
        return
    if not limits:
        return
    counts = {node: _by_counters(of_node, limits) for node, of_node in there.items()}
    if counts and wanted > (most := max(counts.values())):
        full = shortened(sorted((one for one in counts if counts[one] == most), key=natural))
        needs = shortened(dict.fromkeys(_needs(there, limits)))
        yield (
            f"{_subject(group)} {wanted} {'device' if wanted == 1 else 'devices'} on one node, "
            f"shared counters suffice for {most} ({full}): {needs}"
        )


def _text(group: Sequence[RequestDevices], wanted: int, counts: Mapping[str, int]) -> str:
    most = max(counts.values(), default=0)
    said = f"the most of one node is {most}"
    if all(one.claim.endswith(EXTENDED) for one in group):
        kinds = (one.request.device_class.extended_resource or one.name for one in group)
        return f"{wanted} x {listed(dict.fromkeys(kinds))} wanted, {said}"
    full = shortened(sorted((one for one in counts if counts[one] == most), key=natural))
    return f"{_subject(group)} {wanted} devices on one node, {said} ({full})"


def _subject(group: Sequence[RequestDevices]) -> str:
    """Name requests, or the claims of requests of one name, with their verb."""
    names = dict.fromkeys(one.name for one in group)
    if len(group) == 1:
        return f"request {group[0].name} wants"
    if len(names) < len(group):
        return f"claims {listed(one.claim.rpartition('/')[2] for one in group)} want"
    return f"requests {listed(names)} want"


# Shared counters ----------------------------------------------------------------------------------


def _limits(world: World) -> Limits:
    """Return the counters of each pool's newest slices."""
    newest: dict[PoolID, int] = {}
    for item in world.slices:
        newest[item.pool_id] = max(newest.get(item.pool_id, 0), item.generation)
    found: dict[tuple[PoolID, str], dict[str, Amount]] = {}
    for item in world.slices:
        if item.generation == newest[item.pool_id]:
            for one in item.shared_counters:
                found.setdefault((item.pool_id, one.name), {}).update(one.counters)
    return found


def _by_counters(there: There, limits: Limits) -> int:
    """Return how many devices the counters allow at most: each counts for its first set alone."""
    check()
    sets: defaultdict[tuple[PoolID, str], list[Content]] = defaultdict(list)
    free = 0
    for key, content in there.items():
        if content.consumes:
            sets[key.pool_id, content.consumes[0].counter_set].append(content)
        else:
            free += 1
    return free + sum(_of_set(of_set, limits.get(key, {})) for key, of_set in sets.items())


def _of_set(contents: Sequence[Content], limits: Mapping[str, Amount]) -> int:
    most = len(contents)
    for name, limit in limits.items():
        needs = sorted(_need(one, name) for one in contents)
        most = min(most, sum(one <= limit.nanos for one in accumulate(needs)))
    return most


def _need(content: Content, counter: str) -> int:
    found = content.consumes[0].counters.get(counter)
    return found.nanos if found else 0


def _needs(there: Mapping[str, There], limits: Limits) -> Iterator[str]:
    """Yield what the least device takes of each counter, and what there is."""
    least: dict[tuple[str, str], tuple[int, Amount]] = {}
    for of_node in there.values():
        for key, content in of_node.items():
            for one in content.consumes[:1]:
                for name, value in one.counters.items():
                    limit = limits.get((key.pool_id, one.counter_set), {}).get(name)
                    known = least.get((one.counter_set, name))
                    if limit and (known is None or value.nanos < known[0]):
                        least[one.counter_set, name] = (value.nanos, limit)
    for (of_set, name), (need, limit) in least.items():
        yield f"a device takes {printed(need, limit)} of {of_set}/{name}, which has {limit}"


# Capacity of shares -------------------------------------------------------------------------------


def _shares(group: Sequence[RequestDevices], there: Mapping[str, There]) -> Iterator[str]:
    """Yield a capacity of which shares want more than all devices of any node have."""
    contents = {content for of_node in there.values() for content in of_node.values()}
    if not all(content.shareable for content in contents):
        return
    for name in sorted({name for content in contents for name in content.capacity}):
        taken = [_taken(one, name) for one in group]
        sums = {
            node: sum(one.capacity[name].value.nanos for one in of_node.values())
            for node, of_node in there.items()
            if all(name in one.capacity for one in of_node.values())
        }
        most = max(sums.values(), default=0)
        wanted = sum(taken)
        if len(sums) == len(there) and wanted > most:
            like = next(iter(contents)).capacity[name].value
            full = shortened(sorted((one for one in sums if sums[one] == most), key=natural))
            yield (
                f"{_subject(group)} {name.rpartition('/')[2]} {printed(wanted, like)} on one "
                f"node, {printed(most, like)} is the most of one node ({full})"
            )
            return


def _taken(one: RequestDevices, name: str) -> int:
    """Return what a request takes of a capacity at least."""
    contents: Iterable[Content] = {
        content for of_node in one.meant.values() for content in of_node.values()
    }
    found = []
    for content in contents:
        try:
            amount = one.request.consumption(content).get(name)
        except (PolicyError, CapacityError):
            continue
        found.append(amount.nanos if amount else 0)
    return one.wanted * min(found, default=0)

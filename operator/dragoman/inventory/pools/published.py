"""Rules about what drivers publish and the API server accepts, each once: functions over pools.

`kubectl dra doctor` makes findings of them, `dragoman conformance` the results of its checks.
Sources: validation of ResourceSlices in Kubernetes 1.36.3, tried with faulty slices; package
deviceattribute of k8s.io/dynamic-resource-allocation for the names of the standard.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from dragoman.allocation.features import Profile
from dragoman.allocation.rules.attributes import scalar
from dragoman.allocation.rules.capacity import CapacityError, PolicyError, consumption
from dragoman.inventory.pools.pools import InventoryPool
from dragoman.model.amounts import Amount
from dragoman.model.device import Content
from dragoman.model.standardattributes import STANDARD_TYPES

STANDARD = "resource.kubernetes.io"
_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)


@dataclass
class NameUses:
    """Where a name is published."""

    pool: InventoryPool  # The first pool that has it
    devices: list[str] = field(default_factory=list)  # Which devices have it, as `pool/device`
    # Of an attribute, with the first device of each
    types: dict[str, str] = field(default_factory=dict)
    # Some of its values, each after its device
    values: list[tuple[str, object]] = field(default_factory=list)
    # Devices that have the name with and without the driver's domain
    twins: list[str] = field(default_factory=list)

    @property
    def since(self) -> str:
        """When the newest slice of the pool was created, as an API timestamp."""
        return self.pool.since


class NonStandard(NamedTuple):
    """A name of the standard's domain that is used in another way."""

    driver: str  # Who publishes it
    name: str  # As it is published
    uses: NameUses  # Where
    device: str  # A device that has it
    value: object = None  # A value of another form; None where the standard has no such name


class MixedType(NamedTuple):
    """An attribute whose values have several types, or another one than the standard's."""

    driver: str  # Who publishes it
    name: str  # As it is published
    uses: NameUses  # Where, with a device for each type
    wanted: str  # The type of the standard; empty where the standard says nothing


class CounterFault(NamedTuple):
    """A device that takes of a counter what there is not."""

    device: str  # Its name
    set: str  # The counter set
    counter: str  # The counter; empty where there is no such set
    need: Amount | None = None  # What the device takes; None where there is no such counter
    holds: Amount | None = None  # What the set holds


class DefaultAbove(NamedTuple):
    """A device of whose capacity a request without an amount takes more than there is."""

    device: str  # Its name
    capacity: str  # Name of the capacity
    value: Amount  # How much there is
    taken: Amount  # What a request without an amount takes


def own_domain(pools: Iterable[InventoryPool]) -> Iterator[tuple[str, str, NameUses]]:
    """Yield driver, name and uses of names that repeat the driver's own domain."""
    for (driver, name), uses in _sorted(pools, capacity=True):
        if name.startswith(f"{driver}/"):
            yield driver, name, uses


def non_standard(pools: Iterable[InventoryPool]) -> Iterator[NonStandard]:
    """Yield names of the standard's domain that it does not have, and values of another form."""
    for (driver, name), uses in _sorted(pools):
        domain, _, local = name.partition("/")
        if domain == STANDARD and local not in STANDARD_TYPES:
            yield NonStandard(driver, name, uses, uses.devices[0])
        elif domain == STANDARD and local == "pciBusID":
            wrong = [one for one in uses.values if not _is_address(one[1])]
            yield from (NonStandard(driver, name, uses, *one) for one in wrong[:1])


def mixed_type(pools: Iterable[InventoryPool]) -> Iterator[MixedType]:
    """Yield attributes with several types, or with another type than the standard's."""
    for (driver, name), uses in _sorted(pools):
        domain, _, local = name.partition("/")
        wanted = STANDARD_TYPES.get(local, "") if domain == STANDARD else ""
        if len(uses.types) > 1 or any(wanted and kind != wanted for kind in uses.types):
            yield MixedType(driver, name, uses, wanted)


def counter_faults(pool: InventoryPool) -> Iterator[CounterFault]:
    """Yield the first fault of each device: unknown sets and counters, and more than they hold."""
    sets = {one.name: one.counters for each in pool.slices for one in each.shared_counters}
    for each in pool.slices:
        for device in each.devices:
            found = _counter_faults(device.name, device.content, sets)
            yield from [fault for fault in [next(found, None)] if fault]


def _counter_faults(
    device: str, content: Content, sets: Mapping[str, Mapping[str, Amount]]
) -> Iterator[CounterFault]:
    for consumed in content.consumes:
        holds = sets.get(consumed.counter_set)
        if holds is None:
            yield CounterFault(device, consumed.counter_set, "")
            continue
        for counter, need in consumed.counters.items():
            if counter not in holds:
                yield CounterFault(device, consumed.counter_set, counter)
            elif need.nanos > holds[counter].nanos:
                yield CounterFault(device, consumed.counter_set, counter, need, holds[counter])


def defaults_above(pool: InventoryPool, profile: Profile) -> Iterator[DefaultAbove]:
    """Yield devices whose request policy makes a request take more than the capacity."""
    for each in pool.slices:
        for device in each.devices:
            if not device.content.shareable:
                continue
            try:
                consumed = consumption(None, device.content.capacity, profile, each.driver)
            except (CapacityError, PolicyError):
                continue  # another fault, which the allocator reports
            for name, taken in consumed.items():
                value = device.content.capacity[name].value
                if taken.nanos > value.nanos:
                    yield DefaultAbove(device.name, name, value, taken)
                    break


def _sorted(
    pools: Iterable[InventoryPool], *, capacity: bool = False
) -> list[tuple[tuple[str, str], NameUses]]:
    return sorted(_published(pools, capacity=capacity).items(), key=lambda one: one[0])


def _published(
    pools: Iterable[InventoryPool], *, capacity: bool = False
) -> Mapping[tuple[str, str], NameUses]:
    """Return the names of attributes, and of capacities where wanted, of all current slices."""
    found: dict[tuple[str, str], NameUses] = {}
    known: dict[int, _Content] = {}
    for pool in pools:
        for one in pool.slices:
            for device in one.devices:
                key = id(device.content)
                content = known.get(key) or known.setdefault(key, _Content.of(device.content))
                where = f"{pool.id.pool}/{device.name}"
                for name, (kind, value) in content.names(capacity=capacity).items():
                    uses = found.setdefault((pool.id.driver, name), NameUses(pool))
                    uses.devices.append(where)
                    if kind:
                        uses.types.setdefault(kind, where)
                    if value is not None and len(uses.values) < _VALUES:
                        uses.values.append((where, value))
                    if name in content.twins:
                        uses.twins.append(where)
    return found


_VALUES = 1000
"""Values of one name that are compared with the standard's form."""


@dataclass(frozen=True, slots=True)
class _Content:
    """The names of devices that look alike."""

    attributes: Mapping[str, tuple[str, object]]  # Type and value by name
    capacities: Mapping[str, tuple[str, object]]  # Names of capacities
    twins: frozenset[str]  # Names that stand next to their form without the driver's domain

    @classmethod
    def of(cls, content: Content) -> Self:
        """Read the names of a device."""
        attributes = {name: _typed(value) for name, value in content.attributes.items()}
        twins = set()
        prefix = f"{content.driver}/"
        for names in (content.attributes, content.capacity):
            own = (name for name in names if name.startswith(prefix))
            twins |= {name for name in own if name.removeprefix(prefix) in names}
        capacities: dict[str, tuple[str, object]] = dict.fromkeys(content.capacity, ("", None))
        return cls(attributes, capacities, frozenset(twins))

    def names(self, *, capacity: bool) -> Mapping[str, tuple[str, object]]:
        """Return type and value by name."""
        return {**self.capacities, **self.attributes} if capacity else self.attributes


_LISTS = {"ints": "int", "bools": "bool", "strings": "string", "versions": "version"}


def _typed(value: Mapping[str, object]) -> tuple[str, object]:
    """Return the type and value of an attribute; a list has the type of its elements (KEP-5491)."""
    kind, one = scalar(value)
    return (kind, one) if kind else (next((_LISTS[k] for k in value if k in _LISTS), ""), None)


def _is_address(value: object) -> bool:
    return isinstance(value, str) and _PCI.fullmatch(value) is not None

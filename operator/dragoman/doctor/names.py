"""Findings about names and types of what drivers publish: the API server accepts all of them.

Sources: validation of ResourceSlices in Kubernetes 1.36.3, tried with faulty slices; package
deviceattribute of k8s.io/dynamic-resource-allocation for the names of the standard.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

from dragoman.allocation.rules.attributes import scalar
from dragoman.doctor.devices import few
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, Id
from dragoman.inventory.pools.pools import InventoryPool
from dragoman.model.device import Content
from dragoman_base.versions import OWN_DOMAIN_REFUSED
from dragoman_base.versions import name as version_name
from dragoman_base.words.spelling import closest

STANDARD = "resource.kubernetes.io"
STANDARD_TYPES: Mapping[str, str] = {
    "pcieRoot": "string",
    "pciBusID": "string",
    "numaNode": "int",
}
_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)


@dataclass
class _Uses:
    """Where a name is published."""

    pool: InventoryPool  # The first pool that has it
    devices: list[str] = field(default_factory=list)  # Which devices have it, as `pool/device`
    # Of an attribute, with the first device of each
    types: dict[str, str] = field(default_factory=dict)
    values: list[object] = field(default_factory=list)  # Some of its values
    # Devices that have the name with and without the driver's domain
    twins: list[str] = field(default_factory=list)

    @property
    def since(self) -> str:
        return self.pool.since


Names = Mapping[tuple[str, str], _Uses]
"""By driver and name as it is published."""


def name_own_domain(facts: DoctorFacts) -> Iterator[Finding]:
    """A driver writes its own domain before a name, which is the same name without it.

    The scheduler puts a name without a domain into the driver's domain, in selectors, in
    `matchAttribute` and in `distinctAttribute`, in 1.34 to 1.37; of two forms on one device a
    selector sees either. Requests of capacity compare the text.
    """
    for driver, name, uses in _own_domain(facts):
        local = name.removeprefix(f"{driver}/")
        if uses.twins:
            effect = (
                f"{few(uses.twins)} also has {local}, which is the same name: a selector reads one "
                "of both, which one is not defined; constraints read the one with the domain"
            )
        else:
            effect = (
                f"selectors read it as {local}, but a request of capacity has to write {name} as "
                "well"
            )
        yield _finding(
            facts, Id.NAME_OWN_DOMAIN, uses, f"{driver} {name}", effect, f"publish {local}"
        )


def refused_names(facts: DoctorFacts) -> Iterator[Finding]:
    """A name carries the driver's own domain, which newer helper libraries do not publish."""
    for driver, name, uses in _own_domain(facts):
        release = version_name(OWN_DOMAIN_REFUSED)
        effect = (
            f"the drivers' helper library of Kubernetes {release} publishes no slice with such a "
            "name: built with it, the driver has no devices"
        )
        remedy = f"publish {name.removeprefix(f'{driver}/')}"
        yield _finding(facts, Id.DRIVER_OUTDATED, uses, f"{driver} {name}", effect, remedy)


def _own_domain(facts: DoctorFacts) -> Iterator[tuple[str, str, _Uses]]:
    for (driver, name), uses in sorted(_published(facts, capacity=True).items()):
        if name.startswith(f"{driver}/"):
            yield driver, name, uses


def name_non_standard(facts: DoctorFacts) -> Iterator[Finding]:
    """A name of the standard's domain is none of the standard, or its value has another form."""
    for (driver, name), uses in sorted(_published(facts).items()):
        domain, _, local = name.partition("/")
        if domain != STANDARD:
            continue
        wrong = [one for one in uses.values if local == "pciBusID" and not _is_address(one)]
        if local not in STANDARD_TYPES:
            guess = closest(local, STANDARD_TYPES, edits=3)
            effect = f"{STANDARD} has no {local}: matchAttribute finds no other driver's devices"
            remedy = f"publish {STANDARD}/{guess}" if guess else f"publish {local} without a domain"
        elif wrong:
            effect = (
                f"{wrong[0]} is no PCI address such as 0000:0f:00.0: no device of another driver "
                "matches it"
            )
            remedy = "publish domain:bus:device.function"
        else:
            continue
        yield _finding(facts, Id.NAME_NON_STANDARD, uses, f"{driver} {name}", effect, remedy)


def name_mixed_type(facts: DoctorFacts) -> Iterator[Finding]:
    """Devices of a driver have one attribute with several types, or not with the standard's."""
    for (driver, name), uses in sorted(_published(facts).items()):
        domain, _, local = name.partition("/")
        wanted = STANDARD_TYPES.get(local, "") if domain == STANDARD else ""
        wrong = {kind: one for kind, one in uses.types.items() if wanted and kind != wanted}
        if wrong:
            kind, device = next(iter(wrong.items()))
            effect = (
                f"{device} has a value of type {kind}, the standard is {wanted}: matchAttribute "
                "finds no common value with other drivers"
            )
            remedy = f"publish it as {wanted}"
        elif len(uses.types) > 1:
            shown = ", ".join(f"{kind} on {device}" for kind, device in uses.types.items())
            effect = (
                f"{shown}: a selector that compares it fails on the others (no such overload), "
                "which ends the pod's attempt; matchAttribute finds no common value"
            )
            remedy = "publish it with one type"
        else:
            continue
        yield _finding(facts, Id.NAME_MIXED_TYPE, uses, f"{driver} {name}", effect, remedy)


def _finding(  # noqa: PLR0913, PLR0917 — the parts of a finding
    facts: DoctorFacts, key: Id, uses: _Uses, text: str, effect: str, remedy: str
) -> Finding:
    count = len(uses.devices)
    message = f"on {count} device{'s' if count != 1 else ''}: {effect}"
    todo = f"report it to the driver's makers: {remedy}"
    return Finding(key, facts.pool_subject(uses.pool, text), message, todo, uses.since)


def _published(facts: DoctorFacts, *, capacity: bool = False) -> Names:
    """Return the names of attributes, and of capacities where wanted, of all current slices."""
    found: dict[tuple[str, str], _Uses] = {}
    known: dict[int, _Content] = {}
    for pool in facts.inventory.pools.values():
        for one in pool.slices:
            for device in one.devices:
                key = id(device.content)
                content = known.get(key) or known.setdefault(key, _Content.of(device.content))
                where = f"{pool.id.pool}/{device.name}"
                for name, (kind, value) in content.names(capacity=capacity).items():
                    uses = found.setdefault((pool.id.driver, name), _Uses(pool))
                    uses.devices.append(where)
                    if kind:
                        uses.types.setdefault(kind, where)
                    if value is not None and len(uses.values) < _VALUES:
                        uses.values.append(value)
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

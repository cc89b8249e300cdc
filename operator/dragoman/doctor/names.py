"""Findings about names and types of what drivers publish: the API server accepts all of them."""

from collections.abc import Iterator

from dragoman.doctor.devices import few
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, Id
from dragoman.inventory.pools.published import (
    STANDARD,
    NameUses,
    mixed_type,
    non_standard,
    own_domain,
)
from dragoman.model.standardattributes import STANDARD_TYPES
from dragoman_base.versions import OWN_DOMAIN_REFUSED
from dragoman_base.versions import name as version_name
from dragoman_base.words.spelling import closest


def name_own_domain(facts: DoctorFacts) -> Iterator[Finding]:
    """A driver writes its own domain before a name, which is the same name without it.

    The scheduler puts a name without a domain into the driver's domain, in selectors, in
    `matchAttribute` and in `distinctAttribute`, in 1.34 to 1.37; of two forms on one device a
    selector sees either. Requests of capacity compare the text.
    """
    for driver, name, uses in own_domain(facts.inventory.pools.values()):
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
    for driver, name, uses in own_domain(facts.inventory.pools.values()):
        release = version_name(OWN_DOMAIN_REFUSED)
        effect = (
            f"the drivers' helper library of Kubernetes {release} publishes no slice with such a "
            "name: built with it, the driver has no devices"
        )
        remedy = f"publish {name.removeprefix(f'{driver}/')}"
        yield _finding(facts, Id.DRIVER_OUTDATED, uses, f"{driver} {name}", effect, remedy)


def name_non_standard(facts: DoctorFacts) -> Iterator[Finding]:
    """A name of the standard's domain is none of the standard, or its value has another form."""
    for driver, name, uses, _, value in non_standard(facts.inventory.pools.values()):
        local = name.partition("/")[2]
        if value is None:
            guess = closest(local, STANDARD_TYPES, edits=3)
            effect = f"{STANDARD} has no {local}: matchAttribute finds no other driver's devices"
            remedy = f"publish {STANDARD}/{guess}" if guess else f"publish {local} without a domain"
        else:
            effect = (
                f"{value} is no PCI address such as 0000:0f:00.0: no device of another driver "
                "matches it"
            )
            remedy = "publish domain:bus:device.function"
        yield _finding(facts, Id.NAME_NON_STANDARD, uses, f"{driver} {name}", effect, remedy)


def name_mixed_type(facts: DoctorFacts) -> Iterator[Finding]:
    """Devices of a driver have one attribute with several types, or not with the standard's."""
    for driver, name, uses, wanted in mixed_type(facts.inventory.pools.values()):
        wrong = {kind: one for kind, one in uses.types.items() if wanted and kind != wanted}
        if wrong:
            kind, device = next(iter(wrong.items()))
            effect = (
                f"{device} has a value of type {kind}, the standard is {wanted}: matchAttribute "
                "finds no common value with other drivers"
            )
            remedy = f"publish it as {wanted}"
        else:
            shown = ", ".join(f"{kind} on {device}" for kind, device in uses.types.items())
            effect = (
                f"{shown}: a selector that compares it fails on the others (no such overload), "
                "which ends the pod's attempt; matchAttribute finds no common value"
            )
            remedy = "publish it with one type"
        yield _finding(facts, Id.NAME_MIXED_TYPE, uses, f"{driver} {name}", effect, remedy)


def _finding(  # noqa: PLR0913, PLR0917 — the parts of a finding
    facts: DoctorFacts, key: Id, uses: NameUses, text: str, effect: str, remedy: str
) -> Finding:
    count = len(uses.devices)
    message = f"on {count} device{'s' if count != 1 else ''}: {effect}"
    todo = f"report it to the driver's makers: {remedy}"
    return Finding(key, facts.pool_subject(uses.pool, text), message, todo, uses.since)

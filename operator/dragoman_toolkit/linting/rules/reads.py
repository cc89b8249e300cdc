"""Rules about single reads of attributes and capacities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dragoman_base.words.nearnames import nearest
from dragoman_base.words.spelling import closest
from dragoman_toolkit.linting.knowledge.devices import (
    ATTRIBUTES,
    CAPACITY,
    COMMON,
    KnownDevices,
    Sort,
    common,
)
from dragoman_toolkit.linting.knowledge.meant import driver_meant, standard_name
from dragoman_toolkit.linting.selectors.expressiontext import Change, ExpressionText, changed
from dragoman_toolkit.linting.selectors.guarding import guard
from dragoman_toolkit.linting.selectors.remark import (
    MIXED,
    NEVER,
    TYPE,
    UNGUARDED,
    UNKNOWN,
    Remark,
)
from dragoman_toolkit.linting.selectors.scopes import SelectorScope
from dragoman_toolkit.linting.validation.names import subdomain_fault

if TYPE_CHECKING:  # it imports the CEL engine
    from dragoman_toolkit.linting.selectors.implications import Implications
    from dragoman_toolkit.linting.selectors.reads import Read

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_GUARD_IT = "guard it with has()"
_COMPARISONS = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")


@dataclass(frozen=True, slots=True)
class Selection:
    """One selector with what is known about the devices that it can match."""

    text: ExpressionText  # Its text
    known: Implications  # What it and those before it say about a device
    possible: list[Sort]  # Sorts of devices that satisfy them
    scope: SelectorScope  # The request or class
    devices: KnownDevices  # Known devices


def check_read(read: Read, within: Selection) -> Iterator[Remark]:
    """Check one read of a selector."""
    devices = within.devices
    if fault := _impossible(read):
        yield _split_domain(read, within) or Remark(UNKNOWN, fault)
        return
    names = devices.names(read.domain, read.part)
    other = CAPACITY if read.part == ATTRIBUTES else ATTRIBUTES
    standard = _standard(read, names, within)
    if standard is not None:
        yield standard
    elif not devices.domains.get(read.domain):
        yield from _unknown_domain(read, within)
    elif read.name not in names:
        if read.name in devices.names(read.domain, other):
            yield _swapped(read, other)
        elif not common(read.domain):
            yield _unknown_name(read, names, within)
    else:
        yield from _wrong_type(read, within)
        yield from _elsewhere(read, within) or _unguarded(read, within)


def _impossible(read: Read) -> str:
    """Return why no driver at all can publish what is read; empty where one can."""
    if subdomain_fault(read.domain):
        return f'no driver can publish the domain "{read.domain}": domains are DNS subdomains'
    if not _IDENTIFIER.fullmatch(read.name):
        return f'no driver can publish the name "{read.name}": names are C identifiers'
    return ""


def _split_domain(read: Read, within: Selection) -> Remark | None:
    """Find a domain that is written as an extended resource, such as `nvidia.com/gpu`."""
    if "/" not in read.domain:
        return None
    message = f'no driver can publish the domain "{read.domain}": domains are DNS subdomains'
    domain, _, name = read.domain.partition("/")
    if domain in within.devices.domains and _IDENTIFIER.fullmatch(name):
        right = f'device.{read.part}["{domain}"].{name}'
        return Remark(UNKNOWN, message, f"domain and name are apart: {right}")
    guess = driver_meant(read.domain, within.devices)
    if guess is None:
        return None
    changes = within.text.respelled(read.pos, ((read.domain, guess),))
    return Remark(UNKNOWN, message, f'did you mean "{guess}"?', changes=changes)


def _standard(read: Read, names: set[str], within: Selection) -> Remark | None:
    """Find attributes of Kubernetes itself that are misspelt, or read in another domain."""
    if read.part != ATTRIBUTES or read.name in names:
        return None
    meant = standard_name(read.domain, read.name, within.devices)
    if meant is None:
        return None
    message = f'no driver publishes the attribute "{read.domain}/{read.name}"'
    names_ = ((read.domain, COMMON), (f".{read.name}", f".{meant}"))
    changes = within.text.respelled(
        read.pos, tuple(one for one in names_ if one[0].strip(".") != one[1].strip("."))
    )
    return Remark(UNKNOWN, message, f'did you mean "{COMMON}/{meant}"?', changes=changes)


def _unknown_domain(read: Read, within: Selection) -> Iterator[Remark]:
    devices = within.devices
    guess = closest(read.domain, set(devices.domains), edits=2) or _longer(read, within)
    if guess is None and not devices.given:
        return  # a driver without a schema may publish it
    message = f'no known driver publishes the domain "{read.domain}"'
    suggestion = f'did you mean "{guess}"?' if guess else ""
    changes = within.text.respelled(read.pos, ((read.domain, guess),)) if guess else ()
    yield Remark(UNKNOWN, message, suggestion, changes=changes)


def _longer(read: Read, within: Selection) -> str | None:
    """Return a domain of which only the end was written, such as `nvidia.com`."""
    devices = within.devices
    found = [
        one
        for one in sorted(within.known.driver & set(devices.domains) or devices.domains)
        if one.endswith(f".{read.domain}") and read.name in devices.names(one, read.part)
    ]
    return found[0] if found else None


def _unknown_name(read: Read, names: set[str], within: Selection) -> Remark:
    sorts = within.devices.domains[read.domain]
    noun = "attribute" if read.part == ATTRIBUTES else "capacity"
    drivers = sorted({f"{one.driver} ({one.release})" for one in sorts})
    verb = "publishes" if len(drivers) == 1 else "publish"
    message = f'{", ".join(drivers)} {verb} no {noun} "{read.domain}/{read.name}"'
    guess = nearest(read.name, names)
    known = ", ".join(sorted(names))
    suggestion = f'did you mean "{guess}"?' if guess else f"known: {known}" if known else ""
    changes = within.text.respelled(read.pos, ((read.name, guess),)) if guess else ()
    return Remark(UNKNOWN, message, suggestion, changes=changes)


def _elsewhere(read: Read, within: Selection) -> tuple[Remark, ...]:
    """Find reads of what only other devices have, or what newer releases publish no more."""
    key = (read.domain, read.name)
    publishing = [one for one in within.devices.domains[read.domain] if one.knows(read.part, key)]
    possible = [one for one in within.possible if read.domain in _domains(one)]
    if read.guarded or within.devices.given or not publishing:
        return ()
    if all(key in one.until for one in publishing):
        last = max(one.until[key] for one in publishing)
        message = f"{publishing[0].driver} publishes {read.domain}/{read.name} up to {last}"
        instead = "newer releases lack it, and the selector fails on every device"
        return (Remark(UNKNOWN, message, instead),)
    if not possible or not within.scope.closed or not within.known.driver:
        return ()
    if any(one.knows(read.part, key) for one in possible):
        return ()
    lacking, having = (_titles(one) for one in (possible, publishing))
    return (
        Remark(NEVER, f"{read.text} fails on every device: {lacking} lacks it; {having} has it"),
    )


def _swapped(read: Read, other: str) -> Remark:
    is_, reads_ = ("a capacity", "an attribute")
    if other == ATTRIBUTES:
        is_, reads_ = reads_, is_
    message = f"{read.domain} publishes {read.name} as {is_}, not as {reads_}"
    right = f'device.{other}["{read.domain}"].{read.name}'
    if other == CAPACITY:
        value = read.other if isinstance(read.other, str) else "1Gi"
        right += f'.compareTo(quantity("{value}")) >= 0'
    return Remark(MIXED, message, f"write {right}")


def _wrong_type(read: Read, within: Selection) -> Iterator[Remark]:
    value, devices = read.other, within.devices
    if read.operator not in _COMPARISONS or value is None or not _is_plain(value):
        return
    where = f"{read.domain}/{read.name}"
    if read.part == CAPACITY:
        message = f"{where} is a quantity and cannot be compared with a literal"
        right = f'{read.text}.compareTo(quantity("{value}")) >= 0'
        yield Remark(MIXED, message, f"write {right}")
        return
    kinds = devices.types(read.domain, read.name)
    if not kinds or _kind_of(value) in kinds:
        return
    kind = min(kinds)
    message = f"{where} is of type {kind}, not {_kind_of(value)}"
    right = f"compare with a {kind}"
    if kind == "version":
        right = f'write {read.text}.compareTo(semver("{_semver(value)}")) >= 0'
    yield Remark(TYPE, message, right)


def _semver(value: Any) -> str:
    """Complete a version such as `550` to three numbers, as `semver()` wants them."""
    parts = str(value).removeprefix("v").split(".")
    return ".".join([*parts, "0", "0"][:3]) if len(parts) < 3 else str(value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str)


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return {int: "int", str: "string", float: "double"}.get(type(value), "")


def _unguarded(read: Read, within: Selection) -> Iterator[Remark]:
    devices, scope, possible = within.devices, within.scope, within.possible
    if read.guarded or devices.given:
        return  # given devices are evaluated, which says more
    key = (read.domain, read.name)
    having = [one for one in possible if one.knows(read.part, key)]
    if not scope.closed:
        # The class may leave only those devices that have it, if there are such.
        lacking = [] if any(one.always(read.part, key) for one in having) else having
    else:
        lacking = [one for one in possible if not one.always(read.part, key)]
    if not within.known.driver:
        lacking = [one for one in lacking if read.domain in _domains(one)]
        if not scope.class_name and not lacking:
            message = f"{read.text} fails on devices of other drivers"
            front = f'device.driver == "{read.domain}" && '
            begun = (Change(0, 0, front),) if within.text.is_conjunction else ()
            yield Remark(UNGUARDED, message, f"begin with {front}…", changes=begun)
    if lacking:
        message = f"{read.text} fails on devices without it: {_titles(lacking)}"
        changes = guard(read, devices.types(read.domain, read.name), within.text)
        yield Remark(UNGUARDED, message, _GUARD_IT, changes=changes)


def advice(text: ExpressionText, changes: tuple[Change, ...]) -> str:
    """Return what to write, with as much of the selector as the changes concern."""
    start, end = text.condition(changes[0].start)
    inside = [one for one in changes if start <= one.start and one.end <= end]
    moved = [Change(one.start - start, one.end - start, one.text) for one in inside]
    return f"write {changed(text.expression[start:end], moved)}"


def _domains(sort: Sort) -> set[str]:
    return {domain for domain, _ in (*sort.attributes, *sort.capacity)}


def _titles(sorts: Iterable[Sort]) -> str:
    return ", ".join(sorted({one.title for one in sorts}))

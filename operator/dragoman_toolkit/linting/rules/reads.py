"""Rules about single reads of attributes and capacities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dragoman_base.words.spelling import closest
from dragoman_toolkit.linting.knowledge.devices import (
    ATTRIBUTES,
    CAPACITY,
    KnownDevices,
    Sort,
    common,
)
from dragoman_toolkit.linting.selectors.remark import MIXED, TYPE, UNGUARDED, UNKNOWN, Remark
from dragoman_toolkit.linting.selectors.scopes import SelectorScope
from dragoman_toolkit.linting.validation.names import subdomain_fault

if TYPE_CHECKING:  # it imports the CEL engine
    from dragoman_toolkit.linting.selectors.implications import Implications
    from dragoman_toolkit.linting.selectors.reads import Read

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_DEFAULTS = {"string": '""', "int": "0", "bool": "false"}
_COMPARISONS = ("_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_")


def check_read(
    read: Read,
    known: Implications,
    possible: list[Sort],
    scope: SelectorScope,
    devices: KnownDevices,
) -> Iterator[Remark]:
    """Check one read of a selector.

    Args:
        read: The read.
        known: What the selector and those before it say about a device.
        possible: Sorts of devices that satisfy them.
        scope: The request or class.
        devices: Known devices.
    """
    if fault := _impossible(read):
        yield Remark(UNKNOWN, fault)
        return
    names = devices.names(read.domain, read.part)
    other = CAPACITY if read.part == ATTRIBUTES else ATTRIBUTES
    if not devices.domains.get(read.domain):
        yield from _unknown_domain(read, devices, known)
    elif read.name not in names:
        if read.name in devices.names(read.domain, other):
            yield _swapped(read, other)
        elif not common(read.domain):
            yield _unknown_name(read, names, devices.domains[read.domain])
    else:
        yield from _wrong_type(read, devices)
        yield from _unguarded(read, known, possible, scope, devices)


def _impossible(read: Read) -> str:
    """Return why no driver at all can publish what is read; empty where one can."""
    if subdomain_fault(read.domain):
        return f'no driver can publish the domain "{read.domain}": domains are DNS subdomains'
    if not _IDENTIFIER.fullmatch(read.name):
        return f'no driver can publish the name "{read.name}": names are C identifiers'
    return ""


def _unknown_domain(read: Read, devices: KnownDevices, known: Implications) -> Iterator[Remark]:
    guess = closest(read.domain, set(devices.domains), edits=2) or _longer(read, devices, known)
    if guess is None and not devices.given:
        return  # a driver without a schema may publish it
    message = f'no known driver publishes the domain "{read.domain}"'
    suggestion = f'did you mean "{guess}"?' if guess else ""
    yield Remark(UNKNOWN, message, suggestion)


def _longer(read: Read, devices: KnownDevices, known: Implications) -> str | None:
    """Return a domain of which only the end was written, such as `nvidia.com`."""
    names = devices.names
    found = [
        one
        for one in sorted(known.driver & set(devices.domains) or devices.domains)
        if one.endswith(f".{read.domain}") and read.name in names(one, read.part)
    ]
    return found[0] if found else None


def _unknown_name(read: Read, names: set[str], sorts: tuple[Sort, ...]) -> Remark:
    noun = "attribute" if read.part == ATTRIBUTES else "capacity"
    drivers = ", ".join(sorted({f"{one.driver} ({one.release})" for one in sorts}))
    message = f'{drivers} publishes no {noun} "{read.domain}/{read.name}"'
    guess = closest(read.name, names)
    known = ", ".join(sorted(names))
    suggestion = f'did you mean "{guess}"?' if guess else f"known: {known}" if known else ""
    return Remark(UNKNOWN, message, suggestion)


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


def _wrong_type(read: Read, devices: KnownDevices) -> Iterator[Remark]:
    value = read.other
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


def _unguarded(
    read: Read,
    known: Implications,
    possible: list[Sort],
    scope: SelectorScope,
    devices: KnownDevices,
) -> Iterator[Remark]:
    if read.guarded or devices.given:
        return  # given devices are evaluated, which says more
    key = (read.domain, read.name)
    having = [one for one in possible if one.knows(read.part, key)]
    if not scope.closed:
        # The class may leave only those devices that have it, if there are such.
        lacking = [] if any(one.always(read.part, key) for one in having) else having
    else:
        lacking = [one for one in possible if not one.always(read.part, key)]
    if not known.driver:
        lacking = [one for one in lacking if read.domain in _domains(one)]
        if not scope.class_name and not lacking:
            message = f"{read.text} fails on devices of other drivers"
            suggestion = f'begin with device.driver == "{read.domain}" && …'
            yield Remark(UNGUARDED, message, suggestion)
    if lacking:
        sorts = ", ".join(sorted({_title(one) for one in lacking}))
        message = f"{read.text} fails on devices without it: {sorts}"
        yield Remark(UNGUARDED, message, f"write {guarded_form(read, devices)}")


def _domains(sort: Sort) -> set[str]:
    return {domain for domain, _ in (*sort.attributes, *sort.capacity)}


def _title(sort: Sort) -> str:
    when = ", ".join(f"{name} {value}" for name, value in sort.when.items())
    return f"{sort.driver} ({when})" if when else f"some of {sort.driver}"


def guarded_form(read: Read, devices: KnownDevices) -> str:
    """Return the read in a form that cannot fail."""
    kinds = devices.types(read.domain, read.name)
    default = _DEFAULTS.get(next(iter(kinds)), "") if len(kinds) == 1 else ""
    if read.part == ATTRIBUTES and default:
        return f'device.attributes["{read.domain}"].?{read.name}.orValue({default})'
    return f"has({read.text}) && {read.text}…"

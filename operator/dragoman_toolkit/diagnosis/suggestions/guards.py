"""Selectors that fail on devices without an attribute, and how to guard them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from dragoman.allocation import Claim, Code, FatalError, Reason, allocate
from dragoman.diagnosis.answers import NodeAnswer
from dragoman.inventory.inventory import Inventory
from dragoman_toolkit.diagnosis.suggestions.secondsearch import (
    BUDGET,
    Change,
    ChangeKind,
    SecondSearches,
    Suggestion,
    with_requests,
)

_MISSING = re.compile(r"no such key: ([A-Za-z_][A-Za-z0-9_]*)")
_DEFAULTS = {"bool": "false", "int": "0", "string": '""'}


@dataclass(frozen=True, slots=True)
class Guard:
    """A selector that fails on devices without an attribute."""

    attribute: str  # Its name
    have: int  # Devices of the driver that have it
    devices: int  # Devices of the driver
    without: tuple[str, ...]  # Some devices that have it not
    expression: str  # The selector
    guarded: str  # The same for devices without the attribute too; empty where none is known


def guard(inventory: Inventory, reason: Reason) -> Guard | None:
    """Return how to guard the selector of a CEL error; None where the error is another one."""
    match = _MISSING.search(str(reason.details.get("message") or ""))
    expression = str(reason.details.get("expression") or "")
    if match is None or reason.device is None or not expression:
        return None
    name, driver = match[1], reason.device.driver
    have, without, kinds = 0, [], []
    devices = [one for one in inventory.devices.values() if one.id.driver == driver]
    for device in devices:
        attributes = device.content.attributes if device.content else {}
        found = attributes.get(name) or attributes.get(f"{driver}/{name}")
        have += found is not None
        kinds += list(found or ())
        if found is None:
            without.append(str(device.id))
    default = _DEFAULTS.get(kinds[0] if kinds else "", "")
    access = re.compile(rf"(?<=[\])])\.{name}\b(?!\s*\()")
    guarded = access.sub(f".?{name}.orValue({default})", expression) if default else ""
    changed = guarded if guarded != expression else ""
    return Guard(name, have, len(devices), tuple(without[:10]), expression, changed)


def guarding(
    inventory: Inventory, search: SecondSearches, nodes: Iterable[NodeAnswer]
) -> Iterator[Suggestion]:
    """Yield guarded selectors with which the pod fits on a node and no node stops it."""
    tried: set[tuple[str, str]] = set()
    nodes = list(nodes)
    for node in nodes:
        for request in node.requests:
            for reason in request.reasons:
                found = guard(inventory, reason) if reason.code is Code.CEL_ERROR else None
                if found is None or not found.guarded or (node.node, found.guarded) in tried:
                    continue
                tried.add((node.node, found.guarded))
                if _all_pass(search, nodes, node.node, found):
                    yield Suggestion(
                        ChangeKind.GUARD_SELECTOR,
                        node.node,
                        f"with the selector {found.guarded} ({node.node})",
                        {
                            "origin": reason.details.get("origin"),
                            "index": reason.details.get("index"),
                            "expression": found.expression,
                            "guarded": found.guarded,
                        },
                    )


def _all_pass(search: SecondSearches, nodes: Iterable[NodeAnswer], node: str, found: Guard) -> bool:
    """Whether a node serves the pod with the guarded selector, and none stops it."""
    if not search.fits(node, _guarded(search, found)):
        return False
    with _guarded(search, found)() as claims:
        return not any(
            isinstance(allocate(one.node, claims, search.cluster, budget=BUDGET), FatalError)
            for one in nodes
        )


def _guarded(search: SecondSearches, found: Guard) -> Change:
    def swapped(texts: tuple[str | None, ...]) -> tuple[str | None, ...]:
        return tuple(found.guarded if text == found.expression else text for text in texts)

    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        before = [
            one for one in search.cluster.classes.values() if found.expression in one.selectors
        ]
        for one in before:
            search.cluster.put_class(replace(one, selectors=swapped(one.selectors)))
        try:
            yield tuple(
                with_requests(
                    claim,
                    set(_names(claim)),
                    lambda request: replace(request, selectors=swapped(request.selectors)),
                )
                for claim in search.claims
            )
        finally:
            for one in before:
                search.cluster.put_class(one)

    return change


def _names(claim: Claim) -> Iterator[str]:
    for outer in claim.spec.requests:
        yield outer.name
        for request in outer.first_available:
            yield f"{outer.name}/{request.name}"

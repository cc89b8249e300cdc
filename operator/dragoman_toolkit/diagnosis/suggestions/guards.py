"""Selectors that fail on devices without an attribute, and how to guard them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from dragoman.allocation import Claim, Code, FatalError, Reason, allocate
from dragoman.allocation.requests.expressions import Expression, Failure, Views
from dragoman.diagnosis.nearness import NodeAnswer
from dragoman.diagnosis.selectorparts import values_of
from dragoman.inventory.inventory import Inventory
from dragoman.model.device import Content
from dragoman_cel.conjuncts import conjuncts
from dragoman_toolkit.diagnosis.suggestions.secondsearch import (
    BUDGET,
    Change,
    ChangeKind,
    SecondSearches,
    Suggestion,
    with_requests,
)

_MISSING = re.compile(r"no such key: ([A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True, slots=True)
class Guard:
    """A selector that fails on devices without an attribute."""

    attribute: str  # Its domain and name
    have: int  # Devices of the driver that have it
    devices: int  # Devices of the driver
    without: tuple[str, ...]  # Some devices that have it not
    expression: str  # The selector
    guarded: str  # The same, false on devices without the attribute; empty where none is known


def guard(inventory: Inventory, reason: Reason) -> Guard | None:
    """Return how to guard the selector of a CEL error.

    None where the error is another one, or no device has the attribute: then its name is wrong,
    and a guarded selector would match nothing.
    """
    match = _MISSING.search(str(reason.details.get("message") or ""))
    expression = str(reason.details.get("expression") or "")
    if match is None or reason.device is None or not expression:
        return None
    access = _access(expression, match[1])
    if access is None:
        return None
    part, domain, name = access[1], access[2], match[1]
    path = ("attributes" if part == "attributes" else "capacity", domain, name)
    devices = [one for one in inventory.devices.values() if one.id.driver == reason.device.driver]
    known = [(one, one.content) for one in devices if one.content is not None]
    having = [content for _, content in known if values_of(content, path)]
    without = [(one, content) for one, content in known if not values_of(content, path)]
    if not having:
        return None
    guarded = _guarded_text(expression, access[0])
    sure = _is_safe(inventory, expression, guarded, having, [content for _, content in without])
    return Guard(
        f"{domain}/{name}",
        len(having),
        len(devices),
        tuple(str(one.id) for one, _ in without[:10]),
        expression,
        guarded if sure else "",
    )


def _access(expression: str, name: str) -> re.Match[str] | None:
    """Return the read of an attribute or capacity in a selector: its text, part and domain."""
    return re.search(
        rf"device\.(attributes|capacity)\[[\"']([^\"']+)[\"']\]\.{name}\b(?!\s*\()", expression
    )


def _guarded_text(expression: str, access: str) -> str:
    """Put `has(…) && ` before the conjunct that reads something."""
    for part in conjuncts(expression):
        if access in part:
            alone = part if len(conjuncts(expression)) > 1 else expression
            inner = f"({alone})" if "||" in alone or "?" in alone else alone
            return expression.replace(alone, f"has({access}) && {inner}", 1)
    return ""


def _is_safe(
    inventory: Inventory,
    expression: str,
    guarded: str,
    having: Iterable[Content],
    without: Iterable[Content],
) -> bool:
    """Tell by evaluation whether a guard changes nothing but the failure, which becomes false."""
    if not guarded:
        return False
    views = Views(inventory.profile)
    before = Expression(expression, inventory.profile, views)
    after = Expression(guarded, inventory.profile, views)
    same = all(
        isinstance(before.on(one), Failure) or after.on(one) == before.on(one) for one in having
    )
    return same and all(after.on(one) is False for one in without)


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

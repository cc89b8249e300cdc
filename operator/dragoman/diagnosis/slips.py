"""Slips of the pen in what a pod requests, and what was probably meant.

A selector that reads an attribute which no device has, or wants a value which no device has, is
corrected by the nearest name of the same kind. A correction is offered only where the pod fits with
it in the emptied cluster: one that would not help is no better than the slip. It does not matter
whether the devices are free: with all of them in use no search meets the slip.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from dragoman.allocation import Allocated, Claim, DeviceClass
from dragoman.allocation.requests.expressions import Expression
from dragoman.allocation.timebudget import check
from dragoman.diagnosis.answers import Hint
from dragoman.diagnosis.emptied import BestCase
from dragoman.diagnosis.selectorparts import (
    Comparison,
    comparison,
    driver_of,
    literals,
    missing_text,
    untrue_text,
    value_missing_text,
    values_of,
)
from dragoman.diagnosis.wording import shortened
from dragoman.inventory.facts.world import NodeFact, World
from dragoman.model.device import Content
from dragoman.model.requests import ExactRequest
from dragoman_base.words.nearnames import alike, near, near_attribute, near_driver

MOST = 8
"""Corrections of one pod that are tried."""


class Candidate(NamedTuple):
    """What may be meant."""

    new: str  # The conjunct, or attribute of a constraint, with it
    written: str  # The name or value that is replaced
    meant: str  # What by
    text: str  # How it is offered


class Slip(NamedTuple):
    """Something that no device has, and what may be meant."""

    wrong: str  # In words
    old: str  # The conjunct, or the attribute of a constraint
    candidates: tuple[Candidate, ...]
    seen: str = ""  # What there is instead, in words
    of_class: str = ""  # The DeviceClass whose selector it is


def slips(world: World, best: BestCase, nodes: Sequence[NodeFact]) -> tuple[Hint, ...]:
    """Return the slips of a pod, with corrections that would let it fit.

    Args:
        world: The facts.
        best: The pod in the emptied cluster.
        nodes: Where it may run.
    """
    if not nodes:
        return ()
    contents = {one.content for item in world.slices for one in item.devices}
    found = [*dict.fromkeys(_slips(best, nodes[0], contents))][:MOST]
    fits = _Trial(best, nodes)
    chosen = {one: _first_that_fits(fits, one, {}) for one in found}
    if len(found) > 1 and not any(chosen.values()):
        # One correction alone does not help where there are two slips.
        guessed = {one.old: one.candidates[0].new for one in found if one.candidates}
        chosen = {one: _first_that_fits(fits, one, guessed) for one in found}
    return tuple(_hint(one, chosen[one]) for one in found)


def _hint(slip: Slip, chosen: Candidate | None) -> Hint:
    whose = f"selector of class {slip.of_class}: " if slip.of_class else ""
    if chosen is None:
        return Hint(f"{whose}{slip.wrong}{slip.seen}.")
    admin = " An admin must correct the class." if slip.of_class else ""
    text = f"{whose}{slip.wrong}: {chosen.text}{admin}"
    return Hint(text, chosen.written, chosen.meant, slip.old, chosen.new)


def _first_that_fits(fits: _Trial, slip: Slip, others: dict[str, str]) -> Candidate | None:
    for candidate in slip.candidates:
        if fits({**others, slip.old: candidate.new}):
            return candidate
    return None


# Finding them -------------------------------------------------------------------------------------


def _slips(best: BestCase, node: NodeFact, contents: set[Content]) -> Iterator[Slip]:
    best.emptied.put(node.node)
    prepared = best.emptied.cluster.prepared(best.claims(node))
    for request in prepared.everything():
        parts = [
            (part, place.removeprefix("class ") if place.startswith("class ") else "")
            for place, _, expression in request.selectors
            if expression is not None
            for part in expression.parts
        ]
        drivers = {content.driver for content in contents}
        wanted = [part for part, _ in parts if driver_of(part)]
        here = [one for one in contents if all(part.on(one) is True for part in wanted)]
        for part, of_class in parts:
            yield from _of_part(part, of_class, here or [*contents], drivers, parts)
        for index in request.constraints:
            yield from _of_constraint(request.claim.constraints[index].attribute, here or contents)


def _of_part(
    part: Expression,
    of_class: str,
    contents: list[Content],
    drivers: set[str],
    parts: Sequence[tuple[Expression, str]],
) -> Iterator[Slip]:
    if driver := driver_of(part):
        if driver not in drivers:
            guess = near_driver(driver, drivers)
            slash = "; a driver name has no slash" if "/" in driver else ""
            offered = _driver(part, driver, guess) if guess else ()
            yield Slip(f"no driver {driver}{slash}", part.text, offered, of_class=of_class)
        return
    paths = [path for path in part.reads if len(path) == 3]
    for path in paths:
        if not any(values_of(one, path) for one in contents):
            yield _of_name(part, of_class, path, contents)
            return
    compared = comparison(part)
    if compared is not None and compared.is_text and len(compared.path) == 3:
        yield from _of_value(part, of_class, compared, contents, parts)
    elif compared is None and len(paths) == 1 and not any(part.on(one) is True for one in contents):
        yield from _of_texts(part, of_class, paths[0], contents)


def _of_name(
    part: Expression, of_class: str, path: Sequence[str], contents: Sequence[Content]
) -> Slip:
    kind, domain, name = path
    known = {_qualified(one, full) for one in contents for full in _names(one, kind)}
    there, local = near_attribute(domain, name, known)
    wrong = missing_text(kind, domain, name, has_domain=any(one == domain for one, _ in known))
    if not there:
        return Slip(wrong, part.text, (), of_class=of_class)
    new = re.sub(rf"(?<=[\"'`]){re.escape(domain)}(?=[\"'`])", there, part.text)
    new = re.sub(rf"\b{re.escape(name)}\b(?!\s*\()", local, new)
    if there == domain:
        found = Candidate(new, name, local, f"did you mean {local}?")
    elif local == name and not any(one == domain for one, _ in known):
        found = Candidate(new, domain, there, f"write {there}")
    else:
        found = Candidate(new, part.text, new, f"write {there}/{local}")
    values = {one for content in contents for one in values_of(content, (kind, there, local))}
    compared = comparison(part)
    if compared is None or not compared.is_text or compared.value in values:
        return Slip(wrong, part.text, (found,), of_class=of_class)
    both = tuple(
        Candidate(
            new.replace(compared.literal, _quoted(value)),
            *(part.text, new.replace(compared.literal, _quoted(value))),
            f"did you mean {local}, and {_quoted(value)} in place of {compared.literal}?",
        )
        for value in near(compared.value, values)
    )
    return Slip(wrong, part.text, (found, *both), of_class=of_class)


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _driver(part: Expression, driver: str, guess: str) -> tuple[Candidate, ...]:
    new = part.text.replace(driver, guess)
    return (Candidate(new, driver, guess, f"did you mean {guess}?"),)


def _names(content: Content, kind: str) -> Iterable[str]:
    return content.attributes if kind == "attributes" else content.capacity


def _qualified(content: Content, name: str) -> tuple[str, str]:
    domain, slash, local = name.partition("/")
    return (domain, local) if slash else (content.driver, name)


def _of_value(
    part: Expression,
    of_class: str,
    compared: Comparison,
    contents: list[Content],
    parts: Sequence[tuple[Expression, str]],
) -> Iterator[Slip]:
    if any(compared.value in values_of(one, compared.path) for one in contents):
        return
    others = [one for one, _ in parts if one is not part]
    fitting = [one for one in contents if all(other.on(one) is True for other in others)]
    counts = Counter(
        value for one in fitting or contents for value in values_of(one, compared.path)
    )
    name = compared.path[-1]
    offered = []
    for value in near(compared.value, counts.keys()):
        quoted = _quoted(value)
        text = f"did you mean {quoted} ({counts[value]})?"
        if value.casefold() == compared.value.casefold():
            text = f"values are case-sensitive: did you mean {value}?"
        elif compared.value in value:
            text = f"did you mean {quoted} ({counts[value]}), or contains({compared.literal})?"
        new = part.text.replace(compared.literal, quoted)
        offered.append(Candidate(new, compared.value, value, text))
    seen = shortened(f"{value} ({many})" for value, many in counts.most_common())
    wrong = value_missing_text(name, compared.value)
    yield Slip(wrong, part.text, tuple(offered), f", {name} is {seen}" if seen else "", of_class)


def _of_texts(
    part: Expression, of_class: str, path: Sequence[str], contents: Sequence[Content]
) -> Iterator[Slip]:
    """Correct a text in a conjunct of another form: a list, or a call such as `startsWith`."""
    values = {value for one in contents for value in values_of(one, path)}
    offered: list[Candidate] = []
    for literal, text in literals(part).items():
        check()
        for meant in alike(text, values)[: MOST - len(offered)]:
            new = part.text.replace(literal, _quoted(meant))
            cased = meant.casefold() == text.casefold()
            case = "values are case-sensitive: " if cased and "Ascii" not in part.text else ""
            said = f"{case}did you mean {_quoted(meant)} in place of {literal}?"
            offered.append(Candidate(new, part.text, new, said))
    if offered:
        yield Slip(untrue_text(part), part.text, tuple(offered), of_class=of_class)


def _of_constraint(attribute: str, contents: Iterable[Content]) -> Iterator[Slip]:
    domain, _, name = attribute.rpartition("/")
    path = ("attributes", domain, name)
    if any(values_of(one, path) for one in contents):
        return
    known = {_qualified(one, full) for one in contents for full in one.attributes}
    there, local = near_attribute(domain, name, known)
    full = f"{there}/{local}"
    offered = (Candidate(full, attribute, full, f"did you mean {full}?"),) if there else ()
    yield Slip(f"no device has attribute {attribute}", attribute, offered)


# Trying them --------------------------------------------------------------------------------------


class _Trial:
    """Whether the pod fits anywhere in the emptied cluster with conjuncts replaced."""

    def __init__(self, best: BestCase, nodes: Sequence[NodeFact]) -> None:
        self._best = best
        self._nodes = nodes

    def __call__(self, swaps: dict[str, str]) -> bool:
        cluster = self._best.emptied.cluster
        changed = [
            (one, corrected_class(one, swaps))
            for one in cluster.classes.values()
            if any(text and old in text for text in one.selectors for old in swaps)
        ]
        for _, kind in changed:
            cluster.put_class(kind)
        try:
            return any(self._serves(node, swaps) for node in self._nodes)
        finally:
            for kind, _ in changed:
                cluster.put_class(kind)

    def _serves(self, node: NodeFact, swaps: dict[str, str]) -> bool:
        claims = [corrected(one, swaps) for one in self._best.claims(node)]
        return isinstance(self._best.outcome(node, claims), Allocated)


def corrected_class(kind: DeviceClass, swaps: dict[str, str]) -> DeviceClass:
    """Return a class with conjuncts of its selectors replaced."""
    return replace(kind, selectors=tuple(_swapped(text, swaps) for text in kind.selectors))


def corrected(claim: Claim, swaps: dict[str, str]) -> Claim:
    """Return a claim with conjuncts of its selectors, and attributes of constraints, replaced."""

    def change(request: ExactRequest) -> ExactRequest:
        return replace(request, selectors=tuple(_swapped(one, swaps) for one in request.selectors))

    spec = claim.spec.changed(change)
    constraints = tuple(
        one._replace(
            match_attribute=swaps.get(one.match_attribute or "", one.match_attribute),
            distinct_attribute=swaps.get(one.distinct_attribute or "", one.distinct_attribute),
        )
        for one in claim.spec.constraints
    )
    return replace(claim, spec=replace(spec, constraints=constraints))


def _swapped(text: str | None, swaps: dict[str, str]) -> str | None:
    for old, new in swaps.items():
        text = text and text.replace(old, new)
    return text

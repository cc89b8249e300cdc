"""What the conjunct of a selector compares: an attribute or capacity, an operator, and a text."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from dragoman.allocation.requests.expressions import Expression
from dragoman.model.device import Content
from dragoman_cel.syntax.literals import LiteralError, string
from dragoman_cel.syntax.tokens import tokenize

_CALLED = re.compile(r"(\w+)\s*\(")
_QUANTITY = re.compile(r"quantity\(\s*[\"']([^\"']+)[\"']\s*\)")
LONGEST = 2_000
"""Longer conjuncts are not looked into."""


class Comparison(NamedTuple):
    """A conjunct that compares one thing that it reads with a literal for equality."""

    path: tuple[str, ...]  # As `Selector.reads` has it
    value: str  # The literal; a string without its quotes
    literal: str  # As it is written
    is_text: bool  # Whether it is a string


def comparison(part: Expression) -> Comparison | None:
    """Return what a conjunct compares; None where it is of another form."""
    if len(part.reads) != 1 or len(part.text) > LONGEST:
        return None
    tokens = tokenize(part.text)[0]
    kinds = [kind for kind, _ in tokens]
    if kinds.count("EQ") != 1 or {"OR", "AND", "COLON", "NOT"} & {*kinds}:
        return None
    middle = kinds.index("EQ")
    for side in (tokens[:middle], tokens[middle + 1 :]):
        if len(side) == 1 and side[0][0] == "LITERAL":
            token = side[0][1]
            try:
                value = string(token.text) if token.kind == "STRING" else token.text
            except LiteralError:
                return None
            if {*_CALLED.findall(part.text.replace(token.text, ""))} - {"orValue"}:
                return None  # It compares what a function makes of the value
            return Comparison(part.reads[0], value, token.text, token.kind == "STRING")
    return None


def literals(part: Expression) -> dict[str, str]:
    """Return the strings of a conjunct that are no names of what it reads, by how they stand."""
    if len(part.text) > LONGEST:
        return {}
    names = {name for path in part.reads for name in path}
    found = {}
    for kind, token in tokenize(part.text)[0]:
        if kind == "LITERAL" and token.kind == "STRING":
            try:
                value = string(token.text)
            except LiteralError:
                continue
            if value not in names:
                found[token.text] = value
    return found


def untrue_text(part: Expression) -> str:
    """Say that no device meets a conjunct."""
    return f"{part.text} is true of no device"


def missing_text(kind: str, domain: str, name: str, *, has_domain: bool) -> str:
    """Say that no device has an attribute or capacity, which is domain and name together."""
    if not has_domain:
        return f"no device has {kind} of domain {domain}"
    noun = "attribute" if kind == "attributes" else "capacity"
    return f"no device has {noun} {domain}/{name}"


def value_missing_text(name: str, value: str) -> str:
    """Say that no device has a value."""
    return f"no device has {name} {value}"


def driver_of(part: Expression) -> str:
    """Return the driver that a conjunct demands; empty where it demands none."""
    if part.reads != (("driver",),):
        return ""
    found = comparison(part)
    return found.value if found else ""


def quantity_of(part: Expression) -> str:
    """Return the quantity that a conjunct compares a capacity with; empty for none, or several."""
    found = _QUANTITY.findall(part.text[:LONGEST])
    return found[0] if len(found) == 1 and part.reads and part.reads[0][0] == "capacity" else ""


def values_of(content: Content, path: Sequence[str]) -> list[str]:
    """Return what a device has where a path reads; nothing where it has nothing."""
    if path == ("driver",):
        return [content.driver]
    if len(path) != 3:
        return []
    part, domain, name = path
    named: Any = content.attributes if part == "attributes" else content.capacity
    found = named.get(f"{domain}/{name}")
    if found is None and domain == content.driver:
        found = named.get(name)
    if found is None:
        return []
    if part == "capacity":
        return [str(found.value)]
    values = [value for value in found.values() if value is not None]
    several = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in several]

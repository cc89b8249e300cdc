"""The functions of each Kubernetes version, parsed from `signatures.SIGNATURES`."""

import re
import sys
from collections.abc import Iterator
from functools import cache

from dragoman_base.versions import Version
from dragoman_cel import types
from dragoman_cel.check.overloads import Overload
from dragoman_cel.check.signatures import ALTERNATIVES, SIGNATURES
from dragoman_cel.types import Type

_BRACES = re.compile(r"\{(.*?)\}")
_LINE = re.compile(r"(\d+)\.(\d+)(?:-(\d+)\.(\d+))? (member|global) (\S+) ([^(]+)\((.*)\) -> (.*)")
_NAMED = {
    kind.text: kind
    for kind in (
        types.BOOL, types.INT, types.UINT, types.DOUBLE, types.STRING, types.BYTES,
        types.TIMESTAMP, types.DURATION, types.DYN, types.IP, types.CIDR, types.QUANTITY,
        types.SEMVER, types.URL, types.FORMAT,
    )
}  # fmt: skip
_ALWAYS: Version = (sys.maxsize, 0)
_AUTHORIZATION = "kubernetes.authorization."


@cache
def overloads_of(version: Version) -> dict[str, tuple[Overload, ...]]:
    """Return the overloads of each function of a Kubernetes version, in declaration order."""
    found: dict[str, list[Overload]] = {}
    for since, until, function, overload in all_overloads():
        if since <= version <= until:
            found.setdefault(function, []).append(overload)
    return {function: tuple(overloads) for function, overloads in found.items()}


@cache
def all_overloads() -> tuple[tuple[Version, Version, str, Overload], ...]:
    """Return (first version, last version, function, overload) of every signature."""
    lines = SIGNATURES.strip().splitlines()
    return tuple(parse_overload(each) for line in lines for each in _expanded(line))


def _expanded(line: str) -> Iterator[str]:
    """Return a line of the table with each of its alternatives."""
    parts = _BRACES.split(line)  # every second part was in braces
    choices = [ALTERNATIVES.get(part, part).split("|") for part in parts[1::2]]
    for chosen in zip(*choices, strict=True) if choices else ((),):
        parts[1::2] = chosen
        yield "".join(parts)


def parse_overload(line: str) -> tuple[Version, Version, str, Overload]:
    """Parse one line of the table: first version, last version, function, overload."""
    match = _LINE.fullmatch(line)
    assert match is not None, line
    major, minor, *last, style, name, function, params, result = match.groups()
    names = tuple(dict.fromkeys(re.findall(r"<(\w+)>", line)))
    kinds = tuple(map(_type, _split(params)))
    overload = Overload(name, style == "member", kinds, _type(result), names)
    until = (int(last[0]), int(last[1])) if last[0] else _ALWAYS
    return (int(major), int(minor)), until, function, overload


@cache
def _type(text: str) -> Type:
    if text.startswith("<"):
        return types.param(text[1:-1])
    name, bracket, inner = text.partition("(")
    if text.startswith(_AUTHORIZATION):
        return types.struct(text)
    if not bracket:
        return _NAMED[text]
    params = tuple(map(_type, _split(inner[:-1])))
    kinds = {"list": types.Kind.LIST, "map": types.Kind.MAP, "type": types.Kind.TYPE}
    return Type(kinds.get(name, types.Kind.OPAQUE), name, params)


def _split(params: str) -> Iterator[str]:
    """Split at the commas outside of brackets."""
    depth, start = 0, 0
    for end, char in enumerate(params):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            yield params[start:end].strip()
            start = end + 1
    if params:
        yield params[start:].strip()

"""Tokens in the place of names: equal names get equal tokens, and tokens sort as names do.

The allocator goes by the names of nodes, pools, slices and objects, so their order is kept.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

NODE = "node"
RESOURCE = "resource"
PREFIXES: Mapping[str, str] = {"object": "dragoman-hold-", "rule": "dragoman-"}
"""How names begin that the toolkit itself gives, by table: their tokens begin like them."""
_DOMAINS = (
    ("amd.com/gpu", "b.example"),
    ("deviceclass.resource.kubernetes.io/~", "e.example"),
    ("gpu.intel.com/i915", "gpu.intel.com"),
    ("gpu.intel.com/xe", "h.example"),
    ("nvidia.com/gpu", "o.example"),
)
"""Extended resources that keep their names, and a domain that sorts after each of them."""
PLUGIN_RESOURCES = frozenset(name for name, _ in _DOMAINS)
_RESOURCE_DOMAIN = re.compile(r"[^/]*/")


@dataclass(slots=True)
class SeenNames:
    """The names of a snapshot by table, while they are collected."""

    tables: dict[str, set[str]] = field(default_factory=dict)

    def __call__(self, table: str, name: str) -> str:
        """Note a name."""
        self.tables.setdefault(table, set()).add(name)
        return name

    def has(self, table: str, name: str) -> bool:  # noqa: ARG002 — nothing is known yet
        """Tell whether a name is of a table."""
        return False

    def tokens(self) -> Tokens:
        """Number what was seen."""
        return Tokens({table: _numbered(table, names) for table, names in self.tables.items()})


@dataclass(frozen=True, slots=True)
class Tokens:
    """A token by table and name."""

    tables: Mapping[str, Mapping[str, str]]

    def __call__(self, table: str, name: str) -> str:
        """Return the token of a name; that of the node where a value is the name of one."""
        if table == "value" and self.has(NODE, name):
            table = NODE
        return self.tables[table][name]

    def has(self, table: str, name: str) -> bool:
        """Tell whether a name is of a table."""
        return name in self.tables.get(table, ())


def _numbered(table: str, names: Iterable[str]) -> dict[str, str]:
    found = sorted(names)
    width = len(str(len(found)))
    numbers = {name: f"{number:0{width}}" for number, name in enumerate(found, 1)}
    if table == RESOURCE:
        return {name: f"{_domain(name)}resource-{number}" for name, number in numbers.items()}
    own = PREFIXES.get(table, "")
    if not own or not any(name.startswith(own) for name in found):
        return {name: f"{table}-{number}" for name, number in numbers.items()}
    return {
        name: f"{own if name.startswith(own) else 'a-' * (name < own)}{table}-{number}"
        for name, number in numbers.items()
    }


def _domain(resource: str) -> str:
    """Return a domain for a resource that means to the scheduler what its own does."""
    if not _RESOURCE_DOMAIN.match(resource):
        return ""
    if "kubernetes.io/" in resource:
        return "example.kubernetes.io/"
    place = bisect([name for name, _ in _DOMAINS], resource)
    return f"{_DOMAINS[place - 1][1] if place else 'a.example'}/"

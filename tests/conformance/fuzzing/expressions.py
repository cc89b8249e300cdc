"""Random expressions: well-typed trees of the grammar, some with a fault."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.conformance.fuzzing.grammar import (
    CORE,
    OBJECTS,
    PRODUCTIONS,
    SCALARS,
    Hole,
    Production,
    Type,
    is_variable,
    pool,
)

STRINGS = (
    (
        "",
        "a",
        "abc",
        "A1",
        "é",
        "日本",
        "dra.example.com",
        "model",
        "a,b,c",
        "x y",
        " t ",
        "\n",
        '"q"',
    ),
    ("1", "42", "-7", "1.5", "true", "1e3", "9223372036854775808", "0x10", "NaN"),
    ("1Gi", "40Gi", "1500m", "2", "100Ti", "1e3", "0.5", "-1k", "5.", "1Ki"),
    ("1.2.3", "1.2.3-rc.1", "v1.2", "2.0.0+b", "0.0.1", "1.2"),
    ("10.0.0.1", "::1", "fe80::1", "10.0.0.0/8", "2001:db8::/32", "::ffff:1.2.3.4", "1.2.3"),
    ("https://example.com:8080/a?x=1", "/path", "mailto:x", "rel", "http://[::1]/"),
    ("2024-02-29T12:34:56.5Z", "2024-01-01T00:00:00+02:00", "2024-02-30T00:00:00Z"),
    ("1h30m", "90s", "1ms", "-1.5h", "10"),
)
REGEXES = ("a", "^a.*c$", "[a-z]+", "(?i)ABC", "b|c", "\\\\d+", "(a", "x{1001}", "", "^$")
TEMPLATES = ("%s", "%s-%s", "%d", "%.2f", "%e", "%x", "%b%%", "%s %d", "%", "%q", "a")
FAULTS = (
    "",
    ".nosuch",
    ".nosuch()",
    "[0]",
    "(",
    ")",
    " + 1",
    "!",
    "?",
    "@",
    "in",
    ",",
    " == null",
)


@dataclass(frozen=True, slots=True)
class Tree:
    """An expression: its type, and texts and subtrees that make it up in turn."""

    type: Type
    parts: tuple[str | Tree, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))

    def size(self) -> int:
        """Count the nodes."""
        return 1 + sum(part.size() for part in self.parts if isinstance(part, Tree))

    def subtrees(self) -> Iterator[Tree]:
        """Walk over all trees in this one, from the outside in."""
        yield self
        for part in self.parts:
            if isinstance(part, Tree):
                yield from part.subtrees()

    def variants(self) -> Iterator[Tree]:
        """Yield simpler trees: one node replaced by what is in it, or by a literal."""
        for inner in self.subtrees():
            if inner is not self and inner.type == self.type:
                yield inner
        for literal in PLAIN.get(str(self.type[0]), ()):
            if self.parts != (literal,):
                yield Tree(self.type, (literal,))
        for index, part in enumerate(self.parts):
            if isinstance(part, Tree):
                for variant in part.variants():
                    parts = (*self.parts[:index], variant, *self.parts[index + 1 :])
                    yield replace(self, parts=parts)


PLAIN: dict[str, tuple[str, ...]] = {
    "bool": ("true", "false"),
    "int": ("0", "1"),
    "uint": ("1u",),
    "double": ("1.0",),
    "string": ('""', '"a"'),
    "bytes": ('b"a"',),
    "L": ("[]",),
    "M": ("{}",),
    "O": ("optional.none()",),
    "quantity": ('quantity("1")',),
    "semver": ('semver("1.0.0")',),
}


class Expressions:
    """A source of expressions over some roots.

    Args:
        random: where every choice comes from.
        roots: expressions that need no further parts, with the type they (mostly) have.
        fields: for each type of object, its fields with their types.
        core: whether to leave out everything that the CEL language definition lacks.
    """

    def __init__(
        self,
        random: Random,
        roots: Sequence[tuple[Type, str]],
        fields: Mapping[str, list[tuple[Type, str]]] | None = None,
        *,
        core: bool = False,
    ) -> None:
        self._random = random
        self._productions = CORE if core else PRODUCTIONS
        self._objects = () if core else OBJECTS
        self._roots = list(roots)
        self._fields = fields or {}
        self._names = 0
        self._literals: dict[str, Callable[[], str]] = {
            "bool": lambda: random.choice(("true", "false")),
            "int": self._int,
            "uint": lambda: f"{random.choice((0, 1, 2, 7, 18446744073709551615))}u",
            "double": lambda: random.choice(("0.0", "1.0", "-1.5", "2.5", "1e308", "3.0", "0.1")),
            "string": self._string,
            "bytes": lambda: random.choice(('b""', 'b"abc"', "b'\\xff'")),
            "null": lambda: "null",
            # Kubernetes builds a list of any size, until memory ends.
            "small": lambda: random.choice(("-1", "0", "1", "3", "10")),
            "regex": lambda: f'"{random.choice(REGEXES)}"',
            "template": lambda: f'"{random.choice(TEMPLATES)}"',
            "zone": lambda: f'"{random.choice(("UTC", "Europe/Berlin", "+05:30", "X/Y", ""))}"',
            "field": lambda: random.choice(("a", "b", "name", "x")),
            "typename": lambda: random.choice(("int", "string", "bool", "list", "map", "double")),
            "timestamp": lambda: f"timestamp({self._text(6)})",
            "duration": lambda: f"duration({self._text(7)})",
            "quantity": lambda: f"quantity({self._text(2)})",
            "semver": lambda: f"semver({self._text(3)})",
            "ip": lambda: f"ip({self._text(4)})",
            "cidr": lambda: f"cidr({self._text(4)})",
            "url": lambda: f"url({self._text(5)})",
            "format": lambda: (
                f"format.{random.choice(('uuid', 'date', 'qualifiedName', 'byte'))}()"
            ),
        }

    def expression(self, kind: Type, depth: int) -> Tree:
        """Return an expression of a type, at most so deep; one in ten has a fault."""
        tree = self._tree(kind, depth, ())
        return self._broken(tree) if self._random.random() < 0.07 else tree

    def _tree(self, kind: Type, depth: int, scope: tuple[tuple[str, Type], ...]) -> Tree:
        random = self._random
        if random.random() < 0.02:
            kind = (random.choice(("int", "string", "bool", "null", "double", *self._objects[:1])),)
        if depth <= 0 or random.random() < 0.18:
            return Tree(kind, self._leaf(kind, depth, scope))
        known = self._known(kind, scope)
        if known and random.random() < 0.45:
            return Tree(kind, (random.choice(known),))
        root = self._root(kind)
        if root and random.random() < 0.35:
            return Tree(kind, (root,))
        production = self._production(kind)
        if production is None:
            return Tree(kind, self._leaf(kind, depth, scope))
        return Tree(kind, self._filled(kind, production, depth, scope))

    def _leaf(
        self, kind: Type, depth: int, scope: tuple[tuple[str, Type], ...]
    ) -> tuple[str | Tree, ...]:
        random = self._random
        known = self._known(kind, scope)
        if known and random.random() < 0.6:
            return (random.choice(known),)
        root = self._root(kind)
        if root and random.random() < 0.7:
            return (root,)
        head = str(kind[0])
        if head in self._literals:
            return (self._literals[head](),)
        if head in self._fields:
            # Objects have no literals: only paths lead to them.
            return (random.choice(known) if known else root or "self",)
        return self._container(kind, depth, scope)

    def _known(self, kind: Type, scope: tuple[tuple[str, Type], ...]) -> list[str]:
        """Return the variables of a type, and the fields of that type in variables."""
        known = [name for name, found in scope if found == kind]
        for name, found in scope:
            inner = self._fields.get(str(found[0]), ())
            known += [f"{name}.{field}" for field_type, field in inner if field_type == kind]
        return known

    def _container(
        self, kind: Type, depth: int, scope: tuple[tuple[str, Type], ...]
    ) -> tuple[str | Tree, ...]:
        inner = [self._tree(_as_type(part), depth - 1, scope) for part in kind[1:]]
        if kind[0] == "L":
            second = self._tree(_as_type(kind[1]), depth - 1, scope)
            return ("[", inner[0], ", ", second, "]")
        if kind[0] == "M":
            return ("{", inner[0], ": ", inner[1], "}")
        return ("optional.of(", inner[0], ")")

    def _root(self, kind: Type) -> str:
        fitting = [text for found, text in self._roots if found == kind]
        return self._random.choice(fitting) if fitting else ""

    def _production(self, kind: Type) -> Production | None:
        head = kind[0]
        fitting = [found for found in self._productions if _unify(found.result, kind, {})]
        own = [found for found in fitting if found.result[0] == head]
        if own and self._random.random() < 0.85:
            return self._random.choice(own)
        return self._random.choice(fitting) if fitting else None

    def _filled(
        self, kind: Type, production: Production, depth: int, scope: tuple[tuple[str, Type], ...]
    ) -> tuple[str | Tree, ...]:
        types: dict[str, Type] = {}
        _unify(production.result, kind, types)
        names: dict[str, str] = {}
        parts: list[str | Tree] = []
        for part in production.parts:
            if isinstance(part, str):
                parts.append(self._named(part, names))
            else:
                parts.append(self._hole(part, types, names, depth, scope))
        return tuple(parts)

    def _hole(
        self,
        hole: Hole,
        types: dict[str, Type],
        names: dict[str, str],
        depth: int,
        scope: tuple[tuple[str, Type], ...],
    ) -> Tree:
        visible = tuple(
            (self._named(name, names), self._concrete(kind, types)) for name, kind in hole.variables
        )
        return self._tree(self._concrete(hole.type, types), depth - 1, scope + visible)

    def _named(self, text: str, names: dict[str, str]) -> str:
        for name in ("$x", "$y"):
            if name in text:
                if name not in names:
                    self._names += 1
                    names[name] = f"{name[1]}{self._names % 7}"
                text = text.replace(name, names[name])
        return text

    def _concrete(self, kind: Type, types: dict[str, Type]) -> Type:
        name = str(kind[0])
        if is_variable(kind):
            if name not in types:
                types[name] = self._any_type(name)
            return types[name]
        return (name, *(self._concrete(_as_type(part), types) for part in kind[1:]))

    def _any_type(self, variable: str) -> Type:
        random = self._random
        possible = pool(variable, self._objects)
        roots = [found for found, _ in self._roots if found[0] in possible]
        if roots and random.random() < 0.5:
            return random.choice(roots)
        if variable in "ABCD" and random.random() < 0.08:
            return ("L", (random.choice(SCALARS),))
        return (random.choice(possible),)

    def _int(self) -> str:
        return str(self._random.choice((0, 1, 2, 3, -1, 5, 42, 1000, 9223372036854775807)))

    def _string(self) -> str:
        group = 0 if self._random.random() < 0.6 else self._random.randrange(len(STRINGS))
        return self._text(group)

    def _text(self, group: int) -> str:
        return json.dumps(self._random.choice(STRINGS[group]), ensure_ascii=False)

    def _broken(self, tree: Tree) -> Tree:
        """Insert a fault at a random place of the text."""
        text = str(tree)
        start = self._random.randrange(len(text) + 1)
        end = min(len(text), start + self._random.choice((0, 0, 1, 1, 3)))
        return Tree(tree.type, (text[:start] + self._random.choice(FAULTS) + text[end:],))


def _as_type(part: str | Type) -> Type:
    return (part,) if isinstance(part, str) else part


def _unify(pattern: Type, kind: Type, types: dict[str, Type]) -> bool:
    """Match a result type with the wanted one, collecting what type variables stand for."""
    if is_variable(pattern):
        name = str(pattern[0])
        if name in ("N", "U") and kind[0] not in pool(name):
            return False
        if name in types:
            return types[name] == kind
        types[name] = kind
        return True
    if pattern[0] != kind[0] or len(pattern) != len(kind):
        return False
    return all(
        _unify(_as_type(ours), _as_type(theirs), types)
        for ours, theirs in zip(pattern[1:], kind[1:], strict=True)
    )


__all__ = ["OBJECTS", "PLAIN", "Expressions", "Tree"]

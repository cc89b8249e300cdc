"""Search for the expressions that run longest before a limit ends them.

`python -m tests.bench.cel_hostile SEED` calls every function with hostile arguments inside loops,
and prints the slowest calls in seconds of the thread's CPU time, by which other processes make
little difference. No expression may take longer than a second: what does needs more plain steps
(`dragoman.cel.state`). The search runs with a tenth of the limits, and then the slowest with all.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from random import Random
from typing import Any, Final, NamedTuple

from dragoman.cel import selectors
from dragoman.cel.check.declarations import overloads_of
from dragoman.cel.check.overloads import Overload
from dragoman.cel.environment import COST_LIMIT
from dragoman.cel.errors import CompileError, EvaluationError
from dragoman.cel.types import Kind, Type
from dragoman.versions import DEFAULT
from tests.support.worlds.expressions import chained

DEVICE: Final = {
    "attributes": {"a": {"string": "x" * 64}, "l": {"ints": list(range(48))}},
    "capacity": {"memory": {"value": "80Gi"}},
}
SHOWN: Final = 20
NEAR: Final = 0.7
"""Seconds from which the best of three evaluations counts: other processes slow some."""

ATOMS: Final[dict[str, tuple[str, ...]]] = {
    "bool": ("true", "i < j", "j == 7"),
    "int": ("i", "j", "0", "-1", "9223372036854775807", "-9223372036854775807", "100000 * i"),
    "uint": ("0u", "uint(j)", "18446744073709551615u"),
    "double": ("0.5", "1e308", "-1e-300", "double(j)"),
    "string": (
        "''", "'x'", "'12'", "'abc'", "'1.5Gi'", "'é' + 'a'", "string(j)", "string(i) + string(j)",
        "'(a*)*b'", "'b{500}c*'", "'2020-01-01T00:00:00.123456789Z'", "'America/New_York'",
        "'+01:30'", "'1h2m3.5s'", "'2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff'", "'fe80::/10'",
        "'http://u:p@[::1]:80/%41?a=1;b=%42'", "'%s%d%x%e'", "'1.2.3-a.b.c+d'", "device.driver",
        "'true'", "'1e500'", "'0x1p-1000'", "LT", "LT + 'x'", "LT + string(j)", "LP",
    ),
    "bytes": ("b''", "b'abc'", "bytes(string(j))", "BY"),
    "timestamp": ("TS", "timestamp(0)", "timestamp(100000 * i)"),
    "duration": ("DU", "duration('1h2m3.5s')", "timestamp(i) - timestamp(j)"),
    "kubernetes.Quantity": (
        "QL", "QS", "QL.add(i)", "QS.sub(j)", "quantity('1e500')", "quantity(string(i))",
    ),
    "kubernetes.Semver": ("SV", "SW", "semver('1.2.3')"),
    "kubernetes.URL": ("UR", "url('http://a:1/b?c=d')"),
    "kubernetes.NamedFormat": (
        "format.dns1123Subdomain()", "format.uri()", "format.datetime()", "format.labelValue()",
    ),
    "net.IP": ("I6", "ip('10.0.0.1')", "C6.ip()"),
    "net.CIDR": ("C6", "cidr('10.0.0.0/8')"),
    "type": ("type(i)", "type([])"),
}  # fmt: skip
"""Expressions of each type; names in capitals are bound outside of the loops."""

LISTS: Final = {
    "bool": "{n}.map(x, x % 2 == 0)",
    "int": "{n}",
    "uint": "{n}.map(x, uint(x))",
    "double": "{n}.map(x, double(x))",
    "string": "{n}.map(x, string(x))",
    "bytes": "{n}.map(x, bytes(string(x)))",
    "timestamp": "{n}.map(x, timestamp(x))",
    "duration": "{n}.map(x, timestamp(x) - timestamp(0))",
    "kubernetes.Quantity": "{n}.map(x, QL)",
    "kubernetes.Semver": "{n}.map(x, SV)",
    "net.IP": "{n}.map(x, I6)",
    "dyn": "{n}.map(x, x % 2 == 0 ? dyn(x) : dyn(string(x)))",
    "optional": "{n}.map(x, optional.of(x))",
    "list(int)": "{n}.map(x, [x, x])",
    "list(string)": "{n}.map(x, [LT])",
    "map(string, int)": "{n}.map(x, {{'a': x}})",
}
"""A long list of each type of element; `{n}` is a range."""

BOUND: Final = {
    "BY": "bytes(LT)",
    "TS": "timestamp('2020-01-01T00:00:00.123456789Z')",
    "DU": "duration('2562047h47m16.854775807s')",
    "QL": f"quantity('{'9' * 490}')",
    "QS": "quantity('1.5Gi')",
    "SV": f"semver('1.2.3-{'a.' * 120}b')",
    "SW": f"semver('1.2.3-{'a.' * 120}c')",
    "UR": f"url('http://{'a' * 500}:80/?{'a=1;' * 100}')",
    "I6": "ip('2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff')",
    "C6": "cidr('fe80::/10')",
    "LP": "'a{{9}}(b|c)*' + LT.substring(0, 16)",
    "MI": "{n}.transformMap(k, w, w)",
    "MS": "{n}.transformMapEntry(k, w, {{string(w): w}})",
    **{f"L{number}": text for number, text in enumerate(LISTS.values())},
}
"""Values by name."""

LIST_NAMES: Final = {kind: f"L{number}" for number, kind in enumerate(LISTS)}

PARAMETERS: Final = ("int", "string", "double", "dyn", "list(int)", "kubernetes.Quantity", "bytes")
"""Types that stand for a type parameter of a signature."""

OPERATORS: Final = {
    "_?_:_": "({0} ? {1} : {2})", "_[_]": "{0}[{1}]", "_[?_]": "{0}[?{1}]", "@in": "({0} in {1})",
}  # fmt: skip
"""Functions that are not called by their name."""

MACROS: Final = (
    "{list}.sortBy(x, {any})",
    "{list}.sortBy(x, x)",
    "{list}.map(x, {any})",
    "{list}.filter(x, {bool})",
    "{list}.exists_one(x, {bool})",
    "{list}.all(x, {bool} || true)",
    "{list}.exists(x, {error} > i && false)",
    "{list}.transformList(k, w, {any})",
    "{list}.transformMap(k, w, {any})",
    "{list}.transformMapEntry(k, w, {map})",
    "'%s'.format([{any}])",
    "'%s%d%x'.format([{any}, {int}, {string}])",
    "'%.3f%e'.format([{double}, {double}])",
    "[{any}, {any}, {any}]",
    "{{{string}: {any}, {int}: {any}}}",
    "cel.bind(b, {any}, [b, b])",
    "optional.of({any}).optMap(x, [x])",
    "({error} || {error})",
    "({error} || {bool} || {error})",
    "{any} in {list}",
    "{list} == {list}",
    "{list} + {list}",
    "{map} == {map}",
    "includes({any}, {any})",
    "device.attributes['x']['l'].includes({any})",
    "device.attributes['x'].?b.orValue({any})",
    "[dyn({any}), dyn({list})].flatten({int})",
)
"""Expressions that no signature describes."""

ERRORS: Final = (
    "1 / 0", "int('x')", "[1][j + 1]", "{'a': 1}[string(j)]", "ip('x')", "quantity('x')",
    "timestamp('x')", "duration('x')", "semver('x')", "url('x')", "uint(-1)", "LT.charAt(-1)",
    "optional.none().value()", "dyn('x') + 1", "int(1e308)", "LT.matches('(')",
)  # fmt: skip


class Measured(NamedTuple):
    """A call that was evaluated in loops until a limit ended it."""

    seconds: float
    outcome: str
    call: str


class Search:
    """Random calls of every overload."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.functions = [
            (name, overload)
            for name, overloads in overloads_of(DEFAULT).items()
            for overload in overloads
            if "@" not in name.removeprefix("@in") and "authorization" not in str(overload.params)
        ]
        self.giving: dict[str, list[tuple[str, Overload]]] = {}
        for name, overload in self.functions:
            self.giving.setdefault(str(overload.result), []).append((name, overload))

    def calls(self, each: int) -> Iterator[str]:
        """Return different calls, each overload and macro several times."""
        turns = range(each)
        made = [self.call(*function) for function in self.functions for _ in turns]
        made += [self.macro(template) for template in MACROS for _ in turns]
        calls = list(dict.fromkeys(made))
        self.random.shuffle(calls)
        yield from calls

    def call(self, name: str, overload: Overload, depth: int = 0) -> str:
        """Return a call, whose arguments are calls at times."""
        chosen = {each: self.random.choice(PARAMETERS) for each in overload.names}
        args = [self.value(written(kind, chosen), depth) for kind in overload.params]
        if name in OPERATORS:
            return OPERATORS[name].format(*args)
        if name.endswith("_") and not name[0].isalpha():
            inner = name.replace("_", "{}")
            return f"({inner})".format(*args) if len(args) > 1 else f"{name[0]}({args[0]})"
        if overload.member:
            return f"({args[0]}).{name}({', '.join(args[1:])})"
        return f"{name}({', '.join(args)})"

    def macro(self, template: str) -> str:
        """Return a macro with random parts."""
        any_type = self.random.choice([*ATOMS, "dyn"])
        parts = {kind: self.value(kind) for kind in ("bool", "int", "double", "string")}
        return template.format(
            any=self.value(any_type),
            list=self.value(f"list({self.random.choice(list(LISTS))})"),
            map=self.value("map(int, int)"),
            error=self.random.choice(ERRORS),
            **parts,
        )

    def value(self, kind: str, depth: int = 0) -> str:
        """Return an expression of a type."""
        if depth < 2 and self.random.random() < 0.2 and kind in self.giving:
            return self.call(*self.random.choice(self.giving[kind]), depth + 1)
        if kind in ATOMS:
            return self.random.choice(ATOMS[kind])
        if kind.startswith("list("):
            inner = kind[5:-1]
            inner = "optional" if inner.startswith("optional") else inner
            full = LIST_NAMES.get(inner, LIST_NAMES["list(int)"])
            short = f"[{self.value(inner, depth + 1)}]" if depth < 4 else full
            return self.random.choice([full, full, full, short, "[]"])
        if kind.startswith("map("):
            return self.random.choice(["MS" if "string" in kind[:10] else "MI", "{1: 2}", "{}"])
        if kind.startswith("optional"):
            inner = kind.removeprefix("optional_type(")[:-1] or "int"
            held = self.value(inner, depth + 1) if depth < 4 else "1"
            return self.random.choice([f"optional.of({held})", "optional.none()"])
        other = self.random.choice(["int", "string", "list(int)", "list(string)", "bytes"])
        return f"dyn({self.value(other, depth + 1)})"


def written(kind: Type, chosen: dict[str, str]) -> str:
    """Return the text of a parameter's type, with types in place of its type parameters."""
    if kind.kind is Kind.PARAM:
        return chosen[kind.name]
    if not kind.params:
        return kind.text
    return f"{kind.name}({', '.join(written(part, chosen) for part in kind.params)})"


def looped(call: str, length: int, doublings: int) -> list[str]:
    """Return texts that evaluate a call in loops; the first that compiles is the cheapest."""
    return [
        bound(
            f"lists.range(1000).all(i, lists.range(1000).exists_one(j, {test}) || true)",
            length,
            doublings,
        )
        for test in (call, f"{call} == 0", f"{call} == ''", f"dyn({call}) == 0")
    ]


def bound(text: str, length: int, doublings: int) -> str:
    """Bind the names in capitals that a text uses."""
    for name, value in reversed(BOUND.items()):
        if re.search(rf"\b{name}\b", text):
            text = f"cel.bind({name}, {value.format(n=f'lists.range({length})')}, {text})"
    if re.search(r"\bLT\b", text):
        text = chained("'" + "9" * 64 + "'", "@ + @", f"cel.bind(LT, @, {text})", doublings)
    return text


def compiled(call: str, length: int, doublings: int) -> selectors.Selector | None:
    for text in looped(call, length, doublings):
        try:
            return selectors.compile(text, list_attributes=True)
        except CompileError:
            continue
    return None


def seconds(selector: selectors.Selector, limit: int) -> tuple[float, str]:
    """Return the CPU time of an evaluation, and what ended it."""
    device: Any = selector.prepare(DEVICE, driver="x")
    outcome = "completed"
    began = time.thread_time()
    try:
        selector.matches(device, limit=limit)
    except EvaluationError as error:
        outcome = type(error).__name__
    return time.thread_time() - began, outcome


def search(seed: int, each: int, within: float) -> list[Measured]:
    """Return the slowest calls under the full limits, slowest first."""
    random = Random(seed)
    found: list[tuple[float, str, int, int]] = []
    tried = failed = 0
    ends = time.monotonic() + within
    for call in Search(random).calls(each):
        if time.monotonic() > ends:
            print(f"ended after {within:g} s")
            break
        length, doublings = random.choice([(3, 4), (30, 7), (400, 9), (1000, 11)])
        tried += 1
        selector = compiled(call, length, doublings)
        if selector is None:
            failed += 1
            continue
        found.append((seconds(selector, COST_LIMIT // 10)[0], call, length, doublings))
    print(f"seed {seed}: {tried} calls, of which {failed} do not compile")
    found.sort(reverse=True)
    return sorted((measured(*one[1:]) for one in found[: 2 * SHOWN]), reverse=True)


def measured(call: str, length: int, doublings: int) -> Measured:
    """Evaluate a call under the full limits."""
    selector = compiled(call, length, doublings)
    assert selector is not None
    best = seconds(selector, COST_LIMIT)
    for _ in range(2):
        if best[0] > NEAR:
            best = min(best, seconds(selector, COST_LIMIT))
    return Measured(*best, f"{call}  ({length} items, {64 << (doublings - 1)} characters)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--each", type=int, default=5, help="calls of each overload")
    parser.add_argument("--within", type=float, default=480, help="seconds of the search")
    options = parser.parse_args()
    for one in search(options.seed, options.each, options.within)[:SHOWN]:
        print(f"{one.seconds:.3f} {one.outcome} {one.call}")


if __name__ == "__main__":
    main()

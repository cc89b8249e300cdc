"""Search for the expressions that run longest before a limit ends them.

`python -m tests.bench.cel_hostile SEED` calls every function with hostile arguments inside loops,
and prints the slowest calls in seconds of the thread's CPU time, beside those of cel-go. No
expression may take longer than a second calm: what does needs more plain steps
(`dragoman_cel.state`). The search runs with a tenth of the limits, then the slowest with all of
them, at all sizes.

On a busy machine CPU time is longer as well. So a fixed loop runs before and after each evaluation:
calm seconds are those of the thread, divided by how much longer the loop took there than ever.
What it took at least is kept in build/cel-hostile for later runs.
"""

import argparse
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from dragoman_base.versions import DEFAULT
from dragoman_cel import selectors
from dragoman_cel.check.declarations import overloads_of
from dragoman_cel.check.overloads import Overload
from dragoman_cel.environment import COST_LIMIT
from dragoman_cel.errors import CompileError, EvaluationError
from dragoman_cel.types import Kind, Type
from tests.bench.cel_hostile_parts import (
    ATOMS,
    BOUND,
    ERRORS,
    LIST_NAMES,
    LISTS,
    MACROS,
    OPERATORS,
    PARAMETERS,
)
from tests.conformance.oracle import Oracle, OracleUnavailableError
from tests.support.worlds.expressions import chained

DEVICE = {
    "attributes": {"a": {"string": "x" * 64}, "l": {"ints": list(range(48))}},
    "capacity": {"memory": {"value": "80Gi"}},
}
SHOWN = 20
SIZES = ((3, 4), (30, 7), (400, 9), (1000, 11))
"""Items of lists, and doublings of texts of 64 characters."""
BAR = 1.0
"""Calm seconds of an evaluation."""
LEAST = Path("build/cel-hostile")
NEAR = 0.6
"""Calm seconds from which the best of three evaluations counts."""


class Measured(NamedTuple):
    """A call that was evaluated in loops until a limit ended it."""

    calm: float
    seconds: float
    outcome: str
    name: str
    text: str = ""
    size: tuple[int, int] = (0, 0)

    @property
    def call(self) -> str:
        """The call, and how much it was given."""
        length, doublings = self.size
        return f"{self.name}  ({length} items, {64 << (doublings - 1)} characters)"


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


def compiled(call: str, length: int, doublings: int) -> tuple[selectors.Selector, str] | None:
    """Return the first text that compiles, and its selector."""
    for text in looped(call, length, doublings):
        try:
            return selectors.compile(text, list_attributes=True), text
        except CompileError:
            continue
    return None


class Clock:
    """Measures CPU time as it would be without others on the machine."""

    def __init__(self) -> None:
        self.least = float(LEAST.read_text()) if LEAST.exists() else float("inf")
        self.last = min(self.loop() for _ in range(50))

    def loop(self) -> float:
        """Return the CPU time of a fixed piece of work."""
        began, total = time.thread_time(), 0
        for number in range(100_000):
            total += number & 3
        took = time.thread_time() - began
        self.least = min(self.least, took)
        return took

    def measure(self, selector: selectors.Selector, limit: int) -> tuple[float, float, str]:
        """Return calm seconds and seconds of an evaluation, and what ended it."""
        device: Any = selector.prepare(DEVICE, driver="x")
        outcome, before = "completed", self.loop()
        began = time.thread_time()
        try:
            selector.matches(device, limit=limit)
        except EvaluationError as error:
            outcome = type(error).__name__
        took = time.thread_time() - began
        self.last = (before + self.loop()) / 2
        return took * self.least / self.last, took, outcome

    def keep(self) -> None:
        """Keep the shortest time of the loop for later runs."""
        LEAST.parent.mkdir(exist_ok=True)
        LEAST.write_text(str(self.least))

    @property
    def slower(self) -> float:
        """How many times longer the loop took last than ever."""
        return self.last / self.least


def search(clock: Clock, seed: int, each: int, within: float) -> list[Measured]:
    """Return the slowest calls under the full limits, slowest first."""
    random = Random(seed)
    found: list[tuple[float, str, tuple[int, int]]] = []
    tried = failed = 0
    ends = time.monotonic() + within
    for call in Search(random).calls(each):
        if time.monotonic() > ends:
            print(f"ended after {within:g} s")
            break
        tried += 1
        size = random.choice(SIZES)
        made = compiled(call, *size)
        if made is None:
            failed += 1
            continue
        found.append((clock.measure(made[0], COST_LIMIT // 10)[0], call, size))
    print(f"seed {seed}: {tried} calls, of which {failed} do not compile", flush=True)
    slowest = sorted(found, reverse=True)[: 2 * SHOWN]
    full = sorted((measured(clock, *one[1:]) for one in slowest), reverse=True)
    others = [(one.name, size) for one in full[: SHOWN // 2] for size in SIZES if size != one.size]
    full += [measured(clock, *one) for one in others if compiled(one[0], *one[1])]
    return sorted(full, reverse=True)


def measured(clock: Clock, call: str, size: tuple[int, int]) -> Measured:
    """Evaluate a call under the full limits."""
    made = compiled(call, *size)
    assert made is not None
    selector, text = made
    best = clock.measure(selector, COST_LIMIT)
    for _ in range(2):
        if best[0] > NEAR:
            best = min(best, clock.measure(selector, COST_LIMIT))
    return Measured(*best, call, text, size)


TICKS = os.sysconf("SC_CLK_TCK")


def beside(found: Sequence[Measured]) -> list[str]:
    """Return cel-go's CPU seconds for each expression, and what ended it; nothing without Go."""
    try:
        oracle = Oracle()
    except OracleUnavailableError as error:
        print(f"without cel-go: {error}")
        return [""] * len(found)
    told = []
    with oracle:
        for one in found:
            began = used(oracle.pid)
            answer = oracle.ask(
                {
                    "op": "dra",
                    "expression": one.text,
                    "device": {"driver": "x", **DEVICE},
                    "features": {"listAttributes": True, "consumableCapacity": True},
                }
            )
            ended = answer.get("compile_error") or answer.get("match_error") or "completed"
            told.append(f"{used(oracle.pid) - began:.2f} {ended[:40]}")
    return told


def used(pid: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("--each", type=int, default=5, help="calls of each overload")
    parser.add_argument("--within", type=float, default=480, help="seconds of the search")
    options = parser.parse_args()
    clock = Clock()
    found = search(clock, options.seed, options.each, options.within)[:SHOWN]
    print(f"calm seconds, seconds {clock.slower:.2f} times slower at the end, cel-go's seconds:")
    for one, go in zip(found, beside(found), strict=True):
        print(f"{one.calm:.3f} {one.seconds:.3f} {one.outcome:20} cel-go {go:46} {one.call}")
    clock.keep()
    sys.exit(found[0].calm > BAR)


if __name__ == "__main__":
    main()

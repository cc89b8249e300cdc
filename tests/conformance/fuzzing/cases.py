"""Cases: one request to Kubernetes and to dragoman, and the differences of their answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from dragoman_cel import selectors
from dragoman_cel.errors import CompileError, EvaluationError
from tests.conformance.fuzzing import devices
from tests.conformance.fuzzing.expressions import Expressions, Tree

Answer = dict[str, Any]
DEFAULT = "1.36"
"""The version of a request that names none."""

_ISSUE = re.compile(r"ERROR: <input>:(\d+:\d+): (.*)")
_PREFIXES = re.compile(r"^(?:compilation failed: |program instantiation failed: )+")
_CONFUSION = "internal error: "
_GENERATED = re.compile(r"(selfType|_var)\d+")


@dataclass(frozen=True, slots=True)
class SelectorCase:
    """A device selector and a device."""

    tree: Tree
    device: Answer
    lists: bool
    kubernetes: str = DEFAULT

    @classmethod
    def generate(cls, random: Random, kubernetes: str = DEFAULT) -> SelectorCase:
        """Generate a case for a version."""
        lists = random.random() < 0.3
        source = Expressions(random, devices.roots(lists=lists))
        tree = source.expression(("bool",), random.choice((1, 2, 2, 3, 3, 4)))
        return cls(tree, devices.device(random, lists=lists), lists, kubernetes)

    def request(self) -> Answer:
        """Return the request to the oracle."""
        return {
            "op": "dra",
            "expression": str(self.tree),
            "device": {**self.device, "driver": devices.DRIVER},
            "features": {"listAttributes": self.lists, "consumableCapacity": True},
            **({"kubernetes": self.kubernetes} if self.kubernetes != DEFAULT else {}),
        }

    def ours(self) -> Answer:
        """Answer with dragoman, in the oracle's form."""
        return answer_selector(self.request())

    def simpler(self) -> Iterator[SelectorCase]:
        """Yield smaller cases, the smallest first."""
        for tree in sorted(self.tree.variants(), key=lambda tree: len(str(tree))):
            yield replace(self, tree=tree)
        for part in ("attributes", "capacity"):
            for name in self.device.get(part, ()):
                rest = {key: value for key, value in self.device[part].items() if key != name}
                yield replace(self, device={**self.device, part: rest})

    def size(self) -> int:
        """Return the measure that shrinking reduces."""
        return len(str(self.tree)) + 5 * len(str(self.device))


def answer_selector(request: Answer) -> Answer:
    """Answer a request of the kind "dra" with dragoman, in the oracle's form."""
    lists = request["features"]["listAttributes"]
    kubernetes = request.get("kubernetes", DEFAULT)
    try:
        selector = selectors.compile(
            request["expression"], kubernetes=kubernetes, list_attributes=lists
        )
    except CompileError as error:
        return {"compile_error": str(error)}
    answer: Answer = {"max_cost": selector.max_cost}
    prepared = selector.prepare(request["device"], driver=request["device"]["driver"])
    try:
        _, answer["actual_cost"] = selector.evaluate(prepared)
        answer["match"] = selector.matches(prepared)
    except EvaluationError as error:
        answer["match_error"] = error.message
        answer.setdefault("actual_cost", error.cost)
    return answer


def differences(theirs: Answer, ours: Answer) -> list[str]:
    """Return the names of the parts that differ between two answers."""
    if "crash" in ours:
        return ["crash"]
    if "panic" in theirs:
        # Kubernetes panicked: it has no answer to compare with.
        return []
    if ("compile_error" in theirs) != ("compile_error" in ours):
        return ["compiles"]
    if "compile_error" in theirs:
        same = complaints(theirs["compile_error"]) == complaints(ours["compile_error"])
        return [] if same else ["compile text"]
    compared: tuple[str, ...] = (
        "match",
        "match_error",
        "errors",
        "max_cost",
        "max_costs",
        "actual_cost",
        "cost",
    )
    if _CONFUSION in str(theirs):
        # cel-go's cost tracker itself failed; its count until then is meaningless.
        compared = ("match_error", "errors")
    return [name for name in compared if _comparable(theirs, name) != _comparable(ours, name)]


def complaints(text: str) -> tuple[str, ...]:
    """Reduce a compile error to positions and messages; of syntax errors only the fact."""
    if "Syntax error" in text:
        return ("Syntax error",)
    text = _GENERATED.sub(r"\1", text)
    # cel-go's names of the missing parameters of the types `list` and `map`.
    text = text.replace("map(A, B)", "map(dyn, dyn)").replace("list(A)", "list(dyn)")
    issues = _ISSUE.findall(text)
    if issues:
        # cel-go repeats an issue for each copy that a macro makes; once is enough.
        return tuple(sorted({f"{place} {message}" for place, message in issues}))
    return (_PREFIXES.sub("", text),)


def _comparable(answer: Answer, name: str) -> Any:
    value = answer.get(name)
    if name == "match_error" and str(value).startswith(_CONFUSION):
        return _CONFUSION
    if name == "errors" and value is not None:
        return sorted((e["type"], e["field"], complaints(e["detail"])) for e in value)
    if name == "actual_cost":
        # A device that cannot be converted costs nothing; the oracle leaves the cost out.
        return value or 0
    if name == "cost" and value is not None:
        # Kubernetes' remaining budget can be below zero.
        return min(value, 10_000_000)
    return value

"""Compares dragoman's allocator with kube-scheduler's on generated clusters.

    python tests/conformance/fuzz_allocator.py 10000
    python tests/conformance/fuzz_allocator.py 5000 --kubernetes 1.38 --seed 7

Prints every new kind of difference, shrunk, and ends with counts; exit status 1 when there was a
difference that nothing explains.
"""

import argparse
import copy
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

if __package__ is None:
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.conformance.allocating.worlds import generate
from tests.conformance.allocation_oracle import MODULES, oracle
from tests.conformance.allocator import agrees, answered, outcome
from tests.conformance.oracle import Oracle

Json = dict[str, Any]

BATCH = 200
MOST_STEPS = 30_000
"""Searches that are larger cost the comparison too much time; both sides are cut there."""
UNCOUNTED = -1
"""What the oracle says of libraries that do not count steps."""
SHRINKS = 1500
AGAIN = 20
"""How often Kubernetes is asked the same where answers differ, because some of its answers vary."""
MANY = 300
"""The same for a capacity in both spellings beside another name: from 1.38 on an error, unless Go
first comes upon a name that the device lacks. It walks small maps from one of 8 places, at random.
"""
SHOWN = 5
_ENDS = re.compile(r"(CEL compile error: |failed to parse node selector ).*", re.DOTALL)
_CAPACITY = re.compile(r'capacity ".*', re.DOTALL)
_DUMP = re.compile(r"for device (&Device\{.*\}|\S+) in slice", re.DOTALL)
"""Go prints the whole device where this library gives its name."""
_BAD = re.compile(r"attribute \S+: unsupported attribute value")


def ask(case: Json) -> Json:
    """Return the request to the oracle."""
    return {**case, "op": "case", "seconds": 2}


def expectation(theirs: Json) -> Json:
    """Return an answer of the oracle in the form of expectations."""
    return {key: value for key, value in theirs.items() if key not in ("steps", "variant")}


def ours(case: Json) -> tuple[Json, int]:
    """Ask dragoman; an exception counts as a crash."""
    before = copy.deepcopy(case)
    try:
        found = answered(outcome(case))
    except Exception as error:  # noqa: BLE001 — whatever leaks out is what is looked for
        return {"crash": repr(error)}, -1
    return found if case == before else ({"crash": "the input changed"}, -1)


def difference(theirs: Json, case: Json) -> str:
    """Name what differs, empty for nothing."""
    if "timeout" in theirs or theirs.get("steps", 0) > MOST_STEPS:
        return ""
    if "panic" in theirs or "unsupported" in theirs:
        return ""
    answer, steps = ours(case)
    expected = expectation(theirs)
    if not agrees(_comparable(expected), _comparable(answer)):
        return f"{kind(expected)} expected, {kind(answer)} answered"
    return "" if theirs["steps"] in (steps, UNCOUNTED) else "steps"


def unstable(oracle: Oracle, case: Json) -> bool:
    """Return whether Kubernetes answers as dragoman does, too, when it is asked again."""
    times = AGAIN + (MANY if spelled_twice(case) else 0)
    return any(not difference(one, case) for one in [*oracle.ask_all([ask(case)] * times)])


def spelled_twice(case: Json) -> bool:
    """Return whether a request names a capacity with a driver's domain, without it, and another."""
    for claim in case["claims"]:
        for request in claim["spec"]["devices"]["requests"]:
            for body in (request.get("exactly", {}), *request.get("firstAvailable", ())):
                names = body.get("capacity", {}).get("requests", {})
                plain = Counter(name.rpartition("/")[2] for name in names)
                if len(plain) > 1 and max(plain.values()) > 1:
                    return True
    return False


def _comparable(answer: Json) -> Json:
    """Cut what Go says at random, or in words that are compared elsewhere."""
    if "error" not in answer:
        return answer
    text = _ENDS.sub(r"\1", answer["error"])
    text = _DUMP.sub("for a device in slice", text)
    text = _BAD.sub("attribute: unsupported attribute value", text)
    return {**answer, "error": _CAPACITY.sub("capacity", text)}


def kind(answer: Json) -> str:
    """Name the kind of an answer for counts."""
    if "error" in answer:
        return f"{answer['scope']} error"
    if "fits" in answer:
        return "does not fit"
    return next(iter(answer), "nothing")


class Session:
    """A run over many cases: asks both sides, shrinks and counts."""

    def __init__(self, kubernetes: str, seed: int, shown: int = SHOWN) -> None:
        self.counts: Counter[str] = Counter()
        self.features: dict[str, Counter[str]] = {}
        self._kubernetes = kubernetes
        self._random = Random(f"{kubernetes}/{seed}")
        self._oracle = oracle(kubernetes)
        self._shown = shown
        self._reported: Counter[str] = Counter()

    def run(self, total: int, *, progress: bool = False) -> None:
        """Compare so many cases."""
        started = time.monotonic()
        for done in range(0, total, BATCH):
            cases = [
                generate(self._random, self._kubernetes) for _ in range(min(BATCH, total - done))
            ]
            # All answers first: shrinking asks more questions.
            answers = list(self._oracle.ask_all(map(ask, cases)))
            for case, theirs in zip(cases, answers, strict=True):
                self._compare(case, theirs)
            if progress and done // BATCH % 25 == 24:
                rate = (done + BATCH) / (time.monotonic() - started)
                found = self.counts["differences"]
                print(f"{done + BATCH} of {total}, {rate:.0f}/s, {found} differences", flush=True)

    def stop(self) -> None:
        """End the oracle."""
        self._oracle.stop()

    def _compare(self, case: Json, theirs: Json) -> None:
        self.counts["cases"] += 1
        name = "too large" if theirs.get("steps", 0) > MOST_STEPS else kind(expectation(theirs))
        self.counts[name] += 1
        for theme in case["themes"]:
            self.features.setdefault(theme, Counter())[name] += 1
        found = difference(theirs, case)
        if not found:
            return
        if unstable(self._oracle, case):
            self.counts["explained: Go's order of map entries is random"] += 1
            return
        self.counts["differences"] += 1
        self._reported[found] += 1
        if self._reported[found] <= self._shown:
            self._report(found, case)

    def _report(self, found: str, case: Json) -> None:
        case = self._shrunk(case, found)
        theirs = self._oracle.ask(ask(case))
        answer, steps = ours(case)
        print(f"\n--- {found}\n{json.dumps(case)}")
        print(f"Kubernetes: {json.dumps(expectation(theirs))} {theirs.get('steps')} steps")
        print(f"dragoman:   {json.dumps(answer)} {steps} steps", flush=True)

    def _shrunk(self, case: Json, found: str) -> Json:
        asked, smaller = 0, True
        while smaller and asked < SHRINKS:
            smaller = False
            for candidate in simpler(case):
                asked += 1
                if asked > SHRINKS:
                    break
                if difference(self._oracle.ask(ask(candidate)), candidate) == found:
                    case, smaller = candidate, True
                    break
        return case


def simpler(value: Any) -> Iterator[Any]:  # noqa: C901 — lists and objects, whole and in part
    """Yield documents with one part less."""
    if isinstance(value, list):
        for index in range(len(value)):
            yield value[:index] + value[index + 1 :]
        for index, item in enumerate(value):
            for smaller in simpler(item):
                yield [*value[:index], smaller, *value[index + 1 :]]
    elif isinstance(value, dict):
        for key in value:
            if key not in _KEPT:
                yield {name: item for name, item in value.items() if name != key}
        for key, item in value.items():
            if key not in ("features", "node"):
                for smaller in simpler(item):
                    yield {**value, key: smaller}


_KEPT = frozenset(
    (
        "kubernetes", "features", "node", "claims", "classes", "slices", "allocated", "themes",
        "metadata", "name", "spec", "driver", "pool", "exactly", "status", "devices", "results",
        "taint",
        "device", "request", "generation", "resourceSliceCount", "cel", "variant",
        "deviceClassName", "allocationMode",
    )
)  # fmt: skip


def main() -> int:
    """Run the comparison of the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="compare dragoman's allocator with Kubernetes'")
    parser.add_argument("cases", type=int, nargs="?", default=10_000)
    parser.add_argument("--kubernetes", choices=tuple(MODULES), action="append")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 32))
    parser.add_argument("--show", type=int, default=SHOWN, help="reports per kind")
    given = parser.parse_args()
    status = 0
    for kubernetes in given.kubernetes or ("1.36", "1.37", "1.38"):
        print(f"Kubernetes {kubernetes}, seed {given.seed}", flush=True)
        session = Session(kubernetes, given.seed, given.show)
        session.run(given.cases, progress=True)
        session.stop()
        summary(session)
        status |= 1 if session.counts["differences"] else 0
    return status


def summary(session: Session) -> None:
    """Print the counts, and what became of the cases about each feature."""
    print()
    for name, count in session.counts.most_common():
        print(f"{count:9}  {name}")
    columns = ("results", "does not fit", "node error", "fatal error", "too large")
    print(f"\n{'about':12}" + "".join(f"{name:>14}" for name in columns))
    for theme, counts in sorted(session.features.items()):
        print(f"{theme:12}" + "".join(f"{counts[name]:14}" for name in columns), flush=True)


if __name__ == "__main__":
    sys.exit(main())

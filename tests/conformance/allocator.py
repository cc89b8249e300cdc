"""Run allocator cases: what the Go library answered, against dragoman.allocation.

`python tests/conformance/allocator.py FILE...` prints every difference, and as its last line
`N passed, M failed`. A file is a JSON array; each case is one call of `Allocate` with its
expectation.
"""

import copy
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dragoman.allocation import (
    Allocated,
    Cluster,
    DoesNotFit,
    FatalError,
    Features,
    NodeError,
    Outcome,
    Variant,
    allocate,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
    parse_taint_rule,
    profile_of,
)

Case = dict[str, Any]

SHARES = iter(range(1 << 62))


class Verdict(NamedTuple):
    """One compared case: its id, and what differs, empty for nothing."""

    name: str
    difference: str


def run(path: Path) -> Iterator[Verdict]:
    """Compare every case of a file."""
    for case in json.loads(path.read_text()):
        yield Verdict(case["id"], difference(case))


def difference(case: Case) -> str:
    """Return what differs from the expectation of a case."""
    before = copy.deepcopy(case)
    answer, steps = answered(outcome(case))
    if case != before:
        return "the call changed its input"
    expected = case["expect"]
    options = expected.get("anyOf", [expected])
    if not any(agrees(option, answer) for option in options):
        return f"expected {json.dumps(expected)}\n  answered {json.dumps(answer)}"
    if case.get("steps", steps) != steps:
        return f"expected {case['steps']} steps, took {steps}"
    return ""


def outcome(case: Case) -> Outcome:
    """Make the call of a case."""
    version = tuple(int(part) for part in case["kubernetes"].split("."))
    features = Features(**{name: on for name, on in case["features"].items() if on})
    variant = Variant(case["variant"]) if "variant" in case else None
    cluster = Cluster(
        profile_of((version[0], version[1]), features, variant),
        nodes=[parse_node(case["node"])],
        slices=map(parse_slice, case["slices"]),
        classes=map(parse_class, case["classes"]),
        claims=map(parse_claim, [*case.get("allocated", ()), *_said(case)]),
        taint_rules=map(parse_taint_rule, case.get("taintRules", ())),
    )
    claims = [parse_claim(claim) for claim in case["claims"]]
    name = case["node"]["metadata"]["name"]
    return allocate(name, claims, cluster, share_ids=lambda: f"share-{next(SHARES)}")


def _said(case: Case) -> Iterator[Case]:
    """Yield claims that hold what the case says directly about the allocated state."""
    state = case.get("state", {})
    held = [_result(device) for device in state.get("devices", ())]
    if case["features"].get("ConsumableCapacity"):
        held += [{**_result(share[:3]), "shareID": share[3]} for share in state.get("shared", ())]
        held += [
            {**_result(entry["device"]), "shareID": "said", "consumedCapacity": entry["capacity"]}
            for entry in state.get("aggregatedCapacity", ())
        ]
    for number, result in enumerate(held):
        yield {
            "metadata": {"name": f"said-{number}"},
            "status": {"allocation": {"devices": {"results": [result]}}},
        }


def _result(device: list[str]) -> Case:
    return dict(zip(("driver", "pool", "device"), device, strict=True))


def answered(outcome: Outcome) -> tuple[Case, int]:
    """Return an outcome in the form of expectations, and its steps."""
    match outcome:
        case Allocated():
            results = [allocation.document() for allocation in outcome.allocations]
            return {"results": results}, outcome.steps
        case DoesNotFit():
            return {"fits": False}, outcome.steps
        case NodeError():
            return {"error": outcome.message, "scope": "node"}, outcome.steps
        case FatalError():
            return {"error": outcome.message, "scope": "fatal"}, outcome.steps
    return {"budget": outcome.steps}, outcome.steps


def agrees(expected: Case, answer: Case) -> bool:
    """Tell whether an answer is what was expected."""
    if "error" in expected:
        said = answer.get("error", "")
        if answer.get("scope") != expected["scope"]:
            return False
        if expected.get("match") == "prefix":
            return bool(said.startswith(expected["error"]))
        return bool(said == expected["error"])
    shares = [share for result in answer.get("results", ()) for share in _shares(result)]
    if len(shares) != len(set(shares)):
        return False
    return bool(_plain(expected) == _plain(answer))


def _shares(result: Case) -> list[str]:
    devices = result.get("devices", {}).get("results", ())
    return [device["shareID"] for device in devices if device.get("shareID")]


def _plain(value: Any) -> Any:
    """Drop what counts as absent, and which share ID it is."""
    if isinstance(value, dict):
        found = {key: _plain(item) for key, item in value.items()}
        if found.get("shareID"):
            found["shareID"] = "*"
        return {key: item for key, item in found.items() if item not in (None, [], {})}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def main() -> int:
    """Run the files of the command line; return the exit status."""
    passed = failed = 0
    for path in map(Path, sys.argv[1:]):
        for verdict in run(path):
            if verdict.difference:
                failed += 1
                print(f"{verdict.name}: {verdict.difference}")
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

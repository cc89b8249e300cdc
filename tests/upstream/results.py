"""Results of Kubernetes' own end-to-end tests, and what they say beside each other."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
NEEDS_KUBELET = "needs containers that run (suite `node`)"
NOT_CHOSEN = "belongs to none of the suites"
NEEDS_NONE = "needs no containers that run (suite `e2e`)"
CONTROL_PLANE = "control plane|CRUD Tests|ResourceSlice Controller"
"""Matches the names of specs that need pods scheduled, not run."""
PODS = r"\bkubelet\b|KubeletMinVersion|\] metadata |device compatibility groups"
"""Matches the names of specs whose pods run."""


@dataclass(frozen=True, slots=True)
class Spec:
    """The result of one spec.

    Attributes:
        name: Its texts, outermost first.
        state: As Ginkgo names it: passed, failed, skipped, pending, panicked, timedout.
        seconds: How long it ran.
        message: Of a failure, or why it skipped itself.
    """

    name: str
    state: str
    seconds: float
    message: str = ""

    @property
    def ran(self) -> bool:
        """Whether it was run to an end of its own."""
        return self.state not in {SKIPPED, "pending"}


def read(report: Path) -> dict[str, Spec]:
    """Read a Ginkgo JSON report; return the specs by name."""
    (suite,) = json.loads(report.read_text())
    specs = (_spec(one) for one in suite["SpecReports"] if one["LeafNodeType"] == "It")
    return {spec.name: spec for spec in specs}


def _spec(one: Mapping[str, Any]) -> Spec:
    texts = [*(one["ContainerHierarchyTexts"] or ()), one["LeafNodeText"]]
    failure = one.get("Failure") or {}
    message = " ".join(str(failure.get("Message", "")).split())
    return Spec(" ".join(texts), one["State"], one["RunTime"] / 1e9, message)


def reason(spec: Spec) -> str:
    """Say why a spec was left out."""
    if spec.message:
        return spec.message
    if re.search(PODS, spec.name):
        return NEEDS_KUBELET
    return NEEDS_NONE if re.search(CONTROL_PLANE, spec.name) else NOT_CHOSEN


def summary(title: str, results: Mapping[str, Mapping[str, Spec]]) -> list[str]:
    """Return the lines of a table: one row for each spec that any controller's run ran.

    Args:
        title: Of the column of specs.
        results: The specs by controller.
    """
    names = list(dict.fromkeys(name for specs in results.values() for name in specs))
    ran = sorted(n for n in names if any(n in specs and specs[n].ran for specs in results.values()))
    lines = [f"| {title} | {' | '.join(results)} |"]
    lines.append("|---|" + "---|" * len(results))
    for name in ran:
        cells = (_cell(specs.get(name)) for specs in results.values())
        lines.append(f"| {name.replace('|', '/')} | {' | '.join(cells)} |")
    total = (_count(specs.values()) for specs in results.values())
    lines.append(f"| **{len(ran)} of {len(names)} ran** | {' | '.join(total)} |")
    return lines


def left_out(specs: Mapping[str, Spec]) -> list[str]:
    """Return why specs were left out, with their number, the most frequent first."""
    counts = Counter(reason(spec) for spec in specs.values() if not spec.ran)
    return [f"{count} left out: {why}" for why, count in counts.most_common()]


def failures(specs: Mapping[str, Spec]) -> list[str]:
    """Return the failed specs with their messages."""
    return [
        f"{spec.name}: {spec.state}: {spec.message[:600]}"
        for spec in specs.values()
        if spec.ran and spec.state != PASSED
    ]


def _cell(spec: Spec | None) -> str:
    if spec is None or not spec.ran:
        return "-"
    return spec.state if spec.state == PASSED else f"**{spec.state}**"


def _count(specs: Sequence[Spec] | Any) -> str:
    counts = Counter(spec.state for spec in specs if spec.ran)
    return ", ".join(f"{count} {state}" for state, count in counts.most_common()) or "none"

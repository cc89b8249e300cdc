"""The record of `make bench-scale`, and the table and the extrapolation that follow from it."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from tests.bench.claims.table import markdown, number
from tests.bench.record import ROOT, Measurements

PATH = ROOT / "docs/bench/scale.json"
NONE_YET = "No complete run is recorded yet: `make bench-scale` writes this table."
ROWS = (
    ("nodes", "", "nodes, each with a slice of 8 devices"),
    ("pods", "", "pods in total"),
    ("with_claims", "", "pods with an allocated claim"),
    ("empty_rss_mib", "MiB", "memory of the operator without objects"),
    ("full_rss_mib", "MiB", "memory of the operator with these objects, after its start"),
    ("churn_peak_mib", "MiB", "the same: peak while claims come and go"),
    ("explain_rss_mib", "MiB", "memory with `--explain-events`, which reads nodes and slices"),
    ("ready_s", "s", "restart until ready"),
    ("first_claim_s", "s", "restart until the claim of a waiting pod is published"),
    ("idle_share", "cores", "CPU of the operator without changes"),
    ("offered_per_s", "per second", "new claims: offered"),
    ("reached_per_s", "per second", "new claims: reached"),
    ("seconds", "s", "for so long"),
    ("wait_p50_ms", "ms", "from a pod's creation to its published claim: median"),
    ("wait_p99_ms", "ms", "the same: 99th percentile"),
    ("wait_max_ms", "ms", "the same: longest"),
    ("missed", "", "pods that finished without a claim"),
    ("left_over", "", "claims that are left of deleted pods"),
    ("operator_cores", "cores", "CPU of the operator while claims come and go"),
    ("apiserver_cores", "cores", "CPU of the API server"),
    ("etcd_cores", "cores", "CPU of etcd"),
    ("apiserver_rss_mib", "MiB", "memory of the API server"),
)
"""Name, unit and words of each row."""


@dataclass(kw_only=True)
class Record(Measurements):
    """What one run measured.

    Attributes:
        kubernetes: Version of the API server.
        scale: Factor to the numbers of objects.
        values: By the names of `ROWS`.
    """

    PATH: ClassVar[Path] = PATH
    kubernetes: str
    scale: float
    values: dict[str, float]


def recorded() -> Record | None:
    """Read the record of a complete run; None where there is none."""
    return Record.read() if PATH.exists() else None


def section(record: Record | None) -> str:
    """Return the part of operations.md."""
    if record is None:
        return NONE_YET
    scaled = "" if record.scale == 1 else f", {record.scale:g} times the usual numbers of objects"
    where = (
        f"Measured {record.when} UTC by `make bench-scale` at {record.commit or 'no commit'}, "
        f"Kubernetes {record.kubernetes}, `--claims=own`, everything on {record.machine}{scaled}:"
    )
    rows = [(words, number(record.values[name], unit)) for name, unit, words in ROWS]
    return "\n".join([where, "", markdown(("what", "measured"), rows), "", *extrapolation(record)])


def extrapolation(record: Record) -> list[str]:
    """Return what follows for larger clusters, one line of a list each."""
    values = record.values
    per_claim = (values["full_rss_mib"] - values["empty_rss_mib"]) / values["with_claims"]
    large = values["empty_rss_mib"] + 100_000 * per_claim
    rate = values["reached_per_s"]
    shares = {
        "the operator": 1000 * values["operator_cores"] / rate,
        "the API server": 1000 * values["apiserver_cores"] / rate,
        "etcd": 1000 * values["etcd_cores"] / rate,
    }
    costs = ", ".join(f"{who} {number(cost)} ms" for who, cost in shares.items())
    most = max(shares, key=shares.__getitem__)
    full = {who: number(1000 / cost) for who, cost in shares.items()}
    memory = (
        f"Memory: {number(1000 * per_claim)} MiB per 1,000 pods with claims, so that 100,000 such "
        f"pods need {number(large)} MiB. Without `--explain-events` the operator stores neither "
        "pods without claims nor slices."
    )
    limit = (
        f"Limit: {most} takes the most CPU per claim. {full['the operator']} claims per second "
        f"fill one core of the operator, {full['the API server']} one core of the API server. The "
        "operator uses one core at most; API server and etcd use more where the machine has more."
    )
    cpu = f"CPU of one claim from its pod's creation to its deletion: {costs}."
    return [f"* {line}" for line in (memory, cpu, limit)]

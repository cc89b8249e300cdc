"""The record of the benchmark: what docs/bench/allocation.json holds."""

from dataclasses import dataclass, field
from typing import Any

from tests.bench.record import ROOT, Numbers


@dataclass
class Record(Numbers):
    """All results, by `scenario/competitor`.

    Attributes:
        library: The Go library beside dragoman's, with its version.
        verdicts: What was demanded, what was reached, and whether that is enough.
    """

    PATH = ROOT / "docs/bench/allocation.json"
    library: str = "k8s.io/dynamic-resource-allocation v0.36.3"
    verdicts: list[dict[str, Any]] = field(default_factory=list)

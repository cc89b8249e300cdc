"""Sieve's patterns, enumerated: each write of the operators in a workload x each perturbation.

Intermediate states (a crash before or after a write), stale states (caches older than the write),
unobserved states (events that are missed). Prefixes are equal by construction: the same seed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.simulation.execution import Outcome, execute
from tests.simulation.workloads import WORKLOADS

KINDS = (
    *("crash-before", "crash-after", "lost", "lost-slow", "refused", "timeout", "stale"),
    *("stale-pods", "stale-claims", "stale-crash", "missed", "pause", "zombie"),
)
OF: Mapping[str, tuple[str, ...]] = {"steady": ("late-renewal",)}
"""Perturbations of workloads that have others."""
SEED = 7
UNTIL = 60.0


@dataclass(frozen=True)
class Run:
    """One run of the enumeration."""

    workload: str
    index: int  # Of the write; 0 for the run without a fault
    kind: str
    outcome: Outcome

    def __str__(self) -> str:
        if not self.index:
            return f"{self.workload} without faults"
        return f"{self.workload}: write {self.index} {self.kind}"

    @property
    def command(self) -> str:
        """What repeats it."""
        arguments = f"--workload {self.workload} --write {self.index} --kind {self.kind}"
        return f"python -m tests.simulation enumerate {arguments if self.index else ''}".strip()


def run(workload: str, index: int = 0, kind: str = "") -> Run:
    """Run a workload, with a perturbation at one write."""
    scenario, events = WORKLOADS[workload]
    plan = {index: kind} if index else {}
    return Run(workload, index, kind, execute(events, SEED, scenario, plan=plan, until=UNTIL))


def every(workload: str) -> Iterator[Run]:
    """Yield the runs of a workload, first that without faults."""
    reference = run(workload)
    yield reference
    for write in reference.outcome.written:
        for kind in OF.get(workload, KINDS):
            yield run(workload, write.index, kind)


def in_turns(names: Iterator[str] | list[str]) -> Iterator[Run]:
    """Yield the runs of workloads in turns."""
    turns = [every(name) for name in names]
    while turns:
        for one in list(turns):
            found = next(one, None)
            if found is None:
                turns.remove(one)
            else:
                yield found

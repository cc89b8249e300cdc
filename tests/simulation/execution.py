"""Runs of schedules, and the smallest schedule that still violates the same invariant."""

import random
from dataclasses import dataclass

from tests.simulation.events import apply
from tests.simulation.faults import Written
from tests.simulation.scenarios import SCENARIOS, SPAN
from tests.simulation.schedule import Event
from tests.simulation.simulation import Profile, Simulation, ViolatedError, Violation


@dataclass(frozen=True)
class Outcome:
    """What a run has shown."""

    violations: tuple[Violation, ...]
    digest: str
    seconds: float  # Virtual seconds
    settled_after: float  # Seconds from the end of faults to the last write
    steps: int  # Callbacks
    writes: int  # Of the operators
    written: tuple[Written, ...]  # What the operators asked for, but for Leases and Events
    trace: tuple[tuple[object, ...], ...]

    @property
    def failed(self) -> bool:
        return bool(self.violations)


def profile(seed: int) -> Profile:
    """Return how fast the cluster of a seed is."""
    chance = random.Random(f"{seed}/profile")
    return Profile(
        latency_mean=chance.choice((0.002, 0.005, 0.05)),
        lag_mean=chance.choice((0.002, 0.02, 0.5)),
        shuffle=chance.choice((0.0, 0.0, 0.5)),
        slow_collection=chance.choice((0.0, 0.2, 1.0)),
    )


def execute(
    events: list[Event],
    seed: int,
    name: str,
    *,
    plan: dict[int, str] | None = None,
    until: float = SPAN,
) -> Outcome:
    """Run a schedule to its fixed point.

    Args:
        events: The schedule.
        seed: Of everything that is left to chance.
        name: Of the scenario.
        plan: Faults by the number of an operator's write.
        until: When users and faults end.
    """
    scenario = SCENARIOS[name]
    with Simulation(seed, scenario.world, profile(seed)) as sim:
        sim.faults.plan = plan or {}
        try:
            for event in events:
                sim.loop.world_later(event[0], apply, sim, event)
            sim.run_until(until)
            sim.settle(scenario.quiet, scenario.bound)
        except ViolatedError:
            pass
        return Outcome(
            tuple(sim.violations),
            sim.trace.digest,
            sim.now,
            sim.settled_after,
            sim.loop.steps,
            sim.invariants.writes,
            tuple(sim.faults.written),
            tuple(sim.trace.lines),
        )


def minimise(
    events: list[Event],
    seed: int,
    name: str,
    kind: str,
    *,
    plan: dict[int, str] | None = None,
    runs: int = 300,
    until: float = SPAN,
) -> list[Event]:
    """Return a smaller schedule that violates the same invariant (ddmin over the events)."""
    left = runs

    def fails(some: list[Event]) -> bool:
        nonlocal left
        left -= 1
        outcome = execute(some, seed, name, plan=plan, until=until)
        return any(one.kind == kind for one in outcome.violations)

    size = max(1, len(events) // 2)
    while size >= 1 and left > 0:
        index, smaller = 0, False
        while index < len(events) and left > 0:
            rest = events[:index] + events[index + size :]
            if fails(rest):
                events, smaller = rest, True
            else:
                index += size
        size = size if smaller and size == 1 else size // 2
    return events

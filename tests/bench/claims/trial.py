"""One competitor in one scenario, once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.bench.claims import objects
from tests.bench.claims.competitors import Competitor, Task
from tests.bench.claims.lab import Lab
from tests.bench.claims.observer import PodWatch
from tests.bench.claims.raw import CONCURRENCY
from tests.support.controlplane.process import ThrowawayProcess

LEAST = 20
"""Objects that are left of a small scale."""
SLOWEST = 20.0
"""Pods a second below which a competitor is given up, after a minute for its start."""

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Trial:
    """What a scenario is given.

    Attributes:
        competitor: Who is measured.
        scale: Factor to all numbers of objects; 1 for the real thing.
        concurrency: Of the raw client.
    """

    competitor: Competitor
    scale: float = 1.0
    concurrency: int = CONCURRENCY

    def sized(self, number: int) -> int:
        """Return how many objects to take where the real thing has so many."""
        scaled = max(LEAST, round(number * self.scale))
        return min(scaled, self.competitor.most_pods or scaled)

    def start(self, lab: Lab, *, via: str | None = None, verb: str = "create") -> ThrowawayProcess:
        """Start the competitor."""
        return self.competitor.start(lab, Task(via, verb, self.concurrency))

    def warm_up(self, lab: Lab, via: str | None = None) -> ThrowawayProcess:
        """Start the competitor, and wait until it has made the claim of a first pod."""
        lab.send(objects.create_pods(lab.namespace, 1, prefix="warm"))
        with PodWatch(lab.server, lab.namespace) as pods:
            process = self.start(lab, via=via)
            lab.wait(lambda: pods.published, process, patience(1), pods.check)
        return process

    def check(self, lab: Lab, claims: int) -> None:
        """Make sure that there are so many claims, where a wrong number is a failure."""
        if self.competitor.exact:
            lab.expect(claims)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Something that is measured.

    Attributes:
        key: By which results and the command line name it.
        title: What is done, in a few words.
        competitors: Who takes part.
        run: Does it once.
    """

    key: str
    title: str
    competitors: tuple[Competitor, ...]
    run: Callable[[Trial], Values]


def patience(pods: int) -> float:
    """Return how many seconds to wait for the claims of so many pods."""
    return 60 + pods / SLOWEST


def percentile(numbers: list[float], share: float) -> float:
    """Return the number below which this share of them lies (nearest rank)."""
    ranked = sorted(numbers)
    return ranked[min(len(ranked) - 1, int(len(ranked) * share))]

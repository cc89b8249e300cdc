"""Scenarios: how the operator runs, and which faults it meets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dragoman.settings import Settings
from tests.simulation.simulation import NAMESPACE, World

SPAN = 75.0
"""Virtual seconds in which users act and things break."""


def settings(**more: object) -> Settings:
    options: dict[str, object] = {"claims": "own", "pool_status": "off", "namespace": NAMESPACE}
    return Settings(**{**options, **more})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Scenario:
    """What is simulated."""

    world: World
    weights: Mapping[str, int] = field(default_factory=dict)  # Of kinds of faults
    quiet: float = 95.0  # Seconds without a write that are the fixed point
    bound: float = 1500.0  # Seconds within which it is reached


SCENARIOS: Mapping[str, Scenario] = {
    "calm": Scenario(World(settings())),
    "network": Scenario(
        World(settings()),
        {"window": 4, "cut": 4, "stall": 3, "compact": 3, "mute": 1, "restart-api": 1},
    ),
    "crash": Scenario(
        World(settings()), {"kill": 6, "stop": 3, "stall": 2, "compact": 1, "window": 1}
    ),
    "leaders": Scenario(
        World(settings(), replicas=2),
        {
            "pause": 4,
            "mute": 2,
            "kill": 2,
            "stop": 2,
            "partition": 3,
            "window": 2,
            "skew": 2,
            "stall": 2,
            "compact": 1,
        },
    ),
    "safe": Scenario(
        World(settings(safe_release=True, safe_release_grace=60.0), replicas=2, devices=1),
        {
            "kubelet": 3,
            "kill": 2,
            "pause": 1,
            "stall": 2,
            "window": 1,
            "compact": 1,
            "skew": 1,
        },
        quiet=300.0,
        bound=3000.0,
    ),
    "restore": Scenario(
        World(settings(), replicas=2), {"kill": 2, "stall": 3, "cut": 1, "window": 1}
    ),
    "evictions": Scenario(
        World(settings(evictions="own"), replicas=2, rows=("claims", "evictions")),
        {
            "window": 3,
            "cut": 2,
            "stall": 3,
            "compact": 2,
            "kill": 2,
            "pause": 2,
            "partition": 1,
            "mute": 1,
            "skew": 1,
        },
    ),
    "templates": Scenario(
        World(settings(cluster_templates=True), replicas=2, rows=("claims", "clustertemplates")),
        {"window": 3, "cut": 2, "kill": 2, "pause": 2, "partition": 1, "skew": 1},
    ),
    "maintenance": Scenario(
        World(settings(maintenance=True), replicas=2, rows=("claims", "maintenance")),
        {"window": 3, "cut": 2, "stall": 2, "compact": 1, "kill": 2, "pause": 2, "partition": 1},
    ),
    "assist": Scenario(
        World(settings(claims="assist"), built_in=True, forgets=0.3),
        {"built-in": 3, "stall": 2, "kill": 1, "window": 1, "compact": 1},
    ),
    "auto": Scenario(
        World(settings(claims="auto", takeover_after=60.0), 2, built_in=True, forgets=0.2),
        {"built-in": 4, "stall": 2, "kill": 1, "window": 1},
    ),
    "return": Scenario(
        World(settings(claims="auto", takeover_after=20.0, grace=5.0), devices=8, built_in=True),
        {"stall": 1, "window": 1},
    ),
}
"""By name."""
EVERY_DAY = (
    "network",
    "crash",
    "leaders",
    "safe",
    "evictions",
    "templates",
    "maintenance",
    "restore",
    "assist",
    "auto",
    "return",
)
"""Scenarios with faults, in the order in which seeds take turns."""

"""Small workloads whose writes are enumerated."""

from collections.abc import Mapping

from tests.simulation.objects import DRIVER
from tests.simulation.schedule import Event

T1 = [["e0", "template", "t1"]]
TWO = [["e0", "template", "t1"], ["e1", "template", "t2"]]
CT = [["e0", "template", "ct"]]
SHARED = [["e0", "claim", "u1"]]
BASE: list[Event] = [[0.0, "template+", "a", "t1"], [0.0, "template+", "a", "t2"]]
U1: Event = [4.0, "claim+", "a", "u1"]


def pod(
    when: float,
    name: str,
    entries: list[list[str]],
    lifetime: float = 0,
    grace: float = 5,
    scheduler: str = "",
) -> Event:
    return [when, "pod+", "a", name, entries, lifetime, grace, scheduler]


WORKLOADS: Mapping[str, tuple[str, list[Event]]] = {
    "turnover": (
        "network",
        [*BASE, U1, *(pod(5.0 + 3 * i, f"p{i}", SHARED, 5, 1) for i in range(8))],
    ),
    "job": ("network", [*BASE, pod(5.0, "p0", TWO, 10)]),
    "deletion": ("network", [*BASE, pod(5.0, "p0", TWO), [20.0, "pod-", "a", "p0", None]]),
    "stateful": (
        "network",
        [*BASE, pod(5.0, "p0", T1), [20.0, "replace", "a", "p0"], [40.0, "replace", "a", "p0"]],
    ),
    "early": (
        "network",
        [*BASE, pod(5.0, "p0", T1), [5.05, "replace", "a", "p0"], [5.2, "replace", "a", "p0"]],
    ),
    "shared": (
        "network",
        [
            *(*BASE, U1, pod(5.0, "p0", SHARED, 10, 1), pod(6.0, "p1", SHARED, 0, 1)),
            *([30.0, "foreign", "a", "u1"], [40.0, "pod-", "a", "p1", None]),
        ],
    ),
    "by-hand": (
        "network",
        [
            *(*BASE, U1, pod(5.0, "p0", SHARED, 0, 1), pod(15.0, "p1", SHARED, 5, 1, "none")),
            [30.0, "pod-", "a", "p0", None],
        ],
    ),
    "lost-claim": (
        "network",
        [
            *(*BASE, pod(5.0, "p9", TWO, 0, 1), pod(5.01, "p8", TWO, 0, 1)),
            *(pod(5.5, "p0", TWO, 0, 1), [12.0, "lose", "a", "p0"]),
            [30.0, "pod-", "a", "p0", None],
        ],
    ),
    "late-template": ("network", [pod(5.0, "p0", T1, 5), [12.0, "template+", "a", "t1"]]),
    "leaders": (
        "leaders",
        [*BASE, pod(5.0, "p0", TWO, 10), pod(6.0, "p1", T1), [30.0, "pod-", "a", "p1", None]],
    ),
    # The process that leads next has not seen the pods, but their claims.
    "stale-follower": (
        "leaders",
        [
            *(*BASE, pod(1.0, "p8", TWO), pod(1.1, "p9", TWO)),
            *([10.0, "mute", 0, "pods", 48.0], pod(12.0, "p0", T1), [14.0, "pause", 1, 25.0]),
        ],
    ),
    "steady": ("leaders", [*BASE, *(pod(5.0 + i, f"p{i}", T1, 1, 1) for i in range(35))]),
    "force": (
        "safe",
        [
            *(*BASE, pod(8.0, "p0", T1, 0, 30), [30.0, "force-", "a", "p0"]),
            *(pod(31.0, "p1", T1), pod(32.0, "p2", T1)),
        ],
    ),
    "assist": (
        "assist",
        [*BASE, [4.0, "built-in", 50.0], pod(5.0, "p0", TWO), pod(6.0, "p1", T1, 5)],
    ),
    "auto": (
        "return",
        [
            *(*BASE, [0.5, "built-in", 58.0], pod(2.0, "p0", T1, 5), pod(30.0, "p1", T1)),
            *(pod(45.0, "p2", T1), [50.0, "pod-", "a", "p1", None]),
        ],
    ),
    "taint": (
        "evictions",
        [
            *(*BASE, pod(5.0, "p0", T1), pod(5.5, "p1", T1), pod(6.0, "p2", T1)),
            *([20.0, "taint", 0, 0], [30.0, "untaint", 0, 0]),
        ],
    ),
    "drain": (
        "maintenance",
        [
            *(*BASE, *(pod(5.0 + i / 2, f"p{i}", T1) for i in range(4))),
            [15.0, "maintenance+", "m1", {"driver": DRIVER, "pool": "node-0"}, "WhenAllowed", None],
            *([16.0, "budget", "a", 3], [24.0, "budget", "a", 0]),
            *([35.0, "pod+", "a", "p5", T1, 0, 5, ""], [40.0, "maintenance-", "m1"]),
        ],
    ),
    "drain-now": (
        "maintenance",
        [
            *(*BASE, U1, pod(5.0, "p0", SHARED), pod(5.5, "p1", T1), pod(6.0, "p2", T1)),
            [15.0, "maintenance+", "m1", {"node": "node-1"}, "Never", 30],
            *([20.0, "maintenance~", "m1", "Now"], [30.0, "replace", "a", "p0"]),
            [35.0, "maintenance+", "m2", {"driver": DRIVER, "pool": "node-1"}, "Now", None],
        ],
    ),
    "cluster-template": (
        "templates",
        [
            [0.0, "label", "a", "ml"],
            *([5.0, "cluster-template+", "ct", "ml", 1], pod(8.0, "p0", CT)),
            *([20.0, "cluster-template~", "ct", 2], [28.0, "label", "b", "ml"]),
            *([36.0, "label", "a", ""], [45.0, "cluster-template-", "ct"]),
        ],
    ),
    "rule": (
        "evictions",
        [
            *(*BASE, pod(5.0, "p0", T1), pod(5.5, "p1", T1)),
            *([20.0, "rule+", "r1", "node-0", None, "NoExecute"], pod(25.0, "p2", T1)),
            *([35.0, "rule+", "r2", "node-1", None, "NoExecute"], [45.0, "rule-", "r1"]),
        ],
    ),
}
"""By name: the scenario, and the events."""

"""Schedules: what users do and what breaks, as data, made from a seed."""

import random
from collections.abc import Callable
from typing import Any

from tests.simulation import maintenance
from tests.simulation.scenarios import SCENARIOS, SPAN

Event = list[Any]
"""Time, kind, arguments; all of them JSON."""
NAMESPACES = ("a", "b")
TEMPLATES = ("t1", "t2")
CLAIMS = ("u1", "u2")
PLURALS = ("pods", "resourceclaims", "resourceclaimtemplates", "pods", "resourceclaims")
WINDOWS = (
    *("lost", "lost", "refused", "late", "slow", "429", "500", "503", "504", "cuts", "zombie"),
)


def generate(seed: int, name: str) -> list[Event]:
    """Return the events of a seed in a scenario."""
    chance, scenario = random.Random(f"{seed}/schedule/{name}"), SCENARIOS[name]
    events = _beginning(chance)
    if name == "return":
        events += _takeover(chance)
    else:
        events += [_of_users(chance) for _ in range(chance.randint(10, 50))]
    if name == "restore":
        first = chance.uniform(2, SPAN - 10)
        ahead = chance.choice((0, 3, 30, 10_000))
        events += [[first, "backup", ahead], [chance.uniform(first + 0.5, SPAN), "restore"]]
    if "evictions" in scenario.world.rows:
        events += [_of_devices(chance) for _ in range(chance.randint(2, 12))]
    if "clustertemplates" in scenario.world.rows:
        events += [_of_cluster_templates(chance) for _ in range(chance.randint(3, 12))]
    if "maintenance" in scenario.world.rows:
        events += [maintenance.generate(chance, SPAN) for _ in range(chance.randint(2, 10))]
    if scenario.weights:
        replicas = scenario.world.replicas
        for _ in range(chance.randint(1, 12)):
            kind = chance.choices([*scenario.weights], [*scenario.weights.values()])[0]
            when = round(chance.uniform(1.0, SPAN), 3)
            events.append([when, kind, *FAULTS[kind](chance, replicas)])
    return sorted(events, key=lambda event: float(event[0]))


def _beginning(chance: random.Random) -> list[Event]:
    events: list[Event] = []
    for namespace in NAMESPACES:
        for template in TEMPLATES:
            late = chance.uniform(0.5, 20) if chance.random() < 0.3 else 0.0
            events.append([late, "template+", namespace, template])
        events += [[0.0, "claim+", namespace, one] for one in CLAIMS if chance.random() < 0.7]
    return events


def _takeover(chance: random.Random) -> list[Event]:
    """The other controller sleeps, until after a takeover, and returns as pods come."""
    events: list[Event] = [[0.5, "built-in", chance.uniform(50.0, 65.0)]]
    template = [["e0", "template", "t1"]]
    for index in range(4):
        where = chance.choice(NAMESPACES)
        events.append([2.0 + 6 * index, "pod+", where, f"x{index}", template, 5, 1, ""])
    for index in range(chance.randint(4, 10)):
        when, where = chance.uniform(48.0, 72.0), chance.choice(NAMESPACES)
        events.append([when, "pod+", where, f"y{index}", template, 0, 1, ""])
    return events


def _of_users(chance: random.Random) -> Event:
    """What a user does; few names, so that they collide."""
    time, where = chance.uniform(0.5, SPAN), chance.choice("aab")
    name, roll = f"p{chance.randint(0, 3)}", chance.random()
    if roll < 0.5:
        by_hand = "none" if chance.random() < 0.05 else ""
        lifetime, grace = chance.choice((0, 0, 1, 5, 20, 60)), chance.choice((0, 1, 5, 30))
        return [time, "pod+", where, name, _entries(chance), lifetime, grace, by_hand]
    table: tuple[tuple[float, Event], ...] = (
        (0.68, ["pod-", where, name, chance.choice((None, None, 1, 5))]),
        (0.78, ["force-", where, name]),
        (0.86, ["replace", where, name]),
        (0.91, ["claim+", where, chance.choice(CLAIMS)]),
        (0.94, ["claim-", where, chance.choice(CLAIMS)]),
        (0.97, ["lose", where, name]),
        (0.985, ["foreign", where, chance.choice(CLAIMS)]),
        (1.0, ["template-", where, chance.choice(TEMPLATES)]),
    )
    return [time, *next(event for below, event in table if roll < below)]


def _entries(chance: random.Random) -> list[list[str]]:
    entries = []
    for index in range(chance.choice((1, 1, 2))):
        if chance.random() < 0.35:
            entries.append([f"e{index}", "claim", chance.choice(("u1", "u1", "u1", "u2"))])
        else:
            entries.append([f"e{index}", "template", chance.choice(TEMPLATES)])
    return entries


def _of_cluster_templates(chance: random.Random) -> Event:
    time, name = chance.uniform(0.5, SPAN), chance.choice(("t1", "ct"))
    team = chance.choice((None, "ml"))
    events: tuple[Event, ...] = (
        ["cluster-template+", name, team, chance.randint(1, 2)],
        ["cluster-template+", name, team, chance.randint(1, 2)],
        ["cluster-template~", name, chance.randint(1, 3)],
        ["cluster-template-", name],
        ["label", chance.choice(NAMESPACES), chance.choice(("ml", ""))],
    )
    return [time, *chance.choice(events)]


def _of_devices(chance: random.Random) -> Event:
    time = chance.uniform(3, SPAN)
    kind = chance.choice(("rule+", "rule+", "rule-", "taint", "taint", "untaint", "retaint"))
    if kind in ("taint", "untaint"):
        return [time, kind, chance.randrange(2), chance.randrange(2)]
    pool, device = (
        chance.choice((None, "node-0", "node-1")),
        chance.choice((None, "gpu-0", "gpu-1")),
    )
    if pool is None and device is None:
        pool = "node-0"
    effect = chance.choice(("NoExecute", "NoExecute", "NoSchedule"))
    return [time, kind, chance.choice(("r1", "r2")), pool, device, effect]


FAULTS: dict[str, Callable[[random.Random, int], Event]] = {
    "window": lambda chance, _: [
        *(chance.choice(WINDOWS), chance.choice((0.1, 0.3, 0.8)), chance.uniform(2, 40)),
    ],
    "cut": lambda chance, _: [chance.choice(PLURALS)],
    "compact": lambda chance, _: [chance.choice(PLURALS)],
    "stall": lambda chance, _: [
        *(chance.randrange(2), chance.choice(PLURALS), chance.uniform(1, 60)),
    ],
    "mute": lambda chance, replicas: [
        *(chance.randrange(replicas), chance.choice(PLURALS), chance.uniform(10, 120)),
    ],
    "restart-api": lambda chance, _: [chance.randrange(2)],
    "kill": lambda chance, replicas: [
        *(chance.randrange(replicas), chance.choice((0.1, 3.0, 20.0))),
    ],
    "stop": lambda chance, replicas: [
        *(chance.randrange(replicas), chance.choice((0.1, 3.0, 20.0))),
    ],
    "pause": lambda chance, replicas: [
        chance.randrange(replicas),
        chance.choice((1.0, 6.0, 11.0, 14.0, 16.0, 30.0, 90.0)),
    ],
    "partition": lambda chance, replicas: [chance.randrange(replicas), chance.uniform(1, 40)],
    "skew": lambda chance, replicas: [
        chance.randrange(replicas),
        chance.choice((-3600, -30, -5, 5, 30, 3600)),
    ],
    "kubelet": lambda chance, _: [
        *(chance.randrange(2), chance.choice((5.0, 20.0, 30.0, 60.0, 200.0))),
    ],
    "built-in": lambda chance, _: [chance.uniform(10, 90)],
}
"""The arguments of each kind of fault."""

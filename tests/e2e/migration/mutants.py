"""Let the worlds find faults that are planted into `kubectl dra migrate`, each within a minute.

python -m tests.e2e.migration.mutants [NAME…]
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from dragoman.model import fields
from dragoman_toolkit.migration.counterparts import Counterpart
from dragoman_toolkit.migration.settings import Settings
from dragoman_toolkit.migration.sources import NodeSource, Sources
from dragoman_toolkit.migration.steps import NodeSteps, Step
from tests.e2e.migration import worlds
from tests.e2e.migration.fleet import AMD, GAUDI, Fleet, fleet

SEEDS = range(1, 400)
SETTLE = 10.0
"""Seconds until a wait of a mutant is given up."""
MOST = 60
"""Seconds after which no further world is tried."""


def main(wanted: Sequence[str]) -> int:
    """Hunt mutants; return how many no world finds."""
    missed = 0
    with worlds.control_plane() as plane, patch.multiple(worlds, SETTLE=SETTLE, MOST_TIMES=8):
        for number, (name, (plant, fit)) in enumerate(MUTANTS.items()):
            if wanted and name not in wanted:
                continue
            started = time.monotonic()
            found = "MISSED"
            with plant():
                for seed in (one for one in SEEDS if fit(fleet(one))):
                    if problems := worlds.play(plane, seed, f"fault-{number}-{seed}").problems:
                        found = f"seed {seed}: {problems[0]}"
                    if problems or time.monotonic() - started > MOST:
                        break
            missed += found == "MISSED"
            print(f"{name}: {time.monotonic() - started:.0f} s, {found}", flush=True)
    return missed


# What is planted.


def _delegates_beside_the_plugin() -> Any:
    original = Sources._on

    def on(self: Sources, resource: str, node: Any, devices: int) -> Any:
        found = original(self, resource, node, devices)
        if found and found.source is NodeSource.BOTH:
            return replace(found, source=NodeSource.DRA, now=devices, replicas=1)
        return found

    return patch.object(Sources, "_on", on)


def _reads_capacity() -> Any:
    def part(document: Any, *path: str) -> Any:
        return fields.part(document, *("capacity" if one == "allocatable" else one for one in path))

    return patch("dragoman_toolkit.migration.sources.part", part)


def _forgets_replicas() -> Any:
    return patch.object(Settings, "share", lambda *_: None)


def _selects_without_the_driver() -> Any:
    def selectors(self: Counterpart) -> tuple[str, ...]:
        return self.given or (self.condition or f"device.driver == '{self.driver}'",)

    return patch.object(Counterpart, "selectors", property(selectors))


def _reordered(moved: str, before: str) -> Any:
    original = NodeSteps.forward

    def forward(self: NodeSteps, first: str = "cordon") -> Iterator[Step]:
        found = [*original(self, first)]
        place = next((i for i, one in enumerate(found) if one.does == before), None)
        step = next((one for one in found if one.does == moved), None)
        if place is not None and step is not None:
            found.remove(step)
            found.insert(place, step)
        return iter(found)

    return patch.object(NodeSteps, "forward", forward)


def _any(_: Fleet) -> bool:
    return True


def _both(world: Fleet) -> bool:
    return any(one.source == "both" for one in world.machines)


def _shared(world: Fleet) -> bool:
    return any(one.replicas > 1 for one in world.machines)


def _mixed(world: Fleet) -> bool:
    """Whether a node has devices of several drivers, one of which names them by attributes."""
    return any({AMD, GAUDI} & {*one.kinds} and len(one.kinds) > 1 for one in world.machines)


MUTANTS: dict[str, tuple[Callable[[], Any], Callable[[Fleet], bool]]] = {
    "delegate at allocatable > 0": (_delegates_beside_the_plugin, _both),
    "count capacity for allocatable": (_reads_capacity, _any),
    "forget replicas": (_forgets_replicas, _shared),
    "class without driver": (_selects_without_the_driver, _mixed),
    "uncordon before the pool is complete": (lambda: _reordered("uncordon", "wait-devices"), _any),
    "dra before none": (lambda: _reordered("source-dra", "source-none"), _any),
}
"""How each is planted, and the worlds in which it can be found."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

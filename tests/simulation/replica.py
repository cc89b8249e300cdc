"""A process of the operator in the simulation: the product, in surroundings of its own."""

import asyncio
import contextvars
import random
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import kopf

import dragoman.handlers  # noqa: F401 — registers them
from dragoman.cli.server import without_events
from dragoman.kube.client import Client
from dragoman.kube.informer import Informer
from dragoman.process.controllers import CONTROLLERS
from dragoman.process.operator import Operator
from dragoman.surroundings import Surroundings, using
from tests.simulation.loop import BEGIN, EPOCH, LIFELINE, Lifeline
from tests.simulation.transport import Instance, NoCredentials, SimulatedPool

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

HANDLERS = without_events(kopf.get_default_registry())[1]


@dataclass(eq=False)
class Replica:
    """A process of the operator."""

    sim: "Simulation"
    index: int  # Which replica of the Deployment it is
    name: str
    instance: Instance  # The API server that it talks to
    skew: float = 0.0  # How far its wall clock is ahead
    lifeline: Lifeline = field(default_factory=Lifeline)
    operator: Operator | None = None
    task: "asyncio.Task[None] | None" = None
    ending: "asyncio.Task[None] | None" = None
    renewed: float = float("-inf")  # When its last successful renewal was sent
    lease_sent: float = float("-inf")
    stopping: bool = False
    born: float = 0.0
    observed: list[Informer[Any]] = field(default_factory=list)

    @property
    def dead(self) -> bool:
        return self.lifeline.dead

    @property
    def paused(self) -> bool:
        return self.lifeline.paused

    def surroundings(self) -> Surroundings:
        """Return its clocks and random numbers."""
        sim = self.sim
        chance: random.Random = sim.product
        return Surroundings(
            monotonic=sim.loop.time,
            unix=lambda: EPOCH - BEGIN + sim.loop.time() + self.skew,
            cpu=lambda: 0.0,
            chance=chance,
            host=lambda: self.name,
            threads=False,
            alone=False,
        )

    def start(self) -> None:
        """Start it; its callbacks belong to it."""
        self.task = self.sim.loop.create_task(self._run(), context=self._context())
        self.task.add_done_callback(self._ended)

    def stop(self, after: float) -> None:
        """End it cleanly, as in a rolling update."""
        self.stopping = True
        self.ending = self.sim.loop.create_task(self._stop(after), context=self._context())

    def _ended(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.sim.violate("fault", f"{self.name} ended: {error!r}")

    def _context(self) -> contextvars.Context:
        context = contextvars.Context()
        context.run(LIFELINE.set, self.lifeline)
        return context

    def observe_informers(self) -> None:
        """Let the invariants have each change of a store, from its first list on."""
        if self.operator is None:
            return
        for informer in self.operator.informers._found.values():
            if informer not in self.observed:
                self.observed.append(informer)
                informer.observers.append(partial(self.sim.invariants.stored, self, informer))

    async def _run(self) -> None:
        sim = self.sim
        with using(self.surroundings()):
            client = Client(NoCredentials(), transport=SimulatedPool(sim, self))
            rows = [row for row in CONTROLLERS if row.name in sim.rows]
            self.operator = operator = Operator(sim.settings, HANDLERS, client, rows)
            await operator.start(SimpleNamespace(operator=operator))
            await operator.stopping.wait()
        if not self.stopping:
            sim.violate("fault", f"{self.name} ended: {operator.fault}")

    async def _stop(self, after: float) -> None:
        assert self.task is not None
        assert self.operator is not None
        with using(self.surroundings()):
            self.task.cancel()
            await self.operator.stop()
        self.sim.loop.world_later(0.0, self.sim.kill, self, after)

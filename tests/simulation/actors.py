"""What all other parts of a cluster have in common: caches that lag, and steps that are woken."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from tests.simulation.objects import Json, Key
from tests.simulation.rules import Refusal

if TYPE_CHECKING:
    from tests.simulation.simulation import Simulation

Result = TypeVar("Result")


class View:
    """A cache that lags behind etcd."""

    def __init__(self, sim: "Simulation", *plurals: str) -> None:
        self.sim, self.plurals = sim, plurals
        self.reset()

    def reset(self) -> None:
        """List again."""
        server = self.sim.server
        self._state = {plural: dict(server.of(plural)) for plural in self.plurals}
        self._at = {plural: len(server.history.get(plural, ())) for plural in self.plurals}

    def of(self, plural: str) -> dict[Key, Json]:
        return self._state[plural]

    def catch_up(self, lag: float) -> None:
        """Take in what is older than so many seconds."""
        until = self.sim.now - lag
        for plural, state in self._state.items():
            history = self.sim.server.history.get(plural, ())
            index = self._at[plural]
            while index < len(history) and history[index].time <= until:
                commit = history[index]
                if commit.kind == "DELETED":
                    state.pop(commit.key, None)
                else:
                    state[commit.key] = commit.new
                index += 1
            self._at[plural] = index

    @property
    def behind(self) -> bool:
        history = self.sim.server.history
        return any(at < len(history.get(plural, ())) for plural, at in self._at.items())


class Actor:
    """A part of the cluster that acts upon changes.

    Args:
        sim: The simulation.
        watched: Resources whose changes wake it.
    """

    name = "actor"

    def __init__(self, sim: "Simulation", *watched: str) -> None:
        self.sim, self.server, self.loop = sim, sim.server, sim.loop
        self.chance = sim.world
        self.view = View(sim, *watched)
        self._woken = False
        sim.server.observers.append(self._changed)

    def wake(self, delay: float | None = None) -> None:
        """Take a step soon."""
        if self._woken or self.sim.over:
            return
        self._woken = True
        self.loop.world_later(self.chance.uniform(0.01, 0.2) if delay is None else delay, self._run)

    def step(self) -> None:
        """Do what there is to do."""

    def concerns(self, _commit: Any) -> bool:
        return True

    def later(self, low: float, high: float, function: Callable[..., object], *args: Any) -> None:
        self.loop.world_later(self.chance.uniform(low, high), function, *args)

    def lag(self) -> float:
        return self.sim.profile.actor_lag(self.chance)

    def attempt(self, function: Callable[..., Json], *arguments: Any) -> Json | Refusal:
        """Send a request; return the refusal where there is one."""
        try:
            return function(*arguments)
        except Refusal as refusal:
            return refusal

    def _changed(self, commit: Any) -> None:
        if commit.plural in self.view.plurals and self.concerns(commit):
            self.wake()

    def _run(self) -> None:
        self._woken = False
        if not self.sim.over:
            self.step()
            if self.view.behind:
                self.wake(self.chance.uniform(0.1, 0.5))

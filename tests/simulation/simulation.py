"""One simulated cluster: the product's operators on the model, and what must hold."""

import asyncio
import hashlib
import random
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from dragoman.kube.http.response import HttpError
from dragoman.settings import Settings
from tests.simulation.controllers import ClaimController, Collector
from tests.simulation.faults import Faults
from tests.simulation.fixedpoint import check
from tests.simulation.invariants import Invariants
from tests.simulation.kubelet import Kubelet
from tests.simulation.logs import Captured
from tests.simulation.loop import BEGIN, EPOCH, IdleError, LivelockError, SimulatedLoop, as_loop
from tests.simulation.objects import DRIVER, timestamp
from tests.simulation.replica import Replica
from tests.simulation.scheduler import Scheduler
from tests.simulation.server import Server
from tests.simulation.transport import Instance, Watch, settled

NAMESPACE = "dragoman-system"
FIRST_VERSIONS = (100, 900, 9_800)
"""Versions with which clusters begin; a run takes some hundred."""
DOWNTIME = 2.0
"""Seconds without any API server while etcd is restored."""
RESTORED = frozenset({"dangling", "live-claim", "stolen", "flap", "used-claim"})
"""What a restored backup excuses for a minute: its contents are news to everybody."""


@dataclass(frozen=True)
class Profile:
    """How fast everything is."""

    latency_mean: float = 0.004
    lag_mean: float = 0.01
    shuffle: float = 0.0
    slow_collection: float = 0.1

    def latency(self, chance: random.Random) -> float:
        """Return the seconds of one way of a request."""
        return 0.0005 + chance.expovariate(1 / self.latency_mean)

    def lag(self, chance: random.Random) -> float:
        """Return the seconds that a watch cache is behind."""
        return chance.expovariate(1 / self.lag_mean)

    def actor_lag(self, chance: random.Random) -> float:
        """Return the seconds that the cache of another client is behind."""
        return 0.0 if chance.random() < 0.5 else chance.expovariate(1 / 0.2)

    def collection(self, chance: random.Random) -> float:
        """Return the seconds until the garbage collector deletes."""
        slow = chance.random() < self.slow_collection
        return chance.uniform(20, 60) if slow else chance.uniform(0.05, 3.0)

    def scheduler_pause(self, chance: random.Random) -> float:
        """Return the longest time between two requests of a binding cycle."""
        return 15.0 if chance.random() < 0.02 else 0.05


@dataclass(frozen=True)
class World:
    """What a scenario consists of, besides its events."""

    settings: Settings
    replicas: int = 1
    nodes: int = 2
    devices: int = 2  # Of each node
    built_in: bool = False  # Whether the built-in claim controller runs
    forgets: float = 0.0  # How often it forgets a pod
    rows: tuple[str, ...] = ("claims",)  # Controllers of the operator


@dataclass(frozen=True)
class Violation:
    """An invariant that does not hold."""

    time: float
    kind: str
    text: str

    def __str__(self) -> str:
        return f"at {self.time} s: {self.kind}: {self.text}"


class ViolatedError(Exception):
    """The run has ended, because an invariant does not hold."""


@dataclass
class Trace:
    """What happened, and its digest."""

    lines: list[tuple[object, ...]] = field(default_factory=list)
    _digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, *what: object) -> None:
        self.lines.append(what)
        self._digest.update(repr(what).encode())

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()[:16]


class Simulation:
    """One run; `violations` is empty where all invariants hold.

    Random numbers come in streams, so that a change in one part does not move the others.
    """

    def __init__(self, seed: int, world: World, profile: Profile) -> None:
        self.seed, self.config, self.profile = seed, world, profile
        self.settings, self.rows, self.devices = world.settings, world.rows, world.devices
        self.safe = self.settings.safe_release and self.settings.claims == "own"
        self.network = random.Random(f"{seed}/network")
        self.product = random.Random(f"{seed}/product")
        self.world = random.Random(f"{seed}/world")
        self.loop = SimulatedLoop(random.Random(f"{seed}/order"), profile.shuffle)
        self.over = False
        self.violations: list[Violation] = []
        self.trace = Trace()
        self.restored = float("-inf")
        self.down_until = 0.0  # Until when no API server answers
        self.settled_after = -1.0
        self._names = 0

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return self.loop.time() - BEGIN

    # -- life

    def __enter__(self) -> Self:
        asyncio.set_event_loop(as_loop(self.loop))
        self.logs = Captured()
        self.logs.__enter__()
        # Versions get another digit in some runs: they are numbers, whatever they look like.
        first = random.Random(f"{self.seed}/version").choice(FIRST_VERSIONS)
        self.server = Server(random.Random(f"{self.seed}/server"), lambda: self.now, first)
        self.faults = Faults(self)
        self.invariants = Invariants(self)
        self.instances = [Instance(self, f"api-{index}") for index in range(2)]
        self.server.observers += [
            self.invariants.commit,
            *(instance.commit for instance in self.instances),
        ]
        self._install()
        self.scheduler = Scheduler(self)
        self.kubelets = {name: Kubelet(self, name) for name in self._nodes}
        self.collector = Collector(self)
        forgets = self.config.forgets
        self.built_in = ClaimController(self, forgets) if self.config.built_in else None
        self.replicas: list[Replica] = []
        for index in range(self.config.replicas):
            self.start(index)
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _one: object, _where: TracebackType | None
    ) -> None:
        self.over = True
        self.loop.forget()
        asyncio.set_event_loop(None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for task in asyncio.all_tasks(as_loop(self.loop)):
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                _close(task)
            self.loop.close()
        self.logs.__exit__(None, None, None)  # a process that has ended says nothing

    def _install(self) -> None:
        ready = {
            "type": "Ready",
            "status": "True",
            "lastTransitionTime": timestamp(EPOCH - 3600),
        }
        for name in self._nodes:
            body = {
                "metadata": {"name": name},
                "spec": {},
                "status": {"conditions": [ready]},
            }
            self.server.create("setup", "nodes", "", body)
        for index, name in enumerate(self._nodes):
            pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
            devices = [{"name": f"gpu-{device}"} for device in range(self.devices)]
            spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
            slice_ = {"metadata": {"name": f"slice-{index}"}, "spec": spec}
            self.server.create("setup", "resourceslices", "", slice_)
        for name in ("a", "b"):
            self.server.create("setup", "namespaces", "", {"metadata": {"name": name}})

    @property
    def _nodes(self) -> list[str]:
        return [f"node-{index}" for index in range(self.config.nodes)]

    def node_names(self, chance: random.Random) -> list[str]:
        """Return the names of all nodes in a random order."""
        names = self._nodes
        chance.shuffle(names)
        return names

    # -- processes

    def start(self, index: int) -> None:
        """Start a process of the operator."""
        self._names += 1
        instance = self.instances[index % len(self.instances)]
        replica = Replica(self, index, f"dragoman-{self._names}", instance, born=self.now)
        self.replicas.append(replica)
        replica.start()
        self.say("start", replica.name)

    def kill(self, replica: Replica, downtime: float = 3.0) -> None:
        """End a process as SIGKILL does; another one follows."""
        if replica.dead or self.over:
            return
        replica.lifeline.dead = True
        self.say("kill", replica.name)
        for watch in self.watches_of(replica):
            watch.open = False
            self.forget_watch(watch)
        self.loop.world_later(downtime, self.start, replica.index)

    def stop(self, replica: Replica, downtime: float = 0.5) -> None:
        """End a process cleanly; another one follows."""
        if replica.dead or replica.paused or replica.operator is None or replica.stopping:
            return
        self.say("stop", replica.name)
        replica.stop(downtime)

    def pause(self, replica: Replica, seconds: float) -> None:
        """Let a process stand still, as SIGSTOP does."""
        if replica.dead or replica.paused:
            return
        replica.lifeline.paused = True
        self.say("pause", replica.name, seconds)
        self.loop.world_later(seconds, self.loop.resume, replica.lifeline)

    @property
    def live(self) -> Sequence[Replica]:
        """The processes that have not been killed."""
        return [replica for replica in self.replicas if not replica.dead]

    def watches_of(self, replica: Replica | None = None) -> list[Watch]:
        """Return the open watches of a process, or of all."""
        return [
            watch
            for instance in self.instances
            for watch in instance.watches
            if replica in (None, watch.pool.replica)
        ]

    def forget_watch(self, watch: Watch) -> None:
        """Forget a watch that is closed."""
        for instance in self.instances:
            if watch in instance.watches:
                instance.watches.remove(watch)

    def restore(self) -> None:
        """Restore etcd from the backup, and restart everything that is not the operator.

        API servers are down for a while: every connection breaks, and what was on its way is lost.
        """
        self.server.restore()
        self.down_until = self.now + DOWNTIME
        self.say("restore", self.server.rv)
        for instance in self.instances:
            instance.roll_back(self.server.rv)
        for watch in self.watches_of():
            watch.cut(HttpError("connection reset"))
        self.scheduler.reset()
        for kubelet in self.kubelets.values():
            kubelet.reset()
        if self.built_in is not None:
            self.built_in.reset()
        self.restored = self.now
        self.invariants.forget_lease()

    # -- time

    def run_until(self, time: float) -> None:
        """Let time pass; raise ViolatedError once an invariant does not hold."""
        passed: asyncio.Future[None] = self.loop.create_future()
        handle = self.loop.world_later(max(0.0, time - self.now), settled, passed)
        try:
            self.loop.run_until_complete(passed)
        except IdleError:
            self.violate("idle", "nothing will ever happen")
        except LivelockError as error:
            self.violate("livelock", str(error))
        except RuntimeError:
            if not self.violations:
                raise
        handle.cancel()
        if self.violations:
            raise ViolatedError

    def settle(self, quiet: float, bound: float) -> None:
        """End faults and users; within the bound nothing is written any more."""
        begun = self.faults.clear()
        for instance in self.instances:
            instance.stalled.clear()
        for kubelet in self.kubelets.values():
            if kubelet.down:
                kubelet.back()
        if self.built_in is not None:
            self.built_in.awake()
        while self.now - max(self.invariants.last_write, begun) < quiet:
            if self.now - begun > bound:
                self.violate("unsettled", f"objects are still written after {bound:.0f} s")
                raise ViolatedError
            self.run_until(max(self.invariants.last_write, begun) + quiet + 0.01)
        self.settled_after = self.invariants.last_write - begun
        check(self)
        if self.violations:
            raise ViolatedError

    # -- what happens

    def say(self, *what: object) -> None:
        """Add a line to the trace."""
        self.trace.add(round(self.now, 4), *what)

    def violate(self, kind: str, text: str) -> None:
        """Note that an invariant does not hold, and end the run."""
        if kind in RESTORED and self.now - self.restored < 60:
            self.say("tolerated", kind, text)
            return
        if not self.over:
            self.violations.append(Violation(round(self.now, 3), kind, text))
            self.say("VIOLATION", kind, text)
            self.loop.stop()


def _close(task: "asyncio.Task[object]") -> None:
    try:
        coroutine = task.get_coro()
        if coroutine is not None:
            coroutine.close()
    except BaseException:  # noqa: BLE001 — a dead process says nothing
        pass

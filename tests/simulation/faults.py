"""What befalls requests and events: windows of the schedule, and single planned ones."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dragoman.kube.http.request import Request
from dragoman.kube.http.response import HttpError, Response
from tests.simulation.requests import Answer, place
from tests.simulation.rules import Refusal
from tests.simulation.server import Commit
from tests.simulation.transport import Watch

if TYPE_CHECKING:
    from tests.simulation.replica import Replica
    from tests.simulation.simulation import Simulation

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
WATCHED = ("pods", "resourceclaims", "resourceclaimtemplates")
STALE = 25.0
"""Seconds for which a planned fault keeps a watch behind."""


@dataclass
class Fate:
    """What becomes of one request."""

    kill: str = ""  # Whether its process dies "before" or "after" it
    refused: bool = False
    status: Answer | None = None  # Answered instead of being done
    status_after: Answer | None = None  # Answered although it was done
    lost: float = 0.0  # Seconds until the client notices that there is no answer
    late: float = 0.0  # Seconds that the answer takes longer
    early: float = 0.0  # Seconds that the request takes longer
    zombie: float = 0.0  # Seconds after which the server does what its client has given up


@dataclass(frozen=True)
class Written:
    """A write of an operator."""

    index: int
    actor: str
    method: str
    path: str


@dataclass(frozen=True)
class Window:
    """A while in which requests may fail."""

    until: float
    kind: str
    probability: float


def failure(code: int, reason: str, retry: str | None = None) -> Answer:
    return code, Refusal(code, reason, "injected").body(), retry


def _of_window(kind: str, chance: random.Random, *, write: bool) -> Fate:
    match kind:
        case "lost":
            return Fate(lost=chance.choice((0.05, 1.0, 30.0)))
        case "refused":
            return Fate(refused=True)
        case "late":
            return Fate(late=chance.uniform(0.1, 8.0))
        case "slow":
            return Fate(early=chance.uniform(0.1, 8.0))
        case "zombie" if write:
            return Fate(zombie=chance.uniform(0.5, 25.0))
        case "429":
            return Fate(status=failure(429, "TooManyRequests", "1"))
        case "500":
            return Fate(status=failure(500, "InternalError"))
        case "503":
            return Fate(status=failure(503, "ServiceUnavailable"))
        case "504" if write:
            return Fate(status_after=failure(504, "Timeout"))
    return Fate()


FATES: dict[str, Callable[[], Fate]] = {
    "crash-before": lambda: Fate(kill="before"),
    "crash-after": lambda: Fate(kill="after"),
    "lost": lambda: Fate(lost=1.0),
    "lost-slow": lambda: Fate(lost=30.0),
    "zombie": lambda: Fate(zombie=6.0),
    "refused": lambda: Fate(status=failure(500, "InternalError")),
    "timeout": lambda: Fate(status_after=failure(504, "Timeout")),
}
"""Planned fates that concern the request alone."""


@dataclass(eq=False)
class Faults:
    """The faults of a simulation."""

    sim: "Simulation"
    windows: list[Window] = field(default_factory=list)
    plan: dict[int, str] = field(default_factory=dict)  # Number of an operator's write -> kind
    written: list[Written] = field(default_factory=list)
    cut_off: dict[str, float] = field(default_factory=dict)  # Process -> until when
    muted: dict[tuple[str, str], float] = field(default_factory=dict)  # Process, plural -> until
    _missing: dict[str, int] = field(default_factory=dict)  # Plural -> changes still to be missed
    # Process -> until when renewals are answered late, until when refused
    _renewals: dict[str, tuple[float, float]] = field(default_factory=dict)

    def request(self, replica: "Replica", request: Request) -> Fate:
        """Return what becomes of a request."""
        sim, now = self.sim, self.sim.now
        counted = "/leases" not in request.target and "/events" not in request.target
        write = request.method in WRITES and counted
        if write:
            path = request.target.partition("?")[0]
            index = len(self.written) + 1
            self.written.append(Written(index, replica.name, request.method, path))
            if index in self.plan:
                return self._planned(self.plan[index], replica, place(path)[0])
        slow, refused = self._renewals.get(replica.name, (0.0, 0.0))
        if "/leases/dragoman" in request.target and now < refused:
            if now < slow:  # within what is left of the deadline
                return Fate(late=6.0) if request.method == "PUT" else Fate()
            return Fate(refused=True)
        if self.cut_off.get(replica.name, 0.0) > now:
            return Fate(refused=True)
        for window in self.windows:
            if window.until > now and sim.network.random() < window.probability:
                return _of_window(window.kind, sim.network, write=request.method in WRITES)
        return Fate()

    def watch(self, replica: "Replica") -> Response | HttpError | None:
        """Return how the opening of a watch fails, None where it does not."""
        now, chance = self.sim.now, self.sim.network
        if self.cut_off.get(replica.name, 0.0) > now:
            return HttpError("connection refused")
        for window in self.windows:
            if window.until <= now or window.kind not in ("429", "500", "503", "refused"):
                continue
            if chance.random() >= window.probability:
                continue
            if window.kind == "refused":
                return HttpError("connection refused")
            code, body, retry = failure(int(window.kind), "Injected", "1")
            return Response(code, retry if code == 429 else None, body)
        return None

    def misses(self, commit: Commit) -> bool:
        """Whether connections break before an event, which nobody is told of."""
        left = self._missing.get(commit.plural, 0)
        self._missing[commit.plural] = max(0, left - 1)
        return left > 0

    def held(self, watch: Watch) -> float:
        """Return until when a watch receives nothing."""
        return self.muted.get((watch.pool.replica.name, watch.plural), 0.0)

    def lifetime(self) -> float:
        """Return after how many seconds a new watch breaks; 0 for never."""
        cuts = any(one.kind == "cuts" and one.until > self.sim.now for one in self.windows)
        return self.sim.network.uniform(2.0, 40.0) if cuts else 0.0

    def clear(self) -> float:
        """End all faults; return when the last watch receives again what it was kept from."""
        until = max([self.sim.now, *self.muted.values()])
        for kept in (self.cut_off, self.muted, self._missing, self._renewals):
            kept.clear()
        self.windows.clear()
        return until

    def _planned(self, kind: str, replica: "Replica", plural: str) -> Fate:
        if kind in FATES:
            return FATES[kind]()
        until = self.sim.now + STALE
        behind = {"stale": (*WATCHED, plural), "stale-pods": ("pods",)}
        behind["stale-claims"] = ("resourceclaims",)
        for one in behind.get(kind, ()):  # their watches stay as they are before the write
            self.muted[replica.name, one] = until
        match kind:
            case "stale-crash":  # the next process starts on an API server that lags
                for one in (*WATCHED, plural):
                    replica.instance.stalled[one] = until
                return Fate(kill="after")
            case "missed":
                self._missing[plural] = 2
            case "late-renewal":
                self._renewals[replica.name] = (self.sim.now + 5.0, self.sim.now + 40.0)
            case "pause":
                self.sim.pause(replica, 20.0)
            case _ if kind not in behind:
                raise ValueError(f"no kind of fault: {kind}")
        return Fate()

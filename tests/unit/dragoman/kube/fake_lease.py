"""Candidates for one Lease, in virtual time, on a server that can be cut off from each of them."""

import asyncio
import copy
from dataclasses import dataclass, field
from typing import Any

from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.leaderelection import LeaderElectionConfig, LeaderElector

Json = dict[str, Any]


@dataclass
class LeaseServer:
    """Keeps one Lease and checks resourceVersions, like the API server."""

    lease: Json | None = None
    version: int = 0

    def read(self) -> Json:
        """GET."""
        if self.lease is None:
            raise ApiError(404, "NotFound", "no lease")
        return copy.deepcopy(self.lease)

    def create(self, body: Json) -> Json:
        """POST."""
        if self.lease is not None:
            raise ApiError(409, "AlreadyExists", "there is one")
        return self._store(body)

    def replace(self, body: Json) -> Json:
        """PUT."""
        stored = self.read()
        if body["metadata"]["resourceVersion"] != stored["metadata"]["resourceVersion"]:
            raise ApiError(409, "Conflict", "the object has been modified")
        return self._store(body)

    @property
    def holder(self) -> str:
        """Who holds the Lease."""
        return "" if self.lease is None else str(self.lease["spec"]["holderIdentity"])

    def by_hand(self, **spec: Any) -> None:
        """Change the Lease as a person would."""
        stored = self.read()
        self._store({**stored, "spec": {**stored["spec"], **spec}})

    def _store(self, body: Json) -> Json:
        self.version += 1
        lease = copy.deepcopy(body)
        lease["metadata"]["resourceVersion"] = str(self.version)
        self.lease = lease
        return self.read()


@dataclass
class Line(Client):
    """One candidate's connection to the server: slow, refused, dead, or dead on the way back.

    Attributes:
        latency: Seconds for each way.
        refusal: Answered instead of doing anything.
        silent: Nothing is ever answered, nor done.
        loses_answers: Everything is done, and its answer is lost.
    """

    server: LeaseServer = field(default_factory=LeaseServer)
    latency: float = 0.01
    refusal: ApiError | None = None
    silent: bool = False
    loses_answers: bool = False

    async def get(self, path: str, **query: str) -> Json:  # noqa: ARG002 — there is one Lease
        """GET."""
        return await self._carry("read")

    async def post(
        self,
        _path: str,
        body: Any,
        *,
        dry_run: bool = False,  # noqa: ARG002 — a Lease is only created
        strict: bool = False,  # noqa: ARG002 — as above
    ) -> Json:
        """POST."""
        return await self._carry("create", body)

    async def put(self, _path: str, body: Any) -> Json:
        """PUT."""
        return await self._carry("replace", body)

    async def _carry(self, what: str, *body: Any) -> Json:
        await asyncio.sleep(3600 if self.silent else self.latency)
        if self.refusal is not None:
            raise self.refusal
        answer: Json = getattr(self.server, what)(*body)
        if self.loses_answers:
            raise ApiError(0, "NoAnswer", "connection reset")
        await asyncio.sleep(3600 if self.silent else self.latency)
        return answer


class Candidate:
    """An elector, and when it led: intervals of the loop's time.

    Args:
        server: Where the Lease is.
        name: Its identity.
        terms: How it holds the Lease.
    """

    def __init__(
        self, server: LeaseServer, name: str, terms: LeaderElectionConfig | None = None
    ) -> None:
        self.line = Line(credentials=None, server=server)  # type: ignore[arg-type]  # never asked
        self.leader_elector = LeaderElector(
            self.line, "ns", "lease", terms or LeaderElectionConfig(), identity=name
        )
        self.led: list[tuple[float, float]] = []
        self.works = False
        self._task = asyncio.create_task(self.leader_elector.run(self._lead))

    async def _lead(self) -> None:
        clock = asyncio.get_running_loop().time
        self.works, began = True, clock()
        try:
            await asyncio.Event().wait()
        finally:
            self.works = False
            self.led.append((began, clock()))

    @property
    def leading(self) -> bool:
        """Whether a worker would write now."""
        return self.works and self.leader_elector.leading

    async def stop(self) -> None:
        """Stop in order."""
        self._task.cancel()
        await asyncio.wait({self._task})

    def die(self) -> None:
        """Vanish without a word: nothing that it does arrives from now on."""
        self.line.silent = True
        self.leader_elector._renewed = float("-inf")

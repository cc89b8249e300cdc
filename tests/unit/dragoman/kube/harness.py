"""A reflector of claims that is fed by a scripted server."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from dragoman.cluster.clusterstate import ClusterState
from dragoman.kube.client import Client
from dragoman.kube.informer import Informer
from dragoman.kube.kubeconfig import CredentialsUnavailableError
from dragoman.kube.reflector import Reflector
from dragoman.kube.resources import Resource
from dragoman.model.claim import Claim
from tests.support.scriptedserver import Answer, Json, ScriptedServer, eventually

CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims")


@dataclass
class Token:
    """Credentials whose token can be exchanged."""

    server: str
    current: str = "first"
    renewed: int = 0
    missing: int = 0
    certificate_files: tuple[str, ...] = ()
    server_name: str = ""
    proxy: str = ""
    impersonation: tuple[tuple[str, str], ...] = ()

    async def authorization(self) -> str:
        """Return the header; while some are `missing`, there is none."""
        if self.missing:
            self.missing -= 1
            raise CredentialsUnavailableError("the token file is empty")
        return f"Bearer {self.current}"

    async def renew(self) -> None:
        """Read the token anew."""
        self.renewed += 1
        self.current = "second"

    def ssl_context(self) -> bool:
        """Return what aiohttp wants."""
        return True


@dataclass
class Feed:
    """A reflector of claims, and what it said."""

    server: ScriptedServer
    token: Token
    api: Client
    world: ClusterState = field(default_factory=ClusterState)
    deleted: list[str] = field(default_factory=list)
    informer: Informer[Claim] = field(init=False)

    def reflector(self) -> Reflector:
        """Return the reflector of all claims."""
        self.informer = Informer(
            self.api,
            CLAIMS,
            Claim.parse,
            [self._note],
            store=self.world.claims,
            is_own_write=self.world.own_writes.take,
            rolled_back=self.world.roll_back,
        )
        return Reflector(self.informer, self._handle)

    async def _handle(self, event: Mapping[str, Any]) -> None:
        self.informer.handle(event)

    def _note(self, old: Claim | None, new: Claim | None) -> None:
        if old is not None and new is None:
            self.deleted.append(old.metadata.name)

    @property
    def names(self) -> set[str]:
        """The claims that are known."""
        return {fact.metadata.name for fact in self.world.claims}

    async def knows(self, *names: str) -> None:
        """Wait until exactly these claims are known."""
        await eventually(lambda: self.names == {*names})


@asynccontextmanager
async def fed(*script: Answer, runs: bool = True) -> AsyncIterator[Feed]:
    """Run a reflector of claims on a server with this script."""
    async with ScriptedServer([*script]).serving() as server:
        token = Token(server.url)
        async with Client(token) as api:  # type: ignore[arg-type]  # all that Api asks of it
            feed = Feed(server, token, api)
            task = asyncio.create_task(feed.reflector().run() if runs else asyncio.sleep(0))
            yield feed
            if runs:
                assert not task.done(), "a reflector never ends by itself"
            task.cancel()
            await asyncio.wait({task})


def claim(name: str, version: int = 1) -> Json:
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "resourceVersion": str(version),
        }
    }

"""What `kubectl dra doctor --dry-run-pods` says that it has not tried."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.doctor import dryrunpods
from tests.support.worlds.inventory import pod


@dataclass
class Server:
    """An API server with Deployments that want devices, which may not list Jobs."""

    deployments: int
    snapshot: None = None
    namespace_option: str = "ml"
    tried: list[str] = field(default_factory=list)

    def call(self, question: Callable[[Client], Awaitable[Any]]) -> Any:
        async def asked() -> Any:
            return await question(cast("Client", self))

        return asyncio.run(asked())

    async def get(self, path: str, **_: str) -> Any:
        if "/batch/" in path:
            raise ApiError(403, "Forbidden", "jobs.batch is forbidden")
        count = self.deployments if path.endswith("/deployments") else 0
        template = {"spec": pod(templates={"gpu": "one"})["spec"]}
        made = [
            {"metadata": {"name": f"d{number}", "namespace": "ml"}, "spec": {"template": template}}
            for number in range(count)
        ]
        return {"metadata": {}, "items": made}

    async def request(self, _: str, path: str, body: Any, query: Any) -> Any:
        if query["dryRun"] == "None":
            raise ApiError(400, "BadRequest", "dryRun: Unsupported value")
        self.tried.append(path)
        return body


def test_kinds_that_may_not_be_listed_are_named() -> None:
    server = Server(1)
    found, left = dryrunpods.dry_run(cast("Source", server))
    assert (found, left) == ((), "jobs could not be listed; cronjobs could not be listed")
    assert server.tried == ["/api/v1/namespaces/ml/pods"]


def test_workloads_beyond_the_most_that_are_tried_are_not_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dryrunpods, "MOST", 2)
    server = Server(3)
    _, left = dryrunpods.dry_run(cast("Source", server))
    assert left.startswith("only the first 2 pods of workloads were tried")
    assert len(server.tried) == 2

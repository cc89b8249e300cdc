"""The devices of reviewed targets, in the process of `dragoman webhook`."""

import asyncio
from types import SimpleNamespace
from typing import Any

import kopf
import pytest

from dragoman.cli.server import without_events
from dragoman.controllers.webhook import start
from dragoman.controllers.webhook.start import ReviewedTargets
from dragoman.kube import backoff
from dragoman.kube.errors import ApiError
from dragoman.kube.manager import Manager
from tests.support import manifests as objects
from tests.support.apiserver import ApiServer
from tests.support.scriptedserver import eventually


async def test_slices_that_cannot_be_watched_make_no_webhook_unready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(start, "LOOK_AGAIN", 0.02)
    monkeypatch.setattr(backoff, "FIRST", 0.001)
    server = ApiServer()
    server.store(objects.resource_slice("n1", ["a"], "gpu.example.com", "s"))
    gone = ApiError(404, "NotFound", "the server has no such resource")
    server.fail = lambda name, _: gone if name.endswith("resourceslices") else None
    _, handlers = without_events(kopf.get_default_registry())
    manager = Manager(handlers, resync=600.0)
    manager.memo = SimpleNamespace(operator=manager)
    process: Any = SimpleNamespace(client=server, manager=manager, stored=None)
    targets = ReviewedTargets(process)
    running = asyncio.create_task(targets.run())
    try:
        await eventually(lambda: bool(manager.watches) and manager.watches[0].failing_for() > 0.02)
        assert not manager.watches[0].vital
        asked = server.discoveries
        await eventually(lambda: server.discoveries > asked)  # an upgrade may serve another version
        server.fail = lambda *_: None
        await eventually(lambda: targets.count({"driver": "gpu.example.com"}) is not None)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await manager.stop()

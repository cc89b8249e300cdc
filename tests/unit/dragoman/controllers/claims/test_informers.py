"""An object is found missing while another one is made under its name: only the old one is gone."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dragoman.controllers.claims.enqueue import ObjectKey
from dragoman.controllers.claims.livereads import LiveReader
from dragoman.kube.errors import ApiError
from tests.unit.dragoman.claims.cases import claim_place
from tests.unit.dragoman.claims.model_server import Place
from tests.unit.dragoman.claims.objects import NAMESPACE, Json, claim, pod
from tests.unit.dragoman.claims.worlds import world
from tests.unit.dragoman.controllers.claims.scenarios import serving
from tests.unit.dragoman.controllers.claims.simulation import ModelApi, Process, process
from tests.unit.dragoman.kube.virtual_time import in_virtual_time

NAME = "mine"
Ask = Callable[[Process], Awaitable[None]]


def again(api: ModelApi, running: Process, kind: str) -> None:
    """Let the object come again while the answer that it is missing is on its way."""
    using = pod(NAME, uid="uid-new").using("gpu", claim="other")
    found = claim(NAME, uid="uid-new") if kind == "claim" else using
    get = api.get

    async def late(path: str, **query: str) -> Json:
        try:
            return await get(path, **query)
        except ApiError:
            api.server.add(found)
            running.deliver_all()
            raise

    api.get = late  # type: ignore[method-assign]  # the same, but for what happens meanwhile


async def refreshed(running: Process) -> None:
    await running.cluster.claims.refresh(NAMESPACE, NAME)


def looked_at(kind: str) -> Ask:
    async def ask(running: Process) -> None:
        reader = LiveReader(running.cluster)
        await reader.refresh(ObjectKey(kind, NAMESPACE, NAME))  # type: ignore[arg-type]

    return ask


@pytest.mark.parametrize(
    ("kind", "ask"),
    [
        pytest.param("claim", refreshed, id="a claim, after a write that found none"),
        pytest.param("claim", looked_at("claim"), id="a claim, before acting for another"),
        pytest.param("pod", looked_at("pod"), id="a pod, before acting for another"),
    ],
)
@in_virtual_time
async def test_who_came_meanwhile_is_not_buried(kind: str, ask: Ask) -> None:
    old = (
        claim(NAME, uid="uid-old")
        if kind == "claim"
        else pod(NAME, uid="uid-old").using("gpu", claim="other")
    )
    api = serving(of=world(old))
    place = claim_place(NAME) if kind == "claim" else Place("pods", NAMESPACE, NAME)
    async with process(api) as running:
        shelf = (
            running.controller.state.claims if kind == "claim" else running.controller.state.pods
        )
        api.server.mark_deleted(place)
        again(api, running, kind)
        await ask(running)
        found = shelf.get(NAMESPACE, NAME)
        assert found is not None
        assert found.metadata.uid == "uid-new"
        api.server.change(place, lambda new: new.changed("metadata", "labels", "a", to="b"))
        running.deliver_all()
        later = shelf.get(NAMESPACE, NAME)
        assert later is not None
        assert later.metadata.resource_version != found.metadata.resource_version


@in_virtual_time
async def test_who_is_missing_is_let_go() -> None:
    api = serving(of=world(claim(NAME)))
    async with process(api) as running:
        api.server.mark_deleted(claim_place(NAME))
        await refreshed(running)
        assert running.controller.state.claims.get(NAMESPACE, NAME) is None


@in_virtual_time
async def test_who_asks_during_a_list_shares_the_next_one_and_nothing_is_kept_of_them() -> None:
    api = serving(of=world(pod(NAME), claim("c")))
    lists: list[str] = []
    get = api.get

    async def counted(path: str, **query: str) -> Json:
        lists.extend(["list"] if path.endswith("resourceclaims") else [])
        return await get(path, **query)

    api.get = counted  # type: ignore[method-assign]  # the same, and counted
    async with process(api) as running:
        reader = LiveReader(running.cluster)
        first = asyncio.create_task(reader.refresh(ObjectKey("pod", NAMESPACE, NAME)))
        await asyncio.sleep(0.001)
        later = (reader.refresh(ObjectKey("pod", NAMESPACE, NAME)) for _ in range(50))
        await asyncio.gather(first, *later)
        assert len(lists) == 2
        await asyncio.sleep(0.1)
        assert len(reader._namespaces) == 0

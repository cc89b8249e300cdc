"""The kopf module: which resources it watches, and which internals of kopf it relies on."""

import asyncio
from types import SimpleNamespace
from typing import Any

import kopf
import pytest

from dragoman import handlers
from dragoman.cli.server import without_discovery, without_events
from dragoman.kube.manager import Informers
from dragoman.kube.resources import Resource

WATCHED = {
    ("", "pods"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceclaimtemplates"),
    ("scheduling.k8s.io", "podgroups"),
    ("dragoman.dev", "driverconfigschemas"),
    ("dragoman.dev", "devicemaintenances"),
    ("dragoman.dev", "clusterresourceclaimtemplates"),
    ("", "namespaces"),
    ("resource.k8s.io", "resourceslices"),
    ("resource.k8s.io", "resourcepoolstatusrequests"),
    ("resource.k8s.io", "devicetaintrules"),
    ("resource.k8s.io", "deviceclasses"),
    ("", "nodes"),
}


@pytest.fixture
def registry() -> kopf.OperatorRegistry:
    """Return a registry with an activity and an event handler of each form that dragoman uses."""
    made = kopf.OperatorRegistry()
    kopf.on.startup(registry=made)(handlers.start)
    kopf.on.cleanup(registry=made)(handlers.stop)
    kopf.on.login(registry=made)(handlers.login)
    kopf.on.event("", "v1", "pods", registry=made)(handlers.pod_event)
    kopf.on.event("resource.k8s.io", "resourceclaims", registry=made)(handlers.claim_event)
    return made


def test_kopf_gets_the_activities_and_reflectors_get_the_event_handlers(
    registry: kopf.OperatorRegistry,
) -> None:
    """A release of kopf that renames `_activities` or `_watching` fails here first."""
    activities, watching = without_events(registry)
    names = {handler.fn for handler in activities._activities.get_all_handlers()}
    assert names == {handlers.start, handlers.stop, handlers.login}
    assert list(activities._watching.get_all_handlers()) == []
    assert [handler.fn for handler in watching] == [handlers.pod_event, handlers.claim_event]


async def test_kopf_asks_the_api_server_nothing() -> None:
    """A release of kopf that looks up resources by itself again fails here first."""
    connections: list[Any] = []
    server = await asyncio.start_server(lambda *both: connections.append(both), "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    activities = kopf.OperatorRegistry()
    logins, ready, stop = list[bool](), asyncio.Event(), asyncio.Event()

    @kopf.on.login(registry=activities)
    def login(**_: Any) -> kopf.ConnectionInfo:
        logins.append(True)
        return kopf.ConnectionInfo(server=f"http://{host}:{port}")

    async with server:
        running = asyncio.create_task(
            kopf.operator(
                registry=activities,
                clusterwide=True,
                standalone=True,
                ready_flag=ready,
                stop_flag=stop,
                insights=without_discovery(),
            )
        )
        await ready.wait()
        await asyncio.sleep(0.5)
        stop.set()
        await asyncio.wait_for(running, 3)
    assert logins == [True]
    assert connections == []


def test_a_handler_names_its_resource_as_reflectors_look_it_up(
    registry: kopf.OperatorRegistry,
) -> None:
    _, watching = without_events(registry)
    found = {(one.selector.group, one.selector.any_name) for one in watching}
    assert found == {("", "pods"), ("resource.k8s.io", "resourceclaims")}


def test_the_module_watches_what_the_controllers_reconcile() -> None:
    _, watching = without_events(kopf.get_default_registry())
    found = {(one.selector.group, one.selector.any_name) for one in watching}
    assert found == WATCHED


def test_an_event_goes_to_the_informer_of_its_resource() -> None:
    _, watching = without_events(kopf.get_default_registry())
    for handler in watching:
        group, plural = handler.selector.group, handler.selector.any_name
        received: list[Any] = []
        other: list[Any] = []
        informers = Informers()
        informers.add(informer(group, plural, received))
        informers.add(informer("example.com", "others", other))
        event = {"type": "ADDED", "object": {"metadata": {"name": "x"}}}
        memo = SimpleNamespace(operator=SimpleNamespace(informers=informers))
        asyncio.run(handler.fn(event=event, memo=memo))
        assert received == [event], plural
        assert other == []


def informer(group: str, plural: str, received: list[Any]) -> Any:
    """Return what receives the events of a resource."""
    return SimpleNamespace(resource=Resource(group, "v1", plural), handle=received.append)


def test_an_event_that_no_controller_needs_is_dropped() -> None:
    memo = SimpleNamespace(operator=SimpleNamespace(informers=Informers()))
    handler: Any = handlers.podgroup_event
    asyncio.run(handler(event={"type": "ADDED"}, memo=memo))

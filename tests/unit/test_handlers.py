"""The kopf module: which resources it watches, and the two internals of kopf that it relies on."""

import asyncio
from types import SimpleNamespace
from typing import Any

import kopf
import pytest

from dragoman import handlers
from dragoman.cli.server import without_events

WATCHED = {
    ("", "pods"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceclaimtemplates"),
    ("scheduling.k8s.io", "podgroups"),
    ("dragoman.dev", "driverconfigschemas"),
    ("dragoman.dev", "clusterresourceclaimtemplates"),
    ("", "namespaces"),
}
WHERE_WANTED = {
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


def test_a_handler_names_its_resource_as_reflectors_look_it_up(
    registry: kopf.OperatorRegistry,
) -> None:
    _, watching = without_events(registry)
    found = {(one.selector.group, one.selector.any_name) for one in watching}
    assert found == {("", "pods"), ("resource.k8s.io", "resourceclaims")}


def test_the_module_watches_what_the_controllers_reconcile() -> None:
    _, watching = without_events(kopf.get_default_registry())
    found = {(one.selector.group, one.selector.any_name) for one in watching}
    assert found >= WATCHED
    assert not found & WHERE_WANTED
    _, wanted = without_events(handlers.WHERE_WANTED)
    assert {(one.selector.group, one.selector.any_name) for one in wanted} == WHERE_WANTED


@pytest.mark.parametrize(
    ("handler", "path"),
    [
        (handlers.pod_event, "claims.informers.pods"),
        (handlers.claim_event, "claims.informers.claims"),
        (handlers.template_event, "templates"),
        (handlers.podgroup_event, "claims.informers.groups"),
        (handlers.slice_event, "devices.slices"),
        (handlers.taintrule_event, "devices.rules"),
        (handlers.pod_event, "explain.informers.pods"),
        (handlers.claim_event, "explain.informers.claims"),
        (handlers.slice_event, "explain.informers.slices"),
        (handlers.taintrule_event, "explain.informers.rules"),
        (handlers.class_event, "explain.informers.classes"),
        (handlers.node_event, "explain.informers.nodes"),
        (handlers.poolstatusrequest_event, "pool_status.informer"),
        (handlers.driverconfigschema_event, "schemas.schemas.informer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_event_goes_to_the_informer_of_its_resource(handler: Any, path: str) -> None:
    received: list[Any] = []
    place: Any = SimpleNamespace(handle=received.append)
    first, *rest = path.split(".")
    for name in reversed(rest):
        place = SimpleNamespace(**{name: place})
    none = dict.fromkeys(("claims", "devices", "explain", "schemas"))
    place = SimpleNamespace(**(none | {first: place}))
    event = {"type": "ADDED", "object": {"metadata": {"name": "x"}}}
    asyncio.run(handler(event=event, memo=SimpleNamespace(operator=place)))
    assert received == [event]


def test_an_event_of_a_pod_group_whose_claims_are_off_is_dropped() -> None:
    claims = SimpleNamespace(informers=SimpleNamespace(groups=None))
    memo = SimpleNamespace(operator=SimpleNamespace(claims=claims))
    handler: Any = handlers.podgroup_event
    asyncio.run(handler(event={"type": "ADDED"}, memo=memo))


@pytest.mark.parametrize(
    ("handler", "index"), [(handlers.clustertemplate_event, 0), (handlers.namespace_event, 1)]
)
def test_an_event_goes_to_the_informer_of_cluster_templates(handler: Any, index: int) -> None:
    received: list[tuple[int, Any]] = []
    informers = [
        SimpleNamespace(handle=lambda event, number=number: received.append((number, event)))
        for number in range(2)
    ]
    operator = SimpleNamespace(cluster_templates=SimpleNamespace(informers=informers))
    asyncio.run(handler(event={"type": "ADDED"}, memo=SimpleNamespace(operator=operator)))
    assert received == [(index, {"type": "ADDED"})]

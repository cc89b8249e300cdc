"""Pods that are heard of before their templates, because each has a watch of its own."""

import asyncio
from collections import Counter

from dragoman.kube.errors import ApiError
from tests.unit.dragoman.claims.model_server import Place
from tests.unit.dragoman.claims.objects import NAMESPACE, PodObject, pod, template
from tests.unit.dragoman.claims.worlds import world
from tests.unit.dragoman.controllers.claims.scenarios import CREATION, failing, serving
from tests.unit.dragoman.controllers.claims.simulation import Fate, ModelApi, Process, process
from tests.unit.dragoman.kube.virtual_time import in_virtual_time

GET = "GET resourceclaimtemplates"
PUBLISHED = dict(zip(CREATION, (2, 1), strict=True))


def young(name: str = "test-pod") -> PodObject:
    """Return a pod that has just been made, by a clock that is ahead of this one."""
    made = pod(name).changed("metadata", "creationTimestamp", to="2126-01-01T00:00:00Z")
    return made.using("a", template="a").using("b", template="b")


def watched(api: ModelApi) -> Counter[str]:
    """Count an API's requests from now on."""
    requests: Counter[str] = Counter()
    fate = api.fate

    def counted(name: str) -> Fate:
        requests[name] += 1
        return fate(name)

    api.fate = counted
    return requests


def touch(running: Process) -> None:
    """Change the pod in a way that means nothing, and let it be heard of."""
    running.api.server.change(
        Place("pods", NAMESPACE, "test-pod"), lambda it: it.changed("status", "qosClass", to="x")
    )
    running.deliver("pods")


@in_virtual_time
async def test_all_claims_of_a_pod_that_is_ahead_of_its_templates_are_published_at_once() -> None:
    api = serving(of=world(template("a")))
    async with process(api) as running:
        api.server.add(template("b"))
        api.server.add(young())
        running.deliver("pods")
        await asyncio.sleep(0.5)
        assert Counter(api.server.writes) == PUBLISHED
        await running.follow(5.0)
    assert Counter(api.server.writes) == PUBLISHED
    assert api.notes == []


@in_virtual_time
async def test_a_missing_template_is_asked_for_once_and_then_told_about() -> None:
    api = serving(of=world(template("a")))
    requests = watched(api)
    async with process(api) as running:
        api.server.add(young())
        running.deliver("pods")
        for _ in range(15):
            await asyncio.sleep(0.1)
            touch(running)
        assert (requests[GET], api.notes) == (1, [])
        await running.follow(900.0)
    assert requests[GET] == 1
    assert 'template "b"' in api.notes[0]["note"]
    assert Counter(api.server.writes) == dict.fromkeys(CREATION, 1)


@in_virtual_time
async def test_pods_that_miss_one_template_ask_for_it_together() -> None:
    api = serving(of=world(template("a")))
    requests = watched(api)
    async with process(api, workers=32) as running:
        for index in range(300):
            api.server.add(young(f"pod-{index}"))
        running.deliver("pods")
        await asyncio.sleep(1.9)
        assert Counter(api.server.writes) == dict.fromkeys(CREATION, 300)
        assert requests[GET] < 30
        api.server.add(template("b"))
        running.deliver_all()
        await asyncio.sleep(1.9)
    assert Counter(api.server.writes) == dict.fromkeys(CREATION, 600)
    assert requests[GET] < 30


@in_virtual_time
async def test_a_template_that_cannot_be_asked_for_does_not_delay_the_other_claim() -> None:
    api = serving(of=world(template("a")))
    refused = ApiError(403, "Forbidden", "templates are none of your business")
    api.fate = failing(*[refused] * 100, on=GET)
    async with process(api) as running:
        api.server.add(young())
        running.deliver("pods")
        await asyncio.sleep(0.5)
        assert Counter(api.server.writes) == dict.fromkeys(CREATION, 1)
        await running.follow(10.0)
        assert 'template "b"' in api.notes[0]["note"]
        api.server.add(template("b"))
        running.deliver_all()
        await asyncio.sleep(0.5)
    assert Counter(api.server.writes) == dict.fromkeys(CREATION, 2)

"""Events for people: told once in a while, and never in the way of work."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from dragoman import metrics, surroundings
from dragoman.kube import events as recorders
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder, ObjectReference
from tests.unit.dragoman.claims.model_server import SUBDOMAIN
from tests.unit.dragoman.kube.virtual_time import Clock, in_virtual_time

POD = ObjectReference("v1", "Pod", "ns", "web-0", "uid-1")
OTHER = ObjectReference("v1", "Pod", "ns", "web-1", "uid-2")
REASON = "FailedResourceClaimCreation"


@dataclass
class Posts:
    """An API that keeps what is posted, and refuses some of it."""

    refuse: int = 0
    kept: list[Mapping[str, Any]] = field(default_factory=list)

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        namespace = body["metadata"]["namespace"]
        assert path == f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
        self.kept.append(body)
        if len(self.kept) <= self.refuse:
            raise ApiError(403, "Forbidden", "namespace is being terminated")
        return dict(body)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the recorder a clock of the test's."""
    clock = Clock()
    monkeypatch.setattr(surroundings, "monotonic", clock)
    return clock


async def posted(recorder: EventRecorder, posts: Posts) -> list[Mapping[str, Any]]:
    """Let the recorder post what it has."""
    task = asyncio.create_task(recorder.run())
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return posts.kept


def warn(
    recorder: EventRecorder, regarding: ObjectReference = POD, note: str = "no template"
) -> None:
    """Tell something."""
    recorder.warn(regarding, reason=REASON, action="CreatingResourceClaim", note=note)


async def test_an_event_says_what_where_and_by_whom(clock: Clock) -> None:
    posts = Posts()
    recorder = EventRecorder(cast(Client, posts))
    warn(recorder)
    (event,) = await posted(recorder, posts)
    assert clock.seconds
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "ns",
        "name": "web-0",
        "uid": "uid-1",
    }
    assert (event["type"], event["reason"], event["note"]) == ("Warning", REASON, "no template")
    assert event["reportingController"] == "dragoman"
    assert 0 < len(event["reportingInstance"]) <= 128
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event["eventTime"])


@pytest.mark.parametrize(
    ("second", "pause", "events"),
    [
        pytest.param((POD, "no template"), 119.0, 1, id="the same cause within two minutes"),
        pytest.param((POD, "no template"), 120.0, 2, id="the same cause after two minutes"),
        pytest.param((OTHER, "no template"), 0.0, 2, id="another pod"),
        pytest.param((POD, "no quota"), 0.0, 2, id="another cause"),
    ],
)
async def test_how_often_people_are_told(
    clock: Clock, second: tuple[ObjectReference, str], pause: float, events: int
) -> None:
    posts = Posts()
    recorder = EventRecorder(cast(Client, posts))
    warn(recorder)
    clock.seconds += pause
    warn(recorder, *second)
    assert len(await posted(recorder, posts)) == events


async def test_two_entries_that_differ_in_a_digit_are_two_causes(clock: Clock) -> None:
    posts = Posts()
    recorder = EventRecorder(cast(Client, posts))
    for entry in ("gpu-0", "gpu-1", "gpu-0"):
        clock.seconds += 1.0
        note = f"PodResourceClaim {entry}: template not found"
        recorder.warn(POD, reason=REASON, action="Creating", note=note, subject=entry)
    assert len(await posted(recorder, posts)) == 2


async def test_a_quota_whose_numbers_change_is_one_cause(clock: Clock) -> None:
    posts = Posts()
    recorder = EventRecorder(cast(Client, posts))
    for used in range(9, 12):
        clock.seconds += 1.0
        warn(recorder, note=f"exceeded quota: claims, used: {used}, limited: 9")
    assert len(await posted(recorder, posts)) == 1


async def test_a_refused_event_does_not_stop_the_next(clock: Clock) -> None:
    posts = Posts(refuse=1)
    recorder = EventRecorder(cast(Client, posts))
    warn(recorder)
    warn(recorder, OTHER)
    assert clock.seconds
    assert [event["regarding"]["name"] for event in await posted(recorder, posts)] == [
        "web-0",
        "web-1",
    ]


@dataclass
class Away(Posts):
    """An API that is away for a while, and may have stored what it did not answer.

    Attributes:
        codes: What it answers first; 0 is no answer, though the Event is stored.
    """

    codes: list[int] = field(default_factory=list)
    stored: dict[str, str] = field(default_factory=dict)
    asked: int = 0

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        assert path.endswith("/events")
        self.asked += 1
        name = body["metadata"]["name"]
        code = self.codes.pop(0) if self.codes else 201
        if code in {0, 201} and name in self.stored:
            raise ApiError(409, "AlreadyExists", "events already exists")
        if code in {0, 201}:
            self.stored[name] = body["note"]
        if code != 201:
            raise ApiError(code, "ServiceUnavailable", "not now")
        return dict(body)


@pytest.mark.parametrize("codes", [[503] * 5, [429, 500, 503], [0, 503], [503, 0, 0], [0]], ids=str)
@in_virtual_time
async def test_an_event_is_posted_again_when_the_api_server_was_away(codes: list[int]) -> None:
    api = Away(codes=[*codes])
    recorder = EventRecorder(cast(Client, api))
    task = asyncio.create_task(recorder.run())
    identities = ("first", "")
    recorder.warn(POD, reason=REASON, action="Creating", note="why", identities=identities)
    await asyncio.sleep(120)
    task.cancel()
    # Under one name, also where the API server had stored what it did not answer.
    assert [*api.stored.values()] == ["why"]
    assert not api.codes


@in_virtual_time
async def test_an_api_server_that_stays_away_is_given_up() -> None:
    api = Away(codes=[503] * 1000)
    recorder = EventRecorder(cast(Client, api))
    task = asyncio.create_task(recorder.run())
    dropped = metrics.EVENTS_DROPPED._value.get()
    warn(recorder)
    await asyncio.sleep(3600)
    task.cancel()
    assert api.asked == recorders.TRIES
    assert metrics.EVENTS_DROPPED._value.get() == dropped + 1


async def test_a_flood_neither_blocks_nor_grows_without_end(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "BACKLOG", 5)
    posts = Posts()
    recorder = EventRecorder(cast(Client, posts))
    for index in range(50):
        warn(recorder, ObjectReference("v1", "Pod", "ns", f"web-{index}", f"uid-{index}"))
    assert clock.seconds
    assert len(await posted(recorder, posts)) == 5


@pytest.mark.hostile("fairness")
async def test_a_flood_of_one_namespace_delays_the_events_of_no_other(clock: Clock) -> None:
    posts = Posts()
    recorder = EventRecorder(cast(Client, posts))
    for index in range(500):
        warn(recorder, ObjectReference("v1", "Pod", "crowd", f"web-{index}", f"crowd-{index}"))
    warn(recorder, POD)
    assert clock.seconds
    namespaces = [one["metadata"]["namespace"] for one in await posted(recorder, posts)]
    assert namespaces.index("ns") == 1


@pytest.mark.hostile("fairness")
async def test_an_event_that_was_dropped_is_posted_when_its_cause_comes_again(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorders, "NAMESPACE_BACKLOG", 1)
    posts = Posts()
    recorder = EventRecorder(cast(Client, posts))
    warn(recorder, OTHER)
    warn(recorder, POD)
    assert len(await posted(recorder, posts)) == 1
    clock.seconds += 1.0
    warn(recorder, POD)
    names = [event["regarding"]["name"] for event in await posted(recorder, posts)]
    assert names == ["web-1", "web-0"]


@pytest.mark.parametrize("name", ["web-0", "a" * 253, f"{'a' * 199}.b", f"{'a' * 199}-b"])
async def test_every_event_has_a_valid_name_and_a_note_of_limited_length(name: str) -> None:
    posts = Posts()
    recorder = EventRecorder(cast(Client, posts))
    warn(recorder, ObjectReference("v1", "Pod", "ns", name, "uid"), note="xé" * 5000)
    (event,) = await posted(recorder, posts)
    assert SUBDOMAIN.fullmatch(event["metadata"]["name"])
    assert len(event["metadata"]["name"]) <= 253
    # The API server counts bytes.
    assert len(event["note"].encode()) in {1023, 1024}
    assert event["note"].endswith("…")

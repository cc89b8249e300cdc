"""The controller as a whole, in virtual time, on the model of the API server."""

import asyncio
from collections import Counter
from functools import reduce
from itertools import pairwise

import pytest

from dragoman.claims.naming import claim_name
from dragoman.controllers.claims.livereads import CONCURRENT_READS
from dragoman.kube.errors import ApiError
from tests.unit.dragoman.claims.cases import POD, claim_place
from tests.unit.dragoman.claims.model_server import Place
from tests.unit.dragoman.claims.objects import (
    NAMESPACE,
    Json,
    Object,
    PodObject,
    claim,
    pod,
    template,
)
from tests.unit.dragoman.claims.worlds import world
from tests.unit.dragoman.controllers.claims.scenarios import (
    CREATION,
    USER,
    failing,
    many,
    names,
    serving,
)
from tests.unit.dragoman.controllers.claims.simulation import Fate, ModelApi, process
from tests.unit.dragoman.kube.virtual_time import in_virtual_time, now


class Reads:
    """Counts what is read from an API, and how much of it at the same time.

    Attributes:
        total: So often.
        most: So much at the same time.
    """

    def __init__(self, api: ModelApi) -> None:
        self.total = self.most = self._now = 0
        self._get = api.get
        api.get = self  # type: ignore[method-assign]  # it is called in the same way

    async def __call__(self, path: str, **query: str) -> Json:
        self.total += 1
        self._now += 1
        self.most = max(self.most, self._now)
        try:
            return await self._get(path, **query)
        finally:
            self._now -= 1


@in_virtual_time
async def test_a_burst_takes_two_writes_a_pod_though_the_watch_delivers_nothing() -> None:
    api = serving(*many(150))
    async with process(api):
        await asyncio.sleep(2000.0)
    assert Counter(api.server.writes) == dict.fromkeys(CREATION, 150)
    assert len(names(api)) == 150


def admin_template() -> Object:
    """Return the template with a request that asks for admin access."""
    requests = [{"name": "r", "exactly": {"adminAccess": True}}]
    return template().changed("spec", "spec", to={"devices": {"requests": requests}})


@in_virtual_time
async def test_no_claim_is_made_where_the_api_server_drops_admin_access() -> None:
    api = serving(of=world(admin_template(), USER))
    api.drops_admin_access = True
    async with process(api):
        await asyncio.sleep(100.0)
        assert api.dry_runs == 1
        # A restart breaks connections: another API server may have other gates.
        api.unanswered += 1
        await asyncio.sleep(100.0)
        assert api.dry_runs == 2
    assert api.server.writes == []
    (note,) = {event["note"] for event in api.notes}
    assert note.startswith(
        "PodResourceClaim gpu: admin access is requested, but the feature is disabled"
    )


@in_virtual_time
async def test_a_claim_with_admin_access_is_made_once_the_gate_is_on() -> None:
    api = serving(of=world(admin_template(), USER))
    api.drops_admin_access = True
    async with process(api):
        await asyncio.sleep(100.0)
        api.drops_admin_access = False
        api.unanswered += 1
        await asyncio.sleep(100.0)
    assert api.server.writes == CREATION


@in_virtual_time
async def test_a_claim_with_admin_access_is_made_where_the_api_server_keeps_it() -> None:
    api = serving(of=world(admin_template(), USER))
    async with process(api):
        await asyncio.sleep(10.0)
    assert api.server.writes == CREATION


@pytest.mark.parametrize("fate", ["unsent", "lost"])
@pytest.mark.parametrize("request_", CREATION)
@in_virtual_time
async def test_an_answer_that_fails_makes_no_second_claim(fate: Fate, request_: str) -> None:
    api = serving(USER)
    api.fate = failing(fate, fate, on=request_)
    async with process(api) as running:
        await running.follow(30.0)
    (name,) = names(api)
    (status,) = api.server.get(POD)["status"]["resourceClaimStatuses"]
    assert status["resourceClaimName"] == name
    assert api.notes == []


@in_virtual_time
async def test_a_claim_whose_creation_was_not_answered_is_adopted_without_any_watch() -> None:
    api = serving(USER)
    api.fate = failing("lost", on=CREATION[0])
    async with process(api):
        await asyncio.sleep(5.0)
    assert api.server.get(POD)["status"]["resourceClaimStatuses"]
    assert len(names(api)) == 1


@in_virtual_time
async def test_a_name_that_somebody_took_unheard_is_passed_over_without_any_watch() -> None:
    api = serving(USER)
    async with process(api):
        api.server.add(claim(claim_name(owner=USER.name, owner_uid=USER.uid, entry="gpu")))
        await asyncio.sleep(5.0)
    (status,) = api.server.get(POD)["status"]["resourceClaimStatuses"]
    stored = api.server.get(claim_place(status["resourceClaimName"]))
    assert stored["metadata"]["ownerReferences"][0]["uid"] == USER.uid
    assert len(names(api)) == 2


QUOTA = ApiError(403, "Forbidden", "exceeded quota: claims, used: 1, limited: 1")


@in_virtual_time
async def test_a_quota_is_told_once_and_tried_again_within_five_minutes() -> None:
    api = serving(USER)
    tries: list[float] = []

    def fate(name: str) -> Fate:
        if name != CREATION[0]:
            return ""
        tries.append(now())
        return QUOTA if now() < 3600.0 else ""

    api.fate = fate
    async with process(api):
        await asyncio.sleep(4200.0)
    pauses = [after - before for before, after in pairwise(tries)]
    assert 100.0 < max(pauses) <= 301.0
    assert len(names(api)) == 1
    notes = {note["note"] for note in api.notes}
    assert len(notes) == 1
    assert "PodResourceClaim gpu: create ResourceClaim " in notes.pop()
    assert {note["reason"] for note in api.notes} == {"FailedResourceClaimCreation"}
    assert len(api.notes) <= 3600 / 120 + 1


@in_virtual_time
async def test_after_a_success_failures_are_tried_again_soon() -> None:
    api = serving(USER)
    api.fate = failing(*[QUOTA] * 14, on=CREATION[0])
    async with process(api) as running:
        await running.follow(400.0)
        (made,) = names(api)
        api.server.remove(claim_place(made))
        api.fate = failing(QUOTA, on=CREATION[0])
        await running.follow(3.0)
    assert names(api) == [made]


@in_virtual_time
async def test_a_refused_entry_does_not_hold_up_the_publication_of_the_others() -> None:
    api = serving(USER.using("nic", template="my-template"))
    api.fate = failing(QUOTA, "", *[QUOTA] * 5, on=CREATION[0])
    async with process(api):
        await asyncio.sleep(0.05)
        first = api.server.get(POD)["status"]["resourceClaimStatuses"]
        await asyncio.sleep(30.0)
    assert [status["name"] for status in first] == ["nic"]
    published = api.server.get(POD)["status"]["resourceClaimStatuses"]
    assert {status["name"] for status in published} == {"gpu", "nic"}


@in_virtual_time
async def test_a_late_template_wakes_its_pods_at_once() -> None:
    api = serving(of=world(USER))
    async with process(api) as running:
        await running.follow(500.0)
        told = len(api.notes)
        api.server.add(template())
        running.deliver_all()
        await asyncio.sleep(0.1)
        assert len(names(api)) == 1
    assert told >= 1
    assert api.notes[0]["reason"] == "FailedResourceClaimCreation"
    assert 'template "my-template"' in api.notes[0]["note"]


@in_virtual_time
async def test_a_pod_that_was_replaced_before_its_status_was_written_is_left_alone() -> None:
    api = serving(USER)

    def replace(name: str) -> Fate:
        if name == CREATION[1] and POD in api.server.stored:
            api.server.remove(POD)
            api.server.add(pod(uid="uid-new"))
        return ""

    api.fate = replace
    async with process(api) as running:
        await asyncio.sleep(5.0)
        writes = len(api.server.writes)
        await running.follow(30.0)
    assert "resourceClaimStatuses" not in api.server.get(POD)["status"]
    assert writes == 2
    assert names(api) == []


@in_virtual_time
async def test_a_stop_finishes_the_write_that_is_under_way() -> None:
    api = serving(USER)
    async with process(api) as running:
        await asyncio.sleep(0.007)
        await running.stop()
        assert len(running.controller.state.claims) == 1
    assert api.server.writes[0] == CREATION[0]


@in_virtual_time
async def test_who_does_not_lead_writes_nothing() -> None:
    api = serving(*many(3))
    async with process(api) as running:
        running.leading = False
        await running.follow(700.0)
    assert api.server.writes == []


@in_virtual_time
async def test_what_was_left_while_the_office_lapsed_is_done_when_it_is_held_again() -> None:
    api = serving(*many(3))
    async with process(api) as running:
        running.leading = False
        await running.follow(12.0)
        assert api.server.writes == []
        running.leading = True
        await running.follow(30.0)
        assert Counter(api.server.writes) == dict.fromkeys(CREATION, 3)


@in_virtual_time
async def test_a_question_that_fails_delays_only_the_entry_that_asked() -> None:
    user = USER.using("nic", template="my-template").bound("nic", "lost")
    api = serving(user)
    refusals: list[Fate] = [ApiError(500, "InternalError", "no") for _ in range(8)]
    api.fate = failing(*refusals, on="GET resourceclaims")
    async with process(api) as running:
        await asyncio.sleep(0.05)
        assert api.server.writes == CREATION
        assert [found.entry for found in running.controller.state.claims] == ["gpu"]
        await running.follow(30.0)
    statuses = api.server.get(POD)["status"]["resourceClaimStatuses"]
    assert {one["name"] for one in statuses} == {"gpu", "nic"}
    assert {one["resourceClaimName"] for one in statuses} == {*names(api)}


@in_virtual_time
async def test_however_many_consumers_are_unknown_live_reads_are_bounded() -> None:
    pods = [pod(f"gone-{number}") for number in range(200)]
    shared = [claim(f"c-{number}").allocated().reserved_for(*pods) for number in range(2)]
    api = serving(of=world(*shared, deleted=[one.uid for one in pods]))
    reads = Reads(api)
    async with process(api) as running:
        await running.follow(60.0)
    assert reads.most <= CONCURRENT_READS
    assert reads.total >= 400
    stored = [found.document["status"] for found in api.server.objects("ResourceClaim")]
    assert [status.get("reservedFor") for status in stored] == [None, None]


@in_virtual_time
async def test_an_object_that_breaks_the_controller_does_not_stop_the_others() -> None:
    api = serving(*many(4))
    before = api.server.post

    def post(document: dict[str, object]) -> dict[str, object]:
        answer = before(document)
        broken = "pod-1-" in str(answer["metadata"]["name"])
        return {"kind": "ResourceClaim"} if broken else answer

    api.server.post = post  # type: ignore[method-assign]  # a server that answers nonsense
    async with process(api) as running:
        await running.follow(60.0)
    assert len(names(api)) == 4
    for index in range(4):
        stored = api.server.get(Place("pods", NAMESPACE, f"pod-{index}"))
        assert stored["status"]["resourceClaimStatuses"]


@in_virtual_time
async def test_an_assistant_waits_for_its_grace_and_looks_first() -> None:
    api = serving(USER)
    async with process(api, "assist") as running:
        await running.follow(28.0)
        assert api.server.writes == []
        await running.follow(10.0)
    assert api.server.writes == CREATION


@in_virtual_time
async def test_an_assistant_leaves_alone_what_another_controller_did_in_time() -> None:
    api = serving(USER)
    async with process(api, "assist") as running:
        await running.follow(10.0)
        api.server.add(claim("theirs").generated_for(USER, "gpu"))
        api.server.change(POD, lambda found: found.bound("gpu", "theirs"))
        await asyncio.sleep(100.0)
    assert api.server.writes == []


ENTRIES = 100


def with_many_entries() -> PodObject:
    """Return a pod with so many entries, all of one template."""
    return reduce(
        lambda user, number: user.using(f"e{number}", template="my-template"),
        range(ENTRIES - 1),
        USER,
    )


@in_virtual_time
async def test_a_pod_with_very_many_entries_is_published_once_after_many_turns() -> None:
    user = with_many_entries()
    api = serving(user)
    async with process(api) as running:
        await running.follow(30.0)
    assert len(names(api)) == ENTRIES
    assert Counter(api.server.writes) == {CREATION[0]: ENTRIES, CREATION[1]: 1}


@in_virtual_time
async def test_refused_claims_of_a_pod_with_very_many_entries_do_not_keep_the_others_back() -> None:
    user = with_many_entries()
    api = serving(user)
    api.fate = failing(*[QUOTA] * 40, on=CREATION[0])
    async with process(api) as running:
        await running.follow(3000.0)
    assert len(api.server.get(POD)["status"]["resourceClaimStatuses"]) == ENTRIES

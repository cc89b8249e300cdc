"""Whatever happens, in whatever order it is heard of: one claim an entry, and peace in the end."""

import asyncio
import random
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.kube.errors import ApiError
from tests.unit.dragoman.claims.histories import disturb, worlds
from tests.unit.dragoman.claims.model_server import Server
from tests.unit.dragoman.claims.test_convergence import claims, pods, settled
from tests.unit.dragoman.claims.worlds import ClusterState, check
from tests.unit.dragoman.controllers.claims.simulation import PLURALS, Fate, ModelApi, Process
from tests.unit.dragoman.kube.virtual_time import in_virtual_time
from tests.unit.examples import examples

OVERLOADED = ApiError(429, "TooManyRequests", "try again", retry_after=1.0)
BROKEN = ApiError(500, "InternalError", "etcdserver: request timed out")
FULL_PASS = 700.0
FATES: list[Fate] = ["unsent", "lost", OVERLOADED, BROKEN]

thorough = settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def duplicates(server: Server) -> list[tuple[str, str]]:
    """Return the entries for which there are two claims that are not going away."""
    made = Counter(
        (claim.metadata.owner.uid, claim.entry)
        for claim in claims(server)
        if claim.metadata.owner is not None
        and claim.entry is not None
        and not claim.metadata.deleting
    )
    return [entry for entry, count in made.items() if count > 1]


class Trouble:
    """Makes a share of all requests fail, each time the same way for one seed."""

    def __init__(self, seed: int, percent: int) -> None:
        self._chance = random.Random(seed)
        self.percent = percent

    def __call__(self, _: str) -> Fate:
        if self._chance.randrange(100) < self.percent:
            return self._chance.choice(FATES)
        return ""


async def live(api: ModelApi, data: st.DataObject) -> Process:
    """Let things happen, be heard of late, and processes come and go."""
    running = Process(api)
    for _ in range(data.draw(st.integers(1, 8))):
        happening = data.draw(st.sampled_from(["cluster", "watch", "time", "restart"]))
        if happening == "cluster":
            disturb(api.server, data)
        elif happening == "watch":
            running.deliver(data.draw(st.sampled_from(PLURALS)), data.draw(st.integers(1, 3)))
        elif happening == "restart":
            await running.stop()
            running = Process(api)
        await asyncio.sleep(data.draw(st.sampled_from([0.0, 0.003, 0.008, 0.02, 15.0])))
        check(api.server.world())
        assert duplicates(api.server) == []
    return running


@thorough
@given(start=worlds(), data=st.data(), percent=st.sampled_from([0, 10, 40]))
def test_one_claim_an_entry_and_peace_in_the_end(
    start: ClusterState, data: st.DataObject, percent: int
) -> None:
    @in_virtual_time
    async def play() -> Server:
        api = ModelApi(Server.holding(start))
        trouble = Trouble(data.draw(st.integers(0, 9)), percent)
        api.fate = trouble
        running = await live(api, data)
        trouble.percent = 0
        await running.follow(80.0)
        await asyncio.sleep(FULL_PASS)
        await running.follow(5.0)
        await running.stop()
        assert duplicates(api.server) == []
        return api.server

    server = play()
    check(server.world())
    assert settled(server) == []


@thorough
@given(start=worlds(), data=st.data())
def test_nothing_is_ever_made_for_a_pod_that_is_known_to_have_finished(
    start: ClusterState, data: st.DataObject
) -> None:
    @in_virtual_time
    async def play() -> None:
        api = ModelApi(Server.holding(start))
        ended = {pod.metadata.uid for pod in pods(api.server) if pod.done or pod.metadata.deleting}
        before = {claim.metadata.uid for claim in claims(api.server)}
        running = await live(api, data)
        await running.follow(20.0)
        await running.stop()
        made = [e.document for e in api.server.events if e.kind == "ADDED"]
        for document in made:
            metadata = document["metadata"]
            if document["kind"] == "ResourceClaim" and metadata["uid"] not in before:
                assert metadata["ownerReferences"][0]["uid"] not in ended

    play()

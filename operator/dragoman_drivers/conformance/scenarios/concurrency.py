"""I: repeated and simultaneous calls."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from dragoman_drivers.conformance.checks import FailedError, need
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.site import Site, reference
from dragoman_drivers.kubeletplugin.client import CallError, Endpoint
from dragoman_drivers.kubeletplugin.messages import Prepared

CALLERS = 8
CLAIMS = 32
ROUNDS = 200
STEPS = 500
LATE_SECONDS = 1.0
"""For work that goes on after its call was answered."""


def _same(found: list[Prepared | str | None]) -> None:
    errors = [one for one in found if not isinstance(one, tuple)]
    need(not errors, f"a caller fails: {errors[:1]}")
    different = {tuple(sorted(map(str, one))) for one in found if isinstance(one, tuple)}
    need(len(different) == 1, f"{len(different)} different answers for one claim")


@scenario("I1", "concurrency")
def twice(site: Site) -> None:
    """Two calls get equal answers and one set of documents."""
    claim = site.claim(*site.take(1))
    first = site.prepared(claim)
    before = site.cdi_documents()
    second = site.prepared(claim)
    _same([first, second])
    need(site.cdi_documents() == before, "the second prepare changed CDI documents")


@scenario("I2", "concurrency")
def at_once(site: Site) -> None:
    """Eight callers of one claim get equal answers."""
    rounds = 3
    for _ in range(rounds):
        claim = site.claim(*site.take(1))
        uid = claim["metadata"]["uid"]
        with ThreadPoolExecutor(CALLERS) as threads:
            answers = [*threads.map(lambda _: site.prepare(claim), range(CALLERS))]  # noqa: B023
        _same([one.get(uid) for one in answers])
        ids = {name for one in answers[0][uid] for name in getattr(one, "cdi", ())}
        double = [name for name in ids if len(site.cdi_ids().get(name, ())) != 1]
        need(not double, f"{double} are not defined by exactly one CDI document")
        site.unprepared(claim)


@scenario("I3", "concurrency")
def in_use(site: Site) -> None:
    """A second claim for a device in use is refused."""
    (name,) = site.take(1)
    site.prepared(site.claim(name))
    need(site.refused(site.claim(name)), f"{name} was prepared for two claims")


@scenario("I4", "concurrency")
def many(site: Site) -> str:
    """Many claims at once succeed."""
    count = min(CLAIMS, len(site.devices()))
    names = site.take(count)
    claims = [site.claim(name) for name in names]
    with ThreadPoolExecutor(count) as threads:
        answers = [*threads.map(site.prepare, claims)]
    for name, claim, answer in zip(names, claims, answers, strict=True):
        found = answer.get(claim["metadata"]["uid"])
        need(isinstance(found, tuple), f"{claim['metadata']['name']}: {found}")
        got = [one.device for one in found or () if not isinstance(one, str)]
        need(got == [name], f"{claim['metadata']['name']}: {got}, not {name}")
    return f"{count} claims"


@scenario("I5", "concurrency")
def crossing(site: Site) -> str:
    """Prepare and unprepare at once end in one of the two states."""
    (name,) = site.take(1)
    rounds = 20 if site.setting.quick else ROUNDS
    chance = random.Random(5)
    claim = site.claim(name)
    for _ in range(rounds):
        delays = (chance.random() / 100, chance.random() / 100)

        def prepare(delay: float = delays[0]) -> Prepared | str | None:
            time.sleep(delay)
            return site.endpoint.prepare([reference(claim)]).get(claim["metadata"]["uid"])

        def unprepare(delay: float = delays[1]) -> None:
            time.sleep(delay)
            site.endpoint.unprepare([reference(claim)])

        with ThreadPoolExecutor(2) as threads:
            answer, done = threads.submit(prepare), threads.submit(unprepare)
            done.result()
            found = answer.result()
        uid = claim["metadata"]["uid"]
        given = found if isinstance(found, tuple) else ()
        ids = {one for device in given for one in device.cdi if uid in one}
        there = ids & site.cdi_ids().keys()
        need(there in (set(), ids), f"half of a claim is prepared: {sorted(there)}")
        # Whatever the order was: a last unprepare must leave nothing.
        site.endpoint.unprepare([reference(claim)])
        need(not site.claim_ids(claim), "CDI devices are left after the last unprepare")
    time.sleep(LATE_SECONDS)
    need(not site.claim_ids(claim), "CDI devices appeared after the last unprepare")
    site.prepared(claim)
    return f"{rounds} rounds"


@scenario("I6", "rolling")
def two_instances(site: Site) -> None:
    """Two instances do not prepare one device twice."""
    (name,) = site.take(1)
    site.prepared(site.claim(name))
    first, before = site.endpoint, site.registrations()
    site.second()
    site.connect(next(one for one in site.registrations() if one not in before))
    need(site.endpoint != first, "both instances have one socket")
    site.step("ask the second instance")
    need(site.refused(site.claim(name)), f"{name} was prepared by both instances")


@scenario("I7", "failing")
def half_done(site: Site) -> None:
    """After a prepare that failed halfway, a retry completes it, and another claim may follow."""
    (name,) = site.take(1)
    claim = site.claim(name)
    with site.unusable_cdi():
        error = site.refused(claim)
    need(error, "prepared although no CDI document could be written")
    found = site.prepared(claim)
    missing = {one for device in found for one in device.cdi} - site.cdi_ids().keys()
    need(not missing, f"the retry succeeds, but {sorted(missing)} are in no CDI document")
    site.unprepared(claim)
    again = site.claim(name)
    with site.unusable_cdi():
        site.refused(again)
    site.unprepared(again)
    other = site.claim(name)
    error = site.refused(other)
    need(not error, f"the device of a failed prepare stays withheld: {error}")


@scenario("I8", "concurrency")
def walk(site: Site) -> str:
    """A random walk keeps: prepared claims, documents and withheld devices agree."""
    names = site.take(min(4, len(site.devices())))
    chance = random.Random(8)
    steps = 120 if site.setting.quick else STEPS
    holders: dict[str, Any] = {}
    for step in range(steps):
        name = chance.choice(names)
        if name in holders and chance.random() < 0.6:
            claim = holders.pop(name)
            site.unprepared(claim)
            need(not site.claim_ids(claim), f"step {step}: documents are left")
            continue
        claim = site.claim(name)
        error = site.refused(claim)
        if name in holders:
            need(error, f"step {step}: {name} has two claims")
            continue
        need(not error, f"step {step}: {name} is free, but {error}")
        need(site.claim_ids(claim) or not site.cdi_ids(), f"step {step}: no document")
        holders[name] = claim
    return f"{steps} steps"


def fails(endpoint: Endpoint, claim: Any) -> bool:
    """Whether a prepare fails."""
    try:
        return not isinstance(
            endpoint.prepare([reference(claim)]).get(claim["metadata"]["uid"]), tuple
        )
    except (CallError, FailedError):
        return True

"""P: what NodePrepareResources answers."""

import re
import threading
import time

from dragoman_drivers.conformance.checks import FailedError, NotRunError, need
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.site import Site, new_uid, reference, renamed
from dragoman_drivers.kubeletplugin import messages
from dragoman_drivers.kubeletplugin.client import TIMEOUT, CallError, Endpoint

CDI_ID = re.compile(
    r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?"
    r"=[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?"
)
"""Vendor, class and name, as the CDI specification has them."""
MOST = 32
"""`AllocationResultsMaxSize`."""


@scenario("P1")
def entries(site: Site) -> None:
    """An entry for each claim asked, and none other."""
    one, two = (site.claim(name) for name in site.take(2))
    answer = site.prepare(one, two)
    asked = {one["metadata"]["uid"], two["metadata"]["uid"]}
    need(set(answer) == asked, f"asked for {len(asked)} claims, got {sorted(answer)}")


@scenario("P2")
def devices(site: Site) -> None:
    """Each device with its pool and name."""
    names = site.take(2)
    claim = site.claim(*names)
    found = {(one.pool, one.device) for one in site.prepared(claim)}
    pools = site.devices()
    wanted = {(pools[name]["pool"], name) for name in names}
    need(found == wanted, f"allocated {sorted(wanted)}, answered {sorted(found)}")


@scenario("P3")
def other_drivers(site: Site) -> None:
    """Results of other drivers are left alone."""
    (own,) = site.take(1)
    made = site.claim(allocate=False)
    pool = site.devices()[own]["pool"]
    result = {"request": "r0", "pool": pool, "device": own, "driver": site.driver}
    other = {**result, "driver": "other.example.com", "device": "other-0", "pool": "other"}
    claim = site.allocate(made, [result, other])
    found = [one.device for one in site.prepared(claim)]
    need(found == [own], f"answered {found}, only {own} is of {site.driver}")


@scenario("P4")
def impossible_claims(site: Site) -> None:
    """Missing, replaced, not allocated, without devices of this driver: an error each."""
    (name,) = site.take(1)
    missing = renamed(site.claim(name), uid=new_uid(), name="missing")
    replaced = renamed(site.claim(name), uid=new_uid())
    bare = site.claim(allocate=False)
    other = site.claim("other-0", driver="other.example.com")
    accepted = [
        what
        for what, claim in (
            ("a claim that does not exist", missing),
            ("a claim whose UID was replaced", replaced),
            ("a claim without allocation", bare),
            ("a claim without devices of this driver", other),
        )
        if not site.refused(claim)
    ]
    need(not accepted, f"prepared without an error: {', '.join(accepted)}")


@scenario("P5")
def bad_in_batch(site: Site) -> None:
    """One bad claim fails alone."""
    good = site.claim(*site.take(1))
    bad = renamed(good, uid=new_uid(), name="missing")
    try:
        answer = site.prepare(bad, good)
    except CallError as error:
        raise FailedError(f"one missing claim fails the whole call: {error}") from None
    found = answer.get(good["metadata"]["uid"], "no entry")
    need(not isinstance(found, str), f"the good claim fails too: {found}")
    need(isinstance(answer.get(bad["metadata"]["uid"]), str), "the bad claim has no error")


@scenario("P6", "faults")
def unreadable(site: Site) -> None:
    """A claim that cannot be read is an error."""
    for code in (403, 500):
        claim = site.claim(*site.take(1))
        site.proxy.fail = lambda method, path, code=code: (  # type: ignore[misc]
            code if method == "GET" and "/resourceclaims/" in path else 0
        )
        site.step(f"the API server answers {code} to reads of claims")
        error = site.refused(claim)
        site.proxy.fail = lambda _method, _path: 0
        need(error, f"prepared a claim that it could not read (HTTP {code})")


@scenario("P7", "faults", waits=True)
def answer_in_time(site: Site) -> str:
    """An answer within 45 s while the API server is paused, and nothing prepares later."""
    claim = site.claim(*site.take(1))
    before = site.claim_ids(claim)
    site.proxy.pause()
    site.step("pause the API server")
    start = time.monotonic()
    try:
        error = site.refused(claim)
    finally:
        seconds = time.monotonic() - start
        site.proxy.resume()
    need(error, "prepared a claim while the API server was paused")
    need(seconds < TIMEOUT - 1, f"no answer within {TIMEOUT:g} s: {error}")
    time.sleep(3)
    need(site.claim_ids(claim) == before, "the claim was prepared after the call had failed")
    return f"{seconds:.1f} s"


@scenario("P8", "faults")
def canceled(site: Site) -> None:
    """After a canceled call and an unprepare nothing is left."""
    for delay in (0.02, 0.1, 0.3):
        claim = site.claim(*site.take(1))
        site.proxy.pause()
        thread = threading.Timer(delay + 0.2, site.proxy.resume)
        thread.start()
        try:
            site.prepare(claim, timeout=delay)
        except CallError as error:
            need("DEADLINE" in error.code, f"the call fails: {error}")
        site.unprepared(claim)
        thread.join()
        time.sleep(0.8)
        left = site.claim_ids(claim)
        need(not left, f"{sorted(left)} appeared after the unprepare")
        other = site.claim(*site.take(1))
        problem = site.refused(other)
        need(not problem, f"the device is withheld for the canceled claim: {problem}")
        site.unprepared(other)


@scenario("P9")
def cdi_ids(site: Site) -> None:
    """CDI ids are well formed."""
    for one in site.prepared(site.claim(*site.take(1))):
        for name in one.cdi:
            need(CDI_ID.fullmatch(name), f"{name!r} is not vendor/class=name")


@scenario("P12")
def subrequests(site: Site) -> None:
    """request_names have no subrequest."""
    claim = site.claim(*site.take(1), request="gpu/big")
    for one in site.prepared(claim):
        need({*one.requests} <= {"gpu"}, f"request_names is {list(one.requests)}, not gpu")


@scenario("P15")
def many_results(site: Site) -> str:
    """A claim with as many results as the API allows is prepared in time."""
    start = time.monotonic()
    found = site.prepared(site.claim(*site.take(MOST)))
    need(len(found) == MOST, f"{len(found)} of {MOST} devices are in the answer")
    return f"{time.monotonic() - start:.1f} s"


@scenario("P16", "mock")
def gone_device(site: Site) -> None:
    """A device that is gone is a clear error."""
    (name,) = site.take(1)
    if not site.profile.lose:
        claim = site.claim("no-such-device-0")
        need(site.refused(claim), "prepared a device that was never published")
        return
    claim = site.claim(name)
    with site.lost(name):
        site.wait(lambda: name not in site.devices(), 30, f"{name} to leave the slices")
        error = site.refused(claim)
    need(error, "prepared a device that is gone")
    need(name in error, f"the error does not name {name}: {error}")


@scenario("P17")
def odd_requests(site: Site) -> None:
    """Odd requests end nothing."""
    big = messages.write_claims(
        [reference(renamed({"metadata": {"namespace": "x"}}, uid=new_uid(), name="y" * (1 << 20)))]
    )
    empty = b"\x0a\x00"
    odd = {
        "an empty request": b"",
        "a claim without names": empty,
        "1 MiB": big,
        "unknown fields": b"\x9a\x06\x01x" + b"\x0a\x04\x92\x06\x01y",
        "bytes that are no message": b"\xff\xff\xff",
    }
    services = [messages.SERVICES[one] for one in site.info.versions] if site.info else []
    for service in filter(lambda one: one in {messages.DRA, messages.DRA_V1BETA1}, services):
        for what, body in odd.items():
            for method in (messages.PREPARE, messages.UNPREPARE):
                try:
                    Endpoint(site.endpoint.socket, service).call(method, body, 10)
                except CallError as error:
                    crashed = error.code in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}
                    need(not crashed, f"{method} of {what}: {error}")
                need(site.subject.runs, f"the driver ended at {method} of {what}")


@scenario("P13")
def shares(site: Site) -> None:
    """A device allocated twice in one claim: both entries, with share_id."""
    name = shared_device(site)
    ids = [new_uid(), new_uid()]
    found = site.prepared(site.claim(name, name, shares=ids))
    got = sorted(one.share for one in found)
    need(got == sorted(ids), f"share ids are {got}, not {sorted(ids)}")


def shared_device(site: Site) -> str:
    """Return a device that several claims may have; raise NotRunError without one."""
    for name, one in site.devices().items():
        if one.get("allowMultipleAllocations"):
            return name
    raise NotRunError("no published device has allowMultipleAllocations")

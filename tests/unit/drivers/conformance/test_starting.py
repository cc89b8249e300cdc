"""A driver that does not start: what is said of it, and how often it is waited for."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from dragoman_drivers.conformance import checks, running, starting
from dragoman_drivers.conformance.checks import FAIL, NOT_RUN
from dragoman_drivers.conformance.proxy import RecordedRequest
from dragoman_drivers.conformance.scenarios import Scenario
from dragoman_drivers.conformance.site import Site
from dragoman_drivers.conformance.starting import START_SECONDS, StartError, Starts

DRIVER = "gpu.example.com"
SLICES = "/apis/resource.k8s.io/v1/resourceslices?fieldManager=x"


def slices(count: int, driver: str = DRIVER) -> list[dict[str, Any]]:
    """Return one slice of a pool that should have so many."""
    pool = {"name": "n0", "generation": 2, "resourceSliceCount": count}
    return [{"spec": {"driver": driver, "pool": pool, "devices": [{"name": "a"}, {"name": "b"}]}}]


def answer(code: int, message: str = "") -> list[RecordedRequest]:
    return [RecordedRequest("POST", SLICES, code, 0.0, message)]


@pytest.mark.parametrize(
    ("name", "there", "requests", "rule", "said"),
    [
        (DRIVER, slices(2), [], "S1", "pool n0 has 1 slices, resourceSliceCount is 2"),
        (DRIVER, [], [], "S1", "no slice of the driver names the node"),
        (DRIVER, slices(1, "a.b"), [], "R2", "GetInfo says gpu.example.com, the slices say a.b"),
        ("Gpu.example.com", [], answer(422), "N1", "not a DNS subdomain in lower case"),
        (DRIVER, [], answer(403, "forbidden"), "X3", "answers 403 to POST /apis/resource.k8s.io"),
        (DRIVER, slices(2), answer(422, "`sharedCounters` or `devices`"), "S18", "answers 422"),
        (DRIVER, [], answer(422, "must have at most 128 items"), "S10", "at most 128 items"),
        (DRIVER, slices(2), answer(409), "S1", "resourceSliceCount is 2"),
    ],
)
def test_a_driver_that_publishes_no_whole_pool_breaks_a_named_rule(
    name: str,
    there: list[dict[str, Any]],
    requests: list[RecordedRequest],
    rule: str,
    said: str,
) -> None:
    found = starting.unpublished(name, 90, there, requests)
    assert found.rule == rule
    assert str(found).startswith(f"{rule}: ")
    assert said in str(found)
    assert "after 90 s these are published: " in str(found)


def test_what_is_published_is_printed() -> None:
    found = starting.published([*slices(2), *slices(1, "a.b")])
    assert found == (
        "pool a.b/n0, generation 2, 1 of 1 slices, 2 devices; "
        "pool gpu.example.com/n0, generation 2, 1 of 2 slices, 2 devices"
    )


def test_a_driver_that_runs_and_does_not_register_breaks_the_rule_of_the_socket_or_of_getinfo() -> (
    None
):
    hidden = starting.unregistered(90, [".d.sock"], "", "it printed nothing")
    assert (hidden.rule, ".d.sock" in str(hidden)) == ("R1", True)
    silent = starting.unregistered(90, ["d.sock"], "GetInfo: UNAVAILABLE", "x")
    assert (silent.rule, "UNAVAILABLE" in str(silent)) == ("R2", True)


def test_a_driver_that_never_started_is_waited_for_once() -> None:
    starts = Starts()
    assert starts.limit() == START_SECONDS
    starts.failed(StartError("S1: incomplete", "S1"))
    assert str(starts.failed(StartError("another", "R2"))) == "S1: incomplete"
    with pytest.raises(StartError, match="S1: incomplete") as raised:
        starts.limit()
    assert raised.value.rule == "S1"


def test_a_driver_that_started_before_is_waited_for_again_but_not_as_long() -> None:
    starts = Starts()
    starts.succeeded(8)
    assert starts.limit() == START_SECONDS
    starts.failed(StartError("R1: no socket", "R1"))
    assert starts.hopeless is None
    assert starts.limit() == 24
    starts.succeeded(50)
    assert starts.limit() == START_SECONDS


def site(error: StartError, starts: Starts) -> Site:
    """Return a node on which the driver does not start."""
    setting = SimpleNamespace(folder="/tmp/dk-1", starts=starts)
    made = SimpleNamespace(steps=[], step=lambda _: None, tail=lambda: "", setting=setting)

    def ready() -> None:
        raise starts.failed(error)

    made.ready, made.settle = ready, lambda: None
    return cast(Site, made)


@pytest.mark.parametrize(("check", "status"), [("S1", FAIL), ("P1", NOT_RUN)])
def test_only_the_rule_that_is_broken_fails(check: str, status: str) -> None:
    scenario = Scenario(check, lambda _: None, "main", waits=False)
    error = StartError("S1: incomplete", "S1")
    found = running.run_one(site(error, Starts()), scenario, checks.by_id()[check])
    assert (found.status, found.reason) == (status, "S1: incomplete")


def test_a_check_after_which_the_driver_does_not_start_again_leaves_a_failure() -> None:
    starts = Starts()
    starts.succeeded(1)
    scenario = Scenario("P1", lambda _: None, "main", waits=False)
    found = running.run_one(
        site(StartError("the driver ended: x"), starts), scenario, checks.by_id()["P1"]
    )
    assert found.status == FAIL

"""S: how slices change."""

import contextlib
import copy
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from urllib3.exceptions import HTTPError

from dragoman_drivers.conformance import slicerules
from dragoman_drivers.conformance.checks import NotRunError, need
from dragoman_drivers.conformance.scenarios import scenario
from dragoman_drivers.conformance.site import Site
from dragoman_drivers.conformance.starting import START_SECONDS
from dragoman_drivers.throwaway.api import ApiError

SLICES = "/apis/resource.k8s.io/v1/resourceslices"
QUIET_SECONDS = 300.0
NARROW = (
    "--feature-gates=DRAPartitionableDevices=false,DRAConsumableCapacity=false",
    "--runtime-config=resource.k8s.io/v1beta1=false,resource.k8s.io/v1beta2=false",
)
"""Flags of an API server that drops fields, and serves resource.k8s.io/v1 alone."""
RETRY_SECONDS = 130.0
"""After an error: the back-off of Go's helper grows to a minute and more."""
REPAIR_SECONDS = 45.0
"""For a slice that was deleted or changed: the helper of Go drivers waits 30 s on purpose."""


@contextmanager
def watched(site: Site) -> Iterator[list[Mapping[str, Any]]]:
    """Collect every state of the node's slices inside the block."""
    events: list[Mapping[str, Any]] = []
    stop = threading.Event()

    def follow() -> None:
        listed = site.api.request("GET", SLICES, limit=1)
        version = listed["metadata"]["resourceVersion"]
        began.set()
        while not stop.is_set():  # watches are short, so that the thread ends with the block
            query = {"resourceVersion": version, "fieldSelector": f"spec.nodeName={site.node}"}
            for line in site.api.stream(SLICES, watch="true", timeoutSeconds=1, **query):
                event = json.loads(line)
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] in {"ADDED", "MODIFIED"}:
                    events.append(event["object"])

    def followed() -> None:
        with contextlib.suppress(ApiError, OSError, LookupError, ValueError, HTTPError):
            follow()

    began = threading.Event()
    thread = threading.Thread(target=followed, daemon=True)
    thread.start()
    began.wait(START_SECONDS)
    try:
        yield events
    finally:
        stop.set()
        thread.join(START_SECONDS)


@scenario("S2", "slices")
def generation(site: Site) -> str:
    """The generation never falls, and rises with the content."""
    with watched(site) as events:
        first, *_ = site.slices()
        site.restart()
        changed = copy.deepcopy(dict(first))
        changed["spec"]["devices"] = (changed["spec"].get("devices") or [])[:-1]
        site.api.patch(
            "resourceslices",
            first["metadata"]["name"],
            None,
            {"metadata": {"annotations": {"dragoman.dev/touched": "true"}}},
        )
        if site.profile.lose:
            (name,) = site.take(1)
            with site.lost(name):
                site.wait(lambda: name not in site.devices(), REPAIR_SECONDS, f"{name} to go")
            site.wait(lambda: name in site.devices(), REPAIR_SECONDS, f"{name} to come")
        time.sleep(1)
    states = [first, *(one for one in events if one["spec"]["driver"] == site.driver)]
    problem = slicerules.generations(states)
    need(not problem, problem)
    return f"{len(states)} states"


@scenario("S4", "second")
def pool_names(site: Site) -> None:
    """Pools of two nodes have two names."""
    with Site(site.setting, f"{site.node}-b") as other:
        other.start()
        found = [*site.slices(), *other.slices()]
        problem = slicerules.own_pools(found)
        need(not problem, problem)


@scenario("S5", "away")
def gone_node(site: Site) -> str:
    """Slices have an owner, and one that is the Node takes them along when it is deleted."""
    # A further owner, such as the driver's DaemonSet, keeps slices of a Node that is gone.
    site.wait(site.pool_complete, START_SECONDS, "slices")
    found = site.slices()
    problem = slicerules.owned(found)
    need(not problem, problem)
    early = _collect(site)
    need(not early, f"{early[:1]} is garbage while its Node is there: its owner has another UID")
    site.subject.kill()
    site.api.delete("nodes", site.node)
    site.step("SIGKILL, delete the Node, and collect garbage as kube-controller-manager does")
    try:
        gone = _collect(site)
    finally:
        site.create_node()
    left = [one for one in site.slices() if slicerules.names_node(one)]
    need(not left, f"{left[0]['metadata']['name'] if left else ''} outlives its Node")
    return f"{len(gone)} of {len(found)} slices go with the Node"


def _collect(site: Site) -> list[str]:
    """Delete the node's slices whose owner is gone, as kube-controller-manager does."""
    node = site.api.find("nodes", site.node)
    there = {str(node["metadata"]["uid"])} if node else set()
    found = slicerules.garbage(site.slices(), there)
    for name in found:
        site.api.delete("resourceslices", name)
    return found


@scenario("S6", "slices")
def deleted_slices(site: Site) -> str:
    """Deleted slices come back."""
    before = site.pool_complete()
    start = time.monotonic()
    for one in before:
        site.api.delete("resourceslices", one["metadata"]["name"])
    site.step("delete all slices")
    site.wait(site.pool_complete, REPAIR_SECONDS, "the slices to come back")
    return f"after {time.monotonic() - start:.1f} s"


@scenario("S7", "slices")
def foreign_change(site: Site) -> str:
    """A foreign change is repaired, without a fight."""
    one = next((one for one in site.slices() if one["spec"].get("devices")), None)
    if one is None:
        raise NotRunError("no slice has devices")
    wanted = [device["name"] for device in one["spec"]["devices"]]
    spec = copy.deepcopy(one["spec"])
    spec["devices"] = spec["devices"][1:] or [{"name": "foreign"}]
    start = time.monotonic()
    site.api.update({**one, "spec": spec})
    site.step(f"remove device {wanted[0]} from slice {one['metadata']['name']}")
    site.wait(lambda: wanted[0] in site.devices(), REPAIR_SECONDS, "the repair")
    time.sleep(2)
    seconds = time.monotonic() - start
    writes = [r for r in site.proxy.since(start) if r.writes and r.concerns("resourceslices")]
    need(len(writes) <= seconds + 2, f"{len(writes)} writes in {seconds:.0f} s: a fight")
    return f"after {seconds - 2:.1f} s"


@scenario("S8", "quiet", waits=True)
def quiet(site: Site) -> str:
    """Nothing is written while nothing changes."""
    return _quiet(site, QUIET_SECONDS)


def _quiet(site: Site, seconds: float) -> str:
    site.wait(site.pool_complete, START_SECONDS, "slices")
    time.sleep(3)
    start = time.monotonic()
    while time.monotonic() < start + seconds:
        time.sleep(1)
        writes = [one for one in site.proxy.since(start) if one.writes]
        need(not writes, f"{len(writes)} writes at rest, such as {writes[-1:]}")
    return f"0 writes in {seconds:.0f} s"


@scenario("S9", "mock")
def lost_and_found(site: Site) -> str:
    """Slices follow a device that is lost and found."""
    if not site.profile.lose:
        raise NotRunError("the profile has no device.lose")
    (name,) = site.take(1)
    start = time.monotonic()
    with site.lost(name):
        site.wait(lambda: name not in site.devices(), 30, f"{name} to leave the slices")
    site.wait(lambda: name in site.devices(), 30, f"{name} to come back")
    return f"{time.monotonic() - start:.1f} s"


@scenario("S10", "variants")
def large(site: Site) -> str:
    """Many devices are split, long texts are shortened."""
    problem = slicerules.limits(site.slices())
    need(not problem, problem)
    command = site.profile.commands.get("many")
    if not command:
        raise NotRunError("the profile has no `manyCommand` with more than 128 devices")
    with site.using(command):
        site.wait(lambda: len(site.devices()) > 128, 30, "more than 128 published devices")
        count = len(site.devices()), len(site.slices())
    return f"{count[0]} devices in {count[1]} slices"


@scenario("S14", "variants")
def empty_pool(site: Site) -> None:
    """Without devices one empty slice is published."""
    command = site.profile.commands.get("empty")
    if not command:
        raise NotRunError("the profile has no `emptyCommand`")
    with site.using(command):
        found = site.slices()
        need(
            found and not site.devices(), f"{len(found)} slices with {len(site.devices())} devices"
        )


@scenario("S15", "errors", waits=True)
def server_errors(site: Site) -> None:
    """After 409, 429 and 500 it tries again, and runs on."""
    for code in (409, 429, 500):
        failed: list[str] = []

        def fail(method: str, path: str, code: int = code, failed: list[str] = failed) -> int:
            if method != "GET" and "/resourceslices" in path and not failed:
                failed.append(path)
                return code
            return 0

        site.proxy.fail = fail
        for one in site.slices():
            site.api.delete("resourceslices", one["metadata"]["name"])
        site.step(f"delete all slices, and answer {code} once")
        site.wait(
            lambda: site.pool_complete() or not site.subject.runs,
            RETRY_SECONDS,
            f"slices after {code}",
        )
        need(failed, "it wrote nothing")
        need(site.subject.runs, f"it ended after {code}: {site.tail()}")


@scenario("S18", "published")
def no_empty_devices(site: Site) -> None:
    """Slices with counters have no `devices`."""
    found = [one for one in site.slices() if one["spec"].get("sharedCounters")]
    if not found:
        refused = [
            one
            for one in site.proxy.requests
            if one.writes and one.concerns("resourceslices") and one.code == 422
        ]
        need(not refused, f"the API server refused a slice {len(refused)} times (422)")
        raise NotRunError("no slice has sharedCounters")


@scenario("S19", "rolling")
def exit_keeps(site: Site) -> None:
    """SIGTERM does not delete slices while another instance runs."""
    site.second()
    before = {one["metadata"]["uid"] for one in site.slices()}
    with watched(site) as events:
        site.subject.stop()
        time.sleep(2)
        after = {one["metadata"]["uid"] for one in site.slices()}
    need(before == after, f"{len(before ^ after)} slices were deleted or made again at SIGTERM")
    need(len(events) < 20, f"{len(events)} writes at SIGTERM")


@scenario("S11", "gates", waits=True)
def dropped_fields(site: Site) -> str:
    """Fields that the server drops do not stop the rest, and cause no endless writes."""
    with site.served_by(NARROW):
        site.prepared(site.claim(*site.take(1)))
        time.sleep(5)
        start = time.monotonic()
        time.sleep(15)
        writes = [one for one in site.proxy.since(start) if one.writes]
    need(not writes, f"{len(writes)} writes in 15 s at rest on a server that drops fields")
    return "gates of counters, shares and taints off; v1beta1 and v1beta2 off"

"""Pods that wait for devices get an Event: exactly one each, again only for other reasons."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest
import urllib3

from tests.e2e.rbac import DEVICE_SECONDS_RULES, EXPLAIN_RULES, OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane

AFTER, INTERVAL = 2, 4
PODS = int(os.environ.get("DRAGOMAN_EVENT_PODS", "60"))
"""`make test-explain` tries 500."""
REASON = "CannotAllocateDevices"


@pytest.fixture(scope="module")
def operator(plane: ControlPlane) -> Iterator[OperatorProcess]:
    """Run an operator that explains, sooner and more often than users want it."""
    user = plane.user("dragoman-explain", [*OPERATOR_RULES, *EXPLAIN_RULES, *DEVICE_SECONDS_RULES])
    flags = (
        "--explain-events",
        "--device-metrics",
        "--no-leader-elect",
        f"--explain-after={AFTER}",
        f"--explain-interval={INTERVAL}",
    )
    with OperatorProcess(plane, user, *flags) as running:
        yield running
        assert running.faults() == []


def events(setup: Setup) -> list[Json]:
    """Return the Events that explain pods of a namespace."""
    found = setup.api.list("events.events.k8s.io", setup.namespace)
    return [one for one in found if one["reason"] == REASON]


def told(setup: Setup) -> Counter[str]:
    """Count them by pod."""
    return Counter(one["regarding"]["name"] for one in events(setup))


def node_of(setup: Setup, pod: str) -> str:
    """Return the node of a pod, empty while it waits."""
    return str(setup.api.get("pods", pod, setup.namespace)["spec"].get("nodeName") or "")


def metrics(operator: OperatorProcess) -> dict[str, float]:
    """Return the samples of the operator's metrics."""
    page = urllib3.request("GET", f"http://127.0.0.1:{operator.port}/metrics").data.decode()
    lines = (line.rpartition(" ") for line in page.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_each_pod_that_waits_gets_one_event(setup: Setup, operator: OperatorProcess) -> None:
    served = setup.devices(2)
    setup.apply(setup.template(device_class=served))
    lucky = ["lucky-0", "lucky-1"]
    setup.api.create_many(setup.pod(name) for name in lucky)
    for name in lucky:
        wait_for(partial(node_of, setup, name), message=f"pod {name} to be placed")
    names = [f"waits-{number}" for number in range(PODS)]
    setup.api.create_many(setup.pod(name) for name in names)
    wait_for(lambda: len(told(setup)) == PODS, 60 + PODS, "an Event for each pod", every=0.5)
    time.sleep(2 * INTERVAL)
    operator.stop()
    operator.start()
    time.sleep(2 * AFTER + 1)
    # None of the placed pods, and none twice: not after the interval, not of another process.
    assert told(setup) == dict.fromkeys(names, 1)
    others = len([one for one in setup.api.list("nodes") if one["metadata"]["name"] != served])
    for event in events(setup):
        assert event["note"].startswith(f"{others + 1} node")
        assert "1 in use" in event["note"]
        assert len(event["note"].encode()) <= 1024
        assert event["note"].endswith(
            f"(kubectl dra explain pod {event['regarding']['name']} -n {setup.namespace})"
        )
    driver = f"{served}.example.com"
    series = f'dragoman_devices{{class="{served}",driver="{driver}",state="%s"}}'

    def waiting() -> float:
        found = metrics(operator)
        return sum(found[name] for name in found if "pods_waiting_for_devices{" in name)

    wait_for(lambda: metrics(operator).get(series % "used") == 2, 60, "a count of devices")
    wait_for(lambda: waiting() >= PODS, 60, "a count of pods that wait")
    counted = metrics(operator)
    assert counted[series % "used"] == 2
    assert counted[series % "free"] == 0
    infos = [name for name in counted if name.startswith("dragoman_device_info{")]
    mine = [name for name in infos if f'driver="{driver}"' in name]
    assert len(mine) == 2
    assert all(f'namespace="{setup.namespace}"' in name for name in mine)
    assert {name for name in lucky for one in mine if f'pod="{name}"' in one} == {*lucky}


def test_other_reasons_are_another_event(setup: Setup, operator: OperatorProcess) -> None:
    assert operator.ready()
    served = setup.devices(1)
    setup.apply(setup.template(device_class=served))
    setup.api.create(setup.pod("first"))
    wait_for(lambda: node_of(setup, "first"), message="a pod to be placed")
    setup.api.create(setup.pod("second"))
    wait_for(lambda: told(setup)["second"] == 1, 60, "an Event")
    (item,) = (
        one
        for one in setup.api.list("resourceslices")
        if one["spec"]["driver"] == f"{served}.example.com"
    )
    taint = {"key": "example.com/broken", "effect": "NoSchedule"}
    devices = [{**one, "taints": [taint]} for one in item["spec"]["devices"]]
    body = {"spec": {"devices": devices, "pool": {"generation": 2}}}
    setup.api.patch("resourceslices", item["metadata"]["name"], None, body)
    scheduler_has_seen_slices(setup, served)
    setup.finish("first")
    wait_for(lambda: told(setup)["second"] == 2, 60, "an Event with other reasons")
    time.sleep(2 * INTERVAL)
    notes = sorted(
        (one["eventTime"], one["note"])
        for one in events(setup)
        if one["regarding"]["name"] == "second"
    )
    assert len(notes) == 2
    assert "in use" in notes[0][1]
    assert "1 tainted example.com/broken:NoSchedule" in notes[1][1]


def scheduler_has_seen_slices(setup: Setup, node: str) -> None:
    """Wait until the scheduler has seen all slices: it allocates a device of a last one."""
    name = f"{node}-last"
    driver = f"{name}.example.com"
    created = (objects.device_class(name, driver), objects.resource_slice(node, 1, driver))
    for manifest in (*created, setup.claim("last", name), setup.pod("last", claims={"a": "last"})):
        setup.api.create(setup.plane.served(manifest))
    wait_for(lambda: node_of(setup, "last"), message="a pod with a device of the last slice")
    for resource, manifest in zip(("deviceclasses", "resourceslices"), created, strict=True):
        setup.api.delete(resource, manifest["metadata"]["name"])


def test_no_name_of_another_namespace_is_in_an_event(
    setup: Setup, plane: ControlPlane, operator: OperatorProcess
) -> None:
    assert operator.ready()
    served = setup.devices(1)
    other = plane.create_namespace()
    try:
        for manifest in (
            objects.claim("secret-claim", other, served),
            objects.pod("secret-pod", other, claims={"a": "secret-claim"}),
        ):
            setup.api.create(manifest)
        wait_for(
            lambda: setup.api.get("pods", "secret-pod", other)["spec"].get("nodeName"),
            message="the other pod to be placed",
        )
        setup.apply(setup.claim(device_class=served))
        setup.api.create(setup.pod("mine", claims={"a": "shared"}))
        wait_for(lambda: told(setup)["mine"] == 1, 60, "an Event")
        (event,) = events(setup)
        assert "secret" not in event["note"]
        assert other not in event["note"]
    finally:
        plane.clear_namespace(other)


def test_events_end_in_kubectl_describe(
    setup: Setup, plane: ControlPlane, operator: OperatorProcess
) -> None:
    assert operator.ready()
    setup.apply(setup.template())
    setup.api.create(setup.pod("described"))
    wait_for(lambda: told(setup)["described"] == 1, 60, "an Event")
    said = plane.kubectl("describe", "pod", "described", "-n", setup.namespace).stdout
    assert REASON in said
    assert "device class no-such-class.example.com does not exist" in said

"""`kubectl dra drain` on a real node: containers get their grace, replacements other devices."""

from collections.abc import Iterator

import pytest

from tests.e2e.node.setup import NodeSetup
from tests.e2e.toolkit.commands import dra
from tests.support.controlplane.api import Json, wait_for

pytestmark = [pytest.mark.node, pytest.mark.slow]
GRACE = 3
"""Seconds that the container takes to end, less than its grace period of 30 s."""


@pytest.fixture
def drained(setup: NodeSetup) -> Iterator[list[str]]:
    """Collect what a test drains, and put it back in service."""
    devices: list[str] = []
    yield devices
    for device in devices:
        dra("undrain", device, "--kubeconfig", setup.plane.kubeconfig, expected=(0, 1))


def device_of(setup: NodeSetup, pod: str) -> str:
    """Return the device of a pod as commands take it."""
    (result,) = setup.claim_of(pod)["status"]["allocation"]["devices"]["results"]
    return f"{result['driver']}/{result['pool']}/{result['device']}"


def pods_of(setup: NodeSetup, job: str) -> list[Json]:
    """Return the pods of a Job that are not ending."""
    found = setup.api.list("pods", setup.namespace, labelSelector=f"job-name={job}")
    return [one for one in found if "deletionTimestamp" not in one["metadata"]]


def test_a_drained_container_has_its_grace_and_its_replacement_another_device(
    setup: NodeSetup, drained: list[str]
) -> None:
    setup.template()
    setup.job("training", 1, 1, "tell", "hold", f"work={GRACE}s", "exit=3")
    (pod,) = wait_for(lambda: pods_of(setup, "training"))
    first = pod["metadata"]["name"]
    setup.until(first)
    device = device_of(setup, first)
    drained.append(device)

    arguments = ("--timeout", "90s", "-n", setup.namespace, "-o", "json")
    said = dra("drain", device, *arguments, "--kubeconfig", setup.plane.kubeconfig).document
    (ended,) = said["pods"]
    assert (ended["pod"], ended["state"]) == (f"{setup.namespace}/{first}", "ended")
    assert ended["seconds"] >= GRACE
    assert said["done"]

    (second,) = wait_for(lambda: pods_of(setup, "training"))
    name = second["metadata"]["name"]
    assert name != first
    setup.until(name)
    assert device_of(setup, name) != device
    assert setup.devices(name) != [device.rpartition("/")[2]]
    held = dra("holds", "-o", "json", "--kubeconfig", setup.plane.kubeconfig).document["holds"]
    assert [one["state"] for one in held if one["device"] == device.rpartition("/")[2]] == ["held"]

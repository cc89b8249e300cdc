"""`kubectl dra drain` on a real node: containers get their grace, replacements other devices."""

from collections.abc import Iterator

import pytest

from tests.e2e.node.shift import Shift
from tests.e2e.toolkit.commands import dra
from tests.support.controlplane.api import Json, wait_for

pytestmark = [pytest.mark.node, pytest.mark.slow]
GRACE = 3
"""Seconds that the container takes to end, less than its grace period of 30 s."""


@pytest.fixture
def drained(shift: Shift) -> Iterator[list[str]]:
    """Collect what a test drains, and put it back in service."""
    devices: list[str] = []
    yield devices
    for device in devices:
        dra("undrain", device, "--kubeconfig", shift.plane.kubeconfig, expected=(0, 1))


def device_of(shift: Shift, pod: str) -> str:
    """Return the device of a pod as commands take it."""
    (result,) = shift.claim_of(pod)["status"]["allocation"]["devices"]["results"]
    return f"{result['driver']}/{result['pool']}/{result['device']}"


def pods_of(shift: Shift, job: str) -> list[Json]:
    """Return the pods of a Job that are not ending."""
    found = shift.api.list("pods", shift.namespace, labelSelector=f"job-name={job}")
    return [one for one in found if "deletionTimestamp" not in one["metadata"]]


def test_a_drained_container_has_its_grace_and_its_replacement_another_device(
    shift: Shift, drained: list[str]
) -> None:
    shift.template()
    shift.job("training", 1, 1, "tell", "hold", f"work={GRACE}s", "exit=3")
    (pod,) = wait_for(lambda: pods_of(shift, "training"))
    first = pod["metadata"]["name"]
    shift.until(first)
    device = device_of(shift, first)
    drained.append(device)

    arguments = ("--timeout", "90s", "-n", shift.namespace, "-o", "json")
    said = dra("drain", device, *arguments, "--kubeconfig", shift.plane.kubeconfig).document
    (ended,) = said["pods"]
    assert (ended["pod"], ended["state"]) == (f"{shift.namespace}/{first}", "ended")
    assert ended["seconds"] >= GRACE
    assert said["done"]

    (second,) = wait_for(lambda: pods_of(shift, "training"))
    name = second["metadata"]["name"]
    assert name != first
    shift.until(name)
    assert device_of(shift, name) != device
    assert shift.devices(name) != [device.rpartition("/")[2]]
    held = dra("holds", "-o", "json", "--kubeconfig", shift.plane.kubeconfig).document["holds"]
    assert [one["state"] for one in held if one["device"] == device.rpartition("/")[2]] == ["held"]

"""Selectors that cost much on many devices: the operator says so, and ends at once."""

import time
from functools import partial

import pytest

from tests.e2e.rbac import EXPLAIN_RULES, OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.hostile import Tries, scaled

pytestmark = pytest.mark.hostile("explain")

DEVICES = scaled(4000, least=400)
PODS = scaled(12, least=3)
EACH = 100
"""Devices of a node."""
TEN = str([*range(10)])
LOOPS = f"{TEN}.all(a, {TEN}.all(b, {TEN}.all(c, {TEN}.all(d, a + b + c + d >= 0))))"
"""10,000 loops."""


def unlike(name: str, driver: str) -> list[Json]:
    """Return nodes whose devices all differ in an attribute that selectors read."""
    made: list[Json] = [objects.device_class(name, driver)]
    for first in range(0, DEVICES, EACH):
        node = f"{name}-{first}"
        devices = [
            {"name": f"d{number}", "attributes": {"id": {"string": f"{number}"}}}
            for number in range(first, first + EACH)
        ]
        made += [objects.node(node), objects.resource_slice(node, devices, driver, node)]
    return made


def refused(setup: Setup, name: str, kind: str, selector: str) -> None:
    """Create a pod that the scheduler seems to have refused; a real one would need minutes."""
    claim = objects.claim(name, setup.namespace, kind)
    exactly = claim["spec"]["devices"]["requests"][0]["exactly"]
    exactly["selectors"] = [{"cel": {"expression": selector}}]
    pod = objects.pod(name, setup.namespace, claims={"a": name}, schedulerName="other")
    setup.api.create(claim)
    setup.api.create(pod)
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    body = {"status": {"conditions": [condition]}}
    setup.api.patch("pods", name, setup.namespace, body, subresource="status")


def said(setup: Setup, name: str) -> str:
    """Return the note of the Event about a pod, empty without one."""
    found = setup.api.list("events.events.k8s.io", setup.namespace)
    notes = (str(one["note"]) for one in found if one["regarding"]["name"] == name)
    return next(notes, "")


def test_costly_selectors_are_said_to_be_so(
    setup: Setup, plane: ControlPlane, tries: Tries
) -> None:
    name = f"costly-{setup.namespace}"
    driver = f"{name}.example.com"
    made = unlike(name, driver)
    setup.api.in_parallel(setup.api.create, made)
    user = plane.user("dragoman-costly", [*OPERATOR_RULES, *EXPLAIN_RULES])
    flags = ("--explain-events", "--no-leader-elect", "--explain-after=1", "--explain-interval=600")
    try:
        with OperatorProcess(plane, user, *flags) as operator:
            wait_for(operator.ready, 60, "the operator to be ready")
            refused(setup, "cheap", name, f'device.attributes["{driver}"].id == "none"')
            wait_for(partial(said, setup, "cheap"), 60, "an Event about the cheap one")
            assert "too expensive" not in said(setup, "cheap")
            before, began = operator.processor_seconds(), time.monotonic()
            selector = f'device.attributes["{driver}"].id == "none" || !{LOOPS}'
            for number in range(PODS):
                refused(setup, f"costly-{number}", name, f"{selector} || {number} < 0")
            wait_for(partial(said, setup, f"costly-{PODS - 1}"), 120, "an Event about each")
            for number in range(PODS):
                name_of = f"costly-{number}"
                wait_for(partial(said, setup, name_of), 60, f"an Event about {name_of}")
                assert said(setup, name_of).startswith("too expensive to explain")
            took, seconds = operator.processor_seconds() - before, time.monotonic() - began
            # An equal spec is remembered.
            refused(setup, "again", name, f"{selector} || 0 < 0")
            wait_for(partial(said, setup, "again"), 60, "an Event about an equal one")
            # The operator ends while it computes.
            for number in range(PODS):
                refused(setup, f"last-{number}", name, f"{selector} || {number} < -1")
            time.sleep(1.5)
            stopped = time.monotonic()
            operator.stop()
            ended = time.monotonic() - stopped
            print(
                f"\n{PODS} costly pods, {DEVICES} devices: {took / PODS:.2f} s of CPU each, "
                f"{seconds:.1f} s in all; SIGTERM obeyed after {ended:.2f} s"
            )
            assert operator.faults() == []
        tries(2 * PODS + 2)
    finally:
        for one in made:
            setup.api.delete(setup.api.home(one).plural, one["metadata"]["name"])

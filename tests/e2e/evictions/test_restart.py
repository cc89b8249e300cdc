"""A restart of the eviction controller, beside which no other may run."""

import time

from tests.e2e.evictions.harness import Devices, evicting
from tests.support.controlplane.plane import ControlPlane

SETTLED = 5.0
"""Seconds in which a restarted controller would have written another status."""


def test_a_restart_does_not_take_completed_back(plane: ControlPlane) -> None:
    """The built-in controller counts from its start, and may say NotStarted."""
    made = Devices(plane, plane.create_namespace("evict"), "")
    try:
        with evicting(plane, "own"):
            made.publish()
            made.pod()
            made.rule()
            made.evicted()
            before = made.condition_with(status="False", reason="Completed")
        with evicting(plane, "own"):
            time.sleep(SETTLED)
            assert made.condition() == before
    finally:
        made.clear()

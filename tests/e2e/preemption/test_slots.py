"""Victims that take all of their grace period hold back no preemption of other namespaces."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from tests.e2e.maintenance.ward import Ward, uninstall
from tests.e2e.preemption.conftest import PREEMPTIONS, cleared, install
from tests.e2e.preemption.test_preemption import begun
from tests.e2e.rbac import (
    EXPLAIN_RULES,
    IMPERSONATION,
    OPERATOR_RULES,
    PREEMPTING_RULES,
    PREEMPTION_ACCOUNT,
)
from tests.e2e.running import OperatorProcess
from tests.support.controlplane.api import ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane

pytestmark = pytest.mark.hostile("preemption")
UNLIKE = 8
"""Pods of an attacker that share no plan."""
SLOW = {"metadata": {"finalizers": ["a.example/slow"]}}


@pytest.fixture
def plane(plane_with_rules: ControlPlane) -> Iterator[ControlPlane]:
    """Run an operator in mode on with two preemptions at a time."""
    made = plane_with_rules
    install(made)
    made.user(PREEMPTION_ACCOUNT, PREEMPTING_RULES)
    rules = [*OPERATOR_RULES, *EXPLAIN_RULES, IMPERSONATION]
    account = f"--preemption-account={PREEMPTION_ACCOUNT}"
    flags = ("--no-leader-elect", "--preemption=on", "--preemption-after=0", account)
    try:
        with OperatorProcess(made, made.user("dragoman-slots", rules), *flags) as running:
            yield made
            assert running.faults() == []
            wait_for(lambda: cleared(made), message="no preemption and no reservation to be left")
    finally:
        uninstall(made, PREEMPTIONS)


def test_slow_victims_of_two_namespaces_take_no_place(plane: ControlPlane) -> None:
    with ExitStack() as wards:
        slow = [Ward(plane, nodes=1, devices=1) for _ in range(2)]
        honest = Ward(plane, nodes=1, devices=1)
        for ward in (*slow, honest):
            wards.callback(ward.clear_devices)
            ward.pod("low", priorityClassName="low", terminationGracePeriodSeconds=100)
            ward.placed("low")
        for ward in slow:
            ward.api.patch("pods", "low", ward.name, SLOW)
            ward.pod("train", priorityClassName="high")
        for ward in slow:
            begun(ward)
        honest.pod("train", priorityClassName="high")
        began = time.monotonic()
        begun(honest)
        print(f"the third preemption began after {time.monotonic() - began:.1f} s")
        for ward in slow:
            ward.api.patch("pods", "low", ward.name, {"metadata": {"finalizers": None}})


@pytest.mark.slow
def test_an_honest_preemption_begins_beside_tenants_of_two_namespaces(plane: ControlPlane) -> None:
    """They take time of plans, places, and nodes, and create claims anew that are replaced."""
    with ExitStack() as wards:
        slow = [Ward(plane, nodes=1, devices=1) for _ in range(2)]
        honest = Ward(plane, nodes=1, devices=1)
        for ward in (*slow, honest):
            wards.callback(ward.clear_devices)
            ward.pod("low", priorityClassName="low", terminationGracePeriodSeconds=100)
            ward.placed("low")
        stop = threading.Event()
        for ward in slow:
            ward.api.patch("pods", "low", ward.name, SLOW)
            for number in range(UNLIKE):
                unlike = {"unlike": str(number)}
                ward.pod(f"train-{number}", priorityClassName="higher", labels=unlike)
            thread = threading.Thread(target=fight, args=(ward, stop))
            thread.start()
            wards.callback(thread.join)
        wards.callback(stop.set)
        for ward in slow:
            wait_for(lambda ward=ward: ward.api.list(PREEMPTIONS, ward.name), 60, "plans")  # type: ignore[misc]
        honest.pod("train", priorityClassName="high")
        began = time.monotonic()
        begun(honest)
        print(f"the honest preemption began after {time.monotonic() - began:.1f} s")
        stop.set()
        for ward in slow:
            ward.api.patch("pods", "low", ward.name, {"metadata": {"finalizers": None}})


def fight(ward: Ward, stop: threading.Event) -> None:
    """Delete the claims of pods that wait, so that they are made without the toleration."""
    while not stop.wait(0.5):
        for one in ward.api.list("resourceclaims", ward.name):
            if not one.get("status", {}).get("allocation"):
                with suppress(ApiError):
                    ward.api.delete("resourceclaims", one["metadata"]["name"], ward.name)

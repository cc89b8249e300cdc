"""Evictions while the control plane fails: outages, killed leaders, APIs that are not served."""

import os
import random
import time
from collections import Counter, defaultdict
from contextlib import ExitStack

import pytest

from tests.e2e.evictions.conftest import only_ours
from tests.e2e.evictions.harness import GATES, STOCK, Devices, Evictor, evicting, taint
from tests.e2e.rbac import EVICTION_RULES, OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.support.controlplane.plane import API_SERVER, ControlPlane

pytestmark = pytest.mark.slow

OUTAGE = 20.0
KILLS = int(os.environ.get("DRAGOMAN_KILLS", "10"))
"""How often the operator is killed."""
CLIENT_GONE = 504
"""What the API server logs of a request whose client went away."""
LEASES = ("--lease-duration=3", "--renew-deadline=2", "--retry-period=0.5")


def test_taints_of_drivers_evict_where_rules_are_not_served() -> None:
    """The stock controller waits for its cache of rules without end."""
    with ControlPlane(feature_gates=GATES) as plane:
        check_unserved(plane, "stock")
        check_unserved(plane, "own")


def check_unserved(plane: ControlPlane, evictor: Evictor) -> None:
    """Assert that only dragoman evicts."""
    made = Devices(plane, plane.create_namespace("evict"), STOCK)
    try:
        with evicting(plane, evictor):
            made.publish({"name": "gpu-0", "taints": [taint()]})
            made.pod()
            time.sleep(8)
            only_ours(evictor, passed=made.is_evicted())
    finally:
        made.clear()


def test_assist_evicts_what_the_stock_controller_forgets(plane: ControlPlane) -> None:
    """It waits 30 seconds for the stock controller, and never writes the status of rules."""
    user = plane.user("dragoman-assist", (*OPERATOR_RULES, *EVICTION_RULES))
    modes = ("--claims=off", "--evictions=assist", "--no-leader-elect")
    made = Devices(plane, plane.create_namespace("evict"), user.name)
    mark = plane.audit.mark()
    try:
        with evicting(plane, "stock"), OperatorProcess(plane, user, *modes) as running:
            made.publish("gpu-0")
            made.pod("plain")
            made.extended_pod("extended")
            made.rule()
            began = time.monotonic()
            made.evicted("plain")
            made.kept("extended", seconds=20)
            made.evicted("extended", timeout=60)
            assert time.monotonic() - began >= 25
            assert made.events("extended") == ["Marking for deletion"]
            assert running.faults() == []
        plane.audit.settled(user.name, 2)
        writes = plane.audit.counts(user.name, mark)
        assert writes["delete pods"] == 1
        assert not [one for one in writes if "devicetaintrules" in one]
    finally:
        made.clear()


def test_own_writes_nothing_beside_the_stock_controller(plane: ControlPlane) -> None:
    """From its first moment: the rules, which show the other controller, are listed before."""
    user = plane.user("dragoman-beside", (*OPERATOR_RULES, *EVICTION_RULES))
    modes = ("--claims=off", "--evictions=own", "--no-leader-elect")
    made = Devices(plane, plane.create_namespace("evict"), user.name)
    mark = plane.audit.mark()
    try:
        with evicting(plane, "stock"):
            made.publish("gpu-0", {"name": "gpu-1", "taints": [taint()]})
            made.pod("first")
            made.rule(device="gpu-0")
            made.evicted("first")
            made.condition_with(reason="Completed")
        made.pod("second", made.result("gpu-1"))
        with OperatorProcess(plane, user, *modes):
            made.kept("second", seconds=8)
        writes = plane.audit.counts(user.name, mark)
        assert not [one for one in writes if one.startswith(("delete", "patch"))]
    finally:
        made.clear()


def test_an_outage_and_a_killed_leader_evict_no_pod_twice(plane: ControlPlane) -> None:
    """20 s without the API server and kill -9 of the leader, while 60 pods are evicted."""
    names = [f"leaves-{index}" for index in range(60)]
    stays = [f"stays-{index}" for index in range(10)]
    made = Devices(plane, plane.create_namespace("evict"), "")
    always = {"operator": "Exists", "effect": "NoExecute"}
    try:
        with ExitStack() as stack:
            replicas = [stack.enter_context(replica(plane, index)) for index in range(2)]
            made.publish("gpu-0")
            made.api.in_parallel(made.pod, names)
            made.api.in_parallel(lambda name: made.pod(name, made.result("gpu-0", always)), stays)
            time.sleep(1)
            mark = plane.audit.mark()
            made.rule()
            time.sleep(0.1)
            plane.kill(API_SERVER)
            replicas[0].kill()
            time.sleep(OUTAGE)
            plane.revive(API_SERVER)
            plane.wait_ready()
            made.evicted(*names, timeout=90)
            made.kept(*stays, seconds=3)
        writes = plane.audit.writes(since=mark, resource="pods", namespace=made.namespace)
        deleted = Counter(one.name for one in writes if one.verb == "delete")
        # A deletion may have been stored when the server died before it was logged.
        assert set(deleted.values()) <= {1}
        assert set(deleted) <= set(names)
    finally:
        made.clear()


def test_killed_operators_evict_no_pod_twice(plane: ControlPlane) -> None:
    """kill -9 of the only operator at a random moment of each eviction."""
    chance = random.Random(14)
    user = plane.user("dragoman-killed", (*OPERATOR_RULES, *EVICTION_RULES))
    modes = ("--claims=off", "--evictions=own", "--no-leader-elect")
    made = Devices(plane, plane.create_namespace("evict"), user.name)
    always = {"operator": "Exists", "effect": "NoExecute"}
    left: list[str] = []
    made.publish("gpu-0")
    made.pod("stays", made.result("gpu-0", always))
    mark = plane.audit.mark()
    try:
        with OperatorProcess(plane, user, *modes) as running:
            for kill in range(KILLS):
                names = [f"leaves-{kill}-{index}" for index in range(4)]
                made.api.in_parallel(made.pod, names)
                made.rule()
                time.sleep(chance.random() * 0.4)
                running.kill()
                running.start()
                made.evicted(*names, timeout=60)
                made.remove_rule()
                left += names
            made.kept("stays", seconds=2)
            assert running.faults() == []
        writes = plane.audit.writes(
            since=mark, resource="pods", verb="delete", namespace=made.namespace, refused=None
        )
        answers: defaultdict[str, list[int]] = defaultdict(list)
        for one in writes:
            answers[one.name].append(one.code)
        # The server may store a deletion and log an error: its client was killed meanwhile.
        torn = {name: codes for name, codes in answers.items() if codes != [200]}
        assert answers.keys() == set(left)
        assert all(codes.count(200) <= 1 for codes in torn.values()), torn
        assert all({*codes} <= {200, 404, CLIENT_GONE} for codes in torn.values()), torn
        assert len(torn) < len(left) / 2
    finally:
        made.clear()


def replica(plane: ControlPlane, index: int) -> OperatorProcess:
    """Return one of several operators, of which one leads."""
    user = plane.user(f"dragoman-{index}", (*OPERATOR_RULES, *EVICTION_RULES))
    modes = ("--claims=off", "--evictions=own", "--namespace=default")
    return OperatorProcess(plane, user, *modes, *LEASES)

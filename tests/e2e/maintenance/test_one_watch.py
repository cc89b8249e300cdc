"""With every controller on, the operator watches each resource once, and lists nothing beside."""

from collections import Counter
from collections.abc import Iterator

import pytest
import yaml

from tests.e2e.maintenance.ward import ROOT, Ward, install, served, uninstall
from tests.e2e.rbac import (
    DEVICE_SECONDS_RULES,
    EVICTION_RULES,
    EXPLAIN_RULES,
    FINDINGS_RULES,
    MAINTENANCE_RULES,
    POOL_STATUS_RULES,
    rule,
)
from tests.e2e.running import OperatorProcess
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane

EVERYTHING = (
    *("--evictions=own", "--pool-status=own", "--inventory-reports", "--maintenance"),
    *("--explain-events", "--device-metrics", "--findings", "--findings-interval=10"),
    *("--resync=30", "--no-leader-elect"),
)
REPORTS = "devicepoolreports.dragoman.dev"
USER = "dragoman-everything"


@pytest.fixture
def ward(plane_with_rules: ControlPlane) -> Iterator[Ward]:
    """Run an operator with every controller, and give it devices."""
    plane = plane_with_rules
    install(plane)
    plane.api().apply(yaml.safe_load((ROOT / "crds/devicepoolreports.yaml").read_text()))
    wait_for(lambda: served(plane, REPORTS), message="DevicePoolReports to be served")
    write = rule("dragoman.dev", "devicepoolreports", "list", "create", "patch", "delete")
    rules = (
        *EVICTION_RULES,
        *EXPLAIN_RULES,
        *DEVICE_SECONDS_RULES,
        *FINDINGS_RULES,
        *POOL_STATUS_RULES,
    )
    user = plane.user(USER, (*MAINTENANCE_RULES, *rules, write))
    with OperatorProcess(plane, user, *EVERYTHING) as running:
        made = Ward(plane)
        yield made
        made.clear()
        assert running.faults() == []
    uninstall(plane)


@pytest.mark.slow
def test_each_resource_is_watched_once_and_only_findings_list(ward: Ward) -> None:
    audit = ward.plane.audit
    ward.pod("idle", node=1)
    ward.pod("busy", node=0)
    ward.placed("idle", "busy")
    held = ward.maintain("held", target=ward.target(1, 1))
    ward.wait_condition(held, "Idle")
    since = audit.mark()
    drained = ward.maintain("drained", target={"node": ward.nodes[0]}, evict="WhenAllowed")
    ward.wait_condition(drained, "Idle")

    def lists() -> Counter[str]:
        return audit.reads(USER, "list", since)

    # Findings alone list nodes: every other list of a pass must be theirs, too.
    wait_for(lambda: lists()["nodes"] >= 2, 60, "two passes of findings")
    found = lists()
    assert {name: count for name, count in found.items() if count > found["nodes"]} == {}
    begun = audit.reads(USER, "watch", query="sendInitialEvents=true")
    wanted = {"pods", "resourceclaims", "resourceslices", "devicetaintrules", "deviceclasses"}
    assert wanted <= begun.keys()
    assert {name: count for name, count in begun.items() if count != 1} == {}

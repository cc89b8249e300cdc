"""Mode on with the real scheduler: a pod of high priority gets the devices of a lower one."""

from __future__ import annotations

from tests.e2e.maintenance.ward import Site, Ward
from tests.e2e.preemption.conftest import PREEMPTIONS
from tests.e2e.rbac import PREEMPTION_ACCOUNT
from tests.support.controlplane.api import wait_for


def test_a_pod_of_high_priority_gets_the_device(preempting: Site, ward: Ward) -> None:
    api, name = ward.api, ward.name
    since = ward.plane.audit.mark()
    ward.pod("low", priorityClassName="low")
    device = ward.placed("low")["low"]
    train = ward.pod("train", priorityClassName="high")

    assert ward.placed("train") == {"train": device}

    assert api.find("pods", "low", name) is None
    (journal,) = wait_for(
        lambda: [
            one
            for one in api.list(PREEMPTIONS, name)
            if one.get("status", {}).get("phase") == "Placed" and not one["metadata"].get("finalizers")
        ],
        message="the preemption to end",
    )
    assert journal["metadata"]["name"] == train["metadata"]["uid"]
    assert [one["name"] for one in journal["spec"]["victims"]] == ["low"]
    assert not [one for one in api.list("devicetaintrules") if "dragoman-preemption" in one["metadata"]["name"]]
    said = {one["reason"]: one["note"] for one in api.list("events.events.k8s.io", name)}
    assert f"Evicted for {name}/train (priority 1000, this pod 1)" in said["DevicePreempted"]
    written = ward.plane.audit.counts(PREEMPTION_ACCOUNT, since)
    assert written["create pods/eviction"] == 1
    assert not [one for one in written if "resourceclaims/" in one]
    assert not ward.plane.audit.writes(PREEMPTION_ACCOUNT, since, refused=True)

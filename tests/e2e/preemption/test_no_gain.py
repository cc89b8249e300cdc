"""No pod ends for one that is not placed: other plugins, and claims that tolerate all taints."""

from typing import Any

import pytest

from tests.e2e.maintenance.ward import Site, Ward
from tests.e2e.preemption.conftest import PREEMPTIONS
from tests.e2e.preemption.test_preemption import node_of, refusal
from tests.e2e.rbac import PREEMPTION_ACCOUNT
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.hostile import Tries
from tests.support.tenants import tenant

pytestmark = [pytest.mark.hostile("preemption"), pytest.mark.usefixtures("preempting")]
RBD: Json = {"name": "v", "rbd": {"monitors": ["m"], "image": "i", "pool": "p"}}
TERM: Json = {"labelSelector": {"matchLabels": {"x": "y"}}, "topologyKey": "kubernetes.io/hostname"}
AWAY: Json = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}


@pytest.mark.parametrize(
    ("mate", "waits"),
    [
        pytest.param({"affinity": AWAY}, {"labels": {"x": "y"}}, id="anti-affinity"),
        pytest.param({"volumes": [RBD]}, {"volumes": [RBD]}, id="volumes"),
    ],
)
def test_no_pod_ends_for_one_that_another_plugin_rejects(
    ward: Ward, mate: Json, waits: dict[str, Any]
) -> None:
    since = ward.plane.audit.mark()
    ward.pod("low", priorityClassName="low")
    device = ward.placed("low")["low"]
    ward.api.create(objects.pod("mate", ward.name, priorityClassName="high", **mate))
    wait_for(lambda: node_of(ward, "mate"), message="a node for the mate")
    labels = waits.pop("labels", {})
    ward.pod("train", priorityClassName="high", **waits)
    if labels:
        ward.api.patch("pods", "train", ward.name, {"metadata": {"labels": labels}})
    wait_for(lambda: refusal(ward, "train"), message="the scheduler's refusal")
    honest = Ward(ward.plane, nodes=1, devices=1)
    try:  # once another pod has got its device, the first was planned for as well
        honest.pod("low", priorityClassName="low")
        honest.placed("low")
        honest.pod("train", priorityClassName="high")
        honest.placed("train")
    finally:
        honest.clear_devices()
    assert ward.device_of("low") == device
    written = ward.plane.audit.writes(PREEMPTION_ACCOUNT, since, namespace=ward.name)
    assert not [one for one in written if "eviction" in one.what]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 12, 40])
def test_no_pod_ends_beside_claims_that_tolerate_every_taint(
    preempting: Site, ward: Ward, tries: Tries, count: int
) -> None:
    """Without the policy, as claims from before it."""
    plane = preempting.plane
    since = plane.audit.mark()
    ward.pod("low", priorityClassName="low")
    device = ward.placed("low")["low"]
    name = plane.create_namespace("thieves")
    api = tenant(plane, name)
    for number in range(count):
        made = objects.claim(f"thief-{number}", name, ward.name)
        exactly = made["spec"]["devices"]["requests"][0]["exactly"]
        exactly["tolerations"] = [{"operator": "Exists"}]
        api.create(made)
        api.create(objects.pod(f"thief-{number}", name, claims={"gpu": f"thief-{number}"}))
    ward.pod("train", priorityClassName="high")

    def said() -> str:
        reports = ward.api.list(PREEMPTIONS, ward.name)
        return next((one.get("status", {}).get("message", "") for one in reports), "")

    wait_for(lambda: "tolerates every taint" in said(), 60, "the report")
    assert ward.device_of("low") == device
    assert not plane.audit.counts(PREEMPTION_ACCOUNT, since)["create pods/eviction"]
    tries(count)
    # Once they are gone, the pod gets its device.
    api.delete_all("pods", name, gracePeriodSeconds=0)
    assert ward.placed("train") == {"train": device}

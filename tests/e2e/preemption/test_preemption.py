"""Mode on with the real scheduler: a pod of high priority gets the devices of a lower one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from dragoman.preemption.reservation import toleration
from tests.charts.rendering import NAMESPACE, RELEASE, render
from tests.e2e.maintenance.ward import Site, Ward
from tests.e2e.preemption.conftest import PREEMPTIONS
from tests.e2e.rbac import OPERATOR_RULES, PREEMPTION_ACCOUNT
from tests.e2e.running import OperatorProcess
from tests.support import manifests as objects
from tests.support.controlplane.api import Api, ApiError, Json, wait_for

pytestmark = pytest.mark.usefixtures("preempting")


def ended(ward: Ward) -> Json:
    """Return the only preemption of the namespace once nothing of it but its record is left."""

    def found() -> list[Json]:
        return [
            one
            for one in ward.api.list(PREEMPTIONS, ward.name)
            if "endedAt" in one.get("status", {}) and not one["metadata"].get("finalizers")
        ]

    (journal,) = wait_for(found, 60, "the preemption to end")
    uid = journal["spec"]["pod"]["uid"]
    assert not ward.api.list("devicetaintrules", labelSelector=f"dragoman.dev/preemption={uid}")
    return journal


def test_a_pod_of_high_priority_gets_the_device(ward: Ward) -> None:
    api, name = ward.api, ward.name
    since = ward.plane.audit.mark()
    ward.pod("low", priorityClassName="low")
    device = ward.placed("low")["low"]
    train = ward.pod("train", priorityClassName="high")

    assert ward.placed("train") == {"train": device}

    assert api.find("pods", "low", name) is None
    journal = ended(ward)
    assert journal["status"]["phase"] == "Placed"
    assert journal["metadata"]["name"] == train["metadata"]["uid"]
    assert [one["name"] for one in journal["spec"]["victims"]] == ["low"]
    said = {one["reason"]: one["note"] for one in api.list("events.events.k8s.io", name)}
    assert f"Evicted for {name}/train (priority 1000, this pod 1)" in said["DevicePreempted"]
    written = ward.plane.audit.counts(PREEMPTION_ACCOUNT, since)
    assert written["create pods/eviction"] == 1
    assert not [one for one in written if "resourceclaims/" in one]
    assert not ward.plane.audit.writes(PREEMPTION_ACCOUNT, since, refused=True)


def test_the_command_needs_no_operator_that_preempts(preempting: Site, ward: Ward) -> None:
    plane, name = ward.plane, ward.name
    preempting.operator.stop()
    try:
        with OperatorProcess(plane, plane.user("dragoman", OPERATOR_RULES)):
            ward.pod("low", priorityClassName="low")
            ward.placed("low")
            ward.pod("train", priorityClassName="high")
            wait_for(lambda: refusal(ward, "train"), message="the scheduler's refusal")

            said = ward.dra("preempt", "train", expected=(2,)).errors
            assert f"Evict this pod for {name}/train? Confirm with --yes" in said
            assert ward.device_of("low")
            answer = ward.dra("preempt", "train", "--yes")

            assert f"Placed: placed on {ward.nodes[0]}" in answer.output + answer.errors
            assert ward.device_of("train")
            assert ended(ward)["status"]["phase"] == "Placed"
            answer = ward.dra("preempt", "train", "--abort", expected=(1,))
            said = f"No preemption for {name}/train is under way"
            assert said in answer.output + answer.errors
    finally:
        preempting.operator.start()


def refusal(ward: Ward, name: str) -> str:
    """Return what the scheduler says of a pod, empty before it has tried."""
    status = ward.api.get("pods", name, ward.name).get("status", {})
    return next((one.get("message", "") for one in status.get("conditions", ())), "")


# Policies -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def policies(preempting: Site) -> Iterator[None]:
    """Install the chart's admission policies, for the users of these tests."""
    values = {
        "preemption": {
            "mode": "on",
            "admissionPolicy": {"tolerations": True},
            "claimControllers": [preempting.operator.user.name],
        }
    }
    kept = [one for one in render(values) if "AdmissionPolicy" in one["kind"]]
    assert len(kept) == 6
    text = json.dumps(kept).replace(
        f"system:serviceaccount:{NAMESPACE}:{RELEASE}-preemption", PREEMPTION_ACCOUNT
    )
    api = preempting.plane.api()
    for one in json.loads(text):
        api.apply(one)
    yield
    for one in kept:
        plural = one["kind"].lower() + "s"
        api.delete(plural.replace("policys", "policies"), one["metadata"]["name"])


@pytest.mark.usefixtures("policies")
def test_policies_keep_reservations_to_their_pods(preempting: Site, ward: Ward) -> None:
    api, name = ward.api, ward.name
    thief = objects.claim("thief", name, name)
    exactly = thief["spec"]["devices"]["requests"][0]["exactly"]
    exactly["tolerations"] = [{"key": "dragoman.dev/preemption", "operator": "Exists"}]
    template = objects.template("thief", name, name)
    template["spec"]["spec"] = thief["spec"]
    forged = {
        "apiVersion": "dragoman.dev/v1alpha1",
        "kind": "DevicePreemption",
        "metadata": {"name": "forged", "namespace": name},
        "spec": {
            "mode": "Preempt",
            "node": ward.nodes[0],
            "pod": {"name": "train", "uid": "forged", "priority": 1000},
        },
    }
    for manifest in (thief, template, forged):
        refused(api, manifest)
    # Also where a claim controller makes the claim, from a template of another time.
    pod = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": True}
    thief["metadata"]["ownerReferences"] = [pod]
    controller = ward.plane.api(preempting.operator.user)
    refused(controller, thief)
    exactly["tolerations"] = [toleration("u")]
    controller.create(thief, dryRun="All")
    exactly["tolerations"] = [toleration("of-another")]
    refused(controller, thief)

    ward.pod("low", priorityClassName="low")
    ward.placed("low")
    train = ward.pod("train", priorityClassName="high")
    ward.placed("train")
    (journal,) = api.list(PREEMPTIONS, name)
    # A finalizer that is added would keep the record, and what it counts for, forever.
    kept = {"metadata": {"finalizers": ["a.example/x"]}}
    with pytest.raises(ApiError, match="only the operator writes"):
        api.patch(PREEMPTIONS, journal["metadata"]["name"], name, kept)
    (status,) = api.get("pods", "train", name)["status"]["resourceClaimStatuses"]
    claim = api.get("resourceclaims", status["resourceClaimName"], name)
    tolerated = claim["spec"]["devices"]["requests"][0]["exactly"]["tolerations"]
    assert tolerated == [toleration(train["metadata"]["uid"])]
    since = {one.what for one in ward.plane.audit.writes(PREEMPTION_ACCOUNT, namespace=name)}
    assert "delete resourceclaims" not in since


def refused(api: Api, manifest: Json) -> None:
    """Try to create an object until a policy, which acts a moment after it was made, refuses it."""

    def tried() -> bool:
        try:
            api.create(manifest, dryRun="All")
        except ApiError as error:
            return error.code == 403
        return False

    wait_for(tried, message=f"{manifest['kind']} to be refused")

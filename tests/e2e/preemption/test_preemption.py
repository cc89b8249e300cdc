"""Mode on with the real scheduler: a pod of high priority gets the devices of a lower one."""

from collections.abc import Iterator

import pytest

from dragoman.preemption.reservation import requests_of, toleration
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


def begun(ward: Ward) -> Json:
    """Wait until the only preemption of the namespace has evicted a pod; return it."""

    def found() -> list[Json]:
        journals = ward.api.list(PREEMPTIONS, ward.name)
        return [one for one in journals if one.get("status", {}).get("phase") == "Placing"]

    (journal,) = wait_for(found, 60, "an eviction")
    return journal


def reservations(ward: Ward, journal: Json) -> list[Json]:
    """Return the rules of a preemption."""
    uid = journal["spec"]["pod"]["uid"]
    return ward.api.list("devicetaintrules", labelSelector=f"dragoman.dev/preemption={uid}")


@pytest.fixture
def lingering(ward: Ward) -> Iterator[Json]:
    """Let a pod wait for the device of a pod that is evicted and does not end; yield the journal.

    Its finalizer stands for a container that takes its time.
    """
    kept = {"metadata": {"finalizers": ["a.example/slow"]}}
    ward.pod("low", priorityClassName="low")
    ward.placed("low")
    ward.api.patch("pods", "low", ward.name, kept)
    ward.pod("train", priorityClassName="high")
    yield begun(ward)
    ward.api.patch("pods", "low", ward.name, {"metadata": {"finalizers": None}})


def test_abort_releases_the_devices_of_a_preemption_under_way(ward: Ward, lingering: Json) -> None:
    assert reservations(ward, lingering)

    said = ward.dra("preempt", "train", "--abort")

    assert "its devices are released" in said.output + said.errors
    assert not reservations(ward, lingering)
    assert ward.api.find(PREEMPTIONS, lingering["metadata"]["name"], ward.name) is None


def test_a_drain_wins_over_a_preemption_under_way(ward: Ward, lingering: Json) -> None:
    ward.dra("drain", ward.device(), "--force", "--timeout", "1s", expected=(1,))

    journal = ended(ward)
    assert journal["metadata"]["uid"] == lingering["metadata"]["uid"]
    assert journal["status"]["phase"] == "Aborted"
    assert f"device {ward.device()} is taken out of service" in journal["status"]["message"]
    kept = [one["spec"]["taint"]["key"] for one in ward.api.list("devicetaintrules")]
    assert kept == ["dragoman.dev/maintenance"]


def with_cpu(ward: Ward, name: str, cpu: int, priority: str, *, device: bool = True) -> Json:
    """Create a pod that requests cores; a node has a thousand."""
    more = {"templates": {"gpu": "one"}} if device else {}
    made = objects.pod(name, ward.name, priorityClassName=priority, **more)
    made["spec"]["containers"][0].setdefault("resources", {})["requests"] = {"cpu": str(cpu)}
    return ward.api.create(made)


def node_of(ward: Ward, name: str) -> str:
    """Return the node of a pod, empty where it has none."""
    return str(ward.api.get("pods", name, ward.name)["spec"].get("nodeName") or "")


def test_where_cpu_alone_is_short_the_scheduler_preempts(ward: Ward) -> None:
    with_cpu(ward, "busy", 900, "low", device=False)
    wait_for(lambda: node_of(ward, "busy"), message="a node for the pod without devices")
    with_cpu(ward, "train", 500, "high")

    assert ward.placed("train")

    assert ward.api.find("pods", "busy", ward.name) is None
    assert not ward.api.list(PREEMPTIONS, ward.name)


def test_the_scheduler_preempts_for_cpu_that_runs_short_meanwhile(ward: Ward) -> None:
    api, name = ward.api, ward.name
    since = ward.plane.audit.mark()
    with_cpu(ward, "low", 100, "low")
    device = ward.placed("low")["low"]
    api.patch("pods", "low", name, {"metadata": {"finalizers": ["a.example/slow"]}})
    with_cpu(ward, "train", 500, "high")
    begun(ward)
    with_cpu(ward, "busy", 900, "low", device=False)
    wait_for(lambda: node_of(ward, "busy"), message="a node for the pod without devices")

    api.patch("pods", "low", name, {"metadata": {"finalizers": None}})

    assert ward.placed("train") == {"train": device}
    assert api.find("pods", "busy", name) is None
    journal = ended(ward)
    assert journal["status"]["phase"] == "Placed"
    assert [one["name"] for one in journal["spec"]["victims"]] == ["low"]
    assert ward.plane.audit.counts(PREEMPTION_ACCOUNT, since)["create pods/eviction"] == 1


def refusal(ward: Ward, name: str) -> str:
    """Return what the scheduler says of a pod, empty before it has tried."""
    status = ward.api.get("pods", name, ward.name).get("status", {})
    return next((one.get("message", "") for one in status.get("conditions", ())), "")


# Policies -----------------------------------------------------------------------------------------


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

    # Alternatives tolerate it as well, beside what they tolerate already.
    several = objects.claim("several", name, name)
    first: Json = {"name": "first", "deviceClassName": name}
    second = {**first, "name": "second"}
    second["tolerations"] = [{"key": "k", "operator": "Exists"}]
    several["spec"]["devices"]["requests"] += [{"name": "b", "firstAvailable": [first, second]}]
    several["metadata"]["ownerReferences"] = [pod]
    requests = controller.create(several, dryRun="All")["spec"]["devices"]["requests"]
    given = [*requests_of({"devices": {"requests": requests}})]
    assert [one["tolerations"][-1] for one in given] == [toleration("u")] * 3
    assert [len(one["tolerations"]) for one in given] == [1, 1, 2]


def refused(api: Api, manifest: Json) -> None:
    """Try to create an object until a policy, which acts a moment after it was made, refuses it."""

    def tried() -> bool:
        try:
            api.create(manifest, dryRun="All")
        except ApiError as error:
            return error.code == 403
        return False

    wait_for(tried, message=f"{manifest['kind']} to be refused")

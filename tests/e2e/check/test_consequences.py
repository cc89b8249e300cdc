"""What the rules about pods, taint rules and admin access warn of, on real components.

Each case builds what a finding is about, and its nearest sound neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
import yaml

from dragoman_toolkit.linting import engine
from dragoman_toolkit.linting.knowledge.api import api_of
from dragoman_toolkit.linting.knowledge.devices import KnownDevices
from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError, Json, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.schedulersync import SchedulerSync

CLASS = DRIVER = "consequences.example.com"
RESOURCE = "consequences.example.com/gpu"
NODES = ("small-1", "small-2")
EVICTOR = "device-taint-eviction-controller"
NOT_FOUND = 404
GATES = {"DRADeviceTaintRules": True}
TAINT = "example.com/broken"
VERSIONS = {"resource.k8s.io/v1beta2": True}


@pytest.fixture(scope="module")
def world() -> Iterator[ControlPlane]:
    """Run a scheduler with two nodes, each with one device and room for one pod."""
    with ControlPlane(
        scheduler=True, audit=False, feature_gates=GATES, runtime_config=VERSIONS
    ) as plane:
        made = objects.device_class(CLASS, DRIVER)
        made["spec"]["extendedResourceName"] = RESOURCE
        plane.api().create(made)
        for name in NODES:
            plane.api().create(objects.node(name, pods=1))
            plane.api().create(objects.resource_slice(name, 1, DRIVER))
        yield plane


@pytest.fixture
def place(world: ControlPlane) -> Iterator[str]:
    """A namespace that is empty again afterwards."""
    name = world.create_namespace()
    yield name
    world.clear_namespace(name)


@pytest.fixture(scope="module")
def sync(world: ControlPlane) -> SchedulerSync:
    """Tell how far the scheduler has come."""
    made = SchedulerSync(world, TAINT)
    made.create()
    return made


@pytest.fixture
def decided(world: ControlPlane, sync: SchedulerSync, place: str) -> Scheduling:
    """Let the scheduler decide about pods."""
    return Scheduling(world, sync, place)


def found(*manifests: Json) -> set[str]:
    """Return the rules that find something in manifests and the class."""
    made = objects.device_class(CLASS, DRIVER)
    made["spec"]["extendedResourceName"] = RESOURCE
    source = engine.read("m.yaml", yaml.safe_dump_all([made, *manifests]))
    report = engine.check([source], api_of((1, 36)), KnownDevices(), engine.CheckOptions()).report
    return {finding.id for finding in report.findings}


@dataclass(frozen=True, slots=True)
class Scheduling:
    """The scheduler's answers in a namespace.

    Attributes:
        world: The control plane.
        sync: Tells how far its scheduler has come.
        namespace: Where pods are created.
    """

    world: ControlPlane
    sync: SchedulerSync
    namespace: str

    def __call__(self, pods: Sequence[Json]) -> list[str]:
        """Create pods one after the other; return their nodes, empty for those that fit nowhere."""
        self.sync.wait()  # claims, rules, and what the test before has left
        return [_decided(self.world, self.namespace, pod) for pod in pods]


def _decided(world: ControlPlane, namespace: str, pod: Json) -> str:
    api = world.api()
    name = api.create(pod)["metadata"]["name"]

    def answer() -> str | None:
        one = api.get("pods", name, namespace)
        if one["spec"].get("nodeName"):
            return str(one["spec"]["nodeName"])
        conditions = one["status"].get("conditions", ())
        refused = any(
            part["type"] == "PodScheduled" and part["status"] == "False" for part in conditions
        )
        return "-" if refused else None

    return wait_for(answer, 60, "the scheduler's answer").removeprefix("-")


def deployment(pod: Json, replicas: int) -> Json:
    """Return the Deployment that makes such pods."""
    labels = {"app": "a"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": pod["metadata"]["namespace"]},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {**pod["spec"], "restartPolicy": "Always"},
            },
        },
    }


def test_pods_that_share_a_claim_fit_on_one_node_alone(
    world: ControlPlane, place: str, decided: Scheduling
) -> None:
    shared = objects.claim("shared", place, CLASS)
    pods = [objects.pod(f"p{index}", place, claims={"gpu": "shared"}) for index in range(2)]
    assert "dra/shared-claim" in found(shared, deployment(pods[0], 2))
    world.api().create(shared)
    first, second = decided(pods)
    assert first.startswith("small-")
    assert not second, "the second replica needs the node of the first, which is full"


def test_pods_with_a_claim_each_fit_on_several_nodes(
    world: ControlPlane, place: str, decided: Scheduling
) -> None:
    template = objects.template("own", place, CLASS)
    pods = []
    for index in range(2):
        world.api().create(objects.claim(f"own-{index}", place, CLASS))
        pods.append(objects.pod(f"p{index}", place, claims={"gpu": f"own-{index}"}))
    made = objects.pod("p", place, templates={"gpu": "own"})
    assert "dra/shared-claim" not in found(template, deployment(made, 2))
    assert {*decided(pods)} == {*NODES}


def test_a_claim_has_at_most_256_consumers(world: ControlPlane, place: str) -> None:
    api = world.api()
    claim = api.create(objects.claim("shared", place, CLASS))
    pod = objects.pod("p", place, claims={"gpu": "shared"})
    assert "dra/shared-claim" in found(claim, deployment(pod, 257))
    result = {"request": "devices", "driver": DRIVER, "pool": NODES[0], "device": "device-0"}

    def reserved(count: int) -> Json:
        consumers = [
            {"resource": "pods", "name": f"p{index}", "uid": f"u{index}"} for index in range(count)
        ]
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": consumers}
        return {**claim, "status": status}

    with pytest.raises(ApiError, match="256"):
        api.update(reserved(257), "status")
    api.update(reserved(256), "status")


def test_an_extended_resource_beside_a_claim_takes_a_second_device(
    world: ControlPlane, place: str, decided: Scheduling
) -> None:
    api = world.api()
    claims = [api.create(objects.claim(f"c{index}", place, CLASS)) for index in range(2)]
    double = objects.pod("double", place, claims={"gpu": "c0"})
    double["spec"]["containers"][0]["resources"]["limits"] = {RESOURCE: "1"}
    single = objects.pod("single", place, claims={"gpu": "c1"})
    alone = objects.pod("alone", place)
    alone["spec"]["containers"][0]["resources"] = {"limits": {RESOURCE: "1"}}
    assert "dra/double-request" in found(claims[0], double)
    assert "dra/double-request" not in found(claims[1], single)
    assert "dra/double-request" not in found(alone)
    assert decided([double, single, alone])[0] == ""
    placed = [api.get("pods", name, place)["spec"].get("nodeName") for name in ("single", "alone")]
    assert {*placed} == {*NODES}


def rule(selector: dict[str, str], effect: str = "NoSchedule") -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "broken"},
        "spec": {
            "deviceSelector": selector,
            "taint": {"key": TAINT, "effect": effect},
        },
    }


@pytest.mark.parametrize(
    ("selector", "hit"), [({}, True), ({"driver": "other.example.com"}, False)], ids=["all", "one"]
)
def test_an_empty_selector_taints_every_device(
    world: ControlPlane, place: str, decided: Scheduling, selector: dict[str, str], hit: bool
) -> None:
    assert ("dra/taint-rule" in found(rule(selector))) is hit
    api = world.api()
    api.create(rule(selector))
    try:
        api.create(objects.claim("c", place, CLASS))
        [node] = decided([objects.pod("p", place, claims={"gpu": "c"})])
        assert (node == "") is hit
    finally:
        api.delete("devicetaintrules", "broken")


def test_no_execute_evicts_the_pods_that_a_preview_only_counts(
    world: ControlPlane, place: str, decided: Scheduling
) -> None:
    preview, evicting = (rule({"driver": DRIVER}, effect) for effect in ("None", "NoExecute"))
    assert "dra/taint-rule" not in found(preview)
    assert "dra/taint-rule" in found(evicting)
    api = world.api()
    api.create(objects.claim("c", place, CLASS))
    [node] = decided([objects.pod("p", place, claims={"gpu": "c"})])
    assert node
    world.start_controllers(EVICTOR, [EVICTOR], ())
    try:
        wait_for(lambda: _counts(world, preview, "1 pod would"), 60, "the count of the preview")
        assert "deletionTimestamp" not in api.get("pods", "p", place)["metadata"]
        api.delete("devicetaintrules", "broken")
        api.create(evicting)
        wait_for(lambda: _leaves(world, place), 60, "the eviction")
    finally:
        api.delete("devicetaintrules", "broken")
        world.stop_part(EVICTOR)


def _counts(world: ControlPlane, preview: Json, words: str) -> bool:
    """Whether a condition of the rule has some words.

    The controller counts once for a rule, so a count before it has seen the pod needs a new rule.
    """
    try:
        status = world.api().get("devicetaintrules", "broken").get("status", {})
    except ApiError:
        world.api().create(preview)
        return False
    messages = [part["message"] for part in status.get("conditions", ())]
    if messages and not any(words in message for message in messages):
        world.api().delete("devicetaintrules", "broken")
    return any(words in message for message in messages)


def _leaves(world: ControlPlane, namespace: str) -> bool:
    try:
        pod = world.api().get("pods", "p", namespace)
    except ApiError as error:
        return error.code == NOT_FOUND
    return "deletionTimestamp" in pod["metadata"]


@pytest.mark.parametrize("labelled", [False, True])
def test_admin_access_needs_the_label_of_the_namespace(world: ControlPlane, labelled: bool) -> None:
    labels = {"resource.kubernetes.io/admin-access": "true"} if labelled else {}
    name = f"admin-{str(labelled).lower()}"
    namespace = objects.namespace(name, labels)
    claim = objects.claim("c", name, CLASS)
    claim["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    assert ("dra/admin-access" not in found(namespace, claim)) is labelled
    world.api().create(namespace)
    if labelled:
        world.api().create(claim)
        return
    with pytest.raises(ApiError, match="admin"):
        world.api().create(claim)

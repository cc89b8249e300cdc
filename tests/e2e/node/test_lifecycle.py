"""The life of claims whose pods really run: devices go from pod to pod, and none is lost."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from dragoman_drivers.pretend.driver import Deed, Driver
from tests.e2e.node.setup import NodeSetup, container
from tests.support.controlplane.api import wait_for

pytestmark = [pytest.mark.node, pytest.mark.slow]
DEVICES = 4
WIPED_SECONDS = 90
"""A kubelet removes the devices of a driver that has been away for half a minute."""
RECONCILED_SECONDS = 150
"""A kubelet looks once a minute for prepared claims whose pods went while it was away."""
COLLECTED_SECONDS = 150
"""Pods are removed when their node has been gone for 40 s, as is looked up every 20 s."""
POD_COLLECTOR = "system:serviceaccount:kube-system:pod-garbage-collector"


@pytest.fixture
def template(setup: NodeSetup) -> None:
    """Make a template for one device."""
    setup.template()


def own(setup: NodeSetup) -> list[Deed]:
    """Return what the driver did for claims of this namespace."""
    return [deed for deed in setup.driver.deeds if deed.claim.namespace == setup.namespace]


def verbs(setup: NodeSetup) -> list[str]:
    """Return what the driver did for claims of this namespace, in order."""
    return [deed.verb for deed in own(setup)]


@pytest.mark.usefixtures("template")
def test_a_job_of_forty_pods_passes_four_devices_on(setup: NodeSetup) -> None:
    pods = 40
    setup.job("many", pods, 8, "tell", "work=300ms", "tell")
    setup.done("many", pods)
    setup.at_rest()
    names = [pod["metadata"]["name"] for pod in setup.api.list("pods", setup.namespace)]
    told = {name: setup.told(name) for name in names}

    assert len(told) == pods
    assert all(first["nodes"] == last["nodes"] for first, last in told.values())
    assert all([*first["nodes"].values()] == ["readable"] for first, _ in told.values())
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for first, last in told.values():
        (device,) = first["nodes"]
        spans[device].append((int(first["at"]["ns"]), int(last["at"]["ns"])))
    assert len(spans) == DEVICES
    assert all(one[1] < two[0] for used in spans.values() for one, two in pairwise(sorted(used)))
    claims = {next(iter(first["files"].values())).split()[0] for first, _ in told.values()}
    assert len(claims) == pods
    assert Counter(verbs(setup)) == {"prepare": pods, "unprepare": pods}


@pytest.mark.usefixtures("template")
def test_a_container_that_restarts_keeps_its_claim_and_device(setup: NodeSetup) -> None:
    keep = {"name": "keep", "emptyDir": {}}
    pod = setup.pod_manifest(
        "again", "tell", "fail-once=/keep/tried", "hold", restartPolicy="OnFailure", volumes=[keep]
    )
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "keep", "mountPath": "/keep"}]
    setup.api.create(pod)
    wait_for(lambda: len(setup.told("again")) == 2, message="the container to start twice")
    setup.until("again")
    first, second = setup.told("again")
    assert first["variables"] == second["variables"]
    assert verbs(setup) == ["prepare"]


@pytest.mark.usefixtures("template")
def test_a_pod_that_was_deleted_by_force_gives_its_device_to_one_that_waits(
    setup: NodeSetup,
) -> None:
    names = [f"holder-{index}" for index in range(DEVICES)]
    for name in names:
        setup.pod(name)
    for name in names:
        setup.until(name)
    setup.pod("next")
    wait_for(lambda: setup.events("next", "FailedScheduling"), message="no device to be free")
    freed = setup.devices(names[0])
    setup.delete(names[0], gracePeriodSeconds=0)
    setup.until("next")
    assert setup.devices("next") == freed
    assert len(setup.claims()) == DEVICES


@pytest.mark.usefixtures("template")
def test_pods_and_devices_survive_a_restart_of_the_kubelet(setup: NodeSetup) -> None:
    setup.pod("before")
    setup.until("before")
    setup.node.restart_kubelet()
    setup.pod("after")
    setup.until("after")
    (status,) = setup.get("before")["status"]["containerStatuses"]
    assert (status["restartCount"], len(setup.told("before"))) == (0, 1)
    assert setup.devices("after") != setup.devices("before")


@pytest.mark.usefixtures("template")
def test_pods_run_on_while_containerd_restarts(setup: NodeSetup) -> None:
    setup.pod("before")
    setup.until("before")
    setup.node.restart_containerd()
    setup.pod("after")
    setup.until("after")
    (status,) = setup.get("before")["status"]["containerStatuses"]
    assert (status["restartCount"], len(setup.told("before"))) == (0, 1)


@pytest.mark.usefixtures("template")
def test_a_pod_waits_for_a_driver_that_is_gone_for_a_while(setup: NodeSetup) -> None:
    setup.driver.stop()
    try:
        setup.pod("patient")
        wait_for(
            lambda: setup.failures("patient"),
            message="the kubelet to miss the driver",
        )
        assert setup.phase("patient") == "Pending"
    finally:
        setup.driver.start()
    setup.until("patient")
    assert len(setup.devices("patient")) == 1


@pytest.mark.usefixtures("template")
def test_devices_of_a_driver_that_stays_away_go_and_come_back_with_it(setup: NodeSetup) -> None:
    setup.driver.stop()
    try:
        wait_for(lambda: not setup.driver.published(), WIPED_SECONDS, "the devices to go")
        setup.pod("late")
        wait_for(lambda: setup.events("late", "FailedScheduling"), message="no device to be there")
    finally:
        setup.driver.start()
    setup.until("late")
    assert len(setup.devices("late")) == 1


@pytest.mark.usefixtures("template")
def test_a_driver_that_fails_and_is_slow_delays_a_pod_and_leaks_nothing(setup: NodeSetup) -> None:
    with setup.driver.failing("out of coffee"):
        setup.pod("delayed")
        wait_for(
            lambda: any("out of coffee" in one for one in setup.failures("delayed")),
            message="an Event with the driver's words",
        )
    with setup.driver.slow(2):
        setup.until("delayed")
    claim = setup.claim_of("delayed")
    assert [one["name"] for one in claim["status"]["reservedFor"]] == ["delayed"]


@pytest.mark.usefixtures("template")
def test_a_device_is_not_given_on_while_its_driver_does_not_take_it_back(setup: NodeSetup) -> None:
    setup.pod("held")
    setup.until("held")
    claim = setup.claim_of("held")["metadata"]["name"]
    with setup.driver.clinging("still busy"):
        setup.delete("held")
        wait_for(lambda: "cling" in verbs(setup), message="the kubelet to return the device")
        setup.reserved(claim, ["held"])
    setup.gone("held")
    wait_for(lambda: not setup.claims(), message="the claim to be gone")
    assert verbs(setup)[-1] == "unprepare"


@pytest.mark.usefixtures("template")
def test_init_container_sidecar_and_main_container_share_the_pods_claim(setup: NodeSetup) -> None:
    pod = setup.pod_manifest("three", "tell", "hold")
    claims = pod["spec"]["containers"][0]["resources"]
    pod["spec"]["initContainers"] = [
        container("first", "tell") | {"resources": claims},
        container("beside", "tell", "hold") | {"resources": claims, "restartPolicy": "Always"},
    ]
    setup.api.create(pod)
    setup.until("three")
    seen = [setup.devices("three", name) for name in ("first", "beside", "main")]
    assert seen == [seen[0]] * 3
    assert len(seen[0]) == 1
    assert verbs(setup) == ["prepare"]


def test_three_pods_share_a_claim_until_the_last_one_ends(setup: NodeSetup) -> None:
    setup.claim("shared")
    names = ["one", "two", "three"]
    for name in names:
        setup.pod(name, claims={"gpu": "shared"})
    for name in names:
        setup.until(name)
    assert [setup.devices(name) for name in names] == [setup.devices("one")] * 3
    for number, name in enumerate(names[:-1], 1):
        setup.delete(name)
        setup.gone(name)
        setup.reserved("shared", names[number:])
        assert verbs(setup) == ["prepare"]
    setup.delete(names[-1])
    setup.gone(names[-1])
    setup.reserved("shared", [])
    claim = setup.api.get("resourceclaims", "shared", setup.namespace)
    assert "allocation" not in claim["status"]
    assert verbs(setup) == ["prepare", "unprepare"]


def test_an_administrator_looks_at_a_device_that_others_use(setup: NodeSetup) -> None:
    setup.allow_admin_access()
    setup.template()
    names = [f"holder-{index}" for index in range(DEVICES)]
    for name in names:
        setup.pod(name)
    for name in names:
        setup.until(name)
    setup.claim("look", admin=True)
    setup.pod("admin", claims={"gpu": "look"})
    setup.until("admin")
    (seen,) = setup.devices("admin")
    assert seen in {device for name in names for device in setup.devices(name)}


@pytest.mark.usefixtures("template")
def test_claims_of_a_node_that_was_deleted_are_released(setup: NodeSetup, driver: Driver) -> None:
    setup.pod("stranded")
    setup.until("stranded")
    since = setup.plane.audit.mark()
    setup.node.kubelet.stop()
    setup.api.delete("nodes", setup.node.name)
    wait_for(
        lambda: not setup.api.find("pods", "stranded", setup.namespace),
        COLLECTED_SECONDS,
        "the pod to be removed with its node",
    )
    removed = setup.plane.audit.counts(POD_COLLECTOR, since, namespace=setup.namespace)
    assert removed["delete pods"] == 1
    wait_for(lambda: not setup.claims(), message="the claim to be gone")
    wait_for(lambda: not driver.published(), message="the devices to go with their node")
    setup.node.start_kubelet()
    setup.pod("next")
    setup.until("next", timeout=RECONCILED_SECONDS)
    assert len(setup.devices("next")) == 1

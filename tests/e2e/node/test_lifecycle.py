"""The life of claims whose pods really run: devices go from pod to pod, and none is lost."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from tests.e2e.node.shift import Shift, container
from tests.support.controlplane.api import wait_for
from tests.support.driver.driver import Deed, Driver

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
def template(shift: Shift) -> None:
    """Make a template for one device."""
    shift.template()


def own(shift: Shift) -> list[Deed]:
    """Return what the driver did for claims of this namespace."""
    return [deed for deed in shift.driver.deeds if deed.claim.namespace == shift.namespace]


def verbs(shift: Shift) -> list[str]:
    """Return what the driver did for claims of this namespace, in order."""
    return [deed.verb for deed in own(shift)]


@pytest.mark.usefixtures("template")
def test_a_job_of_forty_pods_passes_four_devices_on(shift: Shift) -> None:
    pods = 40
    shift.job("many", pods, 8, "tell", "work=300ms", "tell")
    shift.done("many", pods)
    shift.at_rest()
    names = [pod["metadata"]["name"] for pod in shift.api.list("pods", shift.namespace)]
    told = {name: shift.told(name) for name in names}

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
    assert Counter(verbs(shift)) == {"prepare": pods, "unprepare": pods}


@pytest.mark.usefixtures("template")
def test_a_container_that_restarts_keeps_its_claim_and_device(shift: Shift) -> None:
    keep = {"name": "keep", "emptyDir": {}}
    pod = shift.pod_manifest(
        "again", "tell", "fail-once=/keep/tried", "hold", restartPolicy="OnFailure", volumes=[keep]
    )
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "keep", "mountPath": "/keep"}]
    shift.api.create(pod)
    wait_for(lambda: len(shift.told("again")) == 2, message="the container to start twice")
    shift.until("again")
    first, second = shift.told("again")
    assert first["variables"] == second["variables"]
    assert verbs(shift) == ["prepare"]


@pytest.mark.usefixtures("template")
def test_a_pod_that_was_deleted_by_force_gives_its_device_to_one_that_waits(shift: Shift) -> None:
    names = [f"holder-{index}" for index in range(DEVICES)]
    for name in names:
        shift.pod(name)
    for name in names:
        shift.until(name)
    shift.pod("next")
    wait_for(lambda: shift.events("next", "FailedScheduling"), message="no device to be free")
    freed = shift.devices(names[0])
    shift.delete(names[0], gracePeriodSeconds=0)
    shift.until("next")
    assert shift.devices("next") == freed
    assert len(shift.claims()) == DEVICES


@pytest.mark.usefixtures("template")
def test_pods_and_devices_survive_a_restart_of_the_kubelet(shift: Shift) -> None:
    shift.pod("before")
    shift.until("before")
    shift.node.restart_kubelet()
    shift.pod("after")
    shift.until("after")
    (status,) = shift.get("before")["status"]["containerStatuses"]
    assert (status["restartCount"], len(shift.told("before"))) == (0, 1)
    assert shift.devices("after") != shift.devices("before")


@pytest.mark.usefixtures("template")
def test_pods_run_on_while_containerd_restarts(shift: Shift) -> None:
    shift.pod("before")
    shift.until("before")
    shift.node.restart_containerd()
    shift.pod("after")
    shift.until("after")
    (status,) = shift.get("before")["status"]["containerStatuses"]
    assert (status["restartCount"], len(shift.told("before"))) == (0, 1)


@pytest.mark.usefixtures("template")
def test_a_pod_waits_for_a_driver_that_is_gone_for_a_while(shift: Shift) -> None:
    shift.driver.vanish()
    try:
        shift.pod("patient")
        wait_for(
            lambda: shift.failures("patient"),
            message="the kubelet to miss the driver",
        )
        assert shift.phase("patient") == "Pending"
    finally:
        shift.driver.appear()
    shift.until("patient")
    assert len(shift.devices("patient")) == 1


@pytest.mark.usefixtures("template")
def test_devices_of_a_driver_that_stays_away_go_and_come_back_with_it(shift: Shift) -> None:
    shift.driver.vanish()
    try:
        wait_for(lambda: not shift.driver.published(), WIPED_SECONDS, "the devices to go")
        shift.pod("late")
        wait_for(lambda: shift.events("late", "FailedScheduling"), message="no device to be there")
    finally:
        shift.driver.appear()
    shift.until("late")
    assert len(shift.devices("late")) == 1


@pytest.mark.usefixtures("template")
def test_a_driver_that_fails_and_is_slow_delays_a_pod_and_leaks_nothing(shift: Shift) -> None:
    with shift.driver.failing("out of coffee"):
        shift.pod("delayed")
        wait_for(
            lambda: any("out of coffee" in one for one in shift.failures("delayed")),
            message="an Event with the driver's words",
        )
    with shift.driver.slow(2):
        shift.until("delayed")
    claim = shift.claim_of("delayed")
    assert [one["name"] for one in claim["status"]["reservedFor"]] == ["delayed"]


@pytest.mark.usefixtures("template")
def test_a_device_is_not_given_on_while_its_driver_does_not_take_it_back(shift: Shift) -> None:
    shift.pod("held")
    shift.until("held")
    claim = shift.claim_of("held")["metadata"]["name"]
    with shift.driver.clinging("still busy"):
        shift.delete("held")
        wait_for(lambda: "cling" in verbs(shift), message="the kubelet to return the device")
        shift.reserved(claim, ["held"])
    shift.gone("held")
    wait_for(lambda: not shift.claims(), message="the claim to be gone")
    assert verbs(shift)[-1] == "unprepare"


@pytest.mark.usefixtures("template")
def test_init_container_sidecar_and_main_container_share_the_pods_claim(shift: Shift) -> None:
    pod = shift.pod_manifest("three", "tell", "hold")
    claims = pod["spec"]["containers"][0]["resources"]
    pod["spec"]["initContainers"] = [
        container("first", "tell") | {"resources": claims},
        container("beside", "tell", "hold") | {"resources": claims, "restartPolicy": "Always"},
    ]
    shift.api.create(pod)
    shift.until("three")
    seen = [shift.devices("three", name) for name in ("first", "beside", "main")]
    assert seen == [seen[0]] * 3
    assert len(seen[0]) == 1
    assert verbs(shift) == ["prepare"]


def test_three_pods_share_a_claim_until_the_last_one_ends(shift: Shift) -> None:
    shift.claim("shared")
    names = ["one", "two", "three"]
    for name in names:
        shift.pod(name, claims={"gpu": "shared"})
    for name in names:
        shift.until(name)
    assert [shift.devices(name) for name in names] == [shift.devices("one")] * 3
    for number, name in enumerate(names[:-1], 1):
        shift.delete(name)
        shift.gone(name)
        shift.reserved("shared", names[number:])
        assert verbs(shift) == ["prepare"]
    shift.delete(names[-1])
    shift.gone(names[-1])
    shift.reserved("shared", [])
    claim = shift.api.get("resourceclaims", "shared", shift.namespace)
    assert "allocation" not in claim["status"]
    assert verbs(shift) == ["prepare", "unprepare"]


def test_an_administrator_looks_at_a_device_that_others_use(shift: Shift) -> None:
    shift.allow_admin_access()
    shift.template()
    names = [f"holder-{index}" for index in range(DEVICES)]
    for name in names:
        shift.pod(name)
    for name in names:
        shift.until(name)
    shift.claim("look", admin=True)
    shift.pod("admin", claims={"gpu": "look"})
    shift.until("admin")
    (seen,) = shift.devices("admin")
    assert seen in {device for name in names for device in shift.devices(name)}


@pytest.mark.usefixtures("template")
def test_claims_of_a_node_that_was_deleted_are_released(shift: Shift, driver: Driver) -> None:
    shift.pod("stranded")
    shift.until("stranded")
    since = shift.plane.audit.mark()
    shift.node.kubelet.stop()
    shift.api.delete("nodes", shift.node.name)
    wait_for(
        lambda: not shift.api.find("pods", "stranded", shift.namespace),
        COLLECTED_SECONDS,
        "the pod to be removed with its node",
    )
    removed = shift.plane.audit.counts(POD_COLLECTOR, since, namespace=shift.namespace)
    assert removed["delete pods"] == 1
    wait_for(lambda: not shift.claims(), message="the claim to be gone")
    wait_for(lambda: not driver.published(), message="the devices to go with their node")
    shift.node.start_kubelet()
    shift.pod("next")
    shift.until("next", timeout=RECONCILED_SECONDS)
    assert len(shift.devices("next")) == 1

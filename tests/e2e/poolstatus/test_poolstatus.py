"""ResourcePoolStatusRequests on a real API server: the stock controller and dragoman."""

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml

from tests.e2e.rbac import OPERATOR_RULES, POOL_STATUS_RULES, rule
from tests.e2e.running import OperatorProcess
from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError, Json, wait_for
from tests.support.controlplane.plane import ControlPlane

Answerer = Literal["stock", "own"]
STOCK = "resourcepoolstatusrequest-controller"
REPORTS = Path(__file__).parents[3] / "crds/devicepoolreports.yaml"
GRACE = 12
"""Seconds that a pool has to become complete: enough on a busy machine."""
COUNTS = ("totalDevices", "allocatedDevices", "availableDevices", "unavailableDevices")


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Run an API server with the gate of the API, and with DeviceTaintRules."""
    gates = {"DRAResourcePoolStatus": True, "DRADeviceTaintRules": True}
    served = {"resource.k8s.io/v1alpha3": True, "resource.k8s.io/v1beta2": True}
    with ControlPlane(feature_gates=gates, runtime_config=served) as running:
        yield running


@pytest.fixture(scope="module", params=[pytest.param("stock", marks=pytest.mark.slow), "own"])
def answerer(request: pytest.FixtureRequest, plane: ControlPlane) -> Iterator[Answerer]:
    """Run each controller in turn."""
    found: Answerer = request.param
    if found == "stock":
        plane.start_controllers(STOCK, [STOCK])
        yield found
        plane.stop_part(STOCK)
        return
    delete = rule("resource.k8s.io", "resourcepoolstatusrequests", "delete")
    write = rule("dragoman.dev", "devicepoolreports", "list", "create", "patch", "delete")
    user = plane.user("dragoman", (*OPERATOR_RULES, *POOL_STATUS_RULES, delete, write))
    plane.api().apply(yaml.safe_load(REPORTS.read_text()))
    wait_for(lambda: serves_reports(plane), message="DevicePoolReports to be served")
    modes = ("--claims=off", "--pool-status=own", "--inventory-reports", "--no-leader-elect")
    grace = f"--pool-status-grace={GRACE}"
    with OperatorProcess(plane, user, *modes, grace) as running:
        yield found
    assert running.faults() == []


def serves_reports(plane: ControlPlane) -> bool:
    """Whether DevicePoolReports can be listed."""
    try:
        plane.api().list("devicepoolreports.dragoman.dev")
    except (KeyError, ApiError):
        return False
    return True


class Pools:
    """Slices of an own driver, and requests for them."""

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.api, self.namespace = plane, plane.api(), namespace
        self.driver = f"{namespace}.example.com"
        self._made: list[tuple[str, str]] = []

    def publish(self, pool: str, *devices: str | Json, name: str = "", count: int = 1) -> None:
        """Create a slice of a pool."""
        full = f"{self.namespace}-{name or pool}"
        manifest = objects.resource_slice("node-1", devices or ["a", "b"], self.driver, full)
        manifest["spec"]["pool"] = {"name": pool, "generation": 1, "resourceSliceCount": count}
        self.api.create(manifest)
        self._made.append(("resourceslices", full))

    def request(self, name: str = "request", **spec: Any) -> str:
        """Create a request; returns its name."""
        full = f"{self.namespace}-{name}"
        self.api.create(
            {
                "apiVersion": "resource.k8s.io/v1alpha3",
                "kind": "ResourcePoolStatusRequest",
                "metadata": {"name": full},
                "spec": {"driver": self.driver, **spec},
            }
        )
        self._made.append(("resourcepoolstatusrequests", full))
        return full

    def status(self, name: str) -> Json | None:
        """Return the answer to a request, None while there is none."""
        found: Json | None = self.api.get("resourcepoolstatusrequests", name).get("status")
        return found

    def answer(self, name: str, timeout: float = 60) -> Json:
        """Wait for an answer."""
        return wait_for(lambda: self.status(name), timeout, f"an answer to {name}")

    def seen(self) -> None:
        """Wait until the controller has seen all slices and claims that are there.

        An answer counts a last claim; each is final, so that a request is made again until then.
        """
        driver = f"last.{self.driver}"
        full = f"{self.namespace}-last"
        self.api.create(objects.resource_slice("node-1", ["last"], driver, full))
        self._made.append(("resourceslices", full))
        self.allocate("last", {"driver": driver, "pool": "node-1", "device": "last"})
        names = (f"last-{number}" for number in itertools.count())

        def counted() -> bool:
            status = self.answer(self.request(next(names), driver=driver))
            return [one.get("allocatedDevices") for one in status.get("pools") or ()] == [1]

        wait_for(counted, 60, "an answer that counts the last claim")

    def allocate(self, name: str, *results: Json) -> None:
        """Create a claim with these results."""
        manifest = objects.claim(name, self.namespace, "class")
        if any(one.get("adminAccess") for one in results):
            manifest["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
        self.api.create(manifest)
        common = {"request": "devices", "driver": self.driver}
        found = [{**common, **one} for one in results]
        body = {"status": {"allocation": {"devices": {"results": found}}}}
        self.api.patch("resourceclaims", name, self.namespace, body, subresource="status")

    def clear(self) -> None:
        """Remove everything."""
        for resource, name in self._made:
            self.api.delete(resource, name)
        self.plane.clear_namespace(self.namespace)


@pytest.fixture
def pools(plane: ControlPlane, answerer: Answerer) -> Iterator[Pools]:
    """Return pools of an own driver, beside a running controller."""
    namespace = plane.create_namespace(f"pools-{answerer}")
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    plane.api().patch("namespaces", namespace, None, label)
    made = Pools(plane, namespace)
    yield made
    made.clear()


def only_ours(answerer: Answerer, status: Json, *, passed: bool) -> None:
    """Assert that dragoman passes, and that the stock controller of v1.36.3 still fails."""
    assert passed is (answerer == "own"), status


def test_a_request_is_answered_with_all_pools_of_the_driver(pools: Pools) -> None:
    pools.publish("p1", "a", "b", "c")
    pools.publish("p2")
    pools.allocate("one", {"pool": "p1", "device": "a"}, {"pool": "p1", "device": "b"})
    pools.seen()
    status = pools.answer(pools.request())
    (condition,) = status["conditions"]
    assert (condition["type"], condition["status"]) == ("Complete", "True")
    assert condition["reason"] == "CalculationComplete"
    assert condition["message"] == "Calculated status for 2 pools"
    assert status["poolCount"] == 2
    common = {
        "driver": pools.driver,
        "generation": 1,
        "nodeName": "node-1",
        "resourceSliceCount": 1,
    }
    assert status["pools"] == [
        common | dict(zip(COUNTS, (3, 2, 1, 0), strict=True)) | {"poolName": "p1"},
        common | dict(zip(COUNTS, (2, 0, 2, 0), strict=True)) | {"poolName": "p2"},
    ]


def test_a_request_may_name_a_pool_and_a_limit(pools: Pools) -> None:
    for name in ("p1", "p2", "p3"):
        pools.publish(name)
    pools.seen()
    one = pools.answer(pools.request("one", poolName="p2"))
    assert [found["poolName"] for found in one["pools"]] == ["p2"]
    limited = pools.answer(name := pools.request("limited", limit=2))
    assert limited["poolCount"] == 3
    assert [found["poolName"] for found in limited["pools"]] == ["p1", "p2"]
    table = pools.plane.kubectl("get", "resourcepoolstatusrequests", name).stdout
    assert "Complete (2/3 pools)" in table


def test_an_answer_is_written_once(pools: Pools) -> None:
    pools.publish("p1")
    name = pools.request()
    before = pools.answer(name)
    pools.publish("p2")
    time.sleep(1)
    assert pools.status(name) == before
    changed = pools.api.get("resourcepoolstatusrequests", name)
    changed["status"]["poolCount"] = 7
    with pytest.raises(ApiError, match="immutable"):
        pools.api.update(changed, "status")


def test_an_incomplete_pool_is_named_in_the_answer(pools: Pools, answerer: Answerer) -> None:
    """The stock controller never answers: kubernetes/kubernetes#141883."""
    pools.publish("whole")
    pools.publish("torn", count=2)
    name = pools.request()
    try:
        status = pools.answer(name, 9 if answerer == "stock" else 60)
    except TimeoutError:
        status = {"pools": []}
    errors = [one.get("validationError", "") for one in status["pools"]]
    passed = any("observed 1/2 slices at generation 1" in one for one in errors)
    only_ours(answerer, status, passed=passed)


def test_a_slice_that_comes_later_completes_the_answer(pools: Pools, answerer: Answerer) -> None:
    pools.publish("torn", count=2)
    name = pools.request()
    time.sleep(2)
    pools.publish("torn", "c", name="second", count=2)
    try:
        status = pools.answer(name, 6 if answerer == "stock" else 60)
    except TimeoutError:
        status = {"pools": [{}]}
    only_ours(answerer, status, passed=status["pools"][0].get("totalDevices") == 3)


def test_shares_admin_access_and_taints_are_counted_as_in_1_37(
    pools: Pools, answerer: Answerer
) -> None:
    """Kubernetes 1.36 counts each share and admin access, and no taints."""
    taint = {"key": "broken", "effect": "NoExecute"}
    pools.publish("p1", "a", "b", {"name": "c", "taints": [taint]}, "d")
    pools.allocate("user", {"pool": "p1", "device": "a"})
    pools.allocate("admin", {"pool": "p1", "device": "b", "adminAccess": True})
    pools.seen()
    status = pools.answer(pools.request())
    (found,) = status["pools"]
    only_ours(answerer, status, passed=tuple(found[name] for name in COUNTS) == (4, 1, 2, 1))


def test_a_user_who_may_not_list_claims_reads_reports(pools: Pools, answerer: Answerer) -> None:
    if answerer == "stock":
        pytest.skip("kube-controller-manager writes no reports")
    pools.allocate("secret", {"pool": "p1", "device": "a"})
    pools.publish("p1", "a", "b", {"name": "c", "taints": [{"key": "k", "effect": "NoSchedule"}]})
    reader = pools.plane.user(
        "report-reader", [rule("dragoman.dev", "devicepoolreports", "get", "list")]
    )

    def rows() -> list[list[str]]:
        command = ("get", "devicepoolreports", "--no-headers")
        lines = pools.plane.kubectl(*command, user=reader).stdout.splitlines()
        return [line.split()[2:9] for line in lines if pools.driver in line]

    expected = ["p1", "node-1", "3", "1", "1", "1", "Complete"]
    wait_for(lambda: rows() == [expected], 60, f"the report {expected}")
    (found,) = [
        one
        for one in pools.api.list("devicepoolreports.dragoman.dev")
        if one["spec"]["driver"] == pools.driver
    ]
    assert "secret" not in str(found)
    pools.api.delete("resourceslices", f"{pools.namespace}-p1")
    wait_for(lambda: not rows(), 60, "the report to be deleted with its pool")

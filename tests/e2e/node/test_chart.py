"""The chart's own pods on a real node: from helm install to a container that sees its device."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from dragoman_drivers.pretend.driver import RULES, Driver
from tests.e2e.chart.conftest import CONTROLLERS, KEPT, NAMESPACE, RESTRICTED, left_behind
from tests.e2e.chart.helm import Helm
from tests.e2e.chart.traffic import BAD, GOOD, Insistence, answer, device_class
from tests.e2e.node.setup import CLASS, NodeSetup
from tests.image.__main__ import FOLDER
from tests.image.application import CHECKOUT
from tests.image.architecture import native
from tests.image.build import NAME, build
from tests.image.debian import MmdebstrapMissingError
from tests.support import manifests as objects
from tests.support.controlplane import binaries, network
from tests.support.controlplane.api import Api, ApiError, Json, wait_for
from tests.support.controlplane.network import Network
from tests.support.controlplane.node.isolation import obstacle
from tests.support.controlplane.node.node import NODE_FLAGS, Node
from tests.support.controlplane.plane import (
    API_SERVER,
    CONTROLLER_MANAGER,
    ETCD,
    SCHEDULER,
    ControlPlane,
)
from tests.support.controlplane.recipes import NETWORK, NODE

pytestmark = [pytest.mark.node, pytest.mark.slow]
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:dragoman-operator"
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
USER = "65532"
REPOSITORY, _, TAG = NAME.rpartition(":")
VALUES = {
    "image": {"repository": REPOSITORY, "tag": TAG, "pullPolicy": "Never"},
    "claims": {"mode": "own"},
    "catalog": {
        "enabled": True,
        "drivers": {"gpu.nvidia.com": {"variables": {"TimeSlicingSettings": True}}},
    },
}


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster of one real node, with the chart installed.

    Attributes:
        plane: In a network of its own, in which pods have addresses.
        node: Where the chart's pods run.
        helm: By which the chart was installed.
        api: The administrator's client.
    """

    plane: ControlPlane
    node: Node
    helm: Helm
    api: Api

    def pods(self, part: str) -> list[Json]:
        """Read the pods of `operator` or `webhook` that are not ending."""
        chosen = f"app.kubernetes.io/component={part}"
        found = self.api.list("pods", NAMESPACE, labelSelector=chosen)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def credentials(self, since: int) -> set[str]:
        """Return by which tokens the operator wrote since a position of the audit log."""
        self.plane.audit.settled(ACCOUNT, quiet=0)
        lines = self.plane.audit.path.read_bytes()[since:].splitlines()
        written = [one["user"] for line in lines if (one := json.loads(line))]
        key = "authentication.kubernetes.io/credential-id"
        return {
            name
            for user in written
            if user["username"] == ACCOUNT
            for name in user.get("extra", {}).get(key, ())
        }


@pytest.fixture(scope="module")
def archive() -> Path:
    """Build the chart's image, unless there is one of this very code."""
    for built in FOLDER.glob(f"dragoman-*-{native().name}.oci.tar"):
        if changed(built) > max(map(changed, sources())):
            return built
    try:
        return build(FOLDER).archive
    except MmdebstrapMissingError as error:
        pytest.skip(f"the chart's pods need its image: {error}")


def sources() -> Iterator[Path]:
    """Yield the files of which the image is made."""
    yield CHECKOUT / "requirements.txt"
    for folder in ("operator", "webhooks", "crds"):
        yield from (path for path in (CHECKOUT / folder).rglob("*.*") if path.suffix != ".pyc")


def changed(path: Path) -> float:
    """Return when a file was changed last."""
    return path.stat().st_mtime


@pytest.fixture(scope="module")
def site(
    request: pytest.FixtureRequest, archive: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Run a cluster of one node, and install the chart with helm."""
    if reason := obstacle() or network.obstacle():
        pytest.skip(reason)
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a first build takes minutes and says so
        parts = [ETCD, API_SERVER, SCHEDULER, CONTROLLER_MANAGER, "helm", *NODE, *NETWORK]
        binaries.find(parts)
    with ControlPlane(
        scheduler=True,
        extra_apiserver_flags=NODE_FLAGS,
        network=Network(),
        service_accounts=True,
    ) as plane:
        plane.start_controllers("workloads", [*CONTROLLERS, "disruption-controller"])
        plane.api().create(objects.namespace(NAMESPACE, RESTRICTED))
        plane.wait_for_account(NAMESPACE)
        with Node(plane) as node:
            node.load(archive)
            made = Site(
                plane, node, Helm(plane, NAMESPACE, tmp_path_factory.mktemp("helm")), plane.api()
            )
            made.helm.install(VALUES)
            yield made
            plane.keep_logs |= request.session.testsfailed > 0


def test_its_containers_run_with_nothing_that_they_do_not_need(site: Site) -> None:
    for part, count in (("operator", 1), ("webhook", 2)):
        pods = site.pods(part)
        assert len(pods) == count
        for pod in pods:
            (status,) = pod["status"]["containerStatuses"]
            assert (status["ready"], status["restartCount"]) == (True, 0)
            kernel = site.node.read(pod, "/proc/self/status").splitlines()
            seen = {
                key: value.split() for key, _, value in (line.partition(":") for line in kernel)
            }
            assert seen["Uid"] == seen["Gid"] == [USER] * 4
            assert (seen["NoNewPrivs"], seen["Seccomp"]) == (["1"], ["2"])
            assert int(seen["CapBnd"][0], 16) == int(seen["CapEff"][0], 16) == 0
            mounts = [
                line.split() for line in site.node.read(pod, "/proc/self/mounts").splitlines()
            ]
            (root,) = [options for _, target, _, options, *_ in mounts if target == "/"]
            assert "ro" in root.split(",")


def test_a_bad_config_is_refused_and_a_good_one_is_not(site: Site) -> None:
    wait_for(lambda: answer(site.api, device_class(BAD)) == "denied", message="a denial")
    assert answer(site.api, device_class(GOOD)) == "let in"


def test_its_own_test_passes(site: Site) -> None:
    assert "Phase:          Succeeded" in site.helm("test", "dragoman", "--timeout=90s")


def test_a_pod_sees_its_device_with_the_chart_as_the_only_claim_controller(site: Site) -> None:
    driver_account = site.plane.user("driver", RULES)
    places = site.node.places
    site.api.create(objects.device_class(CLASS))
    with Driver(
        site.plane.api(driver_account), places.kubelet, places.cdi, node=site.node.name
    ) as driver:
        setup = NodeSetup(site.plane, site.node, driver, site.plane.create_namespace("setup"))
        setup.template()
        setup.pod("one", hostNetwork=False)
        address = setup.until("one")["status"]["podIP"]
        assert address.startswith("10.244.1.")
        (result,) = setup.claim_of("one")["status"]["allocation"]["devices"]["results"]
        assert setup.devices("one") == [result["device"]]
        setup.clear()


def test_the_operator_works_on_when_its_token_is_replaced(site: Site) -> None:
    (before,) = site.pods("operator")
    token = site.node.read(before, TOKEN)
    old = site.credentials(0)
    # A kubelet that starts gives new tokens to the pods that run; of itself it waits for at least
    # 8 minutes, because the API refuses lifetimes below 10.
    site.node.restart_kubelet()
    wait_for(lambda: site.node.read(before, TOKEN) != token, 60, "another token in the container")
    since = site.plane.audit.mark()
    wait_for(lambda: site.credentials(since) - old, 90, "the operator to use its new token")
    (after,) = site.pods("operator")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["status"]["containerStatuses"][0]["restartCount"] == 0


def test_evictions_leave_one_webhook_that_answers(site: Site) -> None:
    first, second = site.pods("webhook")
    with Insistence(site.plane) as insistence:
        evict(site.api, first)
        with pytest.raises(ApiError, match="violate the pod's disruption budget"):
            evict(site.api, second)
        wait_for(lambda: ready(site.pods("webhook")) == 2, 90, "two webhooks to be ready")
        wait_for(lambda: can_evict(site.api, second), 30, "the budget to allow the next eviction")
        wait_for(lambda: ready(site.pods("webhook")) == 2, 90, "two webhooks to be ready")
    assert set(insistence.answers) == {"denied"}
    uids = {pod["metadata"]["uid"] for pod in site.pods("webhook")}
    assert uids.isdisjoint({first["metadata"]["uid"], second["metadata"]["uid"]})


def evict(api: Api, pod: Json) -> None:
    """Ask for a pod to go, as a drain does."""
    name = pod["metadata"]["name"]
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": NAMESPACE},
    }
    api.request("POST", api.resource("pods").path(NAMESPACE, name, "eviction"), body)


def can_evict(api: Api, pod: Json) -> bool:
    """Evict a pod; False where its budget does not allow it yet."""
    try:
        evict(api, pod)
    except ApiError as error:
        if error.code != 429:
            raise
        return False
    return True


def ready(pods: list[Json]) -> int:
    """Return how many pods are Ready."""
    conditions = (one for pod in pods for one in pod["status"].get("conditions", ()))
    return sum((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


def test_a_rolling_update_refuses_and_loses_no_review(site: Site) -> None:
    with Insistence(site.plane) as insistence:
        for part in ("operator", "webhook"):
            target = ("deployment", "--selector", f"app.kubernetes.io/component={part}")
            site.plane.kubectl("rollout", "restart", *target, "--namespace", NAMESPACE)
            (name,) = objects.names(
                site.api.list("deployments", NAMESPACE, labelSelector=target[2])
            )
            site.plane.kubectl(
                "rollout", "status", f"deployment/{name}", "--timeout=90s", "-n", NAMESPACE
            )
    assert set(insistence.answers) == {"denied"}
    assert insistence.answers["denied"] > 20
    print(f"{insistence.answers['denied']} reviews, longest gap {insistence.gap:.2f} s")


def test_an_upgrade_and_an_uninstallation_leave_nothing_but_the_crds(site: Site) -> None:
    with Insistence(site.plane) as insistence:
        site.helm.upgrade({**VALUES, "commonLabels": {"changed": "yes"}})
    assert set(insistence.answers) == {"denied"}
    assert {pod["metadata"]["labels"].get("changed") for pod in site.pods("webhook")} == {"yes"}
    site.helm.uninstall()
    wait_for(lambda: not site.api.list("pods", NAMESPACE), 60, "no pod to be left")
    assert left_behind(site.api) == KEPT

"""Fixtures: a cluster whose node runs pods as processes, and the chart installed in it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.chart.helm import RELEASE, Helm
from tests.e2e.chart.kubelet import Kubelet
from tests.support import manifests as objects
from tests.support.controlplane import binaries
from tests.support.controlplane.api import Api
from tests.support.controlplane.network import Network, obstacle
from tests.support.controlplane.plane import ControlPlane

NAMESPACE = "dragoman-system"
CONFIGURATIONS = "validatingwebhookconfigurations"
CRD = "driverconfigschemas.dragoman.dev"
KEPT = frozenset({f"customresourcedefinitions/{CRD}"})
"""What an uninstallation leaves: with a resource definition its objects would be deleted."""
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "deployment-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "replicaset-controller",
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A control plane, its node, and helm with the namespace of the release."""

    plane: ControlPlane
    kubelet: Kubelet
    helm: Helm


@pytest.fixture(scope="session", autouse=True)
def _helm(request: pytest.FixtureRequest) -> None:
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a first build takes minutes and says so
        binaries.find(["helm"])


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Run a cluster; the release's namespace takes only pods that are restricted."""
    if reason := obstacle():
        pytest.skip(reason)
    folder: Path = tmp_path_factory.mktemp("helm")
    network = Network()
    with ControlPlane(
        network=network,
        scheduler=True,
        audit_reads=True,
        # The API server finds the webhook's pods by the Service's EndpointSlices: there is no
        # kube-proxy.
        extra_apiserver_flags=["--enable-aggregator-routing=true"],
    ) as plane:
        plane.start_controllers("workloads", CONTROLLERS)
        plane.api().create(objects.namespace(NAMESPACE, RESTRICTED))
        with Kubelet(plane, network) as kubelet:
            yield Cluster(plane, kubelet, Helm(plane, NAMESPACE, folder))


def left_behind(api: Api) -> set[str]:
    """Return every object of the release that is still there, apart from pods that are ending."""
    kinds = (
        *("clusterroles", "clusterrolebindings", "customresourcedefinitions", CONFIGURATIONS),
        *("configmaps", "deployments", "jobs", "poddisruptionbudgets", "rolebindings", "roles"),
        *("secrets", "serviceaccounts", "services"),
    )
    return {
        f"{kind}/{one['metadata']['name']}"
        for kind in kinds
        for one in api.list(kind, labelSelector=f"app.kubernetes.io/instance={RELEASE}")
    }

"""Helm 3, which many still run: the same objects, and the same life of a release."""

from collections.abc import Iterator

import pytest
import yaml

from tests.charts.matrix import MATRIX
from tests.e2e.chart.conftest import CONFIGURATIONS, KEPT, NAMESPACE, Cluster, left_behind
from tests.e2e.chart.helm import CHART, RELEASE, WAIT, Helm, Values
from tests.e2e.chart.traffic import BAD, Insistence, answer, device_class
from tests.support.controlplane import binaries
from tests.support.controlplane.api import wait_for

pytestmark = pytest.mark.slow
CATALOG = {"catalog": {"enabled": True}}
NEWER = {**CATALOG, "commonLabels": {"changed": "yes"}}


@pytest.fixture(scope="module")
def helm3(
    request: pytest.FixtureRequest, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Helm]:
    """Give Helm 3; what it installs is uninstalled."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():  # a first build takes minutes and says so
        binaries.find(["helm3"])
    helm = Helm(cluster.plane, NAMESPACE, tmp_path_factory.mktemp("helm3"), "helm3")
    assert helm("version", "--short").startswith("v3.")
    yield helm
    if cluster.plane.api().list("deployments", NAMESPACE):
        helm.uninstall()


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
def test_it_lints_the_chart_and_renders_the_same_objects(
    cluster: Cluster, helm3: Helm, values: Values
) -> None:
    served = "--kube-version=1.36"  # of itself Helm 3 knows it only where releases are built
    helm3("lint", "--strict", str(CHART), served, values=values)
    rendering = ("template", RELEASE, str(CHART), served)
    assert objects(helm3(*rendering, values=values)) == objects(
        cluster.helm(*rendering, values=values)
    )


def objects(text: str) -> dict[tuple[str, str], object]:
    """Return rendered objects by kind and name."""
    documents = filter(None, yaml.load_all(text, yaml.CSafeLoader))
    return {(one["kind"], one["metadata"]["name"]): one for one in documents}


def test_it_installs_tests_upgrades_rolls_back_and_uninstalls(
    cluster: Cluster, helm3: Helm
) -> None:
    api = cluster.plane.api()
    bad = device_class(BAD)
    helm3.install(CATALOG)
    wait_for(lambda: answer(api, bad) == "denied", message="a denial")
    assert "Phase:          Succeeded" in helm3("test", RELEASE, "--timeout=60s")
    trust = api.get(CONFIGURATIONS, RELEASE)["webhooks"][0]["clientConfig"]["caBundle"]
    with Insistence(cluster.plane) as insistence:
        helm3.upgrade(NEWER)
        helm3("rollback", RELEASE, "1", *WAIT)
    assert set(insistence.answers) == {"denied"}
    assert api.get(CONFIGURATIONS, RELEASE)["webhooks"][0]["clientConfig"]["caBundle"] == trust

    mark = cluster.plane.audit.mark()
    helm3.uninstall()
    deleted = cluster.plane.audit.writes(since=mark, verb="delete")
    order = [one.resource for one in deleted if one.name.startswith(RELEASE)]
    assert order.index(CONFIGURATIONS) < order.index("deployments")
    assert left_behind(api) == KEPT
    wait_for(lambda: answer(api, bad) == "let in", message="no webhook to be asked any more")

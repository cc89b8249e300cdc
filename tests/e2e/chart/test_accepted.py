"""Every installation, object by object, as the real API server sees it; nothing is stored."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.charts.matrix import MATRIX
from tests.charts.rendering import NAMESPACE, Values, render
from tests.e2e.chart.definitions import definitions
from tests.e2e.chart.helm import CHART, Helm
from tests.support import manifests as objects
from tests.support.controlplane.plane import ControlPlane

UNPLACED = {"extra", "dragoman-text"}
"""Objects of admins that name no namespace."""


@pytest.fixture(scope="module")
def knowing(plane: ControlPlane) -> Iterator[ControlPlane]:
    """Give a control plane that knows the kinds of the Prometheus operator and of cert-manager."""
    plane.api().apply(objects.namespace(NAMESPACE))
    names = [plane.define(document) for document in definitions()]
    yield plane
    for name in names:
        plane.undefine(name)


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
def test_the_api_server_accepts_every_object(knowing: ControlPlane, values: Values) -> None:
    documents = render(values)
    for document in documents:
        if document["metadata"]["name"] in UNPLACED:
            document["metadata"]["namespace"] = NAMESPACE
    said = knowing.kubectl(
        *("apply", "--dry-run=server", "--validate=strict", "--filename=-"),
        input=yaml.safe_dump_all(documents),
    )
    assert said.stdout.count("(server dry run)") == len(documents)
    assert said.stderr == ""


def test_a_cluster_without_claims_is_refused_in_a_sentence(tmp_path: Path) -> None:
    versions = {f"resource.k8s.io/{version}": False for version in ("v1", "v1beta1", "v1beta2")}
    with ControlPlane(runtime_config=versions, audit=False) as plane:
        helm = Helm(plane, "default", tmp_path)
        said = helm("install", "dragoman", str(CHART), check=False)
        assert "the cluster does not serve resource.k8s.io" in said
        told = helm("install", "dragoman", str(CHART), "--set=checkApis=false", "--dry-run=server")
        assert "STATUS: pending-install" in told

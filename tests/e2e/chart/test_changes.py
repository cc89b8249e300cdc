"""Releases change under people's feet: nothing gets in unseen, and nothing of theirs is lost."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.e2e.chart.conftest import CONFIGURATIONS, CRD, KEPT, NAMESPACE, Cluster, left_behind
from tests.e2e.chart.helm import CHART, RELEASE, WAIT, Values
from tests.e2e.chart.traffic import BAD, Insistence, answer, device_class
from tests.support.controlplane.api import Api, wait_for

pytestmark = pytest.mark.slow
CATALOG = {"catalog": {"enabled": True}}
NEWER = {**CATALOG, "commonLabels": {"changed": "yes"}, "webhook": {"timeoutSeconds": 6}}


YOUNGER = "ovsdpdk.k8snetworkplumbingwg.io"
"""A schema of the catalog that says `classesIgnored`."""


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a chart that could have come before this one.

    None has been released yet. This is today's chart, with the same image, less what versions add:
    a field and a short name of the CRD, a group of values, and a better name for a value.
    """
    chart = tmp_path_factory.mktemp("charts") / "dragoman"
    shutil.copytree(CHART, chart)
    (chart / "values.schema.json").unlink()
    meta = yaml.safe_load((chart / "Chart.yaml").read_text())
    (chart / "Chart.yaml").write_text(yaml.safe_dump(meta | {"version": "0.0.9"}))
    values = yaml.safe_load((chart / "values.yaml").read_text())
    values["claims"]["grace"] = values["claims"].pop("graceSeconds")
    del values["hooks"]
    (chart / "values.yaml").write_text(yaml.safe_dump(values))
    for template in (path for path in (chart / "templates").rglob("*") if path.is_file()):
        text = template.read_text().replace(".Values.claims.graceSeconds", ".Values.claims.grace")
        text = re.sub(r"\.Values\.hooks\.\w+", "dict", text)
        text = re.sub(r" +classesIgnored:\n( +)type:.*\n(\1.*\n)+", "", text)
        template.write_text(text.replace("shortNames: [dcs]", "shortNames: []"))
    return chart


@pytest.fixture
def api(cluster: Cluster, older: Path) -> Iterator[Api]:
    """Install the older chart, and give an administrator's client when it refuses."""
    client = cluster.plane.api()
    cluster.helm.install(CATALOG, chart=older)
    wait_for(lambda: answer(client, device_class(BAD)) == "denied", message="a denial")
    yield client
    if client.list("deployments", NAMESPACE):
        cluster.helm.uninstall()


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(("--server-side=true",), id="by server-side apply"),
        pytest.param(("--server-side=false",), id="by client-side apply"),
    ],
)
def test_the_webhook_keeps_answering_through_an_upgrade_and_the_way_back(
    cluster: Cluster, api: Api, flags: tuple[str, ...]
) -> None:
    trust = bundles(api)
    with Insistence(cluster.plane) as insistence:
        cluster.helm.upgrade(NEWER, *flags)
        configuration = api.get(CONFIGURATIONS, RELEASE)
        assert {one["timeoutSeconds"] for one in configuration["webhooks"]} == {6}
        assert api.get("customresourcedefinitions", CRD)["spec"]["names"]["shortNames"] == ["dcs"]
        wait_for(lambda: ignores_classes(api), message="the catalog to use the new field")
        cluster.helm("rollback", RELEASE, "1", *WAIT, *flags)
        assert api.get(CONFIGURATIONS, RELEASE)["webhooks"][0]["timeoutSeconds"] == 5
    assert set(insistence.answers) == {"denied"}
    assert insistence.answers["denied"] > 20
    assert bundles(api) == trust


@pytest.mark.parametrize(
    ("flag", "values", "said"),
    [
        pytest.param(
            "--reuse-values", {}, "missing property 'hooks'", id="all values of the older chart"
        ),
        pytest.param(
            "--reset-then-reuse-values",
            {"claims": {"grace": 20}},
            "additional properties 'grace' not allowed",
            id="a value that has another name now",
        ),
    ],
)
def test_an_upgrade_that_takes_over_what_the_new_chart_does_not_know_says_so_and_changes_nothing(
    cluster: Cluster, api: Api, flag: str, values: Values, said: str
) -> None:
    revision = cluster.helm.revision()
    with pytest.raises(RuntimeError, match=re.escape(said)):
        cluster.helm.upgrade(values, flag)
    assert cluster.helm.revision() == revision
    assert answer(api, device_class(BAD)) == "denied"


def test_the_webhook_comes_back_by_itself_after_objects_were_replaced(
    cluster: Cluster, api: Api
) -> None:
    with Insistence(cluster.plane) as insistence:
        cluster.helm.upgrade(NEWER, "--force-replace", "--server-side=false")
        wait_for(lambda: answer(api, device_class(BAD)) == "denied", message="a denial")
    print(f"longest time without a denial: {insistence.gap:.2f} s, {dict(insistence.answers)}")
    assert insistence.answers["denied"] > 20
    assert insistence.answers["let in"] == 0


def test_an_uninstallation_goes_through_where_the_webhook_is_gone_already(
    cluster: Cluster, api: Api
) -> None:
    api.delete(CONFIGURATIONS, RELEASE)
    cluster.helm.uninstall()
    assert "ValidatingWebhookConfiguration/dragoman does not exist" in cluster.kubelet.said(
        "delete-webhooks"
    )
    assert left_behind(api) == KEPT


def test_a_new_installation_takes_over_what_the_last_one_left(cluster: Cluster, api: Api) -> None:
    mine = api.patch(CRD, "dra.net", None, {"spec": {"mode": "Warn"}})
    cluster.helm.uninstall()
    cluster.helm.install(CATALOG)
    wait_for(lambda: answer(api, device_class(BAD)) == "denied", message="a denial")
    kept = api.get(CRD, "dra.net")
    assert kept["metadata"]["uid"] == mine["metadata"]["uid"]
    assert kept["spec"]["mode"] == "Warn"


def ignores_classes(api: Api) -> bool:
    """Whether a schema of the catalog has the field that the older CRD lacks."""
    found = api.find(CRD, YOUNGER)
    return bool(found and found["spec"]["entries"].get("classesIgnored"))


def bundles(api: Api) -> set[str]:
    configuration = api.get(CONFIGURATIONS, RELEASE)
    return {one["clientConfig"]["caBundle"] for one in configuration["webhooks"]}

"""Names and labels: long ones are cut where nothing is lost, selectors never change."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.charts.rendering import CHART, Json, names, one, pods, render

LONGEST_RELEASE = 53
"""Characters that helm allows for the name of a release."""
LABEL = 63


@pytest.mark.parametrize("length", [1, 20, 44, 45, 46, 47, 52, LONGEST_RELEASE])
def test_names_fit_and_differ_however_long_the_release_is_called(length: int) -> None:
    documents = render({"catalog": {"enabled": True}}, release="r" * length)
    for document in documents:
        name = document["metadata"]["name"]
        assert len(name) <= LABEL
        assert not name.endswith("-")
        for value in document["metadata"]["labels"].values():
            assert len(value) <= LABEL
    keys = [(document["kind"], document["metadata"]["name"]) for document in documents]
    assert len(keys) == len(set(keys))


def test_a_name_that_is_cut_keeps_its_suffix() -> None:
    documents = render({"fullnameOverride": "f" * 63})
    assert names(documents, "Deployment") == ["f" * 54 + "-operator", "f" * 55 + "-webhook"]


def test_a_release_that_names_the_chart_is_not_called_so_twice() -> None:
    assert names(render(release="dragoman"), "Deployment") == [
        "dragoman-operator",
        "dragoman-webhook",
    ]
    assert names(render(release="gpu"), "Deployment") == [
        "gpu-dragoman-operator",
        "gpu-dragoman-webhook",
    ]


def test_the_webhook_is_told_the_names_that_the_release_gave() -> None:
    documents = render(release="gpu")
    deployment = one(documents, "Deployment", "gpu-dragoman-webhook")
    told = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "--webhook-configuration=gpu-dragoman" in told
    assert "--tls-secret=gpu-dragoman-webhook-tls" in told
    assert "--tls-host=gpu-dragoman-webhook.dragoman-system.svc" in told
    assert names(documents, "ValidatingWebhookConfiguration") == ["gpu-dragoman"]
    assert names(documents, "Secret") == ["gpu-dragoman-webhook-tls"]
    assert "gpu-dragoman-webhook" in names(documents, "Service")


@pytest.mark.parametrize("word", ["on", "2024", "null", "1e3"])
def test_names_that_yaml_would_not_take_for_text_stay_text(word: str) -> None:
    values = {
        "fullnameOverride": word,
        "nameOverride": word,
        "imagePullSecrets": [word],
        "webhook": {"tls": {"mode": "cert-manager"}, "priorityClassName": word},
        "operator": {"serviceAccount": {"name": word}},
        "networkPolicy": {"enabled": True},
        "flowControl": {"enabled": True},
        "monitoring": {"renderMode": "alwaysRender", "serviceMonitor": {"enabled": True}},
    }
    documents = render(values, release=word, namespace=word)
    assert word in names(documents, "ValidatingWebhookConfiguration")
    for document in documents:
        if document["kind"] != "CustomResourceDefinition":
            assert list(untexted(document)) == [], document["kind"]


def test_selectors_are_the_same_in_the_next_version(tmp_path: Path) -> None:
    newer = tmp_path / "dragoman"
    shutil.copytree(CHART, newer)
    meta = yaml.safe_load((newer / "Chart.yaml").read_text())
    meta |= {"version": "9.9.9+build", "appVersion": "9.9.9"}
    (newer / "Chart.yaml").write_text(yaml.safe_dump(meta))
    before, after = render(), render({"commonLabels": {"team": "platform"}}, chart=newer)
    assert selectors(before) == selectors(after)
    assert len(selectors(after)) == 2
    labels = one(after, "Deployment", "dragoman-operator")["metadata"]["labels"]
    assert labels["helm.sh/chart"] == "dragoman-9.9.9_build"


def test_common_labels_are_everywhere_and_replace_none_of_the_charts() -> None:
    mine = {"team": "platform", "app.kubernetes.io/name": "mine"}
    documents = render({"commonLabels": mine})
    for document in documents:
        assert document["metadata"]["labels"]["team"] == "platform"
        assert document["metadata"]["labels"]["app.kubernetes.io/name"] == "dragoman"
    for _, pod in pods(documents):
        assert pod["metadata"]["labels"]["team"] == "platform"


def test_every_service_selects_the_pods_of_one_part() -> None:
    documents = render()
    for service in of(documents, "Service"):
        (chosen,) = [
            name
            for name, pod in pods(of(documents, "Deployment"))
            if service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        ]
        assert service["metadata"]["name"].startswith(chosen)


NAMING = {"name", "namespace", "serviceAccountName", "priorityClassName", "secretName"} | {
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
}
LISTING = {"resourceNames", "matchNames"}


def untexted(value: Any) -> Iterator[str]:
    """Yield the members of an object that are names and no texts."""
    if isinstance(value, list):
        for item in value:
            yield from untexted(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            listed = item if key in LISTING else [item] if key in NAMING else []
            if not all(isinstance(one, str) for one in listed):
                yield f"{key}: {item!r}"
            yield from untexted(item)


def of(documents: list[Json], kind: str) -> list[Json]:
    return [document for document in documents if document["kind"] == kind]


def selectors(documents: list[Json]) -> dict[str, Json]:
    return {
        document["metadata"]["name"]: document["spec"]["selector"]
        for document in of(documents, "Deployment")
    }

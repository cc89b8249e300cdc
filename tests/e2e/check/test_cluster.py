"""`--cluster` and `--slices cluster` read what a real API server has."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from dragoman.cli import cli
from tests.support import manifests as objects
from tests.support.controlplane.plane import ControlPlane

DRIVER = "checked.example.com"
ALLOWED = [
    {"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices"], "verbs": ["list"]},
]
OWN = f'device.attributes["{DRIVER}"]'


class Desk:
    """A folder with manifests beside a cluster."""

    def __init__(self, plane: ControlPlane, namespace: str, folder: Path) -> None:
        self.plane = plane
        self.namespace = namespace
        self.file = folder / "m.yaml"

    def write(self, *manifests: Any) -> None:
        self.file.write_text(yaml.safe_dump_all(manifests))

    def check(self, *arguments: object, kubeconfig: object = None) -> Any:
        """Return the document that the check prints."""
        config = ("--kubeconfig", str(kubeconfig or self.plane.kubeconfig))
        done = CliRunner().invoke(
            cli, ["check", str(self.file), *config, *map(str, arguments), "-o", "json"]
        )
        if not done.stdout:
            return done
        return json.loads(done.stdout)

    def found(self, *arguments: object) -> list[tuple[str, str]]:
        """Return rule and severity of what is found."""
        return [(one["id"], one["severity"]) for one in self.check(*arguments)["findings"]]


@pytest.fixture(scope="module", autouse=True)
def devices(plane: ControlPlane) -> Iterator[None]:
    """Publish a device with an attribute that no shipped driver has, and no other device."""
    plane.api().delete_all("resourceslices")
    device = {"name": "d0", "attributes": {"flavour": {"string": "sweet"}}}
    plane.api().create(objects.resource_slice("checked", [device], DRIVER))
    plane.api().create(objects.device_class(DRIVER, DRIVER))
    yield
    plane.api().delete("resourceslices", f"checked-{DRIVER}")
    plane.api().delete("deviceclasses", DRIVER)


@pytest.fixture
def desk(plane: ControlPlane, namespace: str, tmp_path: Path) -> Desk:
    """A folder, and a namespace for what the manifests name."""
    return Desk(plane, namespace, tmp_path)


def user(desk: Desk, **more: Any) -> Any:
    """Return a pod that uses claim gpu, with the grace period that pods have by default."""
    usual = {"terminationGracePeriodSeconds": 30, **more}
    return objects.pod("pod", desk.namespace, claims={"gpu": "gpu"}, **usual)


def claim(namespace: str, expression: str = "", **more: Any) -> Any:
    made = objects.claim("gpu", namespace, DRIVER)
    exactly = made["spec"]["devices"]["requests"][0]["exactly"]
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    exactly.update(more)
    return made


def test_names_that_the_cluster_has_are_no_findings(desk: Desk) -> None:
    pod = user(desk, templates={"nic": "nic"})
    desk.write(pod)
    missing = ("dra/reference-missing", "error")
    assert desk.found("--cluster") == [missing, missing]
    desk.plane.api().create(claim(desk.namespace))
    assert desk.found("--cluster") == [missing]
    desk.plane.api().create(objects.template("nic", desk.namespace, DRIVER))
    assert desk.found("--cluster") == []


def test_a_name_of_another_namespace_is_no_help(desk: Desk) -> None:
    other = desk.plane.create_namespace()
    desk.plane.api().create(claim(other))
    desk.write(user(desk))
    [finding] = desk.check("--cluster")["findings"]
    assert f'ResourceClaim "gpu" is in namespace {other}, ' in finding["message"]
    desk.plane.clear_namespace(other)


def test_a_class_that_the_cluster_lacks(desk: Desk) -> None:
    made = claim(desk.namespace)
    desk.write(made)
    assert desk.found("--cluster") == []
    made["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] = f"{DRIVER}s"
    desk.write(made)
    [finding] = desk.check("--cluster")["findings"]
    assert finding["id"] == "dra/reference-missing"
    assert finding["suggestion"] == f'did you mean "{DRIVER}"?'


@pytest.mark.parametrize("source", [("--cluster",), ("--slices", "cluster")], ids=" ".join)
def test_selectors_are_evaluated_on_the_devices_of_the_cluster(
    desk: Desk, source: tuple[str, ...]
) -> None:
    desk.write(claim(desk.namespace, f'{OWN}.flavour == "sweet"'))
    assert desk.found(*source) == []
    desk.write(claim(desk.namespace, f'{OWN}.flavour == "sour"'))
    assert desk.found(*source) == [("dra/never-matches", "warning")]
    desk.write(claim(desk.namespace, f'{OWN}.flavor == "sweet"'))
    unknown, unguarded = desk.check(*source)["findings"]
    assert unknown["id"] == "dra/attribute-unknown"
    assert "flavour" in unknown["suggestion"]
    assert unguarded["id"] == "dra/cel-unguarded"


def test_admin_access_goes_by_the_labels_of_the_cluster(desk: Desk) -> None:
    toleration = {"operator": "Exists", "effect": "NoExecute"}
    desk.write(claim(desk.namespace, adminAccess=True, tolerations=[toleration]))
    assert desk.found("--cluster") == [("dra/admin-access", "warning")]
    labels = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    desk.plane.api().patch("namespaces", desk.namespace, None, labels)
    assert desk.found("--cluster") == []


def test_slices_need_no_other_rights(desk: Desk) -> None:
    user = desk.plane.user("slice-reader", ALLOWED)
    desk.write(claim(desk.namespace, f'{OWN}.flavour == "sour"'))
    found = desk.check("--slices", "cluster", kubeconfig=user.kubeconfig)["findings"]
    assert [one["id"] for one in found] == ["dra/never-matches"]
    refused = desk.check("--cluster", kubeconfig=user.kubeconfig)
    assert refused.exit_code != 0
    assert "forbidden" in refused.stderr


def test_a_cluster_that_does_not_answer_is_an_error(desk: Desk, tmp_path: Path) -> None:
    config = yaml.safe_load(desk.plane.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    file = tmp_path / "config"
    file.write_text(yaml.safe_dump(config))
    desk.write(claim(desk.namespace))
    refused = desk.check("--cluster", kubeconfig=file)
    assert refused.exit_code == 2
    assert "127.0.0.1:1" in refused.stderr

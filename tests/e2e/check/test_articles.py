"""The real API server takes the good articles, refuses the bad ones, and takes what --fix makes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import yaml

from dragoman_toolkit.linting import engine
from dragoman_toolkit.linting.findings.fixes import fixed
from dragoman_toolkit.linting.knowledge.api import api_of
from dragoman_toolkit.linting.knowledge.devices import KnownDevices
from tests.e2e.check.differences import REFUSING, plane_of, served_versions
from tests.e2e.check.generator import Generator
from tests.support.articles import BAD, GOOD, expected
from tests.support.controlplane.api import Api, ApiError
from tests.support.controlplane.plane import ControlPlane

NAMESPACES = ("demo", "monitoring", "default")
FIXED = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice")


@pytest.fixture(scope="module")
def everything() -> Iterator[ControlPlane]:
    """Run a plane that serves every version, with the namespaces of the articles."""
    with plane_of("v1.36.3") as plane:
        for name in NAMESPACES:
            labels = {"resource.kubernetes.io/admin-access": "true"}
            meta = {"name": name, "labels": labels}
            plane.api().apply({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        yield plane


def documents(text: str) -> list[Any]:
    found: list[Any] = []
    for one in yaml.safe_load_all(text):
        found += one["items"] if one and one["kind"] == "List" else [one] if one else []
    return [one for one in found if one["kind"] != "Namespace"]


def refusals(api: Api, text: str) -> list[str]:
    """Return why the API server refuses the documents of a text, without creating them."""
    return [answer for one in documents(text) if (answer := refusal(api, one))]


def refusal(api: Api, manifest: Any) -> str:
    group = manifest["apiVersion"].rpartition("/")[0]
    try:
        resource = api.resource(f"{manifest['kind'].lower()}.{manifest['apiVersion']}")
    except KeyError:
        try:
            resource = api.resource(manifest["kind"])
        except KeyError:
            return "not served"
    if resource.api_version != manifest["apiVersion"]:
        return f"{manifest['apiVersion']} of {group} is not served"
    namespace = manifest["metadata"].get("namespace", "default") if resource.namespaced else None
    try:
        path = resource.path(namespace)
        api.request("POST", path, manifest, dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        return str(error)
    return ""


def mended(text: str) -> str:
    source = engine.read("m.yaml", text)
    checked = engine.check([source], api_of((1, 36)), KnownDevices(), engine.CheckOptions())
    found = checked.fixable.get("m.yaml", [])
    return fixed(text, ((one.object, one.problem) for one in found)).text


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_the_server_takes_good_articles(everything: ControlPlane, path: Path) -> None:
    assert refusals(everything.api(), path.read_text()) == []


@pytest.mark.parametrize(
    "path", [one for one in BAD if expected(one) in REFUSING], ids=lambda path: path.stem
)
def test_the_server_refuses_bad_articles(everything: ControlPlane, path: Path) -> None:
    assert refusals(everything.api(), path.read_text()) != []


@pytest.mark.parametrize("name", ["03-alpha3", "04-pod-source", "06-flat-request", "10-old-beta"])
def test_the_server_takes_what_fix_makes(everything: ControlPlane, name: str) -> None:
    [path] = [one for one in BAD if one.stem == name]
    text = mended(path.read_text())
    assert text != path.read_text()
    assert refusals(everything.api(), text) == []


@pytest.mark.parametrize("kind", FIXED)
@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_fix_keeps_the_meaning(everything: ControlPlane, kind: str, version: str) -> None:
    """What is stored of the old version equals, read in the new one, what the fix would store."""
    assert version in served_versions("v1.36.3", kind)
    api = everything.api()
    generator = Generator(crc32(f"{kind} {version}".encode()))  # the same in each process
    for index in range(12):
        made = generator.sound(kind, version)
        made["metadata"]["name"] = f"fixed-{version}-{index}"
        if "namespace" in made["metadata"]:
            made["metadata"]["namespace"] = "demo"
        resource = api.resource(kind)
        path = resource.path(made["metadata"].get("namespace"))
        old = path.replace(f"/{resource.version}/", f"/{version}/")
        api.request("POST", old, made, fieldValidation="Strict")
        stored = api.request("GET", f"{path}/{made['metadata']['name']}")
        text = mended(yaml.safe_dump(made, sort_keys=False))
        again = yaml.safe_load(text)
        assert again["apiVersion"] == f"resource.k8s.io/{resource.version}"
        again["metadata"]["name"] += "-again"
        taken = api.request("POST", path, again, dryRun="All", fieldValidation="Strict")
        assert without_times(taken["spec"]) == without_times(stored["spec"])
        as_json = mended(json.dumps(made))
        assert without_name(json.loads(as_json)) == without_name(again)
        api.request("DELETE", f"{path}/{made['metadata']['name']}")


def without_name(manifest: Any) -> Any:
    return {**manifest, "metadata": None}


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k != "timeAdded"}
    return [without_times(one) for one in value] if isinstance(value, list) else value

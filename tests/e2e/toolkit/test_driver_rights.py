"""`kubectl dra doctor --only DriverRights` with the chart of dra-example-driver, for real."""

import copy
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.charts.rendering import helm
from tests.e2e.toolkit.commands import dra
from tests.e2e.toolkit.test_doctor import Ward
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.doctor import World

MODULE = "sigs.k8s.io/dra-example-driver@v0.4.0"
GOPATH = Path(os.environ.get("GOPATH", Path.home() / "go"))
CHART = GOPATH / "pkg/mod" / MODULE / "deployments/helm/dra-example-driver"
KINDS = (
    *("ServiceAccount", "ClusterRole", "ClusterRoleBinding"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
)
POLICY = "validatingadmissionpolicies"


@pytest.fixture(scope="module")
def shipped(plane: ControlPlane) -> Iterator[list[Json]]:
    """Apply what the chart says about accounts, and run the driver's pods on two nodes."""
    if not CHART.is_dir():
        pytest.skip(f"{CHART} is missing: go mod download {MODULE}")
    world = World("rights")
    world.driver = "gpu.example.com"
    text = helm("template", "example", str(CHART), f"--namespace={world.name}")
    rendered = [one for one in yaml.safe_load_all(text) if one and one["kind"] in KINDS]
    [account] = [
        one["metadata"]["name"]
        for one in rendered
        if one["kind"] == "ServiceAccount" and "webhook" not in one["metadata"]["name"]
    ]
    plane.api().create(objects.namespace(world.name))
    plane.kubectl("apply", "-f", "-", input=yaml.safe_dump_all(rendered))
    ward = Ward(plane)
    made: list[Json] = []
    for index in (0, 1):
        plugin = world.plugin(index)
        plugin["spec"]["serviceAccountName"] = account
        made += [world.node(index), world.slice(index=index), plugin]
    for one in made:
        ward.create(one)
    yield rendered
    for one in rendered:
        plane.kubectl("delete", "-f", "-", "--ignore-not-found", input=yaml.safe_dump(one))
    ward.discharge(world.name, made)


def found(plane: ControlPlane) -> tuple[list[str], str]:
    """Return the findings, and what was said before them."""
    arguments = ("doctor", "--only", "DriverRights", "-o", "json")
    said = dra(*arguments, "--kubeconfig", plane.kubeconfig, expected=(0, 1))
    return [one["message"] for one in said.document["findings"]], said.errors


def until(plane: ControlPlane, holds: Callable[[list[str]], bool]) -> list[str]:
    """Wait until a change of the policy is in force; return the findings.

    It may come into force between two dry runs of one answer: then the next answer is another one.
    """

    def seen() -> list[str] | None:
        messages, _ = found(plane)
        settled = not messages or found(plane)[0] == messages
        return [*messages, ""] if holds(messages) and settled else None

    return wait_for(seen, 60, "the API server to heed the policy")


def policy(shipped: list[Json], kind: str = "ValidatingAdmissionPolicy") -> Json:
    [one] = [one for one in shipped if one["kind"] == kind]
    return copy.deepcopy(one)


def apply(plane: ControlPlane, one: Json) -> None:
    plane.kubectl("apply", "-f", "-", input=yaml.safe_dump(one))


def test_the_chart_as_it_is_shipped_is_silent(plane: ControlPlane, shipped: list[Json]) -> None:
    assert shipped
    until(plane, lambda messages: messages == [])
    _, said = found(plane)
    assert "on rights-n0, dry runs against slices of rights-n1" in said


def test_without_a_policy_every_version_is_named(plane: ControlPlane, shipped: list[Json]) -> None:
    name = policy(shipped)["metadata"]["name"]
    plane.kubectl("delete", POLICY, name)
    [message, _] = until(plane, bool)
    assert "v1: create, update, patch, delete" in message
    apply(plane, policy(shipped))


def test_a_policy_for_another_account(plane: ControlPlane, shipped: list[Json]) -> None:
    wrong = policy(shipped)
    condition = wrong["spec"]["matchConditions"][0]
    condition["expression"] = 'request.userInfo.username == "system:serviceaccount:x:y"'
    apply(plane, wrong)
    [message, _] = until(plane, bool)
    assert "may write slices of rights-n1" in message
    apply(plane, policy(shipped))


def test_a_policy_that_forgets_a_version(plane: ControlPlane, shipped: list[Json]) -> None:
    until(plane, lambda messages: messages == [])
    narrow = policy(shipped)
    constraints = narrow["spec"]["matchConstraints"]
    constraints["matchPolicy"] = "Exact"
    served = plane.api().request("GET", "/apis/resource.k8s.io")["versions"]
    versions = [one["version"] for one in served if one["version"].startswith("v1")]
    forgotten = versions[-1]
    kept = [one for one in versions if one != forgotten] or ["v1alpha3"]
    constraints["resourceRules"][0]["apiVersions"] = kept
    apply(plane, narrow)
    [message, _] = until(plane, bool)
    assert f"({forgotten}: " in message
    apply(plane, policy(shipped))


def test_the_audit_log_shows_dry_runs_alone(plane: ControlPlane, shipped: list[Json]) -> None:
    assert shipped
    until(plane, lambda messages: messages == [])
    events = map(json.loads, plane.audit.path.read_text().splitlines())
    writes = [
        one["requestURI"]
        for one in events
        if "rights" in (one.get("impersonatedUser") or {}).get("username", "")
        and one["verb"] not in {"get", "list", "watch"}
    ]
    assert writes
    assert all("dryRun=" in one for one in writes)

"""Each configuration works with the roles that the chart renders for it, and with nothing more."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import urllib3
import yaml

from tests.charts.rendering import NAMESPACE, Values, arguments, one, render
from tests.charts.test_permissions import EVERYTHING
from tests.e2e.faults.everything import CRDS, DEFINED, GATES, SERVED
from tests.e2e.maintenance.ward import MAINTENANCES, Ward
from tests.e2e.running import OperatorProcess
from tests.support import manifests as objects
from tests.support.controlplane.api import Api, Json, wait_for
from tests.support.controlplane.plane import ControlPlane

ACCOUNT = "dragoman-operator"
ROLES = {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
HELD: Values = {
    "claims": {"mode": "off"},
    "poolStatus": {"mode": "off"},
    "maintenance": {"enabled": True},
}
LEFT_OUT = ("operator", "--metrics-address", "--log-format", "--claims", "--catalog")


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(True, id="rules"),
        pytest.param(False, id="held-claims", marks=pytest.mark.slow),
    ],
)
def site(request: pytest.FixtureRequest) -> Iterator[tuple[ControlPlane, Values]]:
    """Run an API server that serves everything, and one that serves no DeviceTaintRules."""
    gates, served = (GATES, SERVED) if request.param else ({}, {})
    with ControlPlane(
        scheduler=True, feature_gates=gates, runtime_config=served, audit_reads=True
    ) as plane:
        for name in DEFINED:
            plane.define(yaml.safe_load((CRDS / f"{name}.yaml").read_text()))
        plane.api().create(objects.namespace(NAMESPACE))
        yield plane, EVERYTHING if request.param else HELD


@contextmanager
def installed(plane: ControlPlane, values: Values) -> Iterator[OperatorProcess]:
    """Run the operator as the chart does, as an account that has the chart's roles alone.

    A right that is missing is what a failure is about, so that it comes first.
    """
    documents = render(values)
    user = plane.service_account(ACCOUNT, NAMESPACE)
    for document in documents:
        bound = document["kind"] in ROLES and (binds(document) or "rules" in document)
        # Its roles let it update that of device-seconds, and create none.
        if bound or document["kind"] == "ConfigMap":
            plane.api().apply(document)
    pod = one(documents, "Deployment", ACCOUNT)["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == ACCOUNT
    flags = [flag for flag in arguments(documents, "operator") if not flag.startswith(LEFT_OUT)]
    mode = {"mode": "auto", **values.get("claims", {})}["mode"]
    with OperatorProcess(plane, user, f"--claims={mode}", *flags) as running:
        try:
            yield running
        finally:
            assert plane.audit.forbidden(user.name) == set()
    assert running.faults() == []


def binds(document: Json) -> bool:
    """Whether it binds a role to the operator's account."""
    return any(subject["name"] == ACCOUNT for subject in document.get("subjects", ()))


def test_every_controller_does_its_work(site: tuple[ControlPlane, Values]) -> None:
    plane, values = site
    with installed(plane, values) as running:
        ward = Ward(plane)
        try:
            for check in (maintained, *((worked, counted) if values is EVERYTHING else ())):
                check(ward, running)
        finally:
            ward.clear()


def maintained(ward: Ward, _: OperatorProcess) -> None:
    """A device is held, and put back."""
    name = ward.maintain(target=ward.target(), evict="WhenAllowed", reason="test")
    ward.wait_condition(name, "Idle")
    held = ward.api.list("resourceclaims", NAMESPACE)
    assert len(held) == (0 if ward.rules else 1)
    ward.api.delete(MAINTENANCES, name)
    wait_for(lambda: ward.api.find(MAINTENANCES, name) is None, message="the end of it")
    wait_for(lambda: not ward.api.list("resourceclaims", NAMESPACE), message="no held claim")


def worked(ward: Ward, _: OperatorProcess) -> None:
    """Claims, copies, an eviction, an answer, a report and an explanation."""
    api = ward.api
    ward.pod("runs", node=0)
    device = ward.placed("runs")["runs"].rpartition("/")[2]
    api.patch("namespaces", ward.name, None, {"metadata": {"labels": {"team": ward.name}}})
    create(
        api,
        "dragoman.dev/v1alpha1",
        "ClusterResourceClaimTemplate",
        ward.name,
        {
            "namespaceSelector": {"matchLabels": {"team": ward.name}},
            "template": {"spec": objects.claim_spec(ward.name)},
        },
    )
    create(
        api,
        "resource.k8s.io/v1alpha3",
        "ResourcePoolStatusRequest",
        ward.name,
        {"driver": ward.driver},
    )
    never = objects.template("never", ward.name, ward.name)
    request = never["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    request["selectors"] = [{"cel": {"expression": "false"}}]
    api.create(never)
    api.create(objects.pod("waits", ward.name, templates={"gpu": "never"}))
    create(
        api,
        api.resource("devicetaintrules").api_version,
        "DeviceTaintRule",
        ward.name,
        {
            "deviceSelector": {"driver": ward.driver, "pool": ward.nodes[0], "device": device},
            "taint": {"key": "broken", "effect": "NoExecute"},
        },
    )
    outcomes: dict[str, Callable[[], Any]] = {
        "the copy": lambda: api.find("resourceclaimtemplates", ward.name, ward.name),
        "the answer": lambda: api.get("resourcepoolstatusrequests", ward.name).get("status"),
        "the report": lambda: [
            one
            for one in api.list("devicepoolreports")
            if one["spec"]["driver"] == ward.driver and one.get("report")
        ],
        "the explanation": lambda: "CannotAllocateDevices" in reasons(ward),
        "the eviction": lambda: api.find("pods", "runs", ward.name) is None,
        "the condition of the rule": lambda: api.get("devicetaintrules", ward.name).get("status"),
    }
    for what, happened in outcomes.items():
        wait_for(happened, 120, what)
    for kind in ("devicetaintrules", "clusterresourceclaimtemplates"):
        api.delete(kind, ward.name)
    wait_for(
        lambda: api.find("resourceclaimtemplates", ward.name, ward.name) is None,
        message="the copy to be deleted",
    )


def counted(_: Ward, running: OperatorProcess) -> None:
    """Devices are counted, and the cluster is examined."""

    def metrics() -> str:
        return urllib3.request("GET", f"http://127.0.0.1:{running.port}/metrics").data.decode()

    wait_for(lambda: "\ndragoman_devices{" in metrics(), 60, "metrics of devices")
    wait_for(lambda: "dragoman_findings_timestamp_seconds 0" not in metrics(), 60, "an examination")


def create(api: Api, version: str, kind: str, name: str, spec: Json) -> None:
    """Create an object of the cluster."""
    api.create({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})


def reasons(ward: Ward) -> set[str]:
    """Return the reasons of the Events of a namespace."""
    return {one["reason"] for one in ward.api.list("events.events.k8s.io", ward.name)}

"""What the webhook refuses: targets and selectors that mean nothing, or every device."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.evictions.harness import Devices, taint
from tests.e2e.maintenance import ward
from tests.e2e.maintenance.ward import MAINTENANCES
from tests.e2e.rbac import DRA, rule
from tests.e2e.webhook import conftest as schemas
from tests.e2e.webhook.harness import WebhookProcess, close, configuration
from tests.e2e.webhook.rbac import WEBHOOK_RULES
from tests.support.controlplane.api import Api, ApiError, Json, wait_for
from tests.support.controlplane.certificates import Authority
from tests.support.controlplane.plane import ControlPlane

ALLOWED = {"dragoman.dev/allow-any-target": "true"}


@pytest.fixture(scope="module")
def devices(plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devices]:
    """Publish two devices, and review targets."""
    ward.install(plane)
    schemas.install(plane)
    made = Devices(plane, plane.create_namespace("targets"), "")
    made.publish("gpu-0", "gpu-1")
    folder = tmp_path_factory.mktemp("webhook")
    pair = Authority(folder).serving("webhook")
    flags = (f"--tls-certificate={pair.certificate}", f"--tls-key={pair.key}", "--review-targets")
    slices = rule(DRA, "resourceslices", "list", "watch")
    user = plane.user("target-webhook", [*WEBHOOK_RULES, slices])
    try:
        with WebhookProcess(plane, user, folder, *flags) as webhook:
            made.api.create(reviews(webhook.port, (folder / "ca.crt").read_bytes()))
            empty = maintenance(made, {})
            wait_for(lambda: refusal(made.api, empty), message="the webhook to be called")
            nowhere = maintenance(made, {"driver": "none.example.com"})
            wait_for(lambda: refusal(made.api, nowhere), message="the webhook to list slices")
            yield made
            assert webhook.faults() == []
    finally:
        close(plane)
        made.clear()
        schemas.remove(plane)
        ward.uninstall(plane)


def reviews(port: int, bundle: bytes) -> Json:
    """Return the configuration with the rules that the chart has for targets."""
    # The API server calls a webhook for a moment after its configuration was deleted.
    document = configuration(port, bundle, "Ignore")
    first = document["webhooks"][0]
    every = {"apiVersions": ["*"], "operations": ["CREATE", "UPDATE"]}
    first["rules"] = [
        {**every, "apiGroups": ["dragoman.dev"], "resources": ["devicemaintenances"]},
        {**every, "apiGroups": ["resource.k8s.io"], "resources": ["devicetaintrules"]},
    ]
    changed = "oldObject == null || object.spec != oldObject.spec"
    first["matchConditions"] = [{"name": "says-something-new", "expression": changed}]
    return {**document, "webhooks": [first]}


def maintenance(devices: Devices, target: Json, **metadata: Any) -> Json:
    return {
        "apiVersion": "dragoman.dev/v1alpha1",
        "kind": "DeviceMaintenance",
        "metadata": {"name": devices.namespace, **metadata},
        "spec": {"target": target},
    }


def taint_rule(devices: Devices, selector: Json, **metadata: Any) -> Json:
    return {
        "apiVersion": devices.api.resource("devicetaintrules").api_version,
        "kind": "DeviceTaintRule",
        "metadata": {"name": devices.namespace, **metadata},
        "spec": {"deviceSelector": selector, "taint": taint("k", "NoSchedule")},
    }


def refusal(api: Api, manifest: Json) -> str:
    """Return why the API server refuses an object; empty where it would store it."""
    try:
        api.create(manifest, dryRun="All")
    except ApiError as error:
        if error.code not in {403, 422}:
            raise
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({}, "spec.target: Invalid value: it is empty and matches every device of the cluster"),
        ({"driver": "none.example.com"}, "spec.target: Invalid value: it matches none of "),
        ({"where": "true"}, "spec.target: Invalid value: it matches all "),
        ({"where": "device."}, "spec.target.where: "),
    ],
)
def test_a_target_of_no_device_or_every_device_is_refused(
    devices: Devices, target: Json, said: str
) -> None:
    assert said in refusal(devices.api, maintenance(devices, target))


def test_one_device_and_what_is_annotated_are_accepted(devices: Devices) -> None:
    one = {"driver": devices.driver, "pool": devices.pool, "device": "gpu-0"}
    assert refusal(devices.api, maintenance(devices, one)) == ""
    assert refusal(devices.api, maintenance(devices, {}, annotations=ALLOWED)) == ""
    assert refusal(devices.api, taint_rule(devices, {"driver": devices.driver})) == ""
    assert refusal(devices.api, taint_rule(devices, {}, annotations=ALLOWED)) == ""


def test_an_empty_selector_of_a_rule_is_refused(devices: Devices) -> None:
    found = refusal(devices.api, taint_rule(devices, {}))
    assert "it is empty and matches every device of the cluster" in found
    assert 'annotate the object with dragoman.dev/allow-any-target: "true"' in found


def test_what_is_stored_can_still_be_labelled(devices: Devices) -> None:
    stored = devices.api.create(maintenance(devices, {}, annotations=ALLOWED))
    metadata = {"annotations": None, "labels": {"a": "b"}}
    try:
        devices.api.patch(MAINTENANCES, stored["metadata"]["name"], None, {"metadata": metadata})
    finally:
        devices.api.delete(MAINTENANCES, stored["metadata"]["name"])

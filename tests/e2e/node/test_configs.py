"""A config that the driver cannot decode: what it does on the node, and the door against it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman_drivers.pretend.driver import Driver
from tests.e2e.node.setup import TEMPLATE, NodeSetup
from tests.e2e.webhook.conftest import CRD
from tests.e2e.webhook.harness import (
    WebhookProcess,
    close,
    configuration,
    wait_until_reviewed,
    webhook_user,
)
from tests.support.controlplane.api import Api, ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.gpuconfig import TYPED, schema

pytestmark = [pytest.mark.node, pytest.mark.slow]
BAD = {**TYPED, "lable": "night"}
GOOD = {**TYPED, "label": "night"}
COMPLAINT = "parameters.lable"


@pytest.fixture
def schemas(plane: ControlPlane) -> Iterator[Api]:
    """Give a client for DriverConfigSchemas; none is left behind."""
    yield plane.api()
    plane.api().delete_all(CRD)


def audit(schemas: Api, driver: Driver) -> dict[str, Any]:
    """Return what the audit of stored objects has found so far."""
    found: dict[str, Any] = schemas.get(CRD, driver.name).get("status", {}).get("audit", {})
    return found


def test_a_pod_with_a_bad_config_that_was_stored_before_the_schema_is_told_and_repaired(
    setup: NodeSetup, schemas: Api, driver: Driver
) -> None:
    setup.template(parameters=BAD)
    setup.pod("night")
    wait_for(
        lambda: any(COMPLAINT in one for one in setup.failures("night")),
        message="an Event with the driver's complaint",
    )
    assert setup.phase("night") == "Pending"
    schemas.create(schema(driver.name))
    found = wait_for(
        lambda: seen if (seen := audit(schemas, driver)).get("violations") else None,
        message="the audit to find the stored objects",
    )
    named = {(one["kind"], one["name"]) for one in found["sample"]}
    assert ("ResourceClaimTemplate", TEMPLATE) in named
    wait_for(
        lambda: any("lable" in one for one in setup.events(TEMPLATE, "DriverConfigInvalid")),
        message="an Event at the template that names the field",
    )

    setup.api.delete("resourceclaimtemplates", TEMPLATE, setup.namespace)
    setup.delete("night")
    setup.gone("night")
    setup.at_rest()
    setup.template(parameters=GOOD)
    setup.pod("night")
    setup.until("night")
    (seen,) = setup.told("night")
    assert any('"label": "night"' in one for one in seen["variables"].values())


def test_the_door_keeps_the_same_config_from_the_node(
    setup: NodeSetup, schemas: Api, driver: Driver, plane: ControlPlane, tmp_path: Path
) -> None:
    schemas.create(schema(driver.name))
    with WebhookProcess(plane, webhook_user(plane), tmp_path) as door:
        try:
            plane.api().create(configuration(door.port, door.bundle))
            wait_until_reviewed(plane, setup.template_manifest("probe", BAD))
            with pytest.raises(ApiError, match="lable"):
                setup.template(parameters=BAD)
            setup.template(parameters=GOOD)
            setup.pod("night")
            setup.until("night")
        finally:
            close(plane)
    assert setup.failures("night") == []
    (seen,) = setup.told("night")
    assert any('"label": "night"' in one for one in seen["variables"].values())

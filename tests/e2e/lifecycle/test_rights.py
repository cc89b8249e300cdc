"""A right whose lack shows only when devices are given back."""

from collections.abc import Iterator

import pytest

from tests.e2e.rbac import OPERATOR_RULES, rules_without
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import Setup
from tests.e2e.versions import VERSION
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane

USER = "dragoman-unbound"
ASKED = VERSION >= (1, 36)
"""Whether the API server asks for `resourceclaims/binding`, as it does since 1.36."""


@pytest.fixture
def operator(plane: ControlPlane) -> Iterator[OperatorProcess]:
    """Run an operator that may patch the status of claims, but not bind them."""
    user = plane.user(USER, rules_without("resourceclaims/binding"))
    with OperatorProcess(plane, user, "--log-level=debug") as running:
        yield running
        assert running.faults() == []


@pytest.mark.skipif(not ASKED, reason="this API server does not ask for resourceclaims/binding")
def test_without_the_right_to_bind_devices_stay_held_and_the_log_names_the_right(
    plane: ControlPlane, setup: Setup, operator: OperatorProcess
) -> None:
    setup.apply(setup.template(device_class=setup.devices()), setup.pod())
    claim = setup.claim_of("pod")["metadata"]["name"]
    wait_for(lambda: setup.node_of("pod"), message="the pod to have a node")
    setup.finish("pod")
    wait_for(lambda: sum(setup.counts(refused=True).values()) > 3, message="refusals")
    refused = plane.audit.writes(setup.user, namespace=setup.namespace, refused=True)
    # Not 403: the patch of the status is allowed, what it changes is not.
    assert {(one.what, one.code) for one in refused} == {("patch resourceclaims/status", 422)}
    wait_for(lambda: "resourceclaims/binding" in operator.said(), 30, "the log to name the right")
    assert setup.allocated(claim)
    plane.user(USER, OPERATOR_RULES)
    setup.gone(claim)

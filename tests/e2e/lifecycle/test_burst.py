"""Ten thousand pods at once: exactly as many claims and publications, and not one write more."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import NO_CLASS, Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane

PODS = 10_000
MINUTES = 60

pytestmark = pytest.mark.slow


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """Run an own control plane, without a scheduler: only the operator writes."""
    with ControlPlane() as running:
        yield running


def test_ten_thousand_pods_made_before_the_start_get_exactly_one_claim_each(
    plane: ControlPlane, tmp_path: Path
) -> None:
    user = plane.user("dragoman", OPERATOR_RULES)
    setup = Setup(plane, plane.create_namespace("burst"), user.name, tmp_path)
    setup.apply(setup.template())
    began = time.monotonic()
    setup.api.create_many(
        objects.pod(f"pod-{number}", setup.namespace, templates={"a": "template"})
        for number in range(PODS)
    )
    made = time.monotonic()
    with OperatorProcess(plane, user) as operator:
        ready = time.monotonic()
        wait_for(
            lambda: setup.counts()["patch pods/status"] >= PODS,
            30 * MINUTES,
            f"{PODS} publications",
            every=1,
        )
        done = time.monotonic()
        plane.audit.settled(user.name, quiet=10)
        assert operator.faults() == []
    assert setup.counts() == {"create resourceclaims": PODS, "patch pods/status": PODS}
    assert setup.counts(refused=True) == {}
    claims = setup.claims()
    pods = setup.api.list("pods", setup.namespace)
    bound = {pod["status"]["resourceClaimStatuses"][0]["resourceClaimName"] for pod in pods}
    assert len(claims) == PODS
    assert bound == {*claims}
    assert {pod["metadata"]["uid"] for pod in pods} == {
        claim["metadata"]["ownerReferences"][0]["uid"] for claim in claims.values()
    }
    print(
        f"{PODS} pods made in {made - began:.0f} s; operator ready {ready - made:.1f} s after its "
        f"start; all published {done - made:.0f} s after it ({PODS / (done - made):.0f} pods/s)"
    )


def test_ten_thousand_finished_pods_cost_one_delete_each(
    plane: ControlPlane, tmp_path: Path
) -> None:
    user = plane.user("dragoman", OPERATOR_RULES)
    setup = Setup(plane, plane.create_namespace("burst"), user.name, tmp_path)
    setup.apply(setup.template("template", NO_CLASS))
    names = [f"pod-{number}" for number in range(PODS)]
    setup.api.create_many(setup.pod(name) for name in names)
    with OperatorProcess(plane, user) as operator:
        wait_for(lambda: setup.counts()["patch pods/status"] >= PODS, 30 * MINUTES, every=1)
        setup.forget()
        began = time.monotonic()
        setup.finish(*names)
        wait_for(lambda: setup.counts()["delete resourceclaims"] >= PODS, 30 * MINUTES, every=1)
        print(f"{PODS} claims of finished pods deleted in {time.monotonic() - began:.0f} s")
        plane.audit.settled(user.name, quiet=10)
        assert operator.faults() == []
    assert setup.counts(refused=None) == {"delete resourceclaims": PODS}
    assert setup.claims() == {}

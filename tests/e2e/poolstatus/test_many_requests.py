"""Requests for the status of pools by the thousand, beside pods that need claims."""

import time
from collections.abc import Iterator
from itertools import count

import pytest

from tests.e2e.poolstatus.test_poolstatus import Pools
from tests.e2e.rbac import OPERATOR_RULES, POOL_STATUS_RULES, rule
from tests.e2e.running import OperatorProcess
from tests.e2e.setup import NO_CLASS
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.hostile import Tries, scaled

pytestmark = pytest.mark.hostile("pool status")
POOLS = 50


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Run an API server with the gate of the API."""
    served = {"resource.k8s.io/v1alpha3": True}
    with ControlPlane(
        feature_gates={"DRAResourcePoolStatus": True}, runtime_config=served
    ) as running:
        yield running


def test_all_are_answered_and_claims_are_created_in_between(
    plane: ControlPlane, tries: Tries
) -> None:
    wanted = scaled(1500, least=60)
    delete = rule("resource.k8s.io", "resourcepoolstatusrequests", "delete")
    user = plane.user("dragoman", (*OPERATOR_RULES, *POOL_STATUS_RULES, delete))
    namespace = plane.create_namespace("requests")
    pools = Pools(plane, namespace)
    for number in range(POOLS):
        pools.publish(f"pool-{number}")
    pools.api.create(objects.template("gpu", namespace, NO_CLASS))
    options = ("--claims=own", "--pool-status=own", "--no-leader-elect")
    running = OperatorProcess(plane, user, *options)
    with running:
        calm = [seconds_to_a_claim(pools, f"calm-{number}") for number in range(5)]
    # All at once: they are there when the operator comes.
    pools.api.create_many(
        {
            "apiVersion": "resource.k8s.io/v1alpha3",
            "kind": "ResourcePoolStatusRequest",
            "metadata": {"name": f"{namespace}-{number}"},
            "spec": {"driver": pools.driver}
            | ({"poolName": f"pool-{number % POOLS}"} if number % 2 else {}),
        }
        for number in range(wanted)
    )
    since = plane.audit.mark()
    began = time.monotonic()
    with running:
        beside: list[float] = []
        names = count()

        def answered() -> bool:
            beside.append(seconds_to_a_claim(pools, f"beside-{next(names)}"))
            answers = plane.audit.writes(
                user.name, since, resource="resourcepoolstatusrequests/status"
            )
            return len({one.name for one in answers}) >= wanted

        wait_for(answered, 600, f"{wanted} answers")
        took, processor = time.monotonic() - began, running.processor_seconds()
        listed = pools.api.list("resourcepoolstatusrequests")
        found = [one["status"]["poolCount"] for one in listed if one.get("status")]
        assert len(found) == wanted
        assert {*found} == {1, POOLS}
        tries(wanted)
    assert running.faults() == []
    print(
        f"\n{wanted} requests answered {took:.1f} s after the operator was started, which took "
        f"{processor:.1f} s of CPU; "
        f"claims after {max(calm):.2f} s at most before, {max(beside):.2f} s beside them, "
        f"of {len(beside)} pods"
    )


def seconds_to_a_claim(pools: Pools, pod: str) -> float:
    """Create a pod; return how long its claim took."""
    began = time.monotonic()
    pools.api.create(objects.pod(pod, pools.namespace, templates={"gpu": "gpu"}))

    def published() -> bool:
        status = pools.api.get("pods", pod, pools.namespace)["status"]
        return bool(status.get("resourceClaimStatuses"))

    wait_for(published, 60, f"the claim of {pod}")
    return time.monotonic() - began

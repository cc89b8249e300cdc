"""What shows that kube-scheduler preempts for devices itself, and for whom dragoman stands down."""

import pytest

from dragoman.allocation import TimeBudget, profile
from dragoman.diagnosis.explain import cluster_of
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import take
from dragoman.preemption.intree import CLUSTER, Evidence, evidence, stands_down
from dragoman.preemption.preemptionfacts import PreemptionFacts
from tests.support.manifests import Json
from tests.support.worlds.inventory import device_class, pool, snapshot
from tests.support.worlds.preemption import holding, node, waiting

CONDITION = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}


def found(*given: Json) -> tuple[Evidence, ...]:
    world = parse(snapshot(device_class(), node("n"), pool("n", 1), *given))
    return evidence(PreemptionFacts.of(world), cluster_of(take(world, profile("1.36"))))


def ending(priority: int = 0, namespace: str = "ns") -> list[Json]:
    pod, claim = holding("low", "n", [0], priority)
    for one in (pod, claim):
        one["metadata"]["namespace"] = namespace
    pod["metadata"]["deletionTimestamp"] = "2026-11-24T00:00:00Z"
    pod["status"]["conditions"] = [CONDITION]
    return [pod, claim]


def promised() -> list[Json]:
    pod, claim = waiting(1)
    pod["status"]["nominatedNodeName"] = "n"
    return [pod, claim]


def test_a_promise_that_needs_the_devices_of_ending_pods_is_evidence() -> None:
    (one,) = found(*ending(), *promised())
    assert (one.pod, one.node, one.namespaces) == ("ns/train", "n", frozenset({"ns"}))


@pytest.mark.parametrize(
    "given",
    [
        pytest.param([*ending(), *waiting(1)], id="no promise"),
        pytest.param([*holding("low", "n", [0]), *promised()], id="no pod ends"),
        pytest.param([*ending(priority=200), *promised()], id="of a higher priority"),
    ],
)
def test_nothing_else_is(given: list[Json]) -> None:
    assert found(*given) == ()


def test_one_namespace_pauses_itself_alone() -> None:
    assert stands_down(found(*ending(), *promised())) == {"ns"}
    assert stands_down(found(*ending(namespace="other"), *promised())) == {CLUSTER}
    assert stands_down(()) == frozenset()


def test_tenants_cannot_take_more_than_the_time() -> None:
    with TimeBudget(-1.0, clock=lambda: 0.0):
        assert found(*ending(), *promised()) == ()

"""What is counted at a scrape: claims by state, and pods that wait."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dragoman.cluster.clusterstate import ClusterState
from dragoman.controllers.claims.collector import ClaimCollector
from dragoman.model.claim import EXTENDED_RESOURCE_ANNOTATION, Claim
from dragoman.model.pod import Pod
from tests.unit.dragoman.claims.objects import ClaimObject, Object, PodObject, claim, fact, pod

OWNER = pod("owner").using("gpu", template="t")
WAITING = pod("waits").using("gpu", template="t")


@dataclass
class Counted:
    """The samples of one scrape."""

    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]

    def __call__(self, name: str, **labels: str) -> float | None:
        return self.samples.get((name, frozenset(labels.items())))


def counted(*objects: Object) -> Counted:
    world = ClusterState()
    for one in objects:
        match fact(one):
            case Pod() as found:
                world.pods.put(found)
            case Claim() as found:
                world.claims.put(found)
    samples = {}
    for family in ClaimCollector(world).collect():
        for sample in family.samples:
            samples[sample.name, frozenset(sample.labels.items())] = sample.value
    return Counted(samples)


def aged(found: PodObject, seconds: float) -> PodObject:
    created = datetime.now(UTC) - timedelta(seconds=seconds)
    return found.changed("metadata", "creationTimestamp", to=created.isoformat())


def asking_for_admin_access(found: ClaimObject) -> ClaimObject:
    request: dict[str, Any] = {"name": "r", "exactly": {"adminAccess": True}}
    return found.changed("spec", "devices", "requests", to=[request])


@pytest.mark.parametrize(
    ("found", "labels"),
    [
        (claim("c"), ("false", "false", "user", "false")),
        (claim("c").allocated(), ("true", "false", "user", "false")),
        (claim("c").allocated().reserved_for(OWNER), ("true", "true", "user", "false")),
        (claim("c").generated_for(OWNER, "gpu"), ("false", "false", "template", "false")),
        (
            claim("c").owned_by(OWNER).annotated(EXTENDED_RESOURCE_ANNOTATION, "true"),
            ("false", "false", "extended", "false"),
        ),
        (asking_for_admin_access(claim("c")), ("false", "false", "user", "true")),
    ],
    ids=["free", "allocated", "reserved", "from a template", "extended", "admin access"],
)
def test_a_claim_counts_under_its_state(found: ClaimObject, labels: tuple[str, ...]) -> None:
    names = ("allocated", "reserved", "source", "admin_access")
    count = counted(found)("dragoman_resource_claims", **dict(zip(names, labels, strict=True)))
    assert count == 1


def test_claims_in_the_same_state_count_together() -> None:
    count = counted(*(claim(f"c-{number}") for number in range(5)))
    labels = {"allocated": "false", "reserved": "false", "source": "user", "admin_access": "false"}
    assert count("dragoman_resource_claims", **labels) == 5


@pytest.mark.parametrize(
    ("found", "pending"),
    [
        (WAITING, True),
        (WAITING.bound("gpu", "c"), False),
        (WAITING.bound("gpu", None), False),
        (WAITING.using("more", template="t").bound("gpu", "c"), True),
        (pod("waits").using("gpu", claim="of-a-user"), False),
        (WAITING.in_phase("Succeeded"), False),
        (WAITING.in_phase("Failed"), False),
        (WAITING.deleting(), False),
    ],
    ids=[
        "no claim yet",
        "its claim is published",
        "no claim is needed",
        "one of two is published",
        "a claim of a user needs no publication",
        "succeeded",
        "failed",
        "being deleted",
    ],
)
def test_which_pods_wait(found: PodObject, pending: bool) -> None:
    assert counted(found)("dragoman_waiting_pods") == pending


def test_the_oldest_waiting_pod_is_the_one_to_worry_about() -> None:
    old, young = aged(WAITING, 500.0), aged(pod("young").using("gpu", template="t"), 5.0)
    served = aged(pod("served").using("gpu", template="t").bound("gpu", "c"), 9000.0)
    count = counted(young, old, served)
    assert count("dragoman_waiting_pods") == 2
    oldest = count("dragoman_oldest_waiting_pod_seconds")
    assert oldest is not None
    assert 500.0 <= oldest < 600.0


def test_nobody_waits_in_an_empty_world() -> None:
    assert counted()("dragoman_oldest_waiting_pod_seconds") == 0.0


def test_the_build_is_told() -> None:
    labels = {
        key: value
        for (name, pairs) in counted().samples
        for key, value in pairs
        if name == "dragoman_build_info"
    }
    assert labels.keys() == {"version", "python"}
    assert all(labels.values())

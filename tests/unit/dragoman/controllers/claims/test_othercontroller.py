"""What another claim controller's writes look like, and which of them are faults."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from dragoman.claims.mode import Activity
from dragoman.claims.naming import claim_name
from dragoman.cluster.clusterstate import ClusterState
from dragoman.controllers.claims import othercontroller
from dragoman.controllers.claims.othercontroller import ControllerFault, OtherController
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod
from tests.unit.dragoman.controllers.claims.builders import claim_of, pod_with

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"
OURS = claim_name(owner="pod", owner_uid="pod-uid", entry="a")
THEIRS = "pod-a-q7zk2"


@dataclass
class Stand:
    """The controller over a world; what it saw and what it reported."""

    world: ClusterState = field(default_factory=ClusterState)
    signs: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[ControllerFault, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.other = OtherController(self.world, self._sign, self._report)

    def _sign(self, activity: Activity) -> None:
        self.signs["flapping" if activity.flapping else "progress"] += 1

    def _report(self, fault: ControllerFault, pod: Pod, note: str) -> None:
        assert note
        self.faults.append((fault, pod.metadata.name))

    def see(self, *facts: Pod | Claim) -> "Stand":
        """Let changes come in."""
        for fact in facts:
            place = (fact.metadata.namespace, fact.metadata.name)
            if isinstance(fact, Pod):
                pod = self.world.pods.get(*place)
                self.world.pods.put(fact)
                self.other.pod(pod, fact)
            else:
                claim = self.world.claims.get(*place)
                self.world.claims.put(fact)
                self.other.claim(claim, fact)
        return self

    def awake(self) -> "Stand":
        """Say that everything is listed."""
        self.other.begin()
        return self


def claim(name: str, version: int = 1, entry: str = "a") -> Claim:
    return claim_of("pod", "pod-uid", entry, name=name, version=version)


def test_what_is_listed_at_the_start_is_the_past() -> None:
    stand = Stand().see(pod_with({"a": THEIRS}, stock=EARLY), claim(THEIRS)).awake()
    assert (stand.signs, stand.faults) == ({}, [])
    stand.see(pod_with({"a": THEIRS}, stock=EARLY, version=2))
    assert stand.signs == {}


@pytest.mark.parametrize(
    "change",
    [
        lambda: pod_with({"a": THEIRS}, stock=LATE, version=5),
        lambda: claim(THEIRS, 5),
    ],
    ids=["a status that the stock controller wrote", "a claim with a name that we would not give"],
)
def test_another_controllers_writes_are_signs(change: Callable[[], Pod | Claim]) -> None:
    stand = Stand().see(pod_with({})).awake()
    assert stand.see(change()).signs == {"progress": 1}


@pytest.mark.parametrize(
    "change",
    [
        lambda: claim(OURS, 5),
        lambda: pod_with({"a": OURS}, version=5),
        lambda: pod_with({}, phase="Running", version=5),
        lambda: claim_of("pod", "pod-uid", None, name="by-a-user"),
    ],
    ids=["our own claim", "our own status", "the kubelet's status", "a user's claim"],
)
def test_what_others_write_is_no_sign(change: Callable[[], Pod | Claim]) -> None:
    stand = Stand().see(pod_with({})).awake()
    assert stand.see(change()).signs == {}


def test_a_second_write_within_the_same_second_is_a_sign_as_well() -> None:
    stand = Stand().see(pod_with({}, stock=LATE)).awake()
    stand.see(pod_with({"a": THEIRS}, stock=LATE, version=2))
    assert stand.signs == {"progress": 1}


def test_an_old_stamp_on_a_pod_that_is_seen_late_is_no_sign() -> None:
    stand = Stand().see(pod_with({}, stock=LATE)).awake()
    stand.see(pod_with({"a": OURS}, stock=EARLY, version=2, uid="another"))
    assert stand.signs == {}


def test_two_claims_for_one_entry_are_reported_on_the_pod() -> None:
    stand = Stand().see(pod_with({}), claim(OURS)).awake()
    assert stand.see(claim(THEIRS, 2)).faults == [(ControllerFault.DUPLICATE, "pod")]


def test_a_claim_for_another_entry_is_no_duplicate() -> None:
    stand = Stand().see(pod_with({}), claim(OURS)).awake()
    assert stand.see(claim("pod-b-q7zk2", 2, entry="b")).faults == []


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_claim_made_for_a_finished_pod_is_reported(phase: str) -> None:
    stand = Stand().see(pod_with({}, phase=phase)).awake()
    assert stand.see(claim(THEIRS, 2)).faults == [(ControllerFault.FINISHED, "pod")]


def test_a_claim_of_a_pod_that_was_replaced_is_not_the_new_pods_fault() -> None:
    stand = Stand().see(pod_with({}, phase="Succeeded", uid="another")).awake()
    assert stand.see(claim(THEIRS, 2)).faults == []


def both(version: int) -> Pod:
    return pod_with({"a": THEIRS, "b": "pod-b-q7zk2"}, stock=LATE, version=version)


def one(version: int) -> Pod:
    return pod_with({"a": THEIRS}, stock=LATE, version=version)


def flapping() -> Stand:
    return Stand().see(claim(THEIRS), claim("pod-b-q7zk2", entry="b"), both(1)).awake()


def test_valid_bindings_that_keep_vanishing_are_reported_as_flapping() -> None:
    stand = flapping().see(one(2), both(3))
    assert stand.faults == []
    stand.see(one(4))
    assert stand.faults == [(ControllerFault.FLAPPING, "pod")]


def test_flapping_shows_that_another_is_there_but_not_that_it_gets_on() -> None:
    stand = flapping().see(one(2))
    assert stand.signs == {"progress": 1}
    stand.see(both(3), one(4), both(5), one(6))
    assert stand.signs == {"progress": 1, "flapping": 4}
    stand.see(claim("pod-a-c2c2c"))
    assert stand.signs == {"progress": 2, "flapping": 4}


def test_losses_long_apart_are_no_flapping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(othercontroller, "FLAP_WINDOW", 0.0)
    assert flapping().see(one(2), both(3), one(4)).faults == []


def test_a_binding_that_goes_with_its_claim_is_no_flapping() -> None:
    stand = flapping()
    for version in (2, 4):
        lost = claim("pod-b-q7zk2", entry="b")
        stand.world.claims.drop("ns", "pod-b-q7zk2", lost.metadata.uid)
        stand.see(one(version), both(version + 1))
    assert stand.faults == []

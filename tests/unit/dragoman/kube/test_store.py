"""What the operator knows: newest facts, indices that follow them, and who is gone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.cluster.clusterstate import ClusterState, Since
from dragoman.kube import store as worlds
from dragoman.kube.store import DeletedUIDs, OwnWrites
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod
from tests.unit.dragoman.claims.objects import NAMESPACE, Object, claim, pod
from tests.unit.dragoman.kube.virtual_time import Clock
from tests.unit.examples import examples


def at(found: Object, version: int | str) -> Object:
    """Return an object at a resourceVersion."""
    return found.changed("metadata", "resourceVersion", to=str(version))


def a_pod(found: Object, version: int | str = 1) -> Pod:
    """Return the fact of a pod."""
    return Pod.parse(at(found, version).document)


def a_claim(found: Object, version: int | str = 1) -> Claim:
    """Return the fact of a claim."""
    return Claim.parse(at(found, version).document)


USER = pod().using("gpu", template="t").using("nic", claim="c")


@pytest.mark.parametrize(
    ("versions", "changes", "kept"),
    [
        pytest.param((5, 6), [True, True], 6, id="a newer state replaces an older one"),
        pytest.param((6, 5), [True, False], 6, id="an older state is dropped"),
        pytest.param((9, 10), [True, True], 10, id="versions are compared as numbers"),
        pytest.param((5, 5), [True, False], 5, id="the same state changes nothing"),
        pytest.param(("x", 5), [True, True], 5, id="versions that are no numbers yield"),
    ],
)
def test_states_of_one_object(
    versions: tuple[int | str, ...], changes: list[bool], kept: int
) -> None:
    world = ClusterState()
    assert [world.pods.put(a_pod(USER, version)) for version in versions] == changes
    stored = world.pods.get(NAMESPACE, "test-pod")
    assert stored is not None
    assert stored.metadata.resource_version == str(kept)
    assert len(world.pods) == 1


def test_what_was_deleted_does_not_come_back_with_a_late_event() -> None:
    world = ClusterState()
    world.pods.put(a_pod(USER, 5))
    dropped = world.pods.drop(NAMESPACE, "test-pod", "uid-test-pod")
    assert dropped == a_pod(USER, 5)
    assert not world.pods.put(a_pod(USER, 6))
    assert world.pods.get(NAMESPACE, "test-pod") is None
    assert len(world.pods) == 0


def test_a_deletion_that_is_known_first_is_remembered() -> None:
    world = ClusterState()
    assert world.pods.drop(NAMESPACE, "test-pod", "uid-test-pod") is None
    assert not world.pods.put(a_pod(USER, 5))


def test_a_pod_that_comes_again_under_its_name_buries_the_old_one() -> None:
    world = ClusterState()
    world.pods.put(a_pod(USER, 5))
    new = pod(uid="uid-new").using("gpu", template="t")
    assert world.pods.put(a_pod(new, 8))
    assert "uid-test-pod" in world.deleted
    assert not world.pods.put(a_pod(USER, 9))
    assert world.pods.drop(NAMESPACE, "test-pod", "uid-test-pod") is None
    stored = world.pods.get(NAMESPACE, "test-pod")
    assert stored is not None
    assert stored.metadata.uid == "uid-new"


def found(world: ClusterState, index: str, name: str) -> list[str]:
    """Return the names of pods that an index has."""
    return [each.metadata.name for each in world.pods.find(index, (NAMESPACE, name))]


def test_after_a_restore_from_a_backup_older_states_replace_what_was_known_once() -> None:
    world = ClusterState()
    world.pods.put(a_pod(USER, 900))
    world.claims.put(a_claim(claim("c"), 901))
    world.claims.drop(NAMESPACE, "c", "uid-claim-my-namespace-c")
    world.own_writes.add("500")
    world.roll_back()
    stored = world.pods.get(NAMESPACE, "test-pod")
    assert stored is not None
    assert stored.metadata.resource_version == "900", "a precondition that must fail"
    assert world.pods.put(a_pod(USER, 500))
    assert not world.pods.put(a_pod(USER, 499))
    assert world.claims.put(a_claim(claim("c"), 400)), "it was deleted in a time that never was"
    assert not world.own_writes.take(b"500")


def test_indices_follow_updates_and_deletions() -> None:
    world = ClusterState()
    world.pods.put(a_pod(USER, 1))
    assert (found(world, "claim", "c"), found(world, "template", "t")) == (["test-pod"],) * 2
    assert found(world, "claim", "made") == []
    world.pods.put(a_pod(USER.bound("gpu", "made"), 2))
    assert found(world, "claim", "made") == ["test-pod"]
    world.pods.put(a_pod(USER.bound("gpu", "other"), 3))
    assert found(world, "claim", "made") == []
    world.pods.drop(NAMESPACE, "test-pod", "uid-test-pod")
    assert [found(world, "claim", name) for name in ("c", "other")] == [[], []]
    assert found(world, "template", "t") == []


def test_indices_keep_namespaces_apart() -> None:
    world = ClusterState()
    world.pods.put(a_pod(USER))
    world.pods.put(a_pod(pod("b", namespace="other").using("gpu", template="t")))
    assert found(world, "template", "t") == ["test-pod"]
    assert list(world.pods.namespace("other")) == ["b"]
    assert dict(world.pods.namespace("nowhere")) == {}


def test_claims_are_found_by_the_uid_of_their_owner() -> None:
    world = ClusterState()
    made = claim("made").generated_for(USER, "gpu")
    world.claims.put(a_claim(made, 1))
    world.claims.put(a_claim(claim("mine"), 1))
    owned = world.claims.find("owner", (NAMESPACE, "uid-test-pod"))
    assert [each.metadata.name for each in owned] == ["made"]
    world.claims.drop(NAMESPACE, "made", made.uid)
    assert world.claims.find("owner", (NAMESPACE, "uid-test-pod")) == []


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["put", "drop"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["1", "2"]),
        st.sampled_from(["t", "u"]),
    ),
    max_size=25,
)


@settings(max_examples=examples(50), deadline=None)
@given(events=EVENTS)
def test_indices_hold_exactly_what_the_shelf_holds(
    events: list[tuple[str, str, str, str]],
) -> None:
    world = ClusterState()
    for version, (what, name, uid, source) in enumerate(events):
        user = pod(name, uid=f"{name}-{uid}").using("gpu", template=source)
        if what == "put":
            world.pods.put(a_pod(user, version))
        else:
            world.pods.drop(NAMESPACE, name, user.uid)
    held = {(next(each.template_names()), each.metadata.name) for each in world.pods}
    indexed = {(source, name) for source in "tu" for name in found(world, "template", source)}
    assert indexed == held
    assert len(world.pods) == len(held)


def test_the_longest_gone_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worlds, "DELETED_LIMIT", 3)
    deleted = DeletedUIDs()
    for uid in "abcde":
        deleted.add(uid)
    assert list(deleted) == ["c", "d", "e"]
    assert "a" not in deleted


def test_an_own_write_is_recognized_once() -> None:
    writes = OwnWrites()
    writes.add("7")
    assert [writes.take(b"8"), writes.take(b"7"), writes.take(b"7")] == [False, True, False]


def test_a_stopwatch_measures_as_long_as_a_state_holds() -> None:
    clock = Clock()
    watch = Since(clock)
    measured = []
    for holds, version in [(True, "1"), (True, "1"), (True, "2"), (True, "2"), (False, "2")]:
        measured.append(watch.elapsed("uid", "idle", holds=holds, version=version))
        clock.seconds += 10.0
    measured.append(watch.elapsed("uid", "idle", holds=True, version="2"))
    assert measured == [0.0, 10.0, 0.0, 10.0, 0.0, 0.0]


def test_a_stopwatch_knows_states_that_began_long_ago_and_forgets_objects() -> None:
    watch = Since(Clock())
    watch.began_long_ago("uid", "idle", "5")
    assert watch.elapsed("uid", "idle", holds=True, version="5") > 1e6
    watch.forget("uid")
    assert watch.elapsed("uid", "idle", holds=True, version="5") == 0.0

"""Properties that hold in every world, tidy or not."""

from collections import Counter
from collections.abc import Iterator

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.claims.actions import (
    Action,
    CreateClaim,
    DeleteClaim,
    PublishClaims,
    UpdateReservedFor,
)
from dragoman.model.claim import Claim, Consumer
from dragoman.model.pod import Pod
from tests.unit.dragoman.claims.histories import disturb, worlds
from tests.unit.dragoman.claims.model_server import Server
from tests.unit.dragoman.claims.reconciling import Reconciler, View
from tests.unit.dragoman.claims.worlds import ClusterState, check
from tests.unit.examples import examples

LATER = 3600.0
"""Seconds after which no grace is left."""

thorough = settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def settled(server: Server, *, patience: float = LATER) -> list[Action]:
    """Work until a round over everything changes nothing; returns all actions."""
    actions: list[Action] = []
    for _ in range(6):
        reconciler = Reconciler(server)
        reconciler.view.patience = patience
        done = reconciler.settle_all()
        actions += done
        check(server.world())
        if not done:
            return actions
    raise AssertionError("six rounds over everything were not enough")


def pods(server: Server) -> Iterator[Pod]:
    """Yield the pods."""
    return (fact for fact in View.of(server).facts.values() if isinstance(fact, Pod))


def claims(server: Server) -> Iterator[Claim]:
    """Yield the claims."""
    return (fact for fact in View.of(server).facts.values() if isinstance(fact, Claim))


@thorough
@given(start=worlds())
def test_every_world_settles_and_stays_settled(start: ClusterState) -> None:
    server = Server.holding(start)
    settled(server)
    before = len(server.writes)
    settled(server)
    assert len(server.writes) == before


@thorough
@given(start=worlds())
def test_creation_takes_one_round(start: ClusterState) -> None:
    server = Server.holding(start)
    Reconciler(server).settle_holders()
    assert Reconciler(server).settle_holders() == []


@thorough
@given(start=worlds())
def test_in_the_end_every_live_pod_has_what_templates_give(start: ClusterState) -> None:
    server = Server.holding(start)
    settled(server)
    view = View.of(server)
    for pod in pods(server):
        if pod.done or pod.metadata.deleting or pod.group_name is not None:
            continue
        known = view.claims(pod.metadata.namespace)
        for entry in pod.entries:
            given_by = view.templates(pod.metadata.namespace).get(entry.template_name or "")
            if given_by is None or pod.needs_no_claim(entry):
                continue
            bound = known.get(pod.published_name(entry) or "")
            assert bound is not None
            assert bound.is_for(pod.metadata.uid)


@thorough
@given(start=worlds())
def test_nothing_is_made_for_pods_that_are_finished_or_going(start: ClusterState) -> None:
    server = Server.holding(start)
    ended = {p.metadata.uid for p in pods(server) if p.done or p.metadata.deleting}
    for action in settled(server):
        if isinstance(action, CreateClaim):
            assert action.owner.uid not in ended
        if isinstance(action, PublishClaims):
            assert action.holder.uid not in ended
        if isinstance(action, UpdateReservedFor):
            added = set(action.consumers) - set(action.claim.consumers)
            assert ended.isdisjoint(consumer.uid for consumer in added)


@thorough
@given(start=worlds())
def test_foreign_consumers_stay_where_they_are(start: ClusterState) -> None:
    server = Server.holding(start)

    def foreign() -> dict[str, list[Consumer]]:
        return {
            claim.metadata.uid: [c for c in claim.consumers if c.api_group == "foo.com"]
            for claim in claims(server)
            if any(c.api_group == "foo.com" for c in claim.consumers)
        }

    before = foreign()
    settled(server)
    assert foreign() == before


@thorough
@given(start=worlds())
def test_a_valid_binding_is_never_replaced(start: ClusterState) -> None:
    server = Server.holding(start)
    # One that is being deleted may vanish on the way, and then another takes its place.
    known = {c.metadata.name: c for c in claims(server) if not c.metadata.deleting}
    valid = {
        (pod.metadata.uid, entry, name)
        for pod in pods(server)
        for entry, name in pod.published.items()
        if name in known and known[name].is_for(pod.metadata.uid)
    }
    bound = {
        (action.holder.uid, entry): name
        for action in settled(server)
        if isinstance(action, PublishClaims)
        for entry, name in action.published.items()
    }
    assert [item for item in valid if item[:2] in bound] == []


@thorough
@given(start=worlds())
def test_users_claims_are_never_deleted_and_used_devices_never_taken(start: ClusterState) -> None:
    server = Server.holding(start)
    running = {pod.metadata.uid for pod in pods(server) if not pod.done}
    for action in settled(server):
        if isinstance(action, DeleteClaim):
            assert action.claim.metadata.owner is not None
            assert action.claim.metadata.owner.uid not in running
        if isinstance(action, UpdateReservedFor) and action.deallocate:
            assert running.isdisjoint(consumer.uid for consumer in action.claim.consumers)


@thorough
@given(start=worlds())
def test_no_finished_pod_keeps_devices(start: ClusterState) -> None:
    server = Server.holding(start)
    settled(server)
    ended = {pod.metadata.uid for pod in pods(server) if pod.done} | server.deleted
    for claim in claims(server):
        consumers = {c.uid for c in claim.consumers if c.is_pod}
        assert ended.isdisjoint(consumers)
        owner = claim.metadata.owner
        if owner is not None and owner.is_pod and owner.uid in ended:
            assert claim.consumers


@thorough
@given(start=worlds(), data=st.data())
def test_one_claim_an_entry_whatever_happens_while_views_are_old(
    start: ClusterState, data: st.DataObject
) -> None:
    server = Server.holding(start)
    old = Reconciler(server)
    made: Counter[tuple[str, str]] = Counter()
    for _ in range(data.draw(st.integers(1, 6))):
        if data.draw(st.booleans()):
            disturb(server, data)
        if data.draw(st.booleans()):
            old = Reconciler(server)
        old.settle_all()
        made = Counter(
            (claim.metadata.owner.uid, claim.entry)
            for claim in claims(server)
            if claim.metadata.owner is not None
            and claim.entry is not None
            and not claim.metadata.deleting
        )
        assert [entry for entry, count in made.items() if count > 1] == []
        check(server.world())
    settled(server)


@thorough
@given(start=worlds(), stop_after=st.integers(1, 5))
def test_a_crash_anywhere_is_made_good(start: ClusterState, stop_after: int) -> None:
    undisturbed, crashed = Server.holding(start), Server.holding(start)
    settled(undisturbed)
    crash(crashed, stop_after)
    settled(crashed)
    assert outline(crashed) == outline(undisturbed)


def crash(server: Server, stop_after: int) -> None:
    """Do some of the writes of a round, and stop."""
    reconciler = Reconciler(server)
    reconciler.view.patience = LATER
    for place in list(server.stored):
        for action in reconciler.view.plan(place, {}).actions:
            if stop_after == 0:
                return
            reconciler.perform(action)
            stop_after -= 1


def outline(server: Server) -> Counter[tuple[object, ...]]:
    """Return what people would notice of claims and bindings; which name was free apart."""
    owners = {claim.metadata.name: claim.metadata.owner for claim in claims(server)}
    found: Counter[tuple[object, ...]] = Counter(
        (
            owners[claim.metadata.name] or claim.metadata.name,
            claim.entry,
            claim.allocated,
            claim.finalizers,
            claim.consumers,
        )
        for claim in claims(server)
    )
    for pod in pods(server):
        found.update((pod.metadata.name, e, owners.get(n or "")) for e, n in pod.published.items())
    return found

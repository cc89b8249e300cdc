"""Plan and act on the model of the API server, as the operator does on the real one.

A view is what the operator knows. It can be as old as one likes: only its own writes go into it.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

from dragoman.claims.actions import (
    Action,
    CreateClaim,
    DeleteClaim,
    PublishClaims,
    RecordDepartures,
    RemoveFinalizer,
    UpdateReservedFor,
)
from dragoman.claims.claimfacts import ClaimFacts, ClaimPlan, HolderFacts, LiveRead, Pending
from dragoman.claims.creation import plan_group, plan_pod
from dragoman.claims.deallocation import plan_claim
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup
from dragoman.model.template import Template
from tests.unit.dragoman.claims.model_server import PLURALS, Place, RefusedError, Server
from tests.unit.dragoman.claims.objects import Json, parse

PASSES = 16
"""More than any key needs: reaching it means that planning does not converge."""

Fact = Pod | Claim | Template | PodGroup


class DivergedError(AssertionError):
    """Planning one key never settles."""


@dataclass
class View:
    """Facts by place, as far as somebody knows them.

    Attributes:
        patience: Seconds that everything has lasted: ages, missing owners, unchanged states.
    """

    facts: dict[Place, Fact]
    deleted: set[str]
    groups_served: bool
    patience: float = 0.0

    @classmethod
    def of(cls, server: Server) -> "View":
        """Return all that is in the server now."""
        facts = {place: parse(document) for place, document in server.stored.items()}
        return cls(facts, set(server.deleted), server.groups_served)

    def take(self, document: Json) -> None:
        """Take in an own write."""
        self.facts[Place.of(document)] = parse(document)

    def drop(self, place: Place) -> None:
        """Take in that an object is gone."""
        known = self.facts.pop(place, None)
        if known is not None:
            self.deleted.add(known.metadata.uid)

    def pods(self, namespace: str) -> dict[str, Pod]:
        return {f.metadata.name: f for f in self._in(namespace) if isinstance(f, Pod)}

    def claims(self, namespace: str) -> dict[str, Claim]:
        return {f.metadata.name: f for f in self._in(namespace) if isinstance(f, Claim)}

    def templates(self, namespace: str) -> dict[str, Template]:
        return {f.metadata.name: f for f in self._in(namespace) if isinstance(f, Template)}

    def groups(self, namespace: str) -> dict[str, PodGroup] | None:
        if not self.groups_served:
            return None
        return {f.metadata.name: f for f in self._in(namespace) if isinstance(f, PodGroup)}

    def _in(self, namespace: str) -> list[Fact]:
        return [fact for place, fact in self.facts.items() if place.namespace == namespace]

    def plan(self, place: Place, live: dict[LiveRead, Fact | None]) -> ClaimPlan:
        """Return what the planner of a place answers; nothing where the place is empty."""
        known = self.facts.get(place)
        match known:
            case Claim():
                return plan_claim(self._claim_facts(known, live))
            case Pod():
                return plan_pod(self._holder_facts(known, live))
            case PodGroup():
                return plan_group(self._holder_facts(known, live))
            case _:
                return ClaimPlan()

    def _holder_facts(
        self, holder: Pod | PodGroup, live: dict[LiveRead, Fact | None]
    ) -> HolderFacts:
        namespace = holder.metadata.namespace
        groups = self.groups(namespace)
        owners = {holder.metadata.uid}
        if isinstance(holder, Pod) and holder.group_name and holder.group_name in (groups or {}):
            owners.add((groups or {})[holder.group_name].metadata.uid)
        claims = self.claims(namespace)
        return HolderFacts(
            holder=holder,
            claims=claims,
            owned=[c for c in claims.values() if any(c.is_for(uid) for uid in owners)],
            templates=self.templates(namespace),
            groups=groups,
            age=self.patience,
            live=live,
        )

    def _claim_facts(self, claim: Claim, live: dict[LiveRead, Fact | None]) -> ClaimFacts:
        pods = self.pods(claim.metadata.namespace)
        owner = claim.metadata.owner
        return ClaimFacts(
            claim=claim,
            pods=pods,
            users=[pod for pod in pods.values() if claim.metadata.name in pod.claim_names()],
            groups=self.groups(claim.metadata.namespace),
            deleted=self.deleted,
            owner_missing_for=self.patience if owner is not None and owner.name not in pods else 0,
            unchanged_for=self.patience,
            live=live,
        )


class Done(NamedTuple):
    """What came of working on a place until it was settled; its waits are those of all passes."""

    actions: tuple[Action, ...]
    pending: tuple[Pending, ...]

    def reasons(self) -> Collection[str]:
        """Return why the waits wait."""
        return {wait.reason.value for wait in self.pending}


@dataclass
class Reconciler:
    """Works on places until there is nothing left to do.

    Attributes:
        server: Where writes go and live looks are answered.
        view: What is known; everything that the server holds unless told otherwise.
    """

    server: Server
    view: View = field(init=False)

    def __post_init__(self) -> None:
        self.view = View.of(self.server)

    def settle(self, place: Place) -> Done:
        """Plan and act until the plan is empty; raise DivergedError when it never is."""
        live: dict[LiveRead, Fact | None] = {}
        actions: list[Action] = []
        pending: list[Pending] = []
        for _ in range(PASSES):
            plan = self.view.plan(place, live)
            if plan.live_reads:
                live.update({read: self._look(read) for read in plan.live_reads})
                continue
            pending += plan.pending
            if not plan.actions:
                return Done(tuple(actions), tuple(pending))
            for action in plan.actions:
                actions.append(action)
                if not self.perform(action):
                    live.clear()
                    break
        raise DivergedError(f"{place}: not settled after {actions}")

    def settle_holders(self) -> list[Action]:
        """Work once on all PodGroups, then on the pods, which wait for them."""
        return self._settle_each("podgroups") + self._settle_each("pods")

    def settle_all(self) -> list[Action]:
        """Work on everything once."""
        return self.settle_holders() + self._settle_each("resourceclaims")

    def _settle_each(self, plural: str) -> list[Action]:
        places = [place for place in self.server.stored if place.plural == plural]
        return [action for place in places for action in self.settle(place).actions]

    def perform(self, action: Action) -> bool:
        """Send one action's request; whether it was done. Fresh facts come in where it was not."""
        try:
            written = send(self.server, action)
        except RefusedError as error:
            if error.code not in {404, 409} and not error.causes:
                raise
            self._refresh(_target(action))
            return False
        self._learn(written)
        return True

    def _learn(self, document: Json) -> None:
        place = Place.of(document)
        if place in self.server.stored:
            self.view.take(document)
        else:
            self.view.drop(place)

    def _refresh(self, place: Place) -> None:
        if place in self.server.stored:
            self.view.take(self.server.get(place))
        else:
            self.view.drop(place)

    def _look(self, read: LiveRead) -> Fact | None:
        document = self.server.stored.get(Place(*read))
        return None if document is None else parse(document)


def send(server: Server, action: Action) -> Json:
    """Send the request of an action; raise RefusedError."""
    place = _target(action)
    match action:
        case CreateClaim():
            return server.post(action.document("resource.k8s.io/v1"))
        case PublishClaims() | UpdateReservedFor():
            return server.patch(place, action.document(), "status")
        case RemoveFinalizer() | RecordDepartures():
            return server.patch(place, action.document())
        case DeleteClaim():
            return server.delete(place, action.document()["preconditions"])
        case _:
            assert_never(action)


def _target(action: Action) -> Place:
    match action:
        case CreateClaim():
            return Place("resourceclaims", action.namespace, action.name)
        case PublishClaims():
            return Place(PLURALS[action.holder.kind], action.namespace, action.holder.name)
        case _:
            metadata = action.claim.metadata
            return Place("resourceclaims", metadata.namespace, metadata.name)

"""Rows of tables: a world, a place to work on, and what is to be done about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

import pytest

from dragoman.claims.actions import (
    Action,
    CreateClaim,
    DeleteClaim,
    PublishClaims,
    RecordDepartures,
    RemoveFinalizer,
    UpdateReservedFor,
)
from tests.unit.dragoman.claims.model_server import Place, Server
from tests.unit.dragoman.claims.objects import NAMESPACE
from tests.unit.dragoman.claims.reconciling import Reconciler
from tests.unit.dragoman.claims.worlds import ClusterState, check

POD = Place("pods", NAMESPACE, "test-pod")
GROUP = Place("podgroups", NAMESPACE, "test-group")


def claim_place(name: str) -> Place:
    """Return the place of a claim."""
    return Place("resourceclaims", NAMESPACE, name)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One row.

    Attributes:
        title: A sentence.
        world: What is there.
        place: What is worked on.
        told: The writes, in their order, as `describe` says them.
        waits: Reasons for which something is not done.
        patience: Seconds for which everything has lasted.
        upstream: Names of the same cases in the stock controller's tests.
    """

    title: str
    world: ClusterState
    place: Place = POD
    told: tuple[str, ...] = ()
    pending: frozenset[str] = frozenset()
    patience: float = 0.0
    upstream: tuple[str, ...] = ()

    def check(self) -> Server:
        """Work on the place until it is settled; assert that exactly this was done."""
        server = Server.holding(self.world)
        reconciler = Reconciler(server)
        reconciler.view.patience = self.patience
        done = reconciler.settle(self.place)
        assert tuple(map(describe, done.actions)) == self.told
        assert done.reasons() == self.pending
        check(server.world())
        again = reconciler.settle(self.place)
        assert again.actions == ()
        return server


def params(cases: Iterable[Case]) -> list[object]:
    """Return the cases for pytest.mark.parametrize."""
    return [pytest.param(case, id=case.title) for case in cases]


def describe(action: Action) -> str:
    """Say an action in words."""
    match action:
        case CreateClaim():
            done = f"create {action.name} for {action.entry}"
        case PublishClaims():
            named = [f"{entry}={claim}" for entry, claim in action.published.items()]
            done = f"publish {', '.join(named)}"
        case UpdateReservedFor():
            names = [consumer.name for consumer in action.consumers] or ["nobody"]
            done = f"reserve for {', '.join(names)}"
            done += " and free the devices" if action.deallocate else ""
        case RecordDepartures():
            done = f"record {action.text}"
        case RemoveFinalizer():
            done = f"unprotect {action.claim.metadata.name}"
        case DeleteClaim():
            done = f"delete {action.claim.metadata.name}"
        case _:
            assert_never(action)
    return f"{action.reason}: {done}"

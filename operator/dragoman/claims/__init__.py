"""The life-cycle of claims: pure planners, from facts to actions with reasons."""

from dragoman.claims.actions import (
    Action,
    CreateClaim,
    DeleteClaim,
    PublishClaims,
    RecordDepartures,
    RemoveFinalizer,
    UpdateReservedFor,
)
from dragoman.claims.claimfacts import ClaimFacts, ClaimPlan, Found, HolderFacts, LiveRead, Pending
from dragoman.claims.creation import plan_group, plan_pod
from dragoman.claims.deallocation import plan_claim
from dragoman.claims.policies import WATCH_LAG
from dragoman.claims.reasons import ClaimReason

__all__ = [
    "WATCH_LAG",
    "Action",
    "ClaimFacts",
    "ClaimPlan",
    "ClaimReason",
    "CreateClaim",
    "DeleteClaim",
    "Found",
    "HolderFacts",
    "LiveRead",
    "Pending",
    "PublishClaims",
    "RecordDepartures",
    "RemoveFinalizer",
    "UpdateReservedFor",
    "plan_claim",
    "plan_group",
    "plan_pod",
]

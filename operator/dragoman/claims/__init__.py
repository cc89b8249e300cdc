"""The life-cycle of claims: pure planners, from facts to actions with reasons."""

from dragoman.claims.actions import (
    Action,
    Bind,
    CreateClaim,
    DeleteClaim,
    SetConsumers,
    Unprotect,
)
from dragoman.claims.creation import WATCH_LAG, plan_group, plan_pod
from dragoman.claims.facts import ClaimFacts, Found, HolderFacts, Look, Plan, Wait
from dragoman.claims.reasons import Reason
from dragoman.claims.release import plan_claim

__all__ = [
    "WATCH_LAG",
    "Action",
    "Bind",
    "ClaimFacts",
    "CreateClaim",
    "DeleteClaim",
    "Found",
    "HolderFacts",
    "Look",
    "Plan",
    "Reason",
    "SetConsumers",
    "Unprotect",
    "Wait",
    "plan_claim",
    "plan_group",
    "plan_pod",
]

"""Hold what kube-scheduler did with a pod against what the library says."""

from __future__ import annotations

from typing import Any

from dragoman.allocation import (
    Allocated,
    Cluster,
    FatalError,
    Outcome,
    allocate,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
    profile,
)
from tests.conformance.allocator import agrees
from tests.e2e.allocation.worlds import World
from tests.support.controlplane.api import Api

Json = dict[str, Any]


class State:
    """Everything that the scheduler decides on, read from the API server.

    Args:
        api: The API server.
        undecided: Pods that the scheduler is deciding on; what their claims hold does not count.
    """

    def __init__(self, api: Api, undecided: set[str]) -> None:
        self._claims: dict[str, list[Json]] = {}
        held = []
        for claim in api.list("resourceclaims"):
            owner = next((one["name"] for one in claim["metadata"].get("ownerReferences", ())), "")
            if owner in undecided:
                self._claims.setdefault(owner, []).append(claim)
            else:
                held.append(claim)
        self.cluster = Cluster(
            profile("1.36"),
            nodes=map(parse_node, api.list("nodes")),
            slices=map(parse_slice, api.list("resourceslices")),
            classes=map(parse_class, api.list("deviceclasses")),
            claims=map(parse_claim, held),
        )

    def claims_of(self, pod: Json) -> list[Json]:
        """Return the claims of an undecided pod in the order of its spec."""
        named = {
            status["name"]: status.get("resourceClaimName")
            for status in pod["status"].get("resourceClaimStatuses", ())
        }
        found = {
            claim["metadata"]["name"]: claim for claim in self._claims[pod["metadata"]["name"]]
        }
        return [found[named[entry["name"]]] for entry in pod["spec"]["resourceClaims"]]


def difference(state: State, world: World, pod: Json) -> str:
    """Return what differs between the scheduler's decision on a pod and the library's."""
    claims = state.claims_of(pod)
    asked = [parse_claim({**claim, "status": {}}) for claim in claims]
    outcomes = {name: allocate(name, asked, state.cluster) for name in world.nodes}
    node = pod["spec"].get("nodeName")
    if node:
        return _of_scheduled(outcomes.get(node), claims)
    return _of_refused(outcomes, message(pod))


def _of_scheduled(outcome: Outcome | None, claims: list[Json]) -> str:
    if not isinstance(outcome, Allocated):
        return f"scheduled, but the library says {outcome}"
    theirs = []
    for claim in claims:
        allocation = dict(claim["status"]["allocation"])
        allocation.pop("allocationTimestamp", None)
        theirs.append(allocation)
    ours = [allocation.document() for allocation in outcome.allocations]
    if not agrees({"results": theirs}, {"results": ours}):
        return f"allocated {theirs}, the library {ours}"
    return ""


def _of_refused(outcomes: dict[str, Outcome], said: str) -> str:
    fatal = [one.message for one in outcomes.values() if isinstance(one, FatalError)]
    if fatal:
        return "" if any(text in said for text in fatal) else f"{said!r}, the library {fatal}"
    for name, outcome in outcomes.items():
        if isinstance(outcome, Allocated):
            return f"{said!r}, but fits on {name}"
        if outcome.message not in said:
            return f"{said!r}, the library {outcome.message!r}"
    return ""


def message(pod: Json) -> str:
    """Return why a pod was not scheduled, empty while that is not decided."""
    for condition in pod["status"].get("conditions", ()):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            text = str(condition.get("message", ""))
            return "" if "not created yet" in text else text
    return ""

"""Hold what kube-scheduler did with a pod against what the library says."""

from typing import Any

from dragoman.allocation import (
    Allocated,
    Cluster,
    FatalError,
    Outcome,
    allocate,
    extended_resources,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
    parse_taint_rule,
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
        rules: Whether DeviceTaintRules are served.
    """

    def __init__(self, api: Api, undecided: set[str], *, rules: bool = False) -> None:
        self._claims: dict[str, list[Json]] = {}
        held = []
        for claim in api.list("resourceclaims"):
            owner = next((one["name"] for one in claim["metadata"].get("ownerReferences", ())), "")
            if owner in undecided:
                self._claims.setdefault(owner, []).append(claim)
            else:
                held.append(claim)
        self.cluster = Cluster(
            profile("1.36", {"DRADeviceTaintRules": rules}),
            nodes=map(parse_node, api.list("nodes")),
            slices=map(parse_slice, api.list("resourceslices")),
            classes=map(parse_class, api.list("deviceclasses")),
            claims=map(parse_claim, held),
            taint_rules=map(parse_taint_rule, api.list("devicetaintrules") if rules else ()),
        )

    def claims_of(self, pod: Json) -> list[Json]:
        """Return the claims of an undecided pod in the order of its spec."""
        named = {
            status["name"]: status.get("resourceClaimName")
            for status in pod["status"].get("resourceClaimStatuses", ())
        }
        found = self._of_pod(pod)
        return [found[named[entry["name"]]] for entry in pod["spec"].get("resourceClaims", ())]

    def extended_of(self, pod: Json) -> list[Json]:
        """Return the claim that the scheduler made for extended resources of a pod, if any."""
        status = pod["status"].get("extendedResourceClaimStatus")
        return [] if status is None else [self._of_pod(pod)[status["resourceClaimName"]]]

    def _of_pod(self, pod: Json) -> dict[str, Json]:
        claims = self._claims.get(pod["metadata"]["name"], ())
        return {claim["metadata"]["name"]: claim for claim in claims}


def difference(state: State, world: World, pod: Json) -> str:
    """Return what differs between the scheduler's decision on a pod and the library's."""
    claims = state.claims_of(pod)
    wanted = [parse_claim({**claim, "status": {}}) for claim in claims]
    outcomes: dict[str, Outcome] = {}
    mappings: dict[str, list[tuple[str, ...]]] = {}
    for name in world.nodes:
        extended = extended_resources(pod, state.cluster.nodes[name], state.cluster)
        more = [] if extended.claim is None else [extended.claim]
        outcomes[name] = allocate(name, [*wanted, *more], state.cluster)
        mappings[name] = sorted(map(tuple, extended.mappings))
    node = pod["spec"].get("nodeName")
    if not node:
        return _of_refused(outcomes, message(pod))
    if mappings[node] != (theirs := _mappings(pod)):
        return f"extended resources {theirs}, the library {mappings[node]}"
    return _of_scheduled(outcomes[node], [*claims, *state.extended_of(pod)])


def _mappings(pod: Json) -> list[tuple[str, ...]]:
    """Return which request serves which extended resource of which container."""
    status = pod["status"].get("extendedResourceClaimStatus", {})
    return sorted(
        (one["containerName"], one["resourceName"], one["requestName"])
        for one in status.get("requestMappings", ())
    )


def _of_scheduled(outcome: Outcome, claims: list[Json]) -> str:
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

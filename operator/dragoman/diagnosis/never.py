"""Whether a pod can ever fit, and why not: one more search, in the emptied cluster.

Only where nothing fits now. One node that serves the pod with all devices free, healthy and
complete ends the search; where none does, missing slices of a pool may still decide. What can
never be met is then found by counting, request by request, before combinations.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter

from dragoman.allocation import (
    Allocated,
    BudgetExceeded,
    Claim,
    Cluster,
    PoolID,
    TooExpensiveError,
)
from dragoman.allocation.reasons.explaining import concerns
from dragoman.allocation.requests.validation import named
from dragoman.diagnosis.answers import DEVICES, Answer, Cause, Explanation
from dragoman.diagnosis.causes import impossible
from dragoman.diagnosis.emptied import BestCase, EmptiedCluster
from dragoman.diagnosis.filters import AFFINITY, INSUFFICIENT, NODE_NAME, TOO_MANY
from dragoman.diagnosis.meant import meant_devices
from dragoman.diagnosis.missingobjects import checked
from dragoman.diagnosis.obstacles import MISSING
from dragoman.diagnosis.slips import slips
from dragoman.diagnosis.subject import Subject
from dragoman.diagnosis.wording import amount_text, have, shortened, value_text
from dragoman.inventory.facts.world import NodeFact, World
from dragoman_base.words import natural

RESOURCES, SELECTOR = "NodeResources", "NodeSelector"
"""Kinds of causes that have nothing to do with devices."""


def at_best(world: World, cluster: Cluster, found: Explanation) -> Explanation:
    """Add to an explanation whether the pod can ever fit, and which slips may be why it does not.

    Args:
        world: The facts.
        cluster: The same facts.
        found: Of the pod, with all nodes.
    """
    waits = found.answer in (Answer.DOES_NOT_FIT, Answer.STOPPED)
    missing = any(one.stops or one.code in MISSING for one in found.subject.obstacles)
    if not (waits and world.nodes):
        return found
    try:
        if missing:
            return replace(found, subject=checked(world, cluster, found.subject))
        best = BestCase(EmptiedCluster(cluster), found.subject)
        return _at_best(world, best, found)
    except TooExpensiveError:
        return found


def _at_best(world: World, best: BestCase, found: Explanation) -> Explanation:
    kept_away = {name: best.keeps_away(node) for name, node in world.nodes.items()}
    left = [
        world.nodes[one.node]
        for one in sorted(found.nodes, key=attrgetter("distance"))
        if not kept_away[one.node]
    ]
    errors = bool(found.fatals)
    for node in left:
        outcome = best.outcome(node)
        if isinstance(outcome, Allocated):
            return replace(found, hints=slips(world, best, left)) if errors else found
        if isinstance(outcome, BudgetExceeded):
            return found
    if not left:
        return replace(
            found,
            answer=Answer.NEVER_FITS,
            causes=tuple(_no_node(world, found.subject, kept_away.values())),
        )
    devices = meant_devices(best, left)
    hints = slips(world, best, left)
    if undecided := _undecided(best, left):
        return replace(found, undecided=undecided, hints=hints)
    causes = [Cause(DEVICES, text) for text in impossible(world, left, devices)]
    if errors and all(one.most for one in devices):
        # Some devices are meant, and an error at others ends the attempt: a guard may help.
        return replace(found, hints=hints)
    if len(left) < len(world.nodes):
        causes = _elsewhere(world, best, left, causes, found.subject)
    return replace(found, answer=Answer.NEVER_FITS, causes=tuple(causes), hints=hints)


def _undecided(best: BestCase, nodes: Iterable[NodeFact]) -> tuple[str, ...]:
    """Return the pools whose missing slices may let a node serve the pod.

    What they hold is not known, so that each request of which they may serve a device counts as
    served; the node has to serve the others.
    """
    cluster = best.emptied.as_it_is
    pools: dict[PoolID, str] = {}
    for node in nodes:
        seen = cluster.node_pools(node.node).pools
        whole = {one.id for one in seen if not (one.incomplete or one.invalid)}
        broken = sorted(best.emptied.pools(node.node) - whole)
        if not broken or pools.keys() >= {*broken}:
            continue
        claims = best.claims(node)
        prepared = best.emptied.cluster.prepared(claims)
        names = [one.key for one in claims]
        served = {
            (named(request.place, names), request.request_name): pool
            for pool in broken
            for request in prepared.everything()
            if concerns(request, pool, cluster, node.node.name)
        }
        rest = tuple(left for one in claims if (left := _without(one, served)).spec.requests)
        if served and (not rest or isinstance(best.outcome(node, rest), Allocated)):
            pools.update((pool, str(pool)) for pool in served.values())
    return tuple(pools.values())


def _without(claim: Claim, served: Container[tuple[str, str]]) -> Claim:
    """Return a claim without the requests that count as served."""
    requests = tuple(one for one in claim.spec.requests if (claim.key, one.name) not in served)
    left = {one.name for one in requests}
    constraints = tuple(
        one._replace(requests=kept)
        for one in claim.spec.constraints
        if (kept := tuple(name for name in one.requests if name.partition("/")[0] in left))
        or not one.requests
    )
    return replace(claim, spec=replace(claim.spec, requests=requests, constraints=constraints))


# No node is left ----------------------------------------------------------------------------------


def _no_node(
    world: World, subject: Subject, kept_away: Iterable[tuple[str, ...]]
) -> Iterator[Cause]:
    reasons = {one for texts in kept_away for one in texts}
    if reasons & {AFFINITY, NODE_NAME}:
        yield Cause(SELECTOR, node_selector_text(world, subject))
    for reason in sorted(reasons):
        if reason.startswith(INSUFFICIENT) or reason == TOO_MANY:
            name = reason.removeprefix(INSUFFICIENT) if reason != TOO_MANY else "pods"
            if text := resource_text(world, subject, name):
                yield Cause(RESOURCES, text)


def resource_text(world: World, subject: Subject, name: str) -> str:
    """Say how much of a resource a pod wants, and what the best node has; empty if enough."""
    wanted = subject.pod.needs.requests.get(name, 0)
    most = max((one.room.amounts.get(name, 0) for one in world.nodes.values()), default=0)
    if wanted <= most:
        return ""
    return f"{name} {amount_text(wanted)} wanted, at most {amount_text(most)} on a node"


def node_selector_text(world: World, subject: Subject) -> str:
    """Say which label of a node selector no node has, and which values there are."""
    labels = [one.node.labels for one in world.nodes.values()]
    for key, value in subject.pod.needs.labels.items():
        if any(one.get(key) == value for one in labels):
            continue
        values = sorted({str(one[key]) for one in labels if key in one})
        there = f"{key} is {shortened(values)}" if values else f"no node has label {key}"
        return f"nodeSelector {key}={value_text(value)} matches no node ({there})"
    together = " that has all of these labels" if subject.pod.needs.labels else ""
    return f"{_demand(subject)} matches no node{together}"


def _demand(subject: Subject) -> str:
    """Return what a pod demands of the labels of its node, in words."""
    listed = ", ".join(f"{key}={value}" for key, value in subject.pod.needs.labels.items())
    return f"nodeSelector {listed}" if listed else "the required node affinity"


def _elsewhere(
    world: World, best: BestCase, left: Sequence[NodeFact], causes: list[Cause], subject: Subject
) -> list[Cause]:
    """Name the nodes that would serve the pod but for its node selector, or their resources."""
    names = {one.node.name for one in left}
    others = [one for name, one in world.nodes.items() if name not in names]
    serving = [one for one in others if isinstance(best.outcome(one), Allocated)]
    if not serving:
        return causes
    reasons = {reason for one in serving for reason in best.keeps_away(one)}
    there = shortened(sorted((one.node.name for one in serving), key=natural))
    here = shortened(sorted(names, key=natural))
    if reasons & {AFFINITY, NODE_NAME}:
        return [Cause(SELECTOR, f"{_demand(subject)} leaves {here}; such devices are on {there}")]
    short = sorted(one.removeprefix(INSUFFICIENT) for one in reasons)
    wanted = ", ".join(
        f"{name} {amount_text(subject.pod.needs.requests.get(name, 0))} wanted" for name in short
    )
    most = ", ".join(
        amount_text(max(one.room.amounts.get(name, 0) for one in serving)) for name in short
    )
    verb = have(len(serving))
    return [Cause(RESOURCES, f"{there} {verb} the devices, {wanted}, at most {most} there")]

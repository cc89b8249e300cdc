"""Whether a pod can ever fit, and why not: one more search, in the emptied cluster.

Only where nothing fits now. One node that serves the pod with all devices free, healthy and
complete ends the search; where none does, missing slices of a pool may still decide. What can
never be met is then found by counting, request by request, before combinations.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
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
from dragoman.diagnosis.filters import (
    AFFINITY,
    INSUFFICIENT,
    NODE_NAME,
    REQUIRED_AFFINITY,
    TOO_MANY,
    affinity_text,
    unmet_demand,
)
from dragoman.diagnosis.meant import MeantDevices
from dragoman.diagnosis.missingobjects import checked
from dragoman.diagnosis.obstacles import MISSING
from dragoman.diagnosis.slips import slips
from dragoman.diagnosis.subject import Subject
from dragoman.diagnosis.wording import amount_text, have, shortened, value_text
from dragoman.inventory.facts.world import NodeFact, World
from dragoman.model.fields import Document
from dragoman.model.needs import Needs
from dragoman.model.nodeselector import Requirement
from dragoman_base.words import natural
from dragoman_base.words.nearnames import near

TRIED = 8
"""Values of a demand that are looked at, and nodes with each of which the pod is tried."""
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
    errors, meant = bool(found.fatals), MeantDevices(best)
    for node in left:
        # Counting is cheaper than a search, which tries each combination of too few devices.
        if not meant.look(node):
            continue
        outcome = best.outcome(node)
        if isinstance(outcome, Allocated):
            return replace(found, hints=slips(world, best, left)) if errors else found
        if isinstance(outcome, BudgetExceeded):
            return found
    if not left:
        return replace(
            found,
            answer=Answer.NEVER_FITS,
            causes=tuple(_no_node(world, best, found.subject, kept_away.values())),
        )
    devices = meant.requests
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
    world: World, best: BestCase, subject: Subject, kept_away: Iterable[tuple[str, ...]]
) -> Iterator[Cause]:
    reasons = {one for texts in kept_away for one in texts}
    if reasons & {AFFINITY, NODE_NAME}:
        yield Cause(SELECTOR, node_selector_text(world, best, subject))
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


def node_selector_text(world: World, best: BestCase, subject: Subject) -> str:
    """Say which demand of a node's labels no node meets, and which values there are."""
    labels = [one.node.labels for one in world.nodes.values()]
    needs = subject.pod.needs
    demands = [*_demands(needs)]
    for number, (key, operator, values) in enumerate(demands):
        if any(_has(one, key, operator, values) for one in labels):
            continue
        known = sorted({str(one[key]) for one in labels if key in one})
        there = f"{key} is {shortened(known)}" if known else f"no node has label {key}"
        meant = _label_meant(world, best, subject, key, values)
        there += f"; did you mean {meant}?" if meant else ""
        what = f"nodeSelector {key}={value_text(values[0])}" if number < len(needs.labels) else ""
        return f"{what or _affinity(needs)} matches no node ({there})"
    together = " that has all of these labels" if len(demands) > 1 else ""
    return f"{_demand(needs)} matches no node{together}"


def _demands(needs: Needs) -> Iterator[Requirement]:
    """Yield the demands that a node has to meet; those of an affinity where it has one term."""
    yield from (Requirement(key, "In", (str(one),)) for key, one in needs.labels.items())
    terms = needs.affinity.terms if needs.affinity else ()
    if len(terms) == 1:
        yield from (one for one in terms[0].expressions if one.operator in ("In", "Exists"))


def _has(labels: Document, key: str, operator: str, values: Sequence[str]) -> bool:
    return key in labels and (operator == "Exists" or labels[key] in values)


def _label_meant(
    world: World, best: BestCase, subject: Subject, key: str, values: Sequence[str]
) -> str:
    """Return the label, or value, that a demand may mean: of a node that would serve the pod."""
    needs = subject.pod.needs
    others = {name: one for name, one in needs.labels.items() if name != key}
    rest = replace(needs, labels=others, affinity=needs.affinity if key in needs.labels else None)
    able = {name: one for name, one in world.nodes.items() if not unmet_demand(rest, one)}
    labels = {name: one.node.labels for name, one in able.items()}
    keys = {one for there in labels.values() for one in there}
    local = key.rpartition("/")[2]
    alike = [one for one in sorted(keys) if one.rpartition("/")[2] == local]
    for other in (key,) if key in keys else (*near(key, keys), *alike):
        known = {str(there[other]) for there in labels.values() if other in there}
        several = ((value, *near(value, known)) for value in values[:TRIED])
        meant = [one for texts in several for one in texts if one in known]
        for value in (meant or (sorted(known) if not values else []))[:TRIED]:
            nodes = (able[name] for name, one in labels.items() if one.get(other) == value)
            if any(isinstance(best.outcome(node), Allocated) for node in islice(nodes, TRIED)):
                return other if other != key and (not values or value in values) else value
    return ""


def _demand(needs: Needs) -> str:
    """Return what a pod demands of the labels of its node, in words."""
    listed = ", ".join(f"{key}={value}" for key, value in needs.labels.items())
    if listed and needs.affinity is None:
        return f"nodeSelector {listed}"
    return (f"nodeSelector {listed} with " if listed else "") + _affinity(needs)


def _affinity(needs: Needs) -> str:
    return affinity_text(needs.affinity) if needs.affinity else REQUIRED_AFFINITY


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
        demand = _demand(subject.pod.needs)
        return [Cause(SELECTOR, f"{demand} leaves {here}; such devices are on {there}")]
    short = sorted(one.removeprefix(INSUFFICIENT) for one in reasons)
    wanted = ", ".join(
        f"{name} {amount_text(subject.pod.needs.requests.get(name, 0))} wanted" for name in short
    )
    most = ", ".join(
        amount_text(max(one.room.amounts.get(name, 0) for one in serving)) for name in short
    )
    verb = have(len(serving))
    return [Cause(RESOURCES, f"{there} {verb} the devices, {wanted}, at most {most} there")]

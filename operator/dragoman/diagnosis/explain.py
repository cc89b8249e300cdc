"""Why a pod has no devices: every node with its causes, and what the scheduler does about it.

An explanation is the scheduler's own attempt, watched. `examine` goes through three questions:

1. *Is there anything to explain?* A pod with a node has its devices; one that the scheduler does
   not look at (gates, another scheduler, a suspended owner) waits for another component.
2. *What stops it on each node?* `_attempt` asks every node what the scheduler asks: its filters
   besides devices (`filters`), then the allocator's search. Where the search fails, devices are
   asked one by one why they are not given (`nodeanswers`). Causes are those of devices that class
   and selectors match: a device that a selector excludes is not "in use" for this pod.
3. *Would it fit otherwise?* Claims that the scheduler deallocates because they fit no node
   (`idleclaims`) are released, and the attempt is repeated, as the scheduler does in its next
   cycle. Where nothing fits, `never` searches once more in the emptied cluster: all devices free,
   healthy and complete. The answer is then "never", or the nearest node and what it lacks.

Each step is a pure function of a `World`, the facts of one moment, so that the operator's Events,
`kubectl dra explain` live or from a snapshot, and the page say the same. What a person reads is
made from the answer elsewhere (`wording`, and the toolkit's renderings); suggestions are other
attempts on a changed world, so what is advised was tried first (the toolkit's `suggestions`).

Time is bounded by steps of searches, shared by all nodes where `limit` is given; an answer that
hits the bound says so and claims nothing about nodes that were not looked at.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from dragoman.allocation import (
    BudgetExceeded,
    Claim,
    Cluster,
    FatalError,
    Reason,
    TooExpensiveError,
)
from dragoman.allocation.binding import waiting
from dragoman.diagnosis.answers import Answer, Explanation
from dragoman.diagnosis.extended import Extended
from dragoman.diagnosis.filters import Load, lacks
from dragoman.diagnosis.idleclaims import idle_claim, removed, without_devices
from dragoman.diagnosis.nearness import NodeAnswer
from dragoman.diagnosis.never import at_best
from dragoman.diagnosis.nodeanswers import BUDGET, node_answer
from dragoman.diagnosis.subject import Subject
from dragoman.inventory.facts.world import World
from dragoman.inventory.inventory import Inventory
from dragoman.model.timestamps import moment
from dragoman_base.words import natural

_NEEDED = ("nodes", "resourceslices", "deviceclasses")
Progress = Callable[[str, int], None]


def unreadable(world: World) -> tuple[str, ...]:
    """Return what could not be listed, of what no answer about nodes can do without."""
    return tuple(one for one in _NEEDED if one not in world.listed)


def cluster_of(inventory: Inventory) -> Cluster:
    """Return the input of the allocator."""
    world = inventory.world
    return Cluster(
        inventory.profile,
        nodes=(one.node for one in world.nodes.values()),
        slices=world.slices,
        classes=world.classes.values(),
        claims=world.claims.values(),
        taint_rules=world.rules,
    )


def explain(
    inventory: Inventory,
    subject: Subject,
    *,
    cluster: Cluster | None = None,
    only: str = "",
    progress: Progress = lambda thing, count: None,  # noqa: ARG005 — nothing is reported
) -> Explanation:
    """Find out why a pod has no devices.

    Args:
        inventory: What is known.
        subject: The pod and its claims.
        cluster: From `cluster_of`; made where absent.
        only: A node, where others are of no interest.
        progress: Called with "nodes" and how many were looked at.
    """
    return examine(
        inventory.world,
        subject,
        cluster or cluster_of(inventory),
        Load.of(inventory.world, subject.pod.key),
        only=only,
        progress=progress,
    )


def examine(  # noqa: PLR0913 — all but four have defaults
    world: World,
    subject: Subject,
    cluster: Cluster,
    load: Load,
    *,
    only: str = "",
    limit: int | None = None,
    progress: Progress = lambda thing, count: None,  # noqa: ARG005 — nothing is reported
) -> Explanation:
    """Find out why a pod has no devices, on a cluster that is kept up to date elsewhere.

    Args:
        world: The facts.
        subject: The pod and its claims.
        cluster: The same facts, as the allocator has them.
        load: What other pods request.
        only: A node, where others are of no interest.
        limit: Steps of the searches on all nodes together; without it, each search has `BUDGET`.
        progress: Called with "nodes" and how many were looked at.

    Raises:
        StoppedError: The `TimeBudget` around the call says that the answer is not needed.
    """
    if unreadable(world) and not subject.pod.pod.node_name:
        return Explanation(subject, Answer.STOPPED if subject.stopped else Answer.UNKNOWN)
    if subject.pod.pod.node_name:
        return Explanation(subject, Answer.STOPPED if subject.stopped else Answer.ALLOCATED)
    attempt = partial(
        _attempt, world, cluster=cluster, load=load, only=only, limit=limit, progress=progress
    )
    found, idle = attempt(subject), list[Claim]()
    while (claim := idle_claim(world, found)) is not None:
        idle.append(claim)
        subject = without_devices(subject, claim)
        with removed(cluster, idle):
            found = attempt(subject)
        found = replace(found, deallocated=tuple(one.name for one in idle))
    return found if only else at_best(world, cluster, found)


def _attempt(  # noqa: PLR0913 — those of `examine`
    world: World,
    subject: Subject,
    *,
    cluster: Cluster,
    load: Load,
    only: str,
    limit: int | None,
    progress: Progress,
) -> Explanation:
    """Look at all nodes once, as the scheduler does before it deallocates anything."""
    extended = Extended(cluster, subject)
    found: list[NodeAnswer] = []
    left, now = limit, moment(world.now)
    unready = tuple(_unready(cluster, subject.allocated, now))
    expensive = False
    for name in sorted(world.nodes, key=natural):
        if only not in ("", name):
            continue
        node = world.nodes[name]
        lacking = lacks(subject.pod, node, load, extended.requests(node))
        budget = BUDGET if left is None else min(left, BUDGET)
        try:
            here = extended.subject(node)
            answer = node_answer(
                cluster, here, node, lacks=lacking, unready=unready, budget=budget, now=now
            )
        except TooExpensiveError:
            expensive = True
            break
        if left is not None and answer.outcome is not None:
            left = max(left - answer.outcome.steps, 0)
        found.append(answer)
        progress("nodes", len(found))
    return conclude(extended.shown, found, expensive=expensive)


def _unready(cluster: Cluster, claims: Iterable[Claim], now: datetime | None) -> Iterator[Reason]:
    """Yield why devices of allocated claims are not ready, on whatever node."""
    if cluster.profile.features.DeviceBindingAndStatus:
        for claim in claims:
            yield from waiting(claim, now)


def conclude(
    subject: Subject, nodes: Sequence[NodeAnswer], *, expensive: bool = False
) -> Explanation:
    """Say in one word what the nodes mean for the pod.

    Args:
        subject: The pod.
        nodes: Those that were looked at.
        expensive: Whether the time ended before others were looked at.
    """
    looked = [one for one in nodes if not one.lacks]
    found = (one.outcome.message for one in looked if isinstance(one.outcome, FatalError))
    fatals = tuple(dict.fromkeys(found))
    if subject.stopped or fatals:
        answer = Answer.STOPPED
    elif expensive:
        answer = Answer.UNKNOWN
    elif any(one.fits for one in nodes):
        answer = Answer.FITS
    elif any(_too_large(one) for one in looked):
        answer = Answer.UNKNOWN
    else:
        answer = Answer.DOES_NOT_FIT
    return Explanation(subject, answer, tuple(nodes), fatals, expensive)


def _too_large(node: NodeAnswer) -> bool:
    """Whether neither the search nor counting says that a node cannot serve the pod."""
    return isinstance(node.outcome, BudgetExceeded) and node.short == 0

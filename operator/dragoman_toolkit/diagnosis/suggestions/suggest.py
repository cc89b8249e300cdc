"""What would let a pod run: one change, else several; only what a second search confirms."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import islice

from dragoman.allocation import Claim, Cluster, Code, PoolID, TooExpensiveError
from dragoman.allocation.extendedresources import NAME as EXTENDED
from dragoman.diagnosis.answers import Answer, Explanation
from dragoman.diagnosis.extended import Extended
from dragoman.diagnosis.filters import UNSCHEDULABLE
from dragoman.diagnosis.idleclaims import removed
from dragoman.diagnosis.nearness import Distance, NodeAnswer, taint_key
from dragoman.diagnosis.nodeanswers import node_answer
from dragoman.diagnosis.subject import Subject
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.snapshots.documents import PREEMPTION
from dragoman.model.taints import Toleration
from dragoman_base.words import natural
from dragoman_toolkit.diagnosis.suggestions.corrections import corrected_names
from dragoman_toolkit.diagnosis.suggestions.guards import guarding
from dragoman_toolkit.diagnosis.suggestions.holders import Holders
from dragoman_toolkit.diagnosis.suggestions.nodespace import (
    NodeFilters,
    is_unwell,
    node_taints,
)
from dragoman_toolkit.diagnosis.suggestions.secondsearch import (
    FEW,
    SEARCHES,
    Change,
    ChangeKind,
    SecondSearches,
    Suggestion,
    toleration_text,
    with_requests,
)
from dragoman_toolkit.diagnosis.suggestions.together import ChangeStep, pair, together

MOST = 16
"""Changes of one kind in an answer; the nearest nodes come first."""
TRIED = 8
"""Nodes of which several changes are tried, the nearest first."""
SEVERAL = 3
"""Suggestions of several changes."""


def suggest(
    inventory: Inventory, explanation: Explanation, cluster: Cluster
) -> tuple[Suggestion, ...]:
    """Return changes that let the pod run, the nearest nodes first; single ones where there are.

    Args:
        inventory: What is known.
        explanation: Of the pod.
        cluster: That of the explanation; it is as before afterwards.
    """
    if not (explanation.waits or explanation.answer is Answer.STOPPED):
        return ()
    corrections = corrected_names(explanation, cluster)
    if explanation.answer is Answer.NEVER_FITS:
        return corrections
    nodes = [one for one in explanation.nodes if not (one.excluded or one.unavailable)]
    nodes.sort(key=lambda one: (one.distance, natural(one.node)))
    with removed(cluster, explanation.subject.claims):
        return (*corrections, *_suggestions(inventory, explanation, cluster, nodes))


def _suggestions(
    inventory: Inventory, explanation: Explanation, cluster: Cluster, nodes: list[NodeAnswer]
) -> tuple[Suggestion, ...]:
    subject = explanation.subject
    if explanation.fatals:
        passing = [one for one in nodes if not one.lacks]
        search = SecondSearches(cluster, subject.claims)
        return tuple(_in_time(guarding(inventory, search, passing)))
    if subject.stopped:
        return ()
    # Holders are many: searches for other changes come first, or nothing would be left for them.
    search = SecondSearches(cluster, subject.claims, left=FEW)
    if any(one.lacks for one in nodes):
        extended = Extended(cluster, subject)
        search.filters = NodeFilters.of(inventory.world, subject, extended)
    tolerations = _in_time(_singles(search, nodes, _tolerations))
    search.left += FEW
    pools = _in_time(_singles(search, nodes, partial(_pools, inventory)))
    search.left += FEW
    around = _in_time(_singles(search, nodes, _around))
    search.left += SEARCHES - 3 * FEW
    holders = Holders(inventory, search, {one.key for one in subject.allocated})
    ends = _in_time(_singles(search, nodes, lambda _, node: holders.ends(node)))
    if found := (*ends, *tolerations, *around, *pools):
        return found
    search.left += SEARCHES
    whole = partial(_with_whole_pools, inventory, subject, search)
    return tuple(_in_time(islice(_several(inventory, search, nodes, holders, whole), SEVERAL)))


Steps = Callable[[SecondSearches, NodeAnswer], Iterator[ChangeStep]]


def _singles(
    search: SecondSearches, nodes: Iterable[NodeAnswer], steps: Steps
) -> Iterator[Suggestion]:
    """Yield the changes of one kind of which one suffices."""
    for node in nodes:
        helpful: set[object] = set()
        for one in steps(search, node):
            # A toleration of every effect is of no use beside one of a single effect.
            useless = one.details.get("effect") == "" and one.details["key"] in helpful
            if not useless and search.fits(node.node, one.change):
                helpful.add(one.details.get("key"))
                yield one.suggestion(node.node)


def _in_time(found: Iterable[Suggestion]) -> list[Suggestion]:
    """Return the first suggestions, those that are found before the time for the answer ends."""
    kept: list[Suggestion] = []
    with suppress(TooExpensiveError):
        for one in islice(found, MOST):
            kept.append(one)  # noqa: PERF402 — what was found in time is kept
    return kept


def confirmed(explanation: Explanation, suggestions: Iterable[Suggestion]) -> dict[str, Distance]:
    """Return how near nodes are, where searches say something else than reasons.

    Args:
        explanation: Of the pod.
        suggestions: The changes that suffice.
    """
    counts: dict[str, int] = {}
    for one in suggestions:
        if one.node and one.kind is not ChangeKind.CORRECT:
            changes = len(one.details.get("changes") or (one,))
            counts[one.node] = min(changes, counts.get(one.node, changes))
    if not counts:
        return {}
    least, found = min(counts.values()), {}
    for node in explanation.nodes:
        here = node.distance
        if node.node in counts:
            found[node.node] = Distance(counts[node.node], here.short)
        elif here.changes <= least:
            found[node.node] = Distance(least + 1, here.short)
    return found


# Several changes ----------------------------------------------------------------------------------


def _several(
    inventory: Inventory,
    search: SecondSearches,
    nodes: Iterable[NodeAnswer],
    holders: Holders,
    whole: Callable[[NodeAnswer], NodeAnswer],
) -> Iterator[Suggestion]:
    """Yield two changes that suffice, for the nodes where two do; else more, node by node."""
    steps: dict[str, list[ChangeStep]] = {}
    for one in islice(nodes, TRIED):
        found = whole(one)
        pools = [*_pools(inventory, search, one)]
        steps[one.node] = [*pools, *_steps(search, found), *holders.ends(found)]
    two = (pair(search, node, of_node) for node, of_node in steps.items())
    pairs = [one for one in two if one is not None]
    yield from pairs
    for node, of_node in steps.items() if not pairs else ():
        if len(of_node) > 2 and (several := together(search, node, of_node)):
            yield several


def _with_whole_pools(
    inventory: Inventory, subject: Subject, search: SecondSearches, node: NodeAnswer
) -> NodeAnswer:
    """Return what a node lacks once its pools are complete: their devices may be tainted."""
    with ExitStack() as stack:
        broken = [*_pools(inventory, search, node)]
        if not broken:
            return node
        for one in broken:
            stack.enter_context(one.change())
        fact = inventory.world.nodes[node.node]
        return node_answer(search.cluster, subject, fact, lacks=node.lacks)


def _steps(search: SecondSearches, node: NodeAnswer) -> Iterator[ChangeStep]:
    """Yield tolerations, of each taint the widest, and what lets the pod on the node."""
    widest = {one.details["key"]: one for one in _tolerations(search, node)}
    yield from widest.values()
    yield from _around(search, node)


# A toleration -------------------------------------------------------------------------------------


def _tolerations(search: SecondSearches, node: NodeAnswer) -> Iterator[ChangeStep]:
    """Yield tolerations for the taints of devices, of one effect first, then of all."""
    for key, requests in _taints(node).items():
        effects = sorted(requests)
        for effect in (*effects, *([""] if len(effects) > 1 else [])):
            toleration = Toleration(key=key, operator="Exists", effect=effect)
            of_effect = requests[effect] if effect else set().union(*requests.values())
            yield ChangeStep(
                ChangeKind.ADD_TOLERATION,
                _tolerating(search, of_effect, toleration),
                toleration_text(key, [effect] if effect else effects),
                {
                    "key": key,
                    "effect": effect,
                    "effects": [effect] if effect else effects,
                    "requests": [f"{claim}:{request}" for claim, request in sorted(of_effect)],
                },
            )


def _taints(node: NodeAnswer) -> dict[str, dict[str, set[tuple[str, str]]]]:
    """Return the requests that each taint keeps devices from, by key and effect."""
    found: dict[str, dict[str, set[tuple[str, str]]]] = {}
    for request in node.requests:
        # The claim for extended resources has no tolerations.
        if request.claim.endswith(f"/{EXTENDED}"):
            continue
        for reason in request.reasons:
            for taint in reason.details.get("taints") or ():
                key, effect = taint_key(taint), taint.rpartition(":")[2]
                # Nor may another claim tolerate a reservation.
                if key != PREEMPTION:
                    of_key = found.setdefault(key, {})
                    of_key.setdefault(effect, set()).add((request.claim, request.name))
    return found


def _tolerating(search: SecondSearches, requests: set[tuple[str, str]], more: Toleration) -> Change:
    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        yield tuple(
            with_requests(
                claim,
                {name for key, name in requests if key == claim.key},
                lambda request: replace(request, tolerations=(*request.tolerations, more)),
            )
            for claim in search.claims
        )

    return change


# A node ------------------------------------------------------------------------------------------


def _around(search: SecondSearches, node: NodeAnswer) -> Iterator[ChangeStep]:
    """Yield what lets a pod on a node that it may not run on now, whatever its devices are."""
    for key, effects in node_taints(node):
        yield ChangeStep(
            ChangeKind.TOLERATE_NODE,
            _accepting(search, node.node, key=key),
            f"with a toleration for {key} ({', '.join(effects)}) in the pod",
            {"key": key, "effects": list(effects), "requests": []},
        )
    if is_unwell(node):
        cordoned = any(one.message == UNSCHEDULABLE for one in node.lacks)
        text = f"when {node.node} is ready and may be scheduled on again"
        if cordoned:
            text += f": kubectl uncordon {node.node}"
        yield ChangeStep(ChangeKind.HEAL_NODE, _accepting(search, node.node), text)


def _accepting(search: SecondSearches, node: str, *, key: str = "") -> Change:
    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        accepting: AbstractContextManager[None] = nullcontext()
        if search.filters is not None:
            accepting = search.filters.accepting(node, key=key)
        with accepting:
            yield search.claims

    return change


# A pool becomes complete --------------------------------------------------------------------------


def _pools(inventory: Inventory, search: SecondSearches, node: NodeAnswer) -> Iterator[ChangeStep]:
    for reason in node.others:
        if reason.code is Code.POOL_INCOMPLETE and reason.pool is not None:
            yield ChangeStep(
                ChangeKind.COMPLETE_POOL,
                _completed(inventory, search, reason.pool),
                f"when pool {reason.pool} is complete",
                {"driver": reason.pool.driver, "pool": reason.pool.pool},
            )


def _completed(inventory: Inventory, search: SecondSearches, key: PoolID) -> Change:
    """Take the slices that are there for the whole pool: the missing ones can only add devices."""
    pool = inventory.pools.get(key)
    names = [one.name for one in pool.slices] if pool else []

    @contextmanager
    def change() -> Iterator[tuple[Claim, ...]]:
        before = [search.cluster.slices[name] for name in names]
        for one in before:
            search.cluster.put_slice(replace(one, slice_count=len(before)))
        try:
            yield search.claims
        finally:
            for one in before:
                search.cluster.put_slice(one)

    return change

"""Pods whose end makes room on a node: cpu, memory and the number of pods, and their devices."""

from collections.abc import Iterable, Iterator

from dragoman.allocation import FatalError
from dragoman.diagnosis.answers import Explanation, NodeAnswer
from dragoman.diagnosis.extended import Extended
from dragoman.diagnosis.filters import INSUFFICIENT, TOO_MANY, Load, placed, rejections
from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.inventory import Inventory
from dragoman_toolkit.diagnosis.suggestions.secondsearch import (
    ChangeKind,
    SecondSearches,
    Suggestion,
    without,
)

PODS = 64
"""Pods of one node that are tried, those that request least first."""


def making_room(
    inventory: Inventory, explanation: Explanation, search: SecondSearches
) -> Iterator[Suggestion]:
    """Yield the pods after whose end the pod fits on a node that has too little room for it."""
    nodes = [one for one in explanation.nodes if _lacks_room(one)]
    if not nodes:
        return
    world, subject = inventory.world, explanation.subject
    load, pods = Load.of(world, subject.pod.key), placed(world, subject.pod.key)
    extended = Extended(search.cluster, subject)
    for one in sorted(nodes, key=lambda one: (not one.has_devices, one.node)):
        node = world.nodes[one.node]
        need = extended.requests(node)
        for pod in _smallest_first(pods.get(one.node, ())):
            taken = pod.needs.requests
            load.remove(one.node, taken)
            enough = not rejections(subject.pod, node, load, need)
            load.add(one.node, taken)
            claims = tuple(_ending_with(inventory, pod)) if enough else ()
            if enough and search.fits(one.node, without(search, claims)):
                yield Suggestion(
                    ChangeKind.END_HOLDER,
                    one.node,
                    f"when {pod.key} ends ({one.node})",
                    {"holders": [pod.key], "claims": list(claims)},
                )


def _lacks_room(node: NodeAnswer) -> bool:
    """Whether a node would do for the pod, but for resources that other pods take."""
    return (
        bool(node.filtered)
        and all(one == TOO_MANY or one.startswith(INSUFFICIENT) for one in node.filtered)
        and not (node.unavailable or isinstance(node.outcome, FatalError))
    )


def _smallest_first(pods: Iterable[PodFact]) -> list[PodFact]:
    def size(pod: PodFact) -> tuple[int, int, str]:
        wanted = pod.needs.requests
        return wanted.get("cpu", 0), wanted.get("memory", 0), pod.key

    return sorted(pods, key=size)[:PODS]


def _ending_with(inventory: Inventory, pod: PodFact) -> Iterator[str]:
    """Yield the claims that only this pod has reserved."""
    for key, claim in inventory.world.claims.items():
        users = claim.consumers
        if claim.held and users and all(one.uid == pod.pod.metadata.uid for one in users):
            yield key

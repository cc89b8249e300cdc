"""What stands in the way of a pod before any node is looked at.

Source: the plugin DynamicResources of kube-scheduler, PreEnqueue and PreFilter; for pods that have
a node, the claim controller of kube-controller-manager.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import dragoman.allocation as api
from dragoman.allocation.extendedresources import is_extended
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.usage.waiting import extended_resources
from dragoman.model.claim import RESERVED_FOR_LIMIT, Claim
from dragoman_base.words.spelling import closest


class ObstacleCode(StrEnum):
    """Why the scheduler stops at a pod, whatever the nodes are."""

    SCHEDULING_GATED = "SchedulingGated"
    CLAIM_NOT_CREATED = "ClaimNotCreated"
    CLAIM_NOT_FOUND = "ClaimNotFound"
    CLAIM_DELETING = "ClaimDeleting"
    TEMPLATE_NOT_FOUND = "TemplateNotFound"
    NOT_OWNER = "NotOwner"
    CLASS_NOT_FOUND = "ClassNotFound"
    CLAIM_IN_USE = "ClaimInUse"
    CLAIM_FULL = "ClaimFull"
    NODE_CHOSEN = "NodeChosen"
    NOT_RESERVED = "NotReserved"
    RESOURCE_NOT_SERVED = "ResourceNotServed"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something about the pod or its claims."""

    code: StrEnum  # What kind of obstacle it is
    message: str  # What it is, with names
    remedy: str = ""  # What removes it; empty where there is nothing to do but to wait
    stops: bool = True  # Whether the scheduler places the pod nowhere because of it

    @property
    def text(self) -> str:
        """The message, and the remedy where there is one."""
        return f"{self.message}: {self.remedy}" if self.remedy else self.message


def unscheduled(pod: PodFact, wanted: Iterable[api.Claim]) -> Iterator[Obstacle]:
    """Yield the claims of a pod with a node that no scheduler will allocate."""
    for one in wanted:
        yield Obstacle(
            ObstacleCode.NODE_CHOSEN,
            f"claim {one.name} is not allocated, and schedulers leave out the pod: "
            f"it has spec.nodeName {pod.pod.node_name}",
            "create the pod without it; a node selector for kubernetes.io/hostname chooses a node",
        )


def unreserved(pod: PodFact, allocated: Iterable[Claim]) -> Iterator[Obstacle]:
    """Yield the allocated claims of a pod with a node that are not reserved for it."""
    for one in _not_reserved(pod, allocated):
        yield Obstacle(
            ObstacleCode.NOT_RESERVED,
            f"claim {one.name} is allocated, but not reserved for the pod",
            f"it has {RESERVED_FOR_LIMIT} consumers, the most that are allowed"
            if _is_full(one)
            else "the claim controller reserves it for a pod that has a node",
        )


def full(pod: PodFact, allocated: Iterable[Claim]) -> Iterator[Obstacle]:
    """Yield the allocated claims that the scheduler cannot reserve for one pod more."""
    for one in _not_reserved(pod, allocated):
        if _is_full(one):
            yield Obstacle(
                ObstacleCode.CLAIM_FULL,
                f"claim {one.name} has {RESERVED_FOR_LIMIT} consumers, the most that are allowed",
                "end one of its pods, or use another claim",
            )


def _not_reserved(pod: PodFact, allocated: Iterable[Claim]) -> Iterator[Claim]:
    """Yield claims that are reserved neither for a pod nor for its PodGroup."""
    for one in allocated:
        if not one.is_reserved_for(pod.pod.metadata.uid, pod.pod.group_name):
            yield one


def _is_full(claim: Claim) -> bool:
    return len(claim.consumers) >= RESERVED_FOR_LIMIT


def missing_classes(world: World, claims: Iterable[api.Claim]) -> Iterator[Obstacle]:
    """Yield the requests whose DeviceClass does not exist."""
    if "deviceclasses" not in world.listed:
        return
    for claim in claims:
        for request in claim.spec.requests:
            for exact in request.alternatives:
                if exact.class_name not in world.classes:
                    yield Obstacle(
                        ObstacleCode.CLASS_NOT_FOUND,
                        f"claim {claim.name}, request {exact.name}: "
                        f"device class {exact.class_name} does not exist",
                        _class_remedy(world, exact.class_name),
                    )


def unserved_resources(world: World, pod: PodFact) -> Iterator[Obstacle]:
    """Yield the extended resources that neither a DeviceClass nor a node serves, as misspelt ones.

    The scheduler refuses the pod on each node for it, and stops at none.
    """
    if not {"nodes", "deviceclasses"} <= world.listed:
        return
    for name in sorted(extended_resources(pod.document)):
        if api.class_of(name, world.classes) is not None:
            continue
        if not any(node.node.allocatable.get(name) for node in world.nodes.values()):
            yield Obstacle(
                ObstacleCode.RESOURCE_NOT_SERVED,
                f"extended resource {name}: no DeviceClass and no node serves it",
                _resource_remedy(world, name),
                stops=False,
            )


def _resource_remedy(world: World, name: str) -> str:
    served = {kind.extended_resource for kind in world.classes.values() if kind.extended_resource}
    for node in world.nodes.values():
        served.update(filter(is_extended, node.node.allocatable))
    near = closest(name, served)
    if near:
        return f"write {near}"
    listed = ", ".join(sorted(served)[:10])
    return f"there are: {listed}" if listed else "name it in a class's spec.extendedResourceName"


def _class_remedy(world: World, name: str) -> str:
    near = closest(name, world.classes.keys())
    if near:
        return f"write {near}"
    listed = ", ".join(sorted(world.classes)[:10])
    return f"there are: {listed}" if listed else "create it; most drivers bring one"

"""What stands in the way of a pod before any node is looked at.

Source: the plugin DynamicResources of kube-scheduler, PreEnqueue and PreFilter; for pods that have
a node, the claim controller of kube-controller-manager.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import dragoman.allocation as api
from dragoman.allocation.extendedresources import is_extended
from dragoman.inventory.ages import duration
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.usage.charges import charges
from dragoman.inventory.usage.waiting import extended_resources
from dragoman.model.claim import RESERVED_FOR_LIMIT, Claim
from dragoman.model.fields import parts
from dragoman.model.timestamps import seconds
from dragoman_base.words.nearnames import elsewhere, nearest
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
    NO_SCHEDULER = "NoScheduler"
    QUOTA_EXCEEDED = "QuotaExceeded"


MISSING = frozenset(
    {
        ObstacleCode.CLAIM_NOT_FOUND,
        ObstacleCode.TEMPLATE_NOT_FOUND,
        ObstacleCode.CLASS_NOT_FOUND,
        ObstacleCode.RESOURCE_NOT_SERVED,
    }
)
"""Objects that do not exist: what a pod would get of the nodes is not known without them."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something about the pod or its claims."""

    code: StrEnum  # What kind of obstacle it is
    message: str  # What it is, with names
    remedy: str = ""  # What removes it; empty where there is nothing to do but to wait
    stops: bool = True  # Whether the scheduler places the pod nowhere because of it
    written: str = ""  # A name that is misspelt; empty for another obstacle
    meant: str = ""  # What was probably meant

    @property
    def text(self) -> str:
        """The message, and the remedy where there is one."""
        return f"{self.message}: {self.remedy}" if self.remedy else self.message


_GATES: Mapping[str, tuple[str, str]] = {
    "kueue.x-k8s.io/admission": ("Kueue has not admitted the workload", "workloads.kueue.x-k8s.io"),
    "kueue.x-k8s.io/topology": ("Kueue has not assigned its topology", "workloads.kueue.x-k8s.io"),
    "kueue.x-k8s.io/elastic-job": ("Kueue has not admitted its slice", "workloads.kueue.x-k8s.io"),
}
"""What well-known gates wait for, and the objects that say why."""
UNSEEN_SECONDS = 60.0
"""How long a scheduler may take to look at a pod for the first time."""
_DEFAULT_SCHEDULER = "default-scheduler"


def gates(pod: PodFact) -> Iterator[Obstacle]:
    """Yield the scheduling gates of a pod, each with who removes it."""
    for one in parts(pod.document, "spec", "schedulingGates"):
        name = str(one.get("name") or "")
        meaning, plural = _GATES.get(name, ("", ""))
        domain, slash, _ = name.partition("/")
        if not meaning:
            owner = f"the controller of {domain}" if slash else "the creator of the pod"
            meaning = f"no scheduler looks at the pod until {owner} removes it"
        remedy = f"kubectl describe {plural} -n {pod.pod.metadata.namespace}" if plural else ""
        yield Obstacle(ObstacleCode.SCHEDULING_GATED, f"scheduling gate {name}: {meaning}", remedy)


def unseen(world: World, pod: PodFact) -> Iterator[Obstacle]:
    """Yield that no scheduler has looked at a pod: each writes the condition PodScheduled."""
    waited = seconds(world.now, pod.pod.metadata.created) or 0.0
    if pod.pod.node_name or pod.pod.done or waited < UNSEEN_SECONDS or _was_seen(pod):
        return
    known = {
        other.scheduler for other in world.pods.values() if other.pod.node_name or _was_seen(other)
    } | {_DEFAULT_SCHEDULER}
    near = closest(pod.scheduler, known - {pod.scheduler})
    remedy = f"is {pod.scheduler} running?"
    if near and pod.scheduler != _DEFAULT_SCHEDULER:
        remedy = f"did you mean {near}? Else see whether {pod.scheduler} runs"
    elif pod.scheduler not in known:
        remedy += f" Others have placed pods here: {', '.join(sorted(known))}"
    yield Obstacle(
        ObstacleCode.NO_SCHEDULER,
        f"no scheduler has looked at pod {pod.key} for {duration(waited)}: "
        f"spec.schedulerName is {pod.scheduler}",
        remedy,
        stops=False,
    )


def _was_seen(pod: PodFact) -> bool:
    conditions = parts(pod.document, "status", "conditions")
    return any(one.get("type") == "PodScheduled" for one in conditions)


def over_quota(world: World, claim: api.Claim, namespace: str) -> Iterator[Obstacle]:
    """Yield the quotas that forbid to create a claim."""
    wanted = charges(claim)
    for quota in world.quotas:
        if quota.namespace != namespace:
            continue
        for name, count in sorted(wanted.items()):
            hard, used = quota.hard.get(name), quota.used.get(name, 0)
            if hard is not None and used + count > hard:
                never = count > hard
                few = f"{used} {'is' if used == 1 else 'are'} charged"
                yield Obstacle(
                    ObstacleCode.QUOTA_EXCEEDED,
                    f"quota {quota.name} allows {hard} of {name}, {few}, "
                    f"{count} {'is' if count == 1 else 'are'} wanted: "
                    "the claim cannot be created",
                    "ask for a larger quota, or request fewer devices"
                    if never
                    else "delete claims that are not needed "
                    f"(kubectl dra top pods -n {namespace}), or ask for a larger quota",
                )
        if quota.claims and quota.claims[1] >= quota.claims[0]:
            most, used = quota.claims
            yield Obstacle(
                ObstacleCode.QUOTA_EXCEEDED,
                f"quota {quota.name} allows {most} ResourceClaims, and there are {used}",
                "delete claims that are not needed, or ask for a larger quota",
            )


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
                        written=exact.class_name,
                        meant=nearest(exact.class_name, world.classes.keys()) or "",
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
                written=name,
                meant=_near_resource(world, name) or "",
            )


def _near_resource(world: World, name: str) -> str | None:
    return nearest(name, _served(world))


def _served(world: World) -> set[str]:
    """Return the extended resources that a class or a node serves."""
    served = {kind.extended_resource for kind in world.classes.values() if kind.extended_resource}
    for node in world.nodes.values():
        served.update(filter(is_extended, node.node.allocatable))
    return served


def _resource_remedy(world: World, name: str) -> str:
    near = _near_resource(world, name)
    if near:
        return f"write {near}"
    listed = ", ".join(sorted(_served(world))[:10])
    return f"there are: {listed}" if listed else "name it in a class's spec.extendedResourceName"


def _class_remedy(world: World, name: str) -> str:
    near = nearest(name, world.classes.keys())
    if near:
        return f"write {near}"
    return _listed_classes(world)


def _listed_classes(world: World) -> str:
    listed = ", ".join(sorted(world.classes)[:10])
    return f"there are: {listed}" if listed else "create it; most drivers bring one"


def without_guess(world: World, found: Obstacle) -> Obstacle:
    """Return an obstacle of an object that does not exist without the name that may be meant."""
    if found.code is ObstacleCode.CLASS_NOT_FOUND:
        remedy = _listed_classes(world)
    else:
        remedy = f"create template {found.written}"
    return replace(found, remedy=remedy, written="", meant="")


def _near_elsewhere(name: str, known: Iterable[str]) -> str:
    """Return a near name of another namespace, and where it is; empty for none."""
    spaces = {key.partition("/")[2]: key.partition("/")[0] for key in known}
    near = nearest(name, spaces)
    return f"{near} of namespace {spaces[near]}" if near else ""


def missing_object(world: World, namespace: str, name: str, *, template: bool) -> Obstacle:
    """Return the obstacle of a template or claim that does not exist, with what may be meant."""
    known = world.templates if template else world.claims
    kind, word = ("ResourceClaimTemplate", "template") if template else ("ResourceClaim", "claim")
    here = [key.partition("/")[2] for key in known if key.startswith(f"{namespace}/")]
    near = nearest(name, here)
    if near:
        remedy = f"did you mean {near}?"
    elif others := elsewhere(f"{namespace}/{name}", known):
        there = ", ".join(others[:3])
        remedy = f"{name} is in namespace {there}; {word}s do not cross namespaces"
    elif f"{namespace}/{name}" in (world.claims if template else world.templates):
        other = "ResourceClaim" if template else "ResourceClaimTemplate"
        field = "resourceClaimName" if template else "resourceClaimTemplateName"
        remedy = f"{name} is a {other}: write {field}"
    elif there := _near_elsewhere(name, known):
        remedy = f"did you mean {there}? {word.capitalize()}s do not cross namespaces"
    elif template:
        remedy = f"create template {name}"
    else:
        remedy = f"create {kind} {namespace}/{name}"
    where = f" in namespace {namespace}" if template else ""
    return Obstacle(
        ObstacleCode.TEMPLATE_NOT_FOUND if template else ObstacleCode.CLAIM_NOT_FOUND,
        f'{kind.lower()} "{name}" not found{where}',
        remedy,
        written=name if near else "",
        meant=near or "",
    )

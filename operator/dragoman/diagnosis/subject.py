"""What a pod requests: its claims, and what stands in the way before any node is looked at.

Source: the plugin DynamicResources of kube-scheduler, PreEnqueue and PreFilter.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import dragoman.allocation as api
from dragoman.diagnosis.obstacles import (
    Obstacle,
    ObstacleCode,
    full,
    gates,
    missing_classes,
    missing_object,
    over_quota,
    unreserved,
    unscheduled,
    unseen,
    unserved_resources,
)
from dragoman.inventory.facts.parser import pod_fact
from dragoman.inventory.facts.world import PodFact, World
from dragoman.model.claim import Claim
from dragoman.model.holder import ClaimEntry
from dragoman.model.taints import RESERVATION


@dataclass(frozen=True, slots=True)
class Wanted:
    """A claim without devices."""

    claim: api.Claim  # What it requests
    entry: str = ""  # The pod's entry
    template: str = ""  # The template it is made from; empty for a claim of its own


@dataclass(frozen=True, slots=True)
class Subject:
    """A pod and its claims."""

    pod: PodFact  # The pod
    wanted: tuple[Wanted, ...] = ()  # Its claims without devices, in the order of the pod
    allocated: tuple[Claim, ...] = ()  # Its claims with devices
    obstacles: tuple[Obstacle, ...] = ()  # What stands in the way before any node is looked at

    @property
    def claims(self) -> tuple[api.Claim, ...]:
        """What has to be allocated."""
        return tuple(one.claim for one in self.wanted)

    @property
    def stopped(self) -> bool:
        """Whether no node can help."""
        return any(one.stops for one in self.obstacles)


def of_pod(world: World, pod: PodFact, *, planned: bool = False) -> Subject:
    """Find out what a pod requests.

    Args:
        world: The cluster, with the objects of a file in it.
        pod: The pod.
        planned: Whether the pod is not applied yet, so that its claims will be made from templates.
    """
    obstacles: list[Obstacle] = []
    wanted: list[Wanted] = []
    allocated: list[Claim] = []
    obstacles += gates(pod)
    for entry in pod.pod.entries:
        found = _entry(world, pod, entry, planned=planned)
        obstacles += (one for one in found if isinstance(one, Obstacle))
        wanted += (one for one in found if isinstance(one, Wanted))
        allocated += (one for one in found if isinstance(one, Claim))
    obstacles += missing_classes(world, (one.claim for one in wanted))
    obstacles += _repeated(wanted)
    obstacles += () if pod.pod.node_name else unserved_resources(world, pod)
    if pod.pod.node_name:
        obstacles += unscheduled(pod, (one.claim for one in wanted))
        obstacles += () if planned else unreserved(pod, allocated)
    else:
        obstacles += full(pod, allocated)
    if not planned and not any(one.stops for one in obstacles):
        obstacles += unseen(world, pod)
    return Subject(pod, tuple(wanted), tuple(allocated), tuple(obstacles))


def of_claim(world: World, claim: api.Claim, template: str = "") -> Subject:
    """Return the subject of a claim alone, as if a pod without other requests used it."""
    wanted = Wanted(claim, "claim", template)
    pod = _imagined(claim)
    return Subject(pod, (wanted,), (), tuple(missing_classes(world, (claim,))))


def _imagined(claim: api.Claim) -> PodFact:
    namespace = claim.namespace or "default"
    return pod_fact({"metadata": {"name": f"(any pod with {claim.name})", "namespace": namespace}})


Found = tuple[Obstacle | Wanted | Claim, ...]


def _entry(world: World, pod: PodFact, entry: ClaimEntry, *, planned: bool) -> Found:
    if pod.pod.needs_no_claim(entry):
        return ()
    namespace = pod.pod.metadata.namespace
    name = pod.pod.published_name(entry)
    if name is None:
        return _from_template(world, pod, entry, planned=planned)
    claim = world.claims.get(f"{namespace}/{name}")
    if claim is None:
        if "resourceclaims" not in world.listed:
            return ()
        if entry.template_name:
            text = f'resourceclaim "{name}" not found'
            return (Obstacle(ObstacleCode.CLAIM_NOT_FOUND, text),)
        return (missing_object(world, namespace, name, template=False),)
    found: list[Obstacle | Wanted | Claim] = []
    if claim.metadata.deleting:
        text = f'resourceclaim "{name}" is being deleted'
        # A pod that has reserved it keeps its devices: the claim goes when the pod has ended.
        stops = not claim.is_reserved_for(pod.pod.metadata.uid)
        remedy = "wait until it is gone, or use another" if stops else "it goes after the pod"
        found.append(Obstacle(ObstacleCode.CLAIM_DELETING, text, remedy, stops=stops))
    if entry.template_name and not _is_made_for(pod, claim):
        text = (
            f"ResourceClaim {namespace}/{name} was not created for Pod {pod.key} (Pod is not owner)"
        )
        found.append(Obstacle(ObstacleCode.NOT_OWNER, text, f"delete claim {name}"))
    if claim.held is None:
        found.append(Wanted(_shared(world, pod, claim), entry.name, entry.template_name or ""))
    else:
        found.append(claim)
    return tuple(found)


def _shared(world: World, pod: PodFact, claim: Claim) -> Claim:
    """Return a claim without the toleration of its pod's own reservation, while there is none.

    So pods alike share their answers, although each tolerates another reservation.
    """
    plain, uid = claim.spec.plain, pod.pod.metadata.uid
    if plain is None or claim.spec.reservations != {uid}:
        return claim
    if any(one.taint.key == RESERVATION and one.taint.value == uid for one in world.rules):
        return claim
    return replace(claim, spec=plain)


def _is_made_for(pod: PodFact, claim: Claim) -> bool:
    """Whether a claim was made from a template for a pod, or for its PodGroup."""
    owner = claim.metadata.owner
    if owner is not None and owner.is_pod_group:
        return owner.name == pod.pod.group_name
    return claim.is_for(pod.pod.metadata.uid)


def _from_template(world: World, pod: PodFact, entry: ClaimEntry, *, planned: bool) -> Found:
    namespace, template = pod.pod.metadata.namespace, entry.template_name or ""
    spec = world.templates.get(f"{namespace}/{template}")
    found: list[Obstacle | Wanted | Claim] = []
    if spec is None and "resourceclaimtemplates" in world.listed:
        found.append(missing_object(world, namespace, template, template=True))
    elif not planned:
        forbidden = tuple(over_quota(world, spec, namespace)) if spec else ()
        found += forbidden
        text = f'pod "{pod.key}": ResourceClaim not created yet'
        found.append(
            Obstacle(
                ObstacleCode.CLAIM_NOT_CREATED,
                f"{text} (entry {entry.name}, template {template})",
                "" if forbidden else "see the Events of the pod: the claim controller says why",
            )
        )
    if spec is not None:
        name = f"{pod.pod.metadata.name}-{entry.name}"
        found.append(Wanted(spec.named(name), entry.name, template))
    return tuple(found)


def _repeated(wanted: Iterable[Wanted]) -> Iterator[Obstacle]:
    seen: set[str] = set()
    for one in wanted:
        if one.claim.key in seen and one.claim.name:
            yield Obstacle(
                ObstacleCode.CLAIM_IN_USE,
                f"claim {one.claim.name} is named by two entries of the pod: "
                "the scheduler allocates it twice",
                "name it once",
                stops=False,
            )
        seen.add(one.claim.key)

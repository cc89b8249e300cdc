"""Pods that wait for devices."""

from collections.abc import Iterator
from dataclasses import dataclass

import dragoman.allocation as api
from dragoman.allocation.extendedresources import is_extended
from dragoman.inventory.facts.world import PodFact, World
from dragoman.inventory.snapshots.documents import Document


@dataclass(frozen=True, slots=True)
class Waiting:
    """A pod without a node some of whose claims have no devices."""

    pod: PodFact  # The pod
    # The claims, or `entry (template NAME)` while a claim has not been made, and `resource (class
    # NAME)` for each extended resource
    claims: tuple[str, ...]
    classes: tuple[str, ...]  # DeviceClasses that these claims request, each once for each mention


def waiting(world: World, *, extended: bool = False) -> Iterator[Waiting]:
    """Yield the pods that wait, in the order of their names; gated pods do not wait.

    Args:
        world: The cluster.
        extended: Whether its scheduler makes claims for extended resources.
    """
    for key in sorted(world.pods):
        pod = world.pods[key]
        if pod.pod.done or pod.pod.node_name or pod.pod.metadata.deleting or gated(pod):
            continue
        found = tuple(unserved(world, pod))
        served = tuple(_served(world, pod)) if extended and not pod.pod.extended_claim else ()
        if found or served:
            classes = tuple(name for _, claim in found if claim for name in classes_of(claim))
            names = (*(name for name, _ in found), *(f"{name} (class {of})" for name, of in served))
            yield Waiting(pod, names, (*classes, *(of for _, of in served)))


def _served(world: World, pod: PodFact) -> Iterator[tuple[str, str]]:
    """Yield the extended resources that DeviceClasses serve, each with its class."""
    for name in sorted(extended_resources(pod.document)):
        found = api.class_of(name, world.classes)
        if found is not None:
            yield name, found.name


def extended_resources(pod: Document) -> frozenset[str]:
    """Return the extended resources that the containers of a pod request."""
    spec = pod.get("spec") or {}
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    requested = (((one.get("resources") or {}).get("requests") or {}) for one in containers)
    return frozenset(name for names in requested for name in names if is_extended(name))


def gated(pod: PodFact) -> bool:
    """Whether scheduling gates keep the scheduler from looking at a pod."""
    spec = pod.document.get("spec")
    return bool(isinstance(spec, dict) and spec.get("schedulingGates"))


def unserved(world: World, pod: PodFact) -> Iterator[tuple[str, api.Claim | None]]:
    """Yield the claims of a pod that have no devices, with what each requests if that is known."""
    namespace = pod.pod.metadata.namespace
    for entry in pod.pod.entries:
        if pod.pod.needs_no_claim(entry):
            continue
        name = pod.pod.published_name(entry)
        claim = world.claims.get(f"{namespace}/{name}") if name else None
        if claim is not None and claim.held is not None:
            continue
        if claim is not None:
            yield claim.name, claim
        elif name:
            yield name, None
        else:
            made = f"{entry.name} (template {entry.template_name})"
            yield made, world.templates.get(f"{namespace}/{entry.template_name}")


def classes_of(claim: api.Claim) -> tuple[str, ...]:
    """Return the DeviceClasses that a claim names."""
    return tuple(
        exact.class_name for request in claim.spec.requests for exact in request.alternatives
    )

"""Names of objects that do not exist: a near name is offered only if the pod could fit with it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dragoman.allocation import Allocated, Claim, Cluster
from dragoman.diagnosis.emptied import BestCase, EmptiedCluster
from dragoman.diagnosis.obstacles import Obstacle, ObstacleCode, without_guess
from dragoman.diagnosis.subject import Subject, Wanted
from dragoman.inventory.facts.world import World
from dragoman.model.requests import ExactRequest

_CHECKED = frozenset({ObstacleCode.TEMPLATE_NOT_FOUND, ObstacleCode.CLASS_NOT_FOUND})


def checked(world: World, cluster: Cluster, subject: Subject) -> Subject:
    """Return a subject without guesses of names with which no node could ever serve it.

    Args:
        world: The facts.
        cluster: The same facts.
        subject: A pod that names templates or classes that do not exist.
    """
    guesses = [one for one in subject.obstacles if one.code in _CHECKED and one.meant]
    if not guesses:
        return subject
    best = BestCase(EmptiedCluster(cluster), _as_meant(world, subject, guesses))
    nodes = (one for one in world.nodes.values() if not best.keeps_away(one))
    if any(isinstance(best.outcome(one), Allocated) for one in nodes):
        return subject
    kept = (without_guess(world, one) if one in guesses else one for one in subject.obstacles)
    return replace(subject, obstacles=tuple(kept))


def _as_meant(world: World, subject: Subject, guesses: list[Obstacle]) -> Subject:
    """Return a subject with the names that are probably meant."""
    classes = {
        one.written: one.meant for one in guesses if one.code is ObstacleCode.CLASS_NOT_FOUND
    }
    templates = {
        one.written: one.meant for one in guesses if one.code is ObstacleCode.TEMPLATE_NOT_FOUND
    }
    wanted = (*subject.wanted, *_from_templates(world, subject, templates))
    return replace(
        subject,
        wanted=tuple(replace(one, claim=_of_classes(one.claim, classes)) for one in wanted),
    )


def _from_templates(
    world: World, subject: Subject, templates: Mapping[str, str]
) -> Iterator[Wanted]:
    namespace = subject.pod.pod.metadata.namespace
    for entry in subject.pod.pod.entries:
        meant = templates.get(entry.template_name or "")
        claim = world.templates.get(f"{namespace}/{meant}") if meant else None
        if claim is not None:
            yield Wanted(claim.named(entry.name), entry.name, meant or "")


def _of_classes(claim: Claim, classes: Mapping[str, str]) -> Claim:
    def change(request: ExactRequest) -> ExactRequest:
        meant = classes.get(request.class_name, request.class_name)
        return replace(request, class_name=meant)

    return replace(claim, spec=claim.spec.changed(change))

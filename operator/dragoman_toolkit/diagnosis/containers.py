"""What the containers of a pod use of its claims, and what they name that is not there."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from dragoman.diagnosis.obstacles import Obstacle
from dragoman.diagnosis.subject import Subject
from dragoman.model.fields import part, parts
from dragoman_base.words.nearnames import nearest
from dragoman_toolkit.workloads import OF_NETWORK


class ContainerObstacleCode(StrEnum):
    """What containers get wrong about the claims of their pod."""

    CLAIM_UNUSED = "ClaimUnused"
    REQUEST_NOT_FOUND = "RequestNotFound"


def misuses(subject: Subject) -> Iterator[Obstacle]:
    """Yield the claims that no container uses, and the requests that no claim has."""
    names = _requests(subject)
    used: set[str] = set()
    for container, entry, request in _uses(subject.pod.document):
        used.add(entry)
        there = names.get(entry)
        if not request or not there or request in there:
            continue
        near = nearest(request, there)
        yield Obstacle(
            ContainerObstacleCode.REQUEST_NOT_FOUND,
            f"container {container} names request {request}; claim {entry} has request "
            f"{', '.join(sorted(there))}",
            f"did you mean {near}?" if near else "the container does not see its devices",
            stops=False,
            written=request if near else "",
            meant=near or "",
        )
    for one in subject.pod.pod.entries:
        if one.name not in used and one.name in names and not _of_network(subject, one.name):
            yield Obstacle(
                ContainerObstacleCode.CLAIM_UNUSED,
                f"no container uses claim {one.name}, and sees its devices",
                f"write `- name: {one.name}` into resources.claims of the container",
                stops=False,
            )


def _uses(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield what containers name: the container, the entry and the request, empty for all."""
    for field in ("initContainers", "containers"):
        for container in parts(document, "spec", field):
            for one in parts(part(container, "resources"), "claims"):
                name = str(container.get("name") or "")
                yield name, str(one.get("name") or ""), str(one.get("request") or "")


def _requests(subject: Subject) -> dict[str, set[str]]:
    """Return the requests of each claim of a pod, by the entry that names the claim."""
    found = {
        one.entry: {request.name for request in one.claim.spec.requests} for one in subject.wanted
    }
    by_name = {one.name: one for one in subject.allocated}
    for entry in subject.pod.pod.entries:
        claim = by_name.get(subject.pod.pod.published_name(entry) or "")
        if claim is not None:
            found[entry.name] = {request.name for request in claim.spec.requests}
    return found


def _of_network(subject: Subject, entry: str) -> bool:
    """Tell whether names say that the devices are of the network."""
    names = [entry]
    for wanted in subject.wanted:
        if wanted.entry == entry:
            names += (
                exact.class_name for one in wanted.claim.spec.requests for exact in one.alternatives
            )
    for claim in subject.allocated:
        if any(
            subject.pod.pod.published_name(one) == claim.name and one.name == entry
            for one in subject.pod.pod.entries
        ):
            names += (one.id.driver for one in claim.devices)
    return any(OF_NETWORK.search(one) for one in names)

"""The claim that kube-scheduler makes for a pod's extended resources (KEP-5004).

A container may request devices by a resource name instead of a claim. Where the node's device
plugin does not publish that resource, the DeviceClass of the name serves it, through one claim for
all containers of the pod.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakValueDictionary

from dragoman.allocation.cluster import Cluster
from dragoman.model.amounts import AmountError, amount
from dragoman.model.claim import Claim
from dragoman.model.deviceclass import DeviceClass
from dragoman.model.fields import Document, items, mapping, optional_text, require_object, text
from dragoman.model.nodes import Node
from dragoman.model.requests import ClaimSpec, ExactRequest, Request
from dragoman_cel.values.scalars import INT_MAX

NAME = "<extended-resources>"
"""What the claim is called until it is created."""
_specs: WeakValueDictionary[tuple[Request, ...], ClaimSpec] = WeakValueDictionary()
"""Pods that request the same share one spec, and with it what is found out about devices."""
_IMPLICIT = "deviceclass.resource.kubernetes.io/"


class ContainerRequest(NamedTuple):
    """Which request of the claim serves a resource of a container.

    Several containers may share a request, and a container may use several.
    """

    container: str
    resource: str
    request: str


@dataclass(frozen=True, slots=True)
class ExtendedResources:
    """What a pod's extended resources need on a node."""

    # The claim to allocate beside those of the pod, as the last one; None for nothing
    claim: Claim | None = None
    mappings: tuple[ContainerRequest, ...] = ()  # Which request serves which container
    missing: str = ""  # A resource that the node cannot provide at all, empty if there is none


class _Container(NamedTuple):
    number: int
    name: str
    requests: Mapping[str, int]
    order: Sequence[str]
    short_lived: bool


def extended_resources(pod: Document, node: Node, cluster: Cluster) -> ExtendedResources:
    """Return what the extended resources of a pod need on a node.

    Args:
        pod: The pod in the API's JSON form.
        node: The node, with what its device plugins publish.
        cluster: For its classes and its profile.

    Raises:
        MalformedObjectError: The pod does not have the form of the API.
    """
    require_object(pod)
    if not cluster.profile.extended_resources:
        return ExtendedResources()
    containers = list(_containers(mapping(pod, "spec")))
    wanted = {name for container in containers for name in container.requests}
    classes = {name: kind for name in wanted if (kind := class_of(name, cluster.classes))}
    if not classes:
        return ExtendedResources()
    served = []
    for name in sorted(wanted):
        if name in classes and not node.allocatable.get(name):
            served.append(name)
        elif name not in node.allocatable:
            return ExtendedResources(missing=name)
    if not served:
        return ExtendedResources()
    requests: list[Request] = []
    mappings: list[ContainerRequest] = []
    for name in served:
        found, used = _of_resource(name, classes[name].name, containers)
        requests += found
        mappings += used
    requests.sort(key=lambda request: request.name)
    namespace = optional_text(mapping(pod, "metadata"), "namespace", "metadata.") or ""
    claim = Claim.requesting(
        NAME, namespace, _specs.setdefault(tuple(requests), ClaimSpec(tuple(requests)))
    )
    return ExtendedResources(claim, tuple(mappings))


def asked(pod: Document) -> dict[str, tuple[int, ...]]:
    """Return how many devices each request of the claim for extended resources would ask for.

    Args:
        pod: The pod in the API's JSON form.

    Returns:
        The counts by resource, as if a class served each of them.

    Raises:
        MalformedObjectError: The pod does not have the form of the API.
    """
    return {name: tuple(map(_count, found)) for name, (found, _) in requested(pod).items()}


def requested(pod: Document) -> dict[str, tuple[list[Request], list[ContainerRequest]]]:
    """Return the requests themselves, and which container uses which; see `asked`."""
    containers = list(_containers(mapping(pod, "spec")))
    names = {name for container in containers for name in container.requests}
    return {name: _of_resource(name, "", containers) for name in sorted(names)}


def class_of(resource: str, classes: Mapping[str, DeviceClass]) -> DeviceClass | None:
    """Return the class that serves an extended resource, None if there is none.

    Of several classes that name the resource, the newest one counts, then the lowest name.
    """
    if resource.startswith(_IMPLICIT):
        return classes.get(resource.removeprefix(_IMPLICIT))
    found = [kind for kind in classes.values() if kind.extended_resource == resource]
    newest = max((kind.created for kind in found), default="")
    return min(
        (kind for kind in found if kind.created == newest), key=lambda kind: kind.name, default=None
    )


def is_extended(name: str) -> bool:
    """Tell whether a resource name is one that device plugins or classes may serve."""
    if name.startswith(_IMPLICIT):
        return True
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def _containers(spec: Document) -> Iterator[_Container]:
    initial, regular = items(spec, "initContainers", "spec."), items(spec, "containers", "spec.")
    for index, item in enumerate([*initial, *regular]):
        init = index < len(initial)
        where = f"initContainers[{index}]" if init else f"containers[{index - len(initial)}]"
        within = f"spec.{where}."
        resources = mapping(item, "resources", within)
        requests = mapping(resources, "requests", f"{within}resources.")
        counts = {name: _whole(requests[name]) for name in requests if is_extended(name)}
        yield _Container(
            index,
            text(item, "name", within),
            {name: count for name, count in counts.items() if count},
            sorted(requests),
            init and item.get("restartPolicy") != "Always",
        )


def _whole(quantity: object) -> int:
    """Return a count of devices; the scheduler ignores what is not a whole number."""
    try:
        value = amount(str(quantity))
    except (AmountError, ValueError):  # more digits than Python converts
        return 0
    count, rest = divmod(value.nanos, 10**9)
    return count if not rest and abs(count) <= INT_MAX else 0


def _of_resource(
    resource: str, class_name: str, containers: Sequence[_Container]
) -> tuple[list[Request], list[ContainerRequest]]:
    """Make the requests for one resource.

    Init containers run before the others, so that they use the devices of later containers first,
    and share what they need beyond that.
    """
    lasting: dict[int, Request] = {}
    mappings: list[ContainerRequest] = []
    for container in containers:
        if not container.short_lived:
            request, used = _of_container(resource, class_name, container, ())
            mappings += used
            if request is not None:
                lasting[container.number] = request
    largest: Request | None = None
    names: set[str] = set()
    passing: list[ContainerRequest] = []
    for container in containers:
        if container.short_lived:
            later = [request for index, request in lasting.items() if index >= container.number]
            request, used = _of_container(resource, class_name, container, later)
            passing += used
            if request is not None:
                names.add(request.name)
                if largest is None or _count(largest) < _count(request):
                    largest = request
    requests = list(lasting.values())
    if largest is not None:
        requests.append(largest)
        passing = [
            item._replace(request=largest.name) if item.request in names else item
            for item in passing
        ]
    return requests, mappings + passing


def _count(request: Request) -> int:
    assert request.exactly is not None
    return request.exactly.count


def _of_container(
    resource: str, class_name: str, container: _Container, reusable: Sequence[Request]
) -> tuple[Request | None, list[ContainerRequest]]:
    wanted = container.requests.get(resource, 0)
    if not wanted:
        return None, []
    used = []
    have = 0
    for request in reusable:
        have += _count(request)
        used.append(ContainerRequest(container.name, resource, request.name))
        if have >= wanted:
            return None, used
    name = f"container-{container.number}-request-{container.order.index(resource)}"
    used.append(ContainerRequest(container.name, resource, name))
    exact = ExactRequest(name, class_name, count=wanted - have)
    return Request(name, exact), used

"""Holders of devices: claims, the pods that reserve them, and the containers that use them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from dragoman.inventory.facts.world import PodFact, World
from dragoman.model.allocated import AllocatedDevice
from dragoman.model.claim import Claim, Consumer
from dragoman.model.departure import Departure, recorded
from dragoman.model.deviceid import DeviceID


@dataclass(frozen=True, slots=True)
class User:
    """A consumer of a claim."""

    namespace: str  # Of the claim and the consumer
    name: str  # Of the pod or other consumer
    resource: str = "pods"  # Plural, as `pods`
    pod: PodFact | None = None  # The pod itself; None where it was not read or is not a pod
    containers: tuple[str, ...] = ()  # Names of the containers that use the request
    # How the pod left the API, where its containers may still run; else None
    departure: Departure | None = None

    @property
    def waits(self) -> str:
        """As in `waits for node-4 to end ml/trainer-0`; empty where the claim waits for nothing."""
        return self.departure.waits(self.namespace) if self.departure is not None else ""

    @property
    def key(self) -> str:
        """`namespace/name`, with the resource in front where it is not a pod."""
        kind = "" if self.resource == "pods" else f"{self.resource}/"
        return f"{kind}{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class Holding:
    """One allocation of a device."""

    claim: Claim  # The claim that has it
    result: AllocatedDevice  # What it was allocated
    users: tuple[User, ...] = ()  # The claim's consumers

    @property
    def idle(self) -> bool:
        """Whether the claim is reserved by nothing, and not a hold."""
        return not self.claim.consumers and not self.claim.is_hold


def holdings(world: World) -> Mapping[DeviceID, tuple[Holding, ...]]:
    """Return what holds each device, claims in the order of their names."""
    found: defaultdict[DeviceID, list[Holding]] = defaultdict(list)
    by_uid = {pod.pod.metadata.uid: pod for pod in world.pods.values()}
    groups: defaultdict[tuple[str, str], list[PodFact]] = defaultdict(list)
    for pod in world.pods.values():
        if pod.pod.group_name and not pod.pod.done:
            groups[pod.pod.metadata.namespace, pod.pod.group_name].append(pod)
    for key in sorted(world.claims):
        claim = world.claims[key]
        for result in claim.devices:
            users = tuple(_users(claim, result.request, by_uid, groups))
            found[result.id].append(Holding(claim, result, users))
    return {device: tuple(held) for device, held in found.items()}


def _users(
    claim: Claim,
    request: str,
    by_uid: Mapping[str, PodFact],
    groups: Mapping[tuple[str, str], list[PodFact]],
) -> Iterator[User]:
    namespace, name = claim.metadata.namespace, claim.metadata.name
    left = recorded(claim.left_consumers)
    for consumer in claim.consumers:
        pod = by_uid.get(consumer.uid) if consumer.is_pod else None
        found = [] if pod is None else [pod]
        if consumer.is_pod_group:
            members = groups.get((namespace, consumer.name), ())
            found = [one for one in members if name in one.pod.claim_names()]
        for one in found:
            containers = containers_of(one, claim, request)
            yield User(namespace, one.pod.metadata.name, "pods", one, containers)
        if not found:
            departure = left.get(consumer.uid)
            yield User(namespace, consumer.name, _resource(consumer), departure=departure)


def _resource(consumer: Consumer) -> str:
    return f"{consumer.resource}.{consumer.api_group}" if consumer.api_group else consumer.resource


def containers_of(pod: PodFact, claim: Claim, request: str) -> tuple[str, ...]:
    """Return the containers of a pod that use a request of a claim.

    Args:
        pod: A consumer of the claim.
        claim: Claim of the pod, or the one for its extended resources.
        request: `request` or `request/subrequest`.
    """
    name = claim.metadata.name
    top = request.partition("/")[0]
    if pod.pod.extended_claim == name:
        return _unique(container for container, requested in pod.extended if requested == top)
    entries = {one.name for one in pod.pod.entries if pod.pod.published_name(one) == name}
    return _unique(
        container.name
        for container in pod.containers
        for entry, requested in container.claims
        if entry in entries and requested in ("", top)
    )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))

"""The informers of the explain controller, which parse objects as the toolkit's commands do."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import dragoman.allocation as api
from dragoman.controllers.explain.state import DeviceState, Stored, Value
from dragoman.inventory.facts.objects import NodeFact, PodFact, SliceFact
from dragoman.inventory.facts.parser import node_fact, pod_fact, slice_fact
from dragoman.inventory.snapshots.documents import reduced
from dragoman.kube.client import Client
from dragoman.kube.discovery import Served, ServedDevices
from dragoman.kube.informer import Informer
from dragoman.kube.resources import PODS
from dragoman.kube.store import Store
from dragoman.model import Document, Metadata
from dragoman.model.claim import Claim
from dragoman.model.claimcontent import parse_claim

_POD_MARKS = (b'"resourceClaims":[', b'"extendedResourceClaimStatus":', b'"Unschedulable"')

PodChanged = Callable[[Stored[PodFact]], None]


@dataclass(frozen=True, slots=True)
class ExplainInformers:
    """One informer per resource.

    Attributes:
        pods: Of pods that use claims, or that the scheduler refused.
        claims: Of ResourceClaims.
        slices: Of ResourceSlices.
        nodes: Of nodes.
        classes: Of DeviceClasses.
        rules: Of DeviceTaintRules; None where they are not served.
    """

    pods: Informer[Stored[PodFact]]
    claims: Informer[Stored[Claim]]
    slices: Informer[Stored[SliceFact]]
    nodes: Informer[Stored[NodeFact]]
    classes: Informer[Stored[api.DeviceClass]]
    rules: Informer[Stored[api.DeviceTaintRule]] | None

    @classmethod
    def of(
        cls,
        state: DeviceState,
        client: Client,
        served: Served,
        devices: ServedDevices,
        pod_changed: PodChanged,
    ) -> Self:
        """Return informers that keep a state up to date.

        Args:
            state: The stores.
            client: Where objects are read.
            served: Where claims are served.
            devices: Where slices and classes are served.
            pod_changed: Called with each pod after it was stored or deleted.
        """
        informer = _Maker(state, client)
        pods = informer(PODS, state.pods, _pod)
        stored, dropped = pods.changed, pods.deleted

        def changed(pod: Stored[PodFact]) -> None:
            stored(pod)
            pod_changed(pod)

        def deleted(pod: Stored[PodFact]) -> None:
            dropped(pod)
            pod_changed(pod)

        return cls(
            pods=replace(pods, changed=changed, deleted=deleted, predicate=may_wait),
            claims=informer(served.claims, state.claims, parse_claim),
            slices=informer(devices.slices, state.slices, slice_fact),
            nodes=informer(devices.nodes, state.nodes, _Nodes(state).parse),
            classes=informer(devices.classes, state.classes, api.parse_class),
            rules=informer(devices.rules, state.rules, api.parse_taint_rule)
            if devices.rules
            else None,
        )

    def __iter__(self) -> Iterator[Informer[Any]]:
        """Iterate over the informers of served resources."""
        every = (self.pods, self.claims, self.slices, self.nodes, self.classes, self.rules)
        return iter([one for one in every if one])


@dataclass(frozen=True, slots=True)
class _Maker:
    state: DeviceState
    client: Client

    def __call__(
        self, resource: Any, store: Store[Stored[Value]], parse: Callable[[Document], Value | None]
    ) -> Informer[Stored[Value]]:
        changed, deleted = self.state.handlers(store)

        def parsed(document: Document) -> Stored[Value]:
            metadata = Metadata.parse(document)
            # Reflectors report what was deleted during an outage by its identity alone.
            if not document.keys() - {"metadata", "apiVersion", "kind"}:
                return Stored(metadata, None)
            return Stored(metadata, parse(reduced(resource.plural, document)))

        return Informer(
            self.client,
            resource,
            store,
            parsed,
            changed,
            deleted,
            rolled_back=self.state.roll_back,
        )


def may_wait(content: bytes) -> bool:
    """Whether a pod, as JSON bytes, may wait for devices; some pods that do not pass as well.

    A pod with extended resources has no mark of claims until it has devices, but the scheduler's
    refusal.
    """
    return any(mark in content for mark in _POD_MARKS)


def _pod(document: Document) -> PodFact | None:
    """Read a pod without a node, as no other one waits, or one of a PodGroup.

    Once one of its pods has a node, the scheduler leaves the PodGroup its claims.
    """
    spec = document.get("spec")
    if not isinstance(spec, dict) or (spec.get("nodeName") and not spec.get("schedulingGroup")):
        return None
    return pod_fact(document)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Reads nodes; a heartbeat that changes nothing of interest keeps the fact that is stored."""

    state: DeviceState

    def parse(self, document: Document) -> NodeFact:
        fact = node_fact(document)
        known = self.state.nodes.get("", fact.node.name)
        unchanged = known is not None and known.value == fact
        return known.value if unchanged and known and known.value else fact

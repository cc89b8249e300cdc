"""The informers of what claims need; other resources join as parts, which not every process has."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

from dragoman.cluster.clusterstate import ClusterState
from dragoman.kube.client import Client
from dragoman.kube.discovery import Served, retried, warn_beyond
from dragoman.kube.informer import Informer
from dragoman.kube.recent import Recent
from dragoman.kube.resources import NODES, PODS
from dragoman.logs import logger
from dragoman.model.claim import Claim
from dragoman.model.fields import Document, MalformedObjectError
from dragoman.model.metadata import Metadata
from dragoman.model.nodehealth import NodeHealth
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup
from dragoman.model.template import Template

_CLAIM_MARKS = (b'"resourceClaims":[', b'"extendedResourceClaimStatus":')
_REFUSED_MARK = b'"Unschedulable"'
LEFT_OUT_LIMIT = 10_000
"""How many objects that were left out are remembered."""

log = logger("dragoman.cluster")


class Watch(Protocol):
    """Feeds informers from now on; `Manager.watch`."""

    def __call__(self, *informers: Informer[Any]) -> None:
        """Feed those that are not fed yet."""


Parse = Callable[[Document], object]
Part = TypeVar("Part")


class ClusterStores:
    """One informer and one store for each resource of a process.

    An informer is watched from the first controller on that requires it.

    Args:
        client: Where objects are read.
        served: Which API versions the server has.
        watch: Feeds informers.
        spawn: Runs what waits until a resource is served.

    Attributes:
        state: The stores of pods, claims, templates and PodGroups.
        required: The informers that are, or will be, watched.
        pods: Of pods that use claims and, with `keep_waiting`, those that the scheduler refused.
        claims: Of ResourceClaims.
        templates: Of ResourceClaimTemplates.
        groups: Of PodGroups; None where they are not served.
        nodes: Of nodes.
        essential: What must be listed before claims are controlled, as far as it is required.
    """

    def __init__(
        self,
        client: Client,
        served: Served,
        watch: Watch = lambda *_: None,
        spawn: Callable[[Coroutine[Any, Any, None]], None] = lambda waiting: waiting.close(),
    ) -> None:
        self.client = client
        self.served = served
        self.spawn = spawn
        self.state = state = ClusterState(groups_served=served.groups is not None)
        self._watch = watch
        self.required: list[Informer[Any]] = []
        self._begun = False
        self._parts: dict[type[Any], object] = {}
        self._kubernetes = ""
        self._left_out: Recent[str, None] = Recent(LEFT_OUT_LIMIT)
        self._reduce: Callable[[Document], Document] | None = None
        self._whole_claim: Callable[[Document], Claim] = Claim.parse
        self._node_content: Parse | None = None
        own_write = state.own_writes.take
        roll_back = self._roll_back
        self.nodes: Informer[NodeHealth] = Informer(client, NODES, self._node)
        self.pods: Informer[Pod] = Informer(
            client,
            PODS,
            self._pod,
            store=state.pods,
            predicate=self._concerns,
            keeps=_is_kept,
            is_own_write=own_write,
            rolled_back=roll_back,
        )
        self.claims: Informer[Claim] = Informer(
            client,
            served.claims,
            self._claim,
            store=state.claims,
            is_own_write=own_write,
            rolled_back=roll_back,
        )
        self.templates: Informer[Template] = Informer(
            client, served.templates, Template.parse, store=state.templates, rolled_back=roll_back
        )
        self.groups: Informer[PodGroup] | None = None
        if served.groups is not None:
            self.groups = Informer(
                client, served.groups, PodGroup.parse, store=state.groups, rolled_back=roll_back
            )

        self.essential: list[Informer[Any]] = [*self]

    def _roll_back(self) -> None:
        """Trust the next list of everything: one resource has shown that etcd was restored."""
        self.state.roll_back()
        for informer in self:
            informer.relist()

    def __iter__(self) -> Iterator[Informer[Any]]:
        """Iterate over the informers of what the life-cycle of claims needs, if it is served."""
        return iter([one for one in (self.pods, self.claims, self.templates, self.groups) if one])

    @property
    def _awaited(self) -> list[Informer[Any]]:
        return [one for one in self.essential if one in self.required]

    def part(self, kind: Callable[["ClusterStores"], Part]) -> Part:
        """Return what a class makes of the cluster, as its slices; each is made once."""
        if kind not in self._parts:
            self._parts[cast(type[Any], kind)] = kind(self)
        return cast(Part, self._parts[cast(type[Any], kind)])

    def require(self, *informers: Informer[Any]) -> None:
        """Watch resources; it costs nothing where another controller requires them.

        Before `begin` they are only noted: what is kept of objects is decided by then.
        """
        new = [one for one in informers if one not in self.required]
        self.required += new
        if self._begun:
            self._watch(*new)

    def begin(self) -> None:
        """Watch what is required by now, and from now on what is required later."""
        self._begun = True
        self._watch(*self.required)

    def keep_waiting(self, reduce: Callable[[Document], Document]) -> None:
        """Keep, of each pod without a node or of a PodGroup, what a function returns.

        It is `Pod.waiting`.

        Args:
            reduce: Receives the object as the API server sent it.
        """
        assert not self._begun, "pods are listed once"
        self._reduce = reduce
        self.state.pods.index(waiting=_waits)

    def keep_content(self, claim: Callable[[Document], Claim], node: Parse) -> None:
        """Keep claims with what they request, and of each node what a function returns.

        Args:
            claim: Parses a claim as the API server sent it; raises MalformedObjectError.
            node: The same for `NodeHealth.content`.
        """
        assert not self._begun, "claims are listed once"
        self._whole_claim, self._node_content = claim, node

    def waiting(self) -> list[Document] | None:
        """Return the pods without a node as they are kept; None while they are not listed."""
        if self._reduce is None or not self.pods.synced.is_set():
            return None
        found = (one.waiting for one in self.pods.store.find("waiting", ""))
        return [one for one in found if one is not None]

    async def kubernetes(self) -> str:
        """Return the server's version, such as `v1.36.3`; wait until the server answers."""
        if not self._kubernetes:
            found = await retried("Cannot read the server's version", self.client.get, "/version")
            self._kubernetes = str(found.get("gitVersion") or "")
            warn_beyond(self._kubernetes)
        return self._kubernetes

    def unready(self) -> str | None:
        """Return None once what claims need is listed, as far as it is required."""
        missing = [one.resource.plural for one in self._awaited if not one.synced.is_set()]
        return f"{', '.join(missing)} are not listed yet" if missing else None

    async def wait_synced(self) -> None:
        """Wait until what claims need is listed, as far as it is required by now."""
        await asyncio.gather(*(informer.synced.wait() for informer in self._awaited))
        state = self.state
        log.info(
            "Synced", pods=len(state.pods), claims=len(state.claims), templates=len(state.templates)
        )

    def _pod(self, document: Document) -> Pod:
        pod = Pod.parse(document)
        # Once one of its pods has a node, the scheduler leaves a PodGroup its claims.
        kept = not pod.node_name or pod.group_name
        if self._reduce is None or not kept or "spec" not in document:
            return pod
        return replace(pod, waiting=self._reduce(document))

    def _claim(self, document: Document) -> Claim:
        # Reflectors report what was deleted during an outage by its identity alone.
        if "spec" not in document:
            return Claim.parse(document)
        try:
            return self._whole_claim(document)
        except MalformedObjectError as error:
            # Its life goes on without what it requests, which only explanations need.
            claim = Claim.parse(document)
            self._leave_out("resourceclaims", claim.metadata, error)
            return claim

    def _node(self, document: Document) -> NodeHealth:
        """Read a node; a heartbeat that changes nothing of interest keeps the stored content."""
        node = NodeHealth.parse(document)
        if self._node_content is None or not document.keys() - {"metadata", "apiVersion", "kind"}:
            return node
        try:
            content = self._node_content(document)
        except MalformedObjectError as error:
            self._leave_out("nodes", node.metadata, error)
            return node
        known = self.nodes.store.get("", node.metadata.name)
        if known is not None and known.content == content:
            content = known.content
        return replace(node, content=content)

    def _leave_out(self, plural: str, metadata: Metadata, error: MalformedObjectError) -> None:
        """Log once why an object is stored without its content."""
        if metadata.uid not in self._left_out:
            self._left_out[metadata.uid] = None
            log.warning(
                "Explanations leave an object out",
                resource=plural,
                namespace=metadata.namespace,
                name=metadata.name,
                error=str(error),
            )

    def _concerns(self, content: bytes) -> bool:
        """Whether a pod, as JSON bytes, may use claims, or wait; some others pass as well.

        A pod with extended resources has no mark of claims until it has devices, but the
        scheduler's refusal.
        """
        return uses_claims(content) or (self._reduce is not None and _REFUSED_MARK in content)


def uses_claims(content: bytes) -> bool:
    """Whether a pod, as JSON bytes, may use claims; some pods that do not pass as well."""
    return _CLAIM_MARKS[0] in content or _CLAIM_MARKS[1] in content


def _waits(pod: Pod) -> tuple[str, ...]:
    return ("",) if pod.waiting is not None and not pod.node_name else ()


def _is_kept(pod: Pod) -> bool:
    """Whether a pod is stored: one that waited without claims is not, once it has a node."""
    return pod.uses_claims or pod.waiting is not None


def pod_concerns_claims(body: Mapping[str, Any], memo: Any = None, **_: Any) -> bool:
    """Whether a pod uses claims or waits for a node, or is stored because it did; kopf's filter.

    It also passes deletions by name alone.
    """
    spec, status = body.get("spec") or {}, body.get("status") or {}
    metadata = body.get("metadata") or {}
    place = (str(metadata.get("namespace")), str(metadata.get("name")))
    operator = getattr(memo, "operator", None)
    return "spec" not in body or bool(
        spec.get("resourceClaims")
        or status.get("extendedResourceClaimStatus")
        or any(one.get("reason") == "Unschedulable" for one in status.get("conditions") or ())
        or (operator is not None and operator.informers.has("", "pods", *place))
    )

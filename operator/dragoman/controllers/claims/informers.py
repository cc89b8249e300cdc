"""The informers of the claim controller: pods, claims, templates and PodGroups."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from dragoman.controllers.claims.enqueue import EventHandlers
from dragoman.kube.client import Client
from dragoman.kube.discovery import Served
from dragoman.kube.informer import Informer
from dragoman.kube.resources import PODS
from dragoman.model import Claim, Node, Pod, PodGroup, Template

_POD_MARKS = (b'"resourceClaims":[', b'"extendedResourceClaimStatus":')


@dataclass(frozen=True, slots=True)
class Informers:
    """One informer per resource.

    Attributes:
        pods: Of pods that use claims.
        claims: Of ResourceClaims.
        templates: Of ResourceClaimTemplates.
        groups: Of PodGroups; None where they are not served.
        nodes: Of Nodes; None without safe release.
    """

    pods: Informer[Pod]
    claims: Informer[Claim]
    templates: Informer[Template]
    groups: Informer[PodGroup] | None
    nodes: Informer[Node] | None = None

    @classmethod
    def of(cls, handlers: EventHandlers, client: Client, served: Served) -> Self:
        """Return informers whose events go to these handlers."""
        state = handlers.state
        informer = partial(Informer[Any], client, rolled_back=state.roll_back)
        return cls(
            pods=informer(
                PODS,
                state.pods,
                Pod.parse,
                handlers.pod_changed,
                handlers.pod_deleted,
                predicate=uses_claims,
                is_own_write=state.own_writes.take,
            ),
            claims=informer(
                served.claims,
                state.claims,
                Claim.parse,
                handlers.claim_changed,
                handlers.claim_deleted,
                is_own_write=state.own_writes.take,
            ),
            templates=informer(
                served.templates,
                state.templates,
                Template.parse,
                handlers.template_changed,
                handlers.template_deleted,
            ),
            groups=None
            if served.groups is None
            else informer(
                served.groups,
                state.groups,
                PodGroup.parse,
                handlers.group_changed,
                handlers.group_deleted,
            ),
        )

    def __iter__(self) -> Iterator[Informer[Any]]:
        """Iterate over the informers of served resources."""
        every = (self.pods, self.claims, self.templates, self.groups, self.nodes)
        return iter([one for one in every if one])


def uses_claims(content: bytes) -> bool:
    """Whether a pod, as JSON bytes, may use claims; some pods that do not pass as well."""
    return _POD_MARKS[0] in content or _POD_MARKS[1] in content


def pod_uses_claims(body: Mapping[str, Any], **_: Any) -> bool:
    """Whether a pod uses claims; a filter of kopf, which also passes deletions by name alone."""
    spec, status = body.get("spec") or {}, body.get("status") or {}
    return "spec" not in body or bool(
        spec.get("resourceClaims") or status.get("extendedResourceClaimStatus")
    )

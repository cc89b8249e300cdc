"""How objects get from the API server into the world."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Self

from dragoman.controllers.claims.enqueue import EventHandlers
from dragoman.kube.client import PODS, Client, Resource, find, pages
from dragoman.kube.discovery import Served
from dragoman.kube.store import Fact, Store
from dragoman.model import Claim, Document, Pod, PodGroup, Template


@dataclass(frozen=True, slots=True)
class Informer(Generic[Fact]):
    """One resource: where it is on the server, and how it gets into the world.

    Attributes:
        api: Where to read.
        resource: What to read.
        shelf: The facts as known.
        parse: Makes a fact from an object.
        changed: Takes in an object that is there.
        deleted: Takes in that one is gone.
    """

    api: Client
    resource: Resource
    store: Store[Fact]
    parse: Callable[[Document], Fact]
    changed: Callable[[Fact], None]
    deleted: Callable[[Fact], None]

    @property
    def path(self) -> str:
        """The URL path of all its objects."""
        return self.resource.path()

    async def read(self, namespace: str, name: str) -> Fact | None:
        """Return an object as the server has it, None where there is none; raise ApiError."""
        found = await find(self.api, self.resource.path(namespace, name))
        return None if found is None else self.parse(found)

    async def refresh(self, namespace: str, name: str) -> None:
        """Read an object from the server into the world, or out of it; raise ApiError.

        Out of it goes only the one that was known when the question was asked: while the answer
        is on its way, another one may be made under the same name.
        """
        known = self.store.get(namespace, name)
        found = await self.read(namespace, name)
        if found is not None:
            self.changed(found)
        elif known is not None:
            self.deleted(known)

    async def refresh_all(self, namespace: str) -> None:
        """Read what a namespace has from the server into the world; raise ApiError."""
        async for page in pages(self.api, self.resource.path(namespace)):
            for item in page["items"] or ():
                self.changed(self.parse(item))


@dataclass(frozen=True, slots=True)
class Informers:
    """Of all that is watched, and read live as well, for the life-cycle of claims.

    Attributes:
        pods: Of pods.
        claims: Of ResourceClaims.
        templates: Of ResourceClaimTemplates.
        groups: Of PodGroups; None where they are not served.
    """

    pods: Informer[Pod]
    claims: Informer[Claim]
    templates: Informer[Template]
    groups: Informer[PodGroup] | None

    @classmethod
    def into(cls, handlers: EventHandlers, api: Client, served: Served) -> Self:
        """Return the mirrors whose objects an intake takes in."""
        state = handlers.state
        pod = (state.pods, Pod.parse, handlers.pod_changed, handlers.pod_deleted)
        claim = (state.claims, Claim.parse, handlers.claim_changed, handlers.claim_deleted)
        template = (
            state.templates,
            Template.parse,
            handlers.template_changed,
            handlers.template_deleted,
        )
        group = (state.groups, PodGroup.parse, handlers.group_changed, handlers.group_deleted)
        return cls(
            pods=Informer(api, PODS, *pod),
            claims=Informer(api, served.claims, *claim),
            templates=Informer(api, served.templates, *template),
            groups=Informer(api, served.groups, *group) if served.groups is not None else None,
        )

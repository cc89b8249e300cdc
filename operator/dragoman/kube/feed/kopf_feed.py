"""Objects through kopf: event handlers that parse, hand over, and do nothing else."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import kopf

from dragoman.controllers.claims.enqueue import EventHandlers
from dragoman.kube.client import PODS, Resource
from dragoman.kube.discovery import Served
from dragoman.kube.feed.session import Listing, stub
from dragoman.logs import logger
from dragoman.model import Claim, Document, MalformedObjectError, Pod, PodGroup, Template

Handler = Callable[..., Awaitable[None]]
Fact = TypeVar("Fact", Pod, Claim, PodGroup, Template)

POD_MARKS = (b'"resourceClaims":[', b'"extendedResourceClaimStatus":')

log = logger("dragoman.feed")


class KopfFeed:
    """What the claim controller watches through kopf.

    Args:
        served: Which API versions the server has.
        intake: Where objects go.
        pods_and_claims: Whether these come through kopf as well, or another way.
    """

    def __init__(
        self, served: Served, handlers: EventHandlers, *, pods_and_claims: bool = True
    ) -> None:
        self._intake = handlers
        rewound = handlers.state.rewind
        self._pods = Listing(keep=uses_claims, rewound=rewound)
        self._claims = Listing(rewound=rewound)
        self._templates = Listing(rewound=rewound)
        self._groups = Listing(rewound=rewound)
        self._watched: list[tuple[Resource, Listing, Handler]] = [
            (served.templates, self._templates, self.template_event)
        ]
        if served.groups is not None:
            self._watched.append((served.groups, self._groups, self.group_event))
        if pods_and_claims:
            self._watched.append((PODS, self._pods, self.pod_event))
            self._watched.append((served.claims, self._claims, self.claim_event))

    @property
    def listings(self) -> dict[str, Listing]:
        """The lists and watches to look after, by URL path."""
        return {resource.path(): listing for resource, listing, _ in self._watched}

    @property
    def handlers(self) -> dict[Resource, Handler]:
        """What kopf is to watch, and the event handlers for it."""
        return {resource: handler for resource, _, handler in self._watched}

    async def wait_synced(self) -> None:
        """Wait until the handlers have seen everything that was there at the start."""
        for _, listing, _ in self._watched:
            await listing.synced.wait()

    async def pod_event(self, event: kopf.RawEvent, **_: Any) -> None:
        """Take in a pod."""
        handlers = self._intake
        self._take(self._pods, event, Pod.parse, handlers.pod_changed, handlers.pod_deleted)

    async def claim_event(self, event: kopf.RawEvent, **_: Any) -> None:
        """Take in a claim."""
        handlers = self._intake
        self._take(self._claims, event, Claim.parse, handlers.claim_changed, handlers.claim_deleted)

    async def template_event(self, event: kopf.RawEvent, **_: Any) -> None:
        """Take in a template."""
        self._take(
            self._templates,
            event,
            Template.parse,
            self._intake.template_changed,
            self._intake.template_deleted,
        )

    async def group_event(self, event: kopf.RawEvent, **_: Any) -> None:
        """Take in a PodGroup."""
        handlers = self._intake
        self._take(
            self._groups, event, PodGroup.parse, handlers.group_changed, handlers.group_deleted
        )

    def _take(
        self,
        listing: Listing,
        event: kopf.RawEvent,
        parse: Callable[[Document], Fact],
        changed: Callable[[Fact], None],
        deleted: Callable[[Fact], None],
    ) -> None:
        body: Any = event["object"]
        try:
            fact = parse(body)
        except MalformedObjectError as error:
            metadata = body.get("metadata") or {}
            log.error(
                "Cannot read object",
                kind=body.get("kind"),
                namespace=metadata.get("namespace"),
                name=metadata.get("name"),
                error=str(error),
            )
            if event["type"] == "DELETED":
                # Its name is all that is needed to let go of it.
                deleted(parse(stub(body, body)))
        else:
            (deleted if event["type"] == "DELETED" else changed)(fact)
        listing.delivered((body.get("metadata") or {}).get("uid", ""))


def uses_claims(content: bytes) -> bool:
    """Whether a pod, as JSON bytes, has anything to do with claims; may err on the yes side."""
    return POD_MARKS[0] in content or POD_MARKS[1] in content

"""Read the objects of a cluster: paged, only what a command needs, as far as the rights go."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman import surroundings
from dragoman.inventory.snapshots.documents import OPTIONAL, Document, reduced
from dragoman.inventory.snapshots.queuekinds import MANAGERS, QUEUE_KINDS
from dragoman.inventory.snapshots.snapshot import Snapshot, Unseen
from dragoman.kube.client import Client
from dragoman.kube.discovery import DRA_GROUP, DRA_VERSIONS, NotServedError
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import (
    DRIVERCONFIGSCHEMAS,
    POD_DISRUPTION_BUDGETS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    Resource,
)
from dragoman_base.versions import OLDEST
from dragoman_base.versions import name as version_name

PAGE = 500
"""Objects a page."""
NAMESPACED = frozenset({"pods", "resourceclaims", "resourceclaimtemplates", "resourcequotas"})
CORE = frozenset({"nodes", "pods", "resourcequotas", "namespaces"})
QUERIES: Mapping[str, Mapping[str, str]] = {
    "pods": {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
}
"""What is not worth reading at all: pods that have ended hold nothing."""
_EXPIRED = 410
_FORBIDDEN = 403
_NOT_FOUND = 404

Report = Callable[[str, int], None]
Predicate = Callable[[str, Mapping[str, Any]], bool]


@dataclass(slots=True)
class Reader:
    """Lists what the toolkit needs, and remembers what it was not allowed to."""

    client: Client  # The connection
    namespace: str  # Where to read when all namespaces are forbidden
    # Called with a plural and how many objects of it were read
    progress: Report = lambda plural, count: None  # noqa: ARG005 — nothing is reported
    # Called with a plural and an object; what it refuses is dropped page by page
    wanted: Predicate = lambda plural, document: True  # noqa: ARG005 — everything is
    # Whether pods that have ended are read as well, where a queue manager may charge for them
    ended: bool = False
    unseen: list[Unseen] = field(default_factory=list)  # What was refused
    # Where each resource was listed, and in which namespace; empty for all
    places: dict[str, tuple[Resource, str]] = field(default_factory=dict)

    async def read(self, plurals: Iterable[str]) -> Snapshot:
        """Read these resources side by side.

        Raises:
            ApiError: The API server does not answer, or refuses for another reason than rights.
            NotServedError: It does not serve Dynamic Resource Allocation.
        """
        taken = surroundings.timestamp()
        version, served = await asyncio.gather(self.client.get("/version"), self._served())
        plurals = dict.fromkeys(plurals)
        wanted = [plural for plural in plurals if plural in served]
        lists = await asyncio.gather(*(self._all(plural, served[plural]) for plural in wanted))
        found = dict(zip(wanted, lists, strict=True))
        # Of what is not served there is nothing.
        absent = (OPTIONAL | QUEUE_KINDS.keys()) - served.keys()
        found |= {plural: () for plural in plurals if plural in absent}
        return Snapshot(
            taken=taken,
            kubernetes=str(version.get("gitVersion") or ""),
            objects={plural: one for plural, one in found.items() if one is not None},
            unseen=tuple(sorted(self.unseen, key=lambda one: one.plural)),
        )

    async def _served(self) -> dict[str, Resource]:
        """Return where each resource is served, in the best version."""
        found = {plural: Resource("", "v1", plural) for plural in CORE}
        groups = (await self.client.get("/apis")).get("groups") or []
        found |= {
            resource.plural: resource
            for resource in (
                DRIVERCONFIGSCHEMAS,
                POD_DISRUPTION_BUDGETS,
                VALIDATING_WEBHOOK_CONFIGURATIONS,
            )
            if any(group["name"] == resource.group for group in groups)
        }
        found |= _queues(groups)
        versions = [
            version["version"]
            for group in groups
            if group["name"] == DRA_GROUP
            for version in group["versions"]
        ]
        if not set(versions) & set(DRA_VERSIONS):
            raise NotServedError(
                f"the API server serves {DRA_GROUP} in {', '.join(versions) or 'no version'}: "
                f"one of {', '.join(DRA_VERSIONS)} is needed "
                f"(Kubernetes >= {version_name(OLDEST)})"
            )
        ranked = sorted(versions, key=_rank)
        listed = await asyncio.gather(
            *(self.client.get(f"/apis/{DRA_GROUP}/{version}") for version in ranked)
        )
        for version, resources in zip(ranked, listed, strict=True):
            for one in resources.get("resources") or ():
                found.setdefault(one["name"], Resource(DRA_GROUP, version, one["name"]))
        return found

    async def _all(self, plural: str, resource: Resource) -> tuple[Document, ...] | None:
        queue = QUEUE_KINDS[plural][0] if plural in QUEUE_KINDS else None
        try:
            return await self._list(plural, resource, "")
        except ApiError as error:
            optional = queue.helpful if queue else resource.plural in OPTIONAL
            if optional and error.code in (_FORBIDDEN, _NOT_FOUND):
                return None
            # A manager's older versions lack kinds of its group.
            if queue and error.code == _NOT_FOUND:
                return ()
            if error.code != _FORBIDDEN:
                raise
            refusal = error
        if (queue.namespaced if queue else resource.plural in NAMESPACED) and self.namespace:
            try:
                found = await self._list(plural, resource, self.namespace)
            except ApiError as error:
                if error.code != _FORBIDDEN:
                    raise
            else:
                self.unseen.append(Unseen(plural, str(refusal), self.namespace))
                return found
        self.unseen.append(Unseen(plural, str(refusal)))
        return None

    async def _list(self, plural: str, resource: Resource, namespace: str) -> tuple[Document, ...]:
        selectors = {one.selector for one in QUEUE_KINDS.get(plural, ()) if one.selector}
        found: list[Document] = []
        for selector in sorted(selectors) or [""]:
            found += await self._selected(plural, resource, namespace, selector)
        self.places[plural] = resource, namespace
        return tuple(found)

    async def _selected(
        self, plural: str, resource: Resource, namespace: str, selector: str
    ) -> list[Document]:
        for attempt in (1, 2):
            found: list[Document] = []
            try:
                async for items in self._pages(resource, namespace, selector):
                    # Objects are reduced page by page: whole ones would take ten times the memory.
                    # In a thread, because the operator reconciles claims at the same time.
                    found += await surroundings.in_thread(self._reduced, plural, items)
                    self.progress(plural, len(found))
            except ApiError as error:
                # A list that took longer than etcd keeps its revision is read again from the start.
                if error.code != _EXPIRED or attempt == 2:
                    raise
            else:
                return found
        raise AssertionError("unreachable")

    def _reduced(self, plural: str, items: Iterable[Any]) -> list[Document]:
        return [reduced(plural, item) for item in items if self.wanted(plural, item)]

    async def _pages(
        self, resource: Resource, namespace: str, selector: str
    ) -> AsyncIterator[list[Any]]:
        query = {"limit": str(PAGE)}
        query |= {} if self.ended else QUERIES.get(resource.plural, {})
        query |= {"fieldSelector": selector} if selector else {}
        while True:
            page = await self.client.get(resource.path(namespace), **query)
            yield page.get("items") or []
            following = (page.get("metadata") or {}).get("continue")
            if not following:
                return
            query["continue"] = following


def _queues(groups: Iterable[Mapping[str, Any]]) -> dict[str, Resource]:
    """Return where kinds of queue managers are served; nothing in a cluster without any."""
    served = {one["name"]: [version["version"] for version in one["versions"]] for one in groups}
    served[""] = ["v1"]
    if not MANAGERS.keys() & served.keys():
        return {}
    return {
        key: Resource(kind.group, version, kind.plural)
        for key, (kind, *_) in QUEUE_KINDS.items()
        for version in [next((v for v in kind.versions if v in served.get(kind.group, ())), "")]
        if version
    }


def _rank(version: str) -> tuple[int, str]:
    known = version in DRA_VERSIONS
    return (DRA_VERSIONS.index(version) if known else len(DRA_VERSIONS), version)

"""The informers of devices: ResourceSlices, DeviceTaintRules and DeviceClasses."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from dragoman.allocation import DeviceClass
from dragoman.cluster.cluster import ClusterStores
from dragoman.inventory.facts.skim import is_unchanged
from dragoman.inventory.facts.stored import StoredRule, StoredSlice
from dragoman.inventory.snapshots.documents import reduced
from dragoman.kube.discovery import DRA_GROUP, wait_optional
from dragoman.kube.informer import Informer
from dragoman.kube.resources import Resource
from dragoman.logs import logger
from dragoman.model.deviceclass import parse_class
from dragoman.model.fields import Document
from dragoman.model.metadata import Metadata

Value = TypeVar("Value")

log = logger("dragoman.cluster")


@dataclass(frozen=True, slots=True)
class Stored(Generic[Value]):
    """An object whose fact does not have its metadata."""

    metadata: Metadata  # Its identity
    value: Value | None  # The fact; None where the event has only metadata


class DeviceStores:
    """What says which devices there are; a part of a cluster.

    Args:
        cluster: Which one.

    Attributes:
        slices: Of ResourceSlices.
        rules: Of DeviceTaintRules; empty as long as they are not served.
        rules_served: The served version of rules; None while there is none.
        rules_known: Set once the API server has answered whether it serves them.
        classes: Of DeviceClasses.
    """

    def __init__(self, cluster: ClusterStores) -> None:
        client, slices = cluster.client, cluster.served.slices
        self._cluster = cluster
        self._content = self._required = False
        self._listing: asyncio.Future[None] | None = None
        self.rules_served: Resource | None = None
        self.rules_known = asyncio.Event()
        self.slices: Informer[StoredSlice] = Informer(
            client, slices, self._slice, is_unchanged=self._is_unchanged
        )
        # Which version is served is not known yet.
        unserved = Resource(DRA_GROUP, "", "devicetaintrules")
        self.rules: Informer[StoredRule] = Informer(client, unserved, StoredRule.parse)
        self.classes: Informer[Stored[DeviceClass]] = Informer(
            client, Resource(DRA_GROUP, slices.version, "deviceclasses"), _class
        )

    def require(self, *more: Informer[Any]) -> None:
        """Watch slices from now on, rules once they are served, and further informers of these."""
        self._cluster.require(self.slices, *more)
        if not self._required:
            self._required = True
            self._cluster.spawn(self._watch_rules())

    async def require_content(self) -> None:
        """Store attributes, capacities and counters too, which takes several times the memory."""
        if not self._content:
            self._content = True
            if len(self.slices.store):
                # One list for all that wait; slices that cannot be read stay without.
                self._listing = asyncio.ensure_future(self.slices.resync_until_complete())
        if self._listing is not None:
            await asyncio.shield(self._listing)

    def serve(self, slices: Resource) -> None:
        """Watch slices and classes in another version, which the API server serves by now."""
        self.slices.resource = slices
        self.classes.resource = Resource(DRA_GROUP, slices.version, "deviceclasses")

    def serve_rules(self, resource: Resource) -> None:
        """Watch DeviceTaintRules, which the API server serves as `resource`."""
        self.rules.resource = self.rules_served = resource
        self._cluster.require(self.rules)
        self.rules_known.set()

    @property
    def synced(self) -> bool:
        """Whether everything that is served was listed."""
        rules = self.rules_served is None or self.rules.synced.is_set()
        return rules and self.slices.synced.is_set()

    async def wait_rules(self) -> None:
        """Wait until all rules are listed, or the API server does not serve them."""
        await self.rules_known.wait()
        if self.rules_served is not None:
            await self.rules.synced.wait()

    async def _watch_rules(self) -> None:
        resource = await wait_optional(
            self._cluster.client, "devicetaintrules", self.rules_known.set
        )
        log.info("Watching DeviceTaintRules", api_version=resource.api_version)
        self.serve_rules(resource)

    def _slice(self, document: Document) -> StoredSlice:
        old = self.slices.resource.version == "v1beta1"
        parse = StoredSlice.parse_v1beta1 if old else StoredSlice.parse
        return parse(document, content=self._content)

    def _is_unchanged(self, line: bytes) -> bool:
        return not self._content and is_unchanged(line, partial(self.slices.store.get, ""))


def _class(document: Document) -> Stored[DeviceClass]:
    metadata = Metadata.parse(document)
    # Reflectors report what was deleted during an outage by its identity alone.
    if not document.keys() - {"metadata", "apiVersion", "kind"}:
        return Stored(metadata, None)
    return Stored(metadata, parse_class(reduced("deviceclasses", document)))

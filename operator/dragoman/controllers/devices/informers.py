"""The informers of devices: ResourceSlices, and DeviceTaintRules where they are served.

Several controllers need them, so the facts are stored once: a controller adds itself to the
observers, which receive each change after it was stored.
"""

import asyncio
from collections.abc import Callable
from functools import partial

from dragoman.inventory.facts.skim import is_unchanged
from dragoman.inventory.facts.stored import StoredRule, StoredSlice
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman.kube.informer import Informer
from dragoman.kube.resources import Resource
from dragoman.kube.store import DeletedUIDs, Store
from dragoman.model import Document

SliceChange = Callable[[StoredSlice | None, StoredSlice | None], None]
"""Receives a slice before and after a change; None where there is none."""
RuleChange = Callable[[StoredRule | None, StoredRule | None], None]


class DeviceInformers:
    """Stores of slices and rules, their informers, and who observes them.

    Args:
        client: Where objects are read.
        slices: The served version of resourceslices.

    Attributes:
        slices: Informer of ResourceSlices.
        rules: Informer of DeviceTaintRules; None until the API server serves them.
        rules_known: Set once the API server has answered whether it serves them.
        slice_observers: Called with each change of a slice.
        rule_observers: Called with each change of a rule.
    """

    def __init__(self, client: Client, slices: Resource) -> None:
        self._client = client
        self._content = False
        self._deleted = DeletedUIDs()
        self.slice_observers: list[SliceChange] = []
        self.rule_observers: list[RuleChange] = []
        self.rules: Informer[StoredRule] | None = None
        self.rules_known = asyncio.Event()
        self._rule_store: Store[StoredRule] = Store(self._deleted)
        self.slices: Informer[StoredSlice] = Informer(
            client,
            slices,
            Store(self._deleted),
            self._parse_v1beta1 if slices.version == "v1beta1" else self._parse,
            self._slice_changed,
            self._slice_deleted,
            is_unchanged=self._is_unchanged,
            rolled_back=self._roll_back,
        )

    async def require_content(self) -> None:
        """Store attributes, capacities and counters too, which takes several times the memory."""
        self._content = True
        backoff = Backoff()
        while any(one.content is None for one in self.slices.store):
            try:
                await self.slices.resync()
            except ApiError as error:
                await asyncio.sleep(backoff.next(error.retry_after))

    def serve_rules(self, resource: Resource) -> Informer[StoredRule]:
        """Return the informer of DeviceTaintRules, which the API server serves as `resource`."""
        self.rules = Informer(
            self._client,
            resource,
            self._rule_store,
            StoredRule.parse,
            self._rule_changed,
            self._rule_deleted,
            rolled_back=self._roll_back,
        )
        self.rules_known.set()
        return self.rules

    @property
    def synced(self) -> bool:
        """Whether everything that is served was listed."""
        rules = self.rules is None or self.rules.synced.is_set()
        return rules and self.slices.synced.is_set()

    async def wait_rules(self) -> None:
        """Wait until all rules are listed, or the API server does not serve them."""
        await self.rules_known.wait()
        if self.rules is not None:
            await self.rules.synced.wait()

    def stored_rules(self) -> Store[StoredRule]:
        """Return the store of rules; it is empty while they are not served."""
        return self._rule_store

    def _parse(self, document: Document) -> StoredSlice:
        return StoredSlice.parse(document, content=self._content)

    def _parse_v1beta1(self, document: Document) -> StoredSlice:
        return StoredSlice.parse_v1beta1(document, content=self._content)

    def _is_unchanged(self, line: bytes) -> bool:
        return not self._content and is_unchanged(line, partial(self.slices.store.get, ""))

    def _slice_changed(self, fact: StoredSlice) -> None:
        known = self.slices.store.get("", fact.metadata.name)
        if self.slices.store.put(fact):
            for observer in self.slice_observers:
                observer(known, fact)

    def _slice_deleted(self, fact: StoredSlice) -> None:
        known = self.slices.store.drop("", fact.metadata.name, fact.metadata.uid)
        if known is not None:
            for observer in self.slice_observers:
                observer(known, None)

    def _rule_changed(self, fact: StoredRule) -> None:
        known = self._rule_store.get("", fact.metadata.name)
        if self._rule_store.put(fact):
            for observer in self.rule_observers:
                observer(known, fact)

    def _rule_deleted(self, fact: StoredRule) -> None:
        known = self._rule_store.drop("", fact.metadata.name, fact.metadata.uid)
        if known is not None:
            for observer in self.rule_observers:
                observer(known, None)

    def _roll_back(self) -> None:
        self.slices.store.roll_back()
        self._rule_store.roll_back()

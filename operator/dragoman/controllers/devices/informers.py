"""The informers of devices: ResourceSlices, and DeviceTaintRules where they are served.

Several controllers need them, so the facts are stored once: a controller adds itself to the
observers, which receive each change after it was stored.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from dragoman.inventory.facts.skim import is_unchanged
from dragoman.inventory.facts.stored import StoredRule, StoredSlice
from dragoman.kube.client import Client
from dragoman.kube.informer import Informer
from dragoman.kube.resources import Resource
from dragoman.kube.store import DeletedUIDs, Store
from dragoman.kube.storing import storing_informer
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
        self.slice_observers: list[SliceChange] = []
        self.rule_observers: list[RuleChange] = []
        self.rules: Informer[StoredRule] | None = None
        self.rules_known = asyncio.Event()
        self._rule_store: Store[StoredRule] = Store(DeletedUIDs())
        self.slices = storing_informer(
            client,
            slices,
            self._parse_v1beta1 if slices.version == "v1beta1" else self._parse,
            partial(_tell, self.slice_observers),
            is_unchanged=self._is_unchanged,
        )

    async def require_content(self) -> None:
        """Store attributes, capacities and counters too, which takes several times the memory."""
        self._content = True
        # One list: slices that cannot be read stay without.
        if any(one.content is None for one in self.slices.store):
            await self.slices.resync_until_complete()

    def serve_rules(self, resource: Resource) -> Informer[StoredRule]:
        """Return the informer of DeviceTaintRules, which the API server serves as `resource`."""
        self.rules = storing_informer(
            self._client,
            resource,
            StoredRule.parse,
            partial(_tell, self.rule_observers),
            store=self._rule_store,
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


def _tell(observers: list[Callable[[Any, Any], None]], old: Any, new: Any) -> None:
    for observer in observers:
        observer(old, new)

"""Keep slices published: a kubelet deletes those of its node when it starts."""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from urllib3.exceptions import HTTPError

from dragoman_drivers.pretend.loop import RetryLoop
from dragoman_drivers.pretend.slices import Manifest, PretendPool, manifests, owner_of
from dragoman_drivers.throwaway.api import Api, ApiError

PoolKey = tuple[str, str]
"""Names of a node and of a pool on it."""
CONNECTIONS = 8
RESOURCE = "resourceslices"
RETRIED = (ApiError, HTTPError, KeyError)
"""Without API server, or without the Node (KeyError)."""
log = logging.getLogger("dragoman_drivers.pretend")


class Publisher:
    """Publish pools, and repair what others change, for as long as it is started.

    Args:
        api: Acts as the driver.
        pools: Called for what is to be published now.
        render: Makes the slices of a pool.

    Attributes:
        complete: Set when everything was published once.
        settled: By node and name of the pool: what was published, its generation, and the API
            server's generation of each slice.
    """

    def __init__(
        self,
        api: Api,
        pools: Callable[[], Sequence[PretendPool]],
        render: Callable[[PretendPool, int, Mapping[str, Any] | None], list[Manifest]] = manifests,
    ) -> None:
        self.api = api
        self._pools = pools
        self.render = render
        self._owners: dict[str, Mapping[str, Any]] = {}
        self.settled: dict[PoolKey, tuple[PretendPool, int, dict[str, int]]] = {}
        self._loop = RetryLoop(self._compare, "publishing failed", RETRIED)
        self.complete = threading.Event()
        self._noted = False

    def start(self) -> None:
        """Publish, and compare from now on."""
        self._loop.start()

    def stop(self) -> None:
        """Compare no longer; what is published stays."""
        self._loop.stop()

    def published(self) -> bool:
        """Whether the API server has slices of the driver on the first node."""
        return any(self._listed().values())

    def remove(self) -> None:
        """Delete all slices of the driver on its nodes."""
        names = [one["metadata"]["name"] for found in self._listed().values() for one in found]
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            [*threads.map(lambda name: self.api.delete(RESOURCE, name), names)]

    def step(self) -> None:
        """Bring the API server's slices to what is to be published, once."""
        listed = self._listed()
        with ThreadPoolExecutor(CONNECTIONS) as threads:
            [*threads.map(lambda one: self.settle(one, listed.get(_key(one), [])), self._pools())]
        self.complete.set()

    def forget(self) -> None:
        """Compare with nothing that was settled before."""
        self.settled.clear()

    def _compare(self) -> None:
        """Do a step; one that fails leaves unknown what the API server has."""
        try:
            self.step()
        except RETRIED:
            self.forget()
            raise

    def _listed(self) -> dict[PoolKey, list[Mapping[str, Any]]]:
        """Return the driver's slices by pool; other nodes' slices are other instances' business.

        Those of pools that are there no more are with the first pool of their node, as too many.
        """
        pools = self._pools()
        found: dict[PoolKey, list[Mapping[str, Any]]] = {_key(pool): [] for pool in pools}
        first = {pool.node: _key(pool) for pool in reversed(pools)}
        selector = f"spec.driver={pools[0].driver}" if pools else ""
        if len(pools) == 1:
            selector += f",spec.nodeName={pools[0].node}"
        for one in self.api.list(RESOURCE, fieldSelector=selector) if pools else ():
            node = one["spec"].get("nodeName", "")
            if node in first:
                key = node, one["spec"]["pool"]["name"]
                found[key if key in found else first[node]].append(one)
        return found

    def settle(self, pool: PretendPool, there: Sequence[Mapping[str, Any]]) -> None:
        """Bring the slices of one pool to what is to be published."""
        now = {one["metadata"]["name"]: one["metadata"].get("generation", 0) for one in there}
        before = self.settled.get(_key(pool))
        if before and before[0] == pool and before[2] == now:
            return
        last = max((one["spec"]["pool"]["generation"] for one in there), default=0)
        generation = max(last, before[1] if before else 0, 1)
        wanted = self.render(pool, generation, self.owner(pool.node))
        if (before and before[0] != pool) or (there and not before and not same(wanted, there)):
            generation += 1
        wanted = self.render(pool, generation, self.owner(pool.node))
        written = self._write(wanted, {one["metadata"]["name"]: one for one in there})
        self.settled[_key(pool)] = (pool, generation, written)

    def _write(
        self, wanted: Sequence[Manifest], there: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, int]:
        """Write what differs; return the API server's generation of each slice."""

        def write(manifest: Manifest) -> tuple[str, int]:
            made = found = there.get(manifest["metadata"]["name"])
            if found is None:
                made = self.api.create(manifest)
                self._note_dropped(manifest, made)
            elif not same([manifest], [found]):
                version = {"resourceVersion": found["metadata"]["resourceVersion"]}
                made = self.api.update(
                    {**manifest, "metadata": {**manifest["metadata"], **version}}
                )
            meta = (made or {})["metadata"]
            return meta["name"], meta.get("generation", 0)

        if len(wanted) == 1:
            written = dict(map(write, wanted))
        else:
            with ThreadPoolExecutor(CONNECTIONS) as threads:
                written = dict(threads.map(write, wanted))
        for name in there.keys() - written.keys():
            self.api.delete(RESOURCE, name)
        return written

    def _note_dropped(self, sent: Manifest, stored: Mapping[str, Any]) -> None:
        """Log once which fields the API server does not know, or has switched off."""
        if not self._noted and not _includes(stored["spec"], sent["spec"]):
            self._noted = True
            log.warning("the API server drops fields of %s", sent["metadata"]["name"])

    def owner(self, node: str) -> Mapping[str, Any]:
        """Return the owner reference of a node's slices."""
        if node not in self._owners:
            self._owners[node] = owner_of(self.api.get("nodes", node))
        return self._owners[node]


def _key(pool: PretendPool) -> PoolKey:
    return pool.node, pool.title


def same(wanted: Sequence[Manifest], there: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the API server has these slices, apart from what it adds by itself."""
    found = {one["metadata"]["name"]: one for one in there}
    return len(wanted) == len(there) and all(
        one["metadata"]["name"] in found
        and _includes(found[one["metadata"]["name"]]["spec"], one["spec"])
        and bool(found[one["metadata"]["name"]]["metadata"].get("ownerReferences"))
        == bool(one["metadata"].get("ownerReferences"))
        for one in wanted
    )


def _includes(found: Any, wanted: Any) -> bool:
    """Whether a value has all that is wanted: the server adds defaults such as `timeAdded`."""
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and _includes(found[key], value) for key, value in wanted.items() if value
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(map(_includes, found, wanted))
        )
    return bool(found == wanted)

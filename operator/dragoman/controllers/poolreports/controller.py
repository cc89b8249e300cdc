"""Writes DevicePoolReports: one per pool, only on change, and at most every 30 seconds."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from dragoman import surroundings
from dragoman.allocation.features import Profile
from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.context import Context
from dragoman.inventory.facts.stored import StoredRule, StoredSlice
from dragoman.inventory.poolstatus.reports import pool_inventory, report, report_name
from dragoman.kube.client import APPLY_PATCH, FIELD_MANAGER, find, items
from dragoman.kube.controller import Controller
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import DEVICEPOOLREPORTS
from dragoman.kube.workqueue import WorkQueue
from dragoman.logs import logger
from dragoman.model.claim import Claim
from dragoman.model.deviceid import PoolID

PERIOD = 30.0
"""Shortest time in seconds between two writes of one report."""

log = logger("dragoman.poolreports")


class PoolReports:
    """Keeps the DevicePoolReport of each pool up to date, while this process leads.

    Args:
        context: Of the process.
        cluster: It stores claims, slices with content, and rules.
        holders: Whether reports name the claims that hold devices.
        profile: How the scheduler of the cluster behaves.
        clock: Monotonic seconds.

    Attributes:
        queue: Pools whose report may have changed.
    """

    def __init__(
        self,
        context: Context,
        cluster: ClusterStores,
        *,
        holders: bool,
        profile: Profile,
        clock: Callable[[], float] = surroundings.monotonic,
    ) -> None:
        self._context = context
        self._client = context.client
        self._devices = devices = cluster.part(DeviceStores)
        self._stored = cluster.claims.store
        self._holders = holders
        self._profile = profile
        self._clock = clock
        self._written: dict[str, dict[str, Any]] = {}
        self._wrote_at: dict[str, float] = {}
        self._slices: defaultdict[PoolID, dict[str, StoredSlice]] = defaultdict(dict)
        self._claims: defaultdict[PoolID, dict[tuple[str, str], None]] = defaultdict(dict)
        self._names: dict[str, PoolID] = {}
        self.queue: WorkQueue[PoolID] = WorkQueue("pool-reports")
        self._controller = Controller(
            self.queue, self._reconcile, self._enqueue_all, describe=PoolID._asdict
        )
        devices.slices.observe(self.slice_changed)
        cluster.claims.observe(self.claim_changed)
        devices.rules.observe(self.rule_changed)

    async def run(self) -> None:
        """Write reports until cancelled; call it only while this process leads."""
        await self._devices.slices.synced.wait()
        await self._list()
        await self._controller.run()

    def slice_changed(self, old: StoredSlice | None, new: StoredSlice | None) -> None:
        """Enqueue the pool of a slice."""
        if old is not None:
            self._slices[old.pool_id].pop(old.metadata.name, None)
            self.queue.add(old.pool_id)
        if new is not None:
            self._slices[new.pool_id][new.metadata.name] = new
            self.queue.add(new.pool_id)

    def rule_changed(self, old: StoredRule | None, new: StoredRule | None) -> None:
        """Enqueue the pools that a rule selects, or did before."""
        for found in (old, new):
            if found is not None:
                for pool in list(self._slices):
                    if found.rule.concerns(*pool):
                        self.queue.add(pool)

    def claim_changed(self, old: Claim | None, new: Claim | None) -> None:
        """Enqueue the pools of a claim whose allocation changed."""
        if old is not None and new is not None and old.devices == new.devices:
            return
        if old is not None:
            for pool in _pools(old):
                if pool in self._claims:
                    self._claims[pool].pop(_place(old), None)
                self.queue.add(pool)
        if new is not None:
            for pool in _pools(new):
                self._claims[pool][_place(new)] = None
                self.queue.add(pool)

    def _enqueue_all(self) -> None:
        for pool in {*self._slices, *self._names.values()}:
            self.queue.add(pool)

    async def _list(self) -> None:
        """Learn what an earlier leader wrote, so that only changes are written."""
        self._written.clear()
        self._names.clear()
        try:
            async for item in items(self._client, DEVICEPOOLREPORTS.path()):
                name, spec = item["metadata"]["name"], item["spec"]
                self._written[name] = item.get("report") or {}
                self._names[name] = PoolID(spec["driver"], spec["pool"])
        except ApiError as error:
            log.warning("Cannot list DevicePoolReports", code=error.code, error=str(error))

    async def _reconcile(self, pool: PoolID) -> None:
        name = report_name(pool)
        slices = self._slices.get(pool)
        if not slices:
            self._slices.pop(pool, None)
            if not self._claims.get(pool):
                self._claims.pop(pool, None)
            await self._delete(name)
            return
        found = self.document(pool)
        if self._written.get(name) == found:
            self.queue.forget(pool)
            return
        wait = self._wrote_at.get(name, float("-inf")) + PERIOD - self._clock()
        if wait > 0:
            self.queue.add_after(pool, wait)
            return
        await self._write(name, pool, found)
        self.queue.forget(pool)

    def document(self, pool: PoolID) -> dict[str, Any]:
        """Return the report of a pool that has slices."""
        found = (self._stored.get(*place) for place in self._claims.get(pool, ()))
        claims = [claim for claim in found if claim is not None]
        rules = [one.rule for one in self._devices.rules.store]
        slices = self._slices[pool].values()
        inventory = pool_inventory(pool, slices, claims, rules, self._profile)
        return report(pool, inventory, holders=self._holders)

    async def _write(self, name: str, pool: PoolID, found: dict[str, Any]) -> None:
        body = {
            "apiVersion": DEVICEPOOLREPORTS.api_version,
            "kind": "DevicePoolReport",
            "metadata": {"name": name},
            "spec": {"driver": pool.driver, "pool": pool.pool},
            "report": found,
        }
        path = DEVICEPOOLREPORTS.path(name=name)
        query = {"fieldManager": FIELD_MANAGER, "force": "true"}
        await self._context.writing.request("PATCH", path, body, APPLY_PATCH, query)
        self._written[name], self._names[name] = found, pool
        self._wrote_at[name] = self._clock()

    async def _delete(self, name: str) -> None:
        if name not in self._written:
            return
        path = DEVICEPOOLREPORTS.path(name=name)
        try:
            await self._context.writing.delete(path, {})
        except ApiError as error:
            if error.code != 404 or await find(self._client, path) is not None:
                raise
        for known in (self._written, self._names, self._wrote_at):
            known.pop(name, None)


def _pools(claim: Claim) -> set[PoolID]:
    return {one.id.pool_id for one in claim.devices}


def _place(claim: Claim) -> tuple[str, str]:
    return claim.metadata.namespace, claim.metadata.name

"""Counts device-seconds while this process leads, and keeps them in a ConfigMap for the next.

Writes carry the resourceVersion that was read or written before: a leader that stalled cannot undo
what its successor wrote.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from dragoman import surroundings
from dragoman.cluster.cluster import ClusterStores
from dragoman.cluster.devices import DeviceStores
from dragoman.controllers.context import Context
from dragoman.controllers.explain.explainstate import ExplainState
from dragoman.inventory.usage.deviceseconds import (
    LABELS,
    DeviceSeconds,
    Key,
    Record,
    RecordError,
    rates,
    since,
)
from dragoman.kube.backoff import Backoff
from dragoman.kube.client import find
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import CONFIGMAPS
from dragoman.logs import logger
from dragoman.model.claim import Claim
from dragoman.model.fields import parts
from dragoman.model.pod import Pod

NAME = "dragoman-device-seconds"
"""The ConfigMap, in the operator's namespace."""
PERIOD = 60.0
"""Seconds between two writes of it."""
LAST_TIMEOUT = 1.0
"""Seconds that the last write may delay a stop."""
AHEAD = 60.0
"""Seconds by which clocks of machines may differ without a word."""

log = logger("dragoman.usage")


class UsageController(Collector):
    """Follows claims and the pods that wait for them; exports nothing before the record is read.

    Args:
        context: Of the process.
        state: What has to be listed first.
        cluster: Stores claims with content, and pods without a node as a whole.
        namespace: Where the ConfigMap is.
        limit: How many series of namespaces there are at most.
    """

    def __init__(
        self,
        context: Context,
        state: ExplainState,
        cluster: ClusterStores,
        namespace: str,
        limit: int,
    ) -> None:
        self._context = context
        self._state = state
        self._claims, self._pods = cluster.claims.store, cluster.pods.store
        self._classes = cluster.part(DeviceStores).classes.store
        self._namespace = namespace
        self._path = CONFIGMAPS.path(namespace, NAME)
        self._limit = limit
        self._usage: DeviceSeconds | None = None
        self._kept: Record | None = None
        self._began = (0.0, 0.0)
        self._stored: dict[str, Any] = {}
        self._named: set[str] = set()
        cluster.claims.observe(self._claim_changed)
        cluster.pods.observe(self._pod_changed)

    async def run(self) -> None:
        """Count until cancelled; call it only while this process leads."""
        await self._state.wait_listed()
        record = await self._read()
        self._begin(record)
        try:
            while True:
                await self._write()
                await asyncio.sleep(PERIOD)
        finally:
            try:
                async with asyncio.timeout(LAST_TIMEOUT):
                    # A write that was cancelled may have been applied: the next one conflicts.
                    await self._write() or await self._write()
            except TimeoutError:
                log.warning("Cannot keep device-seconds", name=NAME, error="no answer in time")
            self._usage = self._kept = None

    async def _read(self) -> Record | None:
        """Read what was kept; without it, a count from now on would contradict the last one."""
        backoff = Backoff()
        while True:
            try:
                await self._find()
                return Record.parse(self._stored.get("data") or {})
            except RecordError as error:
                log.error("Cannot read device-seconds: counting again", name=NAME, error=str(error))
                return Record(surroundings.unix())
            except ApiError as error:
                log.warning("Cannot read device-seconds", name=NAME, error=str(error))
                await asyncio.sleep(backoff.next(error.retry_after))

    async def _find(self) -> None:
        """Read the ConfigMap, or create it."""
        client = self._context.client
        found = await find(client, self._path)
        if found is None:
            metadata = {"name": NAME, "namespace": self._namespace}
            empty = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
            found = await client.post(CONFIGMAPS.path(self._namespace), empty)
        self._stored = found

    def _begin(self, record: Record | None) -> None:
        wall = surroundings.unix()
        if record is not None and record.through > wall + AHEAD:
            log.warning(
                "The clock was ahead when device-seconds were kept", seconds=record.through - wall
            )
        self._began = (wall, surroundings.monotonic())
        self._usage = DeviceSeconds(record, wall, self._limit)
        for claim in self._claims:
            said = claim.held is None or bool(claim.allocated_at)
            self._usage.begin(claim.metadata.uid, self._rates(claim), wall, since(claim), said=said)
        log.info("Counting device-seconds", through=record.through if record else None)

    def _now(self) -> float:
        """Return Unix time; clocks that are set while the process runs do not change it."""
        wall, monotonic = self._began
        return wall + surroundings.monotonic() - monotonic

    async def _write(self) -> bool:
        """Keep the totals; return whether they are kept, as what is not is tried again."""
        if self._usage is None or not self._context.leading():
            return True
        for namespace in sorted(self._usage.folded - self._named):
            log.warning("Counting device-seconds of a namespace as _other", namespace=namespace)
            self._named.add(namespace)
        record = self._usage.record(self._now(), surroundings.unix())
        try:
            try:
                body = {**self._stored, "data": record.data()}
                self._stored = await self._context.client.put(self._path, body)
            except ApiError as error:
                if error.code in {404, 409}:
                    await self._find()
                raise
        except ApiError as error:
            log.warning("Cannot keep device-seconds", name=NAME, error=str(error))
            return False
        self._kept = record
        return True

    def _claim_changed(self, old: Claim | None, new: Claim | None) -> None:
        if self._usage is None:
            return
        now = self._now()
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._usage.change(old.metadata.uid, {}, now)
        if new is not None:
            self._usage.change(new.metadata.uid, self._rates(new), now)

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        found = new or old
        if self._usage is None or found is None:
            return
        for name in {name for one in (old, new) if one is not None for name in one.claim_names()}:
            claim = self._claims.get(found.metadata.namespace, name)
            if claim is not None and claim.held is None:
                self._usage.change(claim.metadata.uid, self._rates(claim), self._now())

    def _rates(self, claim: Claim) -> Mapping[Key, int]:
        place = (claim.namespace, claim.name)
        waits = claim.held is None and any(map(_waits, self._pods.find("claim", place)))
        return rates(claim, self._is_class, waits=waits)

    def _is_class(self, name: str) -> bool:
        return self._classes.get("", name) is not None

    @staticmethod
    def describe() -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Yield the metrics without samples, for documentation."""
        meanings = {
            "dragoman_device_seconds": "Devices times seconds for which they were allocated, "
            "without admin access; shared devices count by their capacities alone.",
            "dragoman_capacity_seconds": "Capacity that shares consumed times seconds, in the unit "
            "of the capacity.",
            "dragoman_claim_waiting_seconds": "Seconds for which pods without scheduling gates "
            "waited for claims; a claim counts in each class that it names.",
        }
        kept = " Kept in a ConfigMap over restarts; on the leader only, with --device-metrics."
        for labels, (name, meaning) in zip(LABELS.values(), meanings.items(), strict=True):
            yield CounterMetricFamily(name, meaning + kept, labels=labels)
        yield GaugeMetricFamily(
            "dragoman_device_seconds_unseeded",
            "Claims of which the API does not say when they were allocated: what they had used "
            "before this process led is guessed from when their status was written.",
        )
        yield GaugeMetricFamily(
            "dragoman_device_seconds_folded",
            'Namespaces beyond --usage-series-limit, which count as namespace="_other".',
        )

    def collect(self) -> Iterator[Metric]:
        """Yield the totals as they were kept last; followers, which count nothing, have none."""
        if self._usage is None or self._kept is None:
            return
        *totals, guessed, folded = families = tuple(self.describe())
        kinds = dict(zip(LABELS, totals, strict=True))
        for (kind, *labels), (value, _) in sorted(self._kept.totals.items()):
            kinds[kind].add_metric(labels, value)
        guessed.add_metric([], self._usage.guessed)
        folded.add_metric([], len(self._usage.folded))
        yield from families


def _waits(pod: Pod) -> bool:
    """Whether a pod waits for a node, and no scheduling gate holds it back."""
    held = parts(pod.waiting or {}, "spec", "schedulingGates")
    return not (pod.node_name or pod.done or pod.metadata.deleting or held)

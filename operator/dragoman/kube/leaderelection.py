"""Leader election on a Lease (coordination.k8s.io/v1), as client-go does it.

Every replica keeps its facts warm; only the leader's workers write. Time is measured by the local
monotonic clock alone: a candidate waits LeaseDuration from when it last saw the record change, a
leader stops RenewDeadline after it began its last successful renewal, so it has stopped before
another may start. Every write besides is idempotent or carries a precondition.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from dragoman import metrics, surroundings
from dragoman.kube.client import Client, find
from dragoman.kube.errors import ApiError
from dragoman.kube.resources import LEASES
from dragoman.logs import logger

RELEASE_TRIES = 3
RELEASE_TIMEOUT = 1.0
"""Seconds that releasing the Lease may delay a stop."""

log = logger("dragoman.leader")


@dataclass(frozen=True, slots=True)
class LeaderElectionConfig:
    """How a Lease is held; seconds."""

    # How long other replicas wait after the last renewal before they take over
    duration: float = 15.0
    renew_deadline: float = 10.0  # How long a leader continues without a successful renewal
    retry_period: float = 2.0  # Time between attempts

    def __post_init__(self) -> None:
        """Raise ValueError for durations under which two replicas could lead."""
        if not self.retry_period < self.renew_deadline < self.duration:
            raise ValueError(
                "expected retry period < renew deadline < lease duration, found "
                f"{self.retry_period:g} s, {self.renew_deadline:g} s, {self.duration:g} s"
            )


@dataclass
class LeaderElector:
    """Acquires, renews and releases a Lease."""

    client: Client  # Where the Lease is
    namespace: str  # Its namespace
    name: str  # Its name
    config: LeaderElectionConfig = field(default_factory=LeaderElectionConfig)  # Its durations
    identity: str = field(default_factory=surroundings.identity)
    # Kept on the Lease by the leader; the next leader reads them here
    annotations: dict[str, str] = field(default_factory=dict)
    _lease: dict[str, Any] | None = None
    _record: tuple[str, str] = ("", "")
    _seen: float = 0.0
    _renewed: float = float("-inf")
    _hurry: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def _place(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def leading(self) -> bool:
        """Whether this process may write now."""
        return surroundings.monotonic() < self._renewed + self.config.renew_deadline

    async def run(self, lead: Callable[[], Coroutine[None, None, None]]) -> None:
        """Compete for the Lease until cancelled; cancel `lead` when the Lease is lost."""
        try:
            while True:
                if await self._try():
                    await self._hold(lead)
                # Half the period: a released Lease is acquired within one period.
                luck = surroundings.chance().random()
                await asyncio.sleep(self.config.retry_period * (0.5 + luck / 4))
        finally:
            await asyncio.shield(self._release())

    def annotate(self, key: str, value: str) -> None:
        """Write an annotation with the next renewal; only the leader renews."""
        if self.annotations.get(key) != value:
            self.annotations[key] = value
            self._hurry.set()

    async def _hold(self, lead: Callable[[], Coroutine[None, None, None]]) -> None:
        log.info("Leading", identity=self.identity, lease=self._place)
        metrics.LEADER.labels(self.name).set(1)
        work = asyncio.create_task(lead())
        try:
            while self.leading and not work.done():
                await self._pause(work)
                if not self.leading:
                    # The process stalled for longer than the deadline: another replica may lead.
                    break
                await self._try()
        finally:
            metrics.LEADER.labels(self.name).set(0)
            work.cancel()
            await asyncio.wait({work})
        if not work.cancelled():
            work.result()
        log.warning("No longer leading", identity=self.identity)

    async def _pause(self, work: asyncio.Task[None]) -> None:
        """Sleep until the next renewal, the renewal deadline, or a new annotation."""
        left = self._renewed + self.config.renew_deadline - surroundings.monotonic()
        hurry = asyncio.create_task(self._hurry.wait())
        both: set[asyncio.Task[Any]] = {hurry, work}
        timeout = max(0.0, min(self.config.retry_period, left))
        try:
            await asyncio.wait(both, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hurry.cancel()
            self._hurry.clear()

    async def _try(self) -> bool:
        """Acquire or renew the Lease; returns whether this process leads."""
        began = surroundings.monotonic()
        left = self._renewed + self.config.renew_deadline - began
        try:
            async with asyncio.timeout(left if left > 0 else self.config.renew_deadline):
                taken = await self._take()
        except (ApiError, TimeoutError) as error:
            log.warning("Cannot renew lease", lease=self._place, error=str(error))
            self._lease = None
            return self.leading
        if taken:
            self._renewed = began
        else:
            self._renewed = float("-inf")
        return taken

    async def _take(self) -> bool:
        """Acquire or renew; retry a conflict once, because it may concern only an annotation."""
        for _ in range(2):
            if self._lease is None or not self.leading:
                self._lease = await find(self.client, LEASES.path(self.namespace, self.name))
            if self._lease is None:
                self._lease = await self._create()
                return self._lease is not None
            if not self._may_take(self._lease.get("spec") or {}):
                return False
            if await self._write(self._claim(self._lease.get("spec") or {})):
                return True
        return False

    def _may_take(self, spec: dict[str, Any]) -> bool:
        holder = spec.get("holderIdentity") or ""
        record = (holder, str(spec.get("renewTime")))
        if record != self._record:
            self._record, self._seen = record, surroundings.monotonic()
        if holder == self.identity:
            return True
        if holder and not self._expired(spec):
            return False
        self.annotations = self._kept()
        return True

    def _expired(self, spec: dict[str, Any]) -> bool:
        duration = float(spec.get("leaseDurationSeconds") or self.config.duration)
        return surroundings.monotonic() >= self._seen + duration

    def _kept(self) -> dict[str, str]:
        found = ((self._lease or {}).get("metadata") or {}).get("annotations") or {}
        return {key: value for key, value in found.items() if key.startswith("dragoman.dev/")}

    def _claim(self, spec: dict[str, Any]) -> dict[str, Any]:
        now = _micro_time()
        mine = spec.get("holderIdentity") == self.identity
        return {
            **spec,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, round(self.config.duration)),
            "acquireTime": spec.get("acquireTime") if mine else now,
            "renewTime": now,
            "leaseTransitions": int(spec.get("leaseTransitions") or 0) + (0 if mine else 1),
        }

    async def _create(self) -> dict[str, Any] | None:
        lease = {
            "apiVersion": LEASES.api_version,
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": self._claim({}),
        }
        try:
            return await self.client.post(LEASES.path(self.namespace), lease)
        except ApiError as error:
            if error.code == 409:
                return None
            raise

    async def _write(self, spec: dict[str, Any]) -> bool:
        """PUT the Lease; a conflict means that another replica was faster."""
        assert self._lease is not None
        metadata = self._lease["metadata"]
        annotations = {**(metadata.get("annotations") or {}), **self.annotations}
        body = {
            **self._lease,
            "metadata": {**metadata, "annotations": annotations},
            "spec": spec,
        }
        try:
            self._lease = await self.client.put(LEASES.path(self.namespace, self.name), body)
        except ApiError as error:
            self._lease = None
            if error.code in {404, 409}:
                return False
            raise
        self._record = (self.identity, str(spec["renewTime"]))
        return True

    async def _release(self) -> None:
        """Release the Lease at a clean stop, so that the next leader need not wait."""
        if not self.leading:
            return
        self._renewed = float("-inf")
        try:
            async with asyncio.timeout(RELEASE_TIMEOUT):
                released = await self._give_back()
        except (ApiError, TimeoutError) as error:
            log.warning("Cannot release lease", error=str(error))
        else:
            log.info(
                "Released lease" if released else "Another replica holds the lease",
                lease=self._place,
            )

    async def _give_back(self) -> bool:
        """Write an empty holder; retry, because a cancelled renewal may still be applied."""
        for _ in range(RELEASE_TRIES):
            if self._lease is None:
                self._lease = await find(self.client, LEASES.path(self.namespace, self.name))
            spec = (self._lease or {}).get("spec") or {}
            if spec.get("holderIdentity") != self.identity:
                return False
            released = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": _micro_time()}
            if await self._write({**spec, **released}):
                return True
        return False


def _micro_time() -> str:
    return surroundings.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")

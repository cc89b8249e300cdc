"""The driver with one fault: each breaks the check that `faults.MUTANTS` names."""

import contextlib
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dragoman_drivers.kubeletplugin import messages, server
from dragoman_drivers.kubeletplugin.messages import (
    ClaimReference,
    DeviceHealth,
    PluginInfo,
    Prepared,
    PreparedDevice,
)
from dragoman_drivers.pretend import cdi
from dragoman_drivers.pretend.checkpoint import CheckpointError
from dragoman_drivers.pretend.driver import Driver
from dragoman_drivers.pretend.preparation import Preparation, PreparationFacts, RefusalError
from dragoman_drivers.pretend.slices import Manifest, PretendPool
from dragoman_drivers.throwaway.api import Api, ApiError
from tests.support.mutants import slices
from tests.support.mutants.publisher import MutantPublisher
from tests.support.mutants.table import MUTANTS

ASKED = {
    "reads-secrets": "/api/v1/secrets",
    "forbidden": "/apis/apps/v1/deployments",
    "old-api": "/apis/resource.k8s.io/v1beta1/resourceslices",
}
"""What is asked of the API server at the start."""
NOBODY = 65534
LONG = "-of-a-driver-with-a-long-name"
LATE = 0.5
"""Seconds that a document comes after the answer."""
CROSSING = 0.1
"""Seconds between an unprepare and a prepare that cross each other."""


class Mutant(Driver):
    """A driver that misbehaves as its faults say; without any it is the driver itself."""

    further = MUTANTS
    _busy: threading.Lock = threading.Lock()
    _counted = 0
    _registered_once = False
    _last_stream = 0

    def __init__(self, api: Api, kubelet: Path, specs: Path, **options: Any) -> None:
        super().__init__(api, kubelet, specs, **options)
        self._unprepared: dict[str, float] = {}
        self._own = MutantPublisher(api, lambda: [self.published_pool()], self.render)
        self._own.faults = lambda: self.faults
        self._publisher = self._own

    def liveness(self) -> tuple[int, str]:
        """Return status and text of a probe."""
        return (200, "ok\n") if "always-live" in self.faults else super().liveness()

    def metrics(self) -> dict[str, float]:
        """Return the series and their values."""
        found = super().metrics()
        for fault, part in (("uncounted-errors", '"error"'), ("untimed", "_seconds_total")):
            if fault in self.faults:
                found = {name: value for name, value in found.items() if part not in name}
        if "claim-labels" in self.faults:
            found |= {f'pretend_prepare{{claim="{one.claim.uid}"}}': 1 for one in self.deeds}
        return dict.fromkeys(found, 0) if "still-metrics" in self.faults else found

    # Registration -----------------------------------------------------------------------------

    @property
    def registration(self) -> Path:
        """The socket that the kubelet looks for."""
        path = super().registration
        return path.with_name(f".{path.name}") if "hidden-socket" in self.faults else path

    def info(self) -> PluginInfo:
        """Answer GetInfo."""
        if "registers-once" in self.faults and self._registered_once:
            raise OSError("registered before")
        found = super().info()
        if "slow-info" in self.faults:
            time.sleep(3)
        if "other-name" in self.faults:
            found = replace(found, name=found.name.replace(".", "-", 1))
        if "relative-endpoint" in self.faults:
            found = replace(found, endpoint=str(self.endpoint.relative_to(self.registry.parent)))
        if "no-version" in self.faults:
            found = replace(found, versions=("1.0.0",))
        if "no-health-v1" in self.faults:
            versions = tuple(one for one in found.versions if one != messages.HEALTH_V1)
            found = replace(found, versions=versions)
        if "no-v1beta1" in self.faults:
            found = replace(found, versions=(messages.V1, messages.HEALTH_V1, messages.HEALTH))
        if "no-v1" in self.faults:
            found = replace(found, versions=(messages.V1BETA1, messages.HEALTH))
        return found

    @property
    def endpoint(self) -> Path:
        """The socket of the DRA service."""
        path = super().endpoint
        return path.with_stem(path.stem + LONG) if "long-socket" in self.faults else path

    def _registered(self, status: bytes, alive: server.Alive) -> bytes:
        self._registered_once = not messages.read_registration(status)
        return super()._registered(status, alive)

    def streams(self) -> Mapping[str, Mapping[str, server.Stream]]:
        """Return the services that stream."""
        return {} if "unserved-health" in self.faults else super().streams()

    def refused(self, error: str) -> None:
        """Report that the kubelet did not register the driver."""
        if "exit-on-refusal" in self.faults:
            os._exit(1)
        if "silent-on-refusal" not in self.faults:
            super().refused(error)

    def start(self) -> None:
        """Start, with what may go wrong before."""
        if "upper-case" in self.faults:
            self.name = self.name.capitalize()
            self.pool = replace(self.pool, driver=self.name)
        if "never-binds" in self.faults:
            self._binder.pool = replace(self._binder.pool, devices=())
        self._fail_at_start()
        if "early-registration" in self.faults:
            self.registry.mkdir(parents=True, exist_ok=True)
            self.register()
            time.sleep(1)
            self._servers.pop().stop(grace=None)
        super().start()
        if "open-sockets" in self.faults:
            self.endpoint.chmod(0o777)
        for fault, path in ASKED.items():
            if fault in self.faults:
                with contextlib.suppress(ApiError):
                    self._api.request("GET", path)

    def _fail_at_start(self) -> None:
        """Raise where a fault does not bear what it finds."""
        if "stale-socket" in self.faults and self.endpoint.exists():
            raise OSError(f"{self.endpoint}: address already in use")
        if "single-instance" in self.faults and self.registry.is_dir() and self.others_run():
            raise OSError("another instance runs")
        if "needs-old-api" in self.faults:
            served = self._api.request("GET", "/apis/resource.k8s.io")["versions"]
            if "v1beta1" not in {one["version"] for one in served}:
                raise OSError("v1beta1 is not served")
        if "needs-api" in self.faults or "needs-node" in self.faults:
            self._api.get("nodes", self.node)
        if "fixed-cdi" in self.faults and not self.specs.is_dir():
            raise OSError(f"{self.specs} does not exist")

    def leave(self) -> None:
        """Stop in order."""
        if "ignores-sigterm" in self.faults:
            time.sleep(60)
        if "cuts-calls" in self.faults:
            self.registration.unlink(missing_ok=True)
            os._exit(0)
        if "wipes-at-exit" in self.faults:
            self.stop()
            self._publisher.remove()
            return
        if "rewrites-at-exit" in self.faults:
            self._own.write_again()
        super().leave()

    # Answers ----------------------------------------------------------------------------------

    def answer(
        self, claims: Sequence[ClaimReference], alive: server.Alive
    ) -> dict[str, Prepared | str]:
        """Answer NodePrepareResources."""
        if "panics" in self.faults and any(not claim.uid for claim in claims):
            os._exit(2)
        found = super().answer(claims, alive)
        if "extra-uid" in self.faults:
            found["00000000-0000-0000-0000-000000000000"] = ()
        errors = [one for one in found.values() if isinstance(one, str)]
        if "whole-batch" in self.faults and errors:
            found = dict.fromkeys(found, errors[0])
        return found

    def prepare_one(self, claim: ClaimReference, alive: server.Alive) -> Prepared | str:
        """Prepare one claim."""
        if "follows-paths" in self.faults:
            with contextlib.suppress(OSError, ValueError):
                (self.folder / claim.name).write_text("")
        if "one-at-a-time" in self.faults:
            if not self._busy.acquire(blocking=False):
                return "busy"
            try:
                time.sleep(0.05)
                return self._prepared_one(claim, alive)
            finally:
                self._busy.release()
        return self._prepared_one(claim, alive)

    def _prepared_one(self, claim: ClaimReference, alive: server.Alive) -> Prepared | str:
        found = super().prepare_one(claim, (lambda: True) if self._ignores_cancel else alive)
        if isinstance(found, str):
            if "empty-success" in self.faults and "no devices" in found:
                return ()
            if "default-device" in self.faults and ("injected" in found or "500" in found):
                return (PreparedDevice(("r0",), self.node, "gpu-0", ()),)
            return found
        if "slow-results" in self.faults:
            time.sleep(2 * len(found))
        self._write_status(claim, found[0].device if found else "")
        if "forgets-seventh" in self.faults:
            self._counted += 1
            if self._counted % 7 == 0:
                with self._checkpoint.locked():
                    prepared = self._checkpoint.read()
                    prepared.pop(claim.uid, None)
                    self._checkpoint.write(prepared)
        return tuple(map(self._altered, found))

    def _write_status(self, claim: ClaimReference, device: str) -> None:
        """Report a device in the claim's status as a fault does."""
        writers = {
            "wrong-status": ("not-allocated", self.name),
            "shared-manager": (device, "kube-scheduler"),
            "manager-per-start": (device, f"{self.name}-{os.getpid()}-{self._started:.0f}"),
        }
        for fault, (reported, manager) in writers.items():
            found = super().read(claim) if fault in self.faults else None
            if found:
                key = {"driver": self.name, "pool": self.pool.title, "device": reported}
                status = {**found["status"], "devices": [{**key, "data": {"by": manager}}]}
                with contextlib.suppress(ApiError):
                    self._api.update({**found, "status": status}, "status", fieldManager=manager)

    @property
    def _ignores_cancel(self) -> bool:
        return "ignores-cancel" in self.faults

    def _altered(self, one: PreparedDevice) -> PreparedDevice:
        """Return a device as a fault answers it."""
        if "no-pool" in self.faults:
            one = replace(one, pool="")
        if "bad-cdi-id" in self.faults:
            one = replace(one, cdi=tuple(name.replace("=", "/device=") for name in one.cdi))
        if "whole-request" in self.faults:
            one = replace(one, requests=tuple(f"{name}/big" for name in one.requests))
        if "no-share" in self.faults:
            one = replace(one, share="")
        if "shared-names" in self.faults:
            one = replace(one, cdi=(cdi.device_id(self.name, "all", one.device),))
        if "answers-differ" in self.faults:
            self._counted += 1
            one = replace(one, cdi=(*one.cdi, *(f"{name}-{self._counted}" for name in one.cdi)))
        return one

    def refuse(self, claim: ClaimReference, why: str) -> str:
        """Return why a claim is not prepared."""
        return why if "silent-failure" in self.faults else super().refuse(claim, why)

    def read(self, claim: ClaimReference) -> Mapping[str, Any] | None:  # noqa: C901 — one branch for each fault
        """Read a claim."""
        if "waits-for-api" in self.faults:
            where = self._api.resource("resourceclaims").path(claim.namespace, claim.name)
            found: Mapping[str, Any] = self._api.request("GET", where, timeout=120)
            return found
        found = super().read(claim) or {}
        if found and "any-uid" in self.faults:
            found = {**found, "metadata": {**found["metadata"], "uid": claim.uid}}
        if found and "all-drivers" in self.faults:
            for one in self._results(found):
                one["driver"] = self.name
                if one["device"].startswith("other"):
                    one["device"] = self.pool.devices[-1]["name"]
        if found and "admin-takes" in self.faults:
            for one in self._results(found):
                one.pop("adminAccess", None)
        if found and "any-amount" in self.faults:
            for one in self._results(found):
                one.pop("consumedCapacity", None)
        if found and "first-config" in self.faults:
            devices = found.get("status", {}).get("allocation", {}).get("devices", {})
            devices["config"] = [*reversed(devices.get("config", []))]
        return found or None

    @staticmethod
    def _results(claim: Mapping[str, Any]) -> list[dict[str, Any]]:
        allocation = claim.get("status", {}).get("allocation", {})
        found: list[dict[str, Any]] = allocation.get("devices", {}).get("results", [])
        return found

    def facts(self, others: Iterable[Preparation]) -> PreparationFacts:
        """Return what decisions depend on."""
        found = super().facts(others)
        if "any-config" in self.faults:
            found = replace(found, validate=lambda _: "")
        if "double" in self.faults or "own-state" in self.faults:
            found = replace(found, others=())
        if "lost-accepted" in self.faults:
            found = replace(found, devices=None)
        return found

    def set_up(
        self, claim: ClaimReference, seen: Mapping[str, Any] | None, alive: server.Alive
    ) -> Prepared:
        """Prepare a claim that was read."""
        if "admin-configs" in self.faults and seen:
            for one in self._results(seen):
                if one.pop("adminAccess", None):
                    one["shareID"] = "admin"
        if "changes-first" in self.faults:
            (self.specs / "touched.json").write_text("{}")
        if "races" in self.faults and claim.uid not in self.prepared:
            time.sleep(0.02)
            self._counted += 1
            extra = f"-{self._counted}"
            found = super().set_up(claim, seen, alive)
            return tuple(replace(one, cdi=(*one.cdi, one.cdi[0] + extra)) for one in found)
        try:
            return super().set_up(claim, seen, alive)
        except (OSError, RefusalError) as error:
            if "commits-first" in self.faults and isinstance(error, OSError):
                with self._checkpoint.locked():
                    prepared = self._checkpoint.read()
                    owned = frozenset(one["device"] for one in self._results(seen or {}))
                    ready = Preparation(replace(claim, uid=f"x{claim.uid}"), (), {}, owned)
                    self._checkpoint.write({**prepared, ready.claim.uid: ready})
            raise

    # Documents --------------------------------------------------------------------------------

    def describe(self, ready: Preparation) -> None:
        """Write a claim's CDI document."""
        target = self.document_path(ready.claim.uid)
        known = target.exists()
        if "trusts-documents" in self.faults and ready.claim.uid in self._checkpoint.read():
            fresh = threading.current_thread().name != "MainThread" and not self._restoring(ready)
            if not fresh:
                return
        if "late-prepare" in self.faults:
            self._finish_late(ready)
        if "late-document" in self.faults and not known:
            threading.Timer(LATE, self._described_late, [ready]).start()
            return
        super().describe(ready)
        text = target.read_text()
        changed = slices.document(text, self.faults.mutants, ready)
        if "not-atomic" in self.faults and not known:
            with target.open("w") as file:
                file.write(text[: len(text) // 2])
                file.flush()
                file.write(text[len(text) // 2 :])
        elif changed != text:
            partial = target.with_name(f".{target.name}.x")
            partial.write_text(changed)
            partial.replace(target)
        self._spoil(target)
        if "conflict" in self.faults:
            (self.specs / f"copy-{ready.claim.uid}.json").write_text(text)
        if "leaks" in self.faults:
            (self.folder / f"leak-{ready.claim.uid}").write_text("")

    def _spoil(self, document: Path) -> None:
        """Change mode or owner of a CDI document."""
        if "world-writable" in self.faults:
            document.chmod(0o666)
        if "foreign-owner" in self.faults:
            with contextlib.suppress(PermissionError):  # not root: its own user is all there is
                os.chown(document, NOBODY, NOBODY)

    def _restoring(self, ready: Preparation) -> bool:
        """Whether a claim was prepared before this process started."""
        return (
            not any(one.claim.uid == ready.claim.uid for one in self.deeds)
            and bool(self._servers)
            and ready.claim.uid in self._known
        )

    _known: frozenset[str] = frozenset()

    def _described_late(self, ready: Preparation) -> None:
        with contextlib.suppress(OSError):
            super().describe(ready)

    def metadata_of(self, ready: Preparation, request: str) -> str:
        """Return what a container reads of its devices."""
        if "foreign-metadata" in self.faults:
            ready = replace(ready, claim=replace(ready.claim, uid="of-another-claim"))
        return super().metadata_of(ready, request)

    # Unprepare --------------------------------------------------------------------------------

    def unprepare_one(self, claim: ClaimReference) -> str:
        """Release one claim's devices."""
        known = claim.uid in self.prepared
        if not known and "strict-unprepare" in self.faults and self._seen(claim):
            return "not prepared"
        if not known and "needs-prepared" in self.faults and not self._seen(claim):
            return "never prepared"
        if "needs-object" in self.faults and super().read(claim) is None:
            return "claim not found"
        if "share-ends-all" in self.faults and known:
            self._end_shares(claim)
        found = super().unprepare_one(claim)
        self._unprepared[claim.uid] = time.monotonic()
        if known and "follows-paths" in self.faults:
            with contextlib.suppress(OSError, ValueError):
                (self.folder / claim.name).unlink()
        if found and "frees-on-failure" in self.faults:
            with self._checkpoint.locked():
                prepared = self._checkpoint.read()
                prepared.pop(claim.uid, None)
                self._checkpoint.write(prepared)
        return found

    def _finish_late(self, ready: Preparation) -> None:
        """Finish again what an unprepare has crossed."""
        if time.monotonic() - self._unprepared.get(ready.claim.uid, 0) < CROSSING:
            threading.Timer(LATE, self._described_late, [ready]).start()

    def _seen(self, claim: ClaimReference) -> bool:
        return any(one.verb == "unprepare" and one.claim.uid == claim.uid for one in self.deeds)

    def _end_shares(self, claim: ClaimReference) -> None:
        mine = {one.device for one in self.prepared[claim.uid].devices}
        for uid, other in self.prepared.items():
            if uid != claim.uid and mine & {one.device for one in other.devices}:
                self.document_path(uid).unlink(missing_ok=True)

    def take_down(self, claim: ClaimReference) -> None:
        """Remove what was prepared."""
        if "keeps-deleted" in self.faults and super().read(claim) is None:
            return
        if "leaves-documents" in self.faults or (
            "forgets-documents" in self.faults and claim.uid in self._known
        ):
            prepared = self._checkpoint.read()
            prepared.pop(claim.uid, None)
            self._checkpoint.write(prepared)
            return
        kept = [
            self._file(claim.uid, name)
            for one in [self._checkpoint.read().get(claim.uid)]
            if one and "keeps-config" in self.faults
            for name, _ in one.configs
        ]
        super().take_down(claim)
        for path in kept:
            path.write_text("")
        if "by-name" in self.faults:
            self._remove_namesakes(claim)
        if "conflict" in self.faults:
            (self.specs / f"copy-{claim.uid}.json").unlink(missing_ok=True)

    def _remove_namesakes(self, claim: ClaimReference) -> None:
        for uid, other in self._checkpoint.read().items():
            if (other.claim.namespace, other.claim.name) == (claim.namespace, claim.name):
                self.document_path(uid).unlink(missing_ok=True)

    def _unprepare(self, request: bytes, alive: server.Alive) -> bytes:
        found = super()._unprepare(request, alive)
        return b"" if "no-entry" in self.faults else found

    # Restart ----------------------------------------------------------------------------------

    def restore(self) -> None:
        """Restore what was prepared."""
        if "other-format" in self.faults:
            self._checkpoint.path = self._checkpoint.path.with_name("checkpoint-2.json")
        path = self._checkpoint.path
        if "strict-format" in self.faults and path.exists() and "podClaim" not in path.read_text():
            path.unlink()
        if "forgets" in self.faults:
            path.unlink(missing_ok=True)
        try:
            prepared = self.prepared
        except CheckpointError:
            if "crash-loop" in self.faults:
                os._exit(3)
            prepared = {}
        self._known = frozenset(prepared)
        if "needs-device" in self.faults:
            there = {one["name"] for one in self.pool.without(self._lost_now()).devices}
            gone = [d for one in prepared.values() for d in one.owned if d not in there]
            if gone:
                raise OSError(f"device {gone[0]} is gone")
        if "torn" in self.faults and any(not self.document_path(uid).exists() for uid in prepared):
            self._checkpoint.path.write_text("{")
            raise OSError("torn")
        if "trusts-documents" in self.faults:
            return
        super().restore()

    def _lost_now(self) -> frozenset[str]:
        path = self.folder / "faults"
        lines = path.read_text().split() if path.exists() else []
        return frozenset(one.removeprefix("lost=") for one in lines if one.startswith("lost="))

    # Slices -----------------------------------------------------------------------------------

    def published_pool(self) -> PretendPool:
        """Return what is to be published now."""
        if "ignores-loss" in self.faults:
            return self.pool
        found = super().published_pool()
        if "always-healthy" in self.faults:
            return self.pool
        if "renames" in self.faults:
            end = str(os.getpid() % 1000 + int(self._started) % 1000)
            devices = tuple({**one, "name": f"{one['name']}-{end}"} for one in found.devices)
            found = replace(found, devices=devices)
        if "numbers" in self.faults:
            names = [one["name"] for one in self.pool.devices]
            numbered = zip(names, found.devices, strict=False)
            found = replace(found, devices=tuple({**one, "name": name} for name, one in numbered))
        if "one-pool" in self.faults:
            found = replace(found, name="everywhere")
        return found

    _started = time.time()

    def render(
        self, pool: PretendPool, generation: int, owner: Mapping[str, Any] | None
    ) -> list[Manifest]:
        """Return the slices of a pool."""
        found = super().render(pool, generation, owner)
        return slices.slices(found, self.faults.mutants, time.time())

    def streaming(self, number: int) -> bool:
        """Whether a health stream goes on."""
        self._last_stream = max(self._last_stream, number)
        return "one-stream" not in self.faults or number == self._last_stream

    def health(self) -> list[DeviceHealth]:
        """Return the health of all devices."""
        found = super().health()
        if "half-health" in self.faults:
            found = found[: len(found) // 2]
        if "one-health-change" in self.faults and self.faults.unhealthy:
            found = [one for one in found if one.device in self.faults.unhealthy]
        if "old-health" in self.faults:
            found = [replace(one, updated=1) for one in found]
        if "always-healthy" in self.faults:
            found = [replace(one, health=messages.HEALTHY, message="") for one in found]
        return found

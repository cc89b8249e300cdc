"""A driver for one node: it serves the kubelet, keeps a checkpoint, and publishes its devices.

with Driver(api, kubelet, cdi, node="node-1", devices=4) as driver:
    driver.faults = Faults(slow=2)
"""

import contextlib
import itertools
import json
import logging
import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from urllib3.exceptions import HTTPError

from dragoman_drivers.kubeletplugin import messages, server
from dragoman_drivers.kubeletplugin.client import CallError, Endpoint
from dragoman_drivers.kubeletplugin.messages import (
    ClaimReference,
    DeviceHealth,
    PluginInfo,
    Prepared,
)
from dragoman_drivers.pretend import cdi, metadata
from dragoman_drivers.pretend.binding import Binder
from dragoman_drivers.pretend.checkpoint import Checkpoint, CheckpointError
from dragoman_drivers.pretend.faults import Faults
from dragoman_drivers.pretend.preparation import (
    UID,
    Preparation,
    PreparationFacts,
    RefusalError,
    Validate,
    prepare,
)
from dragoman_drivers.pretend.publisher import Publisher
from dragoman_drivers.pretend.shapes import Device
from dragoman_drivers.pretend.slices import Manifest, PretendPool, manifests
from dragoman_drivers.throwaway.api import Api, ApiError
from dragoman_toolkit.replacing import replace_file

RULES = (
    {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get", "list"]},
    {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/status"], "verbs": ["update"]},
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceclaims/driver"],
        "verbs": ["associated-node:update"],
    },
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceslices"],
        "verbs": ["get", "list", "create", "update", "delete"],
    },
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
)
"""What a driver may do at the API server: for binding conditions it lists claims and writes status.

A chart names the driver in `resourceNames` of `resourceclaims/driver`.
"""
GRACE = 5.0
"""Seconds for calls in flight when the driver stops: less than a pod gets after that."""
CLAIM_SECONDS = 15.0
"""For a claim to be read: well below the kubelet's 45 s for the whole call."""
HEALTH_SECONDS = 10.0
"""Between two health reports without a change: the kubelet's time-out for one is 30 s."""
SUN_PATH = 107
"""Bytes of the path of a unix socket on Linux."""
DEEDS: Mapping[tuple[str, str], str] = {
    ("prepare", "success"): "prepare",
    ("prepare", "error"): "refuse",
    ("unprepare", "success"): "unprepare",
    ("unprepare", "error"): "cling",
}
"""What a call ended in, as metrics name it and as the driver notes it."""
LIVE_SECONDS = 2.0
"""For the DRA service to answer a probe."""
log = logging.getLogger("dragoman_drivers.pretend")
Devices = int | Sequence[str | Device]


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that the driver did for the kubelet."""

    verb: str  # `prepare`, `refuse`, `unprepare` or `cling`
    claim: ClaimReference  # For which claim
    devices: frozenset[str] = frozenset()  # Names of the claim's own devices
    why: str = ""  # Why it refused, or clings to the devices


def accept(_: Any) -> str:
    """Accept any parameters."""
    return ""


class Driver:
    """Publish devices of a node and prepare claims for them.

    Args:
        api: Acts as a user with `RULES`.
        kubelet: The kubelet's root folder.
        specs: Folder in which container runtimes look for CDI documents.
        node: Name of the node.
        devices: On that node: a number, names, entries of slices, or a whole PretendPool.
        name: Of the driver.
        validate: Of opaque parameters.
        instance: Distinguishes sockets of instances that run side by side.

    Attributes:
        faults: May be changed at any time.
        deeds: What it did, in order.
        spent: Seconds of calls that prepare and unprepare, by call.
    """

    further: Mapping[str, str] = {}

    def __init__(  # noqa: PLR0913 — all but three have defaults
        self,
        api: Api,
        kubelet: Path,
        specs: Path,
        *,
        node: str,
        devices: Devices | PretendPool = 4,
        name: str = "gpu.example.com",
        validate: Validate = accept,
        instance: str = "",
    ) -> None:
        self.name = name
        self.node = node
        self.faults = Faults()
        self.deeds: list[Deed] = []
        self.spent = {"prepare": 0.0, "unprepare": 0.0}
        self._spending = threading.Lock()
        self.pool = devices if isinstance(devices, PretendPool) else pool_of(devices, name, node)
        self.folder = kubelet / "plugins" / name
        self.registry = kubelet / "plugins_registry"
        self.specs = specs
        self._api = api
        self._validate = validate
        self._instance = f"-{instance}" if instance else ""
        self._checkpoint = Checkpoint(self.folder)
        self._servers: list[Any] = []
        self._stopping = threading.Event()
        self._numbers = itertools.count(1)
        self._publisher = Publisher(api, lambda: [self.published_pool()], self.render)
        self._watcher: threading.Thread | None = None
        self._binder = Binder(api, self.pool)

    # Life -------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop for good, and remove what is kept on disk."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        """Restore what was prepared, listen for the kubelet, and publish the devices."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.specs.mkdir(parents=True, exist_ok=True)
        self.registry.mkdir(parents=True, exist_ok=True)
        self._stopping.clear()
        self._checkpoint.first = bool(self.faults.checkpoint)
        self.restore()
        for path in (self.endpoint, self.registration):
            if len(str(path).encode()) > SUN_PATH:
                raise OSError(f"{path}: the path of a socket has at most {SUN_PATH} bytes")
        # The kubelet calls the endpoint as soon as it notices the registration socket.
        self._servers.append(server.serve(self.endpoint, self.services(), self.streams()))
        self.register()
        self._watcher = threading.Thread(target=self._watch_registry, daemon=True)
        self._watcher.start()
        self._publisher.start()
        self._binder.start()

    def stop(self, *, grace: float = 0.0) -> None:
        """Stop listening, as if the driver's pod had ended; what is prepared stays.

        Args:
            grace: Seconds for calls in flight.
        """
        self._stopping.set()
        self._binder.stop()
        self._publisher.stop()
        self.registration.unlink(missing_ok=True)
        if self._watcher:
            self._watcher.join()
        for stopped in [one.stop(grace=grace or None) for one in self._servers]:
            stopped.wait()
        self._servers.clear()
        self.endpoint.unlink(missing_ok=True)

    def leave(self) -> None:
        """Stop in order, and delete the slices unless another instance keeps them published."""
        self.stop(grace=GRACE)
        if not self.others_run():
            self._publisher.remove()

    def others_run(self) -> bool:
        """Whether another instance of this driver is registered on the node."""
        return any(
            path.name.startswith(self.name) and path.name.endswith("-reg.sock")
            for path in self.registry.iterdir()
        )

    @contextmanager
    def failing(self, why: str) -> Iterator[None]:
        """Fail every preparation with these words inside the block."""
        with self._misbehaving(replace(self.faults, failing=why)):
            yield

    @contextmanager
    def clinging(self, why: str) -> Iterator[None]:
        """Fail every unprepare with these words inside the block."""
        with self._misbehaving(replace(self.faults, clinging=why)):
            yield

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        """Take so much longer for every preparation inside the block."""
        with self._misbehaving(replace(self.faults, slow=seconds)):
            yield

    @contextmanager
    def _misbehaving(self, faults: Faults) -> Iterator[None]:
        before, self.faults = self.faults, faults
        try:
            yield
        finally:
            self.faults = before

    @property
    def prepared(self) -> Mapping[str, Preparation]:
        """What is prepared, by claim UID."""
        with self._checkpoint.locked():
            return self._checkpoint.read()

    # Devices ----------------------------------------------------------------------------------

    def published(self) -> bool:
        """Whether the API server has the devices."""
        return self._publisher.published()

    @property
    def complete(self) -> threading.Event:
        """Set when everything was published once."""
        return self._publisher.complete

    def published_pool(self) -> PretendPool:
        """Return what is to be published now: lost devices are not, failed ones have a taint."""
        taint = {"key": "dragoman.dev/unhealthy", "effect": "NoSchedule"}
        unhealthy = {name: [taint] for name in self.faults.unhealthy}
        found = self.pool.without(self.faults.lost).tainted(unhealthy)
        order = -1 if self.faults.enumeration else 1
        return replace(found, devices=found.devices[::order])

    def render(
        self, pool: PretendPool, generation: int, owner: Mapping[str, Any] | None
    ) -> list[Manifest]:
        """Return the slices of a pool."""
        return manifests(pool, generation, owner)

    # Services ---------------------------------------------------------------------------------

    @property
    def endpoint(self) -> Path:
        """The socket of the DRA service."""
        return self.folder / f"dra{self._instance}.sock"

    @property
    def registration(self) -> Path:
        """The socket that the kubelet looks for."""
        return self.registry / f"{self.name}{self._instance}-reg.sock"

    def info(self) -> PluginInfo:
        """Answer GetInfo."""
        versions = (messages.V1, messages.V1BETA1, messages.HEALTH_V1, messages.HEALTH)
        return PluginInfo(messages.PLUGIN_TYPE, self.name, str(self.endpoint), versions)

    def services(self) -> Mapping[str, Mapping[str, server.Unary]]:
        """Return the services of the endpoint; both versions are equal on the wire."""
        methods = {messages.PREPARE: self._prepare, messages.UNPREPARE: self._unprepare}
        return {messages.DRA: methods, messages.DRA_V1BETA1: methods}

    def streams(self) -> Mapping[str, Mapping[str, server.Stream]]:
        """Return the services that stream."""
        methods = {messages.WATCH: self._health}
        return {messages.HEALTH_V1: methods, messages.HEALTH: methods}

    def register(self) -> None:
        """Put the registration socket where the kubelet looks."""
        self._servers.append(server.serve(self.registration, self.registrar()))

    def registrar(self) -> Mapping[str, Mapping[str, server.Unary]]:
        """Return the service of the registration socket."""
        methods: dict[str, server.Unary] = {
            messages.GET_INFO: lambda _, __: messages.write_info(self.info()),
            messages.NOTIFY: self._registered,
        }
        return {messages.REGISTRATION: methods}

    def _watch_registry(self) -> None:
        """Register again where the kubelet emptied its folder, as it does when it starts."""
        while not self._stopping.wait(0.5):
            if not self.registration.exists():
                old = self._servers.pop()
                old.stop(grace=None)
                self.register()

    def _registered(self, status: bytes, _: server.Alive) -> bytes:
        if error := messages.read_registration(status):
            self.refused(error)
        return b""

    def refused(self, error: str) -> None:
        """Report that the kubelet did not register the driver; it tries again by itself."""
        log.error("the kubelet refused the registration of %s: %s", self.name, error)

    def _health(self) -> Iterator[bytes]:
        sent, at, number = b"", 0.0, next(self._numbers)
        while not self._stopping.wait(0.2) and self.streaming(number):
            devices = self.health()
            body = messages.write_health([replace(one, updated=0) for one in devices])
            if body != sent or time.monotonic() - at > HEALTH_SECONDS:
                sent, at = body, time.monotonic()
                yield messages.write_health(devices)

    def streaming(self, number: int) -> bool:  # noqa: ARG002 — for faults
        """Whether a health stream goes on; they are numbered from 1."""
        return True

    def health(self) -> list[DeviceHealth]:
        """Return the health of all devices."""
        failed = self.faults.unhealthy
        return [
            DeviceHealth(
                self.pool.title,
                one["name"],
                messages.UNHEALTHY if one["name"] in failed else messages.HEALTHY,
                int(time.time()),
                message="pretended failure" if one["name"] in failed else "",
            )
            for one in self.pool.without(self.faults.lost).devices
        ]

    def liveness(self) -> tuple[int, str]:
        """Return status and text of a probe: the DRA service must answer an empty request."""
        try:
            Endpoint(self.endpoint).call(messages.PREPARE, b"", LIVE_SECONDS)
        except CallError as error:
            return 503, f"the DRA service does not answer: {error}\n"
        return 200, "ok\n"

    def metrics(self) -> dict[str, float]:
        """Return counters of what it did, and how long it took; no label names a claim."""
        verbs = Counter(one.verb for one in self.deeds)
        found = {
            f'pretend_{call}_claims_total{{result="{result}"}}': float(verbs[verb])
            for (call, result), verb in DEEDS.items()
        }
        found |= {f"pretend_{call}_seconds_total": spent for call, spent in self.spent.items()}
        # On disk, since another instance may share it: no such series where it is broken.
        with contextlib.suppress(CheckpointError, OSError):
            found["pretend_prepared_claims"] = len(self.prepared)
        return found

    # Claims -----------------------------------------------------------------------------------

    def _prepare(self, request: bytes, alive: server.Alive) -> bytes:
        claims, start = messages.read_claims(request), time.monotonic()
        answer = self.answer(claims, alive)
        self._spend("prepare", start)
        return messages.write_prepared(answer)

    def _spend(self, call: str, start: float) -> None:
        """Add the time since the start of a call; several calls end at once."""
        with self._spending:
            self.spent[call] += time.monotonic() - start

    def answer(
        self, claims: Sequence[ClaimReference], alive: server.Alive
    ) -> dict[str, Prepared | str]:
        """Answer NodePrepareResources, each claim for itself."""
        return {claim.uid: self.prepare_one(claim, alive) for claim in claims}

    def prepare_one(self, claim: ClaimReference, alive: server.Alive) -> Prepared | str:
        """Prepare one claim; return its devices, or why not."""
        time.sleep(self.faults.slow)
        if self.faults.failing:
            return self.refuse(claim, self.faults.failing)
        if not UID.fullmatch(claim.uid):
            return self.refuse(claim, "the UID is that of no object")
        try:
            return self.set_up(claim, self.read(claim), alive)
        except (RefusalError, CheckpointError, ApiError, HTTPError, OSError, KeyError) as error:
            return self.refuse(claim, str(error))

    def read(self, claim: ClaimReference) -> Mapping[str, Any] | None:
        """Read a claim from the API server."""
        where = self._api.resource("resourceclaims").path(claim.namespace, claim.name)
        try:
            found: Mapping[str, Any] = self._api.request("GET", where, timeout=CLAIM_SECONDS)
        except ApiError as error:
            if error.code == 404:
                return None
            raise
        return found

    def refuse(self, claim: ClaimReference, why: str) -> str:
        """Log and return why a claim is not prepared."""
        log.warning("claim %s/%s (%s): %s", claim.namespace, claim.name, claim.uid, why)
        self.deeds.append(Deed("refuse", claim, why=why))
        return why

    def facts(self, others: Iterable[Preparation]) -> PreparationFacts:
        """Return what decisions depend on."""
        devices = {one["name"]: one for one in self.pool.without(self.faults.lost).devices}
        return PreparationFacts(self.name, devices, self._validate, tuple(others))

    def set_up(
        self, claim: ClaimReference, seen: Mapping[str, Any] | None, alive: server.Alive
    ) -> Prepared:
        """Prepare a claim that was read, or answer as before."""
        with self._checkpoint.locked():  # two claims must not get one device
            prepared = self._checkpoint.read()
            if claim.uid in prepared:
                ready = prepared[claim.uid]
                self.describe(ready)
                return ready.devices
            if not alive():
                raise RefusalError("the kubelet canceled the call")
            ready = prepare(claim, seen, self.facts(prepared.values()))
            # The checkpoint goes first: a crash leaves a claim that a retry or an unprepare finds.
            self._checkpoint.write({**prepared, claim.uid: ready})
            try:
                self.describe(ready)
            except OSError:
                self._checkpoint.write(prepared)
                raise
            self.deeds.append(Deed("prepare", claim, ready.owned))
            return ready.devices

    def describe(self, ready: Preparation) -> None:
        """Write a claim's CDI document and the files that it mounts."""
        uid = ready.claim.uid
        files = {name: self._file(uid, name) for name, _ in ready.configs}
        for name, path in files.items():
            path.parent.mkdir(exist_ok=True)
            replace_file(path, f"{ready.claim.namespace}/{ready.claim.name} {name}\n".encode())
        for request in metadata.requests(ready):
            path = metadata.outside(self.folder, uid, request)
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, self.metadata_of(ready, request).encode())
        common = metadata.mounts(self.name, self.folder, ready)
        document = cdi.document(self.name, uid, ready.configs, files, common)
        text = json.dumps(document)
        target = self.document_path(uid)
        if not target.exists() or target.read_text() != text:
            replace_file(target, text.encode())

    def metadata_of(self, ready: Preparation, request: str) -> str:
        """Return what a container reads of its devices."""
        return metadata.text(self.name, ready, request)

    def document_path(self, uid: str) -> Path:
        """Return where a claim's CDI document is."""
        return self.specs / cdi.file_name(self.name, uid)

    def _file(self, uid: str, device: str) -> Path:
        return self.folder / "files" / f"{uid}-{device}"

    def _unprepare(self, request: bytes, _: server.Alive) -> bytes:
        claims, start = messages.read_claims(request), time.monotonic()
        answer = {one.uid: self.unprepare_one(one) for one in claims}
        self._spend("unprepare", start)
        return messages.write_unprepared(answer)

    def unprepare_one(self, claim: ClaimReference) -> str:
        """Release one claim's devices; return why not, or the empty text."""
        if self.faults.clinging:
            self.deeds.append(Deed("cling", claim, why=self.faults.clinging))
            return self.faults.clinging
        try:
            with self._checkpoint.locked():
                self.take_down(claim)
        except (CheckpointError, OSError) as error:
            log.warning("claim %s/%s (%s): %s", claim.namespace, claim.name, claim.uid, error)
            return str(error)
        return ""

    def take_down(self, claim: ClaimReference) -> None:
        """Remove what was prepared; the checkpoint goes last, so that a failure can be retried."""
        prepared = self._checkpoint.read()
        if not UID.fullmatch(claim.uid):
            return  # not a UID of an object: nothing was prepared for it
        self.document_path(claim.uid).unlink(missing_ok=True)
        described = self.folder / metadata.FOLDER / claim.uid
        if described.is_dir():
            shutil.rmtree(described)
        ready = prepared.pop(claim.uid, None)
        if ready is None:
            return
        for name, _ in ready.configs:
            self._file(claim.uid, name).unlink(missing_ok=True)
        self._checkpoint.write(prepared)
        self.deeds.append(Deed("unprepare", claim, ready.owned))

    def restore(self) -> None:
        """Describe again what was prepared before: CDI folders are lost at a reboot."""
        for stale in (*self.specs.glob(f".{cdi.file_name(self.name, '*')}.*.partial"),):
            stale.unlink(missing_ok=True)
        with self._checkpoint.locked():
            try:
                prepared = self._checkpoint.read()
            except CheckpointError as error:
                aside = self._checkpoint.path.with_suffix(".broken")
                log.error("%s; it is kept as %s, and claims are prepared again", error, aside)
                self._checkpoint.path.replace(aside)
                prepared = {}
            for ready in prepared.values():
                self.describe(ready)


def pool_of(devices: Devices, driver: str, node: str) -> PretendPool:
    """Return the pool of devices that are given by number, names or entries."""
    entries = (
        [f"device-{index}" for index in range(devices)] if isinstance(devices, int) else devices
    )
    found = tuple({"name": one} if isinstance(one, str) else one for one in entries)
    return PretendPool(driver, node, found)

"""One node of the run: its driver, the kubelet and scheduler that are pretended, and observers.

A DRA driver has two partners: the API server, to which it publishes ResourceSlices, and the
kubelet, which calls it through a socket to prepare claims. The kit puts a driver between a real API
server and a kubelet that it plays itself, so that it sees both sides of every step:

    scheduler (played)          kubelet (played)
         │ allocates a claim         │ registration, NodePrepareResources, NodeUnprepareResources
         v                           v
    API server (real) <─ Proxy ─ driver (the vendor's own binary) ─> CDI files, watched by a Folder

Nothing of the driver is changed or imported: it is started by the vendor's command, with folders of
its own below a short path (a socket's path has at most 108 bytes), a kubeconfig that leads through
the proxy, and a token of its ServiceAccount that names the node, as the kubelet issues it to pods.

A scenario asks the site for what a cluster would do: `allocate`, `prepare`, restart the driver, cut
its connection through the proxy. It then asks for what should hold, and says what it saw where that
does not. Waits have one limit for a whole question; a driver that ends while it should register
fails at once.

The site notes its `steps` in words, so that a report has a reproduction by hand, and undoes
everything at its end, also where a scenario failed in the middle. Scenarios of one lane share a
site one after the other: `settle` and `ready` bring it back between them.
"""

import contextlib
import copy
import json
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeVar

from dragoman_base import files
from dragoman_drivers.conformance import documents, starting
from dragoman_drivers.conformance.checks import FailedError, NotRunError, need
from dragoman_drivers.conformance.folder import Folder
from dragoman_drivers.conformance.profile import DriverProfile
from dragoman_drivers.conformance.proxy import Proxy
from dragoman_drivers.conformance.starting import StartError, Starts
from dragoman_drivers.conformance.subject import DriverInstance, Places
from dragoman_drivers.kubeletplugin import client, messages
from dragoman_drivers.kubeletplugin.client import CallError, Endpoint, HealthStream
from dragoman_drivers.kubeletplugin.messages import ClaimReference, PluginInfo, Prepared
from dragoman_drivers.throwaway.api import ApiError
from dragoman_drivers.throwaway.plane import Plane, PlaneError, Server
from dragoman_drivers.throwaway.process import free_ports

Json = Mapping[str, Any]
Found = TypeVar("Found")
HEAL_SECONDS = 30.0
CLASS = "conformance"
SCHEDULER = "kube-scheduler"
"""Field manager of allocations."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What all nodes of a run share."""

    plane: Plane  # The control plane
    command: str  # Of the driver
    profile: DriverProfile  # Of the vendor
    account: tuple[str, str]  # Namespace and name of the driver's ServiceAccount
    folder: Path  # Below which each node has its folders; its path is short
    quick: bool = False  # Whether checks that wait are left out
    shipped: tuple[Json, ...] = ()
    starts: Starts = field(default_factory=Starts)  # Of the driver, on all nodes


class Site:
    """A node, and all that is pretended around its driver.

    Args:
        setting: Of the run.
        name: Of the node.

    Attributes:
        steps: What was done since `begin`, for a reproduction by hand.
    """

    def __init__(self, setting: Setting, name: str) -> None:
        self.setting, self.node = setting, name
        self.profile = setting.profile
        self.api = setting.plane.api()
        self.namespace = name
        root = setting.folder / name
        self.kubelet, self.cdi = root / "k", root / "cdi"
        self.registry = self.kubelet / "plugins_registry"
        self.root = root
        self.steps: list[str] = []
        self.info: PluginInfo | None = None
        self.endpoint = Endpoint(Path())
        self._claims: dict[str, Json] = {}
        self._prepared: dict[str, Json] = {}
        self._extra: list[DriverInstance] = []
        self._streams: list[HealthStream] = []
        self._cleanup = ExitStack()
        self._count = 0

    def __enter__(self) -> Self:
        """Make the node, and start the driver."""
        with self._cleanup:
            for path in (self.registry, self.kubelet / "plugins", self.cdi):
                path.mkdir(parents=True)
            self._cleanup.callback(shutil.rmtree, self.root, ignore_errors=True)
            self._create_objects()
            plane = self.setting.plane
            authority = plane.authority
            serving = authority.serving(f"proxy-{self.node}", ("127.0.0.1",))
            self.proxy = Proxy(plane.server.url, str(authority.certificate), serving)
            self._cleanup.callback(self.proxy.close)
            self.documents = Folder(self.cdi)
            self._cleanup.callback(self.documents.close)
            self.sockets = Folder(self.registry)
            self._cleanup.callback(self.sockets.close)
            self.subject = self.instance("")
            self._cleanup.callback(self._kill_all)
            self._cleanup = self._cleanup.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """End the driver, and remove its folders and objects."""
        self._cleanup.close()
        for one in self.slices(everything=True):
            self.api.delete("resourceslices", one["metadata"]["name"])
        self.api.close()

    def _kill_all(self) -> None:
        for one in (self.subject, *self._extra):
            one.kill()

    # Objects ----------------------------------------------------------------------------------

    def _create_objects(self) -> None:
        labels = {"resource.kubernetes.io/admin-access": "true"}
        namespace = {"apiVersion": "v1", "kind": "Namespace"}
        self.api.create({**namespace, "metadata": {"name": self.namespace, "labels": labels}})
        self.create_node()
        self.token = self._token()

    def create_node(self) -> None:
        """Create the Node."""
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.node}}
        with contextlib.suppress(ApiError):
            self.api.create({**node, "status": {"conditions": [ready]}})

    def _token(self) -> str:
        """Return a token of the driver's account that names its node, as a pod's does."""
        namespace, account = self.setting.account
        container = {"name": "driver", "image": "driver"}
        spec = {"containers": [container], "nodeName": self.node, "serviceAccountName": account}
        meta = {"name": f"driver-{self.node}", "namespace": namespace}
        pod = self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})
        bound = {"kind": "Pod", "apiVersion": "v1", "name": meta["name"]}
        bound["uid"] = pod["metadata"]["uid"]
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"boundObjectRef": bound, "expirationSeconds": 7200},
        }
        token: str = self.api.request("POST", path, body)["status"]["token"]
        return token

    # The driver -------------------------------------------------------------------------------

    def instance(self, suffix: str, command: str = "") -> DriverInstance:
        """Return a driver process that is not started yet; `suffix` distinguishes instances."""
        kubeconfig = self.root / "kubeconfig"
        if not kubeconfig.exists():
            self.setting.plane.kubeconfig(kubeconfig, self.proxy.url, self.token)
        places = Places(
            kubelet_dir=str(self.kubelet),
            plugins_dir=str(self.kubelet / "plugins"),
            registry_dir=str(self.registry),
            cdi_dir=str(self.cdi),
            node=self.node,
            kubeconfig=str(kubeconfig),
            instance=suffix or "a",
            http_port=str(*free_ports(1)),
            python=sys.executable,
        )
        made = DriverInstance(command or self.setting.command, places, self.root / f"log{suffix}")
        if suffix:
            self._extra.append(made)
        return made

    def use(self, command: str) -> None:
        """Run another variant of the driver from the next start on."""
        self.subject = self.instance("", command)

    @contextmanager
    def using(self, command: str) -> Iterator[None]:
        """Run another variant of the driver inside the block; it finds and leaves no slices."""
        self.wipe()
        self.use(command)
        try:
            self.start()
            yield
        finally:
            self.wipe()
            self.use(self.setting.command)

    @contextmanager
    def served_by(self, flags: Sequence[str]) -> Iterator[Server]:
        """Give the driver an API server with these flags inside the block, and start it there.

        Raises:
            NotRunError: There is no such API server.
        """
        plane = self.setting.plane
        try:
            server = plane.start_server(flags)
        except PlaneError as error:
            raise NotRunError(f"no API server with {' '.join(flags)}: {error}") from error
        try:
            self.wipe()
            self.proxy.target = server.url
            self.start()
            yield server
        finally:
            try:
                self.wipe()
            finally:  # also where deleting slices fails: other checks need the usual API server
                self.proxy.target = plane.server.url
                server.process.kill()

    def start(self) -> None:
        """Start the driver, register it as the kubelet does, and wait for its slices.

        Raises:
            StartError: It ended, or did not register or publish in time.
        """
        limit = self.setting.starts.limit()  # a driver that runs and never came up is not tried
        if self.subject.runs:
            return
        seen, begin = len(self.sockets.events), time.monotonic()
        self.subject.start()
        self.step("start the driver")
        try:
            self._register(seen, limit)
            self._publish(begin, limit)
        except StartError as error:
            raise self.setting.starts.failed(error) from None
        self.setting.starts.succeeded(time.monotonic() - begin)

    def _register(self, seen: int, limit: float) -> None:
        deadline, answer = time.monotonic() + limit, ""
        while time.monotonic() < deadline:
            self._runs()
            event = self.sockets.wait({"create", "moved-to"}, ".sock", seen, 0.2)
            if event and not event.name.startswith("."):
                try:
                    self.connect(self.registry / event.name)
                except CallError as error:
                    answer = f"GetInfo: {error}"
                else:
                    return
        names = sorted(one.name for one in self.registry.iterdir())
        raise starting.unregistered(limit, names, answer, self.tail())

    def _publish(self, begin: float, limit: float) -> None:
        ended = time.monotonic() + limit
        while not self.pool_complete():
            self._runs()
            if time.monotonic() > ended:
                there, requests = self.slices(everything=True), self.proxy.since(begin)
                raise starting.unpublished(self.driver, limit, there, requests)
            time.sleep(0.2)

    def _runs(self) -> None:
        if not self.subject.runs:
            raise StartError(f"the driver ended: {self.tail()}")

    def connect(self, socket: Path) -> PluginInfo:
        """Call GetInfo, and use the endpoint that it names."""
        self.info = client.info(socket, 10)
        path = Path(self.info.endpoint)
        if not path.is_absolute():
            path = self.kubelet / path
        service = messages.DRA if messages.V1 in self.info.versions else messages.DRA_V1BETA1
        self.endpoint = Endpoint(path, service)
        client.notify(socket, timeout=10)
        return self.info

    def registration(self) -> Path:
        """Return the registration socket."""
        found = self.registrations()
        need(found, "no socket in the registry folder")
        return found[-1]

    def registrations(self) -> list[Path]:
        """Return the registration sockets; kubelets ignore names that start with a dot."""
        found = sorted(self.registry.glob("*.sock"))
        return [one for one in found if not one.name.startswith(".")]

    def restart(self, *, kill: bool = True) -> None:
        """End the driver and start it again."""
        if kill:
            self.subject.kill()
            self.step("SIGKILL")
        else:
            self.subject.stop()
            self.step("SIGTERM")
        self.start()

    def ready(self) -> None:
        """Bring the driver up, if it is not."""
        self.proxy.resume()
        self.proxy.fail = lambda _method, _path: 0
        if not self.cdi.is_dir():
            self.cdi.unlink(missing_ok=True)
            self.cdi.with_name("aside").rename(self.cdi)
        self._end_extra()
        self.start()
        with contextlib.suppress(CallError):
            self.endpoint.prepare((), 5)
            return
        self.restart()

    def second(self) -> DriverInstance:
        """Start a second instance next to the first, and wait until both are registered.

        Raises:
            NotRunError: The command cannot distinguish instances.
        """
        if "{instance}" not in self.setting.command:
            raise NotRunError("the command has no {instance}: one instance at a time")
        made = self.instance("b")
        made.start()
        self.step("start a second instance")
        self.wait(lambda: len(self.registrations()) > 1 or not made.runs, 30, "a second socket")
        need(made.runs, f"the second instance ended: {made.logged()[-300:]}")
        return made

    def _end_extra(self) -> None:
        """Kill further instances; their sockets would look like a second instance."""
        for one in self._extra:
            one.kill()
        for path in self.registrations() if self._extra else ():
            try:
                client.info(path, 10)
            except CallError:
                path.unlink(missing_ok=True)
        self._extra.clear()

    def wipe(self) -> None:
        """Kill the driver, and delete its slices, as a kubelet does that starts."""
        self.subject.kill()
        for one in self.slices():
            self.api.delete("resourceslices", one["metadata"]["name"])

    def tail(self) -> str:
        """Return the end of the driver's log, in one line."""
        lines = self.subject.logged().strip().splitlines() if self.subject.log.exists() else []
        return " | ".join(lines[-3:])[-400:] or "it printed nothing"

    @property
    def driver(self) -> str:
        """The driver's name."""
        assert self.info is not None
        return self.info.name

    # Slices -----------------------------------------------------------------------------------

    def slices(self, *, everything: bool = False) -> list[Json]:
        """Return the node's slices of the driver, or of all drivers."""
        found = self.api.list("resourceslices", fieldSelector=f"spec.nodeName={self.node}")
        return [
            one
            for one in found
            if everything or self.info is None or one["spec"]["driver"] == self.info.name
        ]

    def pool_complete(self) -> list[Json]:
        """Return the slices of the newest generation if they are all there, else nothing."""
        found = self.slices()
        if not found:
            return []
        newest = max(one["spec"]["pool"]["generation"] for one in found)
        current = [one for one in found if one["spec"]["pool"]["generation"] == newest]
        count = current[0]["spec"]["pool"]["resourceSliceCount"]
        return current if len(current) >= count else []

    def devices(self) -> dict[str, Json]:
        """Return the published devices by name, each with its `pool`."""
        return {
            device["name"]: {**device, "pool": one["spec"]["pool"]["name"]}
            for one in self.slices()
            for device in one["spec"].get("devices") or ()
        }

    def take(self, count: int) -> list[str]:
        """Return names of devices that can be allocated at once.

        Raises:
            NotRunError: So many are not published.
        """
        plain = [
            name
            for name, one in self.devices().items()
            if not one.get("consumesCounters")
            and not one.get("bindingConditions")
            and not one.get("nodeName")
        ]
        if len(plain) < count:
            raise NotRunError(f"needs {count} devices without counters, {len(plain)} are published")
        return plain[:count]

    # Claims -----------------------------------------------------------------------------------

    def claim(  # noqa: PLR0913 — each is a part of the claim
        self,
        *devices: str,
        admin: bool = False,
        config: Sequence[Json] = (),
        request: str = "",
        driver: str = "",
        shares: Sequence[str] = (),
        consumed: Json | None = None,
        allocate: bool = True,
        name: str = "",
    ) -> Json:
        """Create a claim and allocate devices to it, as the scheduler does.

        Args:
            devices: Names; each has a request of its own.
            admin: Whether admin access is asked for.
            config: Entries of `allocation.devices.config`.
            request: Name in the results, such as `gpu/big`, of all devices.
            driver: Whose devices these are; the driver's own by default.
            shares: ShareIDs, one for each device.
            consumed: `consumedCapacity` of each result.
            allocate: Whether it is allocated.
            name: Of the claim.
        """
        self._count += 1
        exactly: dict[str, Any] = {"deviceClassName": CLASS}
        if admin:
            exactly["adminAccess"] = True
        names = [request or f"r{at}" for at in range(max(len(devices), 1))]
        requests: dict[str, Any] = {}
        for one in names:
            main, _, sub = one.partition("/")
            requests[main] = (
                {"name": main, "firstAvailable": [{"name": sub, "deviceClassName": CLASS}]}
                if sub
                else {"name": main, "exactly": exactly}
            )
        meta = {"name": name or f"c{self._count}", "namespace": self.namespace}
        manifest = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": meta,
            "spec": {"devices": {"requests": [*requests.values()]}},
        }
        made = self.api.create(manifest)
        self._claims[made["metadata"]["uid"]] = made
        if not allocate:
            return made
        known = self.devices()
        results = []
        for at, device in enumerate(devices):
            pool = known.get(device, {}).get("pool") or self._any_pool()
            result: dict[str, Any] = {
                "request": names[at],
                "driver": driver or self.driver,
                "pool": pool,
                "device": device,
            }
            if admin:
                result["adminAccess"] = True
            if shares:
                result["shareID"] = shares[at]
            if consumed:
                result["consumedCapacity"] = dict(consumed)
            results.append(result)
        return self.allocate(made, results, config)

    def allocate(self, claim: Json, results: Sequence[Json], config: Sequence[Json] = ()) -> Json:
        """Write an allocation into a claim's status."""
        term = {"key": "metadata.name", "operator": "In", "values": [self.node]}
        devices: dict[str, Any] = {"results": [*results]}
        if config:
            devices["config"] = [*config]
        allocation = {
            "devices": devices,
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [term]}]},
        }
        changed = {**copy.deepcopy(dict(claim)), "status": {"allocation": allocation}}
        changed |= {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
        try:
            made = self.api.update(changed, "status", fieldManager=SCHEDULER)
        except ApiError as error:
            raise NotRunError(f"the API server rejects the allocation: {error}") from error
        self._claims[made["metadata"]["uid"]] = made
        listed = ", ".join(f"{one['device']} for {one['request']}" for one in results)
        self.step(f"create claim {made['metadata']['name']} and allocate {listed or 'no device'}")
        return made

    def _any_pool(self) -> str:
        found = self.slices()
        return str(found[0]["spec"]["pool"]["name"]) if found else self.node

    def opaque(
        self, parameters: Any, *, source: str = "FromClaim", requests: Sequence[str] = ()
    ) -> Json:
        """Return an entry of `allocation.devices.config`."""
        opaque = {"driver": self.driver, "parameters": parameters}
        return {"source": source, "requests": [*requests], "opaque": opaque}

    def delete(self, claim: Json) -> None:
        """Delete a claim, whatever finalizers it has."""
        meta = claim["metadata"]
        self.api.delete("resourceclaims", meta["name"], self.namespace)
        self.step(f"delete claim {meta['name']}")

    # Calls ------------------------------------------------------------------------------------

    def prepare(self, *claims: Json, timeout: float = client.TIMEOUT) -> dict[str, Prepared | str]:
        """Call NodePrepareResources for claims, as the kubelet does."""
        names = ", ".join(one["metadata"]["name"] for one in claims)
        for one in claims:
            self._prepared[one["metadata"]["uid"]] = one
        try:
            answer = self.endpoint.prepare([reference(one) for one in claims], timeout)
        except CallError as error:
            self.step(f"prepare {names}: the call fails: {error}")
            raise
        self.step(f"prepare {names}: {shown(answer)}")
        return answer

    def prepared(self, claim: Json) -> Prepared:
        """Prepare a claim that must succeed; return its devices."""
        answer = self.prepare(claim).get(claim["metadata"]["uid"])
        need(not isinstance(answer, str), f"prepare failed: {answer}")
        need(answer is not None, "the answer has no entry for the claim")
        assert isinstance(answer, tuple)
        return answer

    def refused(self, claim: Json) -> str:
        """Prepare a claim; return the error in its entry, or of the call; empty for success."""
        try:
            answer = self.prepare(claim).get(claim["metadata"]["uid"])
        except CallError as error:
            return str(error)
        return answer if isinstance(answer, str) else ""

    def unprepare(self, *claims: Json) -> dict[str, str]:
        """Call NodeUnprepareResources for claims."""
        names = ", ".join(one["metadata"]["name"] for one in claims)
        answer = self.endpoint.unprepare([reference(one) for one in claims])
        self.step(f"unprepare {names}: {answer}")
        return answer

    def unprepared(self, claim: Json) -> None:
        """Unprepare a claim, which must succeed."""
        answer = self.unprepare(claim)
        uid = claim["metadata"]["uid"]
        need(uid in answer, "the answer has no entry for the claim")
        need(not answer[uid], f"unprepare failed: {answer[uid]}")

    def health(self, service: str) -> HealthStream:
        """Open a stream of a health service; it ends with the check at the latest."""
        stream = HealthStream(self.endpoint.socket, service)
        self._streams.append(stream)
        return stream

    def settle(self) -> None:
        """Release everything that a check left: claims, documents, streams, pauses."""
        self.proxy.resume()
        while self._streams:
            self._streams.pop().close()
        for uid, claim in [*self._prepared.items()]:
            with contextlib.suppress(CallError):
                self.endpoint.unprepare([reference(claim)], 10)
            for path in self.cdi.glob(f"*{uid}*") if self.cdi.is_dir() else ():
                path.unlink()
        self._prepared.clear()
        for claim in self._claims.values():
            with contextlib.suppress(ApiError):
                self.api.delete("resourceclaims", claim["metadata"]["name"], self.namespace)
        self._claims.clear()

    # CDI --------------------------------------------------------------------------------------

    def cdi_documents(self) -> dict[str, Json]:
        """Return the CDI documents by file name, without those that say nothing."""
        return {name: one for name, one in self._cdi() if not isinstance(one, str)}

    def cdi_faults(self) -> dict[str, str]:
        """Return the files that should be CDI documents and are none, each with the reason."""
        return {name: one for name, one in self._cdi() if isinstance(one, str)}

    def _cdi(self) -> Iterator[tuple[str, Json | str]]:
        for path in sorted(self.cdi.iterdir()):
            if path.suffix in {".json", ".yaml"} and not path.name.startswith("."):
                try:
                    yield path.name, documents.read(path)
                except FileNotFoundError:  # it is gone since
                    continue
                except (OSError, files.UnreadableError) as error:
                    yield path.name, files.reason(error)

    def cdi_ids(self) -> dict[str, list[str]]:
        """Return the files that define each CDI id."""
        found: dict[str, list[str]] = {}
        for name, tree in self.cdi_documents().items():
            for device in tree.get("devices") or ():
                found.setdefault(f"{tree.get('kind')}={device.get('name')}", []).append(name)
        return found

    def claim_ids(self, claim: Json) -> set[str]:
        """Return the CDI ids that name a claim's UID."""
        return {one for one in self.cdi_ids() if claim["metadata"]["uid"] in one}

    @contextmanager
    def unusable_cdi(self) -> Iterator[None]:
        """Put a file in place of the CDI folder: every write below it fails, also root's."""
        aside = self.cdi.with_name("aside")
        self.cdi.rename(aside)
        self.cdi.write_text("")
        self.step("replace the CDI folder by a file")
        try:
            yield
        finally:
            self.cdi.unlink()
            aside.rename(self.cdi)
            self.step("bring the CDI folder back")

    @contextmanager
    def lost(self, device: str) -> Iterator[None]:
        """Take a device away inside the block, by the profile's commands."""
        self.shell(self.profile.lose, device=device)
        try:
            yield
        finally:
            self.shell(self.profile.find, device=device)

    @contextmanager
    def failing(self, device: str) -> Iterator[None]:
        """Let a device fail inside the block, by the profile's commands.

        The end waits for what is published to be as before: the next check compares with it.
        """
        before = self.devices().get(device)
        self.shell(self.profile.fail, device=device)
        try:
            yield
        finally:
            self.shell(self.profile.heal, device=device)
            with contextlib.suppress(FailedError):
                self.wait(lambda: self.devices().get(device) == before, HEAL_SECONDS, device)

    # Rest -------------------------------------------------------------------------------------

    def shell(self, command: str, **more: str) -> None:
        """Run a command of the profile; raise NotRunError where it fails."""
        text = self.subject.places.fill(command, driver=self.driver, **more)
        self.step(f"run {text}")
        done = subprocess.run(text, shell=True, capture_output=True, text=True, check=False)  # noqa: S602 — the user's own command
        if done.returncode:
            raise NotRunError(f"profile command failed: {text}: {done.stderr.strip()[-200:]}")

    def step(self, text: str) -> None:
        """Note what was done."""
        self.steps.append(text)

    def wait(self, look: Callable[[], Found], seconds: float, what: str) -> Found:
        """Wait until a function returns something true, and return that; raise FailedError."""
        deadline, pause = time.monotonic() + seconds, 0.05
        while True:
            if found := look():
                return found
            need(time.monotonic() < deadline, f"waited {seconds:g} s for {what}")
            time.sleep(pause)
            pause = min(pause * 1.2, 0.5)


def reference(claim: Json) -> ClaimReference:
    """Return a claim as the kubelet names it."""
    meta = claim["metadata"]
    return ClaimReference(meta["namespace"], meta["uid"], meta["name"])


def renamed(claim: Json, *, uid: str = "", name: str = "") -> Json:
    """Return a claim with another UID or name, as a kubelet with old knowledge names it."""
    meta = {**claim["metadata"]}
    meta |= {"uid": uid} if uid else {}
    meta |= {"name": name} if name else {}
    return {**claim, "metadata": meta}


def new_uid() -> str:
    """Return a UID of no object."""
    return str(uuid.uuid4())


def shown(answer: Mapping[str, Prepared | str]) -> str:
    """Return an answer as a step shows it."""
    found = {
        uid: one if isinstance(one, str) else [f"{d.device}: {', '.join(d.cdi)}" for d in one]
        for uid, one in answer.items()
    }
    return json.dumps(found)[:600]

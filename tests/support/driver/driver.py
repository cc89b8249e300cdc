"""A driver for one node: it publishes devices, prepares claims, and fails as it is told to.

with Driver(plane.api(account), node.places.kubelet, node.places.cdi, node=node.name) as driver:
    driver.faults = Faults(slow=2)
"""

import json
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from urllib3.exceptions import HTTPError

from tests.support.controlplane import objects
from tests.support.controlplane.api import Api, ApiError
from tests.support.driver import cdi, messages
from tests.support.driver.messages import ClaimReference, Prepared
from tests.support.driver.plugin import Plugin
from tests.support.driver.preparation import Preparation, RefusalError, prepare
from tests.support.driver.publisher import Devices, Publisher

RULES = (
    {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": ["get"]},
    {
        "apiGroups": ["resource.k8s.io"],
        "resources": ["resourceslices"],
        "verbs": ["get", "create", "delete"],
    },
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
)
"""What a driver may do at the API server."""


@dataclass(frozen=True, slots=True)
class Faults:
    """How the driver misbehaves.

    Attributes:
        slow: Seconds that each preparation takes longer.
        failing: What each preparation fails with, unless empty.
        clinging: What each return of devices fails with, unless empty.
    """

    slow: float = 0
    failing: str = ""
    clinging: str = ""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that the driver did for the kubelet.

    Attributes:
        verb: `prepare`, `refuse`, `unprepare` or `cling`.
        claim: For which claim.
        devices: Names of the claim's own devices.
        why: Why it refused, or clings to the devices.
    """

    verb: str
    claim: ClaimReference
    devices: frozenset[str] = frozenset()
    why: str = ""


class Driver:
    """Publish devices of a node and prepare claims for them.

    Args:
        api: Acts as somebody with `RULES`.
        kubelet: The kubelet's root folder.
        specs: Folder in which containerd looks for CDI documents.
        node: Name of the node.
        devices: On that node.
        name: Of the driver.

    Attributes:
        faults: May be changed at any time.
        deeds: What it did, in order.
        prepared: What is prepared, by claim UID.
    """

    def __init__(
        self,
        api: Api,
        kubelet: Path,
        specs: Path,
        *,
        node: str,
        devices: Devices = 4,
        name: str = objects.DRIVER,
    ) -> None:
        self.name = name
        self.faults = Faults()
        self.deeds: list[Deed] = []
        self.prepared: dict[str, Preparation] = {}
        self._api = api
        self._specs = specs
        self._files = specs.with_name(f"files-of-{name}")
        self._lock = threading.Lock()
        self._publisher = Publisher(api, node, devices, name)
        self._plugin = Plugin(
            name,
            kubelet,
            {
                messages.REGISTRATION: {
                    "GetInfo": self._info,
                    "NotifyRegistrationStatus": self._registered,
                },
                messages.DRA: {
                    "NodePrepareResources": self._prepare,
                    "NodeUnprepareResources": self._unprepare,
                },
            },
        )

    # Life -------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Appear."""
        self.appear()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Disappear for good."""
        self.vanish()
        shutil.rmtree(self._files, ignore_errors=True)

    def appear(self) -> None:
        """Listen for the kubelet, and publish the devices for as long as it is there."""
        self._files.mkdir(exist_ok=True)
        self._plugin.start()
        self._publisher.start()

    def vanish(self) -> None:
        """Stop listening, as if the driver's pod had ended; what is prepared stays."""
        self._publisher.stop()
        self._plugin.stop()

    @contextmanager
    def failing(self, why: str) -> Iterator[None]:
        """Fail every preparation with these words inside the block."""
        with self._misbehaving(Faults(failing=why)):
            yield

    @contextmanager
    def clinging(self, why: str) -> Iterator[None]:
        """Fail to take devices back with these words inside the block."""
        with self._misbehaving(Faults(clinging=why)):
            yield

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        """Take so much longer for every preparation inside the block."""
        with self._misbehaving(Faults(slow=seconds)):
            yield

    @contextmanager
    def _misbehaving(self, faults: Faults) -> Iterator[None]:
        self.faults = faults
        try:
            yield
        finally:
            self.faults = Faults()

    def published(self) -> bool:
        """Whether the API server knows the devices."""
        return self._publisher.published()

    # Registration -----------------------------------------------------------------------------

    def _info(self, _: bytes) -> bytes:
        return messages.write_info(self.name, str(self._plugin.endpoint))

    def _registered(self, status: bytes) -> bytes:
        if error := messages.read_registration(status):
            print(f"{self.name}: {error}", flush=True)
        return b""

    # Claims -----------------------------------------------------------------------------------

    def _prepare(self, request: bytes) -> bytes:
        claims = messages.read_claims(request)
        return messages.write_prepared({claim.uid: self._prepare_one(claim) for claim in claims})

    def _prepare_one(self, claim: ClaimReference) -> Prepared | str:
        time.sleep(self.faults.slow)
        if self.faults.failing:
            return self._refuse(claim, self.faults.failing)
        try:
            seen = self._api.find("resourceclaims", claim.name, claim.namespace)
            return self._set_up(claim, seen)
        except (RefusalError, ApiError, HTTPError) as error:
            return self._refuse(claim, str(error))

    def _refuse(self, claim: ClaimReference, why: str) -> str:
        self.deeds.append(Deed("refuse", claim, why=why))
        return why

    def _set_up(self, claim: ClaimReference, seen: Mapping[str, Any] | None) -> Prepared:
        with self._lock:  # two claims must not get one device
            if claim.uid not in self.prepared:
                ready = prepare(claim, seen, self.name, self.prepared.values())
                self._describe(ready)
                self.prepared[claim.uid] = ready
                self.deeds.append(Deed("prepare", claim, ready.owned))
            return self.prepared[claim.uid].devices

    def _describe(self, ready: Preparation) -> None:
        uid = ready.claim.uid
        files = {name: self._files / f"{uid}-{name}" for name in ready.configs}
        for name, path in files.items():
            path.write_text(f"{ready.claim.namespace}/{ready.claim.name} {name}\n")
        target = self._specs / cdi.file_name(self.name, uid)
        partial = target.with_suffix(".partial")
        partial.write_text(json.dumps(cdi.document(self.name, uid, ready.configs, files)))
        partial.replace(target)

    def _unprepare(self, request: bytes) -> bytes:
        claims = messages.read_claims(request)
        return messages.write_unprepared({one.uid: self._unprepare_one(one) for one in claims})

    def _unprepare_one(self, claim: ClaimReference) -> str:
        if self.faults.clinging:
            self.deeds.append(Deed("cling", claim, why=self.faults.clinging))
            return self.faults.clinging
        with self._lock:
            if ready := self.prepared.pop(claim.uid, None):
                (self._specs / cdi.file_name(self.name, claim.uid)).unlink(missing_ok=True)
                for name in ready.configs:
                    (self._files / f"{claim.uid}-{name}").unlink(missing_ok=True)
                self.deeds.append(Deed("unprepare", claim, ready.owned))
        return ""

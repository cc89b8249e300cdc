"""One namespace under workload, an operator, and a proxy full of faults between it and the API."""

import dataclasses
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

import urllib3
from urllib3.exceptions import HTTPError

from dragoman.process.operator import LEASE_NAME
from tests.e2e.faults.expected import Settled, given_back
from tests.e2e.faults.proxy import FaultProxy
from tests.e2e.faults.workload import Workload
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.support import manifests as objects
from tests.support.controlplane import kubeconfig
from tests.support.controlplane.api import ApiError, wait_for
from tests.support.controlplane.plane import (
    API_SERVER,
    ETCD,
    GARBAGE_COLLECTOR,
    SCHEDULER,
    ControlPlane,
)

NODES, DEVICES = 2, 6
ALONE = "--no-leader-elect"


class FaultSetup:
    """Sets everything up, and knows when it has settled as it must.

    Args:
        plane: The control plane, with a scheduler and a garbage collector.
        seed: Decides what the workload and the proxy do.
        flags: Further flags of the operator.
        rules: What the operator may do.
        grace: Seconds that a deleted pod has, where there are kubelets to end it.
        disguise: A script to run instead of dragoman, such as that of `short_timeouts`.

    Attributes:
        checks: Return what else is not as it must be.
        last: What was right last, of what was not as it must be.
    """

    def __init__(
        self,
        plane: ControlPlane,
        seed: int,
        *flags: str,
        rules: Sequence[Mapping[str, Any]] = OPERATOR_RULES,
        grace: int = 0,
        disguise: ModuleType | None = None,
    ) -> None:
        self.plane = plane
        self.checks: list[Callable[[Settled], list[str]]] = []
        self.api = plane.api()
        self.chance = random.Random(seed)
        self.namespace = plane.create_namespace("faults")
        self.proxy = FaultProxy(plane.credentials, self.chance)
        user = plane.user(f"dragoman-{self.namespace}", rules)
        folder = Path(user.kubeconfig).parent
        self.token = folder / f"{user.name}.token"
        self.token.write_text(user.token)
        path = kubeconfig.with_token_file(
            folder / f"{user.name}-proxied.kubeconfig",
            self.proxy.url,
            plane.credentials.keys.authority,
            self.token,
        )
        self.user = dataclasses.replace(user, kubeconfig=str(path))
        self.operator = OperatorProcess(
            plane, self.user, f"--namespace={self.namespace}", *(flags or (ALONE,))
        )
        if disguise is not None:
            self.operator.command[:3] = [sys.executable, str(disguise.__file__)]
        self.workload = Workload(plane, self.namespace, self.namespace, self.chance, grace=grace)
        self.last: list[str] = []
        self._bound: dict[tuple[str, str], str] = {}
        self._since = 0

    def __enter__(self) -> Self:
        """Start the operator, then the workload."""
        self.driver = f"{self.namespace}.example.com"
        self.api.create(self.plane.served(objects.device_class(self.namespace, self.driver)))
        for number in range(NODES):
            self.plane.add_node(f"{self.namespace}-{number}", DEVICES, self.driver)
        self.proxy.__enter__()
        try:
            self.workload.prepare()
            self.operator.start()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        self.workload.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop everything and leave nothing behind."""
        self.operator.stop()
        self.proxy.__exit__(None, None, None)
        wait_for(self._cleared, 60, "the namespace to be cleared")
        for number in range(NODES):
            self.plane.remove_node(f"{self.namespace}-{number}", self.driver)
        self.api.delete("deviceclasses", self.namespace)

    def calm(self, timeout: float = 120) -> float:
        """End all faults and the workload, and wait until the world is as it must be.

        Returns:
            The seconds that it took.

        After a long fault the next try may be 40 s away, and graces take another 30 s.

        Raises:
            AssertionError: It is not in time, and here is what differs; or a claim of a live pod
                was lost on the way, or one was made twice.
        """
        self.proxy.heal()
        self.workload.__exit__(None, None, None)
        began = time.monotonic()
        found = self._settled(timeout)
        took = time.monotonic() - began
        self.operator.check()
        assert self.operator.faults() == []
        self._check_history(found)
        return took

    def look(self) -> None:
        """Remember which claims live pods have, to find out whether they keep them."""
        for key, uid in Settled.read(self.api, self.namespace).bindings().items():
            self._bound.setdefault(key, uid)

    def compact(self) -> None:
        """Let etcd forget everything but the present, so that no watch can go on."""
        url = f"http://127.0.0.1:{self.plane._ports['etcd']}/v3/kv"
        found = urllib3.request("POST", f"{url}/range", json={"key": "AA=="}).json()
        revision = {"revision": found["header"]["revision"], "physical": True}
        assert urllib3.request("POST", f"{url}/compaction", json=revision).status == 200

    def back_up(self) -> Path:
        """Copy what etcd has; returns where it is."""
        self.plane.stop_part(ETCD)
        backup = self.plane.folder / f"backup-of-{self.namespace}"
        shutil.copytree(self.plane.folder / "etcd", backup)
        self.plane.revive(ETCD)
        return backup

    def restore(self, backup: Path) -> None:
        """Let etcd have again what was copied, as if nothing had happened since.

        The rest of the control plane is started anew, as its manual demands; the operator is not.
        """
        for part in (API_SERVER, ETCD):
            self.plane.stop_part(part)
        shutil.rmtree(self.plane.folder / "etcd")
        backup.rename(self.plane.folder / "etcd")
        self.plane.processes[ETCD].start()
        self.plane.revive(API_SERVER)
        for part in (SCHEDULER, GARBAGE_COLLECTOR):
            self.plane.restart(part)
        # What was made and bound since has never been.
        self._bound.clear()
        self.workload.foreign.clear()
        self._since = self.plane.audit.mark()

    def steal_lease(self) -> None:
        """Name somebody else in the Lease, as a person or a broken clock might."""
        body = {"spec": {"holderIdentity": "a-thief", "leaseDurationSeconds": 2}}
        self.api.patch("leases", LEASE_NAME, self.namespace, body)

    # Inner parts ------------------------------------------------------------------------------

    def _settled(self, timeout: float) -> Settled:
        deadline = time.monotonic() + timeout
        right = 0
        while True:
            found, differences = self._read()
            self.last = differences or self.last
            right = 0 if differences else right + 1
            if found is not None and right == 2:
                return found
            if time.monotonic() > deadline:
                raise AssertionError("\n".join(["not as it must be:", *differences]))
            time.sleep(0.3)

    def _read(self) -> tuple[Settled | None, list[str]]:
        try:
            found = Settled.read(self.api, self.namespace)
            further = [one for check in self.checks for one in check(found)]
        except (ApiError, HTTPError) as error:
            return None, [f"no answer: {error}"]
        differences = found.differences()
        if differences:
            differences = found.differences(given_back(self.plane, self.namespace))
        return found, [*differences, *further]

    def _check_history(self, found: Settled) -> None:
        now = found.bindings()
        lost = {key for key, uid in self._bound.items() if now.get(key, uid) != uid}
        assert not lost, f"live pods lost their claims: {lost}"
        made = Counter(
            write.name
            for write in self.plane.audit.writes(
                self.user.name,
                self._since,
                resource="resourceclaims",
                verb="create",
                namespace=self.namespace,
            )
        )
        # What the garbage collector took from a pod whose end was not seen yet may be made again.
        twice = [name for name, count in made.items() if count > 1 and name in found.claims]
        assert not twice, f"made more than once: {twice}"
        versions = {name: one["metadata"]["resourceVersion"] for name, one in found.claims.items()}
        touched = [name for name, old in self.workload.foreign.items() if versions.get(name) != old]
        assert not touched, f"claims of others were changed: {touched}"

    def _cleared(self) -> bool:
        try:
            self.plane.clear_namespace(self.namespace)
        except (ApiError, HTTPError):
            return False
        return True

"""One control plane for one measurement: fresh, filled as asked, checked when all is done."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode

import orjson

from tests.bench.claims import objects
from tests.bench.claims.traffic import Request, Server, send
from tests.e2e.rbac import OPERATOR_RULES
from tests.support import manifests
from tests.support.controlplane import kubeconfig
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ADMINISTRATORS, API_SERVER, ETCD, ControlPlane
from tests.support.controlplane.process import ThrowawayProcess, free_ports

LOOK = 0.02
"""Seconds between two looks at whether something has happened; times come from watches."""
PAGE = 2000
ACCOUNT = "dragoman"


class WrongCountError(Exception):
    """What a competitor left behind is not what it should have made."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What is there in the end.

    Attributes:
        claims: All claims.
        published: Entries of pods whose status names a claim that is there and belongs to the pod.
        surplus: Claims that no pod's status names.
    """

    claims: int
    published: int
    surplus: int


class Lab:
    """A control plane with one namespace, a device class and a template; a context manager.

    Args:
        audit: Whether the API server writes down all writes; it is slower then.
        scheduler: Whether kube-scheduler runs.

    Attributes:
        plane: The control plane, with default in-flight limits.
        server: How the benchmark itself reaches it: as an administrator whom priority and
            fairness exempts, so that its own requests never wait beside those of a competitor.
        namespace: Where everything happens.
        probe_port: Loopback port where dragoman serves its probes.
    """

    def __init__(self, *, audit: bool = False, scheduler: bool = False) -> None:
        self.plane = ControlPlane(audit=audit, scheduler=scheduler)
        self.namespace = ""
        (self.probe_port,) = free_ports(1)

    def __enter__(self) -> Self:
        """Start."""
        plane = self.plane.start()
        try:
            user = plane.user("bench", groups=ADMINISTRATORS)
            self.server = Server(plane.server, plane.credentials.authority.certificate, user.token)
            self.namespace = plane.create_namespace("bench")
            plane.api().create(manifests.namespace(ACCOUNT))
            plane.api().create(manifests.device_class(objects.CLASS))
            self.add_template()
        except BaseException:
            plane.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop, and leave nothing behind but the logs of what failed."""
        self.plane.__exit__(kind, error, trace)

    def add_template(self, namespace: str = "") -> None:
        """Create the template that all pods use, in the lab's namespace or in another."""
        place = namespace or self.namespace
        template = manifests.template(objects.TEMPLATE, place, objects.CLASS)
        self.plane.api().create(template)

    def remove_template(self) -> None:
        """Delete the template of the lab's namespace."""
        self.plane.api().delete("resourceclaimtemplates", objects.TEMPLATE, self.namespace)

    # Users ------------------------------------------------------------------------------------

    def account(self, via: str | None = None) -> str:
        """Return a kubeconfig of an ordinary ServiceAccount with the operator's rules.

        Args:
            via: URL by which the API server is reached; directly when None.
        """
        user = self.plane.service_account(ACCOUNT, ACCOUNT, OPERATOR_RULES)
        return self._kubeconfig("competitor", user.token, via)

    def manager(self, via: str | None = None) -> str:
        """Return a kubeconfig of kube-controller-manager, which gets its accounts' tokens by it."""
        user = self.plane.user("system:kube-controller-manager")
        return self._kubeconfig("manager", user.token, via)

    def _kubeconfig(self, name: str, token: str, via: str | None) -> str:
        path = self.plane.folder / f"{name}.kubeconfig"
        authority = self.plane.credentials.authority.certificate
        return str(kubeconfig.with_token(path, via or self.plane.server, authority, token))

    # What is in it ----------------------------------------------------------------------------

    def send(self, requests: Iterable[Request], pace: float | None = None) -> int:
        """Send requests as the administrator, as fast as possible or so many a second."""
        return send(self.server, requests, pace=pace)

    def items(self, path: str) -> Iterator[Json]:
        """List a collection page by page."""
        query = {"limit": str(PAGE)}
        while True:
            page = self.plane.api().request("GET", f"{path}?{urlencode(query)}")
            yield from page["items"]
            if not page["metadata"].get("continue"):
                return
            query["continue"] = page["metadata"]["continue"]

    def pods(self) -> list[Json]:
        """Return all pods of the namespace."""
        return [*self.items(objects.pods_path(self.namespace))]

    def claims(self) -> list[Json]:
        """Return all claims of the namespace."""
        return [*self.items(objects.claims_path(self.namespace))]

    def settle(self, pods: int) -> None:
        """Create pods, their claims and their statuses, as a controller would have left them."""
        self.send(objects.create_pods(self.namespace, pods))
        spec = manifests.claim_spec(objects.CLASS)
        made = [(pod, objects.claim_of(pod, "entry-0", spec)) for pod in self.pods()]
        self.send(objects.create_claim(claim) for _, claim in made)
        self.send(objects.publish(pod, [claim]) for pod, claim in made)

    def count(self) -> Counts:
        """Look at what is there."""
        claims = {claim["metadata"]["name"]: claim for claim in self.claims()}
        named: Counter[str] = Counter()
        for pod in self.pods():
            for entry in pod["status"].get("resourceClaimStatuses") or ():
                claim = claims.get(entry.get("resourceClaimName", ""))
                if claim is not None and owner_of(claim) == pod["metadata"]["uid"]:
                    named[claim["metadata"]["name"]] += 1
        return Counts(len(claims), sum(named.values()), len(claims) - len(named))

    def expect(self, claims: int) -> Counts:
        """Make sure that there are exactly so many claims, each published once.

        Raises:
            WrongCountError: There are not.
        """
        found = self.count()
        if found != Counts(claims, claims, 0):
            raise WrongCountError(f"expected {claims} claims, each published once, found {found}")
        return found

    # Time -------------------------------------------------------------------------------------

    def wait(
        self,
        done: Callable[[], object],
        process: ThrowawayProcess,
        timeout: float,
        *each_time: Callable[[], object],
    ) -> None:
        """Wait until something is true while a process runs.

        Args:
            done: What shall become true.
            process: Without which it never would; it may end in success.
            timeout: Seconds.
            each_time: Called with each look; may raise.

        Raises:
            TimeoutError: It is not true in time.
            RuntimeError: The process failed.
        """
        deadline = time.monotonic() + timeout
        while not done():
            for call in each_time:
                call()
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"{process.name}: not done after {timeout:g} s\n{process.tail()}"
                )
            if process.pid is None and process.wait(0) != 0:
                raise RuntimeError(f"{process.name} failed\n{process.tail()}")
            time.sleep(LOOK)

    def servers(self) -> dict[str, int | None]:
        """Return the process ids of what everybody shares."""
        processes = self.plane.processes
        return {"apiserver": processes[API_SERVER].pid, "etcd": processes[ETCD].pid}


def owner_of(claim: Json) -> str:
    """Return the UID of a claim's owner, or an empty text."""
    owners: list[dict[str, Any]] = claim["metadata"].get("ownerReferences") or [{}]
    return str(owners[0].get("uid", ""))


def said(process: ThrowawayProcess) -> Any:
    """Return what a process printed as its last line, a JSON document."""
    return orjson.loads(process.tail(1))

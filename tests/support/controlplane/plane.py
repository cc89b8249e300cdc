"""A real control plane: etcd, kube-apiserver and, on request, the scheduler and controllers.

    with ControlPlane(scheduler=True) as plane:
        operator = plane.user("dragoman", rules=[...])
        plane.kubectl("apply", "-f", "examples/")
        plane.api().list("pods", "default")
        plane.audit.counts(operator.name)

There is no kubelet: pods never run, tests write their phase (`finish_pod`).
"""

import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.controlplane import binaries, components
from tests.support.controlplane.audit import Audit
from tests.support.controlplane.components import StockController
from tests.support.controlplane.credentials import Credentials
from tests.support.controlplane.network import Network, Place
from tests.support.controlplane.servers import (
    ACCOUNT_CONTROLLERS,
    API_SERVER,
    CLAIM_CONTROLLER,
    CONTROLLER_MANAGER,
    ETCD,
    GARBAGE_COLLECTOR,
    SCHEDULER,
    START_SECONDS,
    Servers,
)

__all__ = [
    "ACCOUNT_CONTROLLERS",
    "ADMINISTRATORS",
    "API_SERVER",
    "CLAIM_CONTROLLER",
    "CONTROLLER_MANAGER",
    "ETCD",
    "GARBAGE_COLLECTOR",
    "SCHEDULER",
    "START_SECONDS",
    "ControlPlane",
]
IN_CLUSTER = (components.KUBERNETES, "kubernetes.default.svc", "kubernetes.default")
ADMINISTRATORS = ("system:masters",)


class ControlPlane(Servers):
    """Start, stop, break and repair one control plane.

    Args:
        version: Kubernetes version such as `v1.34.4`; `DRAGOMAN_KUBERNETES` decides when absent.
        scheduler: Whether kube-scheduler runs.
        stock_controller: Settings of the stock claim controller; it does not run when None.
        garbage_collector: Whether kube-controller-manager's garbage collector runs.
        runtime_config: API versions by name, such as `{"resource.k8s.io/v1": False}`.
        feature_gates: Gates of all components.
        audit: Whether the API server writes its audit log (off for timed runs).
        audit_reads: Whether that log tells of reads too.
        extra_apiserver_flags: Further flags, such as `--max-requests-inflight=…`.
        network: A network for all its processes; loopback when None.
        service_accounts: Whether every namespace has its default account and the authority's
            certificate, and pods get tokens; wanted where a kubelet runs them.

    Attributes:
        keep_logs: Whether `stop` leaves the logs and says where they are.
    """

    def __init__(
        self,
        version: str | None = None,
        *,
        scheduler: bool = False,
        stock_controller: StockController | None = None,
        garbage_collector: bool = False,
        runtime_config: Mapping[str, bool] | None = None,
        feature_gates: Mapping[str, bool] | None = None,
        audit: bool = True,
        audit_reads: bool = False,
        extra_apiserver_flags: Sequence[str] = (),
        network: Network | None = None,
        service_accounts: bool = False,
    ) -> None:
        self.version = version or binaries.chosen_version()
        self.keep_logs = False
        self.processes = {}
        self.service_accounts = service_accounts
        self._wanted = (scheduler, stock_controller, garbage_collector)
        self.gates = components.switches("--feature-gates", feature_gates or {})
        self._apiserver_flags = [
            *self.gates,
            *components.switches("--runtime-config", runtime_config or {}),
            components.admission(service_accounts=service_accounts),
            *extra_apiserver_flags,
        ]
        self._audited, self._audited_reads = audit, audit_reads
        self.place = network or Place()
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop; keep the logs when the block failed."""
        self.keep_logs |= isinstance(error, Exception)
        self.stop()

    def start(self) -> Self:
        """Build what is missing, start everything that was asked for and wait until it answers.

        Raises:
            RuntimeError: A server did not start; the message carries the end of its log.
        """
        scheduler, stock, collector = self._wanted
        self._executables = binaries.find(self._needed(), self.version)
        try:
            self._prepare()
            self._start_servers()
            if self.service_accounts:
                self._start_account_controllers()
            if scheduler:
                self.start_scheduler()
            if stock:
                self.start_stock_controller(stock)
            if collector:
                self.start_garbage_collector()
        except BaseException as error:
            self.keep_logs |= isinstance(error, Exception)
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End every process and remove every file, except the logs when they shall be kept."""
        self._cleanup.close()

    def _needed(self) -> list[str]:
        scheduler, stock, collector = self._wanted
        wanted = {
            SCHEDULER: scheduler,
            CONTROLLER_MANAGER: stock or collector or self.service_accounts,
        }
        return [ETCD, API_SERVER, *(name for name, needed in wanted.items() if needed)]

    def _prepare(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="control-plane-"))
        self._cleanup.callback(self._remove_files)
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        place = self._cleanup.enter_context(self.place)
        self._ports = dict(zip(("api", "etcd", "peer", "issuer"), self._free(4), strict=True))
        if isinstance(place, Network):
            self._be_found_by_pods(place)
        hosts = (place.address, "localhost", *IN_CLUSTER)
        self.server = f"https://{place.address}:{self._ports['api']}"
        self.credentials = self._cleanup.enter_context(
            Credentials(self.folder, self.server, self._ports["issuer"], place, hosts)
        )
        self.kubeconfig = self.credentials.by_certificate("admin", ADMINISTRATORS)
        pair = self.credentials.authority.client("admin", ADMINISTRATORS)
        self._admin = self.credentials.client(pair=pair)
        self._apis = [self._admin]
        self._cleanup.callback(self._close_apis)
        self.audit = Audit(
            self.folder, self._admin, enabled=self._audited, reads=self._audited_reads
        )
        self._cleanup.callback(self._kill_all)

    def _be_found_by_pods(self, network: Network) -> None:
        """Let the API server answer at its Service's address: no kube-proxy translates that."""
        self._ports["api"] = 443
        network.run("ip", "address", "add", f"{components.KUBERNETES}/32", "dev", "lo")

    def _close_apis(self) -> None:
        for api in self._apis:
            api.close()

    def _kill_all(self) -> None:
        for process in reversed(self.processes.values()):
            process.kill()
        self.processes.clear()

    def _remove_files(self) -> None:
        if not self.keep_logs:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        for path in self.folder.iterdir():
            if path not in (self.logs, self.audit.path):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        print(f"control plane logs: {self.folder}", file=sys.stderr, flush=True)

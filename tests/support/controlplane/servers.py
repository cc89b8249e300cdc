"""The processes of a control plane: started, killed and started again by their names."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from tests.support.controlplane import binaries, components
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.audit import Audit
from tests.support.controlplane.cluster import Cluster
from tests.support.controlplane.components import StockController
from tests.support.controlplane.network import Place
from tests.support.controlplane.process import STOP_SECONDS, ThrowawayProcess, free_ports
from tests.support.controlplane.readiness import wait_for_answer, wait_until_listens

ETCD, API_SERVER, SCHEDULER = "etcd", "kube-apiserver", "kube-scheduler"
CONTROLLER_MANAGER = "kube-controller-manager"
CLAIM_CONTROLLER, GARBAGE_COLLECTOR = "resourceclaim-controller", "garbage-collector-controller"
ACCOUNT_CONTROLLERS = "service-account-controllers"
START_SECONDS = 120


class Servers(Cluster):
    """What runs, and what else can be run beside it.

    Attributes:
        gates: The flag of the feature gates of all components, if any are set.
        processes: The servers by name; names are this module's constants.
        place: Where the processes are.
        logs: Folder of the servers' logs.
        audit: The audit log, by which writes are counted.
    """

    processes: dict[str, ThrowawayProcess]
    gates: Sequence[str]
    place: Place
    logs: Path
    audit: Audit
    _executables: dict[str, Path]
    _ports: dict[str, int]
    _apiserver_flags: Sequence[str]

    def start_scheduler(self) -> None:
        """Start kube-scheduler and wait until it is healthy."""
        port, *_ = self._free(1)
        command = components.kube_scheduler(
            self._binary(SCHEDULER),
            port=port,
            kubeconfig=self.credentials.by_certificate("system:kube-scheduler"),
            folder=self.folder,
            keys=self.credentials.keys,
            extra=self.gates,
            address=self.place.address,
        )
        self._launch_component(SCHEDULER, command, port)

    def start_stock_controller(self, settings: StockController | None = None) -> None:
        """Start kube-controller-manager with the stock claim controller alone."""
        settings = settings or StockController()
        self.start_controllers(CLAIM_CONTROLLER, [CLAIM_CONTROLLER], settings.flags())

    def start_garbage_collector(self) -> None:
        """Start kube-controller-manager with the garbage collector alone, not throttled."""
        self.start_controllers(GARBAGE_COLLECTOR, [GARBAGE_COLLECTOR])

    def start_controllers(
        self,
        name: str,
        controllers: Iterable[str],
        flags: Sequence[str] = tuple(components.UNTHROTTLED.flags()),
    ) -> None:
        """Start a kube-controller-manager that runs the named controllers only.

        Args:
            name: By which the process can be killed, restarted and stopped; names its log.
            controllers: As --controllers takes them.
            flags: Further flags.
        """
        port, *_ = self._free(1)
        command = components.kube_controller_manager(
            self._binary(CONTROLLER_MANAGER),
            port=port,
            kubeconfig=self.credentials.by_certificate("system:kube-controller-manager"),
            keys=self.credentials.keys,
            controllers=controllers,
            extra=[*flags, *self.gates],
            address=self.place.address,
        )
        self._launch_component(name, command, port)

    def launch(
        self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> ThrowawayProcess:
        """Start any further program, which ends with this control plane at the latest.

        Args:
            name: By which it can be killed, restarted and stopped; names its log.
            command: Absolute path of the program, and its arguments.
            environment: Variables beside this process's own.
        """
        if name in self.processes and self.processes[name].pid:
            raise RuntimeError(f"{name} runs already")
        inside = self.place.command(command)
        process = ThrowawayProcess(name, inside, self.logs / f"{name}.log", environment)
        self.processes[name] = process
        process.start()
        return process

    def stop_part(self, name: str, grace: float = STOP_SECONDS) -> int | None:
        """End one process in order (SIGTERM, SIGKILL after `grace` seconds); return its status."""
        return self.processes[name].stop(grace)

    def kill(self, name: str) -> None:
        """Kill one process at once (SIGKILL), leaving its port and data as they are."""
        self.processes[name].kill()

    def revive(self, name: str) -> None:
        """Start a process that was stopped or killed, with the same port and data."""
        self.processes[name].start()
        if name == ETCD:
            wait_until_listens(
                self.processes[name], self._ports["etcd"], START_SECONDS, self.place.address
            )
        if name in {ETCD, API_SERVER}:
            self.wait_ready()

    def restart(self, name: str) -> None:
        """Kill a process and start it again."""
        self.kill(name)
        self.revive(name)

    def wait_ready(self, timeout: float = START_SECONDS) -> None:
        """Wait until the API server is ready and accepts its users' tokens.

        Raises:
            RuntimeError: One of the two processes has ended.
            TimeoutError: They run, but are not ready in time.
        """
        token = self.credentials.issuer.token("readiness-probe")
        with closing(self.credentials.client(token=token)) as probe:
            for path in ("/readyz", "/version"):
                wait_for_answer(probe, path, timeout, *self._servers())

    def _start_servers(self) -> None:
        ports, place = self._ports, self.place
        data = self.folder / "etcd"
        command = components.etcd(
            self._binary(ETCD), data, ports["etcd"], ports["peer"], place.address
        )
        self.launch(ETCD, command)
        command = components.kube_apiserver(
            self._binary(API_SERVER),
            port=ports["api"],
            etcd_port=ports["etcd"],
            issuer=self.credentials.issuer.url,
            keys=self.credentials.keys,
            extra=[*self._apiserver_flags, *self.audit.flags()],
            place=place,
        )
        self.launch(API_SERVER, command)
        self.wait_ready()
        wait_for(lambda: self._admin.find("namespaces", "default"), message="namespace default")

    def _start_account_controllers(self) -> None:
        authority = f"--root-ca-file={self.credentials.keys.authority}"
        flags = [*components.UNTHROTTLED.flags(), authority]
        self.start_controllers(ACCOUNT_CONTROLLERS, components.ACCOUNT_CONTROLLERS, flags)
        self.wait_for_account("default")

    def _binary(self, name: str) -> Path:
        if name not in self._executables:
            self._executables |= binaries.find([name], self.version)
        return self._executables[name]

    def _free(self, count: int) -> list[int]:
        return self.place.inside(lambda: free_ports(count))

    def _servers(self) -> tuple[ThrowawayProcess, ThrowawayProcess]:
        return self.processes[ETCD], self.processes[API_SERVER]

    def _launch_component(self, name: str, command: list[str], port: int) -> None:
        process = self.launch(name, command)
        with closing(self.credentials.client(f"https://{self.place.address}:{port}")) as probe:
            wait_for_answer(probe, "/healthz", START_SECONDS, process)

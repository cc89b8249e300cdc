"""Who is compared, and how each of them is started."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench.claims.lab import ACCOUNT, Lab
from tests.bench.claims.raw import CONCURRENCY
from tests.support.controlplane import binaries, components
from tests.support.controlplane.components import UNTHROTTLED, StockController
from tests.support.controlplane.plane import CLAIM_CONTROLLER, CONTROLLER_MANAGER
from tests.support.controlplane.process import ThrowawayProcess, free_ports

STOCK_USER = "system:serviceaccount:kube-system:resource-claim-controller"
OWN_USER = f"system:serviceaccount:{ACCOUNT}:{ACCOUNT}"


@dataclass(frozen=True, slots=True)
class Task:
    """What a competitor is started for.

    Attributes:
        via: URL by which it reaches the API server; directly when None.
        verb: What the raw client shall do, which does one thing and ends.
        concurrency: How many objects the raw client has in hand at once.
    """

    via: str | None = None
    verb: str = "create"
    concurrency: int = CONCURRENCY


Start = Callable[[Lab, Task], ThrowawayProcess]


@dataclass(frozen=True, slots=True)
class Competitor:
    """Somebody who turns pods into claims.

    Attributes:
        key: By which results and the command line name it.
        title: As tables show it.
        user: Whom its writes are counted for.
        start: Starts it in a lab, and returns its process.
        most_pods: Pods that it can be given without waiting for minutes; None for any number.
        exact: Whether a wrong number of claims is a failure; what the stock controller makes
            beyond the right number is reported instead.
    """

    key: str
    title: str
    user: str
    start: Start
    most_pods: int | None = None
    exact: bool = True


def stock(settings: StockController) -> Start:
    """Return how to start kube-controller-manager with the claim controller alone."""

    def start(lab: Lab, task: Task) -> ThrowawayProcess:
        plane = lab.plane
        command = components.kube_controller_manager(
            binaries.find([CONTROLLER_MANAGER], plane.version)[CONTROLLER_MANAGER],
            port=free_ports(1)[0],
            kubeconfig=Path(lab.manager(task.via)),
            keys=plane.credentials.keys,
            controllers=[CLAIM_CONTROLLER],
            extra=settings.flags(),
        )
        return plane.launch(CLAIM_CONTROLLER, command)

    return start


def dragoman(lab: Lab, task: Task) -> ThrowawayProcess:
    """Start the operator as its manifest does: with an elected leader, probes and metrics."""
    command = [
        *(sys.executable, "-m", "dragoman", "operator", "--claims=own", "--leader-elect"),
        f"--kubeconfig={lab.account(task.via)}",
        f"--namespace={ACCOUNT}",
        f"--metrics-address=127.0.0.1:{lab.probe_port}",
    ]
    return lab.plane.launch("dragoman", command)


def raw(lab: Lab, task: Task) -> ThrowawayProcess:
    """Start the client that only writes."""
    command = [
        *(sys.executable, "-m", "tests.bench.claims.raw", lab.account(task.via), task.verb),
        *(lab.namespace, f"--concurrency={task.concurrency}"),
    ]
    return lab.plane.launch("raw", command)


def raw_in_go(*, protobuf: bool) -> Start:
    """Return how to start the Go client that only writes, with client-go and without a limit."""

    def start(lab: Lab, task: Task) -> ThrowawayProcess:
        command = [
            str(binaries.find(["rawclient"], lab.plane.version)["rawclient"]),
            f"-kubeconfig={lab.account(task.via)}",
            f"-namespace={lab.namespace}",
            f"-concurrency={task.concurrency}",
            f"-protobuf={str(protobuf).lower()}",
        ]
        return lab.plane.launch("raw-in-go", command)

    return start


STOCK_DEFAULT = Competitor(
    "stock-default", "stock, 20/30", STOCK_USER, stock(StockController()), 200, exact=False
)
STOCK = Competitor("stock", "stock, 5000/10000", STOCK_USER, stock(UNTHROTTLED), exact=False)
RAW = Competitor("raw", "raw client", OWN_USER, raw)
RAW_JSON = Competitor("raw-json", "raw client in Go, JSON", OWN_USER, raw_in_go(protobuf=False))
RAW_PROTOBUF = Competitor(
    "raw-protobuf", "raw client in Go, protobuf", OWN_USER, raw_in_go(protobuf=True)
)
DRAGOMAN = Competitor("dragoman", "dragoman", OWN_USER, dragoman)
ALL = (STOCK_DEFAULT, STOCK, RAW, RAW_JSON, RAW_PROTOBUF, DRAGOMAN)

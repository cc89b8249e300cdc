"""`make bench-node`: the same jobs on one real node, with each claim controller in turn.

A controller that makes claims late, or frees devices late, keeps pods waiting.
"""

import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from dragoman_drivers.pretend.driver import RULES, Driver
from tests.e2e.node.setup import CLASS, NodeSetup
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.components import UNTHROTTLED, StockController
from tests.support.controlplane.node.isolation import obstacle
from tests.support.controlplane.node.node import NODE_FLAGS, Node
from tests.support.controlplane.plane import CLAIM_CONTROLLER, ControlPlane

RUNS = 2
JOBS = "job-controller"
Controller = Callable[[ControlPlane], AbstractContextManager[object]]


def dragoman(plane: ControlPlane) -> AbstractContextManager[object]:
    """Run dragoman in mode own."""
    return OperatorProcess(plane, plane.user("dragoman", OPERATOR_RULES))


def stock(settings: StockController) -> Controller:
    """Return how the stock controller runs with these settings."""

    @contextmanager
    def running(plane: ControlPlane) -> Iterator[None]:
        plane.start_stock_controller(settings)
        try:
            yield
        finally:
            plane.stop_part(CLAIM_CONTROLLER)

    return running


CONTROLLERS: dict[str, Controller] = {
    "dragoman": dragoman,
    "stock, unthrottled": stock(UNTHROTTLED),
    "stock, as shipped": stock(StockController()),
}


@dataclass(frozen=True, slots=True)
class Load:
    """One job.

    Attributes:
        title: What it shows.
        pods: How many there are.
        parallel: How many of them at once.
        devices: On the node.
    """

    title: str
    pods: int
    parallel: int
    devices: int


LOADS = (
    Load("pods that queue for devices", 40, 8, 4),
    Load("pods that come at once, with devices for all", 40, 40, 40),
)


def main() -> int:
    """Measure and print a table for each load."""
    if reason := obstacle():
        print(reason)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the node is removed
    with ControlPlane(
        scheduler=True, garbage_collector=True, extra_apiserver_flags=NODE_FLAGS
    ) as plane:
        plane.start_controllers(JOBS, [JOBS])
        with Node(plane) as node:
            for load in LOADS:
                report(load, measured(plane, node, load))
    return 0


def measured(plane: ControlPlane, node: Node, load: Load) -> dict[str, list[float]]:
    """Return the seconds that each controller took, run by run."""
    seconds: dict[str, list[float]] = {name: [] for name in CONTROLLERS}
    busy, _, _ = os.getloadavg()
    print(f"{load.title}: {load.pods}, {load.parallel} at once, {load.devices} devices")
    print(f"  load of the machine before: {busy:.1f}", flush=True)
    with driver_of(plane, node, load) as driver:
        for _ in range(RUNS):
            for name, controller in CONTROLLERS.items():
                with controller(plane):
                    seconds[name].append(once(plane, node, driver, load))
                print(f"  {name}: {seconds[name][-1]:.1f} s", flush=True)
    return seconds


def driver_of(plane: ControlPlane, node: Node, load: Load) -> Driver:
    """Return a driver with the load's devices, to which the class leads from now on."""
    name = f"gpu-{load.devices}.example.com"
    plane.api().delete("deviceclasses", CLASS)
    plane.api().create(plane.served(objects.device_class(CLASS, name)))
    api = plane.api(plane.user("driver", RULES))
    places = node.places
    return Driver(api, places.kubelet, places.cdi, node=node.name, devices=load.devices, name=name)


def once(plane: ControlPlane, node: Node, driver: Driver, load: Load) -> float:
    """Return the seconds from a job's creation until all is done and every device is free.

    Raises:
        TimeoutError: A pod, a claim or a device was left behind.
    """
    wait_for(driver.published, message="the devices to be published")
    setup = NodeSetup(plane, node, driver, plane.create_namespace("bench"))
    setup.template()
    start = time.monotonic()
    setup.job("job", load.pods, load.parallel, "tell", "work=100ms")
    setup.done("job", load.pods)
    setup.at_rest()
    took = time.monotonic() - start
    setup.clear()
    return took


def report(load: Load, seconds: dict[str, list[float]]) -> None:
    """Print medians, and each as a ratio to dragoman's."""
    medians = {name: statistics.median(all_runs) for name, all_runs in seconds.items()}
    print(f"{'':20} {'median':>8} {'pods/s':>8} {'to dragoman':>12}")
    for name, median in medians.items():
        ratio = median / medians["dragoman"]
        print(f"{name:20} {median:6.1f} s {load.pods / median:8.2f} {ratio:11.2f}x", flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""`make bench-evictions`: dragoman beside kube-controller-manager, in one run.

Bars: 1,000 pods by one rule are deleted in at most the stock controller's time, with the same
writes; an irrelevant slice event costs at most 60 us of CPU; 10,000 allocated claims and 1,000
slices cost at most 60 MiB.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import quantiles

from tests.bench.claims.meter import cpu, memory
from tests.e2e.evictions.harness import GATES, SERVED, Devices, evicting
from tests.e2e.rbac import EVICTION_RULES, OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane

PODS = int(os.environ.get("PODS", "1000"))
CLAIMS = int(os.environ.get("CLAIMS", "10000"))
SLICES = int(os.environ.get("SLICES", "1000"))
EVENTS = 2000
UNTHROTTLED = ("--kube-api-qps=5000", "--kube-api-burst=10000")
ATTRIBUTES = {f"attribute_{index}": {"string": f"value {index}"} for index in range(8)}
BAR_MICROSECONDS, BAR_MEBIBYTES = 60.0, 60.0


def main() -> int:
    """Run everything; the status is 1 where a bar is missed."""
    print(f"load average before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs", flush=True)
    with ControlPlane(feature_gates=GATES, runtime_config=SERVED) as plane:
        passed = [deletions(plane), latency(plane)]
    with ControlPlane(feature_gates=GATES, runtime_config=SERVED, audit=False) as plane:
        passed += [events(plane, devices) for devices in (8, 64)]
        passed.append(resident(plane))
    print(f"load average after: {os.getloadavg()[0]:.1f}")
    return 0 if all(passed) else 1


def verdict(*, passed: bool) -> str:
    """Return the word for the end of a line."""
    return "ok" if passed else "MISSED"


@contextmanager
def populated(plane: ControlPlane, user: str, pods: int) -> Iterator[tuple[Devices, list[str]]]:
    """Create pods on devices of one driver."""
    made = Devices(plane, plane.create_namespace("bench"), user)
    names = [f"pod-{index}" for index in range(pods)]
    made.publish()
    made.api.in_parallel(made.pod, names)
    try:
        yield made, names
    finally:
        made.clear()


def deletions(plane: ControlPlane) -> bool:
    """Evict pods by one rule, with each controller."""
    took, writes = {}, {}
    for evictor, flags in (("stock", UNTHROTTLED), ("own", ())):
        with (
            evicting(plane, evictor, *flags) as user,  # type: ignore[arg-type]
            populated(plane, user, PODS) as (made, names),
        ):
            time.sleep(3)
            mark = plane.audit.mark()
            began = time.monotonic()
            made.rule()
            wait_for(lambda made=made: left(made) == 0, 300, "all pods to be deleted", every=0.1)  # type: ignore[misc]
            took[evictor] = time.monotonic() - began
            plane.audit.settled(user, 2)
            counts = plane.audit.counts(user, mark, namespace=made.namespace)
            writes[evictor] = {key: counts[key] for key in ("patch pods/status", "delete pods")}
            assert len(names) == PODS
    passed = took["own"] <= took["stock"] and writes["own"] == writes["stock"]
    for evictor, seconds in took.items():
        print(f"{PODS} pods by one rule, {evictor}: {seconds:.2f} s, {writes[evictor]}")
    print(f"time to the last deletion: {took['own'] / took['stock']:.2f}x {verdict(passed=passed)}")
    return passed


def left(made: Devices) -> int:
    """Count the pods that are not being deleted yet."""
    return sum(
        "deletionTimestamp" not in one["metadata"] for one in made.api.list("pods", made.namespace)
    )


def latency(plane: ControlPlane) -> bool:
    """Publish claims in one namespace while a rule evicts the pods of another one."""
    user = plane.user("dragoman", (*OPERATOR_RULES, *EVICTION_RULES))
    with (
        OperatorProcess(plane, user, "--evictions=own", "--no-leader-elect"),
        populated(plane, user.name, PODS) as (made, _),
    ):
        elsewhere = plane.create_namespace("elsewhere")
        plane.api().create(objects.template("template", elsewhere, "none"))
        calm = publications(plane, elsewhere, "calm")
        made.rule()
        busy = publications(plane, elsewhere, "busy")
        plane.clear_namespace(elsewhere)
    print(
        f"claims of another namespace, median and p95: {1000 * calm[0]:.0f} and "
        f"{1000 * calm[1]:.0f} ms before, {1000 * busy[0]:.0f} and {1000 * busy[1]:.0f} ms while "
        f"{PODS} pods are evicted"
    )
    return True


def publications(plane: ControlPlane, namespace: str, prefix: str) -> tuple[float, float]:
    """Return median and p95 of the seconds from a pod's creation until its claim is published."""
    api, seconds = plane.api(), []
    for index in range(40):
        name = f"{prefix}-{index}"
        began = time.monotonic()
        api.create(objects.pod(name, namespace, templates={"a": "template"}))
        wait_for(
            lambda name=name: api.get("pods", name, namespace)["status"].get(  # type: ignore[misc]
                "resourceClaimStatuses"
            ),
            every=0.005,
        )
        seconds.append(time.monotonic() - began)
    found = quantiles(seconds, n=20)
    return found[9], found[18]


def a_slice(index: int, devices: int) -> Json:
    """Return a slice without taints."""
    entries = [{"name": f"gpu-{number}", "attributes": ATTRIBUTES} for number in range(devices)]
    return objects.resource_slice(f"node-{index}", entries, "bench.example.com")


def events(plane: ControlPlane, devices: int) -> bool:
    """Change slices of so many devices in a way that concerns no eviction."""
    api = plane.api()
    made = [api.create(a_slice(index, devices))["metadata"]["name"] for index in range(20)]
    user = plane.user("dragoman", (*OPERATOR_RULES, *EVICTION_RULES))
    modes = ("--claims=off", "--evictions=own", "--no-leader-elect")
    with OperatorProcess(plane, user, *modes) as running:
        pid = running.pid or 0
        time.sleep(3)
        began, start = cpu(pid), time.monotonic()
        time.sleep(5)
        idle = (cpu(pid) - began) / (time.monotonic() - start)
        began, start = cpu(pid), time.monotonic()
        jobs = [(made[index % 20], str(index)) for index in range(EVENTS)]
        api.in_parallel(lambda job: touch(plane, *job), jobs)
        time.sleep(1)
        used = cpu(pid) - began - idle * (time.monotonic() - start)
    for name in made:
        api.delete("resourceslices", name)
    each = used / EVENTS * 1e6
    passed = each <= BAR_MICROSECONDS
    print(
        f"irrelevant event of a slice with {devices} devices: {each:.0f} us "
        f"{verdict(passed=passed)}"
    )
    return passed


def touch(plane: ControlPlane, name: str, value: str) -> None:
    """Change an attribute of a device."""
    path = "/spec/devices/0/attributes/attribute_0/string"
    body = [{"op": "replace", "path": path, "value": value}]
    plane.api().patch("resourceslices", name, None, body, kind="json")


def resident(plane: ControlPlane) -> bool:
    """Compare the memory of an operator that only controls claims with one that also evicts."""
    api, namespace = plane.api(), plane.create_namespace("many")
    api.create_many(a_slice(index, 16) for index in range(SLICES))
    made = Devices(plane, namespace, "")
    made.driver = "bench.example.com"

    def claim(index: int) -> None:
        device = made.result(f"gpu-{index % 16}", pool=f"node-{index % SLICES}")
        made.claim(f"claim-{index}", device)

    api.in_parallel(claim, range(CLAIMS))
    found = {}
    for mode in ("off", "own"):
        user = plane.user("dragoman", (*OPERATOR_RULES, *EVICTION_RULES))
        flags = ("--claims=assist", f"--evictions={mode}", "--no-leader-elect")
        with OperatorProcess(plane, user, *flags) as running:
            time.sleep(10)
            found[mode] = memory(running.pid or 0)["VmRSS"]
    more = found["own"] - found["off"]
    passed = more <= BAR_MEBIBYTES
    print(
        f"{CLAIMS} allocated claims and {SLICES} slices of 16 devices: {found['off']:.0f} MiB "
        f"without, {found['own']:.0f} MiB with evictions, +{more:.0f} MiB {verdict(passed=passed)}"
    )
    return passed


if __name__ == "__main__":
    sys.exit(main())

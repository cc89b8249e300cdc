"""The phases of `make bench-scale`: fill, start, churn, restart."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.bench.claims import objects
from tests.bench.claims.competitors import DRAGOMAN
from tests.bench.claims.creation import wait_published
from tests.bench.claims.idle import ready, resident, spent
from tests.bench.claims.lab import ACCOUNT, Lab
from tests.bench.claims.meter import Since, memory
from tests.bench.claims.observer import PodWatch
from tests.bench.claims.trial import Trial, patience, percentile
from tests.bench.scale import churn, filling
from tests.e2e.rbac import EXPLAIN_RULES, OPERATOR_RULES
from tests.support import manifests
from tests.support.controlplane.plane import API_SERVER
from tests.support.controlplane.process import ThrowawayProcess

IDLE_SECONDS = 10.0
PROGRESS_SECONDS = 10.0
LOOK = 0.1
REST_SECONDS = 120.0
EXPLAINER = "dragoman-explain"

Say = Callable[[str], None]
Values = dict[str, float]


def fill(lab: Lab, scale: float, say: Say) -> Values:
    """Create all objects; return their numbers."""
    nodes, pods = round(filling.NODES * scale), round(filling.PODS * scale)
    claims = round(filling.WITH_CLAIMS * scale)
    began = time.monotonic()

    def done(what: str) -> None:
        say(f"{what} after {time.monotonic() - began:.0f} s")

    lab.send(filling.slices(nodes))
    done(f"{nodes:,} slices")
    filling.settle(lab, claims, nodes)
    done(f"{claims:,} running pods with claims")
    lab.send(objects.create_plain_pods(lab.namespace, pods - claims))
    done(f"{pods - claims:,} other pods")
    return {"nodes": nodes, "pods": pods, "with_claims": claims}


@contextmanager
def operator(lab: Lab) -> Iterator[tuple[ThrowawayProcess, float]]:
    """Run the operator; yield it, and the seconds until it was ready."""
    process = Trial(DRAGOMAN).start(lab)
    yield process, until_ready(lab, process)
    process.stop()


def until_ready(lab: Lab, process: ThrowawayProcess) -> float:
    """Return the seconds from now until the operator is ready."""
    began = time.monotonic()
    lab.wait(lambda: ready(lab), process, patience(filling.PODS))
    return time.monotonic() - began


def empty(lab: Lab) -> Values:
    """Measure the operator without objects."""
    with operator(lab) as (process, _):
        return {"empty_rss_mib": resident(process)}


def at_rest(process: ThrowawayProcess) -> Values:
    """Measure an operator that has listed everything."""
    return {"full_rss_mib": resident(process), "idle_share": spent(process, IDLE_SECONDS)}


def churning(lab: Lab, process: ThrowawayProcess, rate: int, seconds: int, say: Say) -> Values:
    """Let pods with claims come and go; return waits, memory, and CPU while pods are created."""
    namespace = lab.plane.create_namespace("churn")
    lab.add_template(namespace)
    clock = Since(operator=process.pid, **lab.servers())
    with PodWatch(lab.server, namespace) as watch:
        sender = churn.start(lab.server, namespace, rate, seconds)
        values = follow(watch, process, clock, say=say, goes_on=sender.is_alive)
        if sender.exitcode:
            raise RuntimeError("the process that creates and finishes pods failed")
    apiserver = lab.plane.processes[API_SERVER].pid
    assert process.pid is not None
    assert apiserver is not None
    return {
        **values,
        **waits(watch),
        "offered_per_s": rate,
        "reached_per_s": len(watch.published) / values["seconds"],
        "left_over": rest(lab, namespace),
        "churn_peak_mib": memory(process.pid)["VmHWM"],
        "apiserver_rss_mib": memory(apiserver)["VmRSS"],
    }


def follow(
    watch: PodWatch,
    process: ThrowawayProcess,
    clock: Since,
    *,
    say: Say,
    goes_on: Callable[[], bool],
) -> Values:
    """Read clocks while pods are created, and wait for the end; return cores and seconds."""
    began = reported = time.monotonic()
    used, elapsed, created = clock.read(), LOOK, 0
    while goes_on():
        time.sleep(LOOK)
        watch.check()
        process.check()
        now = time.monotonic()
        if len(watch.created) > created:
            used, elapsed, created = clock.read(), now - began, len(watch.created)
        if now - reported >= PROGRESS_SECONDS:
            reported = now
            say(progress(watch, process))
    return {"seconds": elapsed, **{f"{name}_cores": used[name] / elapsed for name in used}}


def waits(watch: PodWatch) -> Values:
    """Return how long pods waited for their claims, and how many finished without one."""
    found = [
        1000 * (watch.published[name] - at)
        for name, at in watch.created.items()
        if name in watch.published
    ]
    return {
        "wait_p50_ms": percentile(found, 0.5),
        "wait_p99_ms": percentile(found, 0.99),
        "wait_max_ms": max(found),
        "missed": len(watch.created) - len(found),
    }


def progress(watch: PodWatch, process: ThrowawayProcess) -> str:
    """Return a line about a churn that goes on."""
    return (
        f"{len(watch.created):,} pods created, {len(watch.published):,} claims "
        f"published, operator {resident(process):.0f} MiB"
    )


def rest(lab: Lab, namespace: str) -> int:
    """Wait until no claim of a churn is left, for a limited time; return how many are."""
    deadline = time.monotonic() + REST_SECONDS
    while left := len([*lab.items(objects.claims_path(namespace))]):
        if time.monotonic() > deadline:
            break
        time.sleep(1)
    return left


def restart(lab: Lab) -> Values:
    """Start again beside all objects and one pod that waits."""
    with operator(lab) as (_, seconds):
        values = {"ready_s": seconds}
    lab.send(objects.create_pods(lab.namespace, 1, prefix="late"))
    with PodWatch(lab.server, lab.namespace) as watch:
        began = time.monotonic()
        process = Trial(DRAGOMAN).start(lab)
        wait_published(lab, watch, process, 1)
        values["first_claim_s"] = min(watch.published.values()) - began
    process.stop()
    return values


def explaining(lab: Lab) -> Values:
    """Measure the memory of an operator that reads nodes and slices too."""
    lab.plane.api().create(manifests.namespace(EXPLAINER))
    rules = [*OPERATOR_RULES, *EXPLAIN_RULES]
    user = lab.plane.user(EXPLAINER, rules)
    command = [
        *(sys.executable, "-m", "dragoman", "operator", "--claims=own", "--explain-events"),
        f"--kubeconfig={user.kubeconfig}",
        f"--namespace={ACCOUNT}",
        f"--metrics-address=127.0.0.1:{lab.probe_port}",
    ]
    process = lab.plane.launch(EXPLAINER, command)
    until_ready(lab, process)
    time.sleep(IDLE_SECONDS)
    values = {"explain_rss_mib": resident(process)}
    process.stop()
    return values

"""What a controller costs when there is nothing to do."""

import statistics
import time

import urllib3

from tests.bench.claims import objects
from tests.bench.claims.competitors import DRAGOMAN, RAW
from tests.bench.claims.creation import QUIET, wait_published
from tests.bench.claims.lab import Lab, WrongCountError, said
from tests.bench.claims.meter import cpu, memory
from tests.bench.claims.observer import PodWatch
from tests.bench.claims.trial import Trial, Values, patience
from tests.support.controlplane.process import ThrowawayProcess

SETTLED, PLAIN = 10_000, 20_000
PACE = 500.0
"""Updates of irrelevant pods a second."""
NOISE_SECONDS, BASE_SECONDS = 20.0, 10.0
LISTS = 3


def restart(trial: Trial) -> Values:
    """Start where everything is settled: nothing may be written; how soon is it ready?"""
    pods = trial.sized(SETTLED)
    with Lab(audit=True) as lab:
        lab.settle(pods)
        listed = statistics.median(list_seconds(trial, lab) for _ in range(LISTS))
        values = {"list_and_parse_s": listed}
        process = trial.start(lab)
        began = time.monotonic()
        if trial.competitor == DRAGOMAN:
            lab.wait(lambda: ready(lab), process, patience(pods))
            values["ready_s"] = time.monotonic() - began
            values["ready_to_list"] = values["ready_s"] / listed
        time.sleep(2 * QUIET)
        values["writes"] = len(lab.plane.audit.writes(trial.competitor.user, refused=None))
        values |= {"rss_mib": resident(process)}
        process.stop()
        values["first_claim_s"] = first_claim(trial, lab)
        trial.check(lab, pods + 1)
    if trial.competitor.exact and values["writes"]:
        raise WrongCountError(f"{values['writes']} writes where everything was settled")
    return values


def first_claim(trial: Trial, lab: Lab) -> float:
    """Return the seconds from a start until a pod that waits has its claim."""
    lab.send(objects.create_pods(lab.namespace, 1, prefix="late"))
    with PodWatch(lab.server, lab.namespace) as watch:
        process = trial.start(lab)
        began = time.monotonic()
        wait_published(lab, watch, process, 1)
    return min(watch.published.values()) - began


def list_seconds(trial: Trial, lab: Lab) -> float:
    """Return how long the raw client needs to list and parse everything."""
    process = Trial(RAW, trial.scale).start(lab, verb="list")
    if process.wait(patience(SETTLED)) != 0:
        raise RuntimeError(process.tail())
    return float(said(process)["seconds"])


def ready(lab: Lab) -> bool:
    """Whether dragoman says that it is ready."""
    url = f"http://127.0.0.1:{lab.probe_port}/readyz"
    try:
        return urllib3.request("GET", url, retries=False, timeout=2).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def noise(trial: Trial) -> Values:
    """Change pods that have nothing to do with claims, and see what that costs."""
    pods, plain = trial.sized(SETTLED), trial.sized(PLAIN)
    with Lab() as lab:
        lab.settle(pods)
        lab.send(objects.create_plain_pods(lab.namespace, plain))
        process = trial.warm_up(lab)
        time.sleep(QUIET)
        base = spent(process, BASE_SECONDS)
        updates = max(1, round(PACE * NOISE_SECONDS * min(1.0, 5 * trial.scale)))
        assert process.pid is not None
        before, began = cpu(process.pid), time.monotonic()
        sent = lab.send(objects.touch_plain_pods(lab.namespace, plain, updates), PACE)
        seconds = time.monotonic() - began
        time.sleep(1)
        used = cpu(process.pid) - before - base * (seconds + 1)
        values = {"rss_mib": resident(process), "peak_rss_mib": memory(process.pid)["VmHWM"]}
        trial.check(lab, pods + 1)
    return {
        "cpu_us_per_event": 1e6 * max(0.0, used) / sent,
        "events_per_s": sent / seconds,
        "idle_cpu_share": base,
        **values,
    }


def spent(process: ThrowawayProcess, seconds: float) -> float:
    """Return the share of a CPU that a process uses when nothing happens."""
    assert process.pid is not None
    before = cpu(process.pid)
    time.sleep(seconds)
    return (cpu(process.pid) - before) / seconds


def resident(process: ThrowawayProcess) -> float:
    """Return how many MiB a process holds."""
    assert process.pid is not None
    return memory(process.pid)["VmRSS"]

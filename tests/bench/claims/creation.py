"""How fast claims are made and published, and with how many writes."""

import random
import time

from tests.bench.claims import objects
from tests.bench.claims.lab import Lab, WrongCountError
from tests.bench.claims.meter import Since
from tests.bench.claims.observer import ClaimWatch, PodWatch
from tests.bench.claims.proxy import Proxy
from tests.bench.claims.trial import Trial, Values, patience, percentile
from tests.support.controlplane.process import ThrowawayProcess

CLAIMS = 3_000
BURST = 10_000
ONE_BY_ONE = 400
DELAY = 2.0
LONGEST_REST = 30.0
QUIET = 3.0
"""Seconds without an event after which nothing more is expected."""


def catch_up(trial: Trial, entries: int = 1) -> Values:
    """Let pods exist first, then start the controller."""
    pods = trial.sized(CLAIMS // entries)
    with Lab() as lab:
        lab.send(objects.create_pods(lab.namespace, pods, entries=entries))
        with PodWatch(lab.server, lab.namespace, entries) as watch:
            process = trial.start(lab)
            began = time.monotonic()
            wait_published(lab, watch, process, 1)
            clock = Since(competitor=process.pid, **lab.servers())
            early = len(watch.published)
            wait_published(lab, watch, process, pods, clock)
        trial.check(lab, pods * entries)
    times = sorted(watch.published.values())
    used = clock.read()
    later = max(1, pods - early) * entries
    return {
        "claims": pods * entries,
        "claims_per_s": (pods - 1) * entries / (times[-1] - times[0]),
        "first_s": times[0] - began,
        "done_s": times[-1] - began,
        **{f"{name}_cpu_us_per_claim": 1e6 * used[name] / later for name in used},
    }


def four_entries(trial: Trial) -> Values:
    """Do the same with four claims a pod."""
    return catch_up(trial, entries=4)


def while_created(trial: Trial) -> Values:
    """Let the controller run first, then create pods as fast as the API server takes them."""
    pods = trial.sized(CLAIMS)
    with Lab() as lab:
        process = trial.warm_up(lab)
        with PodWatch(lab.server, lab.namespace) as watch:
            lab.send(objects.create_pods(lab.namespace, pods))
            wait_published(lab, watch, process, pods)
        trial.check(lab, pods + 1)
    created, published = watch.created.values(), watch.published.values()
    waited = [watch.published[name] - at for name, at in watch.created.items()]
    return {
        "claims": pods,
        "claims_per_s": pods / (max(published) - min(created)),
        "pods_created_per_s": pods / (max(created) - min(created)),
        "wait_p50_s": percentile(waited, 0.5),
        "wait_p99_s": percentile(waited, 0.99),
    }


def writes_spent(trial: Trial) -> Values:
    """Count all writes: pods that exist at the start, then pods with four claims that come."""
    pods = trial.sized(CLAIMS // 2)
    with Lab(audit=True) as lab:
        lab.send(objects.create_pods(lab.namespace, pods))
        with PodWatch(lab.server, lab.namespace) as watch:
            process = trial.start(lab)
            wait_published(lab, watch, process, pods)
        more = objects.create_pods(lab.namespace, pods // 4, entries=4, prefix="four")
        with PodWatch(lab.server, lab.namespace, entries=4) as watch:
            lab.send(more)
            wait_published(lab, watch, process, pods // 4)
        claims = pods + pods // 4 * 4
        trial.check(lab, claims)
        settled = comes_to_rest(trial, lab)
        counts = lab.plane.audit.counts(trial.competitor.user, refused=None)
    posts = counts.pop("create resourceclaims", 0)
    patches = counts.pop("patch pods/status", 0)
    return {
        "posts_per_claim": posts / claims,
        "patches_per_pod": patches / (pods + pods // 4),
        "other_writes": sum(counts.values()),
        "settled": settled,
    }


def comes_to_rest(trial: Trial, lab: Lab) -> bool:
    """Wait until the competitor writes no more.

    The stock controller may never stop where pods have several claims: that is a result.

    Raises:
        TimeoutError: Somebody else does not stop.
    """
    try:
        lab.plane.audit.settled(trial.competitor.user, quiet=QUIET, timeout=LONGEST_REST)
    except TimeoutError:
        if trial.competitor.exact:
            raise
        return False
    return True


def burst(trial: Trial) -> Values:
    """Create pods in one burst while the controller sees claims only two seconds later."""
    pods = trial.sized(BURST)
    with Lab() as lab, Proxy(lab.plane, objects.CLAIMS, DELAY) as proxy:
        process = trial.warm_up(lab, proxy.url)
        pods_seen = PodWatch(lab.server, lab.namespace)
        claims_seen = ClaimWatch(lab.server, lab.namespace)
        with pods_seen as watch, claims_seen:
            lab.send(objects.create_pods(lab.namespace, pods))
            wait_published(lab, watch, process, pods)
            idle = DELAY + QUIET
            lab.wait(lambda: claims_seen.quiet() > idle, process, 60, claims_seen.check)
        trial.check(lab, pods + 1)
        found = lab.count()
        delayed = proxy.delayed
    duplicates = claims_seen.events["ADDED"] - pods
    if trial.competitor.exact and duplicates:
        raise WrongCountError(f"{duplicates} claims more than {pods} pods were made")
    if not delayed:
        raise WrongCountError("the proxy delayed nothing")
    times = watch.published.values()
    return {
        "claims": found.published - 1,
        "duplicates": duplicates,
        "left_over": found.surplus,
        "claims_per_s": pods / (max(times) - min(watch.created.values())),
    }


def reaction(trial: Trial) -> Values:
    """Create one pod at a time in a quiet cluster."""
    pods = trial.sized(ONE_BY_ONE)
    with Lab() as lab:
        process = trial.warm_up(lab)
        with PodWatch(lab.server, lab.namespace) as watch:
            for count, request in enumerate(objects.create_pods(lab.namespace, pods), 1):
                time.sleep(random.uniform(0.02, 0.08))
                lab.plane.api().request(request.method, request.path, request.body)
                wait_published(lab, watch, process, count)
        trial.check(lab, pods + 1)
    waited = [1000 * (watch.published[name] - at) for name, at in watch.created.items()]
    return {
        "p50_ms": percentile(waited, 0.5),
        "p90_ms": percentile(waited, 0.9),
        "p99_ms": percentile(waited, 0.99),
    }


def wait_published(
    lab: Lab, watch: PodWatch, process: ThrowawayProcess, pods: int, clock: Since | None = None
) -> None:
    """Wait until so many pods have all their claims in their status."""
    calls = [watch.check] if clock is None else [watch.check, clock.read]
    lab.wait(lambda: len(watch.published) >= pods, process, patience(pods), *calls)

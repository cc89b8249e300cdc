"""How fast claims are taken back, and with how many writes."""

import time
from collections.abc import Callable

from tests.bench.claims import objects
from tests.bench.claims.creation import QUIET, wait_published
from tests.bench.claims.lab import Lab, WrongCountError
from tests.bench.claims.observer import ClaimWatch, PodWatch
from tests.bench.claims.trial import Trial, Values, patience, percentile
from tests.support.controlplane.process import ThrowawayProcess

FINISHED = 2_000
ALLOCATED = 500
NODES = 10
STOCK_SECONDS = 30.0
"""For how long the stock controller is watched where it never comes to rest."""


def finished(trial: Trial) -> Values:
    """Let pods be finished that stay as objects, then start the controller."""
    pods = trial.sized(FINISHED)
    with Lab() as lab:
        lab.settle(pods)
        lab.send(objects.finish_pods(lab.namespace, pods))
        with ClaimWatch(lab.server, lab.namespace) as claims:
            process = trial.start(lab, verb="delete")
            began = time.monotonic()
            lab.wait(lambda: len(claims.deleted) >= pods, process, patience(pods), claims.check)
            done = rest(claims, STOCK_SECONDS)
            lab.wait(done, process, STOCK_SECONDS + QUIET, claims.check)
            settled = claims.quiet() > QUIET
        left = len(lab.claims())
    deleted, created = claims.events["DELETED"], claims.events["ADDED"]
    if trial.competitor.exact and (deleted, created, left, settled) != (pods, 0, 0, True):
        raise WrongCountError(f"{deleted} deletions, {created} creations, {left} claims left")
    times = sorted(claims.deleted.values())[:pods]
    return {
        "deletions": deleted,
        "deletions_per_claim": deleted / pods,
        "creations": created,
        "settled": settled,
        "deletions_per_s": (pods - 1) / (times[-1] - times[0]),
        "done_s": times[-1] - began,
    }


def rest(claims: ClaimWatch, longest: float) -> Callable[[], bool]:
    """Return a function that tells whether nothing happens any more, or it took too long."""
    end = time.monotonic() + longest
    return lambda: claims.quiet() > QUIET or time.monotonic() > end


def life(trial: Trial) -> Values:
    """Finish pods that hold devices while as many others wait for these devices."""
    pods = trial.sized(ALLOCATED)
    with Lab(scheduler=True) as lab:
        watch, claims = PodWatch(lab.server, lab.namespace), ClaimWatch(lab.server, lab.namespace)
        with watch, claims:
            process = run_pods(trial, lab, watch, pods)
            lab.send(objects.create_pods(lab.namespace, pods, prefix="next"))
            wait_published(lab, watch, process, 2 * pods)
            time.sleep(1)  # the scheduler has tried them in vain
            lab.send(objects.finish_pods(lab.namespace, pods))
            wait_for_all(lab, process, watch, lambda: len(claims.freed) >= pods)
            wait_for_all(lab, process, watch, lambda: len(watch.placed) >= 2 * pods)
    began = min(watch.finished.values())
    freed = [at - watch.finished[pod_of(name)] for name, at in claims.freed.items()]
    placed = [at - began for name, at in watch.placed.items() if name.startswith("next")]
    return {
        "freed_p50_ms": 1000 * percentile(freed, 0.5),
        "freed_p99_ms": 1000 * percentile(freed, 0.99),
        "all_freed_s": max(claims.freed.values()) - began,
        "next_p50_s": percentile(placed, 0.5),
        "next_all_s": max(placed),
    }


def life_writes(trial: Trial) -> Values:
    """Count the controller's writes from the pods' creation until all claims are gone."""
    pods = trial.sized(ALLOCATED)
    with Lab(scheduler=True, audit=True) as lab:
        watch, claims = PodWatch(lab.server, lab.namespace), ClaimWatch(lab.server, lab.namespace)
        with watch, claims:
            process = run_pods(trial, lab, watch, pods)
            lab.send(objects.finish_pods(lab.namespace, pods))
            wait_for_all(lab, process, watch, lambda: len(claims.deleted) >= pods)
            lab.wait(rest(claims, QUIET), process, 2 * QUIET)
        writes = lab.plane.audit.counts(trial.competitor.user, refused=None)
        left = len(lab.claims())
    if trial.competitor.exact and left:
        raise WrongCountError(f"{left} claims are left of finished pods")
    return {
        "writes_per_claim": sum(writes.values()) / pods,
        **{f"{what} per claim": count / pods for what, count in writes.items()},
    }


def run_pods(trial: Trial, lab: Lab, watch: PodWatch, pods: int) -> ThrowawayProcess:
    """Start the controller, and bring so many pods to nodes with a device each."""
    for node in range(NODES):
        lab.plane.add_node(f"node-{node}", devices=-(-pods // NODES))
    process = trial.start(lab)
    lab.send(objects.create_pods(lab.namespace, pods))
    wait_published(lab, watch, process, pods)
    wait_for_all(lab, process, watch, lambda: len(watch.placed) >= pods)
    return process


def wait_for_all(
    lab: Lab, process: ThrowawayProcess, watch: PodWatch, done: Callable[[], object]
) -> None:
    """Wait for something that takes two minutes at most."""
    lab.wait(done, process, 120, watch.check)


def pod_of(claim: str) -> str:
    """Return the name of the pod that a generated claim was made for."""
    return claim.partition("-entry-")[0]

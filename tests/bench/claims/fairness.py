"""How long pods wait for others, and what an own priority level at the API server is worth."""

import random
import sys
import time
from pathlib import Path

from tests.bench.claims import objects
from tests.bench.claims.creation import wait_published
from tests.bench.claims.lab import Lab
from tests.bench.claims.observer import PodWatch
from tests.bench.claims.trial import Trial, Values, percentile
from tests.e2e.rbac import rule

MANIFEST = Path(__file__).parents[3] / "examples/operator/flowcontrol.yaml"
PODS = 1_000
CROWD = 3_000
OTHERS = 20
NEIGHBOUR = "neighbour"
REQUESTS = 300
"""Lists that the neighbour always has in flight: more than the seats it shares with us."""


def neighbours(trial: Trial) -> Values:
    """Wake many pods of one namespace at once, and create pods one by one in another."""
    pods, others = trial.sized(CROWD), trial.sized(OTHERS)
    with Lab() as lab:
        elsewhere = lab.plane.create_namespace("neighbour")
        lab.add_template(elsewhere)
        lab.remove_template()
        lab.send(objects.create_pods(lab.namespace, pods))
        lab.send(objects.create_pods(elsewhere, 1, prefix="warm"))
        crowd, watch = PodWatch(lab.server, lab.namespace), PodWatch(lab.server, elsewhere)
        with crowd, watch:
            process = trial.start(lab)
            wait_published(lab, watch, process, 1)
            lab.add_template()
            wait_published(lab, crowd, process, 1)
            for request in objects.create_pods(elsewhere, others):
                time.sleep(random.uniform(0.02, 0.08))
                lab.plane.api().request(request.method, request.path, request.body)
            left = pods - len(crowd.published)
            wait_published(lab, watch, process, others + 1)
            wait_published(lab, crowd, process, pods)
        trial.check(lab, pods)
    waited = [watch.published[name] - at for name, at in watch.created.items()]
    return {
        "claims": pods,
        "neighbours": len(waited),
        "wait_p50_s": percentile(waited, 0.5),
        "wait_max_s": max(waited),
        "crowd_left": left,
        "crowd_s": max(crowd.published.values()) - min(crowd.published.values()),
    }


def fairness(trial: Trial) -> Values:
    """Catch up alone and beside a busy neighbour, each with and without an own priority level."""
    return {
        f"{name}_claims_per_s": rate(trial, own_level=own_level, busy=busy)
        for name, own_level, busy in (
            ("alone", False, False),
            ("alone_own_level", True, False),
            ("busy", False, True),
            ("busy_own_level", True, True),
        )
    }


def rate(trial: Trial, *, own_level: bool, busy: bool) -> float:
    """Return the claims a second of one catch-up."""
    pods = trial.sized(PODS)
    with Lab() as lab:
        if own_level:
            lab.plane.kubectl("apply", "-f", str(MANIFEST))
        lab.send(objects.create_pods(lab.namespace, pods))
        if busy:
            disturb(lab)
        with PodWatch(lab.server, lab.namespace) as watch:
            process = trial.start(lab)
            wait_published(lab, watch, process, pods)
        trial.check(lab, pods)
    times = watch.published.values()
    return (pods - 1) / (max(times) - min(times))


def disturb(lab: Lab) -> None:
    """Let another ServiceAccount ask for lists as fast as it gets them."""
    user = lab.plane.service_account(NEIGHBOUR, "default", [rule("", "pods", "list")])
    command = [
        *(sys.executable, "-m", "tests.bench.claims.raw", user.kubeconfig, "hammer"),
        *(lab.namespace, f"--concurrency={REQUESTS}"),
    ]
    lab.plane.launch(NEIGHBOUR, command)
    time.sleep(3)

"""`make soak-memory MINUTES=n`: what operator and webhook hold under churn, with everything on.

First come reviews that all differ, and schemas that all are new and go again: what the caches keep
is full then. Afterwards pods, taints, maintenances, requests and schemas come and go, without any
fault, beside more reviews. The slope is that of a line through the last two thirds of the samples.

python -m tests.e2e.faults.memory MINUTES [SCHEMAS] [REVIEWS]
"""

import json
import os
import random
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import urllib3

from dragoman_webhooks.server import PATH
from tests.e2e.faults.everything import FLAGS, GATES, RULES, SERVED, Everything, define
from tests.e2e.faults.setup import ALONE, FaultSetup
from tests.e2e.webhook.harness import WebhookProcess, webhook_user
from tests.support.controlplane.api import Api, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import ThrowawayProcess
from tests.support.worlds import driverconfigs as worlds
from tests.support.worlds.reviews import review

SCHEMAS, REVIEWS = 1897, 6000
KEPT = 4
"""Schemas, taints, maintenances and requests that are there at a time."""
EVERY = 5.0
"""Seconds between two samples."""
BAR = 0.1
"""Mebibytes a minute."""
GRACE = 30
SEEN = 10.0
"""Seconds in which the webhook follows a schema."""


class Reviewer:
    """Sends reviews to a webhook over one connection.

    Args:
        webhook: To whom.
    """

    def __init__(self, webhook: WebhookProcess) -> None:
        trust = ssl.create_default_context(cadata=webhook.bundle.decode())
        trust.check_hostname = False
        self._pool = urllib3.HTTPSConnectionPool(
            "127.0.0.1", webhook.port, maxsize=1, ssl_context=trust, assert_hostname=False
        )
        self.sent = 0

    def allowed(self, driver: str, value: int) -> bool:
        """Whether a claim with this value is allowed; none of its values was sent before."""
        self.sent += 1
        parameters = {**worlds.KIND, "level": value, "number": self.sent}
        body = json.dumps(review(worlds.claim(worlds.entry(parameters, driver)))).encode()
        answer = self._pool.urlopen("POST", PATH, body, {"Content-Type": "application/json"})
        assert answer.status == 200, answer.data
        return bool(answer.json()["response"]["allowed"])


def schema(number: int) -> dict[str, object]:
    """Make a schema that no earlier one equals, for a driver of its own."""
    rules = [{"rule": f"self >= {one} - {number}"} for one in range(3)]
    level = {"type": "integer", "maximum": 9, "x-kubernetes-validations": rules}
    texts = {f"p{one}": {"type": "string", "pattern": f"^p{number}-{one}"} for one in range(4)}
    config = worlds.config({"level": level, "number": {"type": "integer"}, **texts})
    made = worlds.schema(config, name=driver(number), driver=driver(number))
    del made["metadata"]["uid"], made["metadata"]["generation"]
    return made


def driver(number: int) -> str:
    """Return the driver of a schema."""
    return f"g{number}.example.com"


def replace(api: Api, reviewer: Reviewer, number: int) -> None:
    """Create a schema, let it refuse a claim, and delete an older one."""
    api.create(schema(number))
    wait_for(lambda: not reviewer.allowed(driver(number), 10), SEEN, f"schema {number} to be seen")
    assert reviewer.allowed(driver(number), 9)
    if number >= KEPT:
        api.delete("driverconfigschemas", driver(number - KEPT))


def pid_of(process: ThrowawayProcess) -> int:
    """Return the PID of a process that runs."""
    process.check()
    assert process.pid is not None
    return process.pid


def resident(pid: int) -> float:
    """Return the mebibytes that a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """Return what a line through the last two thirds of samples rises by in a minute.

    Args:
        samples: Seconds and mebibytes.
    """
    kept = samples[len(samples) // 3 :]
    middle = sum(at for at, _ in kept) / len(kept)
    level = sum(held for _, held in kept) / len(kept)
    spread = sum((at - middle) ** 2 for at, _ in kept)
    return 60 * sum((at - middle) * (held - level) for at, held in kept) / spread


@contextmanager
def sampled(pids: dict[str, int]) -> Iterator[dict[str, list[tuple[float, float]]]]:
    """Take samples of processes while the block runs; prints one of six."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in pids}
    ended = threading.Event()
    began = time.monotonic()

    def sample() -> None:
        count = 0
        while not ended.wait(EVERY):
            count += 1
            for name, pid in pids.items():
                taken[name].append((time.monotonic() - began, resident(pid)))
            if count % 6 == 0:
                held = ", ".join(f"{name} {one[-1][1]:.1f} MiB" for name, one in taken.items())
                load = os.getloadavg()[0]
                print(f"{time.monotonic() - began:6.0f} s: {held}, load {load:.1f}", flush=True)

    thread = threading.Thread(target=sample, name="samples", daemon=True)
    thread.start()
    try:
        yield taken
    finally:
        ended.set()
        thread.join()


def churn(setup: FaultSetup, webhook: WebhookProcess, schemas: int, seconds: float) -> bool:
    """Let everything come and go for a while; return whether nothing grows."""
    everything = Everything(setup)
    reviewer, api = Reviewer(webhook), setup.plane.api()
    pids = {"operator": pid_of(setup.operator), "webhook": pid_of(webhook.process)}
    everything.prepare()
    try:
        with sampled(pids) as samples:
            ends = time.monotonic() + seconds
            number = schemas
            while time.monotonic() < ends:
                setup.workload.lasts(setup.chance.randint(3, 15), timeout=120)
                everything.step()
                everything.tidy(KEPT)
                replace(api, reviewer, number := number + 1)
        everything.calm()
        setup.calm()
    finally:
        everything.end()
    print(f"{dict(everything.done)}, {setup.workload.made} pods, {reviewer.sent} reviews")
    found = {name: slope(one) for name, one in samples.items()}
    for name, rise in found.items():
        ends_at = samples[name][-1][1]
        print(f"{name}: {rise:+.3f} MiB a minute, the bar is {BAR}; {ends_at:.1f} MiB at the end")
    return all(one < BAR for one in found.values())


def main(minutes: float, schemas: int, reviews: int) -> int:
    """Return the exit status."""
    with (
        tempfile.TemporaryDirectory() as folder,
        ControlPlane(
            scheduler=True, garbage_collector=True, feature_gates=GATES, runtime_config=SERVED
        ) as plane,
    ):
        define(plane)
        api = plane.api()
        with WebhookProcess(plane, webhook_user(plane), Path(folder)) as webhook:
            reviewer = Reviewer(webhook)
            pid = pid_of(webhook.process)
            print(f"webhook: {resident(pid):.1f} MiB at the start", flush=True)
            replace(api, reviewer, 0)
            for _ in range(reviews):
                reviewer.allowed(driver(0), 1)
            print(f"webhook: {resident(pid):.1f} MiB after {reviews} reviews", flush=True)
            for number in range(1, schemas + 1):
                replace(api, reviewer, number)
                if number in {schemas // 5, schemas // 2, schemas * 3 // 4, schemas}:
                    print(f"webhook: {resident(pid):.1f} MiB after {number} schemas", flush=True)
            seed = random.randrange(10**6)
            print(f"seed {seed}", flush=True)
            with FaultSetup(plane, seed, ALONE, *FLAGS, rules=RULES, grace=GRACE) as setup:
                flat = churn(setup, webhook, schemas, minutes * 60)
            assert webhook.faults() == []
    return 0 if flat else 1


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(
        main(
            float(given[0]) if given else 20,
            int(given[1]) if len(given) > 1 else SCHEMAS,
            int(given[2]) if len(given) > 2 else REVIEWS,
        )
    )

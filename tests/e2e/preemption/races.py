"""Random runs of preemption on the real scheduler: `python -m tests.e2e.preemption.races N SEED`.

A third argument is a kind, such as budgets: then of these seeds only those of that kind are played.

Each run is a namespace with nodes and devices of its own: pods of low priority hold all devices,
one of high priority waits, and competitors arrive all the time. Eight are played at a time. Runs of
a batch share controllers, which are killed after any write, and the faults of the batch, one for
six runs: a restart of the scheduler or the API server, a gap in the scheduler's watches over a
restart (it lists again), a partition; some have two leaders. Finished seeds are noted in
build/preemption-races, so that a later call goes on.
"""

import json
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from urllib3.exceptions import HTTPError

from dragoman.model.fields import MalformedObjectError
from dragoman.preemption.stored import Journal, digest
from tests.e2e.preemption.conftest import PREEMPTIONS, install
from tests.e2e.preemption.mortals import Leaders
from tests.support import manifests as objects
from tests.support.controlplane import components
from tests.support.controlplane.api import ApiError, wait_for
from tests.support.controlplane.plane import API_SERVER, SCHEDULER, ControlPlane

Json = dict[str, Any]
NODES = 2
DEVICES = 4
BATCH = 24
AT_ONCE = 8
"""Runs of a batch that are played at a time."""
EACH = 6
"""Runs for which there is a fault."""
POLL = 0.25
"""Seconds between two looks at a run."""
ARRIVALS = 10
PATIENCE = 120.0
PATIENCE_WITH_THIEF = 60.0
"""The same where a competitor may have taken the devices for good."""
LEFT_AFTER = 5.0
LEAST_PLACED = 0.99
"""The share of pods that must be placed where no competitor tolerates reservations."""
TROUBLE = (ApiError, OSError, HTTPError)
"""What a test meets while the API server starts again."""
KEY = "dragoman.dev/preemption"
FAULTS = ("", "scheduler", "api", "relist", "partition")
KINDS = ("plain", "budgets", "templates", "shared claims", "partitions", "shares")
PROTECTED = 3
"""Pods of a PodDisruptionBudget."""
DONE = Path("build/preemption-races")
GATES = {
    "DRADeviceTaintRules": True,
    "DRAPartitionableDevices": True,
    "DRAConsumableCapacity": True,
}


@dataclass
class Run:
    """One world, and how it ended.

    Attributes:
        seed: Of everything random.
        left_after: Seconds after which nothing of a preemption may be left.
        kind: What its devices and claims are.
        thief: A competitor that tolerates everything, or exactly the key of reservations.
        outcome: placed, lost, late.
        seconds: From the first refusal to the node.
        released: Seconds from the release of the last victim's claim to the node.
        evicted: Seconds from the first refusal to the first eviction.
        begun: Seconds from the first refusal to the last preemption's journal.
        reserved: Seconds from there to the reservation of all its devices.
        problems: What must not be.
        detail: What there was when it was too late.
    """

    seed: int
    kind: str = ""
    thief: str = ""
    outcome: str = ""
    seconds: float = 0.0
    released: float = 0.0
    evicted: float = 0.0
    begun: float = 0.0
    reserved: float = 0.0
    problems: list[str] = field(default_factory=list)
    detail: str = ""


class World:
    """The namespace of one run.

    Args:
        plane: With a scheduler and the stock claim controller.
        seed: Of everything random.
        left_after: Seconds after which nothing of a preemption may be left.
    """

    def __init__(self, plane: ControlPlane, seed: int, left_after: float = LEFT_AFTER) -> None:
        self.left_after = left_after
        self.random = random.Random(seed)
        self.run = Run(seed, self.random.choice(KINDS))
        self.run.thief = self.random.choices(("", "everything", "key"), (80, 10, 10))[0]
        self.api = plane.api()
        self.name = f"race-{seed}"
        self.driver = f"{self.name}.example.com"
        self.need = self.random.randint(1, 2)
        self.victims: dict[str, str] = {}
        self.protected: frozenset[str] = frozenset()
        self.least = 0
        self.refused = 0.0
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def play(self) -> Run:
        """Build the world, let the pod of high priority wait, and look at how it ends."""
        try:
            self._build()
            self._watch()
        except (*TROUBLE, TimeoutError) as error:
            # The API server was away, or the world never stood: nothing can be said of it.
            self.run.outcome, self.run.detail = "not played", repr(error)
        finally:
            self._stop.set()
            for one in self._threads:
                one.join()
            self._clear()
        return self.run

    # Building -------------------------------------------------------------------------------------

    def _build(self) -> None:
        api, name = self.api, self.name
        api.create(objects.namespace(name))
        api.create(objects.device_class(name, self.driver))
        for index in range(NODES):
            node = f"{name}-n{index}"
            api.create(objects.node(node))
            for one in self._slices(node):
                api.create(one)
        api.create(objects.template("one", name, name))
        api.create(objects.template("train", name, name, self.need))
        pods = self._lows()
        for one in pods:
            self._retried(lambda one=one: api.create(one))
        names = [one["metadata"]["name"] for one in pods]
        wait_for(lambda: all(self._node(one) for one in names), PATIENCE, f"{name}: low pods")
        if self.run.kind == "budgets":
            self._protect(self.random.sample(names, PROTECTED))
        self.victims = {one: api.get("pods", one, name)["metadata"]["uid"] for one in names}
        for index in range(self.random.randint(0, 2)):
            self._competitor(f"before-{index}", [])
        if self.run.thief:
            tolerated: Json = {"operator": "Exists"}
            if self.run.thief == "key":
                tolerated["key"] = KEY
            self._competitor("thief", [tolerated])
        made = objects.pod("train", name, templates={"gpu": "train"}, priorityClassName="high")
        self._retried(lambda: api.create(made))
        self._start(self._arrivals)
        self._start(self._kubelet)

    def _slices(self, node: str) -> list[Json]:
        if self.run.kind == "shares":
            devices = [
                {
                    "name": f"device-{index}",
                    "allowMultipleAllocations": True,
                    "capacity": {"memory": {"value": "10Gi", "requestPolicy": {"default": "10Gi"}}},
                }
                for index in range(DEVICES)
            ]
            return [objects.resource_slice(node, devices, self.driver)]
        if self.run.kind != "partitions":
            return [objects.resource_slice(node, DEVICES, self.driver)]
        halves = [
            {
                "name": f"device-{index}",
                "consumesCounters": [
                    {"counterSet": f"gpu-{index // 2}", "counters": {"memory": {"value": "40Gi"}}}
                ],
            }
            for index in range(DEVICES)
        ]
        slices = [objects.resource_slice(node, halves, self.driver)]
        slices[0]["spec"]["pool"]["resourceSliceCount"] = 2
        counters = objects.resource_slice(node, 0, self.driver, f"{node}-counters")
        counters["spec"]["pool"]["resourceSliceCount"] = 2
        del counters["spec"]["devices"]
        counters["spec"]["sharedCounters"] = [
            {"name": f"gpu-{index}", "counters": {"memory": {"value": "80Gi"}}}
            for index in range(DEVICES // 2)
        ]
        return [*slices, counters]

    def _lows(self) -> list[Json]:
        name, count = self.name, NODES * DEVICES
        if self.run.kind == "templates":
            return [
                objects.pod(f"low-{one}", name, templates={"gpu": "one"}) for one in range(count)
            ]
        for one in range(count):
            self.api.create(objects.claim(f"low-{one}", name, name))
        users = 2 if self.run.kind == "shared claims" else 1
        return [
            objects.pod(f"low-{one}-{user}", name, claims={"gpu": f"low-{one}"})
            for one in range(count)
            for user in range(users)
        ]

    def _protect(self, names: Sequence[str]) -> None:
        """Let a budget keep all but one of some pods, or all of them."""
        api, allowed = self.api, self.random.randint(0, 1)
        self.protected = frozenset(names)
        self.least = len(names) - allowed
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        for one in names:
            api.patch("pods", one, self.name, {"metadata": {"labels": {"app": "kept"}}})
            body = {"status": ready}
            api.patch("pods", one, self.name, body, kind="strategic", subresource="status")
        selector = {"matchLabels": {"app": "kept"}}
        made = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "kept", "namespace": self.name},
            "spec": {"minAvailable": self.least, "selector": selector},
        }
        api.create(made)

        def counted() -> bool:
            status = api.get("poddisruptionbudgets", "kept", self.name).get("status", {})
            return (status.get("currentHealthy"), status.get("disruptionsAllowed")) == (
                len(names),
                allowed,
            )

        wait_for(counted, PATIENCE, f"{self.name}: the disruption controller")

    def _competitor(self, name: str, tolerations: Sequence[Json]) -> None:
        claim = objects.claim(name, self.name, self.name)
        if tolerations:
            claim["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = list(tolerations)
        with suppress(*TROUBLE):
            self.api.create(claim)
            self.api.create(objects.pod(name, self.name, claims={"gpu": name}))

    def _arrivals(self) -> None:
        for index in range(ARRIVALS):
            if self._stop.wait(1.0):
                return
            self._competitor(f"late-{index}", [])

    def _kubelet(self) -> None:
        """Remove pods that are being deleted, as kubelets do.

        An eviction without a grace period takes two writes of the API server: where the connection
        is lost between them, the pod has a deletion timestamp and stays.
        """
        while not self._stop.wait(1.0):
            with suppress(*TROUBLE):
                for one in self.api.list("pods", self.name):
                    if one["metadata"].get("deletionTimestamp"):
                        name = one["metadata"]["name"]
                        self.api.delete("pods", name, self.name, gracePeriodSeconds=0)

    # Watching -------------------------------------------------------------------------------------

    def _watch(self) -> None:
        run, began = self.run, time.monotonic()
        released = refused = 0.0
        patience = PATIENCE_WITH_THIEF if run.thief else PATIENCE
        while time.monotonic() - began < patience:
            time.sleep(POLL)
            with suppress(*TROUBLE):
                train = self.api.get("pods", "train", self.name)
                if train["spec"].get("nodeName"):
                    run.outcome, run.seconds = "placed", time.monotonic() - began
                    run.released = time.monotonic() - released if released else 0.0
                    break
                if not refused and refused_by_scheduler(train):
                    refused = time.monotonic()
                    self.refused = time.time()
                elif refused and not run.evicted and self._evicted():
                    run.evicted = time.monotonic() - refused
                if run.evicted and not released and self._released():
                    released = time.monotonic()
        else:
            run.outcome = "lost" if run.thief else "late"
            run.detail = self._detail()
        self._stop.set()
        self._divide()
        time.sleep(0.5)
        self._judge()

    def _divide(self) -> None:
        """Say in which part of a preemption the time passed until the first eviction."""
        with suppress(*TROUBLE, MalformedObjectError):
            journals = [Journal.parse(one) for one in self.api.list(PREEMPTIONS, self.name)]
            for one in sorted(journals, key=lambda one: one.created)[-1:]:
                self.run.begun = max(one.created - self.refused, 0.0)
                self.run.reserved = max(one.reserved - one.created, 0.0)

    def _evicted(self) -> bool:
        """Whether a pod of low priority has been evicted."""
        pods = self.api.list("pods", self.name)
        alive = {one["metadata"]["uid"] for one in pods}
        return not set(self.victims.values()) <= alive

    def _released(self) -> bool:
        """Whether the claims of all pods that were evicted are released."""
        journals = self.api.list(PREEMPTIONS, self.name)
        asked = [one for one in journals if one.get("status", {}).get("phase") == "Placing"]
        if not asked:
            return False
        alive = {one["metadata"]["uid"] for one in self.api.list("pods", self.name)}
        if any(uid not in alive for uid in self.victims.values()):
            return all(
                consumer["uid"] in alive
                for claim in self.api.list("resourceclaims", self.name)
                for consumer in claim.get("status", {}).get("reservedFor", ())
            )
        return False

    def _judge(self) -> None:
        run, api = self.run, self.api
        if run.outcome == "placed":
            began = time.monotonic()
            with suppress(TimeoutError):
                wait_for(lambda: not self._left(), self.left_after)
            run.problems += self._left()
            if run.problems:
                with suppress(TimeoutError):
                    wait_for(lambda: not self._left(), PATIENCE)
                run.detail = f"finished after {time.monotonic() - began:.1f} s"
        journals = self._retried(lambda: api.list(PREEMPTIONS, self.name))
        planned = {one for journal in journals for one in journal["spec"].get("victimDigests", ())}
        asked = {
            one["pod"]
            for journal in journals
            for one in journal.get("status", {}).get("evictions", ())
        }
        alive = {
            one["metadata"]["uid"] for one in self._retried(lambda: api.list("pods", self.name))
        }
        gone = {digest(uid) for uid in self.victims.values() if uid not in alive}
        if gone - planned or gone - asked:
            run.problems.append(f"{len(gone - planned)} pods evicted beyond plans")
        placed = [one for one in journals if one.get("status", {}).get("phase") == "Placed"]
        if run.outcome == "placed" and len(journals) == 1 and placed:
            missing = set(journals[0]["spec"]["victimDigests"]) - gone
            if missing and asked:
                run.problems.append(f"{len(missing)} victims of the plan are left")
        if self.protected:
            left = {name for name in self.protected if self.victims[name] in alive}
            if len(left) < self.least:
                run.problems.append(f"a budget of {self.least} pods has {len(left)}")
        run.problems += self.doubles()

    def doubles(self) -> list[str]:
        """Return devices that are in two claims."""
        users: Counter[tuple[str, str]] = Counter()
        for claim in self._retried(lambda: self.api.list("resourceclaims", self.name)):
            allocation = claim.get("status", {}).get("allocation") or {}
            for one in allocation.get("devices", {}).get("results", ()):
                users[one["pool"], one["device"]] += 1
        return [f"{one} is in {count} claims" for one, count in users.items() if count > 1]

    def _detail(self) -> str:
        pod = self._retried(lambda: self.api.get("pods", "train", self.name))
        journals = self._retried(lambda: self.api.list(PREEMPTIONS, self.name))
        said = [one.get("message") for one in pod["status"].get("conditions", ())]
        ended = [one.get("status") for one in journals]
        pods = {
            one["metadata"]["name"]: one["spec"].get("nodeName")
            for one in self._retried(lambda: self.api.list("pods", self.name))
        }
        return json.dumps({"said": said, "journals": ended, "pods": pods})

    def _left(self) -> list[str]:
        """Return what is left of a preemption that has ended."""
        uid = self.api.get("pods", "train", self.name)["metadata"]["uid"]
        rules = self.api.list("devicetaintrules", labelSelector=f"{KEY}={uid}")
        held = [
            one
            for one in self.api.list(PREEMPTIONS, self.name)
            if one["metadata"].get("finalizers")
        ]
        return [
            *(f"rule {one['metadata']['name']} is left" for one in rules),
            *(f"{one['metadata']['name']} is not finished" for one in held),
        ]

    def _node(self, name: str) -> str:
        with suppress(*TROUBLE):
            pod = self.api.find("pods", name, self.name)
            return str((pod or {}).get("spec", {}).get("nodeName") or "")
        return ""

    def _retried(self, call: Any) -> Any:
        for _ in range(100):
            with suppress(*TROUBLE):
                return call()
            time.sleep(0.2)
        return call()

    def _start(self, target: Any) -> None:
        thread = threading.Thread(target=target, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _clear(self) -> None:
        api, name = self.api, self.name
        for _ in range(50):
            with suppress(*TROUBLE):
                api.delete_all("pods", name, gracePeriodSeconds=0)
                for index in range(NODES):
                    for one in (f"-{self.driver}", "-counters"):
                        with suppress(ApiError):
                            api.delete("resourceslices", f"{name}-n{index}{one}")
                    with suppress(ApiError):
                        api.delete("nodes", f"{name}-n{index}")
                api.delete_all("resourceclaims", name)
                with suppress(ApiError):
                    api.delete("deviceclasses", name)
                return
            time.sleep(0.2)


def refused_by_scheduler(pod: Json) -> bool:
    """Whether the scheduler has refused a pod that waits."""
    conditions = pod.get("status", {}).get("conditions", ())
    return any(one["type"] == "PodScheduled" for one in conditions)


# Batches ------------------------------------------------------------------------------------------


def batch(plane: ControlPlane, seeds: Sequence[int], left_after: float = LEFT_AFTER) -> list[Run]:
    """Play runs, some side by side, with the faults of the first seed."""
    chance = random.Random(seeds[0] * 7919)
    leaders = 2 if chance.random() < 0.3 else 1
    count = max(1, len(seeds) // EACH)
    faults = chance.choices(FAULTS, (40, 20, 10, 15, 15), k=count)
    deaths = sum(chance.randint(5, 40) for _ in faults)
    ended = threading.Event()
    config = plane.credentials.by_certificate("kubernetes-admin", ("system:masters",))
    with (
        Leaders(config, seeds[0], leaders, deaths) as running,
        ThreadPoolExecutor(AT_ONCE) as threads,
        ThreadPoolExecutor(1) as breaking,
    ):
        found = [threads.submit(World(plane, seed, left_after).play) for seed in seeds]
        waits = [chance.uniform(3, 12)] + [chance.uniform(20, 60) for _ in faults[1:]]
        broken = breaking.submit(break_all, plane, running, zip(faults, waits, strict=True), ended)
        runs = [one.result() for one in found]
        ended.set()
        done = broken.result()
    print(
        f"seeds {seeds[0]} to {seeds[-1]}: {dict(Counter(one.outcome for one in runs))}, "
        f"{leaders} leaders, {running.deaths} deaths, faults {', '.join(done) or 'none'}, "
        f"problems {[p for one in runs for p in one.problems] + running.faults}",
        flush=True,
    )
    return runs


def break_all(
    plane: ControlPlane,
    leaders: Leaders,
    faults: Iterable[tuple[str, float]],
    ended: threading.Event,
) -> list[str]:
    """Carry out faults, each so many seconds after the one before; return those that were."""
    done = []
    for fault, after in faults:
        if ended.wait(after):
            break
        break_something(plane, leaders, fault)
        done += [fault] if fault else []
    return done


def break_something(plane: ControlPlane, leaders: Leaders, fault: str) -> None:
    """Carry out a fault."""
    if fault == "scheduler":
        plane.restart(SCHEDULER)
    elif fault == "api":
        plane.restart(API_SERVER)
    elif fault == "relist":
        # The scheduler misses what happens meanwhile, and its watches are too old afterwards.
        plane.processes[SCHEDULER].signal(signal.SIGSTOP)
        time.sleep(2)
        plane.restart(API_SERVER)
        plane.processes[SCHEDULER].signal(signal.SIGCONT)
    elif fault == "partition":
        leaders.cut(4.0)


@contextmanager
def stage() -> Iterator[ControlPlane]:
    """Run a control plane for runs."""
    served = {"resource.k8s.io/v1beta2": True}
    with ControlPlane(
        scheduler=True,
        stock_controller=components.UNTHROTTLED,
        feature_gates=GATES,
        runtime_config=served,
        audit=False,
    ) as plane:
        plane.start_controllers("budgets", ("disruption-controller",))
        install(plane)
        yield plane


def median(found: Sequence[float]) -> float | None:
    """Return the median to a hundredth."""
    return round(sorted(found)[len(found) // 2], 2) if found else None


def summary(runs: Sequence[Run]) -> Json:
    """Return the numbers of runs."""
    played = [one for one in runs if one.outcome != "not played"]
    honest = [one for one in played if one.thief == ""]
    placed = [one for one in honest if one.outcome == "placed"]
    took = sorted(one.released for one in placed if one.released)
    asked = sorted(one.evicted for one in placed if one.evicted)
    return {
        "runs": len(runs),
        "problems": sum(bool(one.problems) for one in runs),
        "without thieves": len(honest),
        "placed of these": len(placed),
        "with thieves": len(played) - len(honest),
        "not played": len(runs) - len(played),
        "lost to thieves": sum(one.outcome == "lost" for one in runs),
        "released to bound p50": round(took[len(took) // 2], 2) if took else None,
        "released to bound p99": round(took[int(len(took) * 0.99)], 2) if took else None,
        "refused to evicted p50": round(asked[len(asked) // 2], 2) if asked else None,
        "refused to evicted p99": round(asked[int(len(asked) * 0.99)], 2) if asked else None,
        "refused to begun p50": median([one.begun for one in placed if one.begun]),
        "begun to reserved p50": median([one.reserved for one in placed if one.reserved]),
        "kinds": dict(Counter(one.kind for one in runs)),
    }


def main() -> None:
    """Play the runs that were not played yet; status 1 where one of all runs went wrong."""
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    kind = sys.argv[3] if len(sys.argv) > 3 else ""
    if kind not in ("", *KINDS):
        sys.exit(f"{kind!r} is no kind: {', '.join(KINDS)}")
    DONE.parent.mkdir(exist_ok=True)
    runs = (
        [Run(**json.loads(line)) for line in DONE.read_text().splitlines()] if DONE.exists() else []
    )
    known = {one.seed for one in runs}
    left = [
        one
        for one in range(seed, seed + count)
        if one not in known and kind in {"", random.Random(one).choice(KINDS)}
    ]
    with stage() as plane:
        while left:
            now, left = left[:BATCH], left[BATCH:]
            played = batch(plane, now)
            with DONE.open("a") as file:
                file.writelines(f"{json.dumps(asdict(one))}\n" for one in played)
            runs += played
    found = summary(runs)
    print(json.dumps(found))
    few = found["placed of these"] < LEAST_PLACED * found["without thieves"]
    sys.exit(few or any(one.problems for one in runs))


if __name__ == "__main__":
    main()

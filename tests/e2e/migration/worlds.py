"""Random fleets moved to DRA and back by the plans of `kubectl dra migrate`, on a real scheduler.

    python -m tests.e2e.migration.worlds WORLDS SEED

Each world is a namespace with nodes of its own. The plan is executed step by step, and in some
worlds asked for again after every step, as after a crash. While nodes are at DRA, each workload is
converted as well. Finished seeds are noted in build/migration-worlds, so that a later call goes on.
"""

import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from dragoman.inventory.snapshots.documents import reduced
from dragoman.inventory.snapshots.snapshot import MIGRATION, Snapshot
from dragoman_toolkit.migration.steps import SOURCE
from tests.e2e.migration.fleet import PRODUCT, WORLD, Fleet, Machine, Owner, fleet, node, slices
from tests.support import manifests as objects
from tests.support.controlplane.api import Api, ApiError, wait_for
from tests.support.controlplane.plane import CLAIM_CONTROLLER, GARBAGE_COLLECTOR, ControlPlane
from tests.support.dra import invoke

Json = dict[str, Any]
DONE = Path("build/migration-worlds")
QUOTA = "resourcequota-controller"
SETTLE = 60.0
MOST_STEPS = 400
MOST_TIMES = 20
"""How often the same steps of a node may be left: some worlds are asked after single steps."""


@contextmanager
def control_plane() -> Iterator[ControlPlane]:
    """Run a control plane with what ends claims and counts quotas."""
    with ControlPlane(scheduler=True, audit=False) as plane:
        controllers = [CLAIM_CONTROLLER, GARBAGE_COLLECTOR, QUOTA]
        plane.start_controllers("migration", controllers)
        yield plane


@dataclass
class Play:
    """One world on a control plane."""

    world: Fleet
    api: Api
    folder: Path
    problems: list[str] = field(default_factory=list)
    numbers: Counter[str] = field(default_factory=Counter)  # Of pods that owners have made
    pods: dict[str, Owner] = field(default_factory=dict)  # By name, those that are there
    chance: random.Random = field(default_factory=lambda: random.Random(1))
    fragmented: int = 0  # Pods whose devices are there, on no single node
    converted: int = 0  # Workloads that had claims in place of limits
    owned: dict[str, Json] = field(default_factory=dict)  # References to owners
    classes: list[Json] = field(default_factory=list)  # That are there
    restless: set[str] = field(default_factory=set)  # Nodes whose DaemonSets have work left

    def run(self) -> list[str]:
        """Move the fleet there and back; return what must not be."""
        try:
            self._build()
            self._apply_classes()
            charged = self._charged()
            report = self._dra("report", statuses=(0, 1))
            self._move()
            self._expect(report, charged)
            self._convert(report)
            self._count(report)
            self._move("--back", *[one.name for one in self.world.machines if one.moved])
            self._expect_back(report)
        except (AssertionError, TimeoutError, ApiError) as error:
            self.problems.append(f"{type(error).__name__}: {error}")
        finally:
            self._remove()
        return self.problems

    # The world.

    def _build(self) -> None:
        for one in self.api.list("deviceclasses"):
            self.api.delete("deviceclasses", one["metadata"]["name"])
        self.api.create(objects.namespace(self.world.name))
        hard = {f"requests.{kind.resource}": "1000" for kind in self.world.kinds}
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": hard}}
        self.api.create({**quota, "metadata": {"name": "devices", "namespace": self.world.name}})
        for machine in self.world.machines:
            self.api.create(node(machine))
            if machine.source in ("plugin", "both"):
                self._plugin(machine, running=True)
            if machine.source in ("dra", "both"):
                while self._driver(machine, running=True):
                    pass
        # Pods of the plug-in's time are placed by its counts; `both` gets none.
        for owner in self.world.owners:
            made = self.api.create(self._replicaset(owner))
            self.owned[owner.name] = objects.owner_reference(made)
            if owner.budget:
                self.api.create(self._disruption_budget(owner))
            for _ in range(owner.copies):
                self._make(owner)
        self._settled()

    def _replicaset(self, owner: Owner) -> Json:
        labels = {"app": owner.name}
        spec = {"containers": [{"name": "c", "image": "pause"}]}
        template = {"metadata": {"labels": labels}, "spec": spec}
        return {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": owner.name, "namespace": self.world.name},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
        }

    def _disruption_budget(self, owner: Owner) -> Json:
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": owner.name, "namespace": self.world.name},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": owner.name}}},
        }

    def _make(self, owner: Owner) -> None:
        self.numbers[owner.name] += 1
        name = f"{owner.name}-{self.numbers[owner.name]}"
        metadata = {
            "name": name,
            "namespace": self.world.name,
            "labels": {"app": owner.name},
            "ownerReferences": [self.owned[owner.name]],
        }
        spec = json.loads(json.dumps(owner.spec))
        self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        self.pods[name] = owner
        if owner.kind == "scheduler" and self.numbers[owner.name] <= owner.copies:
            self._bind(name, owner)

    def _bind(self, name: str, owner: Owner) -> None:
        """Bind a pod as another scheduler does, to a node whose plug-in still counts devices."""
        (asks,) = [sum(owner.asks.values(), Counter())]
        for machine in self.world.machines:
            if machine.source == "plugin" and self._room(machine, asks):
                body = {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": {"name": name, "namespace": self.world.name},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": machine.name},
                }
                path = self.api.resource("pods").path(self.world.name, name, "binding")
                self.api.request("POST", path, body)
                return

    def _room(self, machine: Machine, asks: Counter[str]) -> bool:
        used: Counter[str] = Counter()
        for pod in self.api.list("pods", self.world.name):
            if pod["spec"].get("nodeName") == machine.name:
                for one in self.pods[pod["metadata"]["name"]].asks.values():
                    used.update(one)
        return all(
            used[name] + count <= machine.counted.get(name, 0) for name, count in asks.items()
        )

    def _settled(self) -> None:
        """Wait until the scheduler has decided on every pod that is its own."""

        def decided() -> bool:
            found = self.api.list("pods", self.world.name)
            own = [one for one in found if self.pods[one["metadata"]["name"]].kind != "scheduler"]
            return all(map(_decided, own))

        wait_for(decided, SETTLE, f"decisions in {self.world.name}", every=0.2)

    def _remove(self) -> None:
        with suppress(ApiError):
            self.api.delete_all("pods", self.world.name, gracePeriodSeconds=0)
            for machine in self.world.machines:
                for name in machine.slices:
                    self.api.delete("resourceslices", name)
            path = self.api.resource("nodes").path(None)
            self.api.request("DELETE", path, labelSelector=f"{WORLD}={self.world.name}")

    # The actors: kubelets, both DaemonSets, and owners.

    def _act(self) -> None:
        """Let the DaemonSets follow the label of their nodes, each by at most one write."""
        if not self.restless:
            return
        labelled = {
            one["metadata"]["name"]: one["metadata"]["labels"] for one in self._read("nodes")
        }
        for machine in self.world.machines:
            if machine.name in self.restless and not self._followed(
                machine, labelled[machine.name]
            ):
                self.restless.discard(machine.name)

    def _followed(self, machine: Machine, labels: Json) -> bool:
        """Let one of both DaemonSets follow the label of a node; tell whether one had to."""
        source = labels.get(SOURCE, "plugin")
        if machine.source == "both" and SOURCE not in labels:
            return False
        machine.source = source
        if (PRODUCT in labels) != (source == "plugin"):
            value = "card" if source == "plugin" else None
            self.api.patch("nodes", machine.name, None, {"metadata": {"labels": {PRODUCT: value}}})
        actors = [(self._plugin, source == "plugin"), (self._driver, source == "dra")]
        self.chance.shuffle(actors)  # nothing says which of them is faster
        return any(act(machine, running=running) for act, running in actors)

    def _plugin(self, machine: Machine, *, running: bool) -> bool:
        """Set what the kubelet says: of a plug-in that has ended, capacity stays for a while."""
        wanted = machine.plugin() if running else dict.fromkeys(machine.plugin(), 0)
        if machine.counted == wanted or (not running and not machine.counted):
            return False
        machine.counted = wanted
        amounts = {name: str(count) for name, count in wanted.items()}
        status: Json = {"allocatable": amounts, **({"capacity": amounts} if running else {})}
        self.api.patch("nodes", machine.name, None, {"status": status}, subresource="status")
        self._check_sources(machine)
        return True

    def _driver(self, machine: Machine, *, running: bool) -> bool:
        """Publish or delete one slice; tell whether there was one left."""
        left = [one for one in _published(machine) if one["metadata"]["name"] not in machine.slices]
        if running and left:
            self.api.create(left[0])
            machine.slices.append(left[0]["metadata"]["name"])
            self._check_sources(machine)
        if not running and machine.slices:
            self.api.delete("resourceslices", machine.slices.pop())
            return True
        return running and bool(left)

    def _check_sources(self, machine: Machine) -> None:
        """Note a node that has both sources of a resource, unless it began so."""
        if machine.source != "both" and machine.slices and any(machine.counted.values()):
            self.problems.append(f"{machine.name} has two sources")

    def _evict(self, name: str) -> None:
        """Evict the pods of a node, as `kubectl drain` does; their owners make them again."""
        for pod in self.api.list("pods", self.world.name):
            if pod["spec"].get("nodeName") == name:
                own = pod["metadata"]["name"]
                body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": own}}
                path = self.api.resource("pods").path(self.world.name, own, "eviction")
                if self.pods[own].budget:
                    self._allow(self.pods[own])
                self.api.request("POST", path, body)
                self._make(self.pods.pop(own))

    def _allow(self, owner: Owner) -> None:
        """Allow an eviction, as the controller of budgets does once other pods are ready."""
        found = self.api.get("poddisruptionbudgets", owner.name, self.world.name)
        status = {
            "observedGeneration": found["metadata"]["generation"],
            "disruptionsAllowed": 1,
            "currentHealthy": owner.copies,
            "desiredHealthy": owner.copies - 1,
            "expectedPods": owner.copies,
        }
        body = {"status": status}
        self.api.patch(
            "poddisruptionbudgets", owner.name, self.world.name, body, subresource="status"
        )

    # The plan.

    def _move(self, *options: str) -> None:
        """Execute plans until one has no steps left."""
        going: list[tuple[str, Json]] = []
        tried: Counter[tuple[str, ...]] = Counter()  # Nodes with the steps that were left
        for _ in range(MOST_STEPS):
            plan = self._dra("plan", *options, statuses=(0, 1))
            going = [(one["name"], step) for one in plan["nodes"] for step in one["steps"]]
            stopped = [one["stops"] for one in plan["nodes"] if one["stops"]]
            assert not stopped, stopped
            if not going:
                return
            first = next(one for one in plan["nodes"] if one["steps"])["steps"]
            tried[going[0][0], *(step["does"] for step in first)] += 1
            assert max(tried.values()) <= MOST_TIMES, f"the plan stands still: {going[0]}"
            if self.world.stepwise:  # as after a crash between two steps
                first = first[: self.chance.randint(1, len(first))]
            for step in first:
                self._step(plan["nodes"][0]["name"], step)
        raise AssertionError(f"the plan does not end: {going[0]}")

    def _step(self, name: str, step: Json) -> None:
        command, does = step["command"] or "", step["does"]
        if os.environ.get("DRAGOMAN_VERBOSE"):
            print(f"  {time.monotonic():.1f} {name}: {does}", flush=True)
        if does == "uncordon":
            self._expect_sources(name)
        if does in ("cordon", "uncordon"):
            self.api.patch("nodes", name, None, {"spec": {"unschedulable": does == "cordon"}})
        elif does == "evict":
            self._evict(name)
        elif does.startswith("source-"):
            words = (word.partition("=") for word in command.split() if "=" in word)
            labels = {key: value for key, _, value in words}
            self.api.patch("nodes", name, None, {"metadata": {"labels": labels}})
            self.restless.add(name)
            if self.world.stepwise:
                self._act()
        elif step["wait"]:
            self._wait(name, does, step["wait"])

    def _expect_sources(self, name: str) -> None:
        """A node takes pods again with all devices of the source that it is labelled for."""
        (machine,) = [one for one in self.world.machines if one.name == name]
        whole = len(machine.slices) == sum(1 for _ in _published(machine))
        if not (machine.counted == machine.plugin() if machine.source == "plugin" else whole):
            self.problems.append(f"{name} takes pods before its devices are there")

    def _wait(self, name: str, does: str, wait: Json) -> None:
        def over() -> bool:
            self._act()
            said = self._printed(name, does, wait["command"])
            return said in wait["until"] if wait["until"] else said not in ("", "0")

        wait_for(over, SETTLE, f"{name}: {does}: {wait['until']}", every=0.05)

    def _printed(self, name: str, does: str, command: str) -> str:
        """Return what the command of a wait prints."""
        if does == "wait-empty":
            pods = [one for one in self._read("pods") if one["spec"].get("nodeName") == name]
            return " ".join(one["metadata"]["name"] for one in pods)
        if does in ("wait-gone", "wait-resource"):
            resource = command.partition(".status.allocatable.")[2].partition("}")[0]
            found = self.api.get("nodes", name)["status"]["allocatable"]
            return str(found.get(resource.replace("\\", ""), ""))
        if does == "wait-no-slices":
            return " ".join(
                one["metadata"]["name"]
                for one in self._read("resourceslices")
                if one["spec"]["nodeName"] == name and f"driver={one['spec']['driver']}" in command
            )
        words = command.replace("'", "").split()
        back = ("--back",) if "--back" in words else ()
        return self._invoke("plan", name, "--all", *back, "-o", words[-1], statuses=(0, 1))

    # The product.

    def _dra(self, *arguments: str, statuses: Sequence[int] = (0,)) -> Any:
        return json.loads(self._invoke(*arguments, "-o", "json", statuses=statuses))

    def _invoke(self, *arguments: str, statuses: Sequence[int] = (0,)) -> str:
        self._snapshot()
        file = self.folder / f"{self.world.name}.jsonl"
        result = invoke("migrate", *arguments, "--snapshot", file)
        assert result.exit_code in statuses, result.output
        return result.stdout

    def _snapshot(self) -> None:
        from dragoman.inventory.snapshots.snapshot import dump  # noqa: PLC0415

        kept = ("nodes", "pods", "deviceclasses", "resourceslices", "resourceclaims")
        budgets = ("poddisruptionbudgets",) if any(o.budget for o in self.world.owners) else ()
        found = {
            plural: tuple(reduced(plural, one) for one in self._read(plural))
            for plural in (*kept, *budgets)
        }
        found.setdefault("poddisruptionbudgets", ())
        found[MIGRATION] = ()
        made = Snapshot("2026-01-01T00:00:00Z", "v1.36.3", found, extras=frozenset({MIGRATION}))
        file = self.folder / f"{self.world.name}.jsonl"
        file.write_bytes(b"".join(dump(made, version="test")))

    def _read(self, plural: str) -> list[Json]:
        """Return the objects of this world."""
        if plural == "deviceclasses":
            return self.classes
        if plural == "nodes":
            return list(self.api.list(plural, labelSelector=f"{WORLD}={self.world.name}"))
        if plural == "resourceslices":
            own = {one.name for one in self.world.machines}
            return [one for one in self.api.list(plural) if one["spec"].get("nodeName") in own]
        return list(self.api.list(plural, self.world.name))

    def _apply_classes(self) -> None:
        text = self._invoke("classes", statuses=(0, 1))
        for manifest in yaml.safe_load_all(text):
            if manifest:
                self.classes.append(self.api.apply(manifest))

    def _charged(self) -> Json:
        found: Json = self.api.get("resourcequotas", "devices", self.world.name)
        return dict((found.get("status") or {}).get("used") or {})

    # What must be.

    def _expect(self, report: Json, charged: Json) -> None:
        self._settled()
        for machine in self.world.machines:
            if machine.source != "dra" or any(machine.counted.values()):
                self.problems.append(f"{machine.name} is at {machine.source} after the plan")
        answers = {one["name"]: one for one in report["workloads"]}
        pods = {one["metadata"]["name"]: one for one in self.api.list("pods", self.world.name)}
        for name, owner in self.pods.items():
            pod = pods[name]
            said = answers[owner.name]
            runs = bool(pod["spec"].get("nodeName"))
            if said["answer"] == "unchanged":
                self._expect_devices(pod, owner, runs=runs)
            elif owner.kind in ("label", "scheduler"):
                codes = {one["code"] for one in said["losses"] if one["rank"] == "blocks"}
                wanted = {"label": "LabelGone", "scheduler": "OtherScheduler"}[owner.kind]
                if runs or wanted not in codes:
                    self.problems.append(f"{name}: {said['answer']} {codes}, runs: {runs}")
            if owner.kind == "label" and not runs and "affinity" not in _refusal(pod):
                self.problems.append(f"{name}: waits for another reason: {_refusal(pod)}")
        # (d): explicit numbers of quotas are those of before.
        with suppress(TimeoutError):
            wait_for(lambda: self._charged() == charged, SETTLE, "quotas", every=0.5)
        if self._charged() != charged:
            self.problems.append(f"quota: {charged} before, {self._charged()} after")

    def _expect_devices(self, pod: Json, owner: Owner, *, runs: bool) -> None:
        name = pod["metadata"]["name"]
        if not runs:
            asks = sum(owner.asks.values(), Counter())
            if any(self._free(one, asks) for one in self.world.machines):
                self.problems.append(f"{name} is unchanged and waits: {_refusal(pod)}")
            self.fragmented += 1
            return
        found = self._devices(pod)
        for container, asks in owner.asks.items():
            if found[container] < sum(asks.values()):
                self.problems.append(f"{name}: {container} has {found[container]} of {asks}")

    def _devices(self, pod: Json) -> Counter[str]:
        """Return how many devices each container has, by the claims of its pod."""
        status = pod["status"].get("extendedResourceClaimStatus") or {}
        names = {one["name"]: one["resourceClaimName"] for one in _claims(pod)}
        uses = [
            ("", one["containerName"], one["requestName"])
            for one in status.get("requestMappings") or ()
        ]
        if status:
            names[""] = status["resourceClaimName"]
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
            entries = (container.get("resources") or {}).get("claims") or ()
            uses += [(one["name"], container["name"], one.get("request", "")) for one in entries]
        results: dict[str, list[str]] = {}
        for entry, name in names.items():
            claim = self.api.get("resourceclaims", name, self.world.name)
            devices = claim["status"]["allocation"]["devices"]["results"]
            results[entry] = [one["request"] for one in devices]
        found: Counter[str] = Counter()
        for entry, container_name, request in uses:
            found[container_name] += sum(
                one == request or not request for one in results.get(entry, ())
            )
        return found

    # A4: claims in place of limits.

    def _convert(self, report: Json) -> None:
        """Convert each workload that runs; its pod has as many devices, container by container."""
        answers = {one["name"]: one["answer"] for one in report["workloads"]}
        pods = self.api.list("pods", self.world.name)
        waiting = [one["metadata"]["name"] for one in pods if not one["spec"].get("nodeName")]
        running = {
            self.pods[pod["metadata"]["name"]].name: pod
            for pod in pods
            if pod["spec"].get("nodeName")
        }
        owners = [
            one
            for one in self.world.owners
            if answers[one.name] == "unchanged" and one.name in running
        ]
        if not owners:
            return
        for name in waiting:  # they would take the devices that come free
            self.api.delete("pods", name, self.world.name, gracePeriodSeconds=0)
        file = self.folder / f"{self.world.name}.yaml"
        file.write_text(yaml.safe_dump_all(map(self._deployment, owners)))
        text = self._invoke("convert", "--claims", "-f", str(file))
        file.write_text(text)
        said = invoke("check", file)
        if said.exit_code:
            self.problems.append(f"check of converted manifests: {said.output}")
        for manifest in yaml.safe_load_all(text):
            self.api.apply(manifest)
            if manifest["kind"] == "Deployment":
                name = manifest["metadata"]["name"].removeprefix("converted-")
                self._compare(running[name], manifest["spec"]["template"]["spec"])
        for name in waiting:
            self._make(self.pods.pop(name))
        self._settled()

    def _deployment(self, owner: Owner) -> Json:
        labels = {"app": f"converted-{owner.name}"}
        template = {"metadata": {"labels": labels}, "spec": json.loads(json.dumps(owner.spec))}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": labels["app"], "namespace": self.world.name},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        }

    def _compare(self, pod: Json, spec: Json) -> None:
        """Let a pod of a converted workload run in place of one with limits."""
        name, before = pod["metadata"]["name"], self._devices(pod)
        self.api.delete("pods", name, self.world.name, gracePeriodSeconds=0)
        own = _claims(pod) or [pod["status"]["extendedResourceClaimStatus"]]
        for one in own:
            self._claims_gone(prefix=one["resourceClaimName"])
        metadata = {"name": f"converted-{name}", "namespace": self.world.name}
        self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

        def decided() -> Json | None:
            found = self.api.get("pods", metadata["name"], self.world.name)
            return found if found["spec"].get("nodeName") else None

        try:
            after = self._devices(wait_for(decided, SETTLE, f"{metadata['name']} to run"))
            if after != before:
                self.problems.append(f"{name} has {before}, and {after} converted")
        except TimeoutError:
            found = self.api.get("pods", metadata["name"], self.world.name)
            self.problems.append(f"{metadata['name']} waits: {_refusal(found)}")
        self.converted += 1
        self.api.delete("pods", metadata["name"], self.world.name, gracePeriodSeconds=0)
        self._claims_gone(prefix=metadata["name"])
        self._make(self.pods.pop(name))
        self._settled()

    def _free(self, machine: Machine, asks: Counter[str]) -> bool:
        """Whether a node has enough devices that no claim holds."""
        left = Counter({kind.resource: count for kind, count in machine.kinds.items()})
        by_key = {kind.key: kind.resource for kind in machine.kinds}
        for claim in self._read("resourceclaims"):
            allocation = (claim.get("status") or {}).get("allocation") or {}
            for one in (allocation.get("devices") or {}).get("results") or ():
                if one["pool"] == machine.name:
                    left[by_key[one["driver"], one["device"].rpartition("-")[0]]] -= 1
        return machine.source == "dra" and all(left[name] >= one for name, one in asks.items())

    def _count(self, report: Json) -> None:
        """(e): THEN is how many pods of one device the scheduler places beside those that run."""
        pods = self.api.list("pods", self.world.name)
        own = {
            (one["status"].get("extendedResourceClaimStatus") or {}).get("resourceClaimName")
            for one in pods
        }
        free: Counter[tuple[str, str]] = Counter()
        for claim in self._read("resourceclaims"):
            if claim["metadata"]["name"] not in own:  # of a pod that has gone
                continue
            allocation = (claim.get("status") or {}).get("allocation") or {}
            for one in (allocation.get("devices") or {}).get("results") or ():
                free[one["driver"], one["device"].rpartition("-")[0]] += 1
        self._claims_of(own)
        for row in report["resources"]:
            kinds = [one for one in self.world.kinds if one.resource == row["name"]]
            if not kinds:
                continue
            held = free[kinds[0].key]
            probes = [
                f"probe-{row['name'].replace('/', '-').replace('.', '-')}-{i}"
                for i in range(row["then"] - held + 1)
            ]
            limits = {row["name"]: "1"}
            for name in probes:
                made = objects.pod(name, self.world.name, nodeSelector={WORLD: self.world.name})
                made["metadata"]["labels"] = {"probe": "yes"}
                made["spec"]["containers"][0]["resources"] = {"limits": limits}
                self.api.create(made)
            placed = self._probes(probes)
            if placed != len(probes) - 1:
                self.problems.append(
                    f"{row['name']}: THEN {row['then']}, {held} + {placed} given: {row}"
                )
            path = self.api.resource("pods").path(self.world.name)
            self.api.request("DELETE", path, {"gracePeriodSeconds": 0}, labelSelector="probe=yes")
        self._claims_gone(prefix="probe-")

    def _probes(self, names: Sequence[str]) -> int:
        def all_decided() -> list[Json] | None:
            pods = {one["metadata"]["name"]: one for one in self.api.list("pods", self.world.name)}
            found = [pods[name] for name in names]
            return found if all(map(_decided, found)) else None

        found = wait_for(all_decided, SETTLE, "probes", every=0.2)
        return sum(bool(one["spec"].get("nodeName")) for one in found)

    def _claims_of(self, names: Collection[str | None]) -> None:
        """Wait until only claims of these names are left: what pods held has come free."""

        def gone() -> bool:
            return all(one["metadata"]["name"] in names for one in self._read("resourceclaims"))

        wait_for(gone, SETTLE, "claims of evicted pods to be gone", every=0.2)

    def _claims_gone(self, prefix: str = "") -> None:
        def gone() -> bool:
            names = [one["metadata"]["name"] for one in self._read("resourceclaims")]
            return not any(name.startswith(prefix) for name in names)

        wait_for(gone, SETTLE, f"claims of {prefix} to be gone", every=0.2)

    def _expect_back(self, report: Json) -> None:
        """A3: nodes are as at the start, and pods run by the plug-in's counts again."""
        self._settled()
        for machine in self.world.machines:
            found = self.api.get("nodes", machine.name)
            if not machine.moved:
                continue
            amounts = {k: int(found["status"]["allocatable"].get(k, 0)) for k in machine.plugin()}
            if amounts != machine.plugin() or machine.slices or found["spec"].get("unschedulable"):
                self.problems.append(f"{machine.name} is not as before: {amounts}")
        answers = {one["name"]: one["answer"] for one in report["workloads"]}
        for pod in self.api.list("pods", self.world.name):
            owner = self.pods[pod["metadata"]["name"]]
            asks = sum(owner.asks.values(), Counter())
            if answers[owner.name] != "unchanged" or pod["spec"].get("nodeName"):
                continue
            if any(self._room(one, asks) for one in self.world.machines if one.moved):
                self.problems.append(f"{pod['metadata']['name']} waits: {_refusal(pod)}")


def _decided(pod: Json) -> bool:
    return bool(pod["spec"].get("nodeName")) or bool(_refusal(pod))


def _refusal(pod: Json) -> str:
    found = (one for one in pod["status"].get("conditions") or () if one["type"] == "PodScheduled")
    return next((str(one.get("message")) for one in found if one["status"] == "False"), "")


def _claims(pod: Json) -> list[Json]:
    found = pod["status"].get("resourceClaimStatuses") or ()
    return [one for one in found if one.get("resourceClaimName")]


def _published(machine: Machine) -> list[Json]:
    """Return the slices that the drivers of a node publish."""
    return [one for found in slices(machine) for one in found]


def play(plane: ControlPlane, seed: int, name: str = "") -> Play:
    """Play the world of a seed, in a namespace of its own."""
    with tempfile.TemporaryDirectory() as folder:
        chance = random.Random(f"play {seed}")
        played = Play(fleet(seed, name), plane.api(), Path(folder), chance=chance)
        played.run()
    return played


def _passed(seed: int) -> bool:
    file = DONE / str(seed)
    return file.exists() and not file.read_text()


def main(worlds: int, first: int, control: Callable[[], Any] = control_plane) -> int:
    """Play worlds from a seed on; return how many failed."""
    DONE.mkdir(parents=True, exist_ok=True)
    failed = fragmented = converted = 0
    started = time.monotonic()
    with control() as plane:
        for seed in range(first, first + worlds):
            if _passed(seed):
                continue
            played = play(plane, seed)
            failed += bool(played.problems)
            fragmented += played.fragmented
            converted += played.converted
            print(f"seed {seed}: {played.problems or 'ok'}", flush=True)
            (DONE / str(seed)).write_text("\n".join(played.problems))
    seconds = time.monotonic() - started
    print(
        f"{worlds} worlds from seed {first}: {failed} failed, {fragmented} pods fit on no single "
        f"node, {converted} workloads converted, {seconds:.0f} s"
    )
    return failed


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]))))

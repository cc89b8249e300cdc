"""Objects of every controller beside a workload, and what must be true of them once it is calm.

Nodes have kubelets in so far as somebody ends the pods that are deleted on them; one has none.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import urllib3
import yaml
from urllib3.exceptions import HTTPError

from tests.e2e.faults.expected import Settled
from tests.e2e.faults.reported import Reported
from tests.e2e.faults.setup import DEVICES, NODES, FaultSetup
from tests.e2e.faults.workload import LATE
from tests.e2e.rbac import (
    DEVICE_SECONDS_RULES,
    EVICTION_RULES,
    EXPLAIN_RULES,
    FINDINGS_RULES,
    MAINTENANCE_RULES,
    POOL_STATUS_RULES,
    PREEMPTION_RULES,
    rule,
)
from tests.e2e.setup import NO_CLASS
from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError, Json
from tests.support.controlplane.plane import SCHEDULER, ControlPlane

CRDS = Path(__file__).parents[3] / "crds"
DEFINED = (
    "clusterresourceclaimtemplates",
    "devicemaintenances",
    "devicepoolreports",
    "devicepreemptions",
    "driverconfigschemas",
)
GATES = {"DRADeviceTaintRules": True, "DRAResourcePoolStatus": True}
SERVED = {"resource.k8s.io/v1alpha3": True, "resource.k8s.io/v1beta2": True}
RULES = (
    *MAINTENANCE_RULES,
    *EVICTION_RULES,
    *POOL_STATUS_RULES,
    *EXPLAIN_RULES,
    *DEVICE_SECONDS_RULES,
    *FINDINGS_RULES,
    *PREEMPTION_RULES,
    rule("resource.k8s.io", "resourcepoolstatusrequests", "delete"),
    rule("dragoman.dev", "devicepoolreports", "list", "create", "patch", "delete"),
)
FLAGS = (
    "--evictions=own",
    "--pool-status=own",
    "--inventory-reports",
    "--maintenance",
    "--cluster-templates",
    "--explain-events",
    "--explain-after=5",
    "--device-metrics",
    "--findings",
    "--findings-interval=30",
    "--preemption=report",
)
"""Every controller. `--safe-release` would keep claims until kubelets have lived for a minute."""
DARK_DEVICES = 2
"""Devices of the node without a kubelet: its terminating pods keep them."""
MOST_TAINTS = 3
"""Devices that are tainted at the same time, so that some are left for pods."""
NAMESPACES = 3
"""Namespaces with copies of a template, beside that of the workload."""
MARKED = "Marking for deletion"
UNPLACED, TOLERANT, STRANDED = "unplaced", "tolerant", "stranded"
HOST = "kubernetes.io/hostname"
ALL_TAINTS = {"operator": "Exists"}


def define(plane: ControlPlane) -> None:
    """Serve the resources of all controllers."""
    for name in DEFINED:
        plane.define(yaml.safe_load((CRDS / f"{name}.yaml").read_text()))


class Everything:
    """What the controllers beside that of claims have to do in one round.

    Args:
        setup: With its workload.

    Attributes:
        terminating: Pods that wait for the kubelet that their node does not have.
        done: How often each thing was done.
    """

    def __init__(self, setup: FaultSetup) -> None:
        self.setup = setup
        self.name = setup.namespace
        self.driver = f"{self.name}.example.com"
        self.dark = f"{self.name}-dark"
        self.terminating = 0
        self.done: Counter[str] = Counter()
        self._chance = setup.chance
        self._insist = setup.workload.insist
        self._rules: list[str] = []
        self._maintenances: list[str] = []
        self._requests: list[str] = []
        self._class = NO_CLASS
        self._reported = Reported(setup)
        self._places = [f"{self.name}-copies-{number}" for number in range(NAMESPACES)]
        self._ended = threading.Event()
        self._kubelets = threading.Thread(target=self._end_pods, name="kubelets", daemon=True)

    def prepare(self) -> None:
        """Create the node without a kubelet, what is copied, and pods; then the rest starts."""
        plane, api = self.setup.plane, self.setup.api
        plane.add_node(self.dark, DARK_DEVICES, self.driver)
        for place in self._places:
            api.create(objects.namespace(place, {"team": self.name}))
        api.patch("namespaces", self.name, None, {"metadata": {"labels": {"team": self.name}}})
        api.create(
            {
                "apiVersion": "dragoman.dev/v1alpha1",
                "kind": "ClusterResourceClaimTemplate",
                "metadata": {"name": self.name},
                "spec": {
                    "namespaceSelector": {"matchLabels": {"team": self.name}},
                    "template": {"spec": objects.claim_spec(self._class)},
                },
            }
        )
        unplaced = objects.template(UNPLACED, self.name, self.name)
        self._request_of(unplaced)["selectors"] = [{"cel": {"expression": "false"}}]
        tolerant = objects.template(TOLERANT, self.name, self.name)
        self._request_of(tolerant)["tolerations"] = [ALL_TAINTS]
        for name, template in ((UNPLACED, unplaced), (TOLERANT, tolerant)):
            api.create(plane.served(template))
            api.create(objects.pod(name, self.name, templates={"gpu": name}))
        stranded = objects.pod(
            STRANDED,
            self.name,
            templates={"gpu": "devices"},
            nodeSelector={HOST: self.dark},
            terminationGracePeriodSeconds=self.setup.workload.grace,
        )
        api.create(stranded)
        self._reported.prepare()
        self._kubelets.start()

    def step(self) -> None:
        """Do one thing at random."""
        actions: list[Callable[[], None]] = [self._taint, self._maintain, self._ask, self._change]
        actions.append(self._change_schema)
        if self._rules:
            actions.append(self._untaint)
        if self._maintenances:
            actions.append(self._end_maintenance)
        action = self._chance.choice([*actions, self._delete_copy])
        action()
        self.done[action.__name__.strip("_").replace("_", " ")] += 1

    def tidy(self, most: int) -> None:
        """End the oldest taints, maintenances and requests, so that as many are left at most.

        Templates go whose pods are gone.
        """
        while len(self._rules) > most:
            self._untaint()
        while len(self._maintenances) > most:
            self._end_maintenance()
        while len(self._requests) > most:
            self._end_request()
        api = self.setup.api
        used = {
            entry.get("resourceClaimTemplateName")
            for pod in self._insist(lambda: api.list("pods", self.name)) or ()
            for entry in pod["spec"].get("resourceClaims") or ()
        }
        templates = self._insist(lambda: api.list("resourceclaimtemplates", self.name)) or ()
        for one in {template["metadata"]["name"] for template in templates} - used:
            if one.startswith(LATE):
                self._insist(lambda one=one: api.delete("resourceclaimtemplates", one, self.name))  # type: ignore[misc]

    def evict(self) -> None:
        """Taint a device in use, if any is, and once those of the node without a kubelet."""
        if len(self._rules) > MOST_TAINTS:
            self._untaint()
        used = self._devices_in_use()
        dark = [one for one in used if one["pool"] == self.dark]
        first = dark if not self.done["taint without a kubelet"] else []
        for device in first or ([self._chance.choice(used)] if used else ()):
            self._taint_device(device)
            self.done["taint"] += 1
        self.done["taint without a kubelet"] += len(first)

    def calm(self) -> None:
        """End all taints and maintenances."""
        while self._rules:
            self._untaint()
        while self._maintenances:
            self._end_maintenance()

    def end(self) -> None:
        """Delete what `prepare` and the steps have made."""
        self._ended.set()
        self._kubelets.join(30)
        self.calm()
        self._reported.end()
        api = self.setup.api
        self._insist(lambda: api.delete("clusterresourceclaimtemplates", self.name))
        for name in self._requests:
            self._insist(lambda name=name: api.delete("resourcepoolstatusrequests", name))  # type: ignore[misc]
        self._insist(lambda: self.setup.plane.remove_node(self.dark, self.driver))
        # No controller ends namespaces here: their label goes.
        body = {"metadata": {"labels": {"team": None}}}
        for place in (self.name, *self._places):
            self._insist(lambda place=place: api.patch("namespaces", place, None, body))  # type: ignore[misc]

    # Steps ----------------------------------------------------------------------------------------

    def _device(self) -> Json:
        node, number = self._chance.choice(
            [
                *((f"{self.name}-{node}", one) for node in range(NODES) for one in range(DEVICES)),
                *((self.dark, one) for one in range(DARK_DEVICES)),
            ]
        )
        return {"driver": self.driver, "pool": node, "device": f"device-{number}"}

    def _devices_in_use(self) -> list[Json]:
        listed = self._insist(lambda: self.setup.api.list("resourceclaims", self.name)) or ()
        keys = ("driver", "pool", "device")
        return [
            {key: result[key] for key in keys}
            for claim in listed
            if (claim.get("status") or {}).get("reservedFor")
            for result in _results(claim)
        ]

    def _taint(self) -> None:
        self._taint_device(self._device())

    def _taint_device(self, device: Json) -> None:
        name = f"{self.name}-{self.done['taint']}"
        taint = {"key": "broken", "effect": "NoExecute"}
        self._create(
            {
                "apiVersion": self.setup.api.resource("devicetaintrules").api_version,
                "kind": "DeviceTaintRule",
                "metadata": {"name": name},
                "spec": {"deviceSelector": device, "taint": taint},
            }
        )
        self._rules.append(name)

    def _untaint(self) -> None:
        name = self._rules.pop(0)
        self._insist(lambda: self.setup.api.delete("devicetaintrules", name))

    def _maintain(self) -> None:
        name = f"{self.name}-{self.done['maintain']}"
        self._create(
            {
                "apiVersion": "dragoman.dev/v1alpha1",
                "kind": "DeviceMaintenance",
                "metadata": {"name": name},
                "spec": {"target": self._device(), "evict": "WhenAllowed"},
            }
        )
        self._maintenances.append(name)

    def _end_maintenance(self) -> None:
        name = self._maintenances.pop(0)
        self._insist(lambda: self.setup.api.delete("devicemaintenances", name))

    def _ask(self) -> None:
        name = f"{self.name}-{self.done['ask']}"
        self._create(
            {
                "apiVersion": "resource.k8s.io/v1alpha3",
                "kind": "ResourcePoolStatusRequest",
                "metadata": {"name": name},
                "spec": {"driver": self.driver},
            }
        )
        self._requests.append(name)

    def _end_request(self) -> None:
        name = self._requests.pop(0)
        self._insist(lambda: self.setup.api.delete("resourcepoolstatusrequests", name))

    def _change(self) -> None:
        self._class = f"{self._chance.randrange(10)}.example.com"
        body = {"spec": {"template": {"spec": objects.claim_spec(self._class)}}}
        api = self.setup.api
        self._insist(lambda: api.patch("clusterresourceclaimtemplates", self.name, None, body))

    def _change_schema(self) -> None:
        self._reported.change()

    def _delete_copy(self) -> None:
        place = self._chance.choice(self._places)
        self._insist(lambda: self.setup.api.delete("resourceclaimtemplates", self.name, place))

    def _create(self, manifest: Json) -> None:
        def create() -> None:
            try:
                self.setup.api.create(manifest)
            except ApiError as error:
                if error.reason != "AlreadyExists":  # the answer of the first attempt was lost
                    raise

        self._insist(create)

    # What must be true ----------------------------------------------------------------------------

    def differences(self, settled: Settled) -> list[str]:
        """Return a sentence for each object that is not as it must be."""
        return [
            *self._about_pods(settled),
            *self._about_requests(),
            *self._about_rules(),
            *self._about_copies(),
            *self._about_events(),
            *self._about_reports(settled),
            *self._about_metrics(settled),
            *self._reported.differences(),
        ]

    def _about_pods(self, settled: Settled) -> Iterator[str]:
        """A pod that terminates was bound to a node without a kubelet; its claims stay its own.

        The API server deletes pods without a node at once, the kubelet those with one.
        """
        pods = {pod["metadata"]["name"]: pod for pod in settled.pods.values()}
        leaving = [pod for pod in pods.values() if "deletionTimestamp" in pod["metadata"]]
        self.terminating = len(leaving)
        for pod in leaving:
            node = pod["spec"].get("nodeName")
            if node != self.dark:
                yield f"pod {pod['metadata']['name']} on node {node} terminates"
        # Maintenances evict it, taints must not: they delete pods, without the API of evictions.
        user = self.setup.user.name
        deleted = self.setup.plane.audit.writes(
            user, resource="pods", verb="delete", namespace=self.name
        )
        self.done["deleted for taints"] = len({one.name for one in deleted})
        if any(one.name == TOLERANT for one in deleted):
            yield f"pod {TOLERANT} tolerates every taint and was deleted"

    def _about_requests(self) -> Iterator[str]:
        stored = self._by_name("resourcepoolstatusrequests")
        for name in self._requests:
            status = stored.get(name, {}).get("status") or {}
            if status.get("poolCount") != NODES + 1:
                yield f"request {name} has the answer {status}"

    def _about_rules(self) -> Iterator[str]:
        for name, found in self._by_name("devicetaintrules").items():
            selector = found["spec"].get("deviceSelector") or {}
            if selector.get("driver") == self.driver:
                yield f"DeviceTaintRule {name} is left over"

    def _about_copies(self) -> Iterator[str]:
        api = self.setup.api
        status = api.get("clusterresourceclaimtemplates", self.name).get("status") or {}
        if (status.get("namespaces"), status.get("outdated")) != (NAMESPACES + 1, 0):
            yield f"the status of copies is {status}"
        for place in (self.name, *self._places):
            copy = api.find("resourceclaimtemplates", self.name, place) or {}
            requests = copy.get("spec", {}).get("spec", {}).get("devices", {}).get("requests")
            found = [one["exactly"]["deviceClassName"] for one in requests or ()]
            if found != [self._class]:
                yield f"the copy in {place} asks for {found}, its template for {self._class}"

    def _about_events(self) -> Iterator[str]:
        listed = self.setup.api.list("events.events.k8s.io", self.name)
        explained = [one for one in listed if one.get("reason") == "CannotAllocateDevices"]
        if not any(one["regarding"].get("name") == UNPLACED for one in explained):
            yield f"no Event explains pod {UNPLACED}"
        marked = Counter(
            one["regarding"]["uid"]
            for one in listed
            if one.get("note") == MARKED and one.get("reportingController") == "dragoman"
        )
        self.done["evicted"] = len(marked)
        yield from (
            f"pod {uid} was marked {count} times" for uid, count in marked.items() if count > 1
        )

    def _about_reports(self, settled: Settled) -> Iterator[str]:
        used = self._used(settled)
        reports = {one["spec"]["pool"]: one["report"] for one in self._reports()}
        for pool, devices in self._pools().items():
            found = reports.get(pool, {})
            if (found.get("devices"), found.get("used")) != (devices, used[pool]):
                yield f"the report of pool {pool} is {found}, with {used[pool]} devices in use"

    def _about_metrics(self, settled: Settled) -> Iterator[str]:
        samples = self._metrics()
        used = self._used(settled).total()
        label = f'dragoman_devices{{class="{self.name}",driver="{self.driver}",state="used"}}'
        if samples.get(label) != used:
            yield f"{label} is {samples.get(label)}, {used} devices are in use"
        yield from self._about_tolerant(settled, samples, full=used == sum(self._pools().values()))
        if not samples.get("dragoman_findings_timestamp_seconds"):
            yield "the cluster was not examined"

    def _about_tolerant(
        self, settled: Settled, samples: dict[str, float], *, full: bool
    ) -> Iterator[str]:
        named = [one for one in samples if one.startswith("dragoman_device_info{")]
        parts = (f'namespace="{self.name}"', f'pod="{TOLERANT}"')
        for pod in settled.pods.values():
            if pod["metadata"]["name"] != TOLERANT:
                continue
            placed = bool(pod["spec"].get("nodeName"))
            if not placed and not full:
                yield f"pod {TOLERANT} has no node though devices are free"
            if placed and not any(all(part in one for part in parts) for one in named):
                yield f"dragoman_device_info does not name the device of pod {TOLERANT}"

    def _used(self, settled: Settled) -> Counter[str]:
        """Return how many devices of each pool are allocated."""
        return Counter(
            result["pool"] for claim in settled.claims.values() for result in _results(claim)
        )

    def _pools(self) -> dict[str, int]:
        return {f"{self.name}-{node}": DEVICES for node in range(NODES)} | {self.dark: DARK_DEVICES}

    def _reports(self) -> list[Json]:
        listed = self.setup.api.list("devicepoolreports")
        return [one for one in listed if one["spec"]["driver"] == self.driver]

    def _by_name(self, plural: str) -> dict[str, Json]:
        return {one["metadata"]["name"]: one for one in self.setup.api.list(plural)}

    def _metrics(self) -> dict[str, float]:
        url = f"http://127.0.0.1:{self.setup.operator.port}/metrics"
        lines = urllib3.request("GET", url).data.decode().splitlines()
        samples = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in samples}

    # Kubelets -------------------------------------------------------------------------------------

    def _end_pods(self) -> None:
        """End deleted pods as kubelets do, but for those of the node without one.

        The scheduler ends itself where its cache contradicts the API server, as after a kill of
        etcd: it is started again, as the kubelet of its node does.
        """
        api = self.setup.plane.api()
        scheduler = self.setup.plane.processes[SCHEDULER]
        while not self._ended.wait(0.5):
            if scheduler.pid is None:
                scheduler.start()
                self.done["scheduler started again"] += 1
            with suppress(HTTPError, ApiError):
                for pod in api.list("pods", self.name):
                    metadata, node = pod["metadata"], pod["spec"].get("nodeName")
                    if "deletionTimestamp" in metadata and node not in {None, self.dark}:
                        with suppress(ApiError):
                            api.delete("pods", metadata["name"], self.name, gracePeriodSeconds=0)

    @staticmethod
    def _request_of(template: Any) -> dict[str, Any]:
        request: dict[str, Any] = template["spec"]["spec"]["devices"]["requests"][0]["exactly"]
        return request


def _results(claim: Json) -> list[Json]:
    """Return what a claim has of which device."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    found: list[Json] = allocation.get("devices", {}).get("results", [])
    return found

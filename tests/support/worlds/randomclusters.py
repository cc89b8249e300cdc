"""Random worlds of devices, which can stand side by side on one control plane.

Worlds do not touch each other: each has its own drivers, classes, namespace and nodes, and its pods
select its nodes by a label.
"""

import os
import random
from dataclasses import dataclass, field
from typing import Any

from tests.support import manifests as objects

Json = dict[str, Any]
LABEL = "example.com/world"
ADMIN = "resource.kubernetes.io/admin-access"
DRIVERS = tuple(map(int, os.environ.get("DRAGOMAN_DRIVERS", "1,1,2,3").split(",")))
"""How many drivers a world may have, each as likely; `make test-explain DRIVERS=2,3,4` says it."""
MODELS = ("a", "b")
SELECTORS = (
    'device.attributes["{driver}"].model == "a"',
    'device.attributes["{driver}"].model == "b"',
    'device.attributes["{driver}"].index > 1',
    'device.attributes["{driver}"].?spare.orValue(false)',
    'device.capacity["{driver}"].memory.isGreaterThan(quantity("3Gi"))',
)
BROKEN = 'device.attributes["{driver}"].spare'
POLICIES: tuple[Json, ...] = (
    {"validRange": {"min": "1Gi", "step": "1Gi"}},
    {"validRange": {"min": "1Gi", "max": "2Gi", "step": "1Gi"}},
    {"validValues": ["1Gi", "2Gi"]},
)
"""What a claim may take of shared memory; the latter two forbid 5Gi."""
HALF = "600Gi"
"""Memory of which a node has enough for one pod, and not for two."""
TAINT = {"key": "example.com/broken", "value": "yes"}


@dataclass
class World:
    """One world.

    Attributes:
        name: Also of its namespace and label.
        random: Where all chance comes from.
        nodes: Names.
        drivers: Names.
        manifests: What is created before any pod.
        shares: Whether devices may be shared.
    """

    name: str
    random: random.Random
    nodes: list[str] = field(default_factory=list)
    drivers: list[str] = field(default_factory=list)
    manifests: list[Json] = field(default_factory=list)

    def chance(self, share: float) -> bool:
        """Return True with this probability."""
        return self.random.random() < share

    # Pools ----------------------------------------------------------------------------------------

    def populate(self, *, rules: bool = False) -> None:
        """Make nodes, drivers, slices and classes."""
        self.nodes = [f"{self.name}-n{i}" for i in range(self.random.choice((1, 1, 2, 3, 4)))]
        self.drivers = [f"d{i}.{self.name}.example.com" for i in range(self.random.choice(DRIVERS))]
        for node in self.nodes:
            manifest = objects.node(node)
            manifest["metadata"]["labels"][LABEL] = self.name
            self.manifests.append(manifest)
        for index, driver in enumerate(self.drivers):
            self.manifests.append(self.device_class(f"{self.name}-c{index}", driver))
            for node in self.nodes:
                if self.chance(0.9):
                    self.manifests += self.pool(driver, node)
        if rules and self.chance(0.2):
            self.manifests.append(self.rule())

    def device_class(self, name: str, driver: str) -> Json:
        """Make a class of all devices of a driver."""
        made = objects.device_class(name, driver)
        if self.chance(0.1):
            selector = self.random.choice(SELECTORS).format(driver=driver)
            made["spec"]["selectors"].append({"cel": {"expression": selector}})
        return made

    def pool(self, driver: str, node: str) -> list[Json]:
        """Make the slices of a pool."""
        kind = self.random.choice(("plain", "plain", "plain", "counters", "shares"))
        count = self.random.choice((1, 1, 2))
        slices = []
        for part in range(count):
            devices = [
                self.device(kind, f"d{part}{index}") for index in range(self.random.randint(1, 4))
            ]
            slices.append(self.slice(driver, node, part, devices))
        if kind == "counters":
            slices.append(self.slice(driver, node, len(slices), []))
            spec = slices[-1]["spec"]
            del spec["devices"]
            left = self.random.randint(2, 6)
            spec["sharedCounters"] = [
                {"name": "set", "counters": {"memory": {"value": f"{left}Gi"}}}
            ]
        for one in slices:
            one["spec"]["pool"]["resourceSliceCount"] = len(slices)
        self.break_pool(slices)
        return slices

    def break_pool(self, slices: list[Json]) -> None:
        """Leave a pool incomplete, obsolete in part, or invalid, now and then."""
        if self.chance(0.06):
            for one in slices:
                one["spec"]["pool"]["resourceSliceCount"] += 1
        elif self.chance(0.06):
            for one in slices:
                one["spec"]["pool"]["generation"] = 2
            old = self.slice(
                slices[0]["spec"]["driver"],
                slices[0]["spec"]["nodeName"],
                9,
                [self.device("plain", "old")],
            )
            slices.append(old)
        elif self.chance(0.06) and len(slices) > 1 and "devices" in slices[1]["spec"]:
            slices[1]["spec"]["devices"][0]["name"] = slices[0]["spec"]["devices"][0]["name"]

    def slice(self, driver: str, node: str, part: int, devices: list[Json]) -> Json:
        """Make one slice."""
        return objects.resource_slice(node, devices, driver, f"{node}-{driver}-{part}")

    def device(self, kind: str, name: str) -> Json:
        """Make one device."""
        made: Json = {
            "name": name,
            "attributes": {
                "model": {"string": self.random.choice(MODELS)},
                "index": {"int": self.random.randint(0, 3)},
            },
            "capacity": {"memory": {"value": f"{self.random.choice((2, 4, 8))}Gi"}},
        }
        if self.chance(0.85):
            made["attributes"]["spare"] = {"bool": self.chance(0.5)}
        if self.chance(0.12):
            effect = self.random.choice(("NoSchedule", "NoExecute", "None"))
            made["taints"] = [{**TAINT, "effect": effect}]
        if kind == "counters":
            need = f"{self.random.randint(1, 3)}Gi"
            made["consumesCounters"] = [
                {"counterSet": "set", "counters": {"memory": {"value": need}}}
            ]
        if kind == "shares":
            made["allowMultipleAllocations"] = True
            if self.chance(0.6):
                policy = {"default": "1Gi", **self.random.choice(POLICIES)}
                made["capacity"]["memory"]["requestPolicy"] = policy
        return made

    def rule(self) -> Json:
        """Make a DeviceTaintRule for a driver, or for one of its pools."""
        selector = {"driver": self.random.choice(self.drivers)}
        if self.chance(0.7):
            selector["pool"] = self.random.choice(self.nodes)
        return {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": f"{self.name}-rule"},
            "spec": {
                "deviceSelector": selector,
                "taint": {"key": "example.com/rule", "effect": "NoSchedule"},
            },
        }

    # Claims and pods ------------------------------------------------------------------------------

    def request(self, driver: str, *, calm: bool, alternative: bool = False) -> Json:
        """Make what one request is for."""
        made: Json = {"deviceClassName": f"{self.name}-c{self.drivers.index(driver)}"}
        count = self.random.choice((1, 1, 1, 2, 3))
        if not calm and self.chance(0.1):
            made["allocationMode"] = "All"
        else:
            made |= {"allocationMode": "ExactCount", "count": count}
        if self.chance(0.4):
            selector = self.random.choice(SELECTORS)
            if not calm and self.chance(0.15):
                selector = BROKEN
            made["selectors"] = [{"cel": {"expression": selector.format(driver=driver)}}]
        if self.chance(0.15):
            made["tolerations"] = [{"key": TAINT["key"], "operator": "Exists"}]
        if self.chance(0.2):
            made["capacity"] = {"requests": {"memory": f"{self.random.choice((1, 2, 5))}Gi"}}
        if not calm and not alternative and self.chance(0.05):
            made["adminAccess"] = True
        return made

    def claim(self, name: str, *, calm: bool = False) -> Json:
        """Make a claim; a calm one has nothing that stops a pod on all nodes."""
        requests: list[Json] = []
        for index in range(self.random.choice((1, 1, 2))):
            driver = self.random.choice(self.drivers)
            if not calm and self.chance(0.15):
                alternatives = [
                    {"name": f"s{part}", **self.request(driver, calm=calm, alternative=True)}
                    for part in range(2)
                ]
                requests.append({"name": f"r{index}", "firstAvailable": alternatives})
            else:
                requests.append({"name": f"r{index}", "exactly": self.request(driver, calm=calm)})
        devices: Json = {"requests": requests}
        if not calm and self.chance(0.2):
            driver = self.random.choice(self.drivers)
            attribute = self.random.choice(("model", "index"))
            devices["constraints"] = [{"matchAttribute": f"{driver}/{attribute}"}]
        meta = {"name": name, "namespace": self.name}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": meta,
            "spec": {"devices": devices},
        }

    def pod(self, name: str, *claims: str) -> Json:
        """Make a pod with claims that runs on nodes of this world."""
        entries = {f"e{index}": claim for index, claim in enumerate(claims)}
        return objects.pod(name, self.name, claims=entries, nodeSelector={LABEL: self.name})

    def sized(self, pod: Json) -> Json:
        """Let a pod take more than half of a node's memory, now and then."""
        if self.chance(0.25):
            requesting(pod, {"memory": HALF})
        return pod

    def binding(self) -> list[Json]:
        """Make a pod, its claim, and devices that no driver ever makes ready for it.

        The scheduler chooses its node, and waits before it binds the pod. Of half of the devices
        the claim does not tell which node that is: they can be used on all nodes of the world.
        """
        driver, kind = f"bind.{self.name}.example.com", f"{self.name}-bind"
        shared = self.chance(0.5)
        device = {
            "name": "d0",
            "bindsToNode": not shared,
            "bindingConditions": ["Ready"],
            "bindingFailureConditions": ["Failed"],
        }
        self.manifests.append(objects.device_class(kind, driver))
        slices = [self.slice(driver, node, 0, [device]) for node in self.nodes]
        if shared:
            del slices[1:]
            spec = slices[0]["spec"]
            del spec["nodeName"]
            where = {"key": LABEL, "operator": "In", "values": [self.name]}
            spec["nodeSelector"] = {"nodeSelectorTerms": [{"matchExpressions": [where]}]}
        self.manifests += slices
        pair = self.simple_pod("binding", kind)
        requesting(pair[-1], {"memory": HALF})
        return pair

    def simple_pod(self, name: str, class_name: str) -> list[Json]:
        """Make a pod, and a claim for any one device of a class."""
        claim = objects.claim(name, self.name, class_name)
        return [claim, self.pod(name, name)]


def requesting(pod: Json, amounts: Json) -> None:
    """Let the container of a pod request more."""
    resources = pod["spec"]["containers"][0].setdefault("resources", {})
    for kind in ("requests", "limits"):
        resources[kind] = {**resources.get(kind, {}), **amounts}


def make(seed: int, *, rules: bool = False, prefix: str = "w") -> World:
    """Make the world of a seed, with nothing in it created yet."""
    world = World(f"{prefix}{seed}", random.Random(seed))
    world.populate(rules=rules)
    return world

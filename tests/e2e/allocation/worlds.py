"""Random worlds that an API server stores: nodes with devices, and pods that want them in turn.

Names carry the number of the world, and every slice and pod keeps to the nodes of its world, so
that many worlds share a control plane.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.conformance.allocating.worlds import BASE, DRIVERS, LABELS, Builder
from tests.support import manifests as objects

Json = dict[str, Any]

THEMES = (
    "pools", "network", "per-device", "counters", "capacity", "taints", "admin", "list", "match",
    "distinct", "all", "config", "binding", "extended",
)  # fmt: skip
RULES = "rules"
"""A theme for control planes that serve DeviceTaintRules, which are alpha in 1.36."""


@dataclass(frozen=True, slots=True)
class World:
    """One world.

    Attributes:
        name: Such as `w7`.
        themes: What it is about.
        nodes: Names of its nodes.
        objects: Nodes, classes, slices and DeviceTaintRules.
        pods: The pods.
    """

    name: str
    themes: tuple[str, ...]
    nodes: tuple[str, ...]
    objects: tuple[Json, ...]
    pods: tuple[WorldPod, ...]


@dataclass(frozen=True, slots=True)
class WorldPod:
    """One pod of a world.

    Attributes:
        claims: The specs of its claims.
        containers: Their requests, and what else they have, by the field of the pod's spec.
    """

    claims: tuple[Json, ...]
    containers: dict[str, list[Json]]


class Valid(Builder):
    """Leaves out what the API server refuses."""

    def policy(self) -> Json:
        """Make a request policy that every capacity of these worlds can have."""
        return dict(
            self.pick(
                {"default": "1", "validRange": {"min": "1", "step": "1"}},
                {"default": "1", "validRange": {"min": "1", "max": "2"}},
                {"default": "1", "validRange": {"min": "1"}},
                {"default": "1", "validValues": ["1", "2"]},
            )
        )

    def capacity(self, driver: str) -> Json:
        """Make capacities of at least two."""
        found = super().capacity(driver)
        for item in found.values():
            if item["value"] == "1500m":
                item["value"] = "3"
        return found

    def device(self, driver: str, name: str, sets: dict[str, list[str]]) -> Json:
        """Make a device; only shared ones have request policies."""
        found = super().device(driver, name, sets)
        for capacity in found.get("capacity", {}).values():
            if not found.get("allowMultipleAllocations"):
                capacity.pop("requestPolicy", None)
        return self.binding(found)

    def binding(self, device: Json) -> Json:
        """Keep binding conditions only where there are some to wait for."""
        if self.has("binding", 0.5):
            device |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
        if not device.get("bindingConditions"):
            device.pop("bindingConditions", None)
            device.pop("bindingFailureConditions", None)
        return device

    def taint(self) -> Json:
        """Make a taint of a known effect."""
        return {**super().taint(), "effect": self.pick("NoSchedule", "NoExecute", "None")}

    def toleration(self) -> Json:
        """Make a toleration of one key."""
        found = {"key": self.pick("unhealthy", "maintenance"), **super().toleration()}
        if found.get("effect") not in ("NoSchedule", "NoExecute"):
            found.pop("effect", None)
        return found

    def selector(self) -> Json:
        """Make a node selector of one term, within the world."""
        term = super().selector()["nodeSelectorTerms"][0] or {}
        here = {"key": "world", "operator": "In", "values": ["WORLD"]}
        expressions = [here, *term.get("matchExpressions", ())]
        return {"nodeSelectorTerms": [{**term, "matchExpressions": expressions}]}

    def everywhere(self) -> Json:
        """Make a node selector for the whole world."""
        here = {"key": "world", "operator": "In", "values": ["WORLD"]}
        return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}

    def place(self, node: str) -> Json:
        """Make the part of a slice that says where it is."""
        found = super().place(node)
        return self.everywhere() if "allNodes" in found else found

    def device_place(self) -> Json:
        """Make the part of a device that says where it is."""
        found = super().device_place()
        return found if found and "allNodes" not in found else self.everywhere()

    def disturb(self, made: list[Json]) -> None:
        """Break a pool, with numbers that are valid alone."""
        super().disturb(made)
        for item in made:
            pool = item["spec"]["pool"]
            pool["resourceSliceCount"] = max(pool["resourceSliceCount"], 1)

    def pool(self, driver: str, name: str, node: str) -> list[Json]:
        """Make the slices of a pool; each has devices or counters."""
        made = super().pool(driver, name, node)
        for item in made:
            spec = item["spec"]
            if "sharedCounters" not in spec and not spec.get("devices"):
                spec["devices"] = [self.device(driver, "only", {})]
                if spec.get("perDeviceNodeSelection"):
                    spec["devices"][0].update(self.device_place())
            where = [one for one in ("nodeName", "nodeSelector", "allNodes") if one in spec]
            if "allNodes" in where or len(where) > 1:
                for one in where:
                    del spec[one]
                spec.update(self.everywhere())
        return made

    def rule(self, number: int) -> Json:
        """Make a DeviceTaintRule within the world."""
        selector = {"driver": self.pick(*DRIVERS)}
        if self.chance(0.4):
            selector["pool"] = self.pick("p0", "ap0", "bp0")
        if self.chance(0.4):
            selector["device"] = self.pick("d0", "d1", "d2")
        return {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": f"rule-{number}"},
            "spec": {"deviceSelector": selector, "taint": self.taint()},
        }

    def containers(self) -> dict[str, list[Json]]:
        """Make containers, some of which request extended resources."""
        made: dict[str, list[Json]] = {"initContainers": [], "containers": []}
        wanted = self.has("extended", 0.8)
        for kind, count in (("initContainers", self.pick(0, 0, 1, 2)), ("containers", 1)):
            for _ in range(count + (self.pick(0, 1) if wanted else 0)):
                container: Json = {"name": f"{kind[0]}{len(made[kind])}", "image": "pause"}
                if wanted and self.chance(0.7):
                    container["resources"] = self.extended()
                if kind == "initContainers" and self.chance(0.3):
                    container["restartPolicy"] = "Always"
                made[kind].append(container)
        return made

    def extended(self) -> Json:
        """Make the resources of a container, extended ones among them."""
        names = [f"{driver}/dev" for driver in DRIVERS]
        names += [f"deviceclass.resource.kubernetes.io/WORLD-{kind}" for kind in ("a", "any")]
        count = self.pick("1", "1", "2")
        found = dict.fromkeys(self.random.sample(names, self.pick(1, 1, 2)), count)
        cpu = {"cpu": "1m"} if self.chance(0.4) else {}
        return {"requests": {**cpu, **found}, "limits": found}


def world(random: Random, number: int, *, rules: bool = False) -> World:
    """Make one world.

    Args:
        random: Where all choices come from.
        number: Of the world.
        rules: Whether DeviceTaintRules are served.
    """
    listed = (*THEMES, RULES) if rules else THEMES
    themes = {theme for theme in listed if random.random() < 0.25}
    builder = Valid(random, "1.36", themes)
    builder.enabled = dict.fromkeys(BASE, True)
    builder.second = "b"
    nodes = ["node-1", "node-2"][: random.choice((1, 1, 2))]
    # 1.36 keeps counters by pool name alone, and for all nodes of an attempt: which of two drivers'
    # pools of one name is looked at first depends on which node comes first (#140434). Worlds of
    # several nodes have other names for each driver's pools.
    prefix = {driver: driver[0] if len(nodes) > 1 else "" for driver in DRIVERS}
    pools = [
        (driver, f"{prefix[driver]}p{index}")
        for driver in DRIVERS
        for index in range(random.choice((1, 1, 2)))
    ]
    slices = [
        item for driver, name in pools for item in builder.pool(driver, name, random.choice(nodes))
    ]
    pods = []
    for _ in range(3):
        containers = builder.containers()
        extended = any("resources" in one for kind in containers.values() for one in kind)
        count = random.choice((0, 1) if extended else (1, 1, 2))
        claims = [builder.claim(f"c{index}", random.choice((1, 1, 2))) for index in range(count)]
        pods.append({"claims": [one["spec"] for one in claims], "containers": containers})
    made = [_node(name, plugin=builder.has("extended", 0.3)) for name in nodes]
    made += [_of("DeviceClass", one) for one in _bounded(builder.classes(), builder)]
    if RULES in themes:
        made += [builder.rule(index) for index in range(random.choice((1, 2)))]
    made += [_of("ResourceSlice", one) for one in slices]
    name = f"w{number}"
    document = {"objects": made, "pods": pods}
    text = json.dumps(document)
    for old, new in (
        *((driver, f"{driver[0]}.{name}.example.com") for driver in DRIVERS),
        *((f'"{node}"', f'"{name}-{node}"') for node in ("node-1", "node-2")),
        ("WORLD", name),
    ):
        text = text.replace(old, new)
    document = json.loads(text)
    for item in document["objects"]:
        if item["kind"] != "Node":
            item["metadata"]["name"] = f"{name}-{item['metadata']['name']}"
    for pod in document["pods"]:
        for spec in pod["claims"]:
            _rename_classes(spec, name)
    return World(
        name,
        tuple(sorted(themes)),
        tuple(f"{name}-{node}" for node in nodes),
        tuple(document["objects"]),
        tuple(WorldPod(tuple(pod["claims"]), pod["containers"]) for pod in document["pods"]),
    )


def _node(name: str, *, plugin: bool) -> Json:
    node = objects.node(name)
    node["metadata"]["labels"] |= {**LABELS[name], "world": "WORLD"}
    if plugin:  # a device plugin that has lost its devices
        for field in ("capacity", "allocatable"):
            node["status"][field] = {**node["status"][field], f"{DRIVERS[0]}/dev": "0"}
    return node


def _of(kind: str, document: Json) -> Json:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, **document}


def _bounded(classes: list[Json], builder: Builder) -> list[Json]:
    """Keep the class of all devices to the drivers of the world; let classes serve resources."""
    listed = ", ".join(f'"{driver}"' for driver in DRIVERS)
    for item in classes:
        if item["metadata"]["name"] == "any":
            item["spec"]["selectors"] = [{"cel": {"expression": f"device.driver in [{listed}]"}}]
        elif "extended" in builder.themes:
            driver = dict(zip("ab", DRIVERS, strict=True))[item["metadata"]["name"]]
            item["spec"]["extendedResourceName"] = f"{driver}/dev"
    return classes


def _rename_classes(spec: Json, world: str) -> None:
    for request in spec["devices"]["requests"]:
        for body in (request.get("exactly"), *request.get("firstAvailable", ())):
            if body is not None:
                body["deviceClassName"] = f"{world}-{body['deviceClassName']}"

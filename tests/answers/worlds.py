"""Random worlds of two to four drivers, as plain data and as manifests.

Nothing here imports the product: the evaluator beside it decides on the same data.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
NOW = "2026-11-22T12:00:00Z"
BEFORE = "2026-11-22T11:48:00Z"
MODELS = {
    "gpu.alpha.test": ("Lyra-16", "Lyra-32", "Vela 80GB HBM"),
    "nic.beta.test": ("Port-100G", "Port-400G"),
    "acc.gamma.test": ("Orion X1", "Orion X2"),
    "card.delta.test": ("Slate-7", "Slate-9"),
}
TAINTS = ("vendor.test/hot", "vendor.test/ecc")
EFFECTS = ("NoSchedule", "NoExecute")
NODE_TAINT = "team.test/reserved"
SLIPS = ("attribute", "domain", "value", "case", "driver", "class", "template", "namespace")


@dataclass
class Device:
    name: str
    driver: str
    node: str
    model: str
    memory: int  # Gi
    root: str  # Compared by constraints
    taints: tuple[tuple[str, str], ...] = ()
    takes: int = 0  # Of the counter of its pool; 0 for a device without counters


@dataclass
class Pool:
    driver: str
    node: str
    devices: list[Device]
    whole: bool = True
    counter: int = 0  # What partitions share


@dataclass
class Node:
    name: str
    cpu: int
    zone: str
    taint: str = ""  # Key of a NoSchedule taint
    cordoned: bool = False


@dataclass
class Holder:
    name: str  # `namespace/name`
    node: str
    cpu: int
    devices: list[Device] = field(default_factory=list)
    claims: int = 1
    ended: bool = False


@dataclass(frozen=True)
class Request:
    name: str
    driver: str
    count: int
    model: str = ""
    memory: int = 0


@dataclass
class World:
    seed: int
    nodes: list[Node]
    pools: list[Pool]
    holders: list[Holder]
    requests: tuple[Request, ...]
    same_root: bool = False
    cpu: int = 1
    zone: str = ""
    gate: bool = False
    scheduler: str = "default-scheduler"
    slip: str = ""

    @property
    def drivers(self) -> list[str]:
        return sorted({one.driver for one in self.pools})

    def devices(self) -> list[Device]:
        return [device for pool in self.pools for device in pool.devices]

    def written(self) -> tuple[str, str]:
        """Return what a slip makes of a text, and the text."""
        first = self.requests[0]
        wrong = {
            "attribute": ("modelname", "modelName"),
            "domain": (first.driver.partition(".")[2], first.driver),
            "value": (first.model[:-1], first.model),
            "case": (first.model.upper(), first.model),
            "driver": (first.driver.replace("test", "tset"), first.driver),
            "class": (f"{first.driver}x", first.driver),
            "template": ("wanteds", "wanted"),
            "namespace": ("wanted", "infra"),
        }
        return wrong.get(self.slip, ("", ""))


def make(seed: int) -> World:
    """Make a world and a pod that waits in it."""
    chance = random.Random(seed)
    drivers = chance.sample(sorted(MODELS), chance.choice((2, 3, 4)))
    zones = ("east", "west")
    nodes = [
        Node(
            f"node-{index}",
            chance.choice((4, 8)),
            chance.choice(zones),
            NODE_TAINT if chance.random() < 0.12 else "",
            cordoned=chance.random() < 0.06,
        )
        for index in range(chance.randint(3, 12))
    ]
    wanted = drivers[0]
    pools = [
        _pool(chance, driver, node.name)
        for node in nodes
        for driver in drivers
        if chance.random() < 0.55
    ]
    if not any(one.driver == wanted for one in pools):
        pools.append(_pool(chance, wanted, nodes[0].name))
    holders = _holders(chance, nodes, pools)
    world = World(seed, nodes, pools, holders, _requests(chance, drivers))
    world.same_root = len(world.requests) > 1 and chance.random() < 0.4
    world.cpu = chance.choice((1, 1, 1, 2, 4, 4, 16)) if chance.random() < 0.35 else 1
    world.zone = chance.choice((*zones, "north")) if chance.random() < 0.2 else ""
    world.gate = chance.random() < 0.03
    world.scheduler = "night-scheduler" if chance.random() < 0.03 else "default-scheduler"
    if chance.random() < 0.25:
        world.slip = chance.choice(SLIPS)
        if world.slip in ("value", "case", "attribute", "domain"):
            first = world.requests[0]
            there = sorted({one.model for one in world.devices() if one.driver == first.driver})
            more = tuple(
                Request(one.name, one.driver, one.count, chance.choice(there), one.memory)
                if one is first
                else one
                for one in world.requests
            )
            world.requests = more
    return world


def _pool(chance: random.Random, driver: str, node: str) -> Pool:
    parts = driver == "card.delta.test" and chance.random() < 0.6
    pool = Pool(driver, node, [], whole=chance.random() > 0.06, counter=8 if parts else 0)
    for index in range(chance.randint(1, 4)):
        taints: list[tuple[str, str]] = []
        if chance.random() < 0.15:
            taints = [
                (key, chance.choice(EFFECTS))
                for key in chance.sample(TAINTS, chance.choice((1, 1, 2)))
            ]
        pool.devices.append(
            Device(
                f"d{index}",
                driver,
                node,
                chance.choice(MODELS[driver]),
                chance.choice((16, 40, 80)),
                f"root-{chance.randint(0, 2)}",
                tuple(taints),
                takes=chance.choice((2, 4, 8)) if parts else 0,
            )
        )
    return pool


def _holders(chance: random.Random, nodes: list[Node], pools: list[Pool]) -> list[Holder]:
    busy = chance.choice((0.3, 0.8, 1.0))
    found: list[Holder] = []
    for node in nodes:
        here = [one for one in pools if one.node == node.name and one.whole]
        left = node.cpu
        for pool in here:
            free, counter = [*pool.devices], pool.counter
            chance.shuffle(free)
            while free and chance.random() < busy:
                some = [free.pop() for _ in range(min(len(free), chance.choice((1, 1, 2))))]
                some = [one for one in some if not pool.counter or one.takes <= counter]
                counter -= sum(one.takes for one in some[:1])
                some = some[:1] if pool.counter else some
                cpu = chance.choice((0, 1, 2))
                cpu = cpu if cpu <= left else 0
                left -= cpu
                if some:
                    name = f"{chance.choice(('ml', 'web'))}/job-{len(found)}"
                    claims = 2 if len(some) > 1 and chance.random() < 0.4 else 1
                    ended = chance.random() < 0.04
                    found.append(Holder(name, node.name, 0 if ended else cpu, some, claims, ended))
        if left > 0 and chance.random() < 0.3:
            found.append(Holder(f"ops/copy-{len(found)}", node.name, chance.randint(1, left)))
    return found


def _requests(chance: random.Random, drivers: list[str]) -> tuple[Request, ...]:
    found = []
    for index in range(chance.choice((1, 1, 1, 2))):
        driver = drivers[index]
        model = chance.choice(MODELS[driver]) if chance.random() < 0.45 else ""
        memory = chance.choice((40, 80, 96)) if chance.random() < 0.25 else 0
        found.append(Request(f"r{index}", driver, chance.choice((1, 1, 2, 3)), model, memory))
    return tuple(found)


# Manifests ----------------------------------------------------------------------------------------


def manifests(world: World) -> list[Json]:
    """Return the world as objects of the API, and pod `ml/wants`."""
    found: list[Json] = [_node(one) for one in world.nodes]
    found += map(_class, sorted({*world.drivers, *(one.driver for one in world.requests)}))
    for pool in world.pools:
        found += _slices(pool)
    for holder in world.holders:
        found += _holder(holder)
    return [*found, *_wanted(world)]


def _meta(name: str, namespace: str = "", **more: Any) -> Json:
    where = {"namespace": namespace} if namespace else {}
    uid = {"uid": f"uid-{namespace}-{name}"}
    return {"name": name, **where, **uid, "creationTimestamp": BEFORE, **more}


def _node(node: Node) -> Json:
    spec: Json = {}
    if node.taint:
        spec["taints"] = [{"key": node.taint, "value": "yes", "effect": "NoSchedule"}]
    if node.cordoned:
        spec["unschedulable"] = True
    labels = {"kubernetes.io/hostname": node.name, "zone": node.zone}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": BEFORE}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _meta(node.name, labels=labels),
        "spec": spec,
        "status": {
            "allocatable": {"cpu": str(node.cpu), "memory": "64Gi", "pods": "110"},
            "conditions": [ready],
        },
    }


def _class(driver: str) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": _meta(driver),
        "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{driver}'"}}]},
    }


def _slices(pool: Pool) -> list[Json]:
    count = 1 + (pool.counter > 0) + (not pool.whole)

    def made(part: int, **spec: Any) -> Json:
        name = f"{pool.node}-{pool.driver}-{part}"
        about = {"name": pool.node, "generation": 1, "resourceSliceCount": count}
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": _meta(name),
            "spec": {"driver": pool.driver, "nodeName": pool.node, "pool": about, **spec},
        }

    found = [made(0, devices=[_device(one) for one in pool.devices])]
    if pool.counter:
        counters = {"units": {"value": str(pool.counter)}}
        found.append(made(1, sharedCounters=[{"name": "set", "counters": counters}]))
    return found


def _device(one: Device) -> Json:
    made: Json = {
        "name": one.name,
        "attributes": {
            "modelName": {"string": one.model},
            "pci.test/root": {"string": one.root},
        },
        "capacity": {"memory": {"value": f"{one.memory}Gi"}},
    }
    if one.taints:
        made["taints"] = [{"key": key, "effect": effect} for key, effect in one.taints]
    if one.takes:
        units = {"units": {"value": str(one.takes)}}
        made["consumesCounters"] = [{"counterSet": "set", "counters": units}]
    return made


def _holder(holder: Holder) -> list[Json]:
    namespace, name = holder.name.split("/")
    step = -(-len(holder.devices) // holder.claims) if holder.devices else 1
    parts = [holder.devices[at : at + step] for at in range(0, len(holder.devices), step)]
    found: list[Json] = []
    entries = []
    for index, devices in enumerate(parts):
        claim = f"{name}-c{index}"
        entries.append({"name": f"c{index}", "resourceClaimName": claim})
        driver = devices[0].driver
        exactly = {"deviceClassName": driver, "allocationMode": "ExactCount", "count": len(devices)}
        results = [
            {"request": "r", "driver": driver, "pool": one.node, "device": one.name}
            for one in devices
        ]
        field = {"key": "metadata.name", "operator": "In", "values": [holder.node]}
        allocation = {
            "devices": {"results": results},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        }
        user = {"resource": "pods", "name": name, "uid": f"uid-{namespace}-{name}"}
        found.append(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": _meta(claim, namespace),
                "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
                "status": {"allocation": allocation, "reservedFor": [user]},
            }
        )
    container: Json = {"name": "main", "resources": {"requests": {"cpu": str(holder.cpu)}}}
    container["resources"]["claims"] = [{"name": one["name"]} for one in entries]
    spec = {"nodeName": holder.node, "containers": [container], "resourceClaims": entries}
    phase = "Succeeded" if holder.ended else "Running"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": _meta(name, namespace), "spec": spec}
    return [*found, {**pod, "status": {"phase": phase}}]


def selectors(world: World, request: Request) -> list[Json]:
    """Return the selectors of a request, with the slip of the world in the first one."""
    first = request is world.requests[0]
    slip, (wrong, _) = world.slip if first else "", world.written()
    domain = wrong if slip == "domain" else request.driver
    name = wrong if slip == "attribute" else "modelName"
    model = wrong if slip in ("value", "case") else request.model
    texts = []
    if slip == "driver":
        texts.append(f'device.driver == "{wrong}"')
    if request.model:
        texts.append(f'device.attributes["{domain}"].{name} == "{model}"')
    if request.memory:
        of = f'device.capacity["{request.driver}"].memory'
        texts.append(f'{of}.compareTo(quantity("{request.memory}Gi")) >= 0')
    return [{"cel": {"expression": one}} for one in texts]


def _wanted(world: World) -> list[Json]:
    wrong, _ = world.written()
    requests = []
    for one in world.requests:
        misnamed = world.slip == "class" and one is world.requests[0]
        exactly: Json = {
            "deviceClassName": wrong if misnamed else one.driver,
            "allocationMode": "ExactCount",
            "count": one.count,
        }
        if found := selectors(world, one):
            exactly["selectors"] = found
        requests.append({"name": one.name, "exactly": exactly})
    devices: Json = {"requests": requests}
    if world.same_root:
        devices["constraints"] = [{"matchAttribute": "pci.test/root"}]
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": _meta("wanted", "infra" if world.slip == "namespace" else "ml"),
        "spec": {"spec": {"devices": devices}},
    }
    named = wrong if world.slip == "template" else "wanted"
    status: Json = {"phase": "Pending"}
    if not world.gate and world.scheduler == "default-scheduler":
        status["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0 nodes are available.",
                "lastTransitionTime": BEFORE,
            }
        ]
    spec: Json = {
        "schedulerName": world.scheduler,
        "resourceClaims": [{"name": "r", "resourceClaimTemplateName": named}],
        "containers": [
            {
                "name": "main",
                "resources": {"requests": {"cpu": str(world.cpu)}, "claims": [{"name": "r"}]},
            }
        ],
    }
    if world.zone:
        spec["nodeSelector"] = {"zone": world.zone}
    if world.gate:
        spec["schedulingGates"] = [{"name": "gates.test/hold"}]
    made: list[Json] = [template]
    if world.slip not in ("template", "namespace", "class"):
        status["resourceClaimStatuses"] = [{"name": "r", "resourceClaimName": "wants-r"}]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "wants", "uid": "uid-ml-wants"}
        about = {"resource.kubernetes.io/pod-claim-name": "r"}
        metadata = _meta(
            "wants-r", "ml", ownerReferences=[{**owner, "controller": True}], annotations=about
        )
        claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata}
        made.append({**claim, "spec": {"devices": devices}})
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": _meta("wants", "ml"), "spec": spec}
    return [*made, {**pod, "status": status}]

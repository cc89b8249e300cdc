"""Random fleets of nodes with device plug-ins, and who acts in them beside the plan.

The test plays the kubelets and both DaemonSets: node status is what the plug-in counts, slices are
what the driver publishes, and each follows the label of its node. It also plays the owners of pods,
which make each evicted pod again.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dragoman_toolkit.migration.steps import SOURCE
from tests.support import manifests as objects

Json = dict[str, Any]
WORLD = "example.com/world"
"""Label of the nodes of one world, by which its pods stay there."""
PRODUCT = "nvidia.com/gpu.product"


@dataclass(frozen=True)
class Kind:
    """An extended resource, and the devices that stand for it."""

    resource: str
    driver: str
    attributes: Json = field(default_factory=dict, hash=False)

    @property
    def key(self) -> tuple[str, str]:
        """Its driver, and how its devices are called."""
        return self.driver, self.device(0)["name"].rpartition("-")[0]

    def device(self, number: int) -> Json:
        """Return a device."""
        attributes = {name: {"string": value} for name, value in self.attributes.items()}
        name = f"{self.resource.partition('/')[2].replace('.', '-')}-{number}"
        return {"name": name, **({"attributes": attributes} if attributes else {})}


GPU = Kind("nvidia.com/gpu", "gpu.nvidia.com", {"type": "gpu"})
MIG = Kind("nvidia.com/mig-1g.10gb", "gpu.nvidia.com", {"type": "mig", "profile": "1g.10gb"})
SINGLE = Kind("nvidia.com/gpu", "gpu.nvidia.com", {"type": "mig", "profile": "1g.10gb"})
AMD = Kind("amd.com/gpu", "gpu.amd.com", {"type": "amdgpu"})
GAUDI = Kind("habana.ai/gaudi", "gaudi.intel.com")


@dataclass
class Machine:
    """A node: what its hardware has, and which sources run there."""

    name: str
    kinds: dict[Kind, int]  # Devices
    replicas: int  # Pods that share each device of `nvidia.com/gpu`
    source: str  # `plugin`, `dra` or `both`, at the start
    labels: Json
    moved: bool = True  # Whether it begins with the plug-in
    slices: list[str] = field(default_factory=list)  # That are published
    counted: dict[str, int] = field(default_factory=dict)  # Allocatable

    def plugin(self) -> dict[str, int]:
        """Return what the plug-in counts."""
        return {
            kind.resource: count * (self.replicas if kind.resource == GPU.resource else 1)
            for kind, count in self.kinds.items()
        }


@dataclass
class Owner:
    """A workload: one pod spec and how many pods of it there are."""

    name: str
    spec: Json
    copies: int
    asks: dict[str, Counter[str]]  # Devices of each container, by resource
    kind: str  # `plain`, or what makes it impossible: `label`, `scheduler`
    budget: bool  # Whether a PodDisruptionBudget allows one eviction at a time


@dataclass
class Fleet:
    """One world."""

    seed: int
    name: str  # Of its namespace too
    machines: list[Machine]
    owners: list[Owner]
    stepwise: bool  # Whether the plan is asked for again after every step
    kinds: list[Kind]


def fleet(seed: int, name: str = "") -> Fleet:
    """Make a world; of a seed always the same one, but for its name."""
    chance = random.Random(f"migration {seed}")
    single = chance.random() < 1 / 3  # MIG strategy of all nodes
    name = name or f"fleet-{seed}"
    kinds = [SINGLE if single else GPU, *chance.sample([MIG, AMD, GAUDI], chance.randint(0, 2))]
    if single:
        kinds = [one for one in kinds if one is not MIG]
    replicas = 1 if single else chance.choice([1, 1, 2, 4])
    machines = []
    taken = chance.choice([0, 0, 1, 2])
    both = chance.random() < 0.15
    for number in range(chance.randint(3, 8)):
        own = [kinds[number % len(kinds)]]
        if len(kinds) > 1 and chance.random() < 0.4:
            own.append(kinds[(number + 1) % len(kinds)])
        source = "dra" if number < taken else "both" if both and number == taken else "plugin"
        labels = {WORLD: name, "pool": "accelerated"}
        if source != "dra":
            labels[PRODUCT] = "card"
        if single:
            labels["nvidia.com/mig.strategy"] = "single"
        if replicas > 1:
            labels |= {
                "nvidia.com/gpu.replicas": str(replicas),
                "nvidia.com/gpu.sharing-strategy": "time-slicing",
            }
        devices = {kind: chance.randint(1, 4) for kind in own}
        own_name = f"{name}-{number}"
        machines.append(Machine(own_name, devices, replicas, source, labels, source != "dra"))
    owners = list(_owners(chance, name, machines))
    return Fleet(seed, name, machines, owners, chance.random() < 0.4, kinds)


def _owners(chance: random.Random, world: str, machines: list[Machine]) -> Iterator[Owner]:
    left: Counter[str] = Counter()
    for machine in machines:
        if machine.source != "both":
            for kind, count in machine.kinds.items():
                left[kind.resource] += count
    if chance.random() < 0.3 and machines[0].replicas > 1:  # more than will be left
        left[GPU.resource] *= 2
    for number in range(chance.randint(1, 6)):
        resource = chance.choice(sorted(left))
        spec, asks = _pod(chance, world, resource)
        each = max(sum(one[resource] for one in asks.values()), 1)
        copies = min(chance.randint(1, 3), (left[resource] - 1) // each)
        if copies < 1:
            continue
        left[resource] -= copies * each
        trouble = chance.choice(["plain"] * 8 + ["label", "scheduler"])
        if trouble == "label":
            spec["nodeSelector"] = {**spec["nodeSelector"], PRODUCT: "card"}
        if trouble == "scheduler":
            spec["schedulerName"] = "other"
        yield Owner(f"w{number}", spec, copies, asks, trouble, chance.random() < 0.3)


def _pod(chance: random.Random, world: str, resource: str) -> tuple[Json, dict[str, Counter[str]]]:
    asks: dict[str, Counter[str]] = {}

    def container(name: str, count: int, **more: Any) -> Json:
        asks[name] = Counter({resource: count} if count else {})
        limits = {resource: str(count)} if count else {}
        return {"name": name, "image": "pause", "resources": {"limits": limits}, **more}

    initial = []
    if chance.random() < 0.3:
        initial.append(container("init", chance.randint(1, 2)))
    if chance.random() < 0.2:
        initial.append(container("sidecar", 1, restartPolicy="Always"))
    counts = [chance.choice([1, 1, 1, 2]), *([chance.randint(0, 1)] * chance.randint(0, 2))]
    containers = [container(f"c{number}", count) for number, count in enumerate(counts)]
    spec: Json = {
        "nodeSelector": {WORLD: world},
        "containers": containers,
        "initContainers": initial,
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"key": resource, "operator": "Exists"}],
    }
    if chance.random() < 0.3:
        spec["nodeSelector"]["pool"] = "accelerated"
    return spec, asks


def node(machine: Machine) -> Json:
    """Return its Node."""
    made = objects.node(machine.name)
    made["metadata"]["labels"] |= machine.labels
    if machine.source == "dra":
        made["metadata"]["labels"][SOURCE] = "dra"
    return made


def slices(machine: Machine) -> Iterator[list[Json]]:
    """Yield the slices of each driver: two for a pool of several devices."""
    for driver in sorted({kind.driver for kind in machine.kinds}):
        devices = [
            kind.device(number)
            for kind, count in machine.kinds.items()
            for number in range(count)
            if kind.driver == driver
        ]
        parts = [devices] if len(devices) == 1 else [devices[:1], devices[1:]]
        yield [_slice(machine, driver, number, len(parts), one) for number, one in enumerate(parts)]


def _slice(machine: Machine, driver: str, number: int, of: int, devices: list[Json]) -> Json:
    made = objects.resource_slice(
        machine.name, devices, driver, f"{machine.name}-{driver}-{number}"
    )
    made["spec"]["pool"] = {"name": machine.name, "generation": 1, "resourceSliceCount": of}
    return made

"""The clusters that the bench allocates on, as JSON of the API."""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

GPU, NIC = "gpu.example.com", "nic.example.com"
ATTRIBUTES = f'device.attributes["{GPU}"]'
FEATURES = dict.fromkeys(
    (
        "AdminAccess",
        "ConsumableCapacity",
        "DeviceBindingAndStatus",
        "DeviceTaints",
        "PartitionableDevices",
        "PrioritizedList",
    ),
    True,
)


def device_class(name: str, driver: str) -> Json:
    """Make a class of all devices of a driver."""
    selectors = [{"cel": {"expression": f'device.driver == "{driver}"'}}]
    return {"metadata": {"name": name}, "spec": {"selectors": selectors}}


CLASSES = [device_class("gpu", GPU), device_class("nic", NIC)]


def node(number: int) -> Json:
    """Make a node."""
    name = f"node-{number:05d}"
    labels = {"kubernetes.io/hostname": name, "zone": f"z{number % 10}"}
    return {"metadata": {"name": name, "labels": labels}}


def slice_(name: str, pool: str, devices: list[Json], count: int = 1, **where: Any) -> Json:
    """Make a slice of GPUs."""
    head = {"name": pool, "generation": 1, "resourceSliceCount": count}
    spec = {"driver": GPU, "pool": head, **where, "devices": devices}
    return {"metadata": {"name": name}, "spec": spec}


def gpu(number: int, model: str, memory: str, **more: Json) -> Json:
    """Make a GPU."""
    return {
        "name": f"gpu-{number}",
        "attributes": {
            "model": {"string": model},
            "index": {"int": number},
            "numa": {"int": number // 4},
            "resource.kubernetes.io/pcieRoot": {"string": f"pci{number // 2}"},
            "driverVersion": {"version": "550.54.15"},
            "ecc": {"bool": True},
            **more,
        },
        "capacity": {"memory": {"value": memory}},
    }


def fleet(nodes: int, *, distinct: bool = False) -> Iterator[Json]:
    """Make a slice of 8 GPUs for each node; with `distinct`, every GPU has its own number."""
    for number in range(nodes):
        name = f"node-{number:05d}"
        model, memory = ("h100", "80Gi") if number % 4 == 3 else ("a100", "40Gi")
        devices = [
            gpu(
                index,
                model,
                memory,
                **({"uuid": {"string": f"GPU-{number}-{index}"}} if distinct else {}),
            )
            for index in range(8)
        ]
        yield slice_(f"{name}-gpu", name, devices, nodeName=name)


KINDS = ((1, 8), (2, 4), (4, 2), (8, 1), (3, 1))
"""Sizes of partitions, and how many of each a card offers: 16 in all."""


def fabric(pools: int = 200) -> Iterator[Json]:
    """Yield pools of eight devices that every node with a label sees."""
    requirement = {"key": "kubernetes.io/hostname", "operator": "Exists"}
    where: Json = {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}
    for number in range(pools):
        name = f"fabric-{number:03d}"
        devices = [
            {"name": f"nic-{index}", "attributes": {"vlan": {"int": number}}} for index in range(8)
        ]
        found = slice_(name, name, devices, **where)
        found["spec"]["driver"] = NIC
        yield found


def wide(nodes: int) -> Iterator[Json]:
    """Yield slices of nodes with 1,000 devices each."""
    for number in range(nodes):
        name = node(number)["metadata"]["name"]
        for part in range(8):
            devices = [
                {**gpu(part * 125 + index, "a100", "40Gi"), "name": f"gpu-{part * 125 + index}"}
                for index in range(125)
            ]
            yield slice_(f"{name}-{part}", name, devices, 8, nodeName=name)


def wide_claim() -> Json:
    """Make a claim of four requests, of which no device serves the last one."""
    wanted = (996, 997, 998, 1000)
    selectors = (f'device.attributes["{GPU}"].index == {index}' for index in wanted)
    return claim("c0", *(exact(f"r{n}", 1, text) for n, text in enumerate(selectors)))


def partitions(cards: int = 8) -> list[Json]:
    """Make one pool of cards with 8 slices each, that split into 16 partitions each."""
    devices = [
        {
            "name": f"card-{card}-{size}g-{number}",
            "attributes": {"parts": {"int": size}},
            "consumesCounters": [
                {"counterSet": f"card-{card}", "counters": {"slices": {"value": str(size)}}}
            ],
        }
        for card in range(cards)
        for size, count in KINDS
        for number in range(count)
    ]
    name = node(0)["metadata"]["name"]
    halves = [devices[first : first + 64] for first in range(0, len(devices), 64)]
    made = [
        slice_(f"part-{number}", name, half, len(halves) + 1, nodeName=name)
        for number, half in enumerate(halves)
    ]
    counters = slice_("counters", name, [], len(halves) + 1, nodeName=name)
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [
        {"name": f"card-{card}", "counters": {"slices": {"value": "8"}}} for card in range(cards)
    ]
    return [*made, counters]


def equal(count: int) -> list[Json]:
    """Make one slice of devices that do not differ."""
    name = node(0)["metadata"]["name"]
    devices: list[Json] = [{"name": f"gpu-{number}"} for number in range(count)]
    return [slice_("equal", name, devices, nodeName=name)]


def body(count: int, *selectors: str) -> Json:
    """Make what a request asks for."""
    found: Json = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    if selectors:
        found["selectors"] = [{"cel": {"expression": text}} for text in selectors]
    return found


def exact(name: str, count: int, *selectors: str) -> Json:
    """Make a request."""
    return {"name": name, "exactly": body(count, *selectors)}


def first(name: str, *bodies: Json) -> Json:
    """Make a request with alternatives."""
    alternatives = [{"name": f"s{number}", **one} for number, one in enumerate(bodies)]
    return {"name": name, "firstAvailable": alternatives}


def claim(name: str, *requests: Json, **constraint: str) -> Json:
    """Make a claim."""
    devices: Json = {"requests": list(requests)}
    if constraint:
        devices["constraints"] = [constraint]
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"devices": devices}}


def pod(number: int) -> list[Json]:
    """Make the claims of one of five kinds of pods: one, big, pair, two, tight."""
    large = f'device.capacity["{GPU}"].memory.compareTo(quantity("80Gi")) >= 0'
    numa = f"{GPU}/numa"
    kinds = [
        [claim("c0", exact("r", 1))],
        [claim("c0", exact("r", 1, large))],
        [claim("c0", exact("r", 2), matchAttribute="resource.kubernetes.io/pcieRoot")],
        [
            claim("c0", exact("r", 2), matchAttribute=numa),
            claim("c1", first("r", body(4, f'{ATTRIBUTES}.model == "h100"'), body(1))),
        ],
        [
            claim("c0", exact("r", 3), matchAttribute=numa),
            claim("c1", exact("r", 1, f"{ATTRIBUTES}.index == 0")),
        ],
    ]
    return kinds[number % 5]


def parts_pod(number: int) -> list[Json]:
    """Make the claim of a pod that wants partitions."""
    size, count = ((3, 1), (2, 2), (1, 3), (4, 1), (1, 1))[number % 5]
    return [claim("c0", exact("r", count, f"{ATTRIBUTES}.parts == {size}"))]


def held(number: int, devices: list[tuple[str, str, str]]) -> Json:
    """Make a claim that holds devices."""
    results = [
        {"request": "r", "driver": driver, "pool": pool, "device": device}
        for driver, pool, device in devices
    ]
    return {
        "metadata": {"name": f"held-{number}", "namespace": "default"},
        "spec": {},
        "status": {"allocation": {"devices": {"results": results}}},
    }

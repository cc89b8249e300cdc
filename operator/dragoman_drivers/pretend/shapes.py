"""Shapes of nodes as vendors publish them: `gpu.nvidia.com:8xH100` is eight GPUs. Pure."""

import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman_base.words.spelling import closest
from dragoman_toolkit.shapes import known as recorded
from dragoman_toolkit.shapes.nodes import devices as recorded_devices
from dragoman_toolkit.shapes.shape import ShapeError as RecordError

Device = Mapping[str, Any]
MARK = "dragoman.dev/pretend"
"""The attribute that every pretended device has."""
MAX_DEVICES = 10_000
_SHAPE = re.compile(r"(?P<driver>[a-z0-9.-]+):(?P<count>\d+)x(?P<model>[\w.-]+)")
_NAMESPACE = uuid.UUID("8d1c1c6e-6a5b-4a37-9a52-0a9b0d6a7a10")


class ShapeError(ValueError):
    """A shape that cannot be read; the message names what is expected."""


@dataclass(frozen=True, slots=True)
class NodeShape:
    """One pool of a node."""

    driver: str  # Whose devices these are in reality
    devices: tuple[Device, ...]  # Entries as ResourceSlices have them, in order
    counters: tuple[Mapping[str, Any], ...] = ()  # Entries of `sharedCounters`
    name: str = ""  # Follows that of the node in the name of the pool; empty for the first pool


@dataclass(frozen=True, slots=True)
class _Model:
    """What one product looks like."""

    prefix: str  # Of the devices' names
    attributes: Mapping[str, Any]  # Values by name
    capacity: Mapping[str, str]  # Quantities by name
    partitions: int = 0  # In how many parts the device can be divided; 0 for none


def _nvidia(
    product: str, memory: str, architecture: str, capability: str, partitions: int = 0
) -> _Model:
    attributes = {
        "productName": f"NVIDIA {product}",
        "architecture": architecture,
        "brand": "Nvidia",
        "type": "gpu",
        "addressingMode": "HMM",
        "driverVersion": {"version": "580.105.8"},
        "cudaDriverVersion": {"version": "13.0.0"},
        "cudaComputeCapability": {"version": capability},
    }
    return _Model("gpu", attributes, {"memory": memory}, partitions)


_MODELS: Mapping[str, Mapping[str, _Model]] = {
    "gpu.nvidia.com": {
        # Values as recorded of p5.48xlarge, p4d.24xlarge, BM.GPU.GB200-v3.4 and ND128isr_GB300_v6.
        "H100": _nvidia("H100 80GB HBM3", "81559Mi", "Hopper", "9.0.0"),
        "H100-MIG": _nvidia("H100 80GB HBM3", "81559Mi", "Hopper", "9.0.0", partitions=7),
        "A100": _nvidia("A100-SXM4-40GB", "40Gi", "Ampere", "8.0.0"),
        "GB200": _nvidia("GB200", "189471Mi", "Blackwell", "10.0.0"),
        "GB300": _nvidia("GB300", "284208Mi", "Blackwell", "10.3.0"),
    },
    "gpu.amd.com": {
        "MI300X": _Model(
            "gpu",
            {
                "type": "amdgpu",
                "productName": "AMD_Instinct_MI300X_OAM",
                "family": "AI",
                "driverVersion": {"version": "6.12.12"},
                "partitionProfile": "spx_nps1",
            },
            {"memory": "196592Mi", "computeUnits": "304", "simdUnits": "1216"},
        ),
    },
    "gpu.intel.com": {
        "Max1550": _Model(
            "gpu",
            {"model": "Max 1550", "family": "Max", "driver": "i915", "sriov": True},
            {"memory": "131072Mi", "millicores": "1000"},
        ),
    },
    "gaudi.intel.com": {
        "Gaudi2": _Model("accel", {"model": "Gaudi2", "healthy": True, "serial": "pretend"}, {}),
    },
    "dra.net": {
        "mlx5": _Model(
            "nic", {"type": "device", "rdma": True, "mtu": 9000, "state": "up"}, {"vfs": "8"}
        ),
    },
    "npu.rebellions.ai": {
        "ATOM": _Model("npu", {"productName": "RBLN-CA22", "type": "npu"}, {"memory": "64Gi"}),
    },
    "gpu.example.com": {
        "LATEST": _Model(
            "gpu",
            {"model": "LATEST-GPU-MODEL", "driverVersion": {"version": "1.0.0"}},
            {"memory": "80Gi"},
        ),
    },
}
"""Known models by driver; attributes are those of the drivers' own slices, of one value each."""


def known() -> list[str]:
    """Return every known shape: recorded machines, and `DRIVER:1xMODEL`."""
    models = [f"{driver}:1x{model}" for driver, models in _MODELS.items() for model in models]
    return [*(one.name for one in recorded.every()), *models]


def parse(text: str, driver: str = "") -> Callable[[str], list[NodeShape]]:
    """Return what makes the pools of a node, given its name.

    Args:
        text: The name of a recorded machine, or `DRIVER:COUNTxMODEL`.
        driver: Which driver's devices of a recorded machine.

    Raises:
        ShapeError: Another form, an unknown driver or model, or too many devices.
    """
    if ":" not in text:
        return _of_machine(text, driver)
    found = _SHAPE.fullmatch(text)
    if not found:
        raise ShapeError(f"{text!r}: expected DRIVER:COUNTxMODEL, such as gpu.nvidia.com:8xH100")
    driver, count = found["driver"], int(found["count"])
    if found["model"] in _NOT_RECORDED.get(driver, ()):
        raise ShapeError(
            f"{found['model']} of {driver} is not recorded: `kubectl dra shapes record NODE` makes "
            "a shape of a node that has it"
        )
    models = _MODELS.get(driver)
    if models is None:
        raise ShapeError(_unknown("driver", driver, _MODELS))
    if found["model"] not in models:
        raise ShapeError(_unknown(f"model of {driver}", found["model"], models))
    if count > MAX_DEVICES:
        raise ShapeError(f"{text!r}: a node has at most {MAX_DEVICES} devices")
    model = models[found["model"]]
    return lambda node: [_shape(driver, model, count, node)]


_NOT_RECORDED: Mapping[str, tuple[str, ...]] = {
    "gpu.nvidia.com": ("L4", "B200"),
    "gaudi.intel.com": ("Gaudi3",),
    "tpu.google.com": ("v5e",),
}
"""Models of which no values are published."""


def _of_machine(name: str, driver: str) -> Callable[[str], list[NodeShape]]:
    try:
        shape = recorded.named(name)
    except RecordError as error:
        raise ShapeError(str(error)) from None
    drivers = [one.driver for one in shape.pools]
    chosen = driver or drivers[0]
    if chosen not in drivers:
        raise ShapeError(_unknown(f"driver of {shape.name}", chosen, dict.fromkeys(drivers)))
    pools = [one for one in shape.pools if one.driver == chosen]
    return lambda node: [
        NodeShape(chosen, marked(recorded_devices(one, node)), one.counters, one.name)
        for one in pools
    ]


def _unknown(what: str, name: str, names: Mapping[str, Any]) -> str:
    near = closest(name, names)
    hint = f"; did you mean {near}?" if near else ""
    return f"unknown {what} {name!r}; known: {', '.join(names)}{hint}"


def _shape(driver: str, model: _Model, count: int, node: str) -> NodeShape:
    devices: list[Device] = []
    counters: list[Mapping[str, Any]] = []
    for index in range(count):
        if not model.partitions:
            devices.append(_device(model, f"{model.prefix}-{index}", index, node))
            continue
        name = f"{model.prefix}-{index}"
        slices = str(model.partitions)
        counters.append({"name": f"{name}-counters", "counters": {"slices": {"value": slices}}})
        devices.append(_consuming(_device(model, name, index, node), name, slices))
        for part in range(model.partitions):
            small = {**_device(model, f"{name}-mig-{part}", index, node)}
            small["attributes"] = {**small["attributes"], "type": {"string": "mig"}}
            devices.append(_consuming(small, name, "1"))
    return NodeShape(driver, tuple(devices), tuple(counters))


def _device(model: _Model, name: str, index: int, node: str) -> dict[str, Any]:
    identity = str(uuid.uuid5(_NAMESPACE, f"{node}/{name}"))
    attributes = {key: attribute(value) for key, value in model.attributes.items()}
    attributes |= {
        "uuid": {"string": f"GPU-{identity}"},
        "index": {"int": index},
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{index // 2 % 256:02x}"},
        MARK: {"bool": True},
    }
    capacity = {key: {"value": value} for key, value in model.capacity.items()}
    return {"name": name, "attributes": attributes, "capacity": capacity}


def _consuming(device: Device, physical: str, slices: str) -> Device:
    consumed = {"counterSet": f"{physical}-counters", "counters": {"slices": {"value": slices}}}
    return {**device, "consumesCounters": [consumed]}


def attribute(value: Any) -> dict[str, Any]:
    """Return an attribute's entry for a plain value; `{"version": …}` stays as it is."""
    if isinstance(value, Mapping):
        return dict(value)
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
    return {kind: value}


def marked(devices: Sequence[Device]) -> tuple[Device, ...]:
    """Return devices with the attribute that says that they are pretended."""
    return tuple(
        {**one, "attributes": {**(one.get("attributes") or {}), MARK: {"bool": True}}}
        for one in devices
    )

"""Contents by the dozen: what people vary in manifests, and the mistakes that they make in them.

What is right and wrong of them is for servers and `truth.py` to say; a rule is named only where
neither can.
"""

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.conformance.corpus.contents import (
    NIC,
    NVIDIA,
    PLAIN,
    Content,
    claim,
    pod,
    selecting,
    sliced,
    template,
)
from tests.conformance.corpus.layouts import Tree

AMD = 'device.attributes["gpu.amd.com"]'
CLASSES = ("gpu.nvidia.com", "mig.nvidia.com", "gpu.amd.com", "dranet", "gpu.example.com")
MIG = (
    "1g.5gb",
    "1g.10gb",
    "1g.10gb+me",
    "2g.20gb",
    "3g.40gb",
    "4g.40gb",
    "7g.80gb",
    "1g.12gb",
    "1g.18gb",
    "3g.71gb",
    "1g.23gb",
    "2g.45gb",
    "7g.180gb",
    "1g.6gb",
    "2g.12gb",
)
PRODUCTS = ("A100", "H100", "L4", "L40S", "V100", "H200", "B200", "T4", "A30", "GB200", "A10G")


def families() -> Iterator[Content]:
    """Yield all contents of this module; layouts name objects after them."""
    for one in _families():
        name = re.sub(r"[^a-z0-9]+", "-", one.name.lower()).strip("-")
        yield replace(one, name=name)


def _families() -> Iterator[Content]:
    yield from _selectors()
    yield from _claims()
    yield from _workloads()
    yield from _slices()
    yield from _classes()
    yield from _misspelt()
    yield from _values()
    yield from _expressions()
    yield from _reads()
    yield from _pods()
    yield from _gated()


def _selectors() -> Iterator[Content]:
    for one in PRODUCTS:
        yield Content(f"has-{one}", [selecting(f'{NVIDIA}.productName.contains("{one}")'), pod()])
    for one in ("7.0.0", "7.5.0", "8.0.0", "8.6.0", "8.9.0", "9.0.0", "10.0.0", "12.0.0"):
        compared = f'cudaComputeCapability.compareTo(semver("{one}")) >= 0'
        yield Content(f"compute-{one}", [selecting(f"{NVIDIA}.{compared}")])
        below = f'{NVIDIA}.driverVersion.isGreaterThan(semver("{one}"))'
        yield Content(f"driver-{one}", [template_of(below)])
    for one in ("8Gi", "16Gi", "24Gi", "40Gi", "80Gi", "141G", "1000M", "20480Mi"):
        memory = 'device.capacity["gpu.nvidia.com"].memory'
        yield Content(
            f"memory-{one}", [selecting(f'{memory}.compareTo(quantity("{one}")) >= 0'), pod()]
        )
        vram = f'device.capacity["gpu.amd.com"].memory.isGreaterThan(quantity("{one}"))'
        yield Content(f"vram-{one}", [selecting(vram, "gpu.amd.com")])
    for one in MIG:
        yield Content(f"mig-{one}", [selecting(f'{NVIDIA}.profile == "{one}"', "mig.nvidia.com")])
    for name, value in (
        ("ifName", '"eth1"'),
        ("mtu", "1500"),
        ("numaNode", "0"),
        ("sriov", "true"),
        ("ipv4", '"192.0.2.1"'),
        ("virtual", "false"),
        ("state", '"up"'),
    ):
        read = f'device.attributes["dra.net"].{name}'
        guarded = f'device.driver == "dra.net" && has({read}) && {read} == {value}'
        yield Content(f"guarded-{name}", [selecting(guarded, "dranet")])
        optional = f'device.attributes["dra.net"].?{name}.orValue(dyn(-1)) == {value}'
        yield Content(f"optional-{name}", [selecting(optional, "dranet")])
        yield Content(f"plain-{name}", [selecting(f"{NIC}.{name} == {value}", "dranet")])
    for one in ("Ampere", "Hopper", "Ada Lovelace"):
        yield Content(f"architecture-{one}", [selecting(f'{NVIDIA}.architecture == "{one}"')])
        either = f'{NVIDIA}.architecture in ["{one}", "Blackwell"]'
        yield Content(f"either-{one}", [selecting(either), pod()])
    for one in ("MI300X", "MI210", "MI325X"):
        yield Content(
            f"amd-{one}", [selecting(f'{AMD}.productName.matches(".*{one}.*")', "gpu.amd.com")]
        )
    yield Content("driver", [selecting('device.driver == "gpu.nvidia.com"')])
    yield Content("in-class", [selecting('"gpu.example.com" in device.attributes', "any-gpu")])


def template_of(expression: str, name: str = "gpu.nvidia.com") -> Tree:
    """Make a template with one selector."""
    return template({"deviceClassName": name, "selectors": [{"cel": {"expression": expression}}]})


def _claims() -> Iterator[Content]:
    for name in CLASSES:
        body = {"deviceClassName": name}
        yield Content(f"one-{name}", [claim(body), pod()])
        yield Content(f"all-{name}", [claim({**body, "allocationMode": "All"})])
        yield Content(f"template-{name}", [template(body)])
        for count in (2, 8):
            yield Content(f"{count}-{name}", [claim({**body, "count": count})])
        for version in ("v1beta1", "v1beta2"):
            yield Content(f"{version}-{name}", [claim(body, version), pod()])
    for attribute in ("resource.kubernetes.io/pcieRoot", "gpu.nvidia.com/productName"):
        pair = [{"requests": ["gpu"], "matchAttribute": attribute}]
        short = attribute.partition("/")[2]
        yield Content(f"same-{short}", [claim({**PLAIN, "count": 2}, constraints=pair)])
        yield Content(
            f"same-all-{short}", [claim(PLAIN, constraints=[{"matchAttribute": attribute}])]
        )
    for effect in ("NoSchedule", "NoExecute"):
        tolerations: list[Tree] = [
            {"key": "example.com/fault", "operator": "Exists", "effect": effect}
        ]
        known = frozenset({"dra/toleration"})  # observed on the stock eviction controller
        tolerating: Tree = {**PLAIN, "tolerations": tolerations}
        yield Content(f"tolerates-{effect}", [claim(tolerating)], known)
    for number in (2, 3, 8, 9):
        some = [{"name": f"try-{one}", **PLAIN} for one in range(number)]
        either = claim(PLAIN)
        either["spec"]["devices"]["requests"] = [{"name": "gpu", "firstAvailable": some}]
        yield Content(f"first-of-{number}", [either])
    for number in (2, 5, 32, 33):
        several = claim(PLAIN)
        several["spec"]["devices"]["requests"] = [
            {"name": f"gpu-{one}", "exactly": PLAIN} for one in range(number)
        ]
        yield Content(f"requests-{number}", [several])
    sharing = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}
    config = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "GpuConfig", "sharing": sharing}
    known = frozenset({"dra/driver-config"})  # whether the driver's gate is on is not in the file
    opaque: list[Tree] = [{"opaque": {"driver": "gpu.nvidia.com", "parameters": config}}]
    yield Content("time-slicing", [claim(PLAIN, config=opaque)], known)
    for name in ("dra.net", "vendor.example.com"):
        any_: list[Tree] = [
            {"opaque": {"driver": name, "parameters": {"interface": {"name": "e0"}}}}
        ]
        body = {"deviceClassName": "dranet" if name == "dra.net" else "vendor"}
        yield Content(f"config-{name}", [claim(body, config=any_)])


def _workloads() -> Iterator[Content]:
    spec = pod()["spec"]
    own = {**spec, "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "subject"}]}
    for replicas in (1, 2, 300):
        for body, name in ((own, "own"), (spec, "shared")):
            made = workload("Deployment", "apps/v1", body, replicas=replicas)
            objects = template(PLAIN) if name == "own" else claim(PLAIN)
            yield Content(f"deployment-{name}-{replicas}", [objects, made])
            stateful = workload("StatefulSet", "apps/v1", body, replicas=replicas, serviceName="a")
            yield Content(f"stateful-{name}-{replicas}", [objects, stateful])
            once = {**body, "restartPolicy": "Never"}
            job = workload("Job", "batch/v1", once, parallelism=replicas)
            yield Content(f"job-{name}-{replicas}", [objects, job])
    yield Content("daemon-own", [template(PLAIN), workload("DaemonSet", "apps/v1", own)])
    yield Content("daemon-shared", [claim(PLAIN), workload("DaemonSet", "apps/v1", spec)])


def workload(kind: str, version: str, spec: Tree, **fields: Any) -> Tree:
    """Make what makes pods."""
    labels = {"app": "user"}
    made: Tree = {**fields, "template": {"metadata": {"labels": labels}, "spec": spec}}
    if version == "apps/v1":
        made["selector"] = {"matchLabels": labels}
    meta = {"name": "user", "namespace": "default"}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": made}


def _slices() -> Iterator[Content]:
    for name, value in (
        ("string", "A"),
        ("int", 4),
        ("bool", True),
        ("version", "1.2.3"),
        ("version", "1.2"),
        ("string", "A" * 65),
        ("version", "v1.2.3"),
    ):
        attributes = {"attributes": {"model": {name: value}}}
        yield Content(f"attribute-{name}-{str(value)[:5]}", [sliced(**attributes)])
    for value in ("10Gi", "10", "1e3", "500m", "10GB", "10 Gi", "", "ten"):
        yield Content(
            f"capacity-{value or 'none'}", [sliced(capacity={"memory": {"value": value}})]
        )
    for name in ("gpu-0", "GPU-1", "gpu_2", "gpu.3", "a" * 64):
        yield Content(
            f"device-{name[:8]}", [changed(sliced(), ("spec", "devices", 0, "name"), name)]
        )
    nodes = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}
    for name, given in (
        ("selector", {"nodeSelector": nodes}),
        ("all", {"allNodes": True}),
        ("none", {}),
        ("two", {"allNodes": True, "nodeName": "a"}),
    ):
        one = sliced(attributes={})
        del one["spec"]["nodeName"]
        one["spec"] |= given
        yield Content(f"nodes-{name}", [one])
    for count, generation in ((0, 1), (2, 0), (1, -1)):
        one = sliced()
        one["spec"]["pool"] |= {"resourceSliceCount": count, "generation": generation}
        yield Content(f"pool-{count}-{generation}", [one])


def _classes() -> Iterator[Content]:
    for index, expression in enumerate(
        (
            'device.driver == "gpu.nvidia.com"',
            f'device.driver == "gpu.nvidia.com" && {NVIDIA}.type == "gpu"',
            'device.driver == "dra.net"',
            'device.driver.endsWith("nvidia.com")',
            'device.driver = "gpu.nvidia.com"',
            'driver == "gpu.nvidia.com"',
            'device.driver == "gpu.nvidia.com" && ',
        )
    ):
        yield Content(
            f"class-{index}", [device_class({"selectors": [{"cel": {"expression": expression}}]})]
        )
    for name in ("example.com/gpu", "gpu", "kubernetes.io/gpu", "example.com/a b"):
        yield Content(
            f"serves-{name.replace('/', '-')}", [device_class({"extendedResourceName": name})]
        )


def device_class(spec: Tree) -> Tree:
    """Make a DeviceClass."""
    meta = {"name": "made.example.com"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": meta,
        "spec": spec,
    }


def changed(tree: Tree, steps: tuple[str | int, ...], value: Any) -> Tree:
    """Return a tree with another value."""
    made = copy.deepcopy(tree)
    holder: Any = made
    for step in steps[:-1]:
        holder = holder[step]
    holder[steps[-1]] = value
    return made


def renamed(tree: Tree, steps: tuple[str | int, ...], name: str) -> Tree:
    """Return a tree one of whose fields has another name."""
    made = copy.deepcopy(tree)
    holder: Any = made
    for step in steps[:-1]:
        holder = holder[step]
    holder[name] = holder.pop(steps[-1])
    return made


REQUEST = ("spec", "devices", "requests", 0)


def _misspelt() -> Iterator[Content]:
    full = claim(
        {
            **PLAIN,
            "count": 1,
            "allocationMode": "ExactCount",
            "selectors": [{"cel": {"expression": "true"}}],
        },
        constraints=[{"requests": ["gpu"], "matchAttribute": "resource.kubernetes.io/pcieRoot"}],
    )
    exactly = (*REQUEST, "exactly")
    wrong: dict[tuple[str | int, ...], tuple[str, ...]] = {
        (*exactly, "deviceClassName"): ("deviceClass", "className", "deviceclassname", "class"),
        (*exactly, "count"): ("counts", "Count", "amount", "number"),
        (*exactly, "allocationMode"): ("allocation", "mode", "allocationmode"),
        (*exactly, "selectors"): ("selector", "Selectors", "filters"),
        exactly: ("exact", "Exactly", "exactlyOne"),
        (*REQUEST, "name"): ("Name", "id"),
        ("spec", "devices", "constraints"): ("constraint", "Constraints"),
        ("spec", "devices", "requests"): ("request", "resources"),
        ("spec", "devices", "constraints", 0, "matchAttribute"): ("attribute", "matchattribute"),
        ("spec", "devices"): ("device", "resources"),
    }
    for steps, names in wrong.items():
        for name in names:
            yield Content(f"field-{steps[-1]}-{name}", [renamed(full, steps, name)])


def _values() -> Iterator[Content]:
    exactly = (*REQUEST, "exactly")
    given: dict[str, tuple[tuple[str | int, ...], tuple[Any, ...]]] = {
        "mode": ((*exactly, "allocationMode"), ("exactcount", "Any", "ALL", "ExactCounts")),
        "count": ((*exactly, "count"), (-1, "2", 1.5, 2**40)),
        "class": ((*exactly, "deviceClassName"), ("GPU", "gpu_nvidia", "", "nvidia.com/gpu")),
        "request": ((*REQUEST, "name"), ("GPU", "gpu_0", "", "a" * 64, "gpu/one")),
        "name": (("metadata", "name"), ("Subject", "a_b", "-a", "a" * 254)),
        "version": (
            ("apiVersion",),
            ("resource.k8s.io", "resource.k8s.io/v2", "resources.k8s.io/v1"),
        ),
        "kind": (("kind",), ("ResourceClaims", "Resourceclaim")),
        "finalizers": (
            ("metadata", "finalizers"),
            (["x"], ["example.com/a"], ["orphan"], ["a b/c"]),
        ),
    }
    for name, (steps, values) in given.items():
        for number, value in enumerate(values):
            # An allocation has at most 32 results, pkg/apis/resource/types.go.
            known = frozenset({"dra/too-many-devices"} if value == 2**40 else ())
            yield Content(f"value-{name}-{number}", [changed(claim(PLAIN), steps, value)], known)
    for number, requests in enumerate((["gpus"], ["GPU"], ["gpu", "gpu"], ["other"], ["gpu/a"])):
        pair = [{"requests": requests, "matchAttribute": "resource.kubernetes.io/pcieRoot"}]
        yield Content(f"reference-{number}", [claim(PLAIN, constraints=pair)])
    for number, name in enumerate(
        ("pcieRoot", "a/b/c", "UPPER.example/x", "a.example/" + "b" * 33)
    ):
        yield Content(f"match-{number}", [claim(PLAIN, constraints=[{"matchAttribute": name}])])
        distinct = [{"distinctAttribute": name}]
        yield Content(f"distinct-{number}", [claim({**PLAIN, "count": 2}, constraints=distinct)])


def _expressions() -> Iterator[Content]:
    memory = 'device.capacity["gpu.nvidia.com"].memory'
    for number, expression in enumerate(
        (
            f"{memory} > quantity('40Gi')",
            f'{memory} == "40Gi"',
            f"{memory}.compareTo('40Gi') > 0",
            f'{memory}.compareTo(quantity("40Gi"))',
            f"{memory}.value > 40",
            f"{NVIDIA}.productName == A100",
            f"{NVIDIA}.productName = 'A100'",
            f'{NVIDIA}.productName.startswith("A")',
            f'{NVIDIA}.cudaComputeCapability >= semver("8.0.0")',
            f'{NVIDIA}.type == "gpu" and {NVIDIA}.brand == "Nvidia"',
            f'{NVIDIA}.type == "gpu" or true',
            f'!{NVIDIA}.type == "gpu"',
            f'not {NVIDIA}.type == "gpu"',
            'device.attributes.gpu.nvidia.com.type == "gpu"',
            'device.attribute["gpu.nvidia.com"].type == "gpu"',
            'devices.driver == "gpu.nvidia.com"',
            'device.drivers == "gpu.nvidia.com"',
            'device["driver"] == "gpu.nvidia.com"',
            'device.driver in "gpu.nvidia.com"',
            'device.driver == "gpu.nvidia.com',
            '(device.driver == "gpu.nvidia.com"',
            "",
            "true true",
            "1",
            '"gpu"',
            "size(device.driver)",
            'device.driver.lowerAscii() == "gpu.nvidia.com"',
            'device.driver.contains("nvidia")',
            f'{NVIDIA}.uuid in ["GPU-1", "GPU-2"]',
            f"{NVIDIA}.index < 2",
            f'{NVIDIA}.nosuch == "x"',
            f'{NVIDIA}.ProductName == "A"',
            f'{NVIDIA}.product_name == "A"',
            f'{NVIDIA}.memory.compareTo(quantity("1Gi")) > 0',
            'device.capacity["gpu.nvidia.com"].productName == "A"',
            'device.capacity["gpu.nvidia.com"].Memory.compareTo(quantity("1Gi")) > 0',
            'device.attributes["nvidia.com"].productName == "A"',
            'device.attributes["gpu.nvida.com"].productName == "A"',
            'device.driver == "gpu.nvida.com"',
            'device.driver == "gpu_nvidia_com"',
            'device.driver == "GPU.nvidia.com"',
            'device.driver == "gpu.nvidia.com" && device.driver == "gpu.amd.com"',
            f'{NVIDIA}.cudaComputeCapability.compareTo(semver("8")) >= 0',
            f'{NVIDIA}.cudaComputeCapability.compareTo(semver("v8.0.0")) >= 0',
            f'{memory}.compareTo(quantity("40 Gi")) >= 0',
            f'{memory}.compareTo(quantity("40gb")) >= 0',
            f'{memory}.isGreaterThan(quantity("1Gi")) && {memory}.isLessThan(quantity("1Mi"))',
            f'{NVIDIA}.type == "GPU"',
            f'{NVIDIA}.type == "mig"',
            f"{NVIDIA}.type == 1",
            f"{NVIDIA}.productName == true",
            f'{NVIDIA}.driverVersion == "570.86.15"',
            'device.attributes["resource.kubernetes.io"].pcieRoot == "pci0000:16"',
            'device.attributes["resource.kubernetes.io"].pcieroot == "pci0000:16"',
            'device.attributes["k8s.io"].pcieRoot == "pci0000:16"',
        )
    ):
        yield Content(f"expression-{number}", [selecting(expression)])


def _reads() -> Iterator[Content]:
    for name, value in (
        ("encapsulation", '"ether"'),
        ("alias", '"a"'),
        ("isSriovVf", "true"),
        ("sriovVfs", "2"),
        ("pciAddress", '"0000:17:00.0"'),
        ("ebpf", "false"),
        ("cloudNetwork", '"n"'),
        ("type", '"device"'),
        ("mac", '"02:00"'),
    ):
        yield Content(f"unguarded-{name}", [selecting(f"{NIC}.{name} == {value}", "dranet")])
        yield Content(f"unequal-{name}", [selecting(f"{NIC}.{name} != {value}", "dranet")])
    for name, value in (
        ("isVF", "true"),
        ("family", '"AI"'),
        ("numaNode", "0"),
        ("deviceID", '"1"'),
    ):
        yield Content(f"amd-{name}", [selecting(f"{AMD}.{name} == {value}", "gpu.amd.com")])
    for name in ("ifname", "Mtu", "numanode", "rdmadevice", "IPv4"):
        yield Content(f"case-{name}", [selecting(f"{NIC}.{name} == {NIC}.{name}", "dranet")])


def _pods() -> Iterator[Content]:
    changes: dict[str, Callable[[Tree], Any]] = {
        "init": lambda spec: spec.update(
            initContainers=spec["containers"], containers=[{"name": "side", "image": "side:1"}]
        ),
        "unused": lambda spec: spec["containers"][0].pop("resources"),
        "two-containers": lambda spec: spec["containers"].append(
            {**spec["containers"][0], "name": "side"}
        ),
        "twice": lambda spec: spec["resourceClaims"].append(spec["resourceClaims"][0]),
        "both": lambda spec: spec["resourceClaims"][0].update(resourceClaimTemplateName="a"),
        "neither": lambda spec: spec["resourceClaims"][0].pop("resourceClaimName"),
        "node": lambda spec: spec.update(nodeName="node-1"),
        "selector": lambda spec: spec.update(nodeSelector={"a": "b"}),
        "request": lambda spec: spec["containers"][0]["resources"]["claims"][0].update(
            request="gpu"
        ),
        "no-request": lambda spec: spec["containers"][0]["resources"]["claims"][0].update(
            request="b"
        ),
        "source": lambda spec: spec["resourceClaims"][0].update(source={"resourceClaimName": "a"}),
        "in-limits": lambda spec: spec["containers"][0].update(
            resources={"limits": {"claims": [{"name": "gpu"}]}}
        ),
        "string": lambda spec: spec["containers"][0]["resources"].update(claims=["gpu"]),
        "name": lambda spec: spec["resourceClaims"][0].update(resourceClaimName="subjects"),
        "host": lambda spec: spec.update(hostNetwork=True),
    }
    for name, change in changes.items():
        made = pod()
        change(made["spec"])
        yield Content(f"pod-{name}", [claim(PLAIN), made])
    for name in (
        "nvidia.com/gpu",
        "nvidia.com/mig-1g.10gb",
        "nvidia.com/mig-1g.7gb",
        "amd.com/gpu",
        "deviceclass.resource.kubernetes.io/gpu.nvidia.com",
        "nvidia-gpu",
        "gpu.amd.com",
    ):
        for amount in ("1", "1.5", "-2"):
            known = frozenset({"dra/extended-resource"}) if "1g.7" in name else frozenset[str]()
            one = pod({"limits": {name: amount}})
            yield Content(f"limit-{name.replace('/', '-')}-{amount}", [one], known)


def _gated() -> Iterator[Content]:
    amounts = {"capacity": {"requests": {"memory": "1Gi"}}}
    yield Content("gated-capacity", [claim({**PLAIN, **amounts})])
    distinct = [{"requests": ["gpu"], "distinctAttribute": "gpu.nvidia.com/uuid"}]
    yield Content("gated-distinct", [claim({**PLAIN, "count": 2}, constraints=distinct)])
    admin = {**PLAIN, "allocationMode": "All", "adminAccess": True}
    tolerating = {"tolerations": [{"operator": "Exists"}]}
    # Observed on the stock eviction controller, as above.
    known = frozenset({"dra/toleration"})
    yield Content("gated-admin", [claim({**admin, **tolerating})], known)
    yield Content("gated-class", [device_class({"extendedResourceName": "example.com/nic"})])
    counters = [{"name": "set", "counters": {"slices": {"value": "4"}}}]
    consumed = [{"counterSet": "set", "counters": {"slices": {"value": "1"}}}]
    devices: dict[str, Tree] = {
        "taints": {"taints": [{"key": "example.com/a", "effect": "NoSchedule"}]},
        "counters": {"consumesCounters": consumed},
        "binds": {"bindsToNode": True},
        "conditions": {"bindingConditions": ["a"], "bindingFailureConditions": ["b"]},
        "shares": {"allowMultipleAllocations": True},
        "policy": {
            "allowMultipleAllocations": True,
            "capacity": {
                "memory": {
                    "value": "8Gi",
                    "requestPolicy": {"default": "1Gi", "validValues": ["1Gi"]},
                }
            },
        },
        "list": {"attributes": {"roots": {"strings": ["a"]}}},
    }
    # pkg/apis/resource/types.go: bindsToNode belongs to conditions, a counter set to its pool
    known = frozenset({"dra/no-effect"})
    for name, fields in devices.items():
        yield Content(f"gated-{name}", [sliced(**fields)], known)
    own = sliced(nodeName="node-1")
    own["spec"] |= {"perDeviceNodeSelection": True}
    del own["spec"]["nodeName"]
    yield Content("gated-per-device", [own])
    shared = sliced()
    shared["spec"]["sharedCounters"] = counters
    yield Content("gated-shared", [shared])
    del (alone := copy.deepcopy(shared))["spec"]["devices"]
    yield Content("gated-shared-alone", [alone])
    taint = {"key": "example.com/a", "effect": "NoSchedule"}
    for version in ("v1alpha3", "v1beta1", "v1beta2"):
        rule = {"deviceSelector": {"driver": "gpu.nvidia.com"}, "taint": taint}
        meta = {"name": "rule"}
        kind = {"apiVersion": f"resource.k8s.io/{version}", "kind": "DeviceTaintRule"}
        yield Content(f"gated-rule-{version}", [{**kind, "metadata": meta, "spec": rule}])

"""Objects of the corpus, each with what is true of it: right ones, and ones with one mistake."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.conformance.corpus.layouts import Tree

NVIDIA = 'device.attributes["gpu.nvidia.com"]'
NIC = 'device.driver == "dra.net" && device.attributes["dra.net"]'


@dataclass(frozen=True)
class Content:
    """Objects that stand together, and the warnings that are true of them."""

    name: str
    trees: list[Tree]
    # Rules whose warnings are right here; errors are right where a server rejects an object, or
    # where the rule is named too
    true: frozenset[str] = field(default_factory=frozenset)


def claim(body: Tree, version: str = "v1", **devices: Any) -> Tree:
    """Make a claim with one request."""
    request = {"name": "gpu", **body} if version == "v1beta1" else {"name": "gpu", "exactly": body}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "subject", "namespace": "default"},
        "spec": {"devices": {"requests": [request], **devices}},
    }


def template(body: Tree) -> Tree:
    """Make a template with one request."""
    made = claim(body)
    return {**made, "kind": "ResourceClaimTemplate", "spec": {"spec": made["spec"]}}


def selecting(expression: str, name: str = "gpu.nvidia.com") -> Tree:
    """Make a claim with one selector."""
    selectors = [{"cel": {"expression": expression}}]
    return claim({"deviceClassName": name, "selectors": selectors})


def pod(resources: Tree | None = None, **spec: Any) -> Tree:
    """Make a pod that uses a claim, or other resources."""
    uses = {"claims": [{"name": "gpu"}]} if resources is None else resources
    claims = [] if resources is not None else [{"name": "gpu", "resourceClaimName": "subject"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "user", "namespace": "default"},
        "spec": {
            "containers": [{"name": "main", "image": "train:1", "resources": uses}],
            "resourceClaims": claims,
            **spec,
        },
    }


def sliced(**device: Any) -> Tree:
    """Make a slice with one device."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "subject"},
        "spec": {
            "driver": "nic.example.com",
            "nodeName": "node-1",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "eth1", **device}],
        },
    }


PLAIN: Tree = {"deviceClassName": "gpu.nvidia.com"}


def contents() -> Iterator[Content]:
    """Yield all contents."""
    yield from _right()
    yield from _rejected()
    yield from _never()


def _right() -> Iterator[Content]:
    yield Content("one", [claim(PLAIN), pod()])
    yield Content("four", [claim({**PLAIN, "count": 4}), pod()])
    yield Content("template", [template(PLAIN)])
    yield Content("all", [claim({**PLAIN, "allocationMode": "All"})])
    yield Content("a100", [selecting(f'{NVIDIA}.productName.contains("A100")')])
    compute = f'{NVIDIA}.cudaComputeCapability.compareTo(semver("8.0.0")) >= 0'
    yield Content("ampere", [selecting(compute)])
    memory = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0'
    yield Content("memory", [selecting(memory)])
    yield Content("mig", [selecting(f'{NVIDIA}.profile == "1g.10gb"', "mig.nvidia.com")])
    yield Content("rdma", [selecting(f"{NIC}.rdma", "dranet")])
    guarded = 'has(device.attributes["dra.net"].ifName) && device.attributes["dra.net"].ifName'
    yield Content("nic", [selecting(f'device.driver == "dra.net" && {guarded} == "e0"', "dranet")])
    pair = [{"requests": ["gpu"], "matchAttribute": "resource.kubernetes.io/pcieRoot"}]
    yield Content("aligned", [claim({**PLAIN, "count": 2}, constraints=pair)])
    yield Content("limits", [pod({"limits": {"nvidia.com/gpu": "1"}})])
    yield Content("slice", [sliced(attributes={"model": {"string": "A"}})])
    first = {"name": "gpu", "firstAvailable": [{"name": "big", **PLAIN}, {"name": "any", **PLAIN}]}
    either = claim(PLAIN)
    either["spec"]["devices"]["requests"] = [first]
    yield Content("either", [either])


def _rejected() -> Iterator[Content]:
    yield Content("beta", [claim(PLAIN, "v1beta1")], frozenset({"dra/api-old"}))
    yield Content("beta2", [claim(PLAIN, "v1beta2")], frozenset({"dra/api-old"}))
    yield Content("flat", [{**claim(PLAIN, "v1beta1"), "apiVersion": "resource.k8s.io/v1"}])
    yield Content("spelling", [claim({"deviceClass": "gpu.nvidia.com"})])
    yield Content("mode", [claim({**PLAIN, "allocationMode": "Everything"})])
    yield Content("both", [claim({**PLAIN, "allocationMode": "All", "count": 2})])
    compared = 'device.capacity["gpu.nvidia.com"].memory >= quantity("1Gi")'
    yield Content("quantities", [selecting(compared)])
    yield Content("accessor", [selecting(f'{NVIDIA}.productName.string() == "A"')])
    yield Content("joined", [selecting('device.attributes["gpu.nvidia.com/brand"] == "A"')])
    yield Content("device-name", [selecting('device.name == "gpu-0"')])
    yield Content("words", [selecting(f'{NVIDIA}.brand == "A" and true')])
    yield Content("resource", [pod({"limits": {"gpu.nvidia.com": "1"}})])
    yield Content("bare", [pod({"limits": {"gpu": "1"}})])
    owned = claim(PLAIN)
    owned["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": ""}
    ]
    yield Content("owner", [owned])
    yield Content("unit", [sliced(capacity={"memory": {"value": "10 GiB"}})])
    lists = sliced(attributes={"roots": {"strings": ["a", "b"]}})
    yield Content("lists", [lists], frozenset({"dra/off-by-default", "dra/served-since"}))
    undeclared = pod()
    undeclared["spec"]["resourceClaims"][0]["name"] = "gpus"
    yield Content("undeclared", [undeclared], frozenset({"dra/claim-unused"}))
    monitor = {**PLAIN, "allocationMode": "All", "adminAccess": True}
    monitor["tolerations"] = [{"operator": "Exists", "effect": "NoExecute"}]
    true = frozenset({"dra/admin-access", "dra/off-by-default"})
    yield Content("monitor", [claim(monitor)], true)


def _never() -> Iterator[Content]:
    never = frozenset({"dra/never-matches"})
    unknown = frozenset({"dra/attribute-unknown"})
    invalid = frozenset({"dra/cel-invalid"})
    unguarded = frozenset({"dra/cel-unguarded"})
    yield Content("slash", [selecting('device.driver == "nvidia.com/gpu"', "gpus")], never)
    short = f'{NVIDIA}.cudaComputeCapability.compareTo(semver("8.0")) >= 0'
    yield Content("semver", [selecting(short)], invalid)
    decimal = 'device.capacity["gpu.nvidia.com"].memory.isGreaterThan(quantity("40GB"))'
    yield Content("decimal", [selecting(decimal)], invalid)
    yield Content("numa", [selecting(f"{NIC}.numaNode == 0", "dranet")], unguarded)
    yield Content("name", [selecting(f'{NIC}.ifName != "eth0"', "dranet")], unguarded)
    yield Content("profile", [selecting(f'{NVIDIA}.profile == "1g.7gb"', "mig.nvidia.com")], never)
    yield Content("case", [selecting(f'{NVIDIA}.productname == "A"')], unknown)
    root = [{"requests": ["gpu"], "matchAttribute": "resource.kubernetes.io/pcieroot"}]
    yield Content("root", [claim({**PLAIN, "count": 2}, constraints=root)], unknown)
    parent = [{"requests": ["gpu"], "matchAttribute": "gpu.nvidia.com/parentUUID"}]
    yield Content("parent", [claim({**PLAIN, "count": 2}, constraints=parent)], never)
    tolerated = copy.deepcopy(PLAIN)
    tolerated["tolerations"] = [{"key": "a", "operator": "Exists", "effect": "NoSchedule"}]
    yield Content("tolerated", [claim(tolerated)], frozenset({"dra/off-by-default"}))

"""Manifests of every kind and served version: sound ones, and the same with one thing changed.

What is right and what is wrong is not written here: the API server says it.
"""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.manifests import in_version

Json = dict[str, Any]
GROUP = "resource.k8s.io"
EXPRESSIONS = (
    'device.driver == "gpu.example.com"',
    'device.attributes["gpu.example.com"].model == "LATEST-GPU-MODEL"',
    'device.capacity["gpu.example.com"].memory.compareTo(quantity("1Gi")) >= 0',
    'device.attributes["gpu.example.com"].?index.orValue(0) > 1',
    'cel.bind(a, device.attributes["gpu.example.com"], has(a.index) && a.index in [1, 2])',
    'device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("1.0.0"))',
)
BAD_EXPRESSIONS = (
    "",
    "device.driver ==",
    "device.attributes",
    "device.nosuch",
    "1 + 1",
    'device.driver == "a" &&',
    "has(device.attributes)",
    'device.attributes["a"].exists(x, x)',
    'quantity("1 GB") == quantity("1")',
    'device.driver.matches("(")',
    "true || nosuch()",
    "[1, 2].all(x, [1, 2].all(y, x == y)) && undeclared",
    "M.exists(a, M.exists(b, M.exists(c, M.exists(d, M[a][b] == M[c][d]))))".replace(
        "M", "device.attributes"
    ),
)
STRINGS = (
    "", "a", "A", "a.b", "a/b", "a/b/c", "-a", "a-", "a_b", "a b", "ä", "x" * 64, "x" * 254,
    "example.com/x", "kubernetes.io/x", "Example.com/x", "/x", "x/", "1", "true", "All",
    "ExactCount", "Exists", "Equal", "In", "Gt", "NoSchedule", "NoExecute", "None", "1.2.3", "1.2",
    "10Gi", "1 GB", "1e3", "-1", "x" * 10241, "2026-01-01T00:00:00Z", "yesterday", "model", "gpu",
    "gpu.example.com/model", "gpu.example.com/", "main/a", "main/nosuch", "main", "metadata.name",
)  # fmt: skip
NUMBERS = (0, 1, -1, 2, 33, 2**31, 2**63 - 1, 2**63, 1.5)
NAMES = ("nosuch", "deices", "Name", "exactly", "deviceClassName", "basic", "cel", "opaque")


class Generator:
    """Makes manifests from a seed."""

    def __init__(self, seed: int, *, counters_together: bool = False) -> None:
        self.counters_together = counters_together
        self.random = random.Random(seed)
        self.count = 0

    def some(self, *values: Any) -> Any:
        return self.random.choice(values)

    def perhaps(self, chance: float = 0.5) -> bool:
        return self.random.random() < chance

    def name(self) -> str:
        self.count += 1
        return f"generated-{self.count}"

    # Parts ------------------------------------------------------------------------------------

    def selectors(self) -> list[Json]:
        return [
            {"cel": {"expression": self.some(*EXPRESSIONS)}}
            for _ in range(self.random.randint(1, 2))
        ]

    def toleration(self) -> Json:
        found: Json = {"key": "example.com/taint"} if self.perhaps(0.8) else {"operator": "Exists"}
        if "operator" not in found and self.perhaps():
            found["operator"] = self.some("Exists", "Equal")
        if found.get("operator") == "Equal":
            found["value"] = "x"
        if self.perhaps():
            found["effect"] = self.some("NoExecute", "NoSchedule", "None")
        if self.perhaps(0.3):
            found["tolerationSeconds"] = self.some(0, 60)
        return found

    def body(self, *, sub: bool = False) -> Json:
        found: Json = {"deviceClassName": "gpu.example.com"}
        if self.perhaps():
            found["selectors"] = self.selectors()
        if self.perhaps():
            found |= self.some(
                {"count": 2},
                {"allocationMode": "ExactCount"},
                {"allocationMode": "ExactCount", "count": 3},
                {"allocationMode": "All"},
            )
        if self.perhaps(0.4):
            found["tolerations"] = [self.toleration() for _ in range(self.random.randint(1, 3))]
        if self.perhaps(0.3):
            found["capacity"] = {"requests": {"memory": "1Gi", "example.com/slots": 2}}
        if not sub and self.perhaps(0.1):
            found["adminAccess"] = True
        return found

    def devices(self) -> Json:
        requests: list[Json] = []
        for index in range(self.random.randint(1, 3)):
            if self.perhaps(0.3):
                subs = [
                    {"name": name, **self.body(sub=True)} for name in ("a", "b")[: 1 + index % 2]
                ]
                requests.append({"name": f"r{index}", "firstAvailable": subs})
            else:
                requests.append({"name": f"r{index}", "exactly": self.body()})
        found: Json = {"requests": requests}
        if self.perhaps():
            names = [request["name"] for request in requests]
            if "firstAvailable" in requests[0] and self.perhaps():
                names[0] = "r0/a"
            kind = self.some("matchAttribute", "distinctAttribute")
            found["constraints"] = [{"requests": names, kind: "gpu.example.com/model"}]
        if self.perhaps():
            found["config"] = [self.config({"requests": ["r0"]})]
        return found

    def config(self, more: Json) -> Json:
        parameters = {"apiVersion": "example.com/v1", "kind": "Config", "a": [1, {"b": None}]}
        return {**more, "opaque": {"driver": "other.example.com", "parameters": parameters}}

    def metadata(self, **more: Any) -> Json:
        found: Json = {"name": self.name(), **more}
        if self.perhaps(0.3):
            found["labels"] = {"app": "x", "example.com/tier": ""}
        if self.perhaps(0.2):
            found["annotations"] = {"example.com/note": "some text, with anything"}
        return found

    def device(self, index: int) -> Json:
        found: Json = {"name": f"d{index}"}
        found["attributes"] = {
            "index": {"int": index},
            "model": {"string": "LATEST-GPU-MODEL"},
            "example.com/version": {"version": "1.2.3-rc.1+x"},
            "healthy": {"bool": True},
        }
        found["capacity"] = {"memory": {"value": "80Gi"}}
        if self.perhaps(0.3):
            found["taints"] = [{"key": "example.com/t", "effect": "NoSchedule", "value": "v"}]
        if self.perhaps(0.2):
            found["consumesCounters"] = [{"counterSet": "set", "counters": {"c": {"value": "1"}}}]
        if self.perhaps(0.2):
            found |= {"bindingConditions": ["a.b/c"], "bindingFailureConditions": ["a.b/d"]}
        if self.perhaps(0.3):
            found["allowMultipleAllocations"] = True
            found["capacity"]["memory"]["requestPolicy"] = self.some(
                {"default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi", "step": "1Gi"}},
                {"default": "2Gi", "validValues": ["1Gi", "2Gi", "4Gi"]},
                {"default": "2Gi"},
            )
        return found

    # Kinds ------------------------------------------------------------------------------------

    def claim(self) -> Json:
        return self.object("ResourceClaim", {"devices": self.devices()}, namespace="NS")

    def template(self) -> Json:
        spec: Json = {"spec": {"devices": self.devices()}}
        if self.perhaps(0.3):
            spec["metadata"] = {"labels": {"a": "b"}, "annotations": {"c/d": "e"}}
        return self.object("ResourceClaimTemplate", spec, namespace="NS")

    def device_class(self) -> Json:
        spec: Json = {}
        if self.perhaps(0.8):
            spec["selectors"] = self.selectors()
        if self.perhaps():
            spec["config"] = [self.config({})]
        if self.perhaps(0.3):
            spec["extendedResourceName"] = f"example.com/{self.name()}"
        return self.object("DeviceClass", spec)

    def slice(self) -> Json:
        """Return a slice; on 1.34 its devices may consume its own counters."""
        spec: Json = {
            "driver": "gpu.example.com",
            "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
        }
        place = self.some("nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection")
        term = {"matchExpressions": [{"key": "a/b", "operator": "In", "values": ["x"]}]}
        spec[place] = {
            "nodeName": "node-1",
            "allNodes": True,
            "perDeviceNodeSelection": True,
            "nodeSelector": {"nodeSelectorTerms": [term]},
        }[place]
        if self.perhaps(0.4) or self.counters_together:
            spec["sharedCounters"] = [{"name": "set", "counters": {"c": {"value": "8"}}}]
        if "sharedCounters" not in spec or self.counters_together:
            spec["devices"] = [self.device(index) for index in range(self.random.randint(1, 3))]
            if place == "perDeviceNodeSelection":
                for device in spec["devices"]:
                    device.update(self.some({"nodeName": "n"}, {"allNodes": True}))
        return self.object("ResourceSlice", spec)

    def taint_rule(self) -> Json:
        spec: Json = {"taint": {"key": "example.com/t", "effect": "NoSchedule"}}
        if self.perhaps(0.8):
            spec["deviceSelector"] = self.some(
                {}, {"driver": "gpu.example.com"}, {"pool": "a/b", "device": "d0"}
            )
        return self.object("DeviceTaintRule", spec)

    def pod(self) -> Json:
        entry = self.some({"resourceClaimName": "x"}, {"resourceClaimTemplateName": "x"})
        resources: Json = {"claims": [{"name": "gpu"}]}
        if self.perhaps():
            resources["claims"][0]["request"] = "r0"
        container = {"name": "main", "image": "pause", "resources": resources}
        spec = {"containers": [container], "resourceClaims": [{"name": "gpu", **entry}]}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": self.name(), "namespace": "NS"},
            "spec": spec,
        }

    def deployment(self) -> Json:
        pod = self.pod()
        labels = {"app": "x"}
        return {
            "apiVersion": "apps/v1",
            "kind": self.some("Deployment", "DaemonSet"),
            "metadata": pod["metadata"],
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
            },
        }

    def object(self, kind: str, spec: Json, **more: Any) -> Json:
        return {
            "apiVersion": f"{GROUP}/v1",
            "kind": kind,
            "metadata": self.metadata(**more),
            "spec": spec,
        }

    def sound(self, kind: str, version: str) -> Json:
        """Return a sound manifest of a kind in a version."""
        makers: dict[str, Callable[[], Json]] = {
            "ResourceClaim": self.claim,
            "ResourceClaimTemplate": self.template,
            "DeviceClass": self.device_class,
            "ResourceSlice": self.slice,
            "DeviceTaintRule": self.taint_rule,
            "Pod": self.pod,
            "Workload": self.deployment,
        }
        made = makers[kind]()
        if kind in ("Pod", "Workload"):
            return made
        if kind == "DeviceTaintRule":
            return {**made, "apiVersion": f"{GROUP}/{version}"}
        if kind == "ResourceSlice" and "devices" not in made["spec"]:
            return {**made, "apiVersion": f"{GROUP}/{version}"}
        return in_version(made, version)

    def changed(self, manifest: Json) -> Json:
        """Return a copy with one thing changed."""
        made = copy.deepcopy(manifest)
        places = [place for place in _places(made["spec"], ("spec",)) if _is_ours(made, place)]
        places += [
            place for place in _places(made["metadata"], ("metadata",)) if "namespace" not in place
        ]
        place = self.random.choice(places)
        holder: Any = made
        for step in place[:-1]:
            holder = holder[step]
        self._change(holder, place[-1])
        return made

    def _change(self, holder: Any, key: Any) -> None:
        old = holder[key]
        operations: list[Callable[[], Any]] = [self._delete(holder, key), self._null(holder, key)]
        if isinstance(holder, dict):
            operations.append(self._rename(holder, key))
        if isinstance(old, str):
            replacements = BAD_EXPRESSIONS if key == "expression" else STRINGS
            operations = [self._set(holder, key, self.some(*replacements))] * 4 + operations
        elif isinstance(old, list) and old:
            many = [*old] * self.some(2, 9, 17, 33, 65, 129)
            operations += [self._set(holder, key, many), self._set(holder, key, [])] * 2
            operations.append(self._set(holder, key, self._renamed_copies(old)))
        elif isinstance(old, dict):
            operations += [self._set(holder, key, {}), self._add(old)] * 2
        elif isinstance(old, int):
            operations = [self._set(holder, key, self.some(*NUMBERS))] * 3 + operations
        operations.append(self._set(holder, key, self.some("x", 1, True, [], {}, ["x"], {"a": 1})))
        self.random.choice(operations)()

    def _renamed_copies(self, old: list[Any]) -> list[Any]:
        count = self.some(8, 9, 16, 17, 32, 33, 64, 65, 128, 129)
        copies = [copy.deepcopy(old[index % len(old)]) for index in range(count)]
        for index, one in enumerate(copies):
            if isinstance(one, dict) and "name" in one:
                one["name"] = f"n{index}"
        return copies

    def _delete(self, holder: Any, key: Any) -> Callable[[], None]:
        return lambda: holder.pop(key)

    def _null(self, holder: Any, key: Any) -> Callable[[], None]:
        return self._set(holder, key, None)

    def _set(self, holder: Any, key: Any, value: Any) -> Callable[[], None]:
        def do() -> None:
            holder[key] = value

        return do

    def _rename(self, holder: Json, key: str) -> Callable[[], None]:
        name = self.some(*NAMES)

        def do() -> None:
            holder[name] = holder.pop(key)

        return do

    def _add(self, target: Json) -> Callable[[], None]:
        name, value = self.some(*NAMES), self.some("x", 1, {}, [])

        def do() -> None:
            target[name] = value

        return do


def _places(value: Any, steps: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield (*steps, key)
            yield from _places(member, (*steps, key))
    elif isinstance(value, list):
        for index, member in enumerate(value):
            yield (*steps, index)
            yield from _places(member, (*steps, index))


def _is_ours(made: Json, place: tuple[Any, ...]) -> bool:
    """Leave out what opaque parameters say, and what of pods is not about claims."""
    if "parameters" in place[:-1]:
        return False
    return made["kind"] in (
        "ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice", "DeviceTaintRule",
    ) or ("resourceClaims" in place[:-1] or "claims" in place[:-1])  # fmt: skip

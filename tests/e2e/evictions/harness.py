"""Pods on devices, their taints, and who evicts: kube-controller-manager or dragoman."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal

from tests.e2e.rbac import EVICTION_RULES, OPERATOR_RULES
from tests.e2e.running import OperatorProcess
from tests.e2e.versions import HAS_POD_GROUPS, POD_GROUPS
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane

Evictor = Literal["stock", "own"]
STOCK = "device-taint-eviction-controller"
STOCK_USER = f"system:serviceaccount:kube-system:{STOCK}"
GATES = {"DRADeviceTaintRules": True}
SERVED = {"resource.k8s.io/v1beta2": True}
GROUP_GATES = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True} if HAS_POD_GROUPS else {}
GROUPS_SERVED = {POD_GROUPS: True} if HAS_POD_GROUPS else {}
EVICTED = 60.0
"""Seconds within which an eviction must happen; a calm machine needs far fewer."""
STAYED = 20.0
"""Seconds after which a pod counts as one that is never evicted."""
KEPT = 1.5
"""Seconds after which a pod that was not evicted stays."""
MARK = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByDeviceTaintManager",
    "message": "Device Taint manager: deleting due to NoExecute taint",
}


@contextmanager
def evicting(plane: ControlPlane, evictor: Evictor, *flags: str) -> Iterator[str]:
    """Run an eviction controller; yields the user that it is to the API server."""
    if evictor == "stock":
        plane.start_controllers(STOCK, [STOCK], flags)
        try:
            yield STOCK_USER
        finally:
            plane.stop_part(STOCK)
        return
    user = plane.user("dragoman", (*OPERATOR_RULES, *EVICTION_RULES))
    modes = ("--claims=off", "--evictions=own", "--no-leader-elect")
    with OperatorProcess(plane, user, *modes, *flags) as running:
        yield user.name
    assert running.faults() == []


def stamp(after: float = 0.0) -> str:
    """Return the API timestamp of a time relative to now."""
    return f"{datetime.now(UTC) + timedelta(seconds=after):%Y-%m-%dT%H:%M:%SZ}"


def taint(key: str = "broken", effect: str = "NoExecute", **more: str) -> Json:
    """Return a taint."""
    return {"key": key, "effect": effect, **more}


class Devices:
    """A namespace with pods on devices of an own driver.

    Args:
        plane: The control plane.
        namespace: A fresh one; its name makes the driver unique.
        user: Who evicts, as the audit log names it.
    """

    def __init__(self, plane: ControlPlane, namespace: str, user: str) -> None:
        self.plane = plane
        self.user = user
        self.api = plane.api()
        self.namespace = namespace
        self.driver = f"{namespace}.example.com"
        self.pool = "node-1"
        self._last = 0
        self._slices: list[str] = []
        self._rules: list[str] = []

    # What drivers and admins do ---------------------------------------------------------------

    def publish(
        self,
        *devices: str | Json,
        name: str = "slice",
        generation: int = 1,
        count: int = 1,
    ) -> None:
        """Create or replace a slice of the pool; devices are names, or documents with taints."""
        full = f"{self.namespace}-{name}"
        manifest = objects.resource_slice("node-1", devices or ["gpu-0"], self.driver, full)
        pool = {"name": self.pool, "generation": generation, "resourceSliceCount": count}
        manifest["spec"]["pool"] = pool
        stored = self.api.find("resourceslices", full)
        if stored is None:
            self._slices.append(full)
            self.api.create(manifest)
            return
        manifest["metadata"] = stored["metadata"]
        self.api.update(manifest)

    def withdraw(self, name: str = "slice") -> None:
        """Delete a slice."""
        self.api.delete("resourceslices", f"{self.namespace}-{name}")

    def rule(self, effect: str = "NoExecute", name: str = "rule", **selector: Any) -> str:
        """Create or change a DeviceTaintRule for the driver; returns its name."""
        full = f"{self.namespace}-{name}"
        version = self.api.resource("devicetaintrules").api_version
        manifest = {
            "apiVersion": version,
            "kind": "DeviceTaintRule",
            "metadata": {"name": full},
            "spec": {
                "deviceSelector": {"driver": self.driver, **selector},
                "taint": taint("rule", effect),
            },
        }
        if self.api.find("devicetaintrules", full) is None:
            self._rules.append(full)
            self.api.create(manifest)
        else:
            self.api.patch("devicetaintrules", full, None, {"spec": manifest["spec"]})
        return full

    def remove_rule(self, name: str = "rule") -> None:
        """Delete a DeviceTaintRule."""
        self.api.delete("devicetaintrules", f"{self.namespace}-{name}")

    def condition(self, name: str = "rule") -> Json:
        """Return status, reason and message of a rule's condition; empty while there is none."""
        rule = self.api.get("devicetaintrules", f"{self.namespace}-{name}")
        for one in (rule.get("status") or {}).get("conditions") or ():
            if one["type"] == "EvictionInProgress":
                generation = rule["metadata"]["generation"]
                if one.get("observedGeneration") == generation:
                    return {key: one.get(key, "") for key in ("status", "reason", "message")}
        return {}

    def condition_with(self, **wanted: str) -> Json:
        """Wait for a rule's condition with these values, and return it."""
        return wait_for(
            lambda: found if wanted.items() <= (found := self.condition()).items() else None,
            60,
            f"condition {wanted}",
        )

    # Pods -------------------------------------------------------------------------------------

    def result(self, device: str = "gpu-0", *tolerations: Json, **more: Any) -> Json:
        """Return a result of an allocation."""
        return {
            "request": "devices",
            "driver": self.driver,
            "pool": self.pool,
            "device": device,
            "tolerations": list(tolerations),
            **more,
        }

    def claim(self, name: str, *results: Json, **metadata: Any) -> Json:
        """Create an allocated claim that is reserved for nothing yet."""
        manifest = objects.claim(name, self.namespace, "class", **metadata)
        if any(one.get("adminAccess") for one in results):
            manifest["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
        self.api.create(manifest)
        status = {"allocation": {"devices": {"results": list(results) or [self.result()]}}}
        return self.api.patch(
            "resourceclaims", name, self.namespace, {"status": status}, subresource="status"
        )

    def reserve(self, name: str, *pods: Json) -> None:
        """Reserve a claim for pods."""
        consumers = [
            {"resource": "pods", "name": one["metadata"]["name"], "uid": one["metadata"]["uid"]}
            for one in pods
        ]
        body = {"status": {"reservedFor": consumers}}
        self.api.patch("resourceclaims", name, self.namespace, body, subresource="status")

    def bare_pod(self, name: str, claim: str, **spec: Any) -> Json:
        """Create a pod that names a claim."""
        manifest = objects.pod(name, self.namespace, claims={"a": claim}, nodeName="node-1")
        manifest["spec"] |= {"terminationGracePeriodSeconds": 30, **spec}
        if not manifest["spec"]["nodeName"]:
            del manifest["spec"]["nodeName"]
        return self.api.create(manifest)

    def pod(self, name: str = "a", *results: Json, **spec: Any) -> Json:
        """Create a pod with a node, and a claim for it with these results."""
        self.claim(name, *results)
        made = self.bare_pod(name, name, **spec)
        self.reserve(name, made)
        return made

    def seen(self) -> None:
        """Wait until the controller has seen all slices, claims and pods that are there.

        The preview of a rule counts a last pod. It is written once: the rule is created again until
        then.
        """
        self._last += 1
        name = f"last-{self._last}"
        driver = f"{name}.{self.driver}"
        manifest = objects.resource_slice(self.pool, ["last"], driver, f"{self.namespace}-{name}")
        self.api.create(manifest)
        self._slices.append(manifest["metadata"]["name"])
        self.pod(name, {**self.result("last"), "driver": driver})
        wait_for(partial(self._counts_last, name, driver), 60, f"a preview that counts pod {name}")

    def _counts_last(self, name: str, driver: str) -> bool:
        self.rule("None", name, driver=driver)
        found = wait_for(lambda: self.condition(name), 60, "the preview of a rule")
        self.remove_rule(name)
        said: str = found["message"]
        return said.startswith("1 published device selected. 1 allocated device selected. 1 pod ")

    def extended_pod(self, name: str = "a") -> Json:
        """Create a pod whose extended resource is a device of the driver (KEP-5004)."""
        limits = {"resources": {"limits": {"example.com/gpu": "1"}}}
        containers = [{"name": "main", "image": "pause", **limits}]
        made = self.bare_pod(name, "unused", resourceClaims=[], containers=containers)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": made["metadata"]["uid"]}
        annotation = {"resource.kubernetes.io/extended-resource-claim": "true"}
        claim = f"{name}-extended"
        self.claim(claim, ownerReferences=[{**owner, "controller": True}], annotations=annotation)
        self.reserve(claim, made)
        mapping = {
            "containerName": "main",
            "resourceName": "example.com/gpu",
            "requestName": "devices",
        }
        status = {"resourceClaimName": claim, "requestMappings": [mapping]}
        body = {"status": {"extendedResourceClaimStatus": status}}
        self.api.patch("pods", name, self.namespace, body, subresource="status")
        return made

    def is_evicted(self, name: str = "a") -> bool:
        """Whether a pod was marked and is being deleted."""
        found = self.api.find("pods", name, self.namespace)
        return found is None or "deletionTimestamp" in found["metadata"]

    def evicted(self, *names: str, timeout: float = EVICTED) -> None:
        """Wait until pods are evicted."""
        wait_for(
            lambda: all(map(self.is_evicted, names or ("a",))), timeout, f"{names} to be evicted"
        )

    def kept(self, *names: str, seconds: float = KEPT) -> None:
        """Wait, and check that pods were not evicted."""
        time.sleep(seconds)
        assert [one for one in names or ("a",) if self.is_evicted(one)] == []

    def events(self, name: str) -> list[str]:
        """Return the notes of the Events about a pod."""
        listed = self.api.list("events.events.k8s.io", self.namespace)
        return [
            one["note"]
            for one in listed
            if one["regarding"]["name"] == name and one["reason"] == "DeviceTaintManagerEviction"
        ]

    def clear(self) -> None:
        """Remove everything."""
        for name in self._rules:
            self.api.delete("devicetaintrules", name)
        for name in self._slices:
            self.api.delete("resourceslices", name)
        self.plane.clear_namespace(self.namespace)

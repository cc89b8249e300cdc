"""Devices of one driver with pods on them, and the commands that take devices out of service."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.running import OperatorProcess
from tests.e2e.toolkit.commands import Answer, dra
from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError, Json, wait_for
from tests.support.controlplane.plane import ControlPlane

ROOT = Path(__file__).parents[3]
MAINTENANCES = "devicemaintenances.dragoman.dev"
HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Site:
    """A control plane and the operator beside it."""

    plane: ControlPlane
    operator: OperatorProcess


def install(plane: ControlPlane) -> None:
    """Serve DeviceMaintenances."""
    plane.api().apply(yaml.safe_load((ROOT / "crds/devicemaintenances.yaml").read_text()))
    wait_for(lambda: served(plane), message="DeviceMaintenances to be served")


def served(plane: ControlPlane, resource: str = MAINTENANCES) -> bool:
    """Whether DeviceMaintenances, or others, can be listed."""
    try:
        plane.api().list(resource)
    except (KeyError, ApiError):
        return False
    return True


def uninstall(plane: ControlPlane, resource: str = MAINTENANCES) -> None:
    """Delete the CRD with all objects; one that is still being deleted cannot be made again."""
    plane.api().delete("customresourcedefinitions", resource)
    wait_for(
        lambda: plane.api().find("customresourcedefinitions", resource) is None,
        message="the CRD to be deleted",
    )


class Ward:
    """Nodes, devices, a class and a namespace.

    Args:
        plane: With its scheduler, and an operator that releases claims.
        nodes: How many.
        devices: Of each node.
    """

    def __init__(self, plane: ControlPlane, nodes: int = 2, devices: int = 2) -> None:
        self.plane = plane
        self.api = plane.api()
        self.name = f"ward-{uuid.uuid4().hex[:8]}"
        self.driver = f"{self.name}.example.com"
        self.nodes = [f"{self.name}-n{index}" for index in range(nodes)]
        self.names = [f"device-{index}" for index in range(devices)]
        self.api.create(objects.namespace(self.name))
        self.api.create(objects.device_class(self.name, self.driver))
        for node in self.nodes:
            self.api.create(objects.node(node))
            entries = [
                {"name": name, "attributes": {"uuid": {"string": f"{node}-{name}"}}}
                for name in self.names
            ]
            self.api.create(objects.resource_slice(node, entries, self.driver))
        self.api.create(objects.template("one", self.name, self.name))

    @property
    def rules(self) -> bool:
        """Whether the plane serves DeviceTaintRules."""
        return "devicetaintrules" in {one.plural for one in self.api.discover()}

    def device(self, node: int = 0, device: int = 0) -> str:
        """Return the name of a device as commands take it."""
        return f"{self.driver}/{self.nodes[node]}/{self.names[device]}"

    # Pods -----------------------------------------------------------------------------------------

    def pod(self, name: str, *, node: int | None = None, **more: Any) -> Json:
        """Create a pod that needs one device, on a node where one is named."""
        spec = {} if node is None else {"nodeSelector": {HOSTNAME: self.nodes[node]}}
        template = more.pop("template", "one")
        manifest = objects.pod(name, self.name, templates={"gpu": template}, **spec, **more)
        return self.api.create(manifest)

    def placed(self, *names: str) -> dict[str, str]:
        """Wait until pods have nodes; return the device of each."""
        return {name: wait_for(lambda name=name: self.device_of(name)) for name in names}  # type: ignore[misc]

    def device_of(self, name: str) -> str:
        """Return the device of a pod that has a node, empty where it has none."""
        pod = self.api.find("pods", name, self.name)
        statuses = (pod or {}).get("status", {}).get("resourceClaimStatuses") or ()
        if pod is None or not pod["spec"].get("nodeName") or not statuses:
            return ""
        claim = self.api.find("resourceclaims", statuses[0]["resourceClaimName"], self.name)
        return next(iter(devices_of(claim)), "") if claim else ""

    def run(self, name: str) -> None:
        """Write what a kubelet would: the pod runs, and is ready."""
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self.api.patch(
            "pods", name, self.name, {"status": status}, kind="strategic", subresource="status"
        )

    def budget(self, name: str, labels: dict[str, str], allowed: int) -> None:
        """Create a PodDisruptionBudget, or set how many disruptions it allows."""
        self.api.apply(
            {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": name, "namespace": self.name},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
            }
        )
        status = {
            "observedGeneration": 1,
            "disruptionsAllowed": allowed,
            "currentHealthy": 1 + allowed,
            "desiredHealthy": 1,
            "expectedPods": 1,
        }
        self.api.patch(
            "poddisruptionbudgets", name, self.name, {"status": status}, subresource="status"
        )

    # Commands -------------------------------------------------------------------------------------

    def dra(self, *arguments: object, expected: Sequence[int] = (0,)) -> Answer:
        """Run `kubectl dra …` in the namespace."""
        more = ("--kubeconfig", self.plane.kubeconfig, "-n", self.name)
        return dra(*arguments, *more, expected=expected)

    # DeviceMaintenances ---------------------------------------------------------------------------

    def maintain(self, name: str = "m", **spec: Any) -> str:
        """Create a DeviceMaintenance; return its name."""
        name = f"{self.name}-{name}"
        self.api.create(
            {
                "apiVersion": "dragoman.dev/v1alpha1",
                "kind": "DeviceMaintenance",
                "metadata": {"name": name},
                "spec": spec,
            }
        )
        return name

    def target(self, node: int = 0, device: int = 0) -> Json:
        """Return one device as the target of a DeviceMaintenance."""
        return {"driver": self.driver, "pool": self.nodes[node], "device": self.names[device]}

    def condition(self, name: str, kind: str) -> tuple[str, str]:
        """Return status and message of a condition; empty texts while there is none."""
        found = self.api.get(MAINTENANCES, name).get("status", {}).get("conditions") or ()
        return next(
            ((one["status"], one["message"]) for one in found if one["type"] == kind), ("", "")
        )

    def wait_condition(self, name: str, kind: str, status: str = "True", message: str = "") -> str:
        """Wait until a condition has a status, and a message if one is given; return its message.

        The message of the first status may lack pods that the operator has not seen.
        """

        def found() -> tuple[str, str] | None:
            has, said = self.condition(name, kind)
            return (has, said) if has == status and message in {"", said} else None

        return wait_for(found, 60, f"{kind}={status} of {name}: {message}")[1]

    def holders(self, device: str) -> list[str]:
        """Return the claims that have a device, holds included."""
        return [
            f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"
            for claim in self.api.list("resourceclaims")
            if device in devices_of(claim)
        ]

    def clear(self) -> None:
        """Delete everything."""
        for one in self.api.list(MAINTENANCES):
            if one["metadata"]["name"].startswith(self.name):
                self.api.delete(MAINTENANCES, one["metadata"]["name"])
        wait_for(
            lambda: (
                not [
                    one
                    for one in self.api.list(MAINTENANCES)
                    if one["metadata"]["name"].startswith(self.name)
                ]
            ),
            message="no DeviceMaintenances",
        )
        self.clear_devices()

    def clear_devices(self) -> None:
        """Delete everything but DeviceMaintenances."""
        if self.rules:
            for rule in self.api.list("devicetaintrules"):
                if rule["spec"]["deviceSelector"].get("driver") == self.driver:
                    self.api.delete("devicetaintrules", rule["metadata"]["name"])
        self.api.delete_all("pods", self.name, gracePeriodSeconds=0)
        # The operator would delete the claims of deleted pods ten seconds later.
        self.api.delete_all("resourceclaims", self.name)
        # With safe release, claims of pods that never ended wait until their Node is gone.
        for node in self.nodes:
            self.api.delete("nodes", node)
        wait_for(lambda: not self.api.list("resourceclaims", self.name), message="no claims")
        for node in self.nodes:
            self.api.delete("resourceslices", f"{node}-{self.driver}")
        self.api.delete("deviceclasses", self.name)


def devices_of(claim: Json) -> set[str]:
    """Return the devices in the status of a claim as `driver/pool/device`."""
    results = claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ())
    return {f"{one['driver']}/{one['pool']}/{one['device']}" for one in results}

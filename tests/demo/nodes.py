"""Real nodes for the demo: its pods are containers, and drivers give them their devices."""

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from dragoman_drivers.pretend.driver import RULES, Driver
from tests.support.controlplane import binaries
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.node import image
from tests.support.controlplane.node.node import Node
from tests.support.controlplane.plane import ControlPlane

SLICES = Path("examples/hardware/devices.yaml")
IMAGE = "docker.io/library/busybox:stable"
"""What the examples run: here, an image whose `sleep` tells first what it sees."""


class Nodes:
    """The nodes of examples/hardware, each with a kubelet, containerd and a driver.

    Args:
        plane: In a network of its own.
        namespace: Of the demo's pods.
    """

    hardware = ("examples/hardware/class.yaml",)

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._plane = plane
        self._namespace = namespace
        self._nodes: dict[str, Node] = {}
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        """Start kubelets and containerds."""
        with self._cleanup as starting:
            for number, one in enumerate(slices(), 1):
                name = one["nodeName"]
                node = starting.enter_context(Node(self._plane, name, number))
                program = binaries.find(["errand"], self._plane.version)["errand"]
                archive = node.places.root / "sleep.tar"
                node.load(image.write_archive(program, archive, IMAGE, "sleep"))
                self._nodes[name] = node
            self._cleanup = starting.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End everything that runs on the nodes."""
        self._cleanup.close()

    def publish_devices(self) -> str:
        """Start the drivers, which publish the devices; returns what to say about it."""
        api = self._plane.api(self._plane.user("driver", RULES))
        for one in slices():
            places = self._nodes[one["nodeName"]].places
            driver = Driver(
                api,
                places.kubelet,
                places.cdi,
                node=one["nodeName"],
                devices=one["devices"],
                name=one["driver"],
            )
            self._cleanup.enter_context(driver)
        return "the nodes' drivers start and publish their devices"

    def attend(self, pods: Iterable[Mapping[str, Any]]) -> None:
        """Leave the pods to their kubelets."""

    def finish(self, name: str) -> None:
        """Let a pod's container end well."""
        pod = self._plane.api().get("pods", name, self._namespace)
        if pod["status"]["phase"] == "Running":
            self._nodes[pod["spec"]["nodeName"]].end(pod)

    def said(self, pod: str, node: str) -> str:
        """Return what a pod's container sees of its devices, in its own words."""
        lines = wait_for(lambda: self._nodes[node].output(self._namespace, pod))
        told = json.loads(lines[0])
        return "; ".join(
            f"/dev/devices/{device} is {told['nodes'][device]}, of claim {of.split()[0]}"
            for device, of in told["files"].items()
        )


def slices() -> list[dict[str, Any]]:
    """Return what the nodes' drivers publish, as the examples have it."""
    return [document["spec"] for document in yaml.safe_load_all(SLICES.read_text())]

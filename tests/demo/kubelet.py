"""What a kubelet would report about pods; there is none, so nothing really runs."""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.support.controlplane.api import ApiError
from tests.support.controlplane.cluster import Cluster

GONE_OR_CHANGED = (404, 409)


class Kubelet:
    """Stand in for the kubelets and drivers of all nodes."""

    hardware = ("examples/hardware",)

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace

    def attend(self, pods: Iterable[Mapping[str, Any]]) -> None:
        """Let placed pods run, and let deleted ones go."""
        for pod in pods:
            if not pod["spec"].get("nodeName"):
                continue
            name = pod["metadata"]["name"]
            try:
                if "deletionTimestamp" in pod["metadata"]:
                    self._cluster.delete_pod(self._namespace, name)
                elif pod["status"].get("phase") == "Pending":
                    self.report(name, "Running")
            except ApiError as error:
                if error.code not in GONE_OR_CHANGED:
                    raise

    def publish_devices(self) -> str:
        """Give the slices of the hardware's files an owner, as drivers on nodes do: their node."""
        nodes = {one["metadata"]["name"]: one for one in self._cluster.api().list("nodes")}
        for one in self._cluster.api().list("resourceslices"):
            if node := nodes.get(one["spec"].get("nodeName", "")):
                owner = {"apiVersion": "v1", "kind": "Node", "name": node["metadata"]["name"]}
                owner["uid"] = node["metadata"]["uid"]
                patch = {"metadata": {"ownerReferences": [owner]}}
                self._cluster.api().patch("resourceslices", one["metadata"]["name"], None, patch)
        return ""

    def finish(self, name: str) -> None:
        """Let a pod end well."""
        self.report(name, "Succeeded")

    def said(self, pod: str, node: str) -> str:  # noqa: ARG002 — real nodes need to know
        """Return what a pod's container says: there is none."""
        return ""

    def report(self, name: str, phase: str) -> None:
        """Write a pod's phase into its status."""
        self._cluster.finish_pod(self._namespace, name, phase)

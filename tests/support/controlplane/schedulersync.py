"""Waits until a scheduler has in its cache what was written before.

A scheduler has a watch for each kind of object. Where a test creates slices and then a pod, the pod
may come first: the scheduler refuses it, and takes that back a moment later. A watch keeps its
order, though: a scheduler that places a pod on the newest node, by the newest slice, class and
claim, has seen all older changes of these kinds.
"""

import uuid

from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.cluster import Cluster

LABEL = "example.com/sync"
SECONDS = 60


class SchedulerSync:
    """A node with devices of its own, which pods of tests never fit.

    Args:
        plane: With its scheduler running.
        tolerated: Key of taints that rules of the test put on all devices; given, `wait` is about
            DeviceTaintRules, too.
    """

    def __init__(self, plane: Cluster, tolerated: str = "") -> None:
        self._plane = plane
        self._api = plane.api()
        self._tolerated = tolerated
        self._name = f"sync-{uuid.uuid4().hex[:8]}"
        self._driver = f"{self._name}.example.com"
        self._count = 0

    def create(self) -> None:
        """Create the node and its slice."""
        self._plane.add_node(self._name, 1, self._driver)
        self._namespace = self._plane.create_namespace("sync")

    def delete(self) -> None:
        """Delete the node and its slice."""
        self._plane.remove_node(self._name, self._driver)

    def wait(self) -> None:
        """Wait until the scheduler has seen all that was written before the call."""
        self._count += 1
        tag = f"{self._name}-{self._count}"
        self._api.patch("nodes", self._name, None, {"metadata": {"labels": {LABEL: tag}}})
        devices = [{"name": f"{tag}-{part}"} for part in ("a", "b")]
        slice_name = f"{self._name}-{self._driver}"
        self._api.patch("resourceslices", slice_name, None, {"spec": {"devices": devices}})
        self._api.create(self._plane.served(objects.device_class(tag, self._driver)))
        if self._tolerated:
            self._api.create(self._rule(tag))
        # A pod on the first device was placed before the rule was seen: the next one may tell.
        placed = (f"{tag}-b",) if self._tolerated else (f"{tag}-a", f"{tag}-b")
        wait_for(
            lambda: self._placed(tag) in placed,
            SECONDS,
            "the scheduler to see a DeviceTaintRule",
        )
        if self._tolerated:
            self._api.delete("devicetaintrules", tag)
        self._api.delete("deviceclasses", tag)

    def _placed(self, tag: str) -> str:
        """Let a pod be placed and go again; return its device."""
        claim = objects.claim(tag, self._namespace, tag)
        if self._tolerated:
            (request,) = claim["spec"]["devices"]["requests"]
            tolerations = [{"key": self._tolerated, "operator": "Exists"}]
            request["exactly"]["tolerations"] = tolerations
        self._api.create(self._plane.served(claim))
        pod = objects.pod(tag, self._namespace, claims={"device": tag}, nodeSelector={LABEL: tag})
        self._api.create(pod)
        wait_for(
            lambda: self._api.get("pods", tag, self._namespace)["spec"].get("nodeName"),
            SECONDS,
            "the scheduler to see what was written before",
        )
        status = self._api.get("resourceclaims", tag, self._namespace)["status"]
        self._plane.clear_namespace(self._namespace)
        return str(status["allocation"]["devices"]["results"][0]["device"])

    def _rule(self, tag: str) -> Json:
        selector = {"driver": self._driver, "pool": self._name, "device": f"{tag}-a"}
        return {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": {"name": tag},
            "spec": {
                "deviceSelector": selector,
                "taint": {"key": LABEL, "effect": "NoSchedule"},
            },
        }

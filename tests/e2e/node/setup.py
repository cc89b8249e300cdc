"""A namespace whose pods run on a real node, and what they say from inside their containers."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dragoman_drivers.pretend.driver import Driver
from tests.support import manifests as objects
from tests.support.controlplane.api import Api, Json, wait_for
from tests.support.controlplane.node import image
from tests.support.controlplane.node.node import Node
from tests.support.controlplane.plane import ControlPlane

CLASS, TEMPLATE = "gpu", "one-gpu"
PATIENCE = 60


class NodeSetup:
    """What a test does on the node, and sees there.

    Args:
        plane: The control plane.
        node: The only node.
        driver: Its driver.
        namespace: Fresh.
    """

    def __init__(self, plane: ControlPlane, node: Node, driver: Driver, namespace: str) -> None:
        self.plane = plane
        self.node = node
        self.driver = driver
        self.namespace = namespace
        self.api: Api = plane.api()

    # What people do ---------------------------------------------------------------------------

    def template(self, name: str = TEMPLATE, parameters: Mapping[str, Any] | None = None) -> Json:
        """Create a template for one device, with the driver's parameters if any are given."""
        return self.api.create(self.template_manifest(name, parameters))

    def template_manifest(self, name: str, parameters: Mapping[str, Any] | None = None) -> Json:
        """Return a template for one device."""
        manifest = objects.template(name, self.namespace, CLASS)
        if parameters is not None:
            opaque = {"driver": self.driver.name, "parameters": dict(parameters)}
            manifest["spec"]["spec"]["devices"]["config"] = [{"opaque": opaque}]
        return self.plane.served(manifest)

    def claim(self, name: str, *, admin: bool = False) -> Json:
        """Create a claim for one device, as users make them."""
        manifest = objects.claim(name, self.namespace, CLASS)
        if admin:
            request, *_ = manifest["spec"]["devices"]["requests"]
            request["exactly"]["adminAccess"] = True
        return self.api.create(self.plane.served(manifest))

    def pod(self, name: str, *deeds: str, **more: Any) -> Json:
        """Create a pod that does these deeds; without claims it takes one from the template."""
        return self.api.create(self.pod_manifest(name, *deeds, **more))

    def pod_manifest(self, name: str, *deeds: str, **more: Any) -> Json:
        """Return a pod that runs for real."""
        if not {"templates", "claims"} & more.keys():
            more["templates"] = {"gpu": TEMPLATE}
        more = {"hostNetwork": True, "terminationGracePeriodSeconds": 5} | more
        manifest = objects.pod(name, self.namespace, **more)
        manifest["spec"]["containers"][0] |= container("main", *deeds)
        return manifest

    def job(self, name: str, pods: int, parallel: int, *deeds: str) -> Json:
        """Create a Job whose pods each take a claim from the template."""
        pod = self.pod_manifest(name, *deeds)
        manifest = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "completions": pods,
                "parallelism": parallel,
                "completionMode": "Indexed",
                "template": {"spec": pod["spec"]},
            },
        }
        return self.api.create(manifest)

    def allow_admin_access(self) -> None:
        """Let claims of the namespace ask for admin access."""
        labels = {"resource.kubernetes.io/admin-access": "true"}
        self.api.patch("namespaces", self.namespace, None, {"metadata": {"labels": labels}})

    def delete(self, name: str, **options: Any) -> None:
        """Delete a pod; the kubelet ends its containers first unless it is forced."""
        self.api.delete("pods", name, self.namespace, **options)

    # What is there ----------------------------------------------------------------------------

    def get(self, name: str) -> Json:
        """Read a pod."""
        return self.api.get("pods", name, self.namespace)

    def phase(self, name: str) -> str:
        """Return a pod's phase."""
        return str(self.get(name)["status"].get("phase"))

    def claims(self) -> list[Json]:
        """Read all claims."""
        return self.api.list("resourceclaims", self.namespace)

    def claim_of(self, pod: str, entry: str = "gpu") -> Json:
        """Read the claim that a pod's status names for an entry."""
        statuses = self.get(pod)["status"]["resourceClaimStatuses"]
        names = {one["name"]: one["resourceClaimName"] for one in statuses}
        return self.api.get("resourceclaims", names[entry], self.namespace)

    def events(self, name: str, reason: str) -> list[str]:
        """Return what Events of a reason say about a pod, or whatever else has the name."""
        selector = f"involvedObject.name={name},reason={reason}"
        return [
            one["message"]
            for one in self.api.list("events", self.namespace, fieldSelector=selector)
        ]

    def failures(self, pod: str) -> list[str]:
        """Return what the kubelet says about failures to prepare a pod's claims.

        The API server's authorizer of nodes learns of a pod's claims by a watch. A kubelet that
        asks before is refused, reports so and asks again: that is no failure of a claim.
        """
        told = self.events(pod, "FailedPrepareDynamicResources")
        return [one for one in told if "no relationship found between node" not in one]

    def told(self, pod: str, container: str = "main") -> list[dict[str, dict[str, str]]]:
        """Return what a container saw each time it told: variables, files and device nodes.

        A pod is Running a moment before its first line is in the log: that is waited for.
        """

        def lines() -> list[str]:
            written = self.node.output(self.namespace, pod, container)
            return [line for line in written if line.startswith("{")]

        found = wait_for(lines, message=f"container {container} of {pod} to tell what it sees")
        return [json.loads(line) for line in found]

    def devices(self, pod: str, container: str = "main") -> list[str]:
        """Return the devices that a container saw last, from its device nodes."""
        *_, last = self.told(pod, container)
        return sorted(last["nodes"])

    # Waiting ----------------------------------------------------------------------------------

    def until(self, pod: str, phase: str = "Running", timeout: float = PATIENCE) -> Json:
        """Wait until a pod is in a phase; returns it."""
        try:
            wait_for(lambda: self.phase(pod) == phase, timeout, f"pod {pod} to be {phase}")
        except TimeoutError as error:
            raise TimeoutError(f"{error}; {self.why(pod)}") from error
        return self.get(pod)

    def why(self, pod: str) -> str:
        """Return all that Events say about a pod."""
        listed = self.api.list("events", self.namespace, fieldSelector=f"involvedObject.name={pod}")
        return "; ".join(f"{one['reason']}: {one['message']}" for one in listed)

    def done(self, job: str, pods: int) -> None:
        """Wait until so many pods of a Job have succeeded."""
        wait_for(
            lambda: self.api.get("jobs", job, self.namespace)["status"].get("succeeded") == pods,
            3 * PATIENCE,
            f"{pods} pods of job {job} to succeed",
        )

    def reserved(self, claim: str, pods: Sequence[str]) -> None:
        """Wait until exactly these are in a claim's `reservedFor`."""

        def seen() -> bool:
            status = self.api.get("resourceclaims", claim, self.namespace)["status"]
            return sorted(one["name"] for one in status.get("reservedFor", ())) == sorted(pods)

        wait_for(seen, message=f"claim {claim} to be reserved for {pods}")

    def gone(self, *pods: str) -> None:
        """Wait until pods do not exist."""
        left = partial(self.api.find, "pods", namespace=self.namespace)
        wait_for(lambda: not any(map(left, pods)), PATIENCE, f"pods {pods} to be gone")

    def at_rest(self) -> None:
        """Wait until no generated claim is left and no device is prepared."""
        wait_for(
            lambda: not [one for one in self.claims() if is_generated(one)],
            PATIENCE,
            "all generated claims to be gone",
        )
        wait_for(lambda: not self.driver.prepared, PATIENCE, "all devices to be given back")

    def clear(self) -> None:
        """End all pods as the kubelet does, and remove everything else."""
        self.api.delete_all("jobs", self.namespace, propagationPolicy="Background")
        self.api.delete_all("pods", self.namespace, gracePeriodSeconds=1)
        wait_for(partial(self._no, "pods"), PATIENCE, "all pods to be gone")
        self.at_rest()
        self.plane.clear_namespace(self.namespace)

    def _no(self, resource: str) -> bool:
        return not self.api.list(resource, self.namespace)


def container(name: str, *deeds: str) -> Json:
    """Return a container that does these deeds with every device of its pod's first claim."""
    return {
        "name": name,
        "image": image.REFERENCE,
        "imagePullPolicy": "Never",
        "args": list(deeds or ("tell", "hold")),
    }


def is_generated(claim: Mapping[str, Any]) -> bool:
    """Whether a claim was made from a template."""
    return bool(claim["metadata"].get("ownerReferences"))

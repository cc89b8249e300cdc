"""Which pods of workloads are tried by `doctor --dry-run-pods`, and what the answers mean."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.allocation.extendedresources import is_extended
from dragoman.doctor.finding import Finding, FindingSubject, Id
from dragoman.model.fields import part, parts
from dragoman_toolkit.workloads import PodSpec, workload

Tree = Mapping[str, Any]

TRIED = (
    *(("apps", "v1", "deployments", "Deployment"), ("apps", "v1", "statefulsets", "StatefulSet")),
    *(("apps", "v1", "daemonsets", "DaemonSet"), ("batch", "v1", "jobs", "Job")),
    ("batch", "v1", "cronjobs", "CronJob"),
)
"""Group, version, plural and kind of workloads whose controllers create pods as they are given."""
_CONTAINERS = ("initContainers", "containers")
_WEBHOOK = re.compile(r'admission webhook "([^"]+)" denied the request:? ?(.*)', re.DOTALL)
_RIGHTS = re.compile(r'cannot create resource "pods"')
_LONGEST = 300
"""Letters of a message of the API server."""


@dataclass(frozen=True, slots=True)
class PodTry:
    """A pod that a workload would create."""

    kind: str  # Of the workload
    namespace: str  # Of both
    name: str  # Of the workload
    uid: str  # Of the workload
    api_version: str  # Of the workload
    pod: Tree  # What is sent
    lacking: bool  # Whether the workload has fewer pods than it wants

    @property
    def path(self) -> str:
        """Where it is sent."""
        return f"/api/v1/namespaces/{self.namespace}/pods"

    def finding(self, message: str, remedy: str) -> Finding:
        """Return a finding about the workload."""
        text = f"{self.kind} {self.namespace}/{self.name}"
        subject = FindingSubject(
            text, self.kind, self.name, self.namespace, self.uid, self.api_version
        )
        return Finding(Id.POD_REJECTED, subject, message, remedy)


def tries(tree: Tree) -> Iterator[PodTry]:
    """Yield the pods of a workload that want devices; one with a suspended controller has none."""
    found = workload(tree)
    if found is None or found.suspended:
        return
    metadata = part(tree, "metadata")
    for pods in found.pods:
        if wants(pods.plain()):
            yield PodTry(
                found.kind,
                found.namespace,
                found.name,
                str(metadata.get("uid") or ""),
                str(tree.get("apiVersion") or ""),
                _pod(tree, pods, found.name, found.namespace),
                _lacks(tree),
            )


def _pod(tree: Tree, pods: PodSpec, name: str, namespace: str) -> Tree:
    template: Any = tree
    for step in pods.steps[:-1]:
        template = template[step]
    metadata = {
        key: one
        for key, one in part(template, "metadata").items()
        if key in ("labels", "annotations")
    }
    # A name that the workload's own pods cannot have: dry runs must not collide with them.
    start = name[:40].rstrip("-.")
    own = {**metadata, "generateName": f"{start}-dragoman-dry-run-", "namespace": namespace}
    spec = dict(pods.spec)
    spec.pop("nodeName", None)
    if claimed := _claimed(tree):
        names = {one["name"] for one in claimed}
        others = (one for one in parts(spec, "volumes") if one.get("name") not in names)
        spec["volumes"] = [*claimed, *others]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": own, "spec": spec}


def _claimed(tree: Tree) -> list[Tree]:
    """Return the volumes that a StatefulSet adds to its pods; without them mounts are invalid.

    Source: pkg/controller/statefulset/stateful_set_utils.go, updateStorage.
    """
    templates = parts(tree, "spec", "volumeClaimTemplates")
    return [
        {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-dragoman-dry-run"}}
        for one in templates
        if (name := str(part(one, "metadata").get("name") or ""))
    ]


def wants(spec: Tree) -> bool:
    """Whether a pod has claims or extended resources."""
    return bool(parts(spec, "resourceClaims")) or any(
        is_extended(name)
        for field in _CONTAINERS
        for container in parts(spec, field)
        for name in part(container, "resources", "limits")
    )


def _lacks(tree: Tree) -> bool:
    """Whether a workload has fewer pods than it wants: else a quota may be used up rightly."""
    spec, status = part(tree, "spec"), part(tree, "status")
    if "desiredNumberScheduled" in status:
        return _count(status, "currentNumberScheduled") < _count(status, "desiredNumberScheduled")
    if tree.get("kind") == "Job":
        done = any(
            one.get("type") in ("Complete", "Failed") and one.get("status") == "True"
            for one in parts(status, "conditions")
        )
        left = _count(spec, "completions", 1 << 31) - _count(status, "succeeded")
        return not done and _count(status, "active") < min(_count(spec, "parallelism", 1), left)
    if "jobTemplate" in spec:
        return False
    return _count(status, "replicas") < _count(spec, "replicas", 1)


def _count(holder: Tree, field: str, default: int = 0) -> int:
    found = holder.get(field)
    return found if isinstance(found, int) else default


def refused(tried: PodTry, message: str) -> Finding | None:
    """Return what a refusal means; None where it says nothing about the workload.

    Args:
        tried: The pod.
        message: Of the API server.
    """
    said = " ".join(message.split())[:_LONGEST]
    if _RIGHTS.search(said):
        return None
    if "exceeded quota" in said:
        if not tried.lacking:
            return None
        text = said[said.index("exceeded quota") :]
        todo = "delete what is not needed, or ask for a larger quota: "
        todo += f"kubectl describe resourcequota -n {tried.namespace}"
        return tried.finding(f"its pods are not created: {text}", todo)
    webhook = _WEBHOOK.search(said)
    if webhook:
        text = f"its pods are not created: webhook {webhook[1]} rejects them: {webhook[2]}"
        return tried.finding(
            text.rstrip(": "), f"correct the pod template, or webhook {webhook[1]}"
        )
    kubectl = f"kubectl describe {tried.kind.lower()} {tried.name} -n {tried.namespace}"
    return tried.finding(
        f"its pods are not created: {said}", f"correct the pod template ({kubectl})"
    )


def stripped(tried: PodTry, returned: Tree) -> Finding | None:
    """Return that the pod would be stored without what the template requests; None otherwise.

    A webhook that the API server calls removes fields; so does an API server, of fields that its
    version or gates do not know.
    """
    before, after = part(tried.pod, "spec"), part(returned, "spec")
    lost = [f"spec.resourceClaims[{name}]" for name in _entries(before) - _entries(after)]
    lost += [text for text in _requested(before) if text not in _requested(after)]
    if not lost:
        return None
    listed = ", ".join(sorted(lost)[:4])
    return tried.finding(
        f"its pods are created without {listed}: they start without devices",
        "see which mutating webhook changes pods: kubectl get mutatingwebhookconfigurations",
    )


def _entries(spec: Tree) -> set[str]:
    return {str(one.get("name")) for one in parts(spec, "resourceClaims")}


def _requested(spec: Tree) -> list[str]:
    """Name the uses of claims, and the extended resources, of containers."""
    return [
        f"spec.{field}[{container.get('name')}].resources.{what}"
        for field in _CONTAINERS
        for container in parts(spec, field)
        for what in (
            *(f"claims[{one.get('name')}]" for one in parts(container, "resources", "claims")),
            *(
                f"limits[{name}]"
                for name in part(container, "resources", "limits")
                if is_extended(str(name))
            ),
        )
    ]

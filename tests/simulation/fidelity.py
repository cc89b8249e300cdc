"""Requests that the model and a real API server answer alike."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.simulation.objects import Json

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON = "application/json"
DRA = "/apis/resource.k8s.io/v1"
PROTECT = "resource.kubernetes.io/delete-protection"
USER = {"resource": "pods", "name": "p", "uid": "u-1"}
OTHER = {"resource": "pods", "name": "q", "uid": "u-2"}
REQUEST = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
SPEC: Json = {"devices": {"requests": [{"name": "r", "exactly": REQUEST}]}}

Ask = Callable[[str, str, Json | None, str], tuple[int, Json]]
"""Sends a method, a path, a body and its type; returns status and answer."""


def allocated(device: str = "gpu-0") -> Json:
    result = {"driver": "gpu.example.com", "pool": "n", "device": device, "request": "r"}
    return {"devices": {"results": [result]}}


def claim(name: str, **metadata: Any) -> Json:
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    return {**kind, "metadata": {"name": name, **metadata}, "spec": SPEC}


def template(name: str, count: int = 1) -> Json:
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate"}
    request = {"name": "r", "exactly": {**REQUEST, "count": count}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def pod(name: str, node: str = "", **metadata: Any) -> Json:
    spec: Json = {
        "containers": [{"name": "c", "image": "x"}],
        "terminationGracePeriodSeconds": 7,
        "resourceClaims": [{"name": "e0", "resourceClaimName": "c1"}],
    }
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def rule(name: str, effect: str = "NoSchedule") -> Json:
    spec = {
        "deviceSelector": {"driver": "gpu.example.com"},
        "taint": {"key": "example.com/broken", "effect": effect},
    }
    kind = {"apiVersion": "resource.k8s.io/v1beta2", "kind": "DeviceTaintRule"}
    return {**kind, "metadata": {"name": name}, "spec": spec}


def lease(holder: str, **metadata: Any) -> Json:
    kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    return {**kind, "metadata": {"name": "l", **metadata}, "spec": {"holderIdentity": holder}}


def status(**fields: Any) -> Json:
    return {"status": fields}


@dataclass(frozen=True)
class Step:
    """One request."""

    name: str
    method: str
    path: str  # With {ns} for the namespace, {rv} for the version of the last answer
    body: Json | None = None
    kind: str = JSON


C = DRA + "/namespaces/{ns}/resourceclaims"
T = DRA + "/namespaces/{ns}/resourceclaimtemplates"
P = "/api/v1/namespaces/{ns}/pods"
R = "/apis/resource.k8s.io/v1beta2/devicetaintrules"
L = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"


EXACT = "?resourceVersion={rv}&resourceVersionMatch=Exact&"


def patch(name: str, body: Json, sub: str = "/status", kind: str = MERGE) -> Step:
    return Step(name, "PATCH", f"{C}/c1{sub}", body, kind)


def _claims() -> Iterator[Step]:
    yield Step("create a claim", "POST", C, claim("c1"))
    yield Step("create it again", "POST", C, claim("c1"))
    yield Step("a name that no object may have", "POST", C, claim("C_1"))
    yield Step("generate a name", "POST", C, claim("", generateName="g-"))
    yield Step("a status in a create", "POST", C, claim("c2") | status(allocation=allocated()))
    yield Step("a dry run", "POST", C + "?dryRun=All", claim("c3"))
    yield Step("what a dry run made", "GET", f"{C}/c3")
    yield Step("read the third", "GET", f"{C}/c2")
    yield Step("list at a version", "GET", f"{C}{EXACT}limit=1")
    yield Step("read the first", "GET", f"{C}/c1")
    yield Step("one at a version", "GET", f"{C}{EXACT}fieldSelector=metadata.name%3Dc1")
    yield patch("reserve without allocation", status(reservedFor=[USER]))
    yield patch("allocate and reserve", status(allocation=allocated(), reservedFor=[USER]))
    yield patch("the same again", status(allocation=allocated(), reservedFor=[USER]))
    yield patch("a consumer twice", status(reservedFor=[USER, USER]))
    many = [{**USER, "name": f"p{one}", "uid": f"u-{one}"} for one in range(257)]
    yield patch("257 consumers", status(reservedFor=many))
    yield patch("256 consumers", status(reservedFor=many[:256]))
    yield patch("back to one", status(reservedFor=[USER]))
    version = {"metadata": {"resourceVersion": "1"}}
    yield patch("an old version", version | status(reservedFor=None))
    both = {"metadata": {"resourceVersion": "1", "uid": "no"}}
    yield patch("an old version and another uid", both | status(reservedFor=None))
    yield patch("another uid", {"metadata": {"uid": "no"}} | status(reservedFor=None))
    yield patch("a finalizer by status", {"metadata": {"finalizers": [PROTECT]}})
    yield patch("an annotation by status", {"metadata": {"annotations": {"a": "b"}}})
    yield patch("a finalizer", {"metadata": {"finalizers": [PROTECT]}}, "")
    yield patch("an annotation", {"metadata": {"annotations": {"a": "b"}}}, "")
    yield patch("the same annotation", {"metadata": {"annotations": {"a": "b"}}}, "")
    yield patch("status by the main resource", status(reservedFor=None), "")
    yield patch("another allocation", status(allocation=allocated("gpu-1")))
    yield patch("the spec", {"spec": {"devices": {"requests": []}}}, "")
    yield patch("another consumer by strategic patch", status(reservedFor=[OTHER]), kind=STRATEGIC)
    gone = status(reservedFor=[{"$patch": "delete", "uid": "u-2"}])
    yield patch("and without it", gone, kind=STRATEGIC)
    yield patch("and without it again", gone, kind=STRATEGIC)


def _deletions() -> Iterator[Step]:
    no = {"preconditions": {"uid": "no"}}
    yield Step("delete with another uid", "DELETE", f"{C}/c1", no)
    old = {"preconditions": {"resourceVersion": "1"}}
    yield Step("delete with an old version", "DELETE", f"{C}/c1", old)
    yield Step("delete a protected claim", "DELETE", f"{C}/c1", {})
    yield Step("delete it again", "DELETE", f"{C}/c1", {})
    yield Step("create while it is being deleted", "POST", C, claim("c1"))
    yield patch("reserve while deleting", status(reservedFor=[USER, OTHER]))
    more = {"metadata": {"finalizers": [PROTECT, "a.b/c"]}}
    yield patch("a new finalizer while deleting", more, "")
    yield patch(
        "unreserve", status(reservedFor=[{"$patch": "delete", "uid": "u-1"}]), kind=STRATEGIC
    )
    yield patch("deallocate", status(allocation=None, reservedFor=None))
    yield patch("allocate while deleting", status(allocation=allocated()))
    yield Step("read what goes", "GET", f"{C}/c1")
    yield patch("remove the last finalizer", {"metadata": {"finalizers": None}}, "")
    yield Step("what is gone, before", "GET", f"{C}{EXACT}fieldSelector=metadata.name%3Dc1")
    yield Step("what is gone, now", "GET", f"{C}?fieldSelector=metadata.name%3Dc1")
    yield Step("read what is gone", "GET", f"{C}/c1")
    yield patch("patch what is gone", status())
    yield Step("delete what is gone", "DELETE", f"{C}/c1", {})
    yield Step("put without a version", "PUT", f"{C}/c2", claim("c2"))
    yield Step("put an old version", "PUT", f"{C}/c2", claim("c2", resourceVersion="1"))
    yield Step("delete at once", "DELETE", f"{C}/c2", {})


def _others() -> Iterator[Step]:
    yield Step("a template", "POST", T, template("t"))
    yield Step("its spec", "PATCH", f"{T}/t", template("t", 2), MERGE)
    labels = {"metadata": {"labels": {"a": "b"}}}
    yield Step("its labels", "PATCH", f"{T}/t", labels, MERGE)
    yield Step("a pod", "POST", P, pod("p1"))
    named = {"name": "e0", "resourceClaimName": "c9"}
    publish = status(resourceClaimStatuses=[named])
    yield Step("publish", "PATCH", f"{P}/p1/status", publish, STRATEGIC)
    yield Step("publish again", "PATCH", f"{P}/p1/status", publish, STRATEGIC)
    wrong = {"metadata": {"uid": "no"}} | publish
    yield Step("publish with another uid", "PATCH", f"{P}/p1/status", wrong, STRATEGIC)
    old = {"metadata": {"resourceVersion": "1"}}
    other = status(resourceClaimStatuses=[named | {"resourceClaimName": "c8"}])
    none = status(resourceClaimStatuses=[{"name": "e9", "resourceClaimName": "c9"}])
    yield Step("publish for no entry", "PATCH", f"{P}/p1/status", none, STRATEGIC)
    yield Step("publish with an old version", "PATCH", f"{P}/p1/status", old | other, STRATEGIC)
    yield Step("delete a pod without a node", "DELETE", f"{P}/p1", {})
    yield Step("the pod is gone", "GET", f"{P}/p1")
    yield Step("a pod with a node", "POST", P, pod("p2", "n"))
    yield Step("delete it", "DELETE", f"{P}/p2", {})
    yield Step("delete it once more", "DELETE", f"{P}/p2", {})
    yield Step("by force", "DELETE", f"{P}/p2", {"gracePeriodSeconds": 0})
    yield Step("it is gone", "GET", f"{P}/p2")
    yield Step("a pod that has ended", "POST", P, pod("p3", "n"))
    yield Step("its end", "PATCH", f"{P}/p3/status", status(phase="Succeeded"), STRATEGIC)
    yield Step("delete what has ended", "DELETE", f"{P}/p3", {})
    yield Step("it is gone at once", "GET", f"{P}/p3")
    yield Step("a rule", "POST", R, rule("r-{ns}"))
    taint = {"spec": {"taint": {"effect": "NoExecute"}}}
    yield Step("its effect", "PATCH", R + "/r-{ns}", taint, MERGE)
    condition = {
        "type": "EvictionInProgress",
        "status": "False",
        "reason": "None",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    body = status(conditions=[condition])
    yield Step("its status", "PATCH", R + "/r-{ns}/status", body, MERGE)
    yield Step("delete the rule", "DELETE", R + "/r-{ns}", {})
    yield Step("a lease", "POST", L, lease("a"))
    yield Step("a lease without a version", "PUT", L + "/l", lease("b"))
    yield Step("a lease with an old version", "PUT", L + "/l", lease("b", resourceVersion="1"))


def steps() -> list[Step]:
    """Return all requests, in an order that matters."""
    return [*_claims(), *_deletions(), *_others()]


def answers(ask: Ask, namespace: str) -> dict[str, object]:
    """Return what matters of the answer to each request."""
    seen: set[str] = set()
    found: dict[str, object] = {}
    last = ""
    for step in steps():
        body = _in(step.body, namespace)
        path = step.path.format(ns=namespace, rv=last)
        code, answer = ask(step.method, path, body, step.kind)
        found[step.name] = _facts(code, answer, seen)
        last = str((answer.get("metadata") or {}).get("resourceVersion"))
        seen.add(last)
    return found


def _in(body: Json | None, namespace: str) -> Json | None:
    if body is None or "{ns}" not in str((body.get("metadata") or {}).get("name")):
        return body
    name = body["metadata"]["name"].format(ns=namespace)
    return {**body, "metadata": {**body["metadata"], "name": name}}


def _facts(code: int, answer: Mapping[str, Any], seen: set[str]) -> object:
    metadata = answer.get("metadata") or {}
    if code >= 400:
        causes = (answer.get("details") or {}).get("causes") or ()
        return code, answer.get("reason"), any(c.get("field") == "metadata.uid" for c in causes)
    if "items" in answer:
        names = [one["metadata"]["name"] for one in answer["items"]]
        return names, metadata.get("remainingItemCount")
    if "uid" not in metadata:
        return 200, "Status"
    version, found = metadata.get("resourceVersion"), answer.get("status")
    fields = found if isinstance(found, dict) else {}
    return {
        "kind": answer.get("kind"),
        "new version": bool(version) and version not in seen,
        "deleting": bool(metadata.get("deletionTimestamp")),
        "grace": metadata.get("deletionGracePeriodSeconds"),
        "finalizers": metadata.get("finalizers") or [],
        "annotations": metadata.get("annotations") or {},
        "generation": metadata.get("generation") if answer.get("kind") == "DeviceTaintRule" else 0,
        "allocated": bool(fields.get("allocation")),
        "reserved": len(fields.get("reservedFor") or ()),
        "named": fields.get("resourceClaimStatuses") or [],
        "phase": fields.get("phase"),
        "conditions": len(fields.get("conditions") or ()),
    }

"""Manifests as the API server stores them: with its defaults, and those of its admission plugins.

Every answer about a manifest is computed on the result, so that it is the one after
`kubectl apply`. Sources: pkg/apis/core/v1/defaults.go, pkg/apis/resource/v1/defaults.go, the
admission plugins Priority and DefaultTolerationSeconds. What only objects of the cluster decide
(LimitRange, RuntimeClass, webhooks) is not added.
"""

from collections.abc import Mapping
from typing import Any

from dragoman.model.fields import MalformedObjectError
from dragoman.model.needs import Needs

Document = Mapping[str, Any]

_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"
_SECONDS = 300
"""Seconds for which pods stay on a node that is not ready (DefaultTolerationSeconds)."""
PRIORITIES: Mapping[str, int] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""Values of the classes that every cluster has."""


def pod_spec(spec: Document, priorities: Mapping[str, int] = PRIORITIES) -> dict[str, Any]:
    """Return the spec of a pod with its defaults.

    Args:
        spec: As a manifest has it; parts of another shape stay as they are.
        priorities: Value of each PriorityClass; the empty name has that of the global default.
    """
    changed = {
        **spec,
        **{
            name: [_container(one, spec) for one in spec[name]]
            for name in ("containers", "initContainers")
            if isinstance(spec.get(name), list)
        },
    }
    changed.setdefault("schedulerName", "default-scheduler")
    grace = changed.get("terminationGracePeriodSeconds")
    negative = isinstance(grace, int) and grace < 0
    changed["terminationGracePeriodSeconds"] = 30 if grace is None else 1 if negative else grace
    changed["tolerations"] = _tolerations(changed.get("tolerations"))
    name = str(changed.get("priorityClassName") or "")
    if changed.get("priority") is None and (name in priorities or not name):
        changed["priority"] = priorities.get(name, 0)
    changed.setdefault("preemptionPolicy", "PreemptLowerPriority")
    if isinstance(changed.get("resources"), Mapping):
        changed["resources"] = _pod_level(changed)
    return changed


def _container(container: Any, spec: Document) -> Any:
    """Copy limits to requests, and ports to the node's where the pod is in its network."""
    if not isinstance(container, Mapping):
        return container
    changed = dict(container)
    resources = container.get("resources")
    if isinstance(resources, Mapping) and isinstance(resources.get("limits"), Mapping):
        requests = resources.get("requests")
        if requests is None or isinstance(requests, Mapping):
            both = {**resources["limits"], **(requests or {})}
            changed["resources"] = {**resources, "requests": both}
    ports = container.get("ports")
    if spec.get("hostNetwork") is True and isinstance(ports, list):
        changed["ports"] = [_port(one) for one in ports]
    return changed


def _port(port: Any) -> Any:
    if isinstance(port, Mapping) and not port.get("hostPort") and "containerPort" in port:
        return {**port, "hostPort": port["containerPort"]}
    return port


def _tolerations(given: Any) -> Any:
    """Add the two that keep a pod for a while on a node that does not answer."""
    if given is not None and not isinstance(given, list):
        return given
    found = [*(given or ())]
    for key in (_NOT_READY, _UNREACHABLE):
        if not any(_tolerates(one, key) for one in given or ()):
            extra = {"key": key, "operator": "Exists", "effect": "NoExecute"}
            found.append({**extra, "tolerationSeconds": _SECONDS})
    return found


def _tolerates(one: Any, key: str) -> bool:
    if not isinstance(one, Mapping):
        return False
    return one.get("key") in (key, None, "") and one.get("effect") in ("NoExecute", None, "")


def _pod_level(spec: Document) -> Any:
    """Set requests of the pod as such: the sum of its containers', else its limits."""
    resources = spec["resources"]
    limits, requests = resources.get("limits"), resources.get("requests") or {}
    if not isinstance(limits, Mapping) or not limits or not isinstance(requests, Mapping):
        return resources
    sums = _sums({name: value for name, value in spec.items() if name != "resources"})
    found = {**limits, **sums, **requests}
    kept = {name: value for name, value in found.items() if _is_pod_level(name)}
    return {**resources, "requests": kept} if kept else resources


def _sums(spec: Document) -> dict[str, str]:
    """Return what the containers of a pod request together, of what may be overcommitted."""
    try:
        needs = Needs.parse({**spec, "overhead": {}})
    except MalformedObjectError:
        return {}
    return {
        name: _quantity(value)
        for name, value in needs.requests.items()
        if name in ("cpu", "memory")
    }


def _quantity(nanos: int) -> str:
    return str(nanos // 10**9) if nanos % 10**9 == 0 else f"{nanos // 10**6}m"


def _is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def claim_spec(spec: Document) -> Document:
    """Return the spec of a claim with its defaults: allocationMode and count."""
    devices = spec.get("devices")
    if not isinstance(devices, Mapping) or not isinstance(
        requests := devices.get("requests"), list
    ):
        return spec
    return {**spec, "devices": {**devices, "requests": [*map(_request, requests)]}}


def _request(request: Any) -> Any:
    if not isinstance(request, Mapping):
        return request
    changed = dict(request)
    if "exactly" in request:
        changed["exactly"] = _exact(request["exactly"])
    if isinstance(request.get("firstAvailable"), list):
        changed["firstAvailable"] = [_exact(one) for one in request["firstAvailable"]]
    return changed


def _exact(request: Any) -> Any:
    if not isinstance(request, Mapping):
        return request
    mode = request.get("allocationMode") or "ExactCount"
    count: Document = {"count": request.get("count") or 1} if mode == "ExactCount" else {}
    return {**request, "allocationMode": mode, **count}

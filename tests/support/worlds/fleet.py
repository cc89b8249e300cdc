"""A cluster of several drivers in which a pod waits: one call for each thing that is there."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = dict[str, Any]
GPU, TOY, NIC = "gpu.nvidia.com", "toy.example.com", "nic.vendor.test"
BEFORE, CREATED = "2026-11-20T12:00:00Z", "2026-11-22T11:48:00Z"
H100, A100, L4 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-40GB", "NVIDIA L4"
ROOT = "resource.kubernetes.io/pcieRoot"
REFUSED: Json = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/5 nodes are available: 5 cannot allocate all claims.",
    "lastTransitionTime": CREATED,
}


def _meta(name: str, namespace: str = "", created: str = BEFORE, **more: Any) -> Json:
    where = {"namespace": namespace} if namespace else {}
    return {
        "name": name,
        **where,
        "uid": f"uid-{namespace}-{name}",
        "creationTimestamp": created,
        **more,
    }


def node(
    name: str,
    *,
    taints: Sequence[Json] = (),
    labels: Mapping[str, str] | None = None,
    cordoned: bool = False,
    ready: str = "True",
    **amounts: str,
) -> Json:
    """Return a node with 16 CPUs, or other amounts of resources."""
    spec: Json = {"taints": list(taints)} if taints else {}
    if cordoned:
        spec["unschedulable"] = True
    room = {"cpu": "16", "memory": "64Gi", "pods": "110", **amounts}
    state = {"type": "Ready", "status": ready, "lastTransitionTime": CREATED}
    about = _meta(name, labels={"kubernetes.io/hostname": name, **(labels or {})})
    status = {"allocatable": room, "conditions": [state]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": about, "spec": spec, "status": status}


def taint(key: str, effect: str = "NoSchedule", value: str = "") -> Json:
    """Return a taint, of a node or of a device."""
    return {"key": key, **({"value": value} if value else {}), "effect": effect}


def device(
    name: str, attributes: Mapping[str, Any] | None = None, memory: str = "", **more: Any
) -> Json:
    """Return a device; attributes are plain values, lists and versions (`v1.2.3`)."""
    made: Json = {"name": name, **more}
    if attributes:
        made["attributes"] = {key: _value(one) for key, one in attributes.items()}
    if memory:
        made["capacity"] = {"memory": {"value": memory}, **made.get("capacity", {})}
    return made


def _value(value: Any) -> Json:
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    if isinstance(value, str) and value.startswith("v") and value[1:2].isdigit():
        return {"version": value[1:]}
    return {"string": value}


def gpu(name: str, product: str = H100, memory: str = "80Gi", **more: Any) -> Json:
    """Return a GPU; `attributes` are further ones."""
    attributes = {"productName": product, "type": "gpu", **more.pop("attributes", {})}
    return device(name, attributes, memory, **more)


def pool(driver: str, where: str, *devices: Json | str, part: int = 0, **more: Any) -> Json:
    """Return a slice of a node's pool; `more` are fields of `spec.pool` and of `spec`.

    Without `nodeName`, as with `nodeName=""`, the slice says itself which nodes see it.
    """
    about = {"name": where, "generation": 1, "resourceSliceCount": 1}
    about |= {key: more.pop(key) for key in [*more] if key in about}
    spec: Json = {"driver": driver, "nodeName": where, "pool": about, **more}
    if not spec["nodeName"]:
        del spec["nodeName"]
    if devices:
        spec["devices"] = [device(one) if isinstance(one, str) else one for one in devices]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": _meta(f"{about['name']}-{driver}-{part}"),
        "spec": spec,
    }


def kind(name: str, *selectors: str, **spec: Any) -> Json:
    """Return a DeviceClass; without selectors, of all devices of the driver of its name."""
    texts = selectors or (f'device.driver == "{name}"',)
    found = [{"cel": {"expression": one}} for one in texts]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": _meta(name),
        "spec": {"selectors": found, **spec},
    }


def exactly(name: str = GPU, count: int = 1, *selectors: str, **more: Any) -> Json:
    """Return what one request is for."""
    made: Json = {"deviceClassName": name}
    if more.get("allocationMode") != "All":
        made |= {"allocationMode": "ExactCount", "count": count}
    if selectors:
        made["selectors"] = [{"cel": {"expression": one}} for one in selectors]
    return {**made, **more}


def request(name: str = "gpu", *given: Any, **more: Any) -> Json:
    """Return a request; its other arguments are those of `exactly`."""
    return {"name": name, "exactly": exactly(*given, **more)}


def either(name: str, **alternatives: Json) -> Json:
    """Return a prioritized list of alternatives."""
    found = [{"name": key, **one} for key, one in alternatives.items()]
    return {"name": name, "firstAvailable": found}


def claim(
    name: str, namespace: str, requests: Iterable[Json], constraints: Iterable[Json] = ()
) -> Json:
    """Return a claim without devices."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": _meta(name, namespace, CREATED),
        "spec": _spec(requests, constraints),
    }


def _spec(requests: Iterable[Json], constraints: Iterable[Json]) -> Json:
    devices: Json = {"requests": [*requests]}
    if found := [*constraints]:
        devices["constraints"] = found
    return {"devices": devices}


def template(
    name: str, namespace: str, requests: Iterable[Json], constraints: Iterable[Json] = ()
) -> Json:
    """Return a template of claims."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": _meta(name, namespace),
        "spec": {"spec": _spec(requests, constraints)},
    }


def holder(
    name: str,
    where: str,
    devices: Iterable[str],
    *,
    driver: str = GPU,
    at: str = "",
    status: Mapping[str, Any] | None = None,
    cpu: str = "",
    shares: Mapping[str, str] | None = None,
    deleting: str = "",
    **metadata: Any,
) -> list[Json]:
    """Return a pod that has devices, and its claim.

    Args:
        name: `namespace/name` of the pod.
        where: Its node.
        devices: Their names; none for a pod without a claim.
        driver: Of the devices.
        at: Their pool; by default that of the node.
        status: Of the pod; by default it runs.
        cpu: What it requests.
        shares: Consumed capacity of each device.
        deleting: Since when it is being deleted.
        metadata: Of the pod.
    """
    namespace, _, own = name.partition("/")
    names = [*devices]
    if deleting:
        metadata |= {"deletionTimestamp": deleting, "deletionGracePeriodSeconds": 30}
    container: Json = {"name": "main", "resources": {}}
    if cpu:
        container["resources"]["requests"] = {"cpu": cpu}
    spec: Json = {"nodeName": where, "containers": [container]}
    about = _meta(own, namespace, **metadata)
    made: list[Json] = []
    if names:
        spec["resourceClaims"] = [{"name": "gpu", "resourceClaimName": f"{own}-gpu"}]
        container["resources"]["claims"] = [{"name": "gpu"}]
        wanted = claim(f"{own}-gpu", namespace, [request("gpu", driver, len(names))])
        results: list[Json] = [
            {"request": "gpu", "driver": driver, "pool": at or where, "device": one}
            for one in names
        ]
        if shares:
            for index, one in enumerate(results):
                one |= {"consumedCapacity": dict(shares), "shareID": f"{about['uid']}-{index}"}
        user = {"resource": "pods", "name": own, "uid": about["uid"]}
        made.append(
            {
                **wanted,
                "status": {
                    "allocation": {
                        "devices": {"results": results},
                        **({} if at else {"nodeSelector": only(where)}),
                    },
                    "reservedFor": [user],
                },
            }
        )
    running = {"phase": "Running", **(status or {})}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec, "status": running}
    return [*made, pod]


def only(where: str) -> Json:
    """Return a node selector that admits one node."""
    field = {"key": "metadata.name", "operator": "In", "values": [where]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def wants(
    *requests: Json,
    constraints: Iterable[Json] = (),
    made: bool = True,
    amounts: Mapping[str, str] | None = None,
    status: Mapping[str, Any] | None = None,
    uses: Sequence[Json] = ({"name": "gpu"},),
    **spec: Any,
) -> list[Json]:
    """Return pod `ml/wants`, which waits for a claim from template `wanted`.

    Args:
        requests: Of the template; none for a pod without one.
        constraints: Of the template.
        made: Whether the claim controller has made the claim.
        amounts: What the container requests.
        status: Of the pod; by default the scheduler has refused it.
        uses: What the container names of the claims.
        spec: Further fields of the pod.
    """
    rules = [*constraints]
    resources: Json = {"claims": list(uses)} if requests and uses else {}
    if amounts:
        resources |= {"requests": dict(amounts), "limits": dict(amounts)}
    whole: Json = {"containers": [{"name": "main", "resources": resources}], **spec}
    state: Json = {"phase": "Pending", "conditions": [REFUSED], **(status or {})}
    found: list[Json] = []
    about = _meta("wants", "ml", CREATED)
    if requests:
        whole.setdefault("resourceClaims", [{"name": "gpu", "resourceClaimTemplateName": "wanted"}])
        found.append(template("wanted", "ml", requests, rules))
    if requests and made:
        own = claim("wants-gpu", "ml", requests, rules)
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "wants", "uid": about["uid"]}
        own["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        own["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "gpu"}
        found.append(own)
        state["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": "wants-gpu"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": whole, "status": state}
    return [*found, pod]


def toys(busy: int = 2) -> list[Json]:
    """Return two nodes of another driver, all of whose devices are in use, and its class."""
    found: list[Json] = [kind(TOY)]
    for index in range(busy):
        where = f"toy-{index}"
        found += [node(where), pool(TOY, where, "t0", "t1")]
        found += holder(f"shop/web-{index}", where, ["t0", "t1"], driver=TOY)
    return found

"""What the cluster of `make bench-scale` has: slices of many nodes, pods, and claims that run."""

from collections.abc import Iterator
from typing import Any

from tests.bench.claims import objects
from tests.bench.claims.lab import Lab
from tests.bench.claims.traffic import STRATEGIC, Request
from tests.support import manifests

NODES, PODS, WITH_CLAIMS = 5_000, 50_000, 10_000
DEVICES = 8
"""Devices of each node, one slice."""
SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def node_name(index: int) -> str:
    """Return the name of a node."""
    return f"node-{index:05}"


def slices(nodes: int) -> Iterator[Request]:
    """Create the slice of each node; every device has attributes as a GPU has them."""
    for index in range(nodes):
        devices = [device(index, number) for number in range(DEVICES)]
        yield Request("POST", SLICES, manifests.resource_slice(node_name(index), devices))


def device(node: int, number: int) -> dict[str, Any]:
    """Return one device of a node."""
    return {
        "name": f"device-{number}",
        "attributes": {
            "uuid": {"string": f"GPU-{node:08x}-{number:04x}"},
            "model": {"string": "example-80"},
            "driverVersion": {"version": "580.65.6"},
        },
        "capacity": {"memory": {"value": "80Gi"}},
    }


def settle(lab: Lab, pods: int, nodes: int) -> None:
    """Create running pods, each with a claim that has a device of a node."""
    lab.send(objects.create_pods(lab.namespace, pods))
    spec = manifests.claim_spec(objects.CLASS)
    made = [(pod, objects.claim_of(pod, "entry-0", spec)) for pod in lab.pods()]
    lab.send(objects.create_claim(claim) for _, claim in made)
    lab.send(publish(pod, claim) for pod, claim in made)
    lab.send(allocate(pod, claim, index, nodes) for index, (pod, claim) in enumerate(made))


def publish(pod: objects.Json, claim: objects.Json) -> Request:
    """Write the claim's name into the pod's status, and that the pod runs."""
    request = objects.publish(pod, [dict(claim)])
    status = request.body["status"] | {"phase": "Running"}
    return request._replace(body=request.body | {"status": status})


def allocate(pod: objects.Json, claim: objects.Json, index: int, nodes: int) -> Request:
    """Give a claim a device, and reserve it for its pod, as the scheduler does."""
    meta, owner = claim["metadata"], pod["metadata"]
    result = {
        "request": "devices",
        "driver": manifests.DRIVER,
        "pool": node_name(index % nodes),
        "device": f"device-{index // nodes % DEVICES}",
    }
    consumer = {"resource": "pods", "name": owner["name"], "uid": owner["uid"]}
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [consumer]}
    path = f"{objects.claims_path(meta['namespace'], meta['name'])}/status"
    return Request("PATCH", path, {"status": status}, STRATEGIC)

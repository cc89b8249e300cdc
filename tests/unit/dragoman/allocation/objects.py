"""API objects for tests of the allocator."""

from typing import Any

from dragoman.allocation import (
    Claim,
    Cluster,
    Profile,
    parse_claim,
    parse_class,
    parse_node,
    parse_slice,
    parse_taint_rule,
    profile,
)

Json = dict[str, Any]

DRIVER = "gpu.example.com"


def node(name: str = "node-1", **labels: str) -> Json:
    return {"metadata": {"name": name, "labels": labels}}


def device(name: str, **more: Any) -> Json:
    return {"name": name, **more}


def slice_(name: str, devices: list[Json], **spec: Any) -> Json:
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    where = {} if {"allNodes", "nodeSelector", "perDeviceNodeSelection"} & spec.keys() else {
        "nodeName": "node-1"
    }  # fmt: skip
    return {
        "metadata": {"name": name},
        "spec": {"driver": DRIVER, "pool": pool, **where, "devices": devices, **spec},
    }


def device_class(name: str = "gpu", *expressions: Any, **spec: Any) -> Json:
    selectors = [{"cel": {"expression": text}} for text in expressions]
    return {"metadata": {"name": name}, "spec": {"selectors": selectors, **spec}}


def request(name: str = "r", count: int = 1, *expressions: str, **more: Any) -> Json:
    body = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count, **more}
    if expressions:
        body["selectors"] = [{"cel": {"expression": text}} for text in expressions]
    return {"name": name, "exactly": body}


def claim(name: str = "claim", *requests: Json, **devices: Any) -> Json:
    spec = {"devices": {"requests": list(requests or [request()]), **devices}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec}


def held(name: str, *devices: str, pool: str = "node-1", **result: Any) -> Json:
    results = [
        {"request": "r", "driver": DRIVER, "pool": pool, "device": device, **result}
        for device in devices
    ]
    return {**claim(name), "status": {"allocation": {"devices": {"results": results}}}}


def cluster(
    *slices: Json,
    nodes: list[Json] | None = None,
    classes: list[Json] | None = None,
    claims: list[Json] | None = None,
    rules: list[Json] | None = None,
    of: Profile | None = None,
) -> Cluster:
    return Cluster(
        of or profile("1.36"),
        nodes=map(parse_node, nodes or [node()]),
        slices=map(parse_slice, slices),
        classes=map(parse_class, classes or [device_class()]),
        claims=map(parse_claim, claims or []),
        taint_rules=map(parse_taint_rule, rules or []),
    )


def pod(*claims: Json) -> list[Claim]:
    return [parse_claim(one) for one in claims or [claim()]]

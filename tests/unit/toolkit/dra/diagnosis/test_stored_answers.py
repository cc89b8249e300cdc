"""Explain says of manifests what it says once the API server has stored them.

What is stored was recorded from a kube-apiserver of 1.36: a slow test compares all defaults with a
real one; here each of them decides an answer.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.dra import Desk
from tests.support.worlds.fleet import (
    GPU,
    claim,
    gpu,
    holder,
    kind,
    node,
    pool,
    taint,
    template,
    toys,
    wants,
)

Json = dict[str, Any]
NOT_READY = "node.kubernetes.io/not-ready"
FOR_A_WHILE = [
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": "NoExecute"}
    | {"tolerationSeconds": 300}
    for name in ("not-ready", "unreachable")
]
SAME = ("answer", "fits", "nodes", "suggestions", "deallocated", "undecided", "schedulerMessage")
"""Fields of a document that say nothing of whether the pod exists."""


def resources(**more: Json) -> Json:
    return {"containers": [{"name": "main", "resources": {"claims": [{"name": "gpu"}], **more}}]}


def requested(**exactly: Any) -> list[Json]:
    return [{"name": "gpu", "exactly": {"deviceClassName": GPU, **exactly}}]


def listed(**more: Any) -> list[Json]:
    found = [{"name": "small", "deviceClassName": GPU, **more}]
    return [{"name": "gpu", "firstAvailable": found}]


ONE: Json = {"allocationMode": "ExactCount", "count": 1}
SIDECAR: Json = {"name": "s", "restartPolicy": "Always"}
CPU: Json = {"cpu": "12"}
# Spec of the pod and requests of the claim as written, and what of them is stored otherwise.
FIELDS = {
    "limits are requests": (
        resources(limits=CPU),
        requested(**ONE),
        resources(limits=CPU, requests=CPU),
        None,
    ),
    "requests stay": (
        resources(limits=CPU, requests={"cpu": "1"}),
        requested(**ONE),
        resources(limits=CPU, requests={"cpu": "1"}),
        None,
    ),
    "limits of a sidecar": (
        {**resources(), "initContainers": [{**SIDECAR, "resources": {"limits": CPU}}]},
        requested(**ONE),
        {
            **resources(),
            "initContainers": [{**SIDECAR, "resources": {"limits": CPU, "requests": CPU}}],
        },
        None,
    ),
    "limits of the pod": (
        {**resources(), "resources": {"limits": CPU}},
        requested(**ONE),
        {**resources(), "resources": {"limits": CPU, "requests": CPU}},
        None,
    ),
    "limits of an extended resource": (
        resources(limits={"nvidia.com/dra-gpu": "3"}),
        requested(**ONE),
        resources(limits={"nvidia.com/dra-gpu": "3"}, requests={"nvidia.com/dra-gpu": "3"}),
        None,
    ),
    "mode and count": (resources(), requested(), None, requested(**ONE)),
    "the count alone": (
        resources(),
        requested(allocationMode="ExactCount"),
        None,
        requested(**ONE),
    ),
    "the mode alone": (
        resources(),
        requested(count=3),
        None,
        requested(allocationMode="ExactCount", count=3),
    ),
    "all devices": (
        resources(),
        requested(allocationMode="All"),
        None,
        requested(allocationMode="All"),
    ),
    "admin access": (
        resources(),
        requested(adminAccess=True),
        None,
        requested(adminAccess=True, **ONE),
    ),
    "alternatives": (resources(), listed(), None, listed(**ONE)),
    "alternatives that count": (
        resources(),
        listed(count=3),
        None,
        listed(allocationMode="ExactCount", count=3),
    ),
}


def cluster(*, sick: bool) -> list[Json]:
    """Return two nodes with GPUs, one of them for whom tolerates it."""
    taints = [taint(NOT_READY, "NoExecute")] if sick else []
    found = [*toys(), kind(GPU, extendedResourceName="nvidia.com/dra-gpu")]
    found += [node("big-1", taints=taints), node("big-2", cpu="4")]
    found += [pool(GPU, "big-1", gpu("g0"), gpu("g1")), pool(GPU, "big-2", gpu("g0"))]
    return [*found, *holder("jobs/x", "big-2", ["g0"]), *holder("ops/y", "big-1", [], cpu="6")]


@pytest.mark.parametrize(
    ("field", "sick"),
    [*((field, False) for field in FIELDS), pytest.param("mode and count", True, id="tolerations")],
)
def test_an_answer_from_a_file_is_the_one_after_it_is_stored(
    tmp_path: Path, field: str, *, sick: bool
) -> None:
    spec, requests, stored_spec, stored_requests = FIELDS[field]
    entries = [{"name": "gpu", "resourceClaimTemplateName": "wanted"}]
    (pod,) = wants(**{**spec, "resourceClaims": entries})
    file = tmp_path / "pod.yaml"
    plain = {key: pod[key] for key in ("apiVersion", "kind", "spec")}
    plain["metadata"] = {"name": "wants", "namespace": "ml"}
    file.write_text(yaml.safe_dump_all([template("wanted", "ml", requests), plain]))
    written = Desk(tmp_path, *cluster(sick=sick)).document("explain", "-f", file, status=None)
    kept = stored_requests or requests
    made = claim("wants-gpu", "ml", kept)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "wants", "uid": pod["metadata"]["uid"]}
    made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    after = {**(stored_spec or spec), "resourceClaims": entries, "tolerations": FOR_A_WHILE}
    after |= {"schedulerName": "default-scheduler", "priority": 0}
    named = [{"name": "gpu", "resourceClaimName": "wants-gpu"}]
    (there,) = wants(**after, status={"resourceClaimStatuses": named})
    applied = [template("wanted", "ml", kept), made, there]
    desk = Desk(tmp_path, *cluster(sick=sick), *applied)
    stored = desk.document("explain", "pod", "wants", "-n", "ml", status=None)
    assert {key: written[key] for key in SAME} == {key: stored[key] for key in SAME}

"""Kinds of situations in clusters of several drivers: what a right answer says, and what not.

Each kind has two worlds or more, so that no answer is right for one of them alone.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.dra import Desk, invoke
from tests.support.worlds.fleet import (
    A100,
    CREATED,
    GPU,
    H100,
    L4,
    NIC,
    ROOT,
    TOY,
    claim,
    device,
    either,
    exactly,
    gpu,
    holder,
    kind,
    node,
    pool,
    request,
    taint,
    template,
    toys,
    wants,
)

Json = dict[str, Any]
MIG = "mig.vendor.test"
A = f'device.attributes["{GPU}"]'
C = f'device.capacity["{GPU}"]'
EXPLAIN = "explain pod wants -n ml"
OTHERS = r"shop/web"
"""Who has the devices of the other driver: no pod here wants one of these."""
ZONE = "topology.kubernetes.io/zone"
PAIR = [{"matchAttribute": ROOT, "requests": ["gpu", "nic"]}]
BOTH = [request(), request("nic", NIC)]
UUID = "GPU-11111111-2222-3333-4444-555555555555"
DRIVEN: Json = {"resources": {"claims": [{"name": "gpu"}]}, "name": "main"}


def two(*, busy: bool = True) -> list[Json]:
    """Return two nodes with GPUs of two models."""
    pools = [pool(GPU, "big-1", gpu("g0"), gpu("g1")), pool(GPU, "big-2", gpu("g0", A100, "40Gi"))]
    found = [*toys(), kind(GPU), node("big-1"), node("big-2"), *pools]
    if busy:
        found += holder("jobs/train", "big-1", ["g0", "g1"])
        found += holder("jobs/eval", "big-2", ["g0"])
    return found


def one(*devices: Json, **more: Any) -> list[Json]:
    """Return one node with GPUs beside nodes of another driver."""
    return [*toys(), kind(GPU), node("big-1", **more), pool(GPU, "big-1", *devices)]


def partitions(*busy: str, need: str = "4") -> list[Json]:
    """Return a card of seven slices, of which each partition takes some."""

    def partition(name: str) -> Json:
        takes = {"counterSet": "slices", "counters": {"slices": {"value": need}}}
        return device(name, {"profile": "3g"}, consumesCounters=[takes])

    there = [partition(f"p{index}") for index in range(3)]
    counters = [{"name": "slices", "counters": {"slices": {"value": "7"}}}]
    found = [*toys(), kind(MIG), node("part-1"), pool(MIG, "part-1", *there, resourceSliceCount=2)]
    found.append(pool(MIG, "part-1", part=1, resourceSliceCount=2, sharedCounters=counters))
    for name in busy:
        found += holder(f"jobs/{name}", "part-1", [name], driver=MIG)
    return found


def port(where: str = "net-1") -> list[Json]:
    """Return a network port of 40Gi that pods share."""
    shared: Json = {"capacity": {"bandwidth": {"value": "40Gi"}}, "allowMultipleAllocations": True}
    return [kind(NIC), node(where), pool(NIC, where, device("port0", {"kind": "roce"}, **shared))]


def roots(*of_gpus: str, nic: str) -> list[Json]:
    """Return a node whose GPUs and NIC are on these PCIe roots."""
    found = [gpu(f"g{at}", attributes={ROOT: of_gpu}) for at, of_gpu in enumerate(of_gpus)]
    return [*one(*found), kind(NIC), pool(NIC, "big-1", device("e0", {ROOT: nic}))]


def named(name: str, *, of_template: bool = True) -> Json:
    """Return what a pod has that names a template, or a claim."""
    field = "resourceClaimTemplateName" if of_template else "resourceClaimName"
    return {"resourceClaims": [{"name": "gpu", field: name}], "containers": [DRIVEN]}


def gated(*names: str) -> Json:
    """Return the fields of a pod with scheduling gates."""
    condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}
    held = {"conditions": [{**condition, "lastTransitionTime": CREATED}]}
    return {"schedulingGates": [{"name": name} for name in names], "status": held}


def asking(amount: str) -> Json:
    return {"capacity": {"requests": {"bandwidth": amount}}}


def found_by(*attributes: tuple[str, str]) -> list[Json]:
    return [*one(gpu("g0", attributes=dict(attributes))), *holder("ml/a", "big-1", ["g0"])]


def named_gpu(selector: str, *, busy: bool = True) -> list[Json]:
    """Return the world of two models, and a pod that selects by a name."""
    return [*two(busy=busy), *wants(request("gpu", GPU, 1, f"{A}.productName{selector}"))]


def zoned(**spec: Any) -> list[Json]:
    """Return two zones with a GPU each, and a pod that demands something of its node."""
    found = [*toys(), kind(GPU)]
    for name, zone in (("big-1", "eu-1a"), ("big-2", "eu-1b")):
        found += [node(name, labels={ZONE: zone, "rack": zone}), pool(GPU, name, gpu("g0"))]
    return [*found, *wants(request(), **spec)]


def demanding(key: str, operator: str, *values: str) -> Json:
    """Return the fields of a pod with a required node affinity."""
    expression = {"key": key, "operator": operator, **({"values": [*values]} if values else {})}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {required: terms}}}


def begun(field: str = "containerStatuses", phase: str = "Pending", **state: Any) -> list[Json]:
    """Return a pod with a device and a node, whose container does not run."""
    found = [*one(gpu("g0")), *plugin("big-1")]
    statuses = [{"name": "main", "state": state}]
    return [*found, *holder("ml/wants", "big-1", ["g0"], status={"phase": phase, field: statuses})]


def plugin(where: str, ready: str = "True") -> list[Json]:
    """Return the plugin pod of the driver of GPUs on a node."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "kp", "uid": "kp"}
    (pod,) = holder(
        f"kube-system/kp-{where}",
        where,
        [],
        ownerReferences=[{**owner, "controller": True}],
        status={"conditions": [{"type": "Ready", "status": ready}]},
    )
    paths = ("plugins_registry", f"plugins/{GPU}")
    volumes = [{"name": one, "hostPath": {"path": f"/var/lib/kubelet/{one}"}} for one in paths]
    return [{**pod, "spec": {**pod["spec"], "volumes": volumes}}]


def quota(name: str, hard: int, used: int) -> Json:
    about = {"name": "gpus", "namespace": "ml", "uid": "quota"}
    spec = {"hard": {name: str(hard)}}
    made = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": about, "spec": spec}
    return {**made, "status": {**spec, "used": {name: str(used)}}}


def not_made(count: int) -> list[Json]:
    return wants(request("gpu", GPU, count), made=False, status={"conditions": []})


def published(driver: str, **amounts: str) -> list[Json]:
    """Return a node whose device plugin publishes resources beside the driver's devices."""
    where = node("m1")
    room = where["status"]["allocatable"]
    room |= {name.replace("__", "/"): one for name, one in amounts.items()}
    where["status"]["capacity"] = room
    return [kind(driver), where, pool(driver, "m1", device("d0", {"model": "x"}))]


def reserved(*names: str) -> list[Json]:
    """Return a claim with a device, which pod `jobs/p` uses, reserved for other pods."""
    held, pod = holder("jobs/p", "big-1", ["g0"])
    users = [{"resource": "pods", "name": one, "uid": f"uid-jobs-{one}"} for one in names]
    status = {"allocation": held["status"]["allocation"], "reservedFor": users}
    return [*one(gpu("g0")), {**held, "status": status}, pod]


def reserved_by_departed(name: str) -> list[Json]:
    """Return a claim that safe release keeps for a pod that left."""
    *rest, held, _ = reserved(name)
    left = {"uid": f"uid-jobs-{name}", "pod": name, "node": "big-1", "graceSeconds": 30}
    annotations = {"dragoman.dev/left-consumers": json.dumps([{**left, "left": CREATED}])}
    return [*rest, {**held, "metadata": {**held["metadata"], "annotations": annotations}}]


Case = tuple[str, list[Json], str, list[str], list[str]]
CASES: list[Case] = [
    # never-fits
    (
        "a partition is larger than the card",
        [*partitions(need="9"), *wants(request("gpu", MIG))],
        EXPLAIN,
        ["can never fit", "a device takes 9 of slices/slices, which has 7"],
        [OTHERS],
    ),
    (
        "two partitions do not go into one card",
        [*partitions("p0"), *wants(request("gpu", MIG, 2))],
        EXPLAIN,
        ["can never fit", "shared counters suffice for 1", "takes 4 of slices/slices"],
        [OTHERS],
    ),
    (
        "shares want more than a port has",
        [
            *toys(),
            *port(),
            *wants(request("a", NIC, **asking("30Gi")), request("b", NIC, **asking("30Gi"))),
        ],
        EXPLAIN,
        ["can never fit: requests a and b want bandwidth 60Gi on one node, 40Gi is the most"],
        [OTHERS],
    ),
    (
        "requests overlap",
        [
            *one(gpu("g0"), gpu("g1", A100), gpu("g2", A100)),
            *wants(request("a", GPU, 2), request("b", GPU, 2, f'{A}.productName == "{A100}"')),
        ],
        EXPLAIN,
        ["can never fit: requests a and b want 4 devices on one node, the most of one node is 3"],
        [OTHERS],
    ),
    (
        "each alternative has its own reason",
        [
            *two(),
            *wants(
                either(
                    "gpu",
                    big=exactly(GPU, 1, f'{A}.productName == "NVIDIA B200"'),
                    mem=exactly(GPU, 1, f'{C}.memory.compareTo(quantity("141Gi")) >= 0'),
                )
            ),
        ],
        EXPLAIN,
        ["can never fit: big: .*B200", "mem: memory 141Gi wanted, 80Gi"],
        [OTHERS, "jobs/"],
    ),
    (
        "a taint is not for ever",
        [*one(gpu("g0", taints=[taint("vendor.test/hot")])), *wants(request())],
        EXPLAIN,
        [r"with a toleration for vendor\.test/hot"],
        [OTHERS, "never fit"],
    ),
    # constraint-values-hidden
    (
        "the root of the NIC is in use",
        [
            *roots("pci0000:01", "pci0000:02", nic="pci0000:01"),
            *holder("jobs/near", "big-1", ["g0"]),
            *wants(*BOTH, constraints=PAIR),
        ],
        EXPLAIN,
        [rf"{ROOT} of free devices is pci0000:01 \(1\), pci0000:02 \(1\)", "when jobs/near ends"],
        [OTHERS, "never fit"],
    ),
    (
        "no root is shared",
        [*roots("pci0000:11", nic="pci0000:97"), *wants(*BOTH, constraints=PAIR)],
        EXPLAIN,
        [r"can never fit: no gpu \(pci0000:11\) and nic \(pci0000:97\) share"],
        [OTHERS],
    ),
    # near-name
    (
        "a name and its value are misspelt",
        [*two(), *wants(request("gpu", GPU, 1, f'{A}.productname == "h100"'))],
        EXPLAIN,
        [rf'did you mean productName, and "{H100}" in place of "h100"\?'],
        [OTHERS],
    ),
    (
        "a capacity of a request",
        [*toys(), *port(), *wants(request("a", NIC, capacity={"requests": {"bandwith": "1Gi"}}))],
        EXPLAIN,
        ["no device has capacity bandwith: did you mean bandwidth?"[:-1]],
        [OTHERS],
    ),
    (
        "the capacity of a selector",
        [*two(), *wants(request("gpu", GPU, 1, f'{C}.Memory.compareTo(quantity("1Gi")) >= 0'))],
        EXPLAIN,
        [r"did you mean memory\?"],
        [OTHERS],
    ),
    # nearest-name-elsewhere
    (
        "a template of the next namespace",
        [*two(busy=False), template("pair", "infra", BOTH), *wants(**named("pair"))],
        EXPLAIN,
        ["pair is in namespace infra; templates do not cross namespaces"],
        ["create template"],
    ),
    (
        "a near name in the next namespace",
        [*two(busy=False), template("pairs", "infra", BOTH), *wants(**named("pair"))],
        EXPLAIN,
        [r"did you mean pairs of namespace infra\? Templates do not cross namespaces"],
        ["create template"],
    ),
    (
        "the name of a template where a claim is named",
        [
            *two(busy=False),
            template("pair", "ml", BOTH),
            *wants(**named("pair", of_template=False)),
        ],
        EXPLAIN,
        ["pair is a ResourceClaimTemplate: write resourceClaimTemplateName"],
        ["create ResourceClaim"],
    ),
    # headline
    (
        "memory that no node has",
        [*two(busy=False), *wants(request(), amounts={"memory": "500Gi"})],
        EXPLAIN,
        [r"\A[^\n]*memory 500Gi wanted, at most 64Gi on a node; devices are not the cause"],
        [OTHERS],
    ),
    (
        "CPUs of the nodes that have the devices",
        [*two(busy=False), node("cpu-9", cpu="128"), *wants(request(), amounts={"cpu": "64"})],
        EXPLAIN,
        [r"\A[^\n]*big-1, big-2 have the devices, cpu 64 wanted, at most 16 there"],
        [OTHERS],
    ),
    (
        "a resource that nothing serves",
        [*two(busy=False), *wants(amounts={"nvidia.com/gpu": "1"})],
        EXPLAIN,
        [r"\A[^\n]*waiting for 12m for nvidia.com/gpu, which no DeviceClass and no node serves"],
        [r"\A[^\n]*for devices", OTHERS],
    ),
    # false-reason
    (
        "another driver's taint",
        [
            *one(gpu("g0")),
            pool(TOY, "big-1", device("t0", taints=[taint("toy.test/broken")])),
            *holder("jobs/x", "big-1", ["g0"]),
            *wants(request()),
        ],
        EXPLAIN,
        ["in use: 1 by jobs/x"],
        ["toy.test", OTHERS],
    ),
    (
        "another driver's incomplete pool",
        [
            *one(gpu("g0")),
            pool(TOY, "big-1", "t0", resourceSliceCount=3),
            *holder("jobs/x", "big-1", ["g0"]),
            *wants(request()),
        ],
        EXPLAIN,
        ["when jobs/x ends"],
        ["incomplete", OTHERS],
    ),
    (
        "devices of another model",
        [*two(), *wants(request("gpu", GPU, 1, f'{A}.productName == "{A100}"'))],
        EXPLAIN,
        ["in use: 1 by jobs/eval", "when jobs/eval ends"],
        [OTHERS, "by jobs/train"],
    ),
    # selector-parts-that-hold
    (
        "a part of a conjunction is false",
        [*two(), *wants(request("gpu", GPU, 1, f'device.driver == "{GPU}" && {A}.type == "mig"'))],
        EXPLAIN,
        ["type is gpu"],
        [f"driver is {GPU}", OTHERS],
    ),
    (
        "the last part of three is false",
        [*two(), *wants(request("gpu", GPU, 1, f'{A}.type == "gpu" && {A}.productName == "{L4}"'))],
        EXPLAIN,
        [f"no device has productName {L4}"],
        ["type is gpu", OTHERS],
    ),
    # claim-unused
    (
        "no container uses the claim of a pod that waits",
        [*two(), *wants(request(), uses=[])],
        EXPLAIN,
        ["no container uses claim gpu"],
        [OTHERS],
    ),
    (
        "one claim of two is unused",
        [
            *two(),
            claim("more", "ml", [request("x", GPU)]),
            *wants(
                request(),
                resourceClaims=[
                    {"name": "gpu", "resourceClaimTemplateName": "wanted"},
                    {"name": "more", "resourceClaimName": "more"},
                ],
            ),
        ],
        EXPLAIN,
        ["no container uses claim more"],
        ["no container uses claim gpu", OTHERS],
    ),
    # unknown-scheduler
    (
        "a scheduler that nobody runs",
        [*two(), *wants(request(), schedulerName="volcano", status={"conditions": []})],
        EXPLAIN,
        [r"\ANo scheduler has looked at pod ml/wants for 12m: spec\.schedulerName is volcano"],
        [OTHERS],
    ),
    (
        "a misspelt scheduler",
        [*two(), *wants(request(), schedulerName="defualt-scheduler", status={"conditions": []})],
        EXPLAIN,
        [r"\A[^\n]*defualt-scheduler: did you mean default-scheduler\?"],
        [OTHERS],
    ),
    # scheduling-gate-unnamed
    (
        "a gate of somebody's controller",
        [*two(), *wants(request(), **gated("quota.acme.test/approval"))],
        EXPLAIN,
        ["quota.acme.test/approval", "the controller of quota.acme.test"],
        [OTHERS],
    ),
    (
        "two gates",
        [*two(), *wants(request(), **gated("kueue.x-k8s.io/topology", "acme.test/x"))],
        EXPLAIN,
        ["kueue.x-k8s.io/topology", "Kueue", "acme.test/x"],
        [OTHERS],
    ),
    # node-taint-unnamed
    (
        "taints of several nodes",
        [
            *one(gpu("g0"), taints=[taint("nvidia.com/gpu", value="present")]),
            node("big-2", taints=[taint("spot", "NoExecute")]),
            pool(GPU, "big-2", gpu("g0")),
            *wants(request()),
        ],
        EXPLAIN,
        ["nvidia.com/gpu=present:NoSchedule", "spot:NoExecute", "a toleration for spot"],
        [OTHERS],
    ),
    (
        "one taint of two is tolerated",
        [
            *one(gpu("g0"), taints=[taint("dedicated", value="ml"), taint("spot", "NoExecute")]),
            *wants(request(), tolerations=[{"key": "dedicated", "operator": "Exists"}]),
        ],
        EXPLAIN,
        ["spot:NoExecute", "a toleration for spot"],
        ["dedicated", OTHERS],
    ),
    # repeated-line
    (
        "a taint of two effects on two nodes",
        [
            *one(gpu("g0", taints=[taint("x.test/xid"), taint("x.test/xid", "NoExecute")])),
            node("big-2"),
            pool(GPU, "big-2", gpu("g0", taints=[taint("x.test/xid")])),
            *wants(request()),
        ],
        EXPLAIN,
        ["x.test/xid"],
        [r"(?ms)^(\* [^\n]*)$.*^\1$", OTHERS],
    ),
    (
        "holders that have ended",
        [
            *two(busy=False),
            *holder("jobs/old", "big-1", ["g0", "g1"], status={"phase": "Failed"}),
            *holder("jobs/older", "big-2", ["g0"], status={"phase": "Succeeded"}),
            *wants(request()),
        ],
        EXPLAIN,
        ["jobs/old .*ended", "jobs/older .*ended"],
        [r"(?ms)^(\* [^\n]*)$.*^\1$", "when jobs/old ends", OTHERS],
    ),
    # holder-has-ended
    (
        "a holder has failed",
        [
            *one(gpu("g0")),
            *holder("jobs/f", "big-1", ["g0"], status={"phase": "Failed"}),
            *wants(request()),
        ],
        EXPLAIN,
        ["jobs/f .*ended"],
        ["when jobs/f ends", OTHERS],
    ),
    (
        "a holder is being deleted on a node that does not answer",
        [
            *toys(),
            kind(NIC),
            node("far-1", ready="Unknown", taints=[taint("node.kubernetes.io/unreachable")]),
            node("far-2"),
            pool(NIC, "fabric", "f0", nodeName="", allNodes=True),
            *holder(
                *("jobs/d", "far-1", ["f0"]),
                driver=NIC,
                at="fabric",
                deleting="2026-11-22T08:00:00Z",
            ),
            *wants(request("gpu", NIC)),
        ],
        EXPLAIN,
        ["jobs/d", "deleted for 4h|deleted since 4h", "far-1", "does not answer"],
        [OTHERS],
    ),
    # look-up-by-hardware-id
    (
        "a UUID in small letters",
        found_by(("uuid", UUID)),
        f"who {UUID.lower()}",
        ["ml/a"],
        [],
    ),
    (
        "a PCI address as nvidia-smi prints it",
        found_by(("pciBusID", "0000:3B:00.0")),
        "who 00000000:3B:00.0",
        ["ml/a"],
        [],
    ),
    ("a serial number", found_by(("serial", "1320222008888")), "who 1320222008888", ["ml/a"], []),
    # kind-of-a-workload
    (
        "a misspelt kind",
        two(),
        "explain statefullset/x -n ml",
        ["did you mean statefulset/"],
        [],
    ),
    ("an unknown kind", two(), "explain widget/x -n ml", ["there are: pod, .*job"], []),
    # near-value in another form
    (
        "a value of a list",
        named_gpu(' in ["H200", "H100"]'),
        EXPLAIN,
        [rf'true of no device: did you mean "{H100}" in place of "H100"\?'],
        [OTHERS],
    ),
    (
        "the beginning of a value, in other letters",
        named_gpu('.startsWith("nvidia h100")'),
        EXPLAIN,
        ['case-sensitive: did you mean "NVIDIA H100" in place of "nvidia h100"'],
        [OTHERS],
    ),
    (
        "a part of a value, with a dash too many",
        named_gpu('.contains("A-100")', busy=False),
        EXPLAIN,
        ['did you mean "A100" in place of "A-100"', r'write .*contains\("A100"\)'],
        [OTHERS],
    ),
    (
        "a value in capitals beside a call that makes letters small",
        named_gpu(f'.lowerAscii() == "{L4}"'),
        EXPLAIN,
        ["is true of no device"],
        ["no device has productName"],
    ),
    (
        "one of two values",
        named_gpu('.matches("^nvidia a100") || 1 == 2'),
        EXPLAIN,
        [r'did you mean "\^NVIDIA A100"'],
        [OTHERS],
    ),
    (
        "a quantity that is none",
        [*two(), *wants(request("gpu", GPU, 1, f'{C}.memory.compareTo(quantity("80GB")) > 0'))],
        EXPLAIN,
        ["fails on every device: quantities must match"],
        [OTHERS],
    ),
    (
        "drivers of one domain are no slips of each other",
        [*two(), kind("ghost.example.com"), *wants(request("gpu", "ghost.example.com"))],
        "doctor",
        ["ClassEmpty .*ghost.example.com", "install the driver"],
        ["write toy.example.com", "did you mean"],
    ),
    # node-label
    (
        "a misspelt label of a node",
        zoned(nodeSelector={f"{ZONE}s": "eu-1a"}),
        EXPLAIN,
        [rf"no node has label {ZONE}s; did you mean {ZONE}\?"],
        [OTHERS],
    ),
    (
        "a label of another domain",
        zoned(nodeSelector={"failure-domain.beta.kubernetes.io/zone": "eu-1b"}),
        EXPLAIN,
        [rf"did you mean {ZONE}\?"],
        [OTHERS],
    ),
    (
        "a misspelt value of a label",
        zoned(nodeSelector={ZONE: "EU-1B"}),
        EXPLAIN,
        [rf"{ZONE} is eu-1a, eu-1b; did you mean eu-1b\?"],
        [OTHERS],
    ),
    (
        "an affinity that no node meets",
        zoned(**demanding("rack", "In", "us-9", "us-8")),
        EXPLAIN,
        [r"can never fit: .*node affinity rack in \(us-9, us-8\) matches no node \(rack is eu-1a"],
        [OTHERS],
    ),
    (
        "an affinity that no node meets beside a label that some have",
        zoned(nodeSelector={ZONE: "eu-1a"}, **demanding(ZONE, "In", "us-9")),
        EXPLAIN,
        [rf"can never fit: the required node affinity {ZONE} in \(us-9\) matches no node"],
        ["can never fit: nodeSelector"],
    ),
    (
        "an affinity and a label that no node has together",
        zoned(nodeSelector={"rack": "eu-1a"}, **demanding(ZONE, "In", "eu-1b")),
        EXPLAIN,
        [rf"nodeSelector rack=eu-1a with the required node affinity {ZONE} in \(eu-1b\) match"],
        [OTHERS],
    ),
    (
        "a label that must exist, in another domain",
        zoned(**demanding("failure-domain.beta.kubernetes.io/zone", "Exists")),
        EXPLAIN,
        [rf"did you mean {ZONE}\?"],
        [OTHERS],
    ),
    (
        "an affinity that leaves nodes without devices",
        zoned(**demanding(ZONE, "DoesNotExist")),
        EXPLAIN,
        [rf"node affinity !{ZONE} leaves toy-0, toy-1; such devices are on big-1, big-2"],
        [OTHERS],
    ),
    # started-pod
    (
        "a container without its secret",
        begun(waiting={"reason": "CreateContainerConfigError", "message": 'secret "x" not found'}),
        EXPLAIN,
        ['secret "x" not found: devices are not the cause: create what the message names'],
        ["logs"],
    ),
    (
        "a container that wanted too much memory",
        begun(
            phase="Running",
            terminated={"reason": "OOMKilled", "exitCode": 137, "finishedAt": CREATED},
        ),
        EXPLAIN,
        ["OOMKilled, exit code 137.*devices are not the cause: raise the memory limit"],
        ["does not come back", "kubectl delete pod"],
    ),
    (
        "no plugin pod on the node",
        [
            *one(gpu("g0")),
            *plugin("toy-0"),
            *holder(
                *("ml/wants", "big-1", ["g0"]),
                status={
                    "phase": "Pending",
                    "containerStatuses": [
                        {"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}
                    ],
                },
            ),
        ],
        EXPLAIN,
        [f"no plugin pod of driver {GPU} runs on big-1.*DaemonSet kube-system/kp"],
        [],
    ),
    # quota
    (
        "a quota that can never suffice",
        [*two(), quota(f"{GPU}.deviceclass.resource.k8s.io/devices", 1, 0), *not_made(2)],
        EXPLAIN,
        [f"allows 1 of {GPU}, 0 are charged, 2 are wanted.*ask for a larger quota, or request"],
        ["delete claims"],
    ),
    (
        "a quota of claims",
        [*two(), quota("count/resourceclaims.resource.k8s.io", 3, 3), *not_made(1)],
        EXPLAIN,
        ["allows 3 ResourceClaims, and there are 3"],
        [],
    ),
    # release-of-a-wanted-claim, holder-has-ended
    (
        "a pod that runs names a claim that is reserved for none",
        reserved(),
        "doctor",
        ["ClaimIdle .*jobs/p-gpu .*reserved for no pod, although pod p on big-1 names it"],
        ["dra release"],
    ),
    (
        "a claim is reserved for a pod that is gone",
        reserved("q")[:-1],
        "doctor",
        ["ClaimIdle .*reserved only for q, gone", "kubectl dra release jobs/p-gpu"],
        [],
    ),
    (
        "the holder is gone",
        [*reserved("q")[:-1], *wants(request())],
        EXPLAIN,
        ["when claim jobs/p-gpu is released: jobs/q has ended or is gone"],
        ["when jobs/q ends"],
    ),
    (
        "the holder is gone, and a pod that runs needs its claim",
        [*reserved("q"), *wants(request())],
        EXPLAIN,
        ["when jobs/p ends: jobs/q has ended or is gone, and jobs/p needs claim jobs/p-gpu"],
        ["dra release"],
    ),
    (
        "the holder is gone, and its node has to end its containers",
        [*reserved_by_departed("q"), *wants(request())],
        EXPLAIN,
        ["when jobs/q ends"],
        ["dra release"],
    ),
    # device-plugin-pairs
    (
        "a plugin of another vendor's name for its cores",
        published("neuron.aws.com", **{"aws.amazon.com__neuroncore": "8"}),
        "doctor",
        ["DoubleBooked .*aws.amazon.com/neuroncore"],
        [],
    ),
    (
        "another vendor's plugin",
        published("gpu.amd.com", **{"nvidia.com__gpu": "2"}),
        "doctor",
        [],
        ["DoubleBooked"],
    ),
    # known-fault-without-trigger
    (
        "a shared claim of pods that run",
        [*reserved("p", "q"), holder("jobs/q", "big-1", [])[0]],
        "doctor",
        [],
        ["141274"],
    ),
    (
        "a UUID without what stands before it",
        found_by(("uuid", UUID)),
        f"who {UUID.partition('-')[2]}",
        ["ml/a"],
        [],
    ),
    ("the beginning of a UUID", found_by(("uuid", UUID)), f"who {UUID[:12]}", ["ml/a"], []),
]


@pytest.mark.parametrize("case", CASES, ids=[one[0] for one in CASES])
def test_a_kind_is_answered(case: Case, tmp_path: Path) -> None:
    _, manifests, command, want, forbid = case
    desk = Desk(tmp_path, *manifests)
    printed = invoke(*command.split(), "--snapshot", desk.file).output
    missing = [text for text in want if not re.search(text, printed)]
    wrong = [text for text in forbid if re.search(text, printed)]
    assert (missing, wrong) == ([], []), printed

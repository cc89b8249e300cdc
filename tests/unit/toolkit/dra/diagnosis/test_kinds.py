"""Kinds of situations in clusters of several drivers: what a right answer says, and what not.

Each kind has two worlds or more, so that no answer is right for one of them alone.
"""

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
]


@pytest.mark.parametrize("case", CASES, ids=[one[0] for one in CASES])
def test_a_kind_is_answered(case: Case, tmp_path: Path) -> None:
    _, manifests, command, want, forbid = case
    desk = Desk(tmp_path, *manifests)
    printed = invoke(*command.split(), "--snapshot", desk.file).output
    missing = [text for text in want if not re.search(text, printed)]
    wrong = [text for text in forbid if re.search(text, printed)]
    assert (missing, wrong) == ([], []), printed

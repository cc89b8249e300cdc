"""What `explain` says, for each reason that a pod can have."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from dragoman.inventory.snapshots.snapshot import Unseen
from dragoman_toolkit.dra.diagnosis import pods
from dragoman_toolkit.dra.diagnosis.pods import LONGEST
from dragoman_toolkit.dra.diagnosis.report import DiagnosisView
from dragoman_toolkit.dra.tables import Screen, Table, table_lines
from tests.support import manifests as objects
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import (
    CLASS,
    DRIVER,
    claim,
    device,
    device_class,
    held,
    inventory,
    pod,
    pool,
    snapshot,
)

TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
MODEL = f'device.attributes["{DRIVER}"].model == "b"'
NEVER = ("SelectorRejected", "NoSliceForNode", "CapacityExceeded")
"""What stands in the way of a pod also where all devices are free."""
UNGUARDED = f'device.attributes["{DRIVER}"].spare'
CANNOT = "cannot allocate all claims"
REFUSED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/1 nodes are available: 1 cannot allocate all claims.",
    "lastTransitionTime": "2026-11-22T11:46:00Z",
}
Json = dict[str, Any]


def model(name: str, value: str = "a", **more: Any) -> Json:
    return device(name, attributes={"model": {"string": value}}, **more)


def nodes(*names: str) -> list[Json]:
    return [objects.node(name) for name in names]


def pending(**more: Any) -> Json:
    """Return a pod with claim `claim` that the scheduler has refused."""
    made = pod(claims={"gpu": "claim"}, **more)
    made["status"] = {"phase": "Pending", "conditions": [REFUSED]}
    return made


def selecting(expression: str, **more: Any) -> Json:
    return claim(selectors=[{"cel": {"expression": expression}}], **more)


COUNTERS = pool("n", [], part=1, resourceSliceCount=2)
del COUNTERS["spec"]["devices"]
COUNTERS["spec"]["sharedCounters"] = [{"name": "set", "counters": {"memory": {"value": "4Gi"}}}]


def consuming(name: str, need: str = "4Gi") -> Json:
    amounts = {"memory": {"value": need}}
    return device(name, consumesCounters=[{"counterSet": "set", "counters": amounts}])


@pytest.mark.parametrize(
    ("manifests", "code", "why"),
    [
        pytest.param(
            [pool("n", [model("a"), model("b")]), selecting(MODEL)],
            "SelectorRejected",
            "selector of request devices is false: model is a (2)",
            id="a selector is false",
        ),
        pytest.param(
            [
                pool("n", ["a", "b"]),
                claim(count=2),
                held(claim("other"), ("n", "b"), pods=[pod("user")]),
                pod("user", claims={"gpu": "other"}, node="n"),
            ],
            "NoCombination",
            "1 free, 2 wanted; in use: 1 by ns/user",
            id="too few are free",
        ),
        pytest.param(
            [pool("n", [device("a", taints=[TAINT])]), claim()],
            "TaintNotTolerated",
            "1 tainted broken=yes:NoSchedule",
            id="a taint",
        ),
        pytest.param(
            [pool("n", ["a"], resourceSliceCount=2), claim()],
            "PoolIncomplete",
            f"pool {DRIVER}/n is incomplete: 1 of 2 slices, 60m",
            id="a slice is missing",
        ),
        pytest.param(
            [
                pool("n", ["a"], resourceSliceCount=2),
                pool("n", ["a"], part=1, resourceSliceCount=2),
                claim(),
            ],
            "PoolInvalid",
            f"pool {DRIVER}/n is invalid: duplicate device name a",
            id="a device twice",
        ),
        pytest.param([claim()], "NoSliceForNode", "no ResourceSlice offers devices", id="none"),
        pytest.param(
            [
                pool("n", [consuming("a"), consuming("b")], resourceSliceCount=2),
                COUNTERS,
                claim(),
                held(claim("other"), ("n", "a")),
            ],
            "CountersExceeded",
            "1 without counters: set/memory has 0 of 4Gi",
            id="counters are used up",
        ),
        pytest.param(
            [
                pool("n", [device("a", capacity={"memory": {"value": "4Gi"}})]),
                claim(capacity={"requests": {"memory": "8Gi"}}),
            ],
            "CapacityExceeded",
            "1 with too little memory: 4Gi free, 8Gi wanted",
            id="capacity is too small",
        ),
    ],
)
def test_reasons(tmp_path: Path, manifests: list[Json], code: str, why: str) -> None:
    desk = Desk(tmp_path, *nodes("n"), device_class(), pending(), *manifests)
    document = desk.document("explain", "pod", "pod", "-n", "ns", status=1)
    never = code in NEVER
    assert document["answer"] == ("NeverFits" if never else "DoesNotFit")
    (group,) = document["groups"]
    assert code in group["codes"]
    assert why in group["why"]
    refusal = "invalid resource pools were encountered" if code == "PoolInvalid" else CANNOT
    assert document["schedulerMessage"] == f"0/1 nodes are available: 1 {refusal}."
    printed = desk.run("explain", "pod", "pod", "-n", "ns", status=1)
    assert printed.startswith(
        "Pod ns/pod can never fit: "
        if never
        else "Pod ns/pod has been waiting for devices for 14m: it does not fit on n."
    )
    assert why in printed
    assert f"Scheduler: {REFUSED['message']} (14m ago)" in printed
    devices = desk.document("explain", "pod", "pod", "-n", "ns", "--devices", status=1)
    found = {reason["code"] for node in devices["nodes"] for reason in node["reasons"]}
    assert code in found | {"NoCombination"}


def test_nodes_are_grouped_by_what_they_lack(tmp_path: Path) -> None:
    names = [f"n{index}" for index in range(4)]
    desk = Desk(
        tmp_path,
        *nodes(*names),
        device_class(),
        *(pool(name, [model("a")]) for name in names[:3]),
        pool("n3", [model("a", "b", taints=[TAINT])]),
        selecting(MODEL),
        pending(),
    )
    groups = desk.document("explain", "pod", "pod", "-n", "ns", status=1)["groups"]
    assert [one["nodes"] for one in groups] == [["n3"], names[:3]]
    assert "model is a (3)" in groups[1]["why"]
    assert "n0, n1, 1 more" in desk.run("explain", "pod", "pod", "-n", "ns", status=1)


def suggestions(desk: Desk, **more: Any) -> list[Json]:
    found = desk.document("explain", "pod", "pod", "-n", "ns", status=1, **more)["suggestions"]
    assert isinstance(found, list)
    return found


def test_each_device_has_a_line(tmp_path: Path) -> None:
    cordoned = objects.node("o") | {"spec": {"unschedulable": True}}
    desk = Desk(
        tmp_path,
        *nodes("m", "n"),
        cordoned,
        device_class(),
        pool("m", ["a"], resourceSliceCount=2),
        pool("n", ["a", device("b", taints=[TAINT])]),
        claim(count=2),
        pending(),
    )
    printed = desk.run("explain", "pod", "pod", "-n", "ns", "--devices", status=1)
    lines = [one.split(maxsplit=4) for one in printed.splitlines() if one[:2] in {"m ", "n ", "o "}]
    found = {(node, device): (code, why) for node, _, device, code, why in lines}
    assert found["m", f"{DRIVER}/m"][0] == "PoolIncomplete"
    assert found["n", f"{DRIVER}/n/a"] == ("-", "nothing keeps the request away")
    assert found["n", f"{DRIVER}/n/b"][0] == "TaintNotTolerated"
    assert found["o", "-"] == ("NodeFiltered", "cordoned")


def test_lines_of_devices_are_bounded_whatever_the_expression(tmp_path: Path) -> None:
    long = " ||\n  ".join([MODEL] * 80)
    world = [*nodes("n"), device_class(), pool("n", [model("a")]), selecting(long), pending()]
    desk = Desk(tmp_path, *world)
    words = ("explain", "pod", "pod", "-n", "ns", "--devices")
    lines = desk.run(*words, status=1).splitlines()
    (line,) = (one for one in lines if "SelectorRejected" in one)
    assert len(line) <= len(f"n   devices   {DRIVER}/n/a   SelectorRejected   ") + LONGEST
    assert "(read: " in line
    reasons = desk.document(*words, status=1)["nodes"][0]["reasons"]
    assert long in [one.get("expression") for one in reasons]
    view = DiagnosisView(inventory(*world), devices=True)
    (table,) = (
        one
        for one in pods.pod(view, "ns/pod").blocks
        if isinstance(one, Table) and "DEVICE" in one.headers
    )
    narrow = [*table_lines(table, Screen(width=80))]
    assert max(map(len, narrow)) <= 80


def test_columns_that_devices_name_as_well_go_on_a_narrow_terminal() -> None:
    world = [*nodes("n"), device_class(), pool("n", ["a", "b"]), claim(), pending()]
    (table,) = (
        one
        for one in pods.pod(DiagnosisView(inventory(*world), devices=True), "ns/pod").blocks
        if isinstance(one, Table) and "DEVICE" in one.headers
    )
    narrow = [*table_lines(table, Screen(width=60))]
    assert "NODE" not in narrow[0]
    assert "n/a" in narrow[1]


def test_a_node_that_fits_says_which_devices_the_scheduler_takes(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", ["a", "b"]), claim(), pending())
    printed = desk.run("explain", "pod", "pod", "-n", "ns", "--devices")
    (line,) = (one for one in printed.splitlines() if one.startswith("n "))
    assert line.split() == [
        "n",
        "devices",
        f"{DRIVER}/n/a",
        "-",
        *["the", "scheduler", "takes", "it"],
    ]


def test_a_holder_that_ends_is_suggested_only_where_that_suffices(tmp_path: Path) -> None:
    users = [pod(f"user-{index}", claims={"gpu": f"c{index}"}, node="n") for index in range(2)]
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", ["a", "b", "c"]),
        held(claim("c0"), ("n", "a"), ("n", "b"), pods=[users[0]]),
        held(claim("c1"), ("n", "c"), pods=[users[1]]),
        *users,
        claim(count=2),
        pending(),
    )
    assert [(one["kind"], one["holders"]) for one in suggestions(desk)] == [
        ("EndHolder", ["ns/user-0"])
    ]
    printed = desk.run("explain", "pod", "pod", "-n", "ns", status=1)
    assert "It fits:\n* when ns/user-0 ends (n)\n" in printed


def test_a_holder_of_a_part_of_a_shared_device_is_suggested(tmp_path: Path) -> None:
    """The rest serves each request alone, so no reason names the holder."""
    user = pod("user", claims={"gpu": "other"}, node="n")
    capacity = {"memory": {"value": "2Gi", "requestPolicy": {"default": "1Gi"}}}
    share = {"shareID": str(uuid4()), "consumedCapacity": {"memory": "1Gi"}}
    both = claim()
    (request,) = both["spec"]["devices"]["requests"]
    both["spec"]["devices"]["requests"] = [{**request, "name": name} for name in ("a", "b")]
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", [device("a", allowMultipleAllocations=True, capacity=capacity)]),
        held(claim("other"), ("n", "a"), pods=[user], **share),
        user,
        both,
        pending(),
    )
    assert [one["holders"] for one in suggestions(desk)] == [["ns/user"]]


def test_a_holder_of_counters_that_its_device_shares_is_suggested(tmp_path: Path) -> None:
    user = pod("user", claims={"gpu": "other"}, node="n")
    small = consuming("c", "1Gi") | {"attributes": {"model": {"string": "small"}}}
    large = [
        consuming(name, "2Gi") | {"attributes": {"model": {"string": "b"}}} for name in ("a", "b")
    ]
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        COUNTERS,
        pool("n", [*large, small], resourceSliceCount=2),
        held(claim("other"), ("n", "c"), pods=[user]),
        user,
        selecting(MODEL, count=2),
        pending(),
    )
    assert [one["holders"] for one in suggestions(desk)] == [["ns/user"]]


def test_a_toleration_is_suggested_only_where_that_suffices(tmp_path: Path) -> None:
    other = {**TAINT, "key": "other"}
    desk = Desk(
        tmp_path,
        *nodes("n", "m"),
        device_class(),
        pool("n", [device("a", taints=[TAINT])]),
        pool("m", [device("a", taints=[TAINT, other])]),
        claim(),
        pending(),
    )
    assert [(one["kind"], one["node"], one["key"]) for one in suggestions(desk)] == [
        ("AddToleration", "n", "broken")
    ]


def test_a_toleration_is_found_where_many_holders_do_not_suffice(tmp_path: Path) -> None:
    """On each of 70 nodes four holders would have to end; these searches are not all there is."""
    busy = [f"n{number:02}" for number in range(70)]
    names = ["a", "b", "c", "d"]
    held_by: list[Json] = []
    for node in busy:
        for name in names:
            user = pod(f"{node}-{name}", claims={"gpu": f"{node}-{name}"}, node=node)
            held_by += [user, held(claim(f"{node}-{name}"), (node, name), pods=[user])]
    desk = Desk(
        tmp_path,
        *nodes(*busy, "z"),
        device_class(),
        *(pool(node, names) for node in busy),
        pool("z", [device(name, taints=[TAINT]) for name in names]),
        *held_by,
        claim(count=4),
        pending(),
    )
    (found,) = desk.document("explain", "pod", "pod", "-n", "ns", status=1)["suggestions"]
    assert (found["kind"], found["node"]) == ("AddToleration", "z")


def test_the_end_of_the_pods_own_claim_is_no_suggestion(tmp_path: Path) -> None:
    waits = pod(claims={"one": "claim", "two": "other"})
    waits["status"] = {"phase": "Pending", "conditions": [REFUSED]}
    own = held(claim("other"), ("n", "a"))
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", ["a"]), claim(), own, waits)
    document = desk.document("explain", "pod", "pod", "-n", "ns", status=1)
    assert document["suggestions"] == []


def test_a_toleration_for_an_extended_resource_cannot_be_written(tmp_path: Path) -> None:
    served = device_class()
    served["spec"]["extendedResourceName"] = "example.com/gpu"
    tainted = pool("n", [device("a", taints=[TAINT])])
    desk = Desk(tmp_path, *nodes("n"), served, tainted, extended(1))
    document = desk.document("explain", "pod", "pod", "-n", "ns", status=1)
    assert document["suggestions"] == []
    assert "TaintNotTolerated" in document["groups"][0]["codes"]


def test_a_complete_pool_is_suggested_where_its_devices_would_do(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path,
        *nodes("n", "m"),
        device_class(),
        pool("n", ["a"], resourceSliceCount=2),
        pool("m", [model("a")], resourceSliceCount=2),
        claim(),
        pending(),
    )
    assert [(one["kind"], one["pool"]) for one in suggestions(desk)] == [
        ("CompletePool", "m"),
        ("CompletePool", "n"),
    ]


def test_an_unguarded_selector_stops_the_pod_and_is_mended(tmp_path: Path) -> None:
    spare = device("good", attributes={"spare": {"bool": True}})
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", ["bare", spare]),
        selecting(UNGUARDED),
        pending(),
    )
    printed = desk.run("explain", "pod", "pod", "-n", "ns", status=1)
    access = f'device.attributes["{DRIVER}"].spare'
    guarded = f"has({access}) && {access}"
    assert printed.startswith("The scheduler stops at pod ns/pod, whatever the nodes are:")
    assert "no such key: spare" in printed
    assert f"1 of 2 devices have attribute {DRIVER}/spare; not {DRIVER}/n/bare" in printed
    assert f"write: {guarded}" in printed
    document = desk.document("explain", "pod", "pod", "-n", "ns", status=1)
    assert document["answer"] == "Stopped"
    assert [(one["kind"], one["guarded"]) for one in document["suggestions"]] == [
        ("GuardSelector", guarded)
    ]
    desk = Desk(
        tmp_path, *nodes("n"), device_class(), pool("n", ["bare", spare]), selecting(guarded)
    )
    assert desk.document("explain", "claim", "claim", "-n", "ns")["fits"] == ["n"]


@pytest.mark.parametrize(
    ("manifests", "code", "text"),
    [
        pytest.param([], "ClaimNotFound", 'resourceclaim "claim" not found', id="no claim"),
        pytest.param(
            [
                {
                    **claim(),
                    "metadata": {
                        "name": "claim",
                        "namespace": "ns",
                        "deletionTimestamp": "2026-11-22T11:00:00Z",
                    },
                }
            ],
            "ClaimDeleting",
            'resourceclaim "claim" is being deleted',
            id="deleting",
        ),
        pytest.param(
            [claim(deviceClassName="gpus")],
            "ClassNotFound",
            "device class gpus does not exist: write gpu",
            id="no class",
        ),
    ],
)
def test_what_stops_a_pod_before_any_node(
    tmp_path: Path, manifests: list[Json], code: str, text: str
) -> None:
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", ["a"]), pending(), *manifests)
    document = desk.document("explain", "pod", "pod", "-n", "ns", status=1)
    assert document["answer"] == "Stopped"
    assert [one["code"] for one in document["obstacles"]] == [code]
    assert text in desk.run("explain", "pod", "pod", "-n", "ns", status=1)


def test_a_claim_of_another_owner(tmp_path: Path) -> None:
    made = pod(templates={"gpu": "template"})
    made["status"] = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "claim"}]}
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", ["a"]),
        objects.template("template", "ns", CLASS),
        claim(),
        made,
    )
    document = desk.document("explain", "pod", "pod", "-n", "ns", status=1)
    assert [one["code"] for one in document["obstacles"]] == ["NotOwner"]


def test_a_claim_that_is_not_made_yet_is_explained_by_its_template(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", ["a"]),
        objects.template("template", "ns", CLASS, 2),
        pod(templates={"gpu": "template"}),
    )
    printed = desk.run("explain", "pod", "pod", "-n", "ns", status=1)
    assert 'pod "ns/pod": ResourceClaim not created yet' in printed
    assert "1 free, 2 wanted" in printed


def test_a_file_is_explained_before_it_is_applied(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", ["a", "b"]))
    template = objects.template("template", "ns", CLASS)
    del template["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    template["spec"]["spec"]["devices"]["requests"][0]["exactly"] = {"deviceClassName": CLASS}
    workload = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ns"},
        "spec": {"template": {"spec": pod(templates={"gpu": "template"})["spec"]}},
    }
    file = tmp_path / "web.yaml"
    file.write_text(yaml.safe_dump_all([template, workload]))
    assert desk.run("explain", "-f", file).startswith("Pod ns/web fits on 1 of 1 nodes: n.")
    document = desk.document("explain", "-f", file)
    (node,) = document["nodes"]
    assert [one["device"] for one in node["devices"]] == ["a"]


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_a_snapshot_may_lack_the_labels_of_a_new_manifest(tmp_path: Path, command: str) -> None:
    labelled = objects.node("n")
    labelled["metadata"]["labels"]["pool"] = "gpu"
    desk = Desk(tmp_path, labelled, device_class(), pool("n", ["a"]))
    file = tmp_path / "pod.yaml"
    template = objects.template("template", "ns", CLASS)
    made = pod(templates={"gpu": "template"}, nodeSelector={"pool": "gpu"})
    file.write_text(yaml.safe_dump_all([template, made]))
    assert "! not seen: labels pool of nodes" in desk.run(command, "-f", file, status=2)
    made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "m"}
    file.write_text(yaml.safe_dump_all([template, made]))
    assert "! not seen" not in desk.run(command, "-f", file, status=1)


def test_nodes_that_other_filters_leave_out_are_said_to_have_the_devices(tmp_path: Path) -> None:
    cordoned = objects.node("n")
    cordoned["spec"] = {"unschedulable": True}
    desk = Desk(tmp_path, cordoned, device_class(), pool("n", ["a"]), claim(), pending())
    document = desk.document("explain", "pod", "pod", "-n", "ns", status=1)
    (group,) = document["groups"]
    assert group["why"] == "has the devices; cordoned"
    assert document["schedulerMessage"] == (
        "0/1 nodes are available: 1 node(s) were unschedulable."
    )


def test_a_pod_with_devices_says_which(tmp_path: Path) -> None:
    running = pod(claims={"gpu": "claim"}, node="n")
    running["status"] = {"phase": "Running"}
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", ["a", "b"]),
        held(claim(), ("n", "a"), pods=[running]),
        running,
    )
    printed = desk.run("explain", "pod", "pod", "-n", "ns")
    assert printed.startswith("Pod ns/pod has its devices on node n.")
    assert "first devices" not in printed
    assert desk.document("explain", "pod", "pod", "-n", "ns")["answer"] == "Allocated"


def in_phase(phase: str, **more: Any) -> Json:
    made = pod(claims={"gpu": "claim"}, **more)
    made["status"] = {"phase": phase}
    return made


BOUND = in_phase("Pending", node="n")
DELETED = claim()
DELETED["metadata"] |= {"deletionTimestamp": "2026-11-22T11:59:00Z", "finalizers": ["x"]}
OF_GROUP = in_phase("Running", node="n", schedulingGroup={"podGroupName": "group"})


def reserved_for_group() -> Json:
    made = held(claim(), ("n", "a"))
    group = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "group", "uid": "g"}
    made["status"]["reservedFor"] = [group]
    return made


@pytest.mark.parametrize(
    ("made", "running", "answer", "said"),
    [
        pytest.param(
            claim(),
            BOUND,
            "Stopped",
            "schedulers leave out the pod: it has spec.nodeName n",
            id="new",
        ),
        pytest.param(
            held(claim(), ("n", "a")), BOUND, "Stopped", "not reserved for the pod", id="unreserved"
        ),
        pytest.param(reserved_for_group(), OF_GROUP, "Allocated", "n/a", id="of its PodGroup"),
        pytest.param(
            held(DELETED, ("n", "a"), pods=[BOUND]),
            BOUND,
            "Allocated",
            "it goes after the pod",
            id="deleted while in use",
        ),
        pytest.param(
            claim(), in_phase("Failed", node="n"), "Fits", "has ended (Failed)", id="ended"
        ),
    ],
)
def test_no_scheduler_looks_at_a_pod_that_has_a_node(
    tmp_path: Path, made: Json, running: Json, answer: str, said: str
) -> None:
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", ["a"]), made, running)
    status = int(answer == "Stopped")
    assert said in desk.run("explain", "pod", "pod", "-n", "ns", status=status)
    document = desk.document("explain", "pod", "pod", "-n", "ns", status=status)
    assert document["answer"] == answer


@pytest.mark.parametrize(("users", "answer"), [(255, "Fits"), (256, "Stopped")])
def test_a_claim_is_reserved_for_256_consumers_at_most(
    tmp_path: Path, users: int, answer: str
) -> None:
    made = held(claim(), ("n", "a"), pods=[pod(f"user-{index}") for index in range(users)])
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", ["a"]), made, pending())
    found = desk.document("explain", "pod", "pod", "-n", "ns", status=int(answer == "Stopped"))
    assert found["answer"] == answer
    assert [one["code"] for one in found["obstacles"]] == ["ClaimFull"] * (users == 256)


def test_a_manifest_that_names_its_node_gets_no_devices(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    template = objects.template("template", "ns", CLASS)
    chosen = pod(templates={"gpu": "template"}, nodeName="node-1")
    file.write_text(yaml.safe_dump_all([template, chosen]))
    desk = Desk(tmp_path, *nodes("node-1"), device_class(), pool("node-1", ["a"]))
    (obstacle,) = desk.document("explain", "-f", file, status=1)["obstacles"]
    assert obstacle["code"] == "NodeChosen"
    assert "kubernetes.io/hostname" in obstacle["remedy"]
    assert desk.document("simulate", "-f", file, status=1)["placed"] == 0


def extended(count: int) -> Json:
    """Return a pod that asks for devices by the name of an extended resource."""
    made = pod()
    amounts = {"example.com/gpu": str(count)}
    made["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    made["status"] = {"phase": "Pending", "conditions": [REFUSED]}
    return made


@pytest.mark.parametrize(("count", "status"), [(2, 0), (3, 1)])
def test_extended_resources_are_claims_of_their_class(
    tmp_path: Path, count: int, status: int
) -> None:
    served = device_class()
    served["spec"]["extendedResourceName"] = "example.com/gpu"
    plugin = objects.node("plugin")
    plugin["status"]["allocatable"] = {**plugin["status"]["allocatable"], "example.com/gpu": "1"}
    desk = Desk(tmp_path, *nodes("n"), plugin, served, pool("n", ["a", "b"]), extended(count))
    document = desk.document("explain", "pod", "pod", "-n", "ns", status=status)
    assert document["fits"] == ["n"][: 1 - status]
    (wanted,) = document["claims"]
    assert wanted["requests"][0]["asksFor"] == f"{count} x {CLASS}"
    # The device plugin of the other node has too few of them.
    assert any("example.com/gpu is short" in one["why"] for one in document["groups"])


@pytest.mark.parametrize("status", [{"conditions": [REFUSED]}, {"phase": "Pending"}])
def test_another_scheduler_is_named(tmp_path: Path, status: Json) -> None:
    waiting = pending(schedulerName="kai") | {"status": status}
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", ["a"]), claim(), waiting)
    printed = desk.run("explain", "pod", "pod", "-n", "ns")
    assert "a legal allocation exists on n: its scheduler kai has not made it" in printed


def test_the_age_of_the_schedulers_message_is_when_it_was_written(tmp_path: Path) -> None:
    waiting = pending()
    fields = {"manager": "kube-scheduler", "subresource": "status", "time": "2026-11-22T11:59:40Z"}
    waiting["metadata"]["managedFields"] = [fields]
    tainted = pool("n", [device("a", taints=[TAINT])])
    desk = Desk(tmp_path, *nodes("n"), device_class(), tainted, claim(), waiting)
    printed = desk.run("explain", "pod", "pod", "-n", "ns", status=1)
    assert "has been waiting for devices for 14m" in printed
    assert "cannot allocate all claims. (20s ago)" in printed


def test_a_search_that_is_too_large_is_ended(tmp_path: Path) -> None:
    many = [model(f"d{index:02}") for index in range(24)]
    asked = claim(count=25)
    asked["spec"]["devices"]["constraints"] = [{"matchAttribute": f"{DRIVER}/model"}]
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", many), asked, pending())
    printed = desk.run("explain", "pod", "pod", "-n", "ns", status=1)
    assert "24 free, 25 wanted" in printed
    assert "The scheduler may run into its time-out" in printed


def test_without_all_rights_a_pod_that_seems_to_fit_is_uncertain(tmp_path: Path) -> None:
    unseen = [Unseen("resourceclaims", "forbidden", "ns")]
    manifests = [*nodes("n"), device_class(), pool("n", ["a"]), claim()]
    desk = Desk(tmp_path, *manifests, unseen=unseen)
    printed = desk.run("explain", "claim", "claim", "-n", "ns", status=2)
    assert "fits on 1 of 1 nodes" in printed
    assert "you cannot list resourceclaims outside of namespace ns" in printed


def blind(tmp_path: Path, plural: str) -> Desk:
    """Return the desk of a user who may not list one resource, where a pod would fit."""
    manifests = (*nodes("n"), device_class(), pool("n", ["a"]), claim(), pending())
    desk = Desk(tmp_path, *manifests)
    seen = snapshot(*manifests, unseen=[Unseen(plural, "forbidden")])
    others = {key: found for key, found in seen.objects.items() if key != plural}
    desk.write(replace(seen, objects=others))
    return desk


@pytest.mark.parametrize("plural", ["nodes", "resourceslices", "deviceclasses", "resourceclaims"])
def test_what_may_not_be_listed_is_no_reason_for_a_refusal(tmp_path: Path, plural: str) -> None:
    desk = blind(tmp_path, plural)
    printed = desk.run("explain", "pod", "pod", "-n", "ns", status=2)
    assert f"you cannot list {plural}" in printed.splitlines()[0]
    document = desk.document("explain", "pod", "pod", "-n", "ns", status=2)
    assert (document["answer"], document["groups"]) == ("Unknown", [])


@pytest.mark.parametrize(
    ("plural", "arguments"),
    [
        ("nodes", ["node", "n"]),
        ("deviceclasses", ["class", CLASS]),
        ("resourceslices", ["device", f"{DRIVER}/n/a"]),
    ],
)
def test_an_object_that_may_not_be_listed_is_not_called_missing_alone(
    tmp_path: Path, plural: str, arguments: list[str]
) -> None:
    result = invoke("explain", *arguments, "--snapshot", blind(tmp_path, plural).file)
    assert result.exit_code == 2
    assert f"cannot tell: you cannot list {plural}; `kubectl dra auth`" in result.stderr


@pytest.mark.parametrize("plural", ["nodes", "resourceslices", "deviceclasses"])
def test_nothing_is_simulated_on_what_may_not_be_listed(tmp_path: Path, plural: str) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(yaml.safe_dump(pod(claims={"gpu": "claim"})))
    result = invoke("simulate", "-f", file, "--snapshot", blind(tmp_path, plural).file)
    assert result.exit_code == 2
    assert f"you cannot list {plural}" in result.stderr


def test_a_class_says_on_how_many_devices_an_attribute_is_set(tmp_path: Path) -> None:
    made = device_class()
    made["spec"]["selectors"].append({"cel": {"expression": MODEL.replace("model", "modle")}})
    desk = Desk(tmp_path, made, pool("n", [model("a"), "b"]))
    printed = desk.run("explain", "class", CLASS, status=1)
    assert "selects 0 of 2 devices" in printed
    assert f"attribute {DRIVER}/modle is set on 0 of 2 devices; did you mean model?" in printed
    assert desk.document("explain", "class", CLASS, status=1)["attributes"][0]["didYouMean"]


def test_a_node_and_a_device(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", [model("a"), device("b", taints=[TAINT])]),
        held(claim(), ("n", "a")),
    )
    assert "2 devices in 1 pool, 0 free" in desk.run("explain", "node", "n")
    assert desk.document("explain", "node", "n")["devices"][0]["users"] == ["claim ns/claim"]
    printed = desk.run("explain", "device", f"{DRIVER}/n/b", status=1)
    assert "is tainted: a claim must tolerate broken=yes:NoSchedule" in printed
    assert "DeviceClasses: gpu" in printed
    used = desk.document("explain", "device", f"{DRIVER}/n/a", status=1)
    assert (used["state"], used["attributes"]) == ("used", {"model": "a"})


def test_free_partitions_are_counted_as_top_counts_them(tmp_path: Path) -> None:
    half = [{"counterSet": "set", "counters": {"memory": {"value": "3Gi"}}}]
    parts = [device("a", consumesCounters=half), device("b", consumesCounters=half)]
    slices = (pool("n", parts, resourceSliceCount=2), COUNTERS)
    desk = Desk(tmp_path, *nodes("n"), device_class(), *slices)
    (row,) = desk.document("top")["classes"]
    (driver,) = desk.document("explain", "class", CLASS)["drivers"]
    assert (row["free"], driver["free"]) == (1, 1)
    assert "Node n: 2 devices in 1 pool, 1 free." in desk.run("explain", "node", "n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["pod"], "give a name as well", id="no name"),
        pytest.param(["pod", "x", "-f", __file__], "give either", id="both"),
        pytest.param(["pod", "x"], "pod default/x not found", id="no such pod"),
        pytest.param(["class", "gpuu"], "did you mean gpu?", id="a misspelt class"),
        pytest.param(["-f", "missing.yaml"], "No such file", id="no file"),
        pytest.param(["pod", "x", "--node", "y"], "node y not found", id="no node"),
    ],
)
def test_bad_input_ends_with_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    desk = Desk(tmp_path, device_class())
    result = invoke("explain", *arguments, "--snapshot", desk.file)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    "field",
    [
        {"containers": "main"},
        {"containers": [{"name": "main", "resources": {"requests": ["cpu"]}}]},
        {"tolerations": "all"},
        {"nodeSelector": ["gpu"]},
        {"overhead": 1},
        {"affinity": {"nodeAffinity": "here"}},
    ],
)
@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_a_malformed_pod_of_a_file_is_named_with_the_field(
    tmp_path: Path, command: str, field: Json
) -> None:
    file = tmp_path / "pod.yaml"
    made = pod(claims={"gpu": "claim"})
    file.write_text(yaml.safe_dump({**made, "spec": {**made["spec"], **field}}))
    desk = Desk(tmp_path, *nodes("n"), device_class(), claim())
    result = invoke(command, "-f", file, "--snapshot", desk.file)
    assert result.exit_code == 2
    assert "pod ns/pod" in result.stderr
    assert f"malformed: spec.{next(iter(field))}" in result.stderr


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_an_object_of_a_file_that_the_api_server_would_refuse_is_named_with_the_field(
    tmp_path: Path, command: str
) -> None:
    file = tmp_path / "pod.yaml"
    wanted = claim("wanted", count=-1)
    file.write_text(yaml.safe_dump_all([wanted, pod(claims={"gpu": "wanted"})]))
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", 1))
    result = invoke(command, "-f", file, "--snapshot", desk.file)
    assert result.exit_code == 2
    field = "ResourceClaim ns/wanted: spec.devices.requests[0].exactly.count: Invalid value: -1"
    assert field in result.stderr
    assert "the API server would reject it, see `dragoman check`" in result.stderr


@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_objects_that_have_nothing_to_do_with_devices_may_be_in_a_file(
    tmp_path: Path, command: str
) -> None:
    others = [
        {"kind": "Kustomization", "resources": ["pod.yaml"]},
        {"replicas": 2},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "system:scheduler-extra"},
        },
        {"apiVersion": "batch.example.com/v1", "kind": "PodGroup", "spec": {"resourceClaims": 1}},
    ]
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all([*others, claim(), pod(claims={"gpu": "claim"})]))
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", 1))
    assert invoke(command, "-f", file, "--snapshot", desk.file).exit_code == 0


def bound_later(*conditions: Json, allocated: str = "2026-11-22T11:59:00Z") -> Json:
    """Return a claim of device `n/a`, which its driver makes ready before the pod is bound."""
    made = held(claim(), ("n", "a"), bindingConditions=["Cabled"], bindingFailureConditions=["Cut"])
    made["status"]["allocation"]["allocationTimestamp"] = allocated
    reported = {"driver": DRIVER, "pool": "n", "device": "a", "conditions": list(conditions)}
    made["status"]["devices"] = [reported]
    return made


def desk_with(tmp_path: Path, made: Json) -> Desk:
    unready = device("a", bindingConditions=["Cabled"], bindingFailureConditions=["Cut"])
    return Desk(tmp_path, *nodes("m", "n"), device_class(), pool("n", [unready]), made, pending())


def test_a_pod_waits_for_the_driver_of_devices_that_it_has(tmp_path: Path) -> None:
    desk = desk_with(tmp_path, bound_later())
    printed = desk.run("explain", "pod", "pod", "-n", "ns")
    assert (
        f"claim claim, {DRIVER}/n/a: the device is not ready: waits for Cabled: "
        "the scheduler waits for its driver before it binds the pod."
    ) in printed


@pytest.mark.parametrize(
    ("made", "code", "why"),
    [
        (
            bound_later({"type": "Cut", "status": "True", "reason": "NoLink"}),
            "BindingFailed",
            f"claim claim, {DRIVER}/n/a: binding failed: condition Cut is true: NoLink",
        ),
        (
            bound_later(allocated="2026-11-22T11:00:00Z"),
            "BindingTimeout",
            f"claim claim, {DRIVER}/n/a: the device was not ready within 600 s",
        ),
    ],
    ids=["failed", "late"],
)
def test_a_device_that_did_not_get_ready_keeps_the_pod_from_every_node(
    tmp_path: Path, made: Json, code: str, why: str
) -> None:
    found = desk_with(tmp_path, made).document("explain", "pod", "pod", "-n", "ns", status=1)
    assert [(one["nodes"], one["codes"]) for one in found["groups"]] == [(["m", "n"], [code])]
    assert found["groups"][0]["why"].startswith(why)
    assert found["schedulerMessage"] == (
        "0/2 nodes are available: 2 resourceclaim not available on the node."
    )


LOOPS = (
    f'device.attributes["{DRIVER}"].model == "none" || '
    f"{[*range(40)]}.exists(a, {[*range(40)]}.exists(b, {[*range(40)]}.exists(c, a + b + c < 0)))"
)
"""64,000 loops."""


def costly(**more: Any) -> list[Json]:
    """Return 40 unlike devices, and a pod whose selector takes long on each."""
    unlike = [model(f"d{number}", str(number)) for number in range(40)]
    return [*nodes("m", "n"), device_class(), pool("n", unlike), selecting(LOOPS), pending(**more)]


@pytest.mark.hostile("explain")
def test_a_pod_that_takes_too_long_is_said_to_be_too_expensive(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *costly())
    options = ("explain", "pod", "pod", "-n", "ns", "--timeout", "0.2")
    found = desk.document(*options, status=2)
    assert (found["answer"], found["tooExpensive"], found["fits"]) == ("Unknown", True, [])
    assert found["schedulerMessage"] is None
    said = desk.run(*options, status=2)
    assert "is too expensive to explain" in said
    assert "after 1 of 2 nodes" in said
    assert "--timeout" in said


@pytest.mark.hostile("explain")
def test_a_simulation_that_takes_too_long_names_the_options(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *costly())
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(yaml.safe_dump_all([pod("more", claims={"gpu": "claim"})]))
    result = invoke("simulate", "-f", manifest, "--snapshot", desk.file, "--timeout", "0.2")
    assert result.exit_code == 2
    assert "too expensive to simulate" in result.output
    assert "--timeout" in result.output
    assert "--replicas" in result.output


def waiting_pod(**spec: Any) -> Json:
    """Return a pod that was created long ago, without a word of a scheduler."""
    made = pod(templates={"gpu": "template"}, **spec)
    made["metadata"]["creationTimestamp"] = "2026-11-22T11:00:00Z"
    made["status"] = {"phase": "Pending"}
    return made


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kueue.x-k8s.io/admission", "Kueue has not admitted the workload"),
        ("kueue.x-k8s.io/topology", "Kueue has not assigned its topology"),
        ("example.com/ready", "until the controller of example.com removes it"),
        ("hold", "until the creator of the pod removes it"),
    ],
)
def test_a_gate_is_named_with_who_removes_it(tmp_path: Path, name: str, words: str) -> None:
    made = waiting_pod(schedulingGates=[{"name": name}])
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", 1), made)
    text = desk.run("explain", "pod", "pod", "-n", "ns", status=1)
    assert f"scheduling gate {name}: " in text
    assert words in text


@pytest.mark.parametrize(
    ("scheduler", "words"),
    [
        ("gpu-scheduler", "is gpu-scheduler running? Others have placed pods here"),
        ("default-schedular", "did you mean default-scheduler?"),
        ("default-scheduler", "is default-scheduler running?"),
        ("batch-schedular", "did you mean batch-scheduler?"),
    ],
)
def test_no_scheduler_has_looked_at_a_pod(tmp_path: Path, scheduler: str, words: str) -> None:
    other = pod("other", node="n", schedulerName="batch-scheduler")
    made = waiting_pod(schedulerName=scheduler)
    made["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "claim"}]
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", 1), other, claim(), made)
    first, *_ = desk.run("explain", "pod", "pod", "-n", "ns").splitlines()
    assert f"spec.schedulerName is {scheduler}" in first
    assert words in first
    found = desk.document("explain", "pod", "pod", "-n", "ns")
    assert found["obstacles"][0]["code"] == "NoScheduler"


DEVICES = f"{CLASS}.deviceclass.resource.k8s.io/devices"
CLAIMS = "count/resourceclaims.resource.k8s.io"


@pytest.mark.parametrize(
    ("hard", "used", "words"),
    [
        ({DEVICES: "3"}, {DEVICES: "2"}, f"allows 3 of {CLASS}, 2 are charged, 2 are wanted"),
        ({DEVICES: "1"}, {}, f"allows 1 of {CLASS}, 0 are charged, 2 are wanted"),
        ({CLAIMS: "4"}, {CLAIMS: "4"}, "allows 4 ResourceClaims, and there are 4"),
        ({DEVICES: "4", CLAIMS: "4"}, {DEVICES: "2", CLAIMS: "3"}, ""),
    ],
)
def test_a_quota_keeps_a_claim_from_being_created(
    tmp_path: Path, hard: Json, used: Json, words: str
) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "ns"},
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": used},
    }
    template = objects.template("template", "ns", CLASS, 2)
    made = waiting_pod()
    made["status"]["conditions"] = [REFUSED]
    desk = Desk(tmp_path, *nodes("n"), device_class(), pool("n", 2), template, quota, made)
    text = desk.run("explain", "pod", "pod", "-n", "ns", status=1)
    codes = [
        one["code"]
        for one in desk.document("explain", "pod", "pod", "-n", "ns", status=1)["obstacles"]
    ]
    assert ("quota gpus" in text) == bool(words)
    assert words in text
    assert codes == ["QuotaExceeded"] * bool(words) + ["ClaimNotCreated"]


def test_a_claim_that_is_allocated_no_device_is_no_obstacle_to_an_answer(tmp_path: Path) -> None:
    empty = {**claim("empty"), "status": {"allocation": {}}}
    user = pod("user", claims={"gpu": "taken"}, node="n")
    taken = held(claim("taken"), ("n", "a"), pods=[user])
    desk = Desk(
        tmp_path,
        *(*nodes("n"), device_class(), pool("n", ["a"]), claim(), pending(), empty, taken, user),
    )
    assert "when ns/user ends" in desk.run("explain", "pod", "pod", "-n", "ns", status=1)
    assert "It holds no device." in desk.run("explain", "claim", "empty", "-n", "ns")


def test_each_claim_that_is_left_by_a_pod_has_its_own_command(tmp_path: Path) -> None:
    user = pod("user", claims={"a": "first", "b": "second"}, node="n")
    user["status"] = {"phase": "Succeeded"}
    left = [
        held(claim(name), ("n", device), pods=[user])
        for name, device in (("first", "a"), ("second", "b"))
    ]
    desk = Desk(
        tmp_path,
        *(*nodes("n"), device_class(), pool("n", ["a", "b"]), claim(count=2), pending(), user),
        *left,
    )
    said = " ".join(desk.run("explain", "pod", "pod", "-n", "ns", status=1).split())
    assert "kubectl dra release ns/first; kubectl dra release ns/second" in said

"""What `explain` says, for each reason that a pod can have."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.inventory.snapshot import Unseen
from tests.support.controlplane import objects
from tests.unit.cli.dra.running import Desk, invoke
from tests.unit.inventory.builders import (
    CLASS,
    DRIVER,
    claim,
    device,
    device_class,
    held,
    pod,
    pool,
)

TAINT = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
MODEL = f'device.attributes["{DRIVER}"].model == "b"'
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
    assert document["answer"] == "DoesNotFit"
    (group,) = document["groups"]
    assert code in group["codes"]
    assert why in group["why"]
    refusal = "invalid resource pools were encountered" if code == "PoolInvalid" else CANNOT
    assert document["schedulerMessage"] == f"0/1 nodes are available: 1 {refusal}."
    printed = desk.run("explain", "pod", "pod", "-n", "ns", status=1)
    assert printed.startswith("Pod ns/pod waits for devices since 14m: it fits on none of 1 nodes.")
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
    assert [one["nodes"] for one in groups] == [names[:3], ["n3"]]
    assert "model is a (3)" in groups[0]["why"]
    assert "n0, n1, 1 more" in desk.run("explain", "pod", "pod", "-n", "ns", status=1)


def suggestions(desk: Desk, **more: Any) -> list[Json]:
    found = desk.document("explain", "pod", "pod", "-n", "ns", status=1, **more)["suggestions"]
    assert isinstance(found, list)
    return found


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
    assert "It fits when ns/user-0 ends (n)." in printed


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
    guarded = f'device.attributes["{DRIVER}"].?spare.orValue(false)'
    assert printed.startswith("The scheduler stops at pod ns/pod, whatever the nodes are:")
    assert "no such key: spare" in printed
    assert f"1 of 2 devices have attribute spare; not {DRIVER}/n/bare" in printed
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


def test_nodes_that_other_filters_leave_out_are_said_to_have_the_devices(tmp_path: Path) -> None:
    cordoned = objects.node("n")
    cordoned["spec"] = {"unschedulable": True}
    desk = Desk(tmp_path, cordoned, device_class(), pool("n", ["a"]), claim(), pending())
    document = desk.document("explain", "pod", "pod", "-n", "ns", status=1)
    (group,) = document["groups"]
    assert group["why"] == "has the devices, but: node(s) were unschedulable"
    assert document["schedulerMessage"] == (
        "0/1 nodes are available: 1 node(s) were unschedulable."
    )


def test_a_pod_with_devices_says_which_and_why(tmp_path: Path) -> None:
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
    assert "These are the first devices that serve all requests" in printed
    assert desk.document("explain", "pod", "pod", "-n", "ns")["answer"] == "Allocated"


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
    assert any("Insufficient example.com/gpu" in one["why"] for one in document["groups"])


def test_another_scheduler_is_named(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path,
        *nodes("n"),
        device_class(),
        pool("n", ["a"]),
        claim(),
        pending(schedulerName="kai"),
    )
    printed = desk.run("explain", "pod", "pod", "-n", "ns")
    assert "a legal allocation exists on n: its scheduler kai has not made it" in printed


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
    assert "! not seen: resourceclaims outside of namespace ns" in printed


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
    assert "2 devices in 1 pools, 0 free" in desk.run("explain", "node", "n")
    assert desk.document("explain", "node", "n")["devices"][0]["users"] == ["claim ns/claim"]
    printed = desk.run("explain", "device", f"{DRIVER}/n/b", status=1)
    assert "is tainted: broken=yes:NoSchedule is to be tolerated" in printed
    assert "DeviceClasses: gpu" in printed
    used = desk.document("explain", "device", f"{DRIVER}/n/a", status=1)
    assert (used["state"], used["attributes"]) == ("used", {"model": "a"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["pod"], "give either a kind and a name", id="no name"),
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

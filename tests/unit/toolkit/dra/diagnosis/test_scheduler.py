"""What the scheduler did in minimal worlds, in which an answer once was another one."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import manifests as objects
from tests.support.dra import Desk
from tests.support.worlds.inventory import (
    DRIVER,
    claim,
    device,
    device_class,
    held,
    pod,
    pool,
)

Json = dict[str, Any]
HOST = "kubernetes.io/hostname"
OK = f'device.attributes["{DRIVER}"].ok'


def node(name: str, memory: str = "8Gi") -> Json:
    made = objects.node(name)
    made["metadata"]["labels"][HOST] = name
    made["status"]["allocatable"] |= {"cpu": "4", "memory": memory}
    return made


def requesting(made: Json, **amounts: str) -> Json:
    made["spec"]["containers"][0]["resources"] = {"requests": amounts, "limits": amounts}
    return made


def written(folder: Path, *manifests: Json) -> Path:
    file = folder / "manifests.yaml"
    file.write_text(yaml.safe_dump_all(manifests))
    return file


def allocated(name: str, on: str, *, pods: tuple[Json, ...] = ()) -> Json:
    made = held(claim(name), (on, "d0"), pods=pods)
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}]
    made["status"]["allocation"]["nodeSelector"] = {"nodeSelectorTerms": terms}
    return made


def test_a_claim_that_no_pod_has_reserved_is_deallocated(tmp_path: Path) -> None:
    pools = [pool(name, [device("d0")]) for name in ("n0", "n1")]
    wanted = pod("p", claims={"c": "c"}, nodeSelector={HOST: "n0"})
    cluster = [node("n0"), node("n1"), device_class(), *pools]
    desk = Desk(tmp_path, *cluster, allocated("c", "n1"))
    file = written(tmp_path, wanted)
    found = desk.document("explain", "-f", file)
    assert (found["answer"], found["fits"]) == ("Fits", ["n0"])
    assert found["deallocated"] == ["c"]
    assert "The scheduler deallocates claim c first" in desk.run("explain", "-f", file)
    placed = desk.document("simulate", "-f", file)
    assert [(one["name"], one["then"]) for one in placed["nodes"]] == [("n0", 1)]
    # Another pod uses it: it stays.
    other = pod("other", claims={"c": "c"}, node="n1")
    used = Desk(tmp_path, *cluster, allocated("c", "n1", pods=(other,)), other)
    found = used.document("explain", "-f", file, status=1)
    assert (found["answer"], found["deallocated"]) == ("DoesNotFit", [])
    assert used.document("simulate", "-f", file, status=1)["placed"] == 0


def test_devices_that_a_claim_has_already_are_not_what_the_pod_would_get(tmp_path: Path) -> None:
    wanted = pod("p", claims={"c": "c", "d": "d"})
    cluster = [node("n0"), device_class(), pool("n0", [device("d0"), device("d1")])]
    desk = Desk(tmp_path, *cluster, allocated("c", "n0"))
    file = written(tmp_path, claim("d"), wanted)
    found = desk.document("explain", "-f", file)
    (there,) = found["nodes"]
    assert (found["fits"], [one["device"] for one in there["devices"]]) == (["n0"], ["d1"])
    assert desk.run("explain", "-f", file, "--devices").count("the scheduler takes it") == 1


def test_a_claim_of_a_pod_group_is_deallocated_while_none_of_its_pods_has_a_node(
    tmp_path: Path,
) -> None:
    pools = [pool(name, [device("d0")]) for name in ("n0", "n1")]
    grouped: Json = {"schedulingGroup": {"podGroupName": "g"}}
    wanted = pod("p", claims={"c": "c"}, nodeSelector={HOST: "n0"}, **grouped)
    shared = allocated("c", "n1")
    reservation = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "uid": "uid-of-g"}
    shared["status"]["reservedFor"] = [{**reservation, "name": "g"}]
    cluster = [node("n0"), node("n1"), device_class(), *pools, shared]
    file = written(tmp_path, wanted)
    found = Desk(tmp_path, *cluster).document("explain", "-f", file)
    assert (found["answer"], found["fits"], found["deallocated"]) == ("Fits", ["n0"], ["c"])
    # Another pod of the group has a place, or the claim is another group's: it stays.
    member = pod("other", claims={"c": "c"}, node="n1", **grouped)
    stranger = pod("p", claims={"c": "c"}, nodeSelector={HOST: "n0"})
    for beside, what in (([member], wanted), ([], stranger)):
        desk = Desk(tmp_path, *cluster, *beside)
        found = desk.document("explain", "-f", written(tmp_path, what), status=1)
        assert (found["answer"], found["deallocated"]) == ("DoesNotFit", [])


@pytest.mark.parametrize(("group", "answer"), [("g", "Fits"), ("h", "Stopped")])
def test_a_pod_uses_the_claim_that_was_made_for_its_group(
    tmp_path: Path, group: str, answer: str
) -> None:
    made = claim("g-c-abcde")
    owner = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "name": "g"}
    made["metadata"]["ownerReferences"] = [{**owner, "uid": "uid-of-g", "controller": True}]
    grouped: Json = {"schedulingGroup": {"podGroupName": group}}
    waits = pod("p", templates={"c": "t"}, **grouped)
    waits["status"] = {"resourceClaimStatuses": [{"name": "c", "resourceClaimName": "g-c-abcde"}]}
    desk = Desk(tmp_path, node("n0"), device_class(), pool("n0", [device("d0")]), made, waits)
    status = 0 if answer == "Fits" else 1
    assert desk.document("explain", "pod", "p", "-n", "ns", status=status)["answer"] == answer


def test_a_deallocated_claim_may_find_no_other_devices(tmp_path: Path) -> None:
    wanted = pod("p", claims={"c": "c"}, nodeSelector={HOST: "n0"})
    taken = allocated("other", "n0", pods=(pod("holder", node="n0"),))
    pools = [pool(name, [device("d0")]) for name in ("n0", "n1")]
    desk = Desk(
        tmp_path, node("n0"), node("n1"), device_class(), *pools, allocated("c", "n1"), taken
    )
    found = desk.document("explain", "-f", written(tmp_path, wanted), status=1)
    assert (found["answer"], found["deallocated"]) == ("DoesNotFit", ["c"])
    assert "1 cannot allocate all claims" in found["schedulerMessage"]


def test_a_claim_says_for_which_pod_it_is_deallocated(tmp_path: Path) -> None:
    pools = [pool(name, [device("d0")]) for name in ("n0", "n1")]
    waits = pod("p", claims={"c": "c"}, nodeSelector={HOST: "n0"})
    desk = Desk(
        tmp_path, node("n0"), node("n1"), device_class(), *pools, allocated("c", "n1"), waits
    )
    said = desk.run("explain", "claim", "c", "-n", "ns")
    assert "The scheduler deallocates it: no other pod has reserved it, and pod ns/p" in said


@pytest.mark.parametrize(
    ("served", "remedy"),
    [
        pytest.param("example.com/gpus", "write example.com/gpus", id="by a class"),
        pytest.param("", "write example.com/gpu-plugin", id="by a node"),
    ],
)
def test_an_extended_resource_that_nothing_serves_is_named(
    tmp_path: Path, served: str, remedy: str
) -> None:
    kind = device_class()
    here = node("n0")
    name = "example.com/gpu" if served else "example.com/gpu-plugn"
    if served:
        kind["spec"]["extendedResourceName"] = served
    else:
        here["status"]["allocatable"]["example.com/gpu-plugin"] = "2"
    wanted = requesting(pod("p"), **{name: "1"})
    desk = Desk(tmp_path, here, kind, pool("n0", [device("d0")]))
    file = written(tmp_path, wanted)
    found = desk.document("explain", "-f", file, status=1)
    assert (found["answer"], found["fits"]) == ("DoesNotFit", [])
    assert [(one["code"], one["remedy"]) for one in found["obstacles"]] == [
        ("ResourceNotServed", remedy)
    ]
    assert found["schedulerMessage"] == f"0/1 nodes are available: 1 Insufficient {name}."
    assert remedy in desk.run("explain", "-f", file, status=1)


def test_a_pod_whose_devices_are_made_ready_takes_room(tmp_path: Path) -> None:
    """It waits in PreBind: it has a node, which its spec does not name yet."""
    first = requesting(pod("first", claims={"a": "a"}), memory="5Gi")
    binding = allocated("a", "n0", pods=(first,))
    results = binding["status"]["allocation"]["devices"]["results"]
    results[0] |= {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Cut"]}
    second = requesting(pod("second", claims={"b": "b"}), memory="5Gi")
    pools = pool("n0", [device("d0"), device("d1")])
    desk = Desk(tmp_path, node("n0"), device_class(), pools, binding, claim("b"), first)
    found = desk.document("explain", "-f", written(tmp_path, second), status=1)
    assert found["schedulerMessage"] == "0/1 nodes are available: 1 Insufficient memory."
    assert [(one["kind"], one["holders"]) for one in found["suggestions"]] == [
        ("EndHolder", ["ns/first"])
    ]


@pytest.mark.parametrize("conditions", [["Ready"], []], ids=["devices not ready", "ready"])
def test_devices_of_several_nodes_take_room_on_the_nominated_one(
    tmp_path: Path, conditions: list[str]
) -> None:
    first = requesting(pod("first", claims={"a": "a"}), memory="5Gi")
    first["status"] = {"phase": "Pending", "nominatedNodeName": "n1"}
    binding = held(claim("a"), ("net", "d0"), pods=[first])
    results = binding["status"]["allocation"]["devices"]["results"]
    results[0] |= {"bindingConditions": conditions}
    second = requesting(pod("second"), memory="5Gi")
    desk = Desk(tmp_path, node("n0"), node("n1"), device_class(), binding, first)
    placed = desk.document("simulate", "-f", written(tmp_path, second), "--replicas", "3", status=1)
    assert [(one["name"], one["then"]) for one in placed["nodes"] if one["then"]] == [("n0", 1)]


def test_a_pod_takes_no_room_from_itself(tmp_path: Path) -> None:
    first = requesting(pod("first", claims={"a": "a"}), memory="5Gi")
    binding = allocated("a", "n0", pods=(first,))
    results = binding["status"]["allocation"]["devices"]["results"]
    results[0] |= {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Cut"]}
    desk = Desk(tmp_path, node("n0"), device_class(), pool("n0", [device("d0")]), binding, first)
    assert desk.document("explain", "pod", "first", "-n", "ns")["fits"] == ["n0"]


def stopping(folder: Path) -> tuple[Desk, Path]:
    """Return a cluster where a selector fails on a device of the second node."""
    good = device("d0", attributes={"ok": {"bool": True}})
    wanted = claim("c", selectors=[{"cel": {"expression": OK}}])
    pools = (pool("n0", [good]), pool("n1", [device("d0")]))
    desk = Desk(folder, node("n0"), node("n1"), device_class(), *pools, wanted)
    return desk, written(folder, pod("p", claims={"c": "c"}))


def test_no_node_fits_where_the_scheduler_stops(tmp_path: Path) -> None:
    desk, file = stopping(tmp_path)
    found = desk.document("explain", "-f", file, status=1)
    assert (found["answer"], found["fits"]) == ("Stopped", [])
    assert [one["fits"] for one in found["nodes"]] == [False, False]


def test_nothing_is_placed_where_the_scheduler_stops(tmp_path: Path) -> None:
    desk, file = stopping(tmp_path)
    assert desk.document("simulate", "-f", file, status=1)["placed"] == 0
    assert "no such key: ok" in desk.run("simulate", "-f", file, status=1)


def test_a_simulation_goes_on_until_the_scheduler_stops(tmp_path: Path) -> None:
    """The selector reaches the device that it fails on when the one before it is taken."""
    good = device("d0", attributes={"ok": {"bool": True}})
    template = claim("t", selectors=[{"cel": {"expression": OK}}])
    template = {
        **template,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "t", "namespace": "ns"},
        "spec": {"spec": template["spec"]},
    }
    wanted = pod("p")
    wanted["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimTemplateName": "t"}]
    desk = Desk(
        tmp_path,
        node("n0"),
        node("n1"),
        device_class(),
        pool("n0", [good, device("d1")]),
        pool("n1", [good, {**good, "name": "d1"}]),
    )
    file = written(tmp_path, template, wanted)
    found = desk.document("simulate", "-f", file, "--replicas", "3", status=1)
    assert found["placed"] == 1


@pytest.mark.parametrize("with_devices", [True, False], ids=["free devices", "its devices"])
def test_the_pod_that_takes_the_memory_is_named(tmp_path: Path, *, with_devices: bool) -> None:
    holder = requesting(pod("holder", claims={"h": "h"}, node="n0"), memory="5Gi")
    small = requesting(pod("small", node="n0"), memory="1Gi")
    waits = requesting(pod("waits", claims={"w": "w"}), memory="5Gi")
    devices = [device("d0"), device("d1")][: 1 + with_devices]
    taken = allocated("h", "n0", pods=(holder,))
    desk = Desk(
        tmp_path, node("n0"), device_class(), pool("n0", devices), taken, claim("w"), holder, small
    )
    file = written(tmp_path, waits)
    found = desk.document("explain", "-f", file, status=1)
    assert [one["text"] for one in found["suggestions"]] == ["when ns/holder ends (n0)"]
    assert "* when ns/holder ends (n0)\n" in desk.run("explain", "-f", file, status=1)


def test_a_node_that_can_never_hold_the_pod_is_not_waited_for(tmp_path: Path) -> None:
    holder = requesting(pod("holder", node="n0"), memory="5Gi")
    waits = requesting(pod("waits", claims={"w": "w"}), memory="9Gi")
    desk = Desk(
        tmp_path, node("n0"), device_class(), pool("n0", [device("d0")]), claim("w"), holder
    )
    found = desk.document("explain", "-f", written(tmp_path, waits), status=1)
    assert found["suggestions"] == []

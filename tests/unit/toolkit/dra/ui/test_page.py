"""The page has the numbers of `top` and the holders of `who`."""

from typing import Any

from dragoman.allocation import profile
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.inventory import DeviceState, take
from dragoman.inventory.snapshots.snapshot import Unseen
from dragoman_toolkit.dra.ui import render
from dragoman_toolkit.dra.ui.nodemap import LOST, SEVERAL, UNPLACED
from dragoman_toolkit.dra.ui.page import WAITING_SHOWN, page
from dragoman_toolkit.dra.ui.problems import PageProblem, kinds
from tests.support.worlds import inventory as builders
from tests.support.worlds import pages, queues
from tests.support.worlds.inventory import claim, device, device_class, held, pod, pool
from tests.support.worlds.plugins import GPU

TAINT = {"key": "broken", "effect": "NoSchedule"}


def cluster() -> list[dict[str, Any]]:
    user = pod("trainer", "ml", claims={"gpu": "claim"}, node="node-a")
    return [
        device_class(),
        pool("node-a", ["a", "b", device("c", taints=[TAINT])]),
        pool("node-b", ["a"], resourceSliceCount=2),
        held(claim(namespace="ml"), ("node-a", "a"), ("node-z", "gone"), pods=[user]),
        claim("waits", "web"),
        pod("waits", "web", claims={"gpu": "waits"}),
        user,
    ]


def test_every_device_has_a_dot_with_its_state_and_holder() -> None:
    found = {row.name: row for row in pages.of(*cluster()).rows}
    assert [*found] == ["node-a", "node-b", f"{LOST}node-z"]
    assert [(dot.name, dot.state, dot.text) for dot in found["node-a"].dots] == [
        ("a", DeviceState.USED, "used by ml/trainer"),
        ("b", DeviceState.FREE, "free"),
        ("c", DeviceState.TAINTED, "tainted, broken:NoSchedule"),
    ]
    assert [dot.state for dot in found["node-b"].dots] == [DeviceState.UNUSABLE]
    assert [dot.text for dot in found[f"{LOST}node-z"].dots] == ["lost by ml/trainer"]


def test_lost_devices_stand_by_pool_behind_the_nodes() -> None:
    gone = [("node-10", "a"), ("node-2", "a"), ("node-2", "b")]
    tainted = pool("node-x", [device("a", taints=[TAINT])])
    rows = pages.of(device_class(), tainted, held(claim(count=3), *gone)).rows
    assert [(row.name, len(row.dots)) for row in rows] == [
        ("node-x", 1),
        (f"{LOST}node-2", 2),
        (f"{LOST}node-10", 1),
    ]


def test_quotas_are_shown_where_there_are_some() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus", "namespace": "ml"},
        "spec": {"hard": {"gpu.deviceclass.resource.k8s.io/devices": "4"}},
    }
    without, compared = pages.of(*cluster()).namespaces, pages.of(*cluster(), quota).namespaces
    assert without is not None
    assert compared is not None
    assert without.headers == ("NAMESPACE", "HELD", "IDLE>1h")
    assert [row[0] for row in without.rows] == ["ml", "web"]
    assert compared.headers[-1] == "WHY THEY DIFFER"
    assert "Namespaces and quotas" not in pages.html(*cluster())
    assert "Namespaces and quotas" in pages.html(*cluster(), quota)
    assert pages.of(device_class()).namespaces is None


def test_queues_and_pods_that_are_held_back_are_shown() -> None:
    waits = [{"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": "no"}]
    spec = {"containers": [{"name": "main", "resources": {"requests": {GPU: "4"}}}]}
    pod = queues.pod_of("train", 0, "", schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])
    pod["spec"]["containers"] = spec["containers"]
    world = (
        *queues.devices(4),
        *queues.kueue(),
        *queues.cluster_queue("team", 2, 0),
        queues.workload("train", "team", admitted=False, spec=spec, conditions=waits),
        pod,
    )
    found = pages.of(*world)
    assert found.queues is not None
    assert found.queues.rows[0][:3] == ("kueue/team", GPU, "2")
    assert (found.waiting, found.held_count, found.held[0].key) == ((), 1, "ml/train-0")
    assert "waits for ClusterQueue team: 2 more of nvidia.com/gpu" in found.held[0].reasons[0]
    html = pages.html(*world)
    assert "Pods held back" in html
    assert "Kueue holds the pod back" in html
    assert pages.of(*cluster()).queues is None
    assert "Pods held back" not in pages.html(*cluster())


def test_devices_whose_slices_are_not_seen_are_used_and_not_lost() -> None:
    seen = builders.snapshot(held(claim(), ("n", "a")), unseen=[Unseen("resourceslices", "no")])
    made = page(take(parse(seen), profile("1.36")), seen)
    assert [(row.name, [dot.state for dot in row.dots]) for row in made.rows] == [
        (UNPLACED, [DeviceState.USED])
    ]


def test_rows_count_as_top_nodes_does() -> None:
    first, second, _ = pages.of(*cluster()).rows
    assert (first.free, first.devices, first.holders) == (1, 3, (("ml/trainer", 1),))
    assert (second.free, second.devices) == (0, 0)
    assert second.problems == ("pool incomplete (1 of 2 slices, 60m)",)


def test_states_are_counted_over_all_devices() -> None:
    counts = pages.of(*cluster()).states
    assert {state: count for state, count in counts.items() if count} == {
        DeviceState.FREE: 1,
        DeviceState.USED: 1,
        DeviceState.TAINTED: 1,
        DeviceState.UNUSABLE: 1,
        DeviceState.LOST: 1,
    }


def test_details_name_claim_pod_containers_and_attributes() -> None:
    attributes = {"model": {"string": "a100"}, "index": {"int": 3}}
    capacity = {"memory": {"value": "80Gi"}}
    user = pod("trainer", "ml", claims={"gpu": "claim"}, node="node-a")
    one = device("a", attributes=attributes, capacity=capacity)
    manifests = [device_class(), pool("node-a", [one]), user]
    manifests.append(held(claim(namespace="ml"), ("node-a", "a"), pods=[user]))
    (details,) = pages.of(*manifests).rows[0].details
    assert details["id"] == "gpu.example.com/node-a/a"
    assert details["classes"] == [0]
    assert details["attributes"]["model"] == "a100"
    assert details["attributes"]["index"] == "3"
    assert details["attributes"]["memory (capacity)"] == "80Gi"
    (holder,) = details["holders"]
    assert (holder["claim"], holder["namespace"]) == ("ml/claim", "ml")
    assert holder["pods"][0].split()[0] == "ml/trainer"


def test_devices_of_several_nodes_have_a_row_of_their_own() -> None:
    slice_ = pool("fabric", ["a"])
    del slice_["spec"]["nodeName"]
    slice_["spec"]["allNodes"] = True
    assert [row.name for row in pages.of(device_class(), slice_).rows] == [SEVERAL]


def test_a_device_in_use_with_a_taint_is_marked() -> None:
    tainted = device("a", taints=[TAINT])
    used = held(claim(), ("node-a", "a"))
    (dot,) = pages.of(device_class(), pool("node-a", [tainted]), used).rows[0].dots
    assert (dot.state, dot.marked, dot.text) == (
        DeviceState.USED,
        True,
        "used by claim ns/claim, tainted",
    )


def test_many_waiting_pods_are_counted_and_the_first_are_listed() -> None:
    count = WAITING_SHOWN + 5
    waiting = [
        one
        for index in range(count)
        for one in (
            claim(f"c-{index}"),
            pod(f"p-{index:03}", claims={"gpu": f"c-{index}"}),
        )
    ]
    found = pages.of(device_class(), *waiting)
    assert (found.waiting_count, len(found.waiting)) == (count, WAITING_SHOWN)
    assert found.waiting[0].key == "ns/p-000"
    assert found.waiting[0].numbers == (0,)


def test_the_filters_offer_classes_and_namespaces() -> None:
    found = pages.of(*cluster())
    assert (found.class_names, found.namespace_names) == (("gpu",), ("ml", "web"))


def test_the_notes_do_not_count_the_rest_of_a_list_that_they_leave_out() -> None:
    broken = [pool(f"node-{number}", ["a"], resourceSliceCount=2) for number in range(25)]
    assert pages.of(device_class(), *broken).notes == ()


def test_problems_of_one_kind_are_written_out_three_times_and_then_named() -> None:
    found = [
        PageProblem("error", "DeviceLost", "web/lost", "", "", ""),
        *(
            PageProblem("error", "PoolIncomplete", f"pool-{number}", "", "", "")
            for number in range(5)
        ),
        PageProblem("warning", "ClaimIdle", "web/idle", "", "", ""),
    ]
    lost, pools, idle = kinds(found)
    assert (lost.id, len(lost.first), lost.more) == ("DeviceLost", 1, ())
    assert [one.about for one in pools.first] == ["pool-0", "pool-1", "pool-2"]
    assert pools.more == ("pool-3", "pool-4")
    assert idle.id == "ClaimIdle"


def test_what_cannot_be_listed_is_said_first_and_nothing_is_called_absent() -> None:
    manifests = [device_class(), pool("node-a", ["a"])]
    seen = builders.snapshot(*manifests, unseen=[Unseen("pods", "forbidden")])
    found = page(take(parse(seen), profile("1.36")), seen)
    assert found.notes[0].startswith("Cannot tell: you cannot list pods")
    html = "".join(render.sections(found, {}, live=False).values())
    assert "No pod waits" not in html
    assert "Nothing found that needs repair" not in html


def test_an_empty_cluster_has_the_commands_to_begin_with() -> None:
    html = pages.html()
    assert "Is a DRA driver installed?" in html
    assert "<code>kubectl get resourceslices</code>" in html

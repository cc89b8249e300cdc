"""`kubectl dra top queues`: every difference of what is charged and held has its code."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.inventory.snapshots.snapshot import Unseen
from tests.support import manifests as objects
from tests.support.dra import Desk, invoke
from tests.support.manifests import Json
from tests.support.worlds.plugins import GPU, NVIDIA, node
from tests.support.worlds.queues import (
    MAPPING,
    cluster_queue,
    devices,
    held,
    kueue,
    pod_of,
    workload,
)

EACH = {GPU: 2}
FIRST = {
    "devices": {
        "requests": [
            {
                "name": "devices",
                "firstAvailable": [{"name": "a", "deviceClassName": NVIDIA, "count": 2}],
            }
        ]
    }
}
EVERY = {
    "devices": {
        "requests": [
            {"name": "devices", "exactly": {"deviceClassName": NVIDIA, "allocationMode": "All"}}
        ]
    }
}
ADMIN = {
    "devices": {
        "requests": [
            {"name": "devices", "exactly": {"deviceClassName": NVIDIA, "adminAccess": True}}
        ]
    }
}


def answered(folder: Path, *manifests: Json, status: int = 0, options: Any = ()) -> list[Any]:
    desk = Desk(folder, *manifests)
    found = desk.document("top", "queues", *options, status=status)
    rows: list[Any] = found["queues"]
    return rows


def codes(row: Any) -> list[tuple[str, int, str]]:
    return [(one["code"], one["amount"], one["subject"]) for one in row["differences"]]


def started(job: str, number: int, *names: str, **more: Any) -> list[Json]:
    pod = pod_of(job, number, template="gpus")
    return [pod, held(pod, *names, **more)]


def test_what_is_charged_and_held_is_the_same_where_all_pods_run(tmp_path: Path) -> None:
    rows = answered(
        tmp_path,
        *kueue(),
        *devices(),
        *cluster_queue("team", 8, 4),
        workload("train", "team", 2, EACH),
        *started("train", 0, "gpu-0", "gpu-1"),
        *started("train", 1, "gpu-2", "gpu-3"),
    )
    assert [(row["charged"], row["held"], row["differences"]) for row in rows] == [(4, 4, [])]


def test_each_share_of_a_device_is_held(tmp_path: Path) -> None:
    pod, claim = started("train", 0, "gpu-0", "gpu-0")
    for end, result in enumerate(claim["status"]["allocation"]["devices"]["results"]):
        result["shareID"] = f"00000000-0000-4000-8000-00000000000{end}"
    team = (*cluster_queue("team", 8, 2), workload("train", "team", 1, EACH))
    rows = answered(tmp_path, *kueue(), *devices(), *team, pod, claim)
    assert [(row["charged"], row["held"], row["differences"]) for row in rows] == [(2, 2, [])]


@pytest.mark.parametrize(
    ("manifests", "charged", "held_", "expected"),
    [
        pytest.param(
            [workload("train", "team", 3, EACH), *started("train", 0, "gpu-0", "gpu-1")],
            *(6, 2, [("NotStarted", 4, "ml/train")]),
            id="pods that are not there yet",
        ),
        pytest.param(
            [workload("train", "team", 1, EACH), pod_of("train", 0, "", template="gpus")],
            *(2, 0, [("NotStarted", 2, "ml/train")]),
            id="a pod without a node",
        ),
        pytest.param(
            [
                workload("train", "team", 1, EACH),
                pod_of("train", 0, "", template="gpus"),
                held(None, "gpu-0", "gpu-1", name="train-0-gpu"),
            ],
            *(2, 2, [("NotStarted", 2, "ml/train"), ("IdleClaim", 2, "claim ml/train-0-gpu")]),
            id="a pod without a node, whose claim nothing reserves",
        ),
        pytest.param(
            [
                workload("train", "team", 2, EACH),
                *started("train", 0, "gpu-0", "gpu-1"),
                {**pod_of("train", 1, template="gpus"), "status": {"phase": "Succeeded"}},
            ],
            *(4, 2, [("Ended", 2, "ml/train")]),
            id="a pod that has ended",
        ),
        pytest.param(
            [
                workload("train", "team", 2, EACH),
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "metadata": {"name": "train", "namespace": "ml", "uid": "u-train"},
                    "status": {"succeeded": 1},
                },
                *started("train", 0, "gpu-0", "gpu-1"),
            ],
            *(4, 2, [("Ended", 2, "ml/train")]),
            id="a pod that its Job has counted",
        ),
        pytest.param(
            [
                workload(
                    "train",
                    "team",
                    2,
                    EACH,
                    reclaimablePods=[{"name": "main", "count": 1}],
                ),
                *started("train", 0, "gpu-0", "gpu-1"),
                {**pod_of("train", 1, template="gpus"), "status": {"phase": "Succeeded"}},
            ],
            *(2, 2, []),
            id="a pod that was reclaimed",
        ),
        pytest.param(
            [
                workload(
                    "old",
                    "team",
                    1,
                    admitted=False,
                    conditions=[{"type": "Evicted", "status": "True", "reason": "Preempted"}],
                ),
                *started("old", 0, "gpu-0", "gpu-1"),
            ],
            *(0, 2, [("Evicted", 2, "ml/old")]),
            id="an evicted workload whose pods still end",
        ),
        pytest.param(
            [*started("", 0, "gpu-0", "gpu-1")],
            *(0, 0, [("NoQueue", 2, "ml/pod/-0 without a queue")]),
            id="a pod without a queue",
        ),
        pytest.param(
            [held(None, "gpu-0", name="kept")],
            *(0, 0, [("IdleClaim", 1, "claim ml/kept")]),
            id="a claim that nothing reserves",
        ),
        pytest.param(
            [
                workload("train", "team", 1),
                *started("train", 0, "gpu-0", "gpu-1", spec=FIRST, request="devices/a"),
            ],
            *(0, 2, [("Alternatives", 2, "claim ml/train-0-gpu")]),
            id="alternatives",
        ),
        pytest.param(
            [workload("train", "team", 1), *started("train", 0, "gpu-0", "gpu-1", spec=EVERY)],
            *(0, 2, [("AllDevices", 2, "claim ml/train-0-gpu")]),
            id="all devices",
        ),
        pytest.param(
            [
                workload("train", "team", 1),
                *started("train", 0, "gpu-0", spec=ADMIN, adminAccess=True),
            ],
            *(0, 0, [("AdminAccess", 1, "ml/train")]),
            id="admin access",
        ),
    ],
)
def test_each_difference_has_its_code_and_amount(
    tmp_path: Path, manifests: list[Json], charged: int, held_: int, expected: list[Any]
) -> None:
    world = (*kueue(), *devices(), *cluster_queue("team", 8, charged))
    (row,) = answered(tmp_path, *world, *manifests)
    assert (row["charged"], row["held"], codes(row)) == (charged, held_, expected)
    assert row["unexplained"] == 0


MIG, MEMORY = "nvidia.com/mig-4g.20gb", "example.com/memory"


@pytest.mark.parametrize(
    ("config", "quota", "charged", "expected"),
    [
        pytest.param(
            f"transformations: [{{input: {MIG}, strategy: Replace, outputs: {{{MEMORY}: 20Gi}}}}]",
            *((MEMORY, "100Gi", "40Gi"), {MEMORY: 40 * 2**30}, [(MEMORY, 40 * 2**30, [])]),
            id="replaced",
        ),
        pytest.param(
            f"transformations: [{{input: {MIG}, outputs: {{{MEMORY}: 20Gi}}}}]",
            (MEMORY, "100Gi", "40Gi"),
            {MEMORY: 40 * 2**30},
            [(MEMORY, 40 * 2**30, []), (MIG, 2, [("NoQuota", 2, "ml/train")])],
            id="retained",
        ),
        pytest.param(
            "excludeResourcePrefixes: [nvidia.com]",
            *(("example.com/x", "8", "0"), {}, [("example.com/x", 0, [])]),
            id="excluded",
        ),
        pytest.param(
            "excludeResourcePrefixes: [nvidia.com]\n  "
            f"transformations: [{{input: {MIG}, strategy: Replace, outputs: {{{MEMORY}: 20Gi}}}}]",
            *(("example.com/x", "8", "0"), {}, [("example.com/x", 0, [])]),
            id="excluded before it is transformed",
        ),
        pytest.param(
            "excludeResourcePrefixes: [example.com]\n  "
            f"transformations: [{{input: {MIG}, strategy: Replace, outputs: {{{MEMORY}: 20Gi}}}}]",
            *((MEMORY, "100Gi", "40Gi"), {MEMORY: 40 * 2**30}, [(MEMORY, 40 * 2**30, [])]),
            id="an output of an excluded name",
        ),
        pytest.param(
            "quotaCheckStrategy: IgnoreUndeclared",
            *(("example.com/x", "8", "0"), {}, [("example.com/x", 0, [])]),
            id="without a quota",
        ),
    ],
)
def test_what_a_configuration_renames_or_leaves_out_is_explained(
    tmp_path: Path,
    config: str,
    quota: tuple[str, str, str],
    charged: dict[str, int],
    expected: list[Any],
) -> None:
    pod = pod_of("train", 0, "p", limits={MIG: "2"})
    resource, nominal, used = quota
    rows = answered(
        tmp_path,
        *kueue(config=f"{MAPPING}  {config}\n"),
        node("p", allocatable={"pods": "110", MIG: "8"}),
        *cluster_queue("team", nominal, used, resource=resource),
        workload("train", "team", 1, charged),
        pod,
    )
    if not charged:
        code = "Excluded" if "exclude" in config else "NoQuota"
        expected = [*expected, (MIG, 2, [(code, 2, "ml/train")])]
    assert [(row["resource"], row["held"], codes(row)) for row in rows] == expected
    assert {row["unexplained"] for row in rows} == {0}


def test_a_number_that_no_reason_explains_is_named_and_fails(tmp_path: Path) -> None:
    world = (*kueue(), *devices(), *cluster_queue("team", 8, 5))
    rows = answered(tmp_path, *world, workload("train", "team", 1, EACH), status=1)
    assert [row["unexplained"] for row in rows] == [3]
    desk = Desk(tmp_path, *world, workload("train", "team", 1, EACH))
    assert "3 unexplained; 2 for ml/train, whose pods" in desk.run("top", "queues", status=1)


@pytest.mark.parametrize(
    ("version", "args", "code"),
    [
        ("v0.13.2", [], "GateOff"),
        ("v0.17.0", [], "GateOff"),
        ("v0.17.0", ["--feature-gates=DynamicResourceAllocation=true"], None),
        ("v0.18.1", [], None),
        ("v0.18.1", ["--feature-gates=KueueDRAIntegration=false"], "GateOff"),
        ("v0.20.0", [], None),
    ],
)
def test_claims_are_charged_by_version_and_gate(
    tmp_path: Path, version: str, args: list[str], code: str | None
) -> None:
    charged = 0 if code else 2
    rows = answered(
        tmp_path,
        *kueue(version, args=args),
        *devices(),
        *cluster_queue("team", 8, charged),
        workload("train", "team", 1, {} if code else EACH),
        *started("train", 0, "gpu-0", "gpu-1"),
    )
    assert [codes(row) for row in rows] == [[(code, 2, "ml/train")] if code else []]


def test_a_class_that_is_not_mapped_has_a_row_of_its_own(tmp_path: Path) -> None:
    rows = answered(
        tmp_path,
        *kueue("v0.17.0", config="featureGates: {DynamicResourceAllocation: true}"),
        *devices(),
        *cluster_queue("team", 8, 0, resource="example.com/other"),
        workload("train", "team", 1),
        *started("train", 0, "gpu-0", "gpu-1"),
    )
    by_resource = {row["resource"]: row for row in rows}
    assert codes(by_resource[NVIDIA]) == [("NotMapped", 2, "ml/train")]


def test_without_the_version_reasons_that_depend_on_it_are_left_out(tmp_path: Path) -> None:
    world = (*devices(), *cluster_queue("team", 8, 0), workload("train", "team", 1))
    rows = answered(tmp_path, *world, *started("train", 0, "gpu-0", "gpu-1"))
    assert [codes(row) for row in rows] == [[("UnknownVersion", 2, "ml/train")]]
    assert "the version of Kueue is not known" in Desk(tmp_path, *world).run("top", "queues")


def test_resources_of_plugins_and_of_claims_of_the_scheduler_are_held(tmp_path: Path) -> None:
    plugin = pod_of("train", 0, "p", limits={GPU: "2"})
    scheduled = pod_of("train", 1, "n", limits={GPU: "2"})
    scheduled["status"]["extendedResourceClaimStatus"] = {
        "resourceClaimName": "train-1-extended",
        "requestMappings": [
            {"containerName": "main", "resourceName": GPU, "requestName": "devices"}
        ],
    }
    rows = answered(
        tmp_path,
        *kueue(),
        *devices(),
        node("p", allocatable={GPU: "8"}),
        *cluster_queue("team", 8, 4),
        workload("train", "team", 2, EACH),
        plugin,
        scheduled,
        held(scheduled, "gpu-0", "gpu-1", name="train-1-extended"),
    )
    assert [(row["charged"], row["held"], codes(row)) for row in rows] == [(4, 4, [])]


def test_a_class_that_changed_since_the_admission_is_named_on_both_sides(tmp_path: Path) -> None:
    other = "example.com/gpu"
    first, *rest = cluster_queue("team", 8, 2, resource=other)
    groups = first["spec"]["resourceGroups"]
    groups += cluster_queue("team", 8, 0)[0]["spec"]["resourceGroups"]
    rows = answered(
        tmp_path,
        *kueue(),
        *devices(),
        *(first, *rest),
        workload("train", "team", 1, {other: 2}),
        *started("train", 0, "gpu-0", "gpu-1"),
    )
    found = {row["resource"]: [(o["code"], o["side"]) for o in row["differences"]] for row in rows}
    assert found == {other: [("ClassMoved", "charged")], GPU: [("ClassMoved", "held")]}


@pytest.mark.parametrize(
    "args",
    [
        ["--feature-gates=KueueDRAIntegration=false"],
        ["--config=/c.yaml", "--feature-gates", "KueueDRAIntegration=false"],
    ],
)
def test_gates_are_read_in_both_forms_of_flags(tmp_path: Path, args: list[str]) -> None:
    desk = Desk(tmp_path, *kueue(args=args), *devices(1), *cluster_queue("team", 2, 0))
    said = invoke("top", "queues", "--snapshot", desk.file).output
    assert "Kueue v0.19 does not charge claims (KueueDRAIntegration is off)" in said


@pytest.mark.parametrize("names", ["5", "null", "gpu.nvidia.com", "{}"])
def test_a_malformed_mapping_of_classes_maps_none(tmp_path: Path, names: str) -> None:
    config = f"resources: {{deviceClassMappings: [{{name: x, deviceClassNames: {names}}}, 5]}}"
    rows = answered(tmp_path, *kueue(config=config), *devices(1), *cluster_queue("team", 2, 0))
    assert [row["queue"] for row in rows] == ["team"]


def test_counters_are_held_in_the_unit_of_the_quota(tmp_path: Path) -> None:
    config = f"""\
resources:
  deviceClassMappings:
  - name: gpu-memory
    deviceClassNames: [{NVIDIA}]
    sources: [{{counter: {{name: memory, driver: {NVIDIA}}}}}]
"""
    made = devices(1)
    consumes = [{"counterSet": "gpu-0", "counters": {"memory": {"value": "5Gi"}}}]
    made[1]["spec"]["devices"][0]["consumesCounters"] = consumes
    rows = answered(
        tmp_path,
        *kueue(config=config),
        *made,
        *cluster_queue("team", "40Gi", 5 << 30, resource="gpu-memory"),
        workload("train", "team", 1, {"gpu-memory": 5 << 30}),
        *started("train", 0, "gpu-0"),
    )
    assert [(row["charged"], row["held"], codes(row)) for row in rows] == [(5 << 30, 5 << 30, [])]
    assert "40Gi" in Desk(
        tmp_path, *kueue(config=config), *cluster_queue("t", "40Gi", 0, "gpu-memory")
    ).run("top", "queues")


@pytest.mark.parametrize(
    ("spec", "code"),
    [(None, ""), (FIRST, "Alternatives"), (EVERY, "AllDevices")],
)
def test_workloads_that_wait_and_those_that_wait_for_ever(
    tmp_path: Path, spec: Json | None, code: str
) -> None:
    template = objects.template("gpus", "ml", NVIDIA, 3)
    if spec:
        template["spec"]["spec"] = spec
    pods = {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpus"}]}
    (row,) = answered(
        tmp_path,
        *kueue(),
        *devices(),
        *cluster_queue("team", 8, 0),
        template,
        workload("next", "team", 2, admitted=False, spec=pods),
    )
    (waiting,) = row["waiting"]["workloads"]
    assert (waiting["subject"], waiting["code"]) == ("ml/next", code)
    assert spec is not None or row["waiting"]["amount"] == 6


def test_what_a_cohort_has_left_can_be_borrowed(tmp_path: Path) -> None:
    rows = answered(
        tmp_path,
        *kueue(),
        *cluster_queue("a", 8, 10, cohort="all"),
        *cluster_queue("b", 8, 2, cohort="all", lendingLimit="6"),
        *cluster_queue("c", 4, 0, cohort="all", borrowingLimit="1"),
        workload("big", "a", 5, EACH),
        workload("small", "b", 1, EACH),
    )
    # Of the 8 + 6 + 4 that are lent, queue a has 10, and 6 of the 8 that are left are b's own.
    assert [row["quota"]["borrowable"] for row in rows] == [10, 2, 1]


def test_queues_can_be_chosen_and_misspelt_names_are_corrected(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *kueue(), *cluster_queue("team-a", 8), *cluster_queue("team-b", 8))
    assert "team-b" not in desk.run("top", "queues", "--queue", "kueue/team-a")
    assert (
        "did you mean kueue/team-a"
        in invoke("top", "queues", "--queue", "kueue/team", "--snapshot", desk.file).output
    )
    assert "team-a" in desk.run("top", "queues", "-n", "ml", "--manager", "kueue")


def test_a_cluster_without_queue_managers_says_so(tmp_path: Path) -> None:
    said = Desk(tmp_path, *devices()).run("top", "queues")
    assert said.strip() == "No queue manager found: Kueue, Volcano and KAI are known."


def test_queues_that_may_not_be_listed_leave_the_question_open(tmp_path: Path) -> None:
    unseen = [Unseen("clusterqueues.kueue.x-k8s.io", "forbidden")]
    desk = Desk(tmp_path, *devices(), unseen=unseen)
    said = desk.run("top", "queues", status=2)
    assert "you cannot list clusterqueues.kueue.x-k8s.io" in said


def volcano(*arguments: str, version: str = "v1.15.0") -> list[Json]:
    """Make Volcano's Deployment and configuration, with arguments of its capacity plug-in."""
    listed = "".join(f"\n      {one}" for one in arguments)
    plugin = f"tiers:\n- plugins:\n  - name: capacity\n    arguments:{listed or ' {}'}\n"
    containers = [{"name": "s", "image": f"docker.io/volcanosh/vc-scheduler:{version}"}]
    names = {"namespace": "volcano-system"}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "volcano-scheduler", **names},
            "spec": {"template": {"spec": {"containers": containers}}},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "volcano-scheduler-configmap", **names},
            "data": {"volcano-scheduler.conf": plugin},
        },
    ]


def volcano_queue(name: str, allocated: Json, **capability: str) -> list[Json]:
    """Make a Queue of Volcano, and a PodGroup of its name in it."""
    api = "scheduling.volcano.sh/v1beta1"
    limits = capability or {CLASS_KEY: "8"}
    return [
        {
            "apiVersion": api,
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"capability": dict(limits), "guarantee": {"resource": {CLASS_KEY: "2"}}},
            "status": {"allocated": allocated},
        },
        {
            "apiVersion": api,
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "ml"},
            "spec": {"queue": name, "minResources": {CLASS_KEY: "3"}},
            "status": {"phase": "Running"},
        },
    ]


CLASS_KEY = f"deviceclass/{NVIDIA}"


def grouped(group: str, number: int, *names: str, **more: Any) -> list[Json]:
    pod, *rest = started("v", number, *names, **more)
    pod["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": group}
    return [pod, *rest]


@pytest.mark.parametrize(
    ("manager", "pods", "charged", "held_", "expected"),
    [
        pytest.param(volcano(), grouped("vision", 0, "gpu-0", "gpu-1"), 2, 2, [], id="alike"),
        pytest.param(
            volcano(version="v1.14.0"),
            grouped("vision", 0, "gpu-0"),
            *(0, 1, [("GateOff", 1, "claim ml/v-0-gpu")]),
            id="before v1.15",
        ),
        pytest.param(
            volcano("capacity.DynamicResourceAllocationEnable: false"),
            grouped("vision", 0, "gpu-0"),
            *(0, 1, [("GateOff", 1, "claim ml/v-0-gpu")]),
            id="argument off",
        ),
        pytest.param(
            volcano(),
            [
                *grouped("vision", 0, "gpu-0"),
                *grouped("vision", 1, "gpu-1", spec=FIRST, request="devices/a"),
                *grouped("vision", 2, "gpu-2", spec=EVERY),
            ],
            *(1, 3),
            [
                ("Alternatives", 1, "claim ml/v-1-gpu"),
                ("AllDevices", 1, "claim ml/v-2-gpu"),
            ],
            id="not charged at all",
        ),
        pytest.param(
            volcano(),
            [*grouped("vision", 0, "gpu-0"), *started("", 7, "gpu-7")],
            *(1, 1, [("NoQueue", 1, "ml/pod/-7 without a queue")]),
            id="a pod of no group",
        ),
    ],
)
def test_volcano_charges_classes(  # noqa: PLR0917 — one parameter for each thing
    tmp_path: Path,
    manager: list[Json],
    pods: list[Json],
    charged: int,
    held_: int,
    expected: list[Any],
) -> None:
    queue = volcano_queue("vision", {CLASS_KEY: str(charged), "cpu": "4"})
    (row,) = answered(tmp_path, *manager, *devices(), *queue, *pods)
    assert (row["charged"], row["held"], codes(row)) == (charged, held_, expected)
    assert (row["quota"]["nominal"], row["quota"]["guarantee"]) == (8, 2)


def test_a_claim_of_pods_in_two_queues_is_charged_twice_and_held_once(tmp_path: Path) -> None:
    first, claim = grouped("a", 0, "gpu-0")
    second, _ = grouped("b", 1)
    second["status"]["resourceClaimStatuses"][0]["resourceClaimName"] = "v-0-gpu"
    rows = answered(
        tmp_path,
        *volcano(),
        *devices(),
        *volcano_queue("a", {CLASS_KEY: "1"}),
        *volcano_queue("b", {CLASS_KEY: "1"}),
        *(first, second, claim),
    )
    assert [(row["held"], codes(row)) for row in rows] == [
        (1, []),
        (0, [("SharedClaim", 1, "claim ml/v-0-gpu")]),
    ]


def test_a_pending_group_waits_for_what_it_asks_at_least(tmp_path: Path) -> None:
    queue, group = volcano_queue("vision", {})
    group["status"]["phase"] = "Pending"
    (row,) = answered(tmp_path, *volcano(), *devices(), queue, group)
    assert row["waiting"] == {
        "amount": 3,
        "workloads": [{"subject": "ml/vision", "amount": 3, "code": ""}],
    }


def test_a_dimension_is_held_in_its_own_unit(tmp_path: Path) -> None:
    key = f"memory.{CLASS_KEY}"
    rows = answered(
        tmp_path,
        *volcano("capacity.DRAConsumableCapacityEnable: true"),
        *devices(),
        *volcano_queue("vision", {CLASS_KEY: "1", key: "10Gi"}),
        *grouped("vision", 0, "gpu-0", consumedCapacity={"memory": "10Gi"}, shareID="s"),
    )
    assert {row["resource"]: (row["held"], codes(row)) for row in rows} == {
        CLASS_KEY: (1, []),
        key: (10 << 30, []),
    }


def test_kai_is_shown_as_it_reports_with_what_is_held_beside(tmp_path: Path) -> None:
    queue = {
        "apiVersion": "scheduling.run.ai/v2",
        "kind": "Queue",
        "metadata": {"name": "vision"},
        "spec": {"resources": {"gpu": {"quota": 4, "limit": -1}}},
        "status": {"allocated": {"nvidia.com/gpu": "3"}, "requested": {"nvidia.com/gpu": "5"}},
    }
    pod, claim = started("", 0, "gpu-0")
    pod["metadata"]["labels"] = {"kai.scheduler/queue": "vision"}
    (row,) = answered(tmp_path, *devices(), queue, pod, claim)
    found = row["quota"]["nominal"], row["charged"], row["held"], row["waiting"]["amount"]
    assert (found, row["differences"], row["unexplained"]) == ((4, 3, 1, 2), [], 0)

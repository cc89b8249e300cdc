"""What `defrag` prints."""

import json
from pathlib import Path

from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import device_class, pool
from tests.support.worlds.preemption import node, waiting
from tests.unit.toolkit.defrag.test_defrag import template, user


def desk(folder: Path, room: int = 2) -> Desk:
    return Desk(
        folder,
        *(device_class(), template(1), template(4)),
        *(node("a"), pool("a", 4), *user("web", "a", range(1))),
        *(node("b"), pool("b", room)),
        *waiting(4),
    )


def test_moves_in_their_order_and_that_nothing_was_changed(tmp_path: Path) -> None:
    printed = desk(tmp_path).run("defrag", "--for", "ns/train")
    assert "1 move makes room for ns/train (4 devices on a):" in printed
    (line,) = [one for one in printed.splitlines() if one.startswith("1  ")]
    assert line.split() == ["1", "ns/web", "a", "b", "1", "ReplicaSet", "batch", "-"]
    assert "Searched 2 nodes, complete: no plan has fewer moves." in printed
    assert "Nothing was changed." in printed


def test_the_document_has_devices_before_and_after(tmp_path: Path) -> None:
    found = desk(tmp_path).document("defrag", "--for", "ns/train")
    (move,) = found["moves"]
    assert (move["from"], move["to"], move["controller"]["kind"]) == ("a", "b", "ReplicaSet")
    assert [one["pool"] for one in (*move["devices"], *move["newDevices"])] == ["a", "b"]
    assert len(found["targets"][0]["devices"]) == 4


def test_no_moves_end_with_1_and_say_why_pods_stay(tmp_path: Path) -> None:
    small = desk(tmp_path, room=0)
    assert "No moves make room for ns/train" in small.run("defrag", "--for", "ns/train", status=1)


def test_a_job_that_is_not_applied_yet(tmp_path: Path) -> None:
    entry = {"name": "gpu", "resourceClaimTemplateName": "t4"}
    container = {"name": "main", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}
    spec = {"containers": [container], "resourceClaims": [entry], "restartPolicy": "Never"}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ns"},
        "spec": {"parallelism": 2, "template": {"spec": spec}},
    }
    file = tmp_path / "job.json"
    file.write_text(json.dumps(job))
    run = desk(tmp_path, room=5).run
    both = run("defrag", "-f", file)
    assert "2 pods like ns/train-job fits as it is" not in both
    assert (
        "1 move makes room for 2 pods like ns/train-job (4 devices on b, 4 devices on a):" in both
    )
    assert "ns/train-job fits as it is (4 devices on b)" in run(
        "defrag", "-f", file, "--replicas", 1
    )


def test_either_a_pod_or_files(tmp_path: Path) -> None:
    result = invoke("defrag", "--snapshot", desk(tmp_path).file)
    assert result.exit_code == 2
    assert "give either a pod or a workload, as `job/trainer`, or -f FILE" in result.stderr


def test_room_is_made_for_the_first_of_many_pods_which_is_said(tmp_path: Path) -> None:
    entry = {"name": "gpu", "resourceClaimTemplateName": "t1"}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ns"},
        "spec": {
            "parallelism": 1_000_000_000,
            "template": {"spec": {"containers": [{"name": "a"}], "resourceClaims": [entry]}},
        },
    }
    file = tmp_path / "job.json"
    file.write_text(json.dumps(job))
    said = desk(tmp_path, room=5).run("defrag", "-f", file, status=1)
    assert "64 of 1000000000 pods like ns/train-job" in said

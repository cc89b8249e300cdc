"""What `preempt --dry-run` prints."""

from pathlib import Path

import pytest
import yaml

from dragoman.controllers.preemption.planning import compute, looked
from dragoman.inventory.snapshots.snapshot import FORMAT, Unseen
from dragoman.preemption.journal import preempting
from dragoman.preemption.protocol import Sight
from dragoman.preemption.stored import Journal
from dragoman_toolkit.dra.preemption import acting
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import device_class, pod, pool, snapshot
from tests.support.worlds.preemption import budget, holding, node, waiting

WEB = {"app": "web"}
ENDED = {**pod("done"), "status": {"phase": "Succeeded"}}


def desk(folder: Path, **more: object) -> Desk:
    return Desk(
        folder,
        device_class(),
        *(node("a"), pool("a", 2), *holding("batch", "a", [0], owner=("ReplicaSet", "b"))),
        *holding("high", "a", [1], 500),
        *(node("b"), pool("b", 1), *holding("web", "b", [0], 10, labels=WEB)),
        *(node("c"), pool("c", 1), *holding("cell", "c", [0], 20)),
        budget("web", WEB, 0),
        *waiting(1),
        **more,
    )


def test_victims_the_next_best_and_why_not_the_others(tmp_path: Path) -> None:
    printed = desk(tmp_path).run("preempt", "ns/train", "--dry-run")
    assert "ns/train (priority 100) needs 1 x gpu." in printed
    assert "a: 1 victim, no PodDisruptionBudget violated" in printed
    (line,) = [one for one in printed.splitlines() if one.startswith("ns/batch")]
    assert line.split() == ["ns/batch", "0", "2h", "device-0", "ReplicaSet", "b"]
    assert "Next best: c (1 victim, priority 20 at most)." in printed
    assert "PodDisruptionBudget ns/web allows 0 disruptions" in printed
    assert printed.endswith("Nothing was changed.\n")


def test_the_document_has_everything(tmp_path: Path) -> None:
    found = desk(tmp_path).document("preempt", "train", "-n", "ns", "--dry-run")
    assert (found["outcome"], found["node"]) == ("Planned", "a")
    assert [one["name"] for one in found["victims"]] == ["batch"]
    assert found["victims"][0]["devices"][0]["device"] == "device-0"
    assert [one["node"] for one in found["alternatives"]] == ["c"]
    assert {one["node"]: one["why"] for one in found["refusals"]} == {"b": "PodDisruptionBudget"}


@pytest.mark.parametrize("command", [("preempt", "--dry-run"), ("defrag", "--for")])
def test_a_pod_that_has_ended_or_is_elsewhere_is_said_to_be_so(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    gone = Desk(tmp_path, device_class(), node("a"), pool("a", 1), *waiting(1), ENDED)
    said = [
        invoke(*command, name, "--snapshot", gone.file)
        for name in ("ns/done", "train", "ns/trains")
    ]
    assert [one.exit_code for one in said] == [2, 2, 2]
    ended, there, near = (one.stderr for one in said)
    assert "pod ns/done has ended (Succeeded): it needs no devices any more" in ended
    assert "pod default/train not found" in there
    assert "ns" in there.partition("not found")[2]
    assert "pod ns/trains not found" in near
    assert "it has ended" not in near


def test_a_pod_that_may_not_preempt_ends_with_1(tmp_path: Path) -> None:
    low = Desk(tmp_path, device_class(), node("a"), pool("a", 1), *waiting(1, 0))
    printed = low.run("preempt", "ns/train", "--dry-run", status=1)
    assert (
        "It cannot preempt: the pod has priority 0: a PriorityClass above 0 is needed." in printed
    )


def test_pods_of_files_have_plans_before_they_are_applied(tmp_path: Path) -> None:
    found = desk(tmp_path)
    file = tmp_path / "later.yaml"
    later = [one for one in waiting(1) if one["kind"] != "Pod"]
    later[0]["metadata"]["name"] = "later"
    wanted = pod("later", "ns", claims={"gpu": "later"})
    file.write_text(yaml.safe_dump_all([*later[:1], wanted]))
    arguments = ("preempt", "-f", file, "--dry-run")
    plan = found.document(*arguments, "--priority", 100)
    assert (plan["outcome"], plan["node"]) == ("Planned", "a")
    assert "It cannot preempt" in found.run(*arguments, status=1)
    file.write_text(yaml.safe_dump_all([*later[:1], wanted, pod("more", "ns")]))
    for command in (arguments, ("explain", "-f", file)):
        ran = invoke(*command, "-o", "yaml", "--snapshot", found.file)
        names = [one.get("name") or one["pod"]["name"] for one in yaml.safe_load_all(ran.stdout)]
        assert names == ["later", "more"]
    ran = invoke("preempt", "-f", file, "--snapshot", found.file)
    assert (ran.exit_code, "add --dry-run" in ran.stderr) == (2, True)


def test_options_of_a_policy_count(tmp_path: Path) -> None:
    run = desk(tmp_path).run
    assert "namespace ns is protected" in run(
        "preempt", "ns/train", "--dry-run", "--protect", "ns", status=1
    )
    assert "lacks annotation" in run("preempt", "ns/train", "--dry-run", "--opted-in", status=1)


def test_an_old_snapshot_cannot_tell(tmp_path: Path) -> None:
    found = desk(tmp_path)
    header, *rest = found.file.read_bytes().splitlines(keepends=True)
    assert f'"format":{FORMAT}'.encode() in header
    found.file.write_bytes(b"".join([header.replace(b'"format":2', b'"format":1'), *rest]))
    result = invoke("preempt", "ns/train", "--dry-run", "--snapshot", found.file)
    assert result.exit_code == 2
    assert "cannot tell: the snapshot has format 1" in result.stderr


def test_missing_rights_cannot_tell(tmp_path: Path) -> None:
    found = desk(tmp_path, unseen=[Unseen("pods", "forbidden", "ns")])
    result = invoke("preempt", "ns/train", "--dry-run", "--snapshot", found.file)
    assert result.exit_code == 2
    assert "cannot tell: you cannot list pods in all namespaces" in result.stderr


def test_an_explanation_names_the_plan(tmp_path: Path) -> None:
    printed = desk(tmp_path).run("explain", "pod", "train", "-n", "ns", status=1)
    assert "It would fit on a if one pod of lower priority ended" in printed
    assert "kubectl dra preempt ns/train --dry-run" in printed


def test_an_old_snapshot_is_explained_without_a_plan(tmp_path: Path) -> None:
    found = desk(tmp_path)
    found.file.write_bytes(found.file.read_bytes().replace(b'"format":2', b'"format":1'))
    assert "preempt" not in found.run("explain", "pod", "train", "-n", "ns", status=1)


def test_a_plan_for_a_pod_of_another_scheduler_holds_until_its_evictions() -> None:
    allowed = acting.policy(1, 8, (), opted_in=False)
    train = waiting(1, schedulerName="second-scheduler")
    state = snapshot(device_class(), node("n"), pool("n", 1), *holding("x", "n", [0]), *train)
    planned = compute(state, {"uid-of-ns-train"}, allowed)
    (made,) = planned.plans
    document = preempting(made, planned.reserved["uid-of-ns-train"], 1)
    document["metadata"]["uid"] = "uid-journal"
    look = looked(state, Journal.parse(document), allowed, lambda: False)
    assert (look.sight, [one.pod.name for one in look.victims]) == (Sight.SAME, ["x"])


def test_nothing_is_evicted_without_dry_run(tmp_path: Path) -> None:
    result = invoke("preempt", "ns/train", "--snapshot", desk(tmp_path).file)
    assert result.exit_code == 2
    assert "add --dry-run" in result.stderr

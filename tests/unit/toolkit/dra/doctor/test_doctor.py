"""`doctor`: the table, the document and the exit status."""

import re
from pathlib import Path

from dragoman.doctor.examination import OVER_TIME
from dragoman.doctor.finding import UPGRADE, Id
from dragoman.inventory.snapshots.documents import KINDS
from dragoman.inventory.snapshots.snapshot import Unseen
from tests.support import manifests as objects
from tests.support.dra import Desk, invoke
from tests.support.worlds.doctor import Case, cases
from tests.support.worlds.inventory import device_class, pool


def case(key: Id) -> Case:
    return next(one for one in cases() if one.id is key)


def test_an_error_is_exit_status_1(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *case(Id.DEVICE_LOST).bad)
    lines = desk.run("doctor", "--only", "DeviceLost", status=1).splitlines()
    assert lines[0].split()[:4] == ["SEV", "FINDING", "OBJECT", "SINCE"]
    assert lines[1].split()[:4] == ["error", "DeviceLost", "w2/claim", "60m"]
    assert lines[1].endswith("is in no slice")
    assert lines[2].strip().startswith("-> pod pod has no controller: save its manifest before")


def test_warnings_alone_are_exit_status_0(tmp_path: Path) -> None:
    idle = case(Id.CLAIM_IDLE)
    name = idle.about.partition("/")[0]
    document = Desk(tmp_path, *idle.bad).document("doctor")
    [finding] = document["findings"]
    assert finding["id"] == "ClaimIdle"
    assert finding["severity"] == "warning"
    assert finding["object"] == {
        "text": f"{name}/claim",
        "kind": "ResourceClaim",
        "namespace": name,
        "name": "claim",
    }
    assert finding["since"] == "2026-11-22T11:00:00Z"
    assert document["summary"] == {"errors": 0, "warnings": 1, "infos": 0}
    assert document["partial"] == {}


def test_a_cluster_in_order_has_no_findings(tmp_path: Path) -> None:
    desk = Desk(tmp_path, objects.node("n"), device_class(), pool("n", 2))
    told = desk.run("doctor").splitlines()
    assert told[0] == "No findings."
    readings = "not judged, they compare two readings of a cluster: --for 30s"
    assert any(line.endswith(readings) for line in told)
    assert desk.run("doctor", "--only", "ClaimIdle") == "No findings.\n"


def test_what_cannot_be_read_is_exit_status_2(tmp_path: Path) -> None:
    desk = Desk(tmp_path, device_class(), unseen=[Unseen("pods", "forbidden")])
    printed = desk.run("doctor", status=2)
    assert re.search(r"! pods could not be read: \d+ rules of \d+ \(-o wide names", printed)
    wide = desk.run("doctor", "-o", "wide", status=2)
    assert "! pods could not be read: FinalizerStuck, ClaimUnowned" in wide
    assert printed.startswith("Cannot tell: you cannot list pods; `kubectl dra auth`")
    assert "No findings" not in printed
    assert desk.document("doctor", status=2)["partial"]["ClaimUnowned"] == ["pods"]


def test_who_can_list_nothing_reads_one_line(tmp_path: Path) -> None:
    desk = Desk(tmp_path, unseen=[Unseen(one, "forbidden") for one in KINDS.values()])
    (line,) = desk.run("doctor", status=2).splitlines()
    assert line.startswith("Cannot tell: you cannot list ")


def test_findings_can_be_chosen(tmp_path: Path) -> None:
    idle = case(Id.CLAIM_IDLE)
    desk = Desk(tmp_path, *case(Id.DEVICE_LOST).bad, *idle.bad)

    def found(*arguments: object, status: int = 0) -> list[str]:
        return [one["id"] for one in desk.document("doctor", *arguments, status=status)["findings"]]

    assert found(status=1) == ["DeviceLost", "ClaimIdle"]
    assert found("--severity", "error", status=1) == ["DeviceLost"]
    assert found("--only", "ClaimIdle") == ["ClaimIdle"]
    assert found("-n", idle.about.partition("/")[0]) == ["ClaimIdle"]
    assert found("--idle-after", "90000", status=1) == ["DeviceLost"]


def test_a_snapshot_without_names_has_the_same_findings(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *(one for each in cases() for one in each.bad))
    before = [one["id"] for one in desk.document("doctor", status=1)["findings"]]
    other = tmp_path / "other.jsonl"
    desk.run("snapshot", "--keep-names=false", "-o", other)
    desk.file = other
    after = [one["id"] for one in desk.document("doctor", status=1)["findings"]]
    assert sorted(after) == sorted(before)
    tried = {"DriverRights", "PodNeverFits", "PodRejected"}
    tried |= {"QueueRefuses", "QueueDiffers", "ShapeDiffers"}
    elsewhere = {"WebhookMissing", *tried, *OVER_TIME, *UPGRADE}
    assert set(before) >= set(map(str, Id)) - elsewhere


def test_a_snapshot_cannot_be_repaired(tmp_path: Path) -> None:
    for command in ("release", "adopt"):
        result = invoke(command, "claim", "--snapshot", tmp_path / "x")
        assert result.exit_code == 2
        assert "leave --snapshot out" in result.output

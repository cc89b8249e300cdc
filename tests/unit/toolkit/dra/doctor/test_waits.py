"""Pods that can never fit, as findings of `kubectl dra doctor`."""

from pathlib import Path

import pytest

from dragoman_toolkit.dra.doctor import neverfits
from tests.support import manifests as objects
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import claim, device_class, pod, pool


def waiting(name: str, wanted: str) -> dict[str, object]:
    made = pod(name, claims={"gpu": wanted})
    made["status"] = {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False"}],
    }
    return made


def test_pods_that_never_fit_are_one_row_with_the_reason(tmp_path: Path) -> None:
    pods = [waiting(f"big-{end}", "three") for end in range(4)]
    fits = [waiting("small", "one")]
    claims = [claim("three", count=3), claim("one")]
    desk = Desk(tmp_path, objects.node("n"), device_class(), pool("n", 2), *claims, *pods, *fits)
    found = desk.document("doctor", "--only", "PodNeverFits")["findings"]
    assert [one["object"]["name"] for one in found] == [f"big-{end}" for end in range(4)]
    assert {one["message"] for one in found} == {
        "can never fit: 3 devices on one node wanted, the most of one node is 2 (n)"
    }
    assert found[0]["remedy"] == "kubectl dra explain pod big-0 -n ns"
    printed = desk.run("doctor", "--only", "PodNeverFits")
    assert printed.count("can never fit") == 1


def test_what_other_pods_hold_may_come_free(tmp_path: Path) -> None:
    desk = Desk(
        tmp_path,
        *(objects.node("n"), device_class(), pool("n", 1), claim("one")),
        waiting("waits", "one"),
    )
    assert desk.document("doctor", "--only", "PodNeverFits")["findings"] == []


def test_pods_that_are_left_when_the_time_ends_make_the_answer_partial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neverfits, "SECONDS", 0.0)
    pods = [waiting("big-a", "three"), waiting("big-b", "three"), waiting("small", "one")]
    claims = [claim("three", count=3), claim("one")]
    desk = Desk(tmp_path, objects.node("n"), device_class(), pool("n", 2), *claims, *pods)
    found = desk.document("doctor", "--only", "PodNeverFits", status=2)
    assert found["findings"] == []
    (why,) = found["partial"]["PodNeverFits"]
    assert why.startswith("3 of 3 waiting pods not looked at")
    said = invoke("doctor", "--only", "PodNeverFits", "--snapshot", desk.file).output
    assert f"! PodNeverFits: {why}" in said

"""Devices that are reserved for a pod, as others see them."""

from pathlib import Path

import pytest

from dragoman.allocation import DeviceID
from dragoman.preemption.reservation import rule_manifest
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import DRIVER, claim, device_class, pod, pool
from tests.support.worlds.preemption import holding, node, waiting

SAID = "reserved for ns/train"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    train = waiting(1)
    train[0]["metadata"]["uid"] = "uid-of-train"
    other = pod("other", claims={"gpu": "other-gpu"}, priority=10)
    rules = [
        rule_manifest("resource.k8s.io/v1beta2", DeviceID(DRIVER, "a", name), "uid-of-train")
        for name in ("device-0", "device-1")
    ]
    return Desk(
        tmp_path,
        *(device_class(), node("a"), pool("a", 2), *holding("batch", "a", [0]), *rules),
        *(*train, other, claim("other-gpu")),
    )


def said_by(desk: Desk, *command: str) -> str:
    """Return what a command prints, whatever it finds."""
    return invoke(*command, "--snapshot", desk.file).stdout


@pytest.mark.parametrize(
    "command",
    [
        ("explain", "pod", "ns/other"),
        ("explain", "device", f"{DRIVER}/a/device-1"),
        ("top", "nodes", "-o", "wide"),
        ("who", f"{DRIVER}/a/device-0"),
        ("holds",),
    ],
    ids=" ".join,
)
def test_commands_name_the_pod(desk: Desk, command: tuple[str, ...]) -> None:
    printed = said_by(desk, *command)
    assert SAID in printed
    assert "dragoman.dev/preemption=" not in printed or command == ("holds",)


def test_an_explanation_does_not_say_to_tolerate_a_reservation(desk: Desk) -> None:
    assert "tolerat" not in said_by(desk, "explain", "pod", "ns/other")


def test_a_reserved_device_that_is_still_in_use_is_no_finding(desk: Desk) -> None:
    assert "has taint" not in said_by(desk, "doctor")

"""What commands say where objects could not be listed: never that there are none."""

from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.inventory.snapshots.documents import KINDS
from dragoman.inventory.snapshots.snapshot import Snapshot, Unseen
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import (
    DRIVER,
    NOW,
    claim,
    device_class,
    held,
    pod,
    snapshot,
)

COMMANDS = [
    ("top",),
    ("top", "nodes"),
    ("top", "namespaces"),
    ("top", "pods"),
    ("top", "--class", "gpu"),
    ("who", f"{DRIVER}/n/a"),
    ("who", "trainer"),
    ("explain", "pod", "trainer"),
    ("explain", "claim", "gpu"),
    ("explain", "template", "gpu"),
    ("explain", "class", "gpu"),
    ("explain", "node", "n"),
    ("explain", "device", f"{DRIVER}/n/a"),
    ("doctor",),
    ("holds",),
    ("drain", f"{DRIVER}/n/a", "--dry-run"),
    ("hold", f"{DRIVER}/n/a", "--dry-run"),
    ("taint", f"{DRIVER}/n/a", "example.com/x:NoSchedule", "--dry-run"),
    ("simulate", "-f", "examples/toolkit/job.yaml"),
]
FALSE = ("No DeviceClass", "No devices", "No findings", "No claims", "No pod", "No device")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_without_permissions_nothing_is_said_not_to_be_there(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    desk = Desk(tmp_path)
    unseen = tuple(Unseen(plural, "forbidden") for plural in KINDS.values())
    desk.write(Snapshot(NOW, "v1.36.3", {}, unseen))
    result = invoke(*command, "--snapshot", desk.file)
    assert result.exit_code == 2
    said = (result.stdout or result.stderr.removeprefix("Error: ")).lower()
    if "usage" not in said:
        assert said.startswith("cannot tell: you cannot list")
        assert len(said.splitlines()) == 1
    assert "kubectl dra auth" in said
    for text in FALSE:
        assert text not in result.output


@pytest.mark.parametrize(
    "command",
    [
        ("doctor",),
        ("top", "nodes"),
        ("top", "pods"),
        ("who", "trainer", "-n", "ns"),
        ("explain", "pod", "trainer", "-n", "ns"),
        ("explain", "claim", "claim", "-n", "ns"),
        ("explain", "device", f"{DRIVER}/n/a"),
    ],
    ids=" ".join,
)
def test_a_device_is_not_lost_because_its_slice_could_not_be_read(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    user = pod("trainer", claims={"gpu": "claim"}, node="n")
    manifests = (device_class(), user, held(claim(), ("n", "a"), pods=[user]))
    desk = Desk(tmp_path)
    whole = snapshot(*manifests, unseen=[Unseen("resourceslices", "forbidden")])
    listed = {key: one for key, one in whole.objects.items() if key != "resourceslices"}
    desk.write(replace(whole, objects=listed))
    result = invoke(*command, "--snapshot", desk.file)
    assert result.exit_code == 2
    said = result.output.lower().replace("devicelost", "")  # the rule that did not see everything
    assert "cannot tell: you cannot list resourceslices" in said
    # Nobody deletes a pod, or gives up a device, because of what only the reader cannot see.
    for text in ("lost", "kubectl delete", "no slice", "none selects", "attributes: none"):
        assert text not in said

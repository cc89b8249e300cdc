"""What commands say where objects could not be listed: never that there are none."""

from pathlib import Path

import pytest

from dragoman.inventory.snapshots.documents import KINDS
from dragoman.inventory.snapshots.snapshot import Snapshot, Unseen
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import DRIVER, NOW

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
    assert "kubectl dra auth" in said
    for text in FALSE:
        assert text not in result.output

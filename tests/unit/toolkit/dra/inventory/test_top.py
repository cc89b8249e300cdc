"""Tables, documents and exit statuses of `top`."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.inventory.snapshots.snapshot import Unseen
from dragoman.inventory.usage.rows import ClassRow
from dragoman_toolkit.dra.inventory.top_tables import class_table
from dragoman_toolkit.dra.tables import Screen, table_lines
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import (
    CLASS,
    DRIVER,
    claim,
    device,
    device_class,
    held,
    pod,
    pool,
)

TAINT = {"key": "broken", "effect": "NoSchedule"}


def cluster() -> list[dict[str, Any]]:
    user = pod("trainer", "ml", claims={"gpu": "claim"}, node="node-a")
    return [
        device_class(),
        pool("node-a", ["a", "b", device("c", taints=[TAINT])]),
        pool("node-b", ["a"], resourceSliceCount=2),
        held(claim(namespace="ml"), ("node-a", "a"), pods=[user]),
        claim("waits", "web"),
        pod("waits", "web", claims={"gpu": "waits"}),
        user,
    ]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, *cluster())


def test_classes(desk: Desk) -> None:
    assert desk.run("top").splitlines() == [
        "CLASS   DRIVER            DEVICES   FREE   USED   PENDING   TAINTED   HELD   LOST",
        "gpu     gpu.example.com   3         1      1      1         1         0      0",
        f"! pool {DRIVER}/node-b is incomplete (1 of 2 slices, 60m): its idle devices do not count",
    ]


def test_wide_has_more_columns(desk: Desk) -> None:
    header = desk.run("top", "-o", "wide").splitlines()[0].split()
    assert {"BLOCKED", "SHARES"} <= set(header)


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        (False, "CLASS DEVICES FREE USED PENDING TAINTED BLOCKED LOST"),
        (True, "CLASS DRIVER DEVICES FREE USED PENDING TAINTED BLOCKED LOST"),
    ],
)
def test_on_a_narrow_terminal_columns_go_that_say_nothing(expected: str, *, lost: bool) -> None:
    names = ["gpu.nvidia.com", "an-accelerator.example.com"]
    rows = tuple(
        ClassRow(
            name=name,
            drivers=("gpu.nvidia.com",) if lost else (name,) * index,
            free=0,
            used=2,
            tainted=2,
            held=0,
            blocked=4,
            unusable=0,
            lost=int(lost),
            pending=16,
            shares=(),
            failure="",
        )
        for index, name in enumerate(names)
    )
    table = class_table(rows, wide=False)
    lines = [*table_lines(table, Screen(width=80))]
    assert lines[0].split() == expected.split()
    assert max(map(len, lines)) <= 80
    whole = [*table_lines(table, Screen(width=200))]
    assert {"DRIVER", "HELD", "LOST"} <= {*whole[0].split()}
    # A table it stays, however narrow: numbers alone would mean nothing.
    assert next(table_lines(table, Screen(width=60))).startswith("CLASS")


def test_nodes_stand_in_the_order_of_people(tmp_path: Path) -> None:
    names = ("node-10", "node-2", "node-1")
    desk = Desk(tmp_path, device_class(), *(pool(name, ["a"]) for name in names))
    shown = [line.split()[0] for line in desk.run("top", "nodes").splitlines()[1:]]
    assert shown == ["node-1", "node-2", "node-10"]


def test_nodes(desk: Desk) -> None:
    assert desk.run("top", "nodes").splitlines()[:3] == [
        "NODE     FREE/ALL   USED BY",
        "node-a   1/3        ml/trainer (1)   tainted: c broken:NoSchedule",
        "node-b   0/0        -",
    ]


def test_namespaces(desk: Desk) -> None:
    assert desk.run("top", "namespaces").splitlines() == [
        "NAMESPACE   HELD   IDLE>1h   CLASS   QUOTA   CHARGED   WHY THEY DIFFER",
        "ml          1      0         gpu     -       1",
        "web         0      0         gpu     -       1         1 for claims without devices",
    ]


def test_pods(desk: Desk) -> None:
    assert desk.run("top", "pods").splitlines() == [
        "POD          NODE     DEVICES   SINCE   WAITS FOR",
        "ml/trainer   node-a   1 gpu     60m     -",
        "web/waits    -        -         -       waits",
    ]
    (line,) = desk.run("top", "pods", "-n", "web").splitlines()[1:]
    assert line.split()[0] == "waits"


@pytest.mark.parametrize("what", ["classes", "nodes", "namespaces", "pods"])
def test_documents_meet_the_published_schema(desk: Desk, what: str) -> None:
    document = desk.document("top", what)
    assert document["apiVersion"] == "cli.dragoman.dev/v1alpha1"
    assert yaml.safe_load(desk.run("top", what, "-o", "yaml")) == document
    assert document[what]


def test_what_could_not_be_read_is_named_and_the_numbers_are_not_certain(tmp_path: Path) -> None:
    unseen = [Unseen("pods", "pods is forbidden", "web"), Unseen("devicetaintrules", "forbidden")]
    desk = Desk(tmp_path, *cluster(), unseen=unseen)
    printed = desk.run("top", status=2)
    blind = "Cannot tell: you cannot list devicetaintrules, nor pods outside of namespace web; "
    assert printed.startswith(blind)
    assert "\nCLASS" in printed
    assert {one["resource"] for one in desk.document("top", status=2)["unseen"]} == {
        "pods",
        "devicetaintrules",
    }


def test_a_class_that_does_not_exist(desk: Desk) -> None:
    result = invoke("top", "--class", "gpus", "--snapshot", desk.file)
    assert result.exit_code == 2
    assert result.stderr == f"Error: DeviceClass gpus not found; there are {CLASS}\n"


def test_control_characters_are_spelled_out(tmp_path: Path) -> None:
    hostile = claim("a\x1b[2J[red]b", "ns")
    desk = Desk(tmp_path, hostile, pool("n", ["d"]), held(hostile, ("n", "d")))
    printed = desk.run("who", f"{DRIVER}/n/d")
    assert "a\\x1b[2J[red]b" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_programs_read_what_a_terminal_does_not_obey(tmp_path: Path, output: str) -> None:
    said = "a\x1b[2J\x9b2J\u202e\U000e0001b"
    spoken = device("d", attributes={"model": {"string": said}})
    desk = Desk(tmp_path, device_class(), pool("n", [spoken]))
    printed = desk.run("explain", "device", f"{DRIVER}/n/d", "-o", output)
    assert printed.replace("\n", "").isprintable()
    read = json.loads if output == "json" else yaml.safe_load
    assert read(printed)["attributes"]["model"] == said


def test_colours_are_for_terminals_alone(desk: Desk) -> None:
    assert "\x1b" not in desk.run("top")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["top", "--snapshot", "missing"], "No such file", id="no file"),
        pytest.param(["top", "--snapshot", __file__], "line 1: ", id="not a snapshot"),
        pytest.param(["top", "devices"], 'unknown kind "devices"', id="no such table"),
        pytest.param(["top", "--kubeconfig", "missing"], "missing", id="no kubeconfig"),
    ],
)
def test_unusable_input_ends_with_2(arguments: list[str], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_profile_that_names_an_unknown_gate(desk: Desk) -> None:
    result = invoke("top", "--snapshot", desk.file, "--profile", "1.36,DRAFoo=true")
    assert result.exit_code == 2
    assert "DRAFoo does not exist in Kubernetes 1.36" in result.stderr

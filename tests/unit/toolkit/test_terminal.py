"""Whatever a name or a header of a snapshot holds, a terminal finds nothing to obey."""

import json
from pathlib import Path

import pytest

from dragoman.cli.terminal import line, plain
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import device_class, pool

HOSTILE = "a\x1b]0;owned\x07\x9b2J\u202eb"
SPELLED = "a\\x1b]0;owned\\x07\\x9b2J\\x202eb"


def printable(text: str) -> bool:
    return text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["explain", "pod", HOSTILE], id="explain a pod"),
        pytest.param(["explain", "class", HOSTILE], id="explain a class"),
        pytest.param(["explain", "device", HOSTILE], id="explain a device"),
        pytest.param(["who", HOSTILE], id="who"),
        pytest.param(["top", "--class", HOSTILE], id="top"),
        pytest.param(["top", f"--{HOSTILE}"], id="option"),
        pytest.param(["top", "classes", HOSTILE], id="argument"),
        pytest.param([HOSTILE], id="command"),
        pytest.param([f"--{HOSTILE}"], id="option before the command"),
        pytest.param(["explain", "-f", HOSTILE], id="file"),
    ],
)
def test_an_error_names_what_was_typed_without_control_characters(
    tmp_path: Path, arguments: list[str]
) -> None:
    desk = Desk(tmp_path, device_class(), pool("n", 1))
    result = invoke(*arguments, "--snapshot", desk.file)
    assert result.exit_code == 2
    assert printable(result.stderr)
    assert "owned" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["snapshot"], ["top"], ["who", "x"], ["explain", "pod", "x"]]
)
def test_the_header_of_a_snapshot_reaches_no_terminal_as_it_is(
    tmp_path: Path, arguments: list[str]
) -> None:
    desk = Desk(tmp_path, device_class(), pool("n", 1))
    header, *objects = desk.file.read_bytes().splitlines()
    unseen = [
        {"resource": resource, "namespace": HOSTILE, "reason": HOSTILE}
        for resource in (HOSTILE, "pods", "resourceclaims", "resourceslices")
    ]
    made = json.loads(header) | {"unseen": unseen}
    desk.file.write_bytes(b"\n".join([json.dumps(made).encode(), *objects]))
    result = invoke(*arguments, "--snapshot", desk.file)
    assert result.exit_code == 2
    assert printable(result.stderr)
    assert SPELLED in (result.stderr if arguments != ["top"] else result.stdout)


def test_a_file_whose_name_has_control_characters_is_written_silently(tmp_path: Path) -> None:
    desk = Desk(tmp_path, device_class(), pool("n", 1))
    result = invoke("top", "--html", tmp_path / "a\x1b[2J.html", "--snapshot", desk.file)
    assert "a\\x1b[2J.html" in result.stderr


def test_a_line_stays_one_line() -> None:
    assert line("a\nb\x1b") == "a\\x0ab\\x1b"
    assert plain("a\nb\x1b") == "a\nb\\x1b"
    assert plain("naïve 装置") == "naïve 装置"
    assert line("a\n::error::b") == "a\\x0a::error::b"


@pytest.mark.hostile("terminals")
@pytest.mark.parametrize(
    ("text", "printed"),
    [
        pytest.param("a\x1b]0;x\x07b", "a\\x1b]0;x\\x07b", id="an escape sequence"),
        pytest.param("a\x85b\u202ec\u200bd", "a\\x85b\\x202ec\\x200bd", id="C1, bidi, no width"),
        pytest.param("a\rb\tc", "a\\x0db\\x09c", id="a carriage return"),
        pytest.param("caf\udce9", "caf\\xdce9", id="a byte of a file name that is no text"),
        pytest.param("a\nb", "a\nb", id="lines stay"),
        pytest.param("::error::x", "\\x3a:error::x", id="a workflow command"),
        pytest.param("a\n  ::add-mask::x", "a\n  \\x3a:add-mask::x", id="one behind spaces"),
        pytest.param("a ##[add-mask]x", "a #\\x23[add-mask]x", id="an old workflow command"),
        pytest.param("##vso[task]x", "#\\x23vso[task]x", id="a command of Azure"),
        pytest.param("std::vector ## x", "std::vector ## x", id="none of them"),
    ],
)
def test_nothing_obeys_it(text: str, printed: str) -> None:
    assert plain(text) == printed

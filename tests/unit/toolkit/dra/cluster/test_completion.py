"""Names that a shell completes; what goes wrong never lands in the command line."""

import sys
from pathlib import Path

import pytest
import yaml
from click.shell_completion import ShellComplete

from dragoman.cli import PLUGIN, cli, complete
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import CLASS, DRIVER, claim, device_class, pod, pool


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    other = pod("other", "elsewhere", claims={"gpu": "claim"})
    user = pod("user", claims={"gpu": "claim"})
    return Desk(tmp_path, device_class(), pool("node-1", ["a", "b"]), claim(), user, other)


def completed(*arguments: object, begun: str = "") -> list[str]:
    """Return what a shell offers after these arguments."""
    completer = ShellComplete(cli, {}, PLUGIN, "_")
    return [item.value for item in completer.get_completions([*map(str, arguments)], begun)]


@pytest.mark.parametrize(
    ("arguments", "begun", "expected"),
    [
        pytest.param(["explain", "pod"], "", ["elsewhere/other", "ns/user"], id="pods"),
        pytest.param(["explain", "-n", "ns", "pod"], "u", ["user"], id="pods of a namespace"),
        pytest.param(["explain", "-n", "ns", "pod"], "o", [], id="not of another namespace"),
        pytest.param(["explain", "claim"], "n", ["ns/claim"], id="claims"),
        pytest.param(["explain", "class"], "", [CLASS], id="classes"),
        pytest.param(
            ["explain", "device"],
            DRIVER[0],
            [f"{DRIVER}/node-1/{one}" for one in "ab"],
            id="devices",
        ),
        pytest.param(["who"], "ns/u", ["ns/user"], id="who"),
        pytest.param(["top", "--class"], "", [CLASS], id="option"),
        pytest.param(["simulate", "--without-pod"], "n", ["ns/user"], id="pods that end"),
    ],
)
def test_names_of_a_snapshot(
    desk: Desk, arguments: list[str], begun: str, expected: list[str]
) -> None:
    command, *rest = arguments
    assert completed(command, "--snapshot", desk.file, *rest, begun=begun) == expected


def test_a_completed_name_is_one_that_the_command_finds(desk: Desk) -> None:
    for name in completed("explain", "--snapshot", desk.file, "pod"):
        printed = invoke("explain", "pod", name, "--snapshot", desk.file).stdout
        assert f"od {name}" in printed.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (["explain", "-f"], True),
        (["simulate", "--class"], True),
        (["top", "--snapshot"], True),
        (["top", "-o"], False),
        (["explain"], False),
    ],
)
def test_the_shell_completes_files_where_one_is_expected(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    *,
    files: bool,
) -> None:
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-dra", *arguments, ""])
    complete()
    *offered, directive = capsys.readouterr().out.splitlines()
    assert directive == (":0" if files else ":4")
    assert bool(offered) is not files


def test_contexts_are_those_of_the_kubeconfig(tmp_path: Path) -> None:
    file = tmp_path / "config"
    contexts = [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("b", "a")]
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": contexts,
        "current-context": "a",
    }
    file.write_text(yaml.safe_dump(document))
    assert completed("top", "--kubeconfig", file, "--context") == ["a", "b"]


@pytest.mark.parametrize("option", ["--snapshot", "--kubeconfig"])
def test_a_file_that_cannot_be_read_offers_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    (tmp_path / "broken").write_text("}")
    for name in ("missing", "broken"):
        assert completed("explain", option, tmp_path / name, "pod") == []
        assert completed("top", option, tmp_path / name, "--context") == []
    assert capsys.readouterr() == ("", "")

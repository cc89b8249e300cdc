"""What all users' commands have in common."""

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli import SERVER_COMMANDS, TOOLKIT, USER_COMMANDS
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import device_class, pool


@pytest.mark.parametrize("command", sorted(TOOLKIT))
def test_help_has_examples_and_exit_statuses(command: str) -> None:
    printed = invoke(command, "--help").output
    assert f"kubectl dra {command}" in printed
    assert "Examples:" in printed
    assert "Exit status:" in printed


@pytest.mark.parametrize("command", sorted(TOOLKIT))
def test_help_loads_nothing_heavy(command: str) -> None:
    code = (
        "import sys; from click.testing import CliRunner; from dragoman.cli import cli;"
        f"CliRunner().invoke(cli, ['{command}', '--help']);"
        "print([name for name in ('kubernetes', 'kopf', 'aiohttp', 'rich', 'dragoman_cel', "
        "'dragoman.allocation', 'jsonschema') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_the_plugin_shows_users_commands_alone() -> None:
    printed = invoke("--help").output
    for name in USER_COMMANDS:
        assert f"  {name} " in printed
    for name in SERVER_COMMANDS:
        assert f"  {name} " not in printed


def test_a_snapshot_of_a_snapshot_is_the_same(tmp_path: Path) -> None:
    desk = Desk(tmp_path, device_class(), pool("n", 2))
    again = tmp_path / "again.jsonl"
    desk.run("snapshot", "-o", again)
    first, second = desk.file.read_bytes().splitlines(), again.read_bytes().splitlines()
    assert first[1:] == second[1:]


def test_a_snapshot_can_go_without_names(tmp_path: Path) -> None:
    desk = Desk(tmp_path, device_class(), pool("host-of-customer", 2))
    assert b"host-of-customer" in desk.file.read_bytes()
    assert "host-of-customer" not in desk.run("snapshot", "--keep-names=false")


@pytest.mark.hostile("snapshot: devices and pipes")
def test_a_device_is_refused_by_name() -> None:
    result = invoke("top", "nodes", "--snapshot", "/dev/zero")
    assert result.exit_code == 2
    assert "/dev/zero: a device, not a regular file" in result.output

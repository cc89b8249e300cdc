"""Commands with the packages of no extra: users' commands work, others name what to install."""

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli import EXTRAS

SNAPSHOT = Path(__file__).parents[3] / "examples/toolkit/cluster.jsonl"
CODE = """
import sys
for name in sys.argv.pop(1).split(","):
    sys.modules[name] = None
from dragoman.cli import main
main()
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command where no package of an extra can be imported."""
    blocked = ",".join({"kubernetes"}.union(*EXTRAS.values()))
    command = [sys.executable, "-c", CODE, blocked, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("operator", "operator"),
        ("webhook", "operator"),
        ("conformance --driver-command x", "conformance"),
        ("pretend --driver gpu.example.com", "conformance"),
    ],
)
def test_a_command_names_its_extra(words: str, extra: str) -> None:
    done = run(*words.split())
    assert done.returncode == 1
    assert f"pip install '.[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "top",
        "doctor",
        "holds",
        "drain gpu.nvidia.com/node-1/gpu-0 --dry-run",
        "taint gpu.nvidia.com/node-1/gpu-0 example.com/x:NoSchedule --dry-run",
    ],
)
def test_commands_of_users_need_no_extra(words: str) -> None:
    done = run(*words.split(), "--snapshot", str(SNAPSHOT))
    assert "Traceback" not in done.stderr
    assert "not installed" not in done.stderr
    assert done.stdout


def test_warnings_of_commands_need_no_extra() -> None:
    code = (
        "import sys; sys.modules['structlog'] = None\n"
        "from dragoman.logs import logger; logger('a').warning('Cannot renew', error='late')"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "Cannot renew error=late\n"

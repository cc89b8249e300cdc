"""What tests share ends when the last test that asks for it has run."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
CONFTEST = """
import pytest
from tests.lifetimes import Lifetimes

ENDED = []

def pytest_configure(config):
    config.pluginmanager.register(Lifetimes())

@pytest.fixture(scope="session")
def plane():
    yield "plane"
    ENDED.append("plane")

@pytest.fixture(scope="session")
def operator(plane):
    yield "operator"
    ENDED.append("operator")

@pytest.fixture(scope="session")
def ended():
    return ENDED
"""
FILES = {
    "test_1.py": "def test(operator, ended): assert ended == []\n",
    "test_2.py": "def test_a_later_file_needs_the_plane(ended): assert ended == ['operator']\n",
    "test_3.py": (
        "def test(plane, ended): assert ended == ['operator']\n"
        "def test_the_file_goes_on(ended): assert ended == ['operator']\n"
    ),
    "test_4.py": (
        "def test(ended, request):\n"
        "    assert ended == ['operator', 'plane']\n"
        "    assert request.getfixturevalue('operator') == 'operator'\n"
    ),
}


def test_it_ends_before_the_next_file_and_is_made_again_on_demand(tmp_path: Path) -> None:
    folder = tmp_path / "suite"
    folder.mkdir()
    for name, text in {"conftest.py": CONFTEST, **FILES}.items():
        (folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir=.", "suite"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout

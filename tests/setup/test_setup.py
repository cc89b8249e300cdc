"""The packages of the checkout: what is pinned, and nothing else, with its hash."""

import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.setup import __main__ as setup

ROOT = setup.ROOT


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an environment with the pinned uv, without pip, that reaches no index."""
    made = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
    (made / "bin/uv").symlink_to(ROOT / ".venv/bin/uv")
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    return made


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "hello-1.0-py3-none-any.whl"
    info = {
        "METADATA": "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("hello.py", "")
        for name, text in info.items():
            archive.writestr(f"hello-1.0.dist-info/{name}", text)
    return path


def pins(wheel: Path, digest: str) -> Path:
    path = wheel.with_name("pins.txt")
    path.write_text(f"hello==1.0 --hash=sha256:{digest}\n")
    return path


def installed(venv: Path) -> list[str]:
    return [path.name for path in venv.glob("lib/*/site-packages/hello*")]


def test_a_package_with_the_pinned_hash_is_installed(
    venv: Path, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    setup.install(venv, (pins(wheel, hashlib.sha256(wheel.read_bytes()).hexdigest()),))
    assert "hello.py" in installed(venv)
    assert capsys.readouterr().err.startswith("installing 1 pinned packages\n1 pinned packages in")


def test_a_package_with_another_hash_is_refused_by_uv_and_not_taken_from_pip(
    venv: Path, wheel: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(setup.SetupError, match="No module named pip"):
        setup.install(venv, (pins(wheel, "0" * 64),))
    assert installed(venv) == []
    said = capsys.readouterr().err
    assert "Hash mismatch" in said
    assert "uv failed; pip, which reads its own configuration, takes over" in said


def test_long_steps_say_that_they_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(setup, "LINE_SECONDS", 0.05)
    setup.run([sys.executable, "-c", "import time; time.sleep(0.3)"], "waiting")
    assert re.match(r"waiting\n(waiting: \d+ s elapsed\n)+$", capsys.readouterr().err)


def test_the_demo_needs_only_the_packages_of_dragoman_itself() -> None:
    code = """
import importlib.metadata, sys
import tests.demo.__main__
from tests.support.controlplane import binaries
owners = importlib.metadata.packages_distributions()
names = {one.partition(".")[0] for one in sys.modules} - {"backports", "_distutils_hack"}
print(*{name for module in names for name in owners.get(module, ())})
"""
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    pinned = {
        line.split("==")[0]
        for path in setup.SETS["demo"]
        for line in path.read_text().splitlines()
        if "==" in line
    }
    assert "kubernetes" in pinned
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in loaded} <= pinned | {"dragoman"}

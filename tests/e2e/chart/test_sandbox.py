"""The root of a pod's process, without a network and without a control plane."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.e2e.chart.sandbox import confined
from tests.support.controlplane.network import obstacle, program

LOOK = """
cat "$1/code.py"
ls /tmp
touch /tmp/scratch && echo scratch
touch "$1/written" 2>/dev/null || echo refused
touch /written 2>/dev/null || echo refused
"""


@pytest.fixture
def place() -> Iterator[Path]:
    """Make a folder below /tmp, wherever the temporary folders of tests are."""
    if reason := obstacle():
        pytest.skip(reason)
    with TemporaryDirectory(dir="/tmp", prefix="dragoman-") as name:
        yield Path(name)


def test_a_checkout_below_tmp_is_seen_and_nothing_else_that_lies_there(place: Path) -> None:
    checkout, folder = place / "checkout", place / "pod"
    (checkout / ".venv").mkdir(parents=True)
    (checkout / "code.py").write_text("seen\n")
    (place / "foreign").touch()
    folder.mkdir()
    (folder / "linked").touch()
    command = confined(folder, [checkout, checkout / ".venv", Path("/usr")])
    said = subprocess.run(
        [program("unshare"), *command, "sh", "-c", LOOK, "look", str(checkout)],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert said.stdout.split() == ["seen", place.name, "scratch", "refused", "refused"]
    assert not (checkout / "written").exists()
    assert sorted(path.name for path in place.iterdir()) == ["checkout", "foreign", "pod"]

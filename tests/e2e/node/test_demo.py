"""`make demo NODE=1`: the same story, with pods that really run."""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.demo.steps import STEPS
from tests.e2e.test_demo import LIMIT, demo
from tests.support.controlplane import binaries, network
from tests.support.controlplane.node.isolation import obstacle
from tests.support.controlplane.recipes import NETWORK, NODE

pytestmark = [pytest.mark.node, pytest.mark.slow]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return where the demo keeps its files: paths of sockets must be short."""
    with TemporaryDirectory(prefix="demo-") as made:
        yield Path(made)


def test_the_demos_containers_say_which_devices_they_see(folder: Path) -> None:
    if reason := obstacle() or network.obstacle():
        pytest.skip(reason)
    binaries.find([*NODE, *NETWORK])
    with demo(folder, NODE="1") as process:
        output, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, output
    titles = [f"{number}  {step.title}" for number, step in enumerate(STEPS, 1)]
    assert [line for line in output.splitlines() if line in titles] == titles

    said = dict(re.findall(r"(batch-\d): /dev/devices/(gpu-\d) is readable", output))
    shown = dict(re.findall(r"(batch-\d) +batch-\d-gpu-\S+ +(gpu-\d) +node-\w +running", output))
    assert len(said) == 7
    assert said == shown
    assert [*folder.iterdir()] == []

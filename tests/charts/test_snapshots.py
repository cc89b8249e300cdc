"""Changes of what is installed by default show in review."""

import pytest

from tests.charts.snapshots import FOLDER, SNAPSHOTS, path, written


@pytest.mark.parametrize("concern", SNAPSHOTS)
def test_the_snapshot_is_what_the_chart_renders(concern: str) -> None:
    assert path(concern).read_text() == written(concern), "run python -m tests.charts.snapshots"


def test_every_snapshot_is_compared() -> None:
    assert {found.stem for found in FOLDER.iterdir()} == SNAPSHOTS.keys()

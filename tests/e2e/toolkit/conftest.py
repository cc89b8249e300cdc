"""How many random worlds are tried, and the stage for them."""

import os

import pytest

from tests.e2e.toolkit.stage import Stage
from tests.support.controlplane.plane import ControlPlane

WORLDS = int(os.environ.get("DRAGOMAN_WORLDS", "24"))
"""`make test-explain` tries more."""
SEED = int(os.environ.get("DRAGOMAN_SEED", "0"))
"""The first world; `make test-explain SEED=400 WORLDS=400` tries the second 400."""
BATCH = 20
"""Worlds that are on the control plane side by side."""


def batches(first: int, count: int) -> list[range]:
    """Return the seeds of a test, as many at a time as worlds stand side by side.

    Args:
        first: Where the seeds of the test begin when DRAGOMAN_SEED is 0.
        count: How many.
    """
    begin = first + SEED
    end = begin + count
    return [range(start, min(start + BATCH, end)) for start in range(begin, end, BATCH)]


@pytest.fixture
def stage(plane: ControlPlane) -> Stage:
    """Worlds on the session's control plane."""
    return Stage(plane)

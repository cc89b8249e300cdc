"""How many random worlds are tried, and the stage for them."""

import os

import pytest

from tests.e2e.toolkit.worlds import Stage
from tests.support.controlplane.plane import ControlPlane

WORLDS = int(os.environ.get("DRAGOMAN_WORLDS", "40"))
"""`make test-explain` tries more."""
BATCH = 20
"""Worlds that are on the control plane side by side."""


@pytest.fixture
def stage(plane: ControlPlane) -> Stage:
    """Worlds on the session's control plane."""
    return Stage(plane)

"""Fixtures: replicas of the operator, and what people do in their namespace."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.ha.replicas import SHORT, Replicas
from tests.e2e.setup import Setup
from tests.support.controlplane.plane import ControlPlane

MakeReplicas = Callable[..., Replicas]


@pytest.fixture
def make_replicas(plane: ControlPlane, namespace: str) -> Iterator[MakeReplicas]:
    """Return a maker of replicas, which are stopped afterwards."""
    made: list[Replicas] = []

    def make(count: int, *flags: str) -> Replicas:
        made.append(Replicas(plane, namespace, count, flags or SHORT))
        return made[-1]

    yield make
    for replicas in made:
        replicas.stop()


@pytest.fixture
def setup(plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Setup]:
    """Set up an empty namespace; whoever writes there."""
    made = Setup(plane, namespace, "nobody", tmp_path)
    yield made
    made.clear()

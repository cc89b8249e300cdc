"""Fixtures: a garbage collector beside the control plane, and stages with faults."""

from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from tests.e2e.faults.setup import FaultSetup
from tests.support.controlplane.plane import GARBAGE_COLLECTOR, ControlPlane

MakeSetup = Callable[..., FaultSetup]


@pytest.fixture(scope="module")
def collecting(plane: ControlPlane) -> Iterator[ControlPlane]:
    """Run the garbage collector, which takes the claims of deleted pods away."""
    plane.start_garbage_collector()
    yield plane
    plane.stop_part(GARBAGE_COLLECTOR)


@pytest.fixture
def make_setup(collecting: ControlPlane, request: pytest.FixtureRequest) -> MakeSetup:
    """Return a maker of stages; a test's name decides what happens on its setup by chance."""
    seed = sum(request.node.name.encode())

    def make(*flags: str, disguise: ModuleType | None = None) -> FaultSetup:
        return FaultSetup(collecting, seed, *flags, disguise=disguise)

    return make


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the faults to `make test-slow`: each one needs minutes of workload."""
    for item in items:
        if "tests/e2e/faults/" in item.nodeid:
            item.add_marker(pytest.mark.slow)

"""Fixtures: an operator beside the real stock controller, which can come and go."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.modes.metered import Metered
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.setup import Setup
from tests.support.controlplane.plane import CLAIM_CONTROLLER, ControlPlane

MakeOperator = Callable[..., Metered]


@pytest.fixture
def setup(plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Setup]:
    """Set up an empty namespace, and stop the stock controller afterwards where it runs."""
    made = Setup(plane, namespace, f"dragoman-{namespace}", tmp_path)
    try:
        yield made
        made.clear()
    finally:
        if CLAIM_CONTROLLER in plane.processes:
            plane.stop_part(CLAIM_CONTROLLER)


@pytest.fixture
def make_operator(setup: Setup) -> Iterator[MakeOperator]:
    """Return a maker of operators, which are stopped afterwards."""
    made: list[Metered] = []

    def make(
        mode: str, *flags: str, grace: float, takeover_after: float = 300, name: str = ""
    ) -> Metered:
        user = setup.plane.user(f"{setup.user}{name}", OPERATOR_RULES)
        made.append(
            Metered(
                setup.plane,
                user,
                *(f"--claims={mode}", f"--grace={grace}", f"--takeover-after={takeover_after}"),
                *(f"--namespace={setup.namespace}", *flags),
            )
        )
        made[-1].start()
        return made[-1]

    yield make
    for operator in made:
        operator.stop()
        assert operator.faults() == []

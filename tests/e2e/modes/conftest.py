"""Fixtures: an operator beside the real stock controller, which can come and go."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.modes.watched import Watched
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.scene import Scene
from tests.support.controlplane.plane import CLAIM_CONTROLLER, ControlPlane

MakeOperator = Callable[..., Watched]


@pytest.fixture
def stage(plane: ControlPlane, namespace: str, tmp_path: Path) -> Iterator[Scene]:
    """Set up an empty namespace, and stop the stock controller afterwards where it runs."""
    made = Scene(plane, namespace, f"dragoman-{namespace}", tmp_path)
    yield made
    made.clear()
    if CLAIM_CONTROLLER in plane.processes:
        plane.stop_part(CLAIM_CONTROLLER)


@pytest.fixture
def make_operator(stage: Scene) -> Iterator[MakeOperator]:
    """Return a maker of operators, which are stopped afterwards."""
    made: list[Watched] = []

    def make(mode: str, *, grace: float, takeover_after: float = 300, name: str = "") -> Watched:
        user = stage.plane.user(f"{stage.user}{name}", OPERATOR_RULES)
        made.append(
            Watched(
                stage.plane,
                user,
                *(f"--claims={mode}", f"--grace={grace}", f"--takeover-after={takeover_after}"),
                *(f"--namespace={stage.namespace}", "--lease-duration=4"),
                *("--renew-deadline=3", "--retry-period=0.6"),
            )
        )
        made[-1].start()
        return made[-1]

    yield make
    for operator in made:
        operator.stop()
        assert operator.faults() == []

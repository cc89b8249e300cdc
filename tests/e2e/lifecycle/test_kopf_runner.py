"""The operator in this process, run by kopf's own command line through its KopfRunner.

The same life-cycle as with `dragoman operator`, in short; and several runs one after the other.
"""

from collections.abc import Iterator

import pytest

from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import InProcessOperator
from tests.e2e.scene import Scene
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane

ONE_CLAIM = {"create resourceclaims": 1, "patch pods/status": 1}


@pytest.fixture
def operator(plane: ControlPlane, monkeypatch: pytest.MonkeyPatch) -> Iterator[InProcessOperator]:
    """Run the operator in a thread of this process for one test, fed by kopf's watches."""
    user = plane.user("dragoman-in-process", OPERATOR_RULES)
    running = InProcessOperator(user, monkeypatch)
    running.start()
    yield running
    assert running.stop() == 0
    assert running.faults() == []


@pytest.mark.parametrize("entries", [1, 3], ids=["one entry", "three entries"])
def test_claims_are_made_and_published(scene: Scene, entries: int) -> None:
    names = [f"entry-{number}" for number in range(entries)]
    scene.apply(scene.template(), scene.pod(templates=dict.fromkeys(names, "template")))
    bound = scene.published(entries=names)
    assert sorted(bound.values()) == sorted(scene.claims())
    assert scene.writes() == {"create resourceclaims": entries, "patch pods/status": 1}


def test_devices_come_back_with_three_writes(scene: Scene) -> None:
    scene.apply(scene.template(device_class=scene.devices()), scene.pod())
    claim = scene.published()["a"]
    scene.reserved(claim, "pod")
    wait_for(lambda: scene.node_of("pod"), message="the pod to be scheduled")
    scene.forget()
    scene.finish("pod")
    scene.gone(claim)
    assert scene.writes() == {
        "patch resourceclaims/status": 1,
        "delete resourceclaims": 1,
        "patch resourceclaims": 1,
    }


def test_a_template_that_comes_late_is_noticed(scene: Scene) -> None:
    scene.apply(scene.pod())
    scene.event()
    scene.apply(scene.template())
    scene.published()
    assert scene.writes() == ONE_CLAIM | {"create events": 1}


def test_runs_one_after_the_other_in_one_process_do_not_disturb_each_other(
    scene: Scene, operator: InProcessOperator
) -> None:
    scene.apply(scene.template(), scene.pod("first"), scene.pod("second"), scene.pod("done"))
    for name in ("first", "second", "done"):
        scene.published(name)
    scene.finish("done")
    wait_for(lambda: len(scene.claims()) == 2, message="the finished pod's claim to go")
    scene.forget()
    for _ in range(2):
        assert operator.stop() == 0
        operator.start()
        scene.seen()
        assert scene.writes(refused=None) == {}
    scene.apply(scene.pod("third"))
    scene.published("third")
    assert scene.writes() == ONE_CLAIM

"""The operator in this process, run by kopf's own command line through its KopfRunner.

The same life-cycle as with `dragoman operator`, in short; and several runs one after the other.
"""

from collections.abc import Iterator

import pytest

from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import InProcessOperator
from tests.e2e.setup import Setup
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
def test_claims_are_made_and_published(setup: Setup, entries: int) -> None:
    names = [f"entry-{number}" for number in range(entries)]
    setup.apply(setup.template(), setup.pod(templates=dict.fromkeys(names, "template")))
    bound = setup.published(entries=names)
    assert sorted(bound.values()) == sorted(setup.claims())
    setup.wrote({"create resourceclaims": entries, "patch pods/status": 1})


def test_devices_come_back_with_three_writes(setup: Setup) -> None:
    setup.apply(setup.template(device_class=setup.devices()), setup.pod())
    claim = setup.published()["a"]
    setup.scheduled(claim, "pod")
    setup.forget()
    setup.finish("pod")
    setup.gone(claim)
    setup.wrote(
        {
            "patch resourceclaims/status": 1,
            "delete resourceclaims": 1,
            "patch resourceclaims": 1,
        }
    )


def test_a_template_that_comes_late_is_noticed(setup: Setup) -> None:
    setup.apply(setup.pod())
    setup.event()
    setup.apply(setup.template())
    setup.published()
    setup.wrote(ONE_CLAIM | {"create events": 1})


def test_runs_one_after_the_other_in_one_process_do_not_disturb_each_other(
    setup: Setup, operator: InProcessOperator
) -> None:
    setup.apply(setup.template(), setup.pod("first"), setup.pod("second"), setup.pod("done"))
    for name in ("first", "second", "done"):
        setup.published(name)
    setup.finish("done")
    wait_for(lambda: len(setup.claims()) == 2, message="the finished pod's claim to go")
    setup.forget()
    for _ in range(2):
        assert operator.stop() == 0
        operator.start()
        setup.seen()
        assert setup.writes(refused=None) == {}
    setup.apply(setup.pod("third"))
    setup.published("third")
    setup.wrote(ONE_CLAIM)

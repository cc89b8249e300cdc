"""An operator that hears of templates late: each resource has a watch of its own."""

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.faults.proxy import FaultProxy, Rule
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.running import OperatorProcess, Running
from tests.e2e.setup import Setup
from tests.support.controlplane import kubeconfig
from tests.support.controlplane.plane import ControlPlane

TEMPLATES = {entry: f"of-{entry}" for entry in ("a", "b", "c")}


@pytest.fixture
def operator(plane: ControlPlane, tmp_path: Path) -> Iterator[Running]:
    """Run an operator whose watch of templates is a second behind."""
    user = plane.user("dragoman-behind", OPERATOR_RULES)
    token = tmp_path / "token"
    token.write_text(user.token)
    with FaultProxy(plane.credentials, random.Random(0)) as proxy:
        lagging = Rule(lambda call: call.is_about("resourceclaimtemplates"), lag=1.0)
        proxy.add(lagging)
        path = kubeconfig.with_token_file(
            tmp_path / "kubeconfig", proxy.url, plane.credentials.keys.authority, token
        )
        behind = dataclasses.replace(user, kubeconfig=str(path))
        with OperatorProcess(plane, behind, "--no-leader-elect") as running:
            yield running
            assert running.faults() == []
            assert lagging.hits > 0


def test_a_file_of_templates_and_their_pod_costs_one_publication(setup: Setup) -> None:
    setup.apply_file(
        setup.template(TEMPLATES["a"]),
        setup.template(TEMPLATES["b"]),
        setup.template(TEMPLATES["c"]),
        setup.pod(templates=TEMPLATES),
    )
    setup.published(entries=[*TEMPLATES])
    setup.wrote({"create resourceclaims": 3, "patch pods/status": 1})


def test_a_template_of_a_pod_that_is_really_missing_does_not_delay_the_others(setup: Setup) -> None:
    setup.apply(
        setup.template(TEMPLATES["a"]),
        setup.template(TEMPLATES["b"]),
        setup.pod(templates=TEMPLATES),
    )
    setup.published(entries=["a", "b"])
    (event,) = setup.event()
    assert f'resource claim template "{TEMPLATES["c"]}"' in event["note"]
    counted = {"create resourceclaims": 2, "patch pods/status": 1, "create events": 1}
    setup.wrote(counted)

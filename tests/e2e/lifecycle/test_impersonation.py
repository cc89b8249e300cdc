"""A kubeconfig whose user acts for another one: with `as`, that one's permissions count."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.rbac import OPERATOR_RULES, rule
from tests.e2e.running import OperatorProcess, Running
from tests.e2e.setup import Setup
from tests.support.controlplane import kubeconfig
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ControlPlane

GRANTED, OTHER = "dragoman-granted", "dragoman-acting"
EXTRA = "example.com/reason"
MAY_ACT = (
    rule("", "users", "impersonate"),
    rule("", "groups", "impersonate"),
    rule("authentication.k8s.io", "uids", "impersonate"),
    rule("authentication.k8s.io", f"userextras/{EXTRA}", "impersonate"),
)
AS = {"as": GRANTED, "as-groups": ["system:authenticated", "a", "b"], "as-uid": "7"}


@pytest.fixture
def operator(plane: ControlPlane, tmp_path: Path) -> Iterator[Running]:
    """Run an operator that may do nothing but act for a user who may do what it needs."""
    plane.user(GRANTED, OPERATOR_RULES)
    acting = plane.user(OTHER, MAY_ACT)
    user: Json = {"token": acting.token, **AS, "as-user-extra": {EXTRA: ["claims"]}}
    path = kubeconfig.kubeconfig(
        tmp_path / "kubeconfig",
        plane.credentials.server,
        plane.credentials.keys.authority,
        user,
    )
    given = dataclasses.replace(acting, kubeconfig=str(path))
    with OperatorProcess(plane, given, f"--namespace={plane.create_namespace('lease')}") as running:
        yield running
        assert running.faults() == []


def test_the_operator_lives_on_the_permissions_of_whom_it_acts_for(setup: Setup) -> None:
    setup.user = GRANTED
    setup.apply(setup.template(), setup.pod())
    setup.published()
    setup.wrote({"create resourceclaims": 1, "patch pods/status": 1})

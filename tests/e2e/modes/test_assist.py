"""`--claims=assist`: what another controller fails to do is done for it, after a live look."""

import dataclasses
import random
import time
from pathlib import Path

from tests.e2e.faults.proxy import FaultProxy
from tests.e2e.faults.streams import Ending
from tests.e2e.lifecycle.test_restart import zombie
from tests.e2e.modes.conftest import MakeOperator
from tests.e2e.modes.watched import Watched
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.scene import Scene
from tests.support.controlplane import kubeconfig
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.components import UNTHROTTLED
from tests.support.controlplane.plane import CLAIM_CONTROLLER

GRACE = 3.0
ONE_CLAIM = {"create resourceclaims": 1, "patch pods/status": 1}


def test_what_a_dead_controller_left_undone_is_done_after_the_grace(
    stage: Scene, make_operator: MakeOperator
) -> None:
    plane = stage.plane
    plane.start_stock_controller(UNTHROTTLED)
    operator = make_operator("assist", grace=GRACE)
    stage.apply(stage.template(), stage.template("real", device_class=stage.devices(2)))
    stage.apply(*(stage.pod(name, templates={"a": "real"}) for name in ("done", "vanished")))
    claims = {name: stage.published(name)["a"] for name in ("done", "vanished")}
    for name, claim in claims.items():
        stage.reserved(claim, name)
    stage.apply(stage.claim("shared"), stage.pod("waits-for-shared", claims={"a": "shared"}))
    assert stage.writes(refused=None) == {}

    plane.stop_part(CLAIM_CONTROLLER)
    zombie(stage, "zombie")
    began = time.monotonic()
    stage.apply(stage.pod("overdue"))
    stage.finish("done")
    stage.delete_pods("vanished")
    stage.published("overdue")
    assert time.monotonic() - began >= GRACE - 0.5
    for claim in (*claims.values(), "zombie"):
        stage.gone(claim, 40)
    assert stage.writes() == ONE_CLAIM | {
        "patch resourceclaims/status": 3,
        "patch resourceclaims": 3,
        "delete resourceclaims": 2,
    }
    assert operator.mode == "assist"


def test_before_it_creates_it_looks_at_the_api_server_and_not_at_what_it_remembers(
    stage: Scene,
) -> None:
    plane = stage.plane
    user = plane.user(stage.user, OPERATOR_RULES)
    with FaultProxy(plane.credentials, random.Random(1)) as proxy:
        path = kubeconfig.with_token(
            Path(user.kubeconfig).with_suffix(".proxied"),
            proxy.url,
            plane.credentials.keys.authority,
            user.token,
        )
        proxied = dataclasses.replace(user, kubeconfig=str(path))
        flags = ("--claims=assist", f"--grace={GRACE}", "--no-leader-elect", "--log-level=debug")
        with Watched(plane, proxied, *flags) as operator:
            stage.apply(stage.template(), stage.pod())
            wait_for(lambda: "NotOverdue" in operator.said(), message="the pod to be seen")
            assert proxy.end_watches(Ending.STALL, "pods", "resourceclaims") >= 2
            plane.start_stock_controller(UNTHROTTLED)
            bound = stage.published()["a"]
            time.sleep(GRACE + 1)
            assert [*stage.claims()] == [bound]
            assert stage.writes(refused=None) == {}
        assert operator.faults() == []

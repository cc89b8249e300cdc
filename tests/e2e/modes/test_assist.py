"""`--claims=assist`: what another controller fails to do is done for it, after a live look."""

import dataclasses
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.faults.proxy import FaultProxy
from tests.e2e.faults.streams import Ending
from tests.e2e.lifecycle.test_restart import zombie
from tests.e2e.modes.conftest import MakeOperator
from tests.e2e.modes.metered import Metered
from tests.e2e.modes.stock import start_stock
from tests.e2e.rbac import OPERATOR_RULES
from tests.e2e.setup import Setup
from tests.support.controlplane import kubeconfig
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import CLAIM_CONTROLLER, ControlPlane

GRACE = 5.0
ONE_CLAIM = {"create resourceclaims": 1, "patch pods/status": 1}


def test_what_a_dead_controller_left_undone_is_done_after_the_grace(
    setup: Setup, make_operator: MakeOperator
) -> None:
    plane = setup.plane
    start_stock(plane)
    operator = make_operator("assist", grace=GRACE)
    setup.apply(setup.template(), setup.template("real", device_class=setup.devices(2)))
    setup.apply(*(setup.pod(name, templates={"a": "real"}) for name in ("done", "vanished")))
    claims = {name: setup.published(name)["a"] for name in ("done", "vanished")}
    for name, claim in claims.items():
        setup.reserved(claim, name)
    setup.apply(setup.claim("shared"), setup.pod("waits-for-shared", claims={"a": "shared"}))
    assert setup.writes(refused=None) == {}

    plane.stop_part(CLAIM_CONTROLLER)
    zombie(setup, "zombie")
    began = time.monotonic()
    setup.apply(setup.pod("overdue"))
    setup.finish("done")
    setup.delete_pods("vanished")
    setup.published("overdue")
    assert time.monotonic() - began >= GRACE - 0.5
    for claim in (*claims.values(), "zombie"):
        setup.gone(claim)
    setup.wrote(
        ONE_CLAIM
        | {
            "patch resourceclaims/status": 3,
            "patch resourceclaims": 3,
            "delete resourceclaims": 2,
        }
    )
    assert operator.mode == "assist"


@contextmanager
def stopped_stock(plane: ControlPlane) -> Iterator[Callable[[], None]]:
    """Stop the running built-in controller as by Ctrl-Z; yields what lets it go on."""
    start_stock(plane)
    process = plane.processes[CLAIM_CONTROLLER]
    process.signal(signal.SIGSTOP)
    try:
        yield lambda: process.signal(signal.SIGCONT)
    finally:
        process.signal(signal.SIGCONT)


def test_before_it_creates_it_looks_at_the_api_server_and_not_at_what_it_remembers(
    setup: Setup,
) -> None:
    plane, grace = setup.plane, 8.0
    user = plane.user(setup.user, OPERATOR_RULES)
    with stopped_stock(plane) as go_on, FaultProxy(plane.credentials, random.Random(1)) as proxy:
        path = kubeconfig.with_token(
            Path(user.kubeconfig).with_suffix(".proxied"),
            proxy.url,
            plane.credentials.keys.authority,
            user.token,
        )
        proxied = dataclasses.replace(user, kubeconfig=str(path))
        flags = ("--claims=assist", f"--grace={grace}", "--no-leader-elect", "--log-level=debug")
        with Metered(plane, proxied, *flags) as operator:
            setup.apply(setup.template(), setup.pod())
            wait_for(lambda: "NotOverdue" in operator.said(), message="the pod to be seen")
            assert proxy.end_watches(Ending.STALL, "pods", "resourceclaims") >= 2
            go_on()  # a start would take longer than the grace on a busy machine
            bound = setup.published()["a"]
            time.sleep(grace + 1)
            assert [*setup.claims()] == [bound]
            assert setup.writes(refused=None) == {}
        assert operator.faults() == []

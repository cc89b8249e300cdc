"""`drain` and `hold` on a model of the cluster: faults of the API server, and what is said then."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dragoman.controllers.maintenance import drainer
from dragoman.kube.errors import ApiError
from dragoman.maintenance.actions import EvictionMode
from dragoman.maintenance.holds import HoldKind, HoldSelector, HoldTaint
from dragoman_toolkit.dra.cluster.connection import explained
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_toolkit.dra.maintenance import draining, previewing
from dragoman_toolkit.dra.maintenance.choosing import choose
from dragoman_toolkit.dra.maintenance.draining import Drain
from dragoman_toolkit.dra.maintenance.tainting import create
from dragoman_toolkit.dra.maintenance.targeting import WantedDevices
from dragoman_toolkit.dra.output import Exit, Report, Unusable
from tests.support.dra import Desk
from tests.support.worlds.inventory import DRIVER, pool
from tests.unit.dragoman.controllers.maintenance.model import Model

GPU = f"{DRIVER}/n/a"


class Server(Model):
    """A model that also reviews rights, and fails where a test says so.

    Attributes:
        faults: Answers to the next requests that create rules.
        refused: The subresource that the user has no right to.
    """

    faults: list[ApiError]
    refused: str = ""

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        """Read or list; the version as the API server says it."""
        if path == "/version":
            return {"gitVersion": "v1.36.3", "major": "1", "minor": "36"}
        return await super().get(path, **query)

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Create an object, or review rights."""
        if "/authorization" in path or "/authentication" in path:
            asked = (body.get("spec") or {}).get("resourceAttributes") or {}
            allowed = not self.refused or asked.get("subresource") != self.refused
            return {"status": {"allowed": allowed, "userInfo": {"username": "ann"}}}
        if path.endswith("/devicetaintrules") and self.faults:
            raise self.faults.pop(0)
        return await super().post(path, body)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drainer, "TICK", 0.05)
    monkeypatch.setattr(draining, "SETTLE", 0.05)


def run(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    *faults: ApiError,
    kind: HoldKind = HoldKind.RULE,
    refused: str = "",
) -> Report:
    """Drain the only device."""
    desk = Desk(folder, pool("n", ["a"]))
    server = Server(random.Random(1), rules=kind is HoldKind.RULE)
    server.faults = [*faults]
    server.refused = refused

    def call(_: Source, question: Callable[[Any], Awaitable[Any]]) -> Any:
        with explained():
            return asyncio.run(question(server))  # type: ignore[arg-type]

    chosen = choose(Source(snapshot=desk.file), WantedDevices((GPU,), dry_run=True))
    options = previewing.MaintenanceOptions(
        "drain", kind=kind, evict=EvictionMode.WHEN_ALLOWED, timeout=20.0
    )
    facts = previewing.facts_of(chosen, options)
    monkeypatch.setattr(Source, "call", call)
    return Drain(Source(), chosen, options, facts).run()


def test_rights_for_held_claims_are_asked_for_before_the_first_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Unusable, match=r"nothing was changed: you cannot .*resourceclaims/binding"):
        run(tmp_path, monkeypatch, kind=HoldKind.CLAIM, refused="binding")
    assert run(tmp_path, monkeypatch, kind=HoldKind.CLAIM).status is Exit.CLEAR


def test_a_taint_that_is_there_already_is_not_called_new() -> None:
    server: Any = Server(random.Random(1), rules=True)
    server.faults = []
    wanted = ((HoldSelector(DRIVER, "n", "a"),), HoldTaint("example.com/xid", "79"), "")
    first = asyncio.run(create(server, *wanted))
    assert [*first.values()] == [True]
    assert asyncio.run(create(server, *wanted)) == dict.fromkeys(first, False)


def test_a_drain_continues_when_the_server_answers_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    away = ApiError(0, "NoAnswer", "POST /apis: connection refused")
    report = run(tmp_path, monkeypatch, away, away, ApiError(503, "ServiceUnavailable", "later"))
    assert report.status is Exit.CLEAR
    assert capsys.readouterr().err.splitlines() == [
        "! POST /apis: connection refused; trying again",
        "! later; trying again",
    ]


def test_a_refused_hold_says_what_is_so_and_how_to_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = run(tmp_path, monkeypatch, ApiError(403, "Forbidden", "a policy forbids rules"))
    assert report.status is Exit.UNKNOWN
    assert report.blocks == (
        "a policy forbids rules: 0 devices in use, 1 not held yet.",
        f"New claims can still get {GPU}.",
        f"Continue: kubectl dra drain {GPU}",
        f"Back: kubectl dra undrain {GPU}",
    )

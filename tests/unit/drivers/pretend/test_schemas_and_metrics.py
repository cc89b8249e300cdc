"""Schemas that the pretended driver is given, its metrics, and its loops."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner

from dragoman_drivers.cli.pretend import pretend
from dragoman_drivers.pretend.binding import Binder
from dragoman_drivers.pretend.checkpoint import CheckpointError
from dragoman_drivers.pretend.driver import Driver
from dragoman_drivers.pretend.faults import Faults
from dragoman_drivers.pretend.slices import PretendPool
from dragoman_drivers.throwaway.api import Api

HEAD = "apiVersion: dragoman.dev/v1alpha1\nkind: DriverConfigSchema\nmetadata: {name: x}\n"
CONFIG = """\
spec:
  driver: gpu.nvidia.com
  configs:
  - apiVersion: x/v1
    kind: X
    schema: {openAPIV3Schema: {type: object, x-kubernetes-validations: [{rule: self.}]}}
"""


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        (HEAD, ["--kubelet-dir", "k"], "malformed DriverConfigSchema: spec"),
        (HEAD + CONFIG, ["--kubelet-dir", "k"], "DriverConfigSchema x does not compile"),
        ("kind: Pod\n", ["--kubelet-dir", "k"], "no DriverConfigSchema of driver gpu.nvidia.com"),
        ("a: [\n", ["--kubelet-dir", "k"], "schema.yaml:"),
        (HEAD, [], "by --kubelet-dir"),
    ],
)
def test_a_schema_that_cannot_be_used_is_bad_input(
    tmp_path: Path, text: str, options: list[str], problem: str
) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(text)
    shape = ["--shape", "gpu.nvidia.com:1xH100", "--node", "n", "--schema", str(path)]
    done = CliRunner().invoke(pretend, [*shape, *options])
    assert done.exit_code == 2, done.output
    assert problem in " ".join(done.output.split())


class Spent:
    """A driver that prepared for an hour, and whose checkpoint may be broken."""

    faults = Faults()
    spent = {"prepare": 3600.1234567, "unprepare": 0.0}  # noqa: RUF012 — read only

    def __init__(self, problem: Exception | None = None) -> None:
        self.deeds = [SimpleNamespace(verb="prepare")] * 1_234_567
        self._problem = problem

    @property
    def prepared(self) -> dict[str, Any]:
        if self._problem:
            raise self._problem
        return {"uid": None}


def test_metrics_have_every_digit() -> None:
    found = Driver.metrics(cast(Driver, Spent()))
    assert found['pretend_prepare_claims_total{result="success"}'] == 1234567.0
    assert found["pretend_prepare_seconds_total"] == 3600.1234567
    assert found["pretend_prepared_claims"] == 1


def test_metrics_without_a_readable_checkpoint_are_those_of_calls() -> None:
    text = Driver.metrics(cast(Driver, Spent(CheckpointError("broken"))))
    assert "pretend_prepare_seconds_total" in text
    assert "pretend_prepared_claims" not in text


def test_a_fault_of_the_binder_itself_is_not_taken_for_an_api_server_that_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: found.append(args.exc_type))
    allocation = {"devices": {"results": [{"driver": "d"}]}}  # without a pool
    claims = [{"status": {"allocation": allocation}}]
    api = cast(Api, SimpleNamespace(list=lambda _: claims))
    binder = Binder(api, PretendPool("d", "n", ({"name": "a", "bindingConditions": ["x"]},)))
    binder.start()
    binder.stop()
    assert found == [KeyError]

"""What keeps a process from starting is said in one line, and the exit status is one."""

import socket
from pathlib import Path

import pytest

from tests.e2e.running import OperatorProcess, faults_in
from tests.e2e.webhook.harness import WebhookProcess, webhook_user
from tests.e2e.webhook.rbac import SCHEMA_RULES
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import ThrowawayProcess


def ended(process: ThrowawayProcess) -> str:
    """Start, wait for the end, and return the one line that says why."""
    process.start()
    assert process.wait(30) == 1
    said = process.log.read_text()
    assert faults_in(said) == []
    [line] = [line for line in said.splitlines() if line.startswith("dragoman: ")]
    return line


def test_a_certificate_that_is_none_is_named(plane: ControlPlane, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate")
    flags = (f"--tls-certificate={wrong}", f"--tls-key={wrong}")
    line = ended(WebhookProcess(plane, webhook_user(plane), tmp_path, *flags).process)
    assert line.startswith(f"dragoman: {wrong} and {wrong}: expected a PEM certificate")


def test_an_address_in_use_is_named(plane: ControlPlane, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        webhook = WebhookProcess(
            plane,
            webhook_user(plane),
            tmp_path,
            "--tls=self",
            f"--address=127.0.0.1:{port}",
        )
        line = ended(webhook.process)
    assert line.startswith("dragoman: ")
    assert str(port) in line


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--catalog=gpu.nvidia.co", "--catalog: expected a driver of the catalog"),
        ("--catalog-mode=gpu.nvidia.com=On", "--catalog-mode: expected DRIVER=MODE"),
        ("--catalog-variable=gpu.nvidia.com:X=1", "--catalog-variable: gpu.nvidia.com has"),
    ],
    ids=["an unknown driver", "an unknown mode", "an unknown variable"],
)
def test_a_setting_that_the_catalog_does_not_have_is_reported_and_stops_nothing(
    plane: ControlPlane, namespace: str, flag: str, words: str
) -> None:
    user = plane.user("schema-controller", SCHEMA_RULES)
    flags = ("--claims=off", "--catalog=all", flag, f"--namespace={namespace}")
    with OperatorProcess(plane, user, *flags) as running:
        wait_for(lambda: words in running.said(), message="the setting was not reported")
        running.check()

"""Readers of the pages: they type what a page says, where the page says it is to be typed."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.docs.pages import ROOT, Command, agrees
from tests.e2e.running import OperatorProcess
from tests.e2e.webhook.harness import WebhookProcess, configuration, wait_until_reviewed
from tests.support.controlplane import binaries
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane

SECONDS = 300
SETTLED_SECONDS = 30
APPLIES = re.compile(r"kubectl apply [^|;&<>]*")
SYSTEM = "dragoman"


@dataclass(frozen=True, slots=True)
class Reader:
    """Somebody in a copy of the checkout.

    Attributes:
        desk: The copy.
        environment: Variables beside PATH and HOME.
    """

    desk: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def follow(self, command: Command, folder: Path) -> str:
        """Do what a page says in the folder where it stands; return what is wrong, or nothing."""
        if command.output is not None and APPLIES.fullmatch(command.line.strip()):
            self._wait_until_reviewed(command, folder)
        answer = self._type(command.line, folder)
        if command.output is None and answer.returncode:
            return f"{command.line}\nends with {answer.returncode}:\n{answer.stdout}"
        if command.output is not None and not agrees(answer.stdout, command.output):
            return f"{command.line}\nprints:\n{answer.stdout}\nnot:\n{command.output}"
        return ""

    def _wait_until_reviewed(self, command: Command, folder: Path) -> None:
        """Wait until a dry run says what the page says.

        The webhook's watch brings a DriverConfigSchema a moment after the command that applies it,
        and the next command would be quicker here than a person is.
        """
        end = time.monotonic() + SETTLED_SECONDS
        while time.monotonic() < end:
            answer = self._type(f"{command.line.strip()} --dry-run=server", folder)
            if agrees(answer.stdout.replace(" (server dry run)", ""), command.output or ""):
                return

    def _type(self, line: str, folder: Path) -> "subprocess.CompletedProcess[str]":
        place = self.desk / folder if folder.parts[:1] == ("examples",) else self.desk
        tools = binaries.find(["kubectl", "helm"])
        path = [Path(sys.executable).parent, *{tool.parent for tool in tools.values()}]
        return subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", line],
            cwd=place,
            env={
                "PATH": ":".join([*map(str, path), os.environ["PATH"]]),
                "HOME": str(self.desk),
                **self.environment,
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )


def at_desk(desk: Path) -> Reader:
    """Return a reader without a cluster, whose files are not those of the checkout."""
    for name in ("examples", "crds", "charts"):
        shutil.copytree(ROOT / name, desk / name)
    for name in ("docs", "operator", "webhooks", "README.md", "pyproject.toml"):
        (desk / name).symlink_to(ROOT / name)
    return Reader(desk)


@contextmanager
def on_cluster(desk: Path, *, empty: bool) -> Iterator[Reader]:
    """Give a reader a cluster, `empty` or with operator and webhook as `examples` install them."""
    with ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(scheduler=True))
        if not empty:
            _install(plane, stack, desk)
        yield Reader(at_desk(desk).desk, {"KUBECONFIG": str(plane.kubeconfig)})


def _install(plane: ControlPlane, stack: ExitStack, desk: Path) -> None:
    for manifest in ("crds", "examples/operator", "examples/hardware"):
        plane.kubectl("apply", "-f", str(ROOT / manifest))
    for manifest in ("rbac.yaml", "operator-rbac.yaml"):
        plane.kubectl("apply", "-f", str(ROOT / "examples/webhook" / manifest))
    operator = plane.service_account("dragoman", SYSTEM)
    flags = (f"--namespace={SYSTEM}", "--cluster-templates")
    stack.enter_context(OperatorProcess(plane, operator, *flags))
    keys = desk / "keys"
    keys.mkdir()
    door = WebhookProcess(plane, plane.service_account("dragoman-webhook", SYSTEM), keys)
    stack.enter_context(door)
    plane.api().create(configuration(door.port, door.bundle))
    wait_until_reviewed(plane, UNREADABLE)
    lease = partial(plane.api().find, "leases.coordination.k8s.io", "dragoman-operator", SYSTEM)
    wait_for(lease, message="the operator to lead")


UNREADABLE = {
    "apiVersion": "dragoman.dev/v1alpha1",
    "kind": "DriverConfigSchema",
    "metadata": {"name": "unreadable"},
    "spec": {
        "driver": "unreadable",
        "configs": [
            {
                "kind": "Unreadable",
                "apiVersion": "v1",
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-validations": [{"rule": "1 +"}],
                    }
                },
            }
        ],
    },
}
"""What the webhook refuses as soon as it is asked."""

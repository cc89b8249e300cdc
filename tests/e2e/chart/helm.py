"""The real helm against the real API server."""

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.support.controlplane import binaries
from tests.support.controlplane.plane import ControlPlane

CHART = Path(__file__).parents[3] / "charts/dragoman"
RELEASE = "dragoman"
WAIT = ("--wait", "--timeout=240s")
"""Until all that belongs to a release runs, or is gone, however busy the machine is."""
RENDERING = {"install", "upgrade", "template", "lint"}
"""Commands that need the registry of the image, which the chart demands."""
Values = Mapping[str, Any]


class Helm:
    """Runs helm as the administrator of a control plane.

    Args:
        plane: Where releases are.
        namespace: Of the release.
        folder: For helm's own files.
        program: `helm`, which is Helm 4, or `helm3`.
    """

    def __init__(
        self, plane: ControlPlane, namespace: str, folder: Path, program: str = "helm"
    ) -> None:
        self.namespace = namespace
        self._folder = folder
        self._program = binaries.find([program], plane.version)[program]
        self._plane = plane

    def __call__(self, *arguments: str, values: Values | None = None, check: bool = True) -> str:
        """Run helm and return what it printed.

        Raises:
            RuntimeError: It failed and `check` is set; the message is what it printed.
        """
        given = ["--values=-"] if values is not None else []
        if arguments[0] in RENDERING and "image" not in (values or {}):
            given.append("--set=image.registry=registry.example.com")
        done = subprocess.run(
            [self._program, *arguments, f"--namespace={self.namespace}", *given],
            input=yaml.safe_dump(dict(values or {})),
            env={
                **os.environ,
                "KUBECONFIG": str(self._plane.kubeconfig),
                "HELM_CACHE_HOME": str(self._folder / "cache"),
                "HELM_CONFIG_HOME": str(self._folder / "config"),
                "HELM_DATA_HOME": str(self._folder / "data"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise RuntimeError(f"helm {' '.join(arguments)}: {done.stderr}{done.stdout}")
        return done.stdout + done.stderr

    def install(self, values: Values | None = None, *flags: str, chart: Path = CHART) -> str:
        """Install the release and wait until it runs."""
        return self(
            *("install", RELEASE, str(chart), *WAIT, *flags),
            values=values or {},
        )

    def upgrade(self, values: Values | None = None, *flags: str, chart: Path = CHART) -> str:
        """Upgrade the release and wait until it runs."""
        return self(
            *("upgrade", RELEASE, str(chart), *WAIT, *flags),
            values=values or {},
        )

    def uninstall(self, *flags: str) -> str:
        """Uninstall the release and wait until its objects are gone."""
        return self("uninstall", RELEASE, *WAIT, *flags)

    def revision(self) -> int:
        """Return the number of the release's newest revision."""
        listed = json.loads(self("history", RELEASE, "--output=json"))
        return max(int(one["revision"]) for one in listed)

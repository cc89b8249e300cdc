"""A real node: a kubelet with containerd, whose pods run.

    with ControlPlane(extra_apiserver_flags=NODE_FLAGS) as plane, Node(plane) as node:
        plane.api().create(objects.pod("one", "default", hostNetwork=True, …))
        node.output("default", "one")

It needs root on Linux (`obstacle` says so in words) and leaves nothing behind on the host: its
processes live in namespaces of their own and end with them, its cgroups are removed, also when the
test is killed.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.support.controlplane import binaries
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.network import Network
from tests.support.controlplane.node import image, parts
from tests.support.controlplane.node.cgroups import Cgroups
from tests.support.controlplane.node.isolation import Isolation
from tests.support.controlplane.plane import ControlPlane
from tests.support.controlplane.process import ThrowawayProcess, free_ports, listens
from tests.support.controlplane.recipes import NETWORK, NODE

NODE_FLAGS = ("--authorization-mode=Node", "--enable-admission-plugins=NodeRestriction")
"""What an API server needs beside its usual flags: kubelets may do what kubelets do."""
START_SECONDS = 60
STOP_SECONDS = 10


class Node:
    """Start, stop, break and repair one node.

    Args:
        plane: Whose node it is; started with `NODE_FLAGS`.
        name: Of the node.
        number: No other node of the plane has it; decides about the addresses of its pods.
        usual_folders: Whether the kubelet's folder and that of CDI are where most nodes have them,
            which drivers in containers expect, and where only the node's processes see them.

    Attributes:
        places: Where its parts keep their things.
        kubelet: The process.
        containerd: The process.
    """

    kubelet: ThrowawayProcess
    containerd: ThrowawayProcess

    def __init__(
        self,
        plane: ControlPlane,
        name: str = "node-1",
        number: int = 1,
        *,
        usual_folders: bool = False,
    ) -> None:
        self.name = name
        self._number = number
        self.places = parts.Places(plane.folder / name, usual_folders)
        self._plane = plane
        self._cleanup = ExitStack()

    # Life -------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop."""
        self.stop()

    def start(self) -> Self:
        """Build what is missing, start containerd and the kubelet, wait until the node is Ready.

        Raises:
            RuntimeError: A part did not start; the message carries the end of its log.
        """
        self._programs = binaries.find([*NODE, *NETWORK], self._plane.version)
        try:
            self._prepare()
            self.start_containerd()
            self.load(
                image.write_archive(self._programs["errand"], self.places.root / "errand.tar")
            )
            self.start_kubelet()
        except BaseException:
            self.stop()
            raise
        return self

    def power_off(self) -> None:
        """End everything that runs on the node at once; nothing of it says so to anyone."""
        self._enclosure.stop()

    def stop(self) -> None:
        """End everything that runs on the node, and remove what it made."""
        self._cleanup.close()

    def _prepare(self) -> None:
        self.places.make()
        self._cleanup.callback(shutil.rmtree, self.places.root, ignore_errors=True)
        cgroups = self._cleanup.enter_context(Cgroups())
        self._enclosure = Isolation(
            self.places.root, self._log("isolation"), self._plane.place, cgroups.folders
        )
        self._cleanup.callback(self._enclosure.stop)
        self._enclosure.start()
        self.containerd = self._process(
            "containerd", parts.containerd(self._programs["containerd"], self.places)
        )
        self.kubelet = self._process("kubelet", self._kubelet_command(cgroups.name))
        (self.places.networks / "pods.conflist").write_text(json.dumps(self._network()))

    def _network(self) -> Mapping[str, Any]:
        """Return how pods are connected: not at all on loopback, where they use the host's."""
        if not isinstance(self._plane.place, Network):
            return parts.NO_NETWORK
        return parts.bridge(f"10.244.{self._number}.0/24", f"pods{self._number}")

    def _kubelet_command(self, cgroup: str) -> list[str]:
        account = self._plane.user(f"system:node:{self.name}", groups=("system:nodes",))
        api, self._health = self._plane.place.inside(lambda: free_ports(2))
        return parts.kubelet(
            self._programs["kubelet"],
            self.places,
            name=self.name,
            kubeconfig=account.kubeconfig,
            keys=self._plane.credentials.keys,
            cgroup=cgroup,
            ports=(api, self._health),
            address=self._plane.place.address,
            gates=self._plane.gates,
        )

    def _process(self, name: str, command: list[str]) -> ThrowawayProcess:
        folder = self._programs["containerd"].parent
        path = {"PATH": f"{folder}:{os.environ['PATH']}"}  # containerd looks there for its shim
        process = ThrowawayProcess(
            f"{name} of {self.name}", self._enclosure.command(*command), self._log(name), path
        )
        self._cleanup.callback(process.kill)
        return process

    def _log(self, name: str) -> Path:
        return self._plane.logs / f"{self.name}-{name}.log"

    # Parts ------------------------------------------------------------------------------------

    def start_containerd(self) -> None:
        """Start containerd and wait until it answers."""
        self.containerd.start()
        wait_for(self._containerd_answers, START_SECONDS, f"containerd of {self.name} to answer")

    def start_kubelet(self) -> None:
        """Start the kubelet and wait until the node is Ready by its word."""
        self.kubelet.start()
        wait_for(self._is_ready, START_SECONDS, f"{self.name} to be Ready")

    def restart_containerd(self) -> None:
        """Stop containerd and start it again; containers run on meanwhile."""
        self.containerd.stop(STOP_SECONDS)
        self.start_containerd()

    def restart_kubelet(self) -> None:
        """Stop the kubelet and start it again; containers run on meanwhile."""
        self.kubelet.stop(STOP_SECONDS)
        self.start_kubelet()

    def _containerd_answers(self) -> bool:
        self.containerd.check()
        return self.places.socket.exists() and not self._ctr("version").returncode

    def _is_ready(self) -> bool:
        self.kubelet.check()
        # What the API server says may be about an earlier kubelet.
        if not listens(self._health, self._plane.place.address):
            return False
        conditions = self._plane.api().get("nodes", self.name)["status"].get("conditions", [])
        return {"Ready": "True"} in [{one["type"]: one["status"]} for one in conditions]

    # Containers -------------------------------------------------------------------------------

    def load(self, archive: Path) -> None:
        """Give the node an image, so that pods may name it with imagePullPolicy Never.

        Raises:
            RuntimeError: containerd did not take it; the message is what ctr printed.
        """
        done = self._ctr("images", "import", str(archive))
        if done.returncode:
            raise RuntimeError(f"{archive}: {done.stderr}{done.stdout}")

    def output(self, namespace: str, pod: str, container: str = "main") -> list[str]:
        """Return the lines that a container has written so far, those of its earlier runs first."""
        runs = self.places.logs.glob(f"{namespace}_{pod}_*/{container}/*.log")
        written = sorted(runs, key=lambda path: int(path.stem))
        return [line.split(" ", 3)[3] for path in written for line in path.read_text().splitlines()]

    def read(self, pod: Mapping[str, Any], *paths: str) -> str:
        """Return the text of files as the first container of a running pod sees them.

        Args:
            pod: As the API server has it now.
            paths: Absolute; `/proc/self` is the container's own first process.
        """
        name = container_of(pod)
        listed = self._ctr("tasks", "list").stdout.splitlines()
        (process,) = (line.split()[1] for line in listed if line.startswith(name))
        seen = [
            path.replace("/proc/self", f"/proc/{process}")
            if path.startswith("/proc/self")
            else f"/proc/{process}/root{path}"
            for path in paths
        ]
        inside = self._enclosure.command("/bin/cat", *seen)
        return subprocess.run(inside, capture_output=True, text=True, check=True).stdout

    def end(self, pod: Mapping[str, Any]) -> None:
        """Ask the first container of a running pod to end (SIGTERM); the pod stays."""
        self._ctr("tasks", "kill", "--signal=SIGTERM", container_of(pod))

    def _ctr(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        program = str(self._programs["ctr"])
        options = (f"--address={self.places.socket}", "--namespace=k8s.io")
        inside = self._enclosure.command(program, *options, *arguments)
        return subprocess.run(inside, capture_output=True, text=True, check=False)


def container_of(pod: Mapping[str, Any]) -> str:
    """Return by which name containerd knows the first container of a pod."""
    status, *_ = pod["status"]["containerStatuses"]
    return str(status["containerID"]).removeprefix("containerd://")

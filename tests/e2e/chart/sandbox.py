"""Where a pod's process runs: a network and a root of its own, as a container runtime would make.

The pod has an address at which all its ports are, the API server's Service address to call, the
token of its ServiceAccount where programs look for one, an empty /tmp, and nothing else to write.
Where the checkout or the interpreter lie below /tmp, they are there, but read-only.
"""

import itertools
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.controlplane.components import KUBERNETES
from tests.support.controlplane.network import Network, program, run
from tests.support.controlplane.process import ThrowawayProcess

ROOT = Path(__file__).parents[3]
GATEWAY = "10.244.0.1"
_NUMBERS = itertools.count(2)
_SCRIPT = """
set -e
folder=$1; kept=$2; shift 2
mount -t tmpfs tmpfs /run
for mount in "$folder"/mounts/*; do
    [ -e "$mount" ] || continue
    target=$(cat "$mount/target")
    mkdir -p "$target"
    mount --bind "$mount/files" "$target"
done
until [ -e "$folder/linked" ]; do sleep 0.02; done
# What the program is made of may lie below /tmp: it is put into the new /tmp before that hides it.
new="$folder/tmp"
mkdir "$new"
mount -t tmpfs tmpfs "$new"
for path in $kept; do
    mkdir -p "$new/${path#/tmp/}"
    mount --bind "$path" "$new/${path#/tmp/}"
    mount -o remount,bind,ro "$new/${path#/tmp/}"
done
mount --rbind "$new" /tmp
mount -o remount,bind,ro /
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class Mount:
    """Files of a volume.

    Attributes:
        target: Where the container sees them, below /var/run.
        files: Contents by name.
    """

    target: str
    files: Mapping[str, bytes]


class Sandbox:
    """One pod's process.

    Args:
        network: Of the control plane.
        name: Of the pod; names the log.
        folder: For what it mounts.
        log: File of its output.
    """

    def __init__(self, network: Network, name: str, folder: Path, log: Path) -> None:
        number = next(_NUMBERS)
        self.address = f"10.244.{number >> 8}.{number & 255}"
        self._network = network
        self._name = name
        self._link = f"pod{number}"
        self._folder = folder
        self._log = log
        self.process: ThrowawayProcess | None = None

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], mounts: Sequence[Mount]
    ) -> None:
        """Run `dragoman` with arguments; returns when it has its network."""
        for number, mount in enumerate(mounts):
            self._write(number, mount)
        variables = {
            "PATH": "/usr/bin:/bin",
            "KUBERNETES_SERVICE_HOST": KUBERNETES,
            "KUBERNETES_SERVICE_PORT": "443",
            **environment,
        }
        command = [
            *(program("unshare"), "--net"),
            *confined(self._folder, [ROOT, Path(sys.prefix), Path(sys.base_prefix)]),
            *("env", "-i", *(f"{key}={value}" for key, value in variables.items())),
            *(sys.executable, "-B", "-m", "dragoman", *arguments),
        ]
        self.process = ThrowawayProcess(self._name, command, self._log)
        self.process.start()
        self._connect()
        (self._folder / "linked").touch()

    def stop(self, grace: float) -> None:
        """Stop the process; its network vanishes with it."""
        if self.process is not None:
            self.process.stop(grace)

    def _write(self, number: int, mount: Mount) -> None:
        place = self._folder / "mounts" / str(number)
        (place / "files").mkdir(parents=True)
        (place / "target").write_text(mount.target.replace("/var/run/", "/run/", 1))
        for name, content in mount.files.items():
            (place / "files" / name).write_bytes(content)

    def _connect(self) -> None:
        assert self.process is not None
        pid = str(self.process.pid)
        ours = Path("/proc/self/ns/net").readlink()
        theirs = Path(f"/proc/{pid}/ns/net")
        while theirs.readlink() == ours:
            self.process.check()
            time.sleep(0.01)
        outside, inside = self._network.run, ("nsenter", f"--net={theirs}", "--", "ip")
        outside("ip", "link", "add", self._link, "type", "veth", "peer", "eth0", "netns", pid)
        outside("ip", "link", "set", self._link, "up")
        run(*inside, "address", "add", f"{self.address}/32", "dev", "eth0")
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "link", "set", "eth0", "up")
        run(*inside, "route", "add", GATEWAY, "dev", "eth0")
        run(*inside, "route", "add", "default", "via", GATEWAY)
        outside("ip", "route", "add", self.address, "dev", self._link, "src", GATEWAY)


def confined(folder: Path, needed: Sequence[Path]) -> list[str]:
    """Return the options of unshare, and the command, that run a command in a root of its own.

    Args:
        folder: With `mounts`; nothing runs before there is a file `linked` in it.
        needed: Folders without which the command cannot run, also where they lie below /tmp.
    """
    kept = " ".join(sorted(str(path) for path in needed if path.is_relative_to("/tmp")))
    script = [program("sh"), "-c", _SCRIPT, "sandbox", str(folder), kept]
    return ["--mount", "--propagation=private", "--", *script]


def prepare(network: Network) -> None:
    """Give the control plane's network the address by which it talks to pods."""
    network.run("ip", "address", "add", f"{GATEWAY}/32", "dev", "lo")

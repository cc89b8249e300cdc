"""Where the servers of a control plane listen: on loopback, or in a network of their own.

    network = Network()
    with ControlPlane(network=network) as plane:
        address = network.add_address()        # what a pod's IP would be
        plane.launch("webhook", [..., f"--address={address}:9443"])

An API server that calls a webhook through its Service dials the address in the EndpointSlice, and
the API refuses loopback addresses there. A private network namespace has other addresses, which
nobody outside this machine reaches. It belongs to its processes and is no file: addresses and link
vanish with the last process in it, also when the test is killed.
"""

import ctypes
import functools
import ipaddress
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self, TypeVar

from tests.support.controlplane.process import LOOPBACK, ThrowawayProcess

Result = TypeVar("Result")
SUBNETS = tuple(ipaddress.IPv4Network("198.19.0.0/16").subnets(new_prefix=24))
"""Set aside for tests of networks (RFC 2544): nothing on this machine talks to them."""
_CLONE_NEWNET = 0x40000000


class Place:
    """The loopback interface of this machine.

    Attributes:
        address: At which servers listen, and at which they are reached from here.
        everywhere: At which a server listens that shall answer at all addresses of the place.
    """

    address: str = LOOPBACK
    everywhere: str = LOOPBACK

    def __enter__(self) -> Self:
        """Make the place."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give it up."""

    def command(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs a command at the place."""
        return list(command)

    def inside(self, function: Callable[[], Result]) -> Result:
        """Return what a function returns at the place; sockets that it makes stay there."""
        return function()


class Network(Place):
    """A network namespace of its own, with one link to this machine.

    Processes inside reach each other at `address` and at all that `add_address` gave, and so do
    processes outside. From inside, this machine is at `gateway`; there is no way further.

    Attributes:
        gateway: This machine's end of the link.
        subnet: Of all these addresses.
    """

    gateway: str
    subnet: ipaddress.IPv4Network
    everywhere = "0.0.0.0"

    def __init__(self) -> None:
        sleep = [program("unshare"), "--net", "--", program("sleep"), "infinity"]
        self._holder = ThrowawayProcess("network", sleep, Path(os.devnull))
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        """Make the namespace and the link.

        Raises:
            RuntimeError: It cannot be made; the message says why.
        """
        with self._cleanup:
            self._cleanup.callback(self._holder.kill)
            self._holder.start()
            self._wait_until_apart()
            self._link()
            self._cleanup = self._cleanup.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Cut the link; the namespace vanishes with the last process inside."""
        self._cleanup.close()

    def command(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs a command inside."""
        return [program("nsenter"), f"--net={self.path}", "--", *command]

    def inside(self, function: Callable[[], Result]) -> Result:
        """Return what a function returns inside; sockets that it makes stay there."""

        def visit() -> Result:
            enter(self.path)
            return function()

        with ThreadPoolExecutor(1) as visitor:  # a thread that ends there never needs to return
            return visitor.submit(visit).result()

    def run(self, *command: str) -> str:
        """Run a command inside, such as `ip route add …`, and return what it printed.

        Raises:
            RuntimeError: It failed; the message is what it printed.
        """
        return run(*self.command(command))

    def add_address(self) -> str:
        """Add one more address inside, as a further pod would have it, and return it."""
        address = str(next(self._spare))
        self.run("ip", "address", "add", f"{address}/{self.subnet.prefixlen}", "dev", "eth0")
        return address

    @property
    def path(self) -> Path:
        """By which the namespace is entered, such as by `nsenter --net=<path>`."""
        if self._holder.pid is None:
            raise RuntimeError("no network namespace: not made, not allowed, or gone")
        return Path(f"/proc/{self._holder.pid}/ns/net")

    def _wait_until_apart(self) -> None:
        ours = Path("/proc/self/ns/net").readlink()
        while True:
            path = self.path
            with suppress(FileNotFoundError):  # it has just ended: the next look says so
                if path.readlink() != ours:
                    return
            time.sleep(0.01)

    def _link(self) -> None:
        self.subnet = self._take_subnet()
        hosts = map(str, self.subnet.hosts())
        self.gateway, self.address = next(hosts), next(hosts)
        self._spare = hosts
        length = self.subnet.prefixlen
        run("ip", "address", "add", f"{self.gateway}/{length}", "dev", link_to(self.subnet))
        run("ip", "link", "set", link_to(self.subnet), "up")
        self.run("ip", "address", "add", f"{self.address}/{length}", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("ip", "link", "set", "lo", "up")

    def _take_subnet(self) -> ipaddress.IPv4Network:
        """Link to the namespace; whoever has the link of a subnet's name has the subnet."""
        peer = ["peer", "name", "eth0", "netns", str(self._holder.pid)]
        for subnet in random.sample(SUBNETS, len(SUBNETS)):
            try:
                run("ip", "link", "add", link_to(subnet), "type", "veth", *peer)
            except RuntimeError as error:
                if "File exists" not in str(error):
                    raise
            else:
                self._cleanup.callback(cut, link_to(subnet))
                return subnet
        raise RuntimeError(f"all {len(SUBNETS)} subnets are taken: see `ip link`")


def cut(link: str) -> None:
    """Delete a link, which went already where its namespace ended before."""
    try:
        run("ip", "link", "delete", link)
    except RuntimeError as error:
        if "Cannot find device" not in str(error):
            raise


@functools.cache
def obstacle() -> str:
    """Return why private networks cannot be made here, or nothing when they can."""
    try:
        with Network():
            return ""
    except RuntimeError as error:
        return f"private networks need Linux, root, iproute2 and util-linux: {error}"


def link_to(subnet: ipaddress.IPv4Network) -> str:
    """Return the name of this machine's end of the link to a subnet."""
    return f"dragoman{subnet.network_address.packed[2]}"


def enter(path: Path) -> None:
    """Move this thread, and no other, into a network namespace."""
    library = ctypes.CDLL(None, use_errno=True)
    with path.open() as namespace:
        if library.setns(namespace.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {path}")


def program(name: str) -> str:
    """Return the path of an installed program.

    Raises:
        RuntimeError: It is not installed.
    """
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        raise RuntimeError(f"{name} is not installed")
    return path


def run(command: str, *arguments: str) -> str:
    """Run a command and return what it printed.

    Raises:
        RuntimeError: It failed; the message is what it printed.
    """
    done = subprocess.run(
        [program(command), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{command} {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout

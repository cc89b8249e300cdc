"""A webhook in a process of its own, under a limit of memory.

`python -m tests.unit.dragoman.webhook.process MIB DEVICES` prints the port and the CA, and serves
until its standard input ends. With devices, it reviews targets of DeviceMaintenances.
"""

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from dragoman.cluster.published import ReviewedDevices
from dragoman.inventory.facts.profiles import observed_profile
from dragoman.inventory.facts.world import world_of
from dragoman.inventory.inventory import take
from dragoman.model.slice import parse_slice
from dragoman_webhooks.server import ServerLimits, WebhookServer
from tests.support import manifests as objects
from tests.support.clusters import cluster_of
from tests.support.worlds.reviews import REGISTRY, certified

ROOT = Path(__file__).parents[4]
MIB = 1024 * 1024
DEVICES_PER_SLICE = 100


@dataclass(frozen=True, slots=True)
class Webhook:
    """The process.

    Attributes:
        pid: Its id.
        port: Where it listens on loopback.
        ca: The CA that clients trust, as PEM.
    """

    pid: int
    port: int
    ca: str

    def peak(self) -> float:
        """Return the most memory that was resident since `forget_peak`, in MiB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / 1024

    def forget_peak(self) -> None:
        """Begin a new measurement of `peak` at what is resident now."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")


@asynccontextmanager
async def webhook(limit: int, devices: int = 0) -> AsyncIterator[Webhook]:
    """Run a webhook.

    Args:
        limit: MiB of its private memory.
        devices: Devices of the cluster, no two of which are alike.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.unit.dragoman.webhook.process", str(limit), str(devices)),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=MIB,
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        while not (line := await process.stdout.readline()).startswith(b"{"):
            assert line, "the webhook has ended"
        yield Webhook(process.pid, **json.loads(line))
        assert process.returncode is None
    finally:
        process.stdin.close()
        await process.wait()


def _published(devices: int) -> ReviewedDevices:
    found = ReviewedDevices(cluster_of())
    slices = [
        objects.resource_slice(
            f"n{first}",
            [
                {"name": f"d{one}", "attributes": {"id": {"int": first + one}}}
                for one in range(DEVICES_PER_SLICE)
            ],
        )
        for first in range(0, devices, DEVICES_PER_SLICE)
    ]
    found._inventory = take(world_of(map(parse_slice, slices)), observed_profile("1.36")[0])
    return found


async def _serve(devices: int) -> None:
    context, ca = certified()
    limits = ServerLimits(read_timeout=60, deadline=60)
    server = WebhookServer(
        lambda: REGISTRY,
        lambda: None,
        tls=context,
        limits=limits,
        count_devices=_published(devices).count if devices else None,
    )
    _, port = await server.start("127.0.0.1", 0)
    print(json.dumps({"port": port, "ca": ca.certificate.pem.decode()}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await server.stop()


if __name__ == "__main__":
    most = int(sys.argv[1]) * MIB
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    asyncio.run(_serve(int(sys.argv[2])))

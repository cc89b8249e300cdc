"""Preemption controllers that end after any write, and are started again.

They have a process of their own, `python -m tests.e2e.preemption.mortals KUBECONFIG SEED COUNT
DEATHS`: what plays the worlds takes none of their time. It reads `cut SECONDS` from its standard
input until that ends, and prints its deaths and faults as JSON.
"""

import asyncio
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import structlog

from dragoman.controllers.context import Context
from dragoman.controllers.preemption.carrier import Carrier
from dragoman.controllers.preemption.controller import PreemptionController
from dragoman.controllers.preemption.preemptions import Preemptions
from dragoman.kube.client import Client
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.errors import ApiError
from dragoman.kube.events import EventRecorder
from dragoman.kube.kubeconfig import Credentials
from dragoman.kube.resources import Resource
from dragoman.preemption.policy import Policy
from dragoman.preemption.stored import PreemptionLimits

GROUP = "resource.k8s.io"
CLAIMS = Resource(GROUP, "v1", "resourceclaims")
TEMPLATES = Resource(GROUP, "v1", "resourceclaimtemplates")
RULES = Resource(GROUP, "v1beta2", "devicetaintrules")
LIMITS = PreemptionLimits(
    parallel=1000, per_hour=10**6, timeout=40.0, min_runtime=0.0, attempts=5, failures=10**6
)
_WRITES = frozenset({"post", "patch", "put", "delete"})


class KilledError(BaseException):
    """The process is gone; nothing catches it."""


class MortalClient:
    """A client whose process ends directly after one of its writes.

    Args:
        client: What sends.
        lives: Writes until then; None for never.
        cut: Whether the API server cannot be reached now.
    """

    def __init__(self, client: Client, lives: int | None, cut: Callable[[], bool]) -> None:
        self._client = client
        self._left = lives
        self._cut = cut
        self.dead = False
        self.ended = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name not in _WRITES | {"get"}:
            return found

        async def send(*arguments: Any, **more: Any) -> Any:
            if self.dead:
                raise KilledError
            if self._cut():
                raise ApiError(0, "NoAnswer", "the API server cannot be reached")
            try:
                return await found(*arguments, **more)
            finally:
                if name in _WRITES and self._left is not None and "/events" not in arguments[0]:
                    self._left -= 1
                    if self._left <= 0:
                        self.dead = True
                        self.ended.set()
                        raise KilledError

        return send


class Leaders:
    """One controller or two of them, in a process; they die and come back.

    Args:
        kubeconfig: Of an administrator.
        seed: Of their deaths.
        count: How many believe that they lead.
        deaths: How many deaths there are at most.
    """

    def __init__(self, kubeconfig: Path, seed: int, count: int = 1, deaths: int = 0) -> None:
        self._arguments = (str(kubeconfig), str(seed), str(count), str(deaths))
        self._process: subprocess.Popen[str] | None = None
        self.deaths = 0
        self.faults: list[str] = []

    def __enter__(self) -> Self:
        """Start."""
        self._process = subprocess.Popen(
            (sys.executable, "-m", "tests.e2e.preemption.mortals", *self._arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        assert self._process is not None
        printed = self._process.communicate(timeout=60)[0]
        found = json.loads(printed.splitlines()[-1])
        self.deaths, self.faults = found["deaths"], found["faults"]

    def cut(self, seconds: float) -> None:
        """Let no request through for a while."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(f"cut {seconds}\n")
        self._process.stdin.flush()


class Lives:
    """The lives of controllers, in this process; see `Leaders`."""

    def __init__(self, kubeconfig: Path, seed: int, count: int, deaths: int) -> None:
        self._kubeconfig = kubeconfig
        self._random = random.Random(seed)
        self._count = count
        self._left = deaths
        self._stopping = threading.Event()
        self._cut_until = 0.0
        self.deaths = 0
        self.faults: list[str] = []

    def listen(self) -> None:
        """Follow what the standard input says until it ends."""
        for line in sys.stdin:
            self._cut_until = time.monotonic() + float(line.split()[1])
        self._stopping.set()

    async def run(self) -> None:
        """Live until stopped."""
        await asyncio.gather(*(self._reborn() for _ in range(self._count)))

    async def _reborn(self) -> None:
        while not self._stopping.is_set():
            lives = None
            if self._left > 0:
                self._left -= 1
                lives = self._random.randint(1, 12)
            try:
                await self._life(lives)
            except KilledError:
                self.deaths += 1
                await asyncio.sleep(self._random.random() * 0.2)
            except Exception as error:  # noqa: BLE001 — reported as a fault of the run
                self.faults.append(repr(error))
                await asyncio.sleep(0.5)

    async def _life(self, lives: int | None) -> None:
        async with Client(Credentials(ConnectionOptions(self._kubeconfig))) as real:
            client: Any = MortalClient(real, lives, lambda: time.monotonic() < self._cut_until)
            recorder = EventRecorder(client)
            policy = Policy()
            carrier = Carrier(
                client,
                CLAIMS,
                TEMPLATES,
                RULES,
                policy=lambda journal: preemptions.allowed(journal),  # noqa: PLW0108
                limits=LIMITS,
            )
            preemptions = Preemptions(client, carrier, policy)
            controller = PreemptionController(
                Context(client, recorder),
                policy,
                after=0.0,
                tick=0.2,
                interval=3.0,
                preemptions=preemptions,
            )
            running = asyncio.create_task(controller.run())
            try:
                while not self._stopping.is_set() and not running.done() and not client.dead:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(client.ended.wait(), 0.5)
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
            if client.dead:
                raise KilledError
            if not self._stopping.is_set():
                self.faults.append("a controller ended by itself")


def main() -> None:
    """Let controllers live and die."""
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    kubeconfig, *numbers = sys.argv[1:]
    lives = Lives(Path(kubeconfig), *map(int, numbers))
    threading.Thread(target=lives.listen, daemon=True).start()
    asyncio.run(lives.run())
    print(json.dumps({"deaths": lives.deaths, "faults": lives.faults}))


if __name__ == "__main__":
    main()

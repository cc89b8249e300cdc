"""Preemption controllers in this process that end after any write, and are started again."""

import asyncio
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

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
                        raise KilledError

        return send


class Leaders:
    """One controller or two of them, in a thread; they die and come back.

    Args:
        kubeconfig: Of an administrator.
        seed: Of their deaths.
        count: How many believe that they lead.
        deaths: How many deaths there are at most.
    """

    def __init__(self, kubeconfig: Path, seed: int, count: int = 1, deaths: int = 0) -> None:
        self._kubeconfig = kubeconfig
        self._random = random.Random(seed)
        self._count = count
        self._left = deaths
        self._stopping = threading.Event()
        self._cut_until = 0.0
        self.deaths = 0
        self.faults: list[str] = []
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> Self:
        """Start."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._stopping.set()
        self._thread.join(30)

    def cut(self, seconds: float) -> None:
        """Let no request through for a while."""
        self._cut_until = time.monotonic() + seconds

    async def _run(self) -> None:
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
                await asyncio.sleep(self._random.random() * 0.5)
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
                client,
                recorder,
                lambda: True,
                policy,
                after=0.0,
                tick=0.5,
                interval=3.0,
                preemptions=preemptions,
            )
            running = asyncio.create_task(controller.run())
            try:
                while not self._stopping.is_set() and not running.done():
                    await asyncio.sleep(0.1)
                    if client.dead and not running.done():
                        running.cancel()
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
            if client.dead:
                raise KilledError
            if not self._stopping.is_set():
                self.faults.append("a controller ended by itself")

"""The claim controller in the operator, with all that feeds it and looks after it."""

import asyncio
import gc
from collections.abc import Coroutine, Mapping
from typing import Any

from dragoman.controllers.claims.collector import Census
from dragoman.controllers.claims.controller import ClaimController
from dragoman.controllers.claims.mode import MODE_ANNOTATION, ClaimMode
from dragoman.kube.client import Client, Resource
from dragoman.kube.discovery import Served
from dragoman.kube.events import EventRecorder
from dragoman.kube.feed.kopf_feed import Handler, KopfFeed, uses_claims
from dragoman.kube.feed.session import Listing
from dragoman.kube.leaderelection import LeaderElector
from dragoman.kube.pulse import WatchHealth
from dragoman.kube.reflector import Reflector
from dragoman.logs import logger
from dragoman.metrics import REGISTRY
from dragoman.model import Claim, Pod
from dragoman.settings import Settings

log = logger("dragoman")


class Claiming:
    """Watches, and works while it leads.

    Args:
        settings: Mode, graces, workers and feed.
        api: Where to read and write.
        served: Which API versions the server has.
        elector: Says who leads; None where this process always does.
    """

    def __init__(
        self, settings: Settings, api: Client, served: Served, leader_elector: LeaderElector | None
    ) -> None:
        self._leader_elector = leader_elector
        self._recorder = EventRecorder(api)
        self._mode = ClaimMode(
            settings.claims,
            grace=settings.grace,
            takeover_after=settings.takeover_after,
            keep=lambda mode: (
                leader_elector.annotate(MODE_ANNOTATION, mode.value) if leader_elector else None
            ),
        )
        self._controller = ClaimController(
            api,
            served,
            self._recorder,
            self._mode,
            may_write=(lambda: leader_elector.leading) if leader_elector else (lambda: True),
            workers=settings.workers,
            resync=settings.resync,
        )
        through_kopf = settings.feed == "kopf"
        self._feed = KopfFeed(served, self._controller.handlers, pods_and_claims=through_kopf)
        self._reflectors = () if through_kopf else _reflectors(self._controller)
        self._census = Census(self._controller.state)
        self._synced = False
        REGISTRY.register(self._census)
        log.info(
            "Controlling claims",
            mode=settings.claims,
            api_version=served.claims.api_version,
            podgroups=served.groups.api_version if served.groups else "not served",
        )

    @property
    def listings(self) -> dict[str, Listing]:
        """The lists and watches of kopf's to look after, by URL path."""
        return self._feed.listings

    @property
    def handlers(self) -> Mapping[Resource, Handler]:
        """What kopf is to watch, and the event handlers for it."""
        return self._feed.handlers

    @property
    def pulses(self) -> tuple[WatchHealth, ...]:
        """The pulse of each feed."""
        fed = (*self.listings.values(), *self._reflectors)
        return tuple(one.pulse for one in fed)

    def longest_running(self) -> float:
        """Return for how many seconds the slowest worker has had its key."""
        return self._controller.queue.longest_running()

    def unready(self) -> str | None:
        """Return None once everything there was at the start is known, else a sentence."""
        return None if self._synced else "pods, claims and templates are not listed yet"

    def works(self) -> dict[str, Coroutine[Any, Any, None]]:
        """Return what is to run until the end, by name."""
        watching = {one.informer.resource.plural: one.run() for one in self._reflectors}
        return {"events": self._recorder.run(), **watching, "claims": self._run()}

    def close(self) -> None:
        """Leave nothing behind in the metrics."""
        REGISTRY.unregister(self._census)

    async def _run(self) -> None:
        reflected = (one.synced.wait() for one in self._reflectors)
        await asyncio.gather(self._feed.wait_synced(), *reflected)
        # What was listed lives as long as the process: the collector need not look at it again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 50, 100)
        self._controller.other.wake()
        state = self._controller.state
        log.info(
            "Synced", pods=len(state.pods), claims=len(state.claims), templates=len(state.templates)
        )
        self._synced = True
        if self._leader_elector is None:
            await self._controller.run()
        else:
            await self._leader_elector.run(self._lead)

    async def _lead(self) -> None:
        assert self._leader_elector is not None
        self._mode.resume(self._leader_elector.annotations.get(MODE_ANNOTATION))
        await self._controller.run()


def _reflectors(controller: ClaimController) -> tuple[Reflector[Pod], Reflector[Claim]]:
    state, informers = controller.state, controller.informers
    known, rewound = state.own_writes.take, state.rewind
    return (
        Reflector(informers.pods, keep=uses_claims, known=known, rewound=rewound),
        Reflector(informers.claims, known=known, rewound=rewound),
    )

"""The cluster as the page shows it: read again after each change while a browser follows."""

import asyncio
import contextlib
import gc
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Protocol

from dragoman.allocation.features import Profile
from dragoman.inventory.facts.parser import parse
from dragoman.inventory.facts.world import World
from dragoman.inventory.inventory import take
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman_toolkit.dra.output import Unusable
from dragoman_toolkit.dra.ui import render
from dragoman_toolkit.dra.ui.explanations import Explainer
from dragoman_toolkit.dra.ui.feed import Feed
from dragoman_toolkit.dra.ui.page import Page, page

SEARCHING = 3.0
"""Seconds for explanations after each reading; others are made when a browser needs them."""
PING = 15.0
"""Seconds after which a quiet stream gets a comment: only writing shows that a browser left."""
REST = 4
"""Readings begin after this many times the duration of the one before: a fifth of the time at
most is spent on them, by this process and by the API server."""


Show = Callable[[str, str, str], Awaitable[str]]


class ObjectSource(Protocol):
    """Where the objects come from."""

    async def read(self) -> Snapshot:
        """Return the cluster as it is now; raise Unusable where it does not answer."""

    async def changed(self) -> None:
        """Wait until it is to be read again."""


class Live:
    """Reads the cluster and reports what changed.

    Args:
        title: Name of the cluster.
        cluster: Where the objects come from.
        profile: Returns how its scheduler behaves; raises Unusable for an unknown version.
        interval: Least seconds between two readings; more where the cluster is large.
        kind: What the cluster is, see `render.whole`.
        show: Returns an object by kind, namespace and name; None where there is only a snapshot.
    """

    def __init__(  # noqa: PLR0913, PLR0917 — what a page has
        self,
        title: str,
        cluster: ObjectSource,
        profile: Callable[[World], Profile],
        interval: float,
        kind: str = render.CLUSTER,
        show: Show | None = None,
    ) -> None:
        self._title = title
        self._kind = kind
        self._show = show
        self._cluster = cluster
        self._profile = profile
        self._interval = interval
        self._feed: Feed | None = None
        self._whole: tuple[Feed | None, bytes] = (None, b"")
        self._explainer: Explainer | None = None
        self._searching = asyncio.Lock()
        self._writing = asyncio.Lock()
        self._followers = 0
        self._followed = asyncio.Event()
        self._changed = asyncio.Condition()
        self._changes = 0
        self._trouble = ""

    @property
    def feed(self) -> Feed:
        """The page as last read."""
        assert self._feed is not None, "start comes first"
        return self._feed

    async def start(self) -> None:
        """Read the cluster for the first time; raise Unusable where that fails."""
        explainer, found = await self._next()
        self._feed = await asyncio.to_thread(Feed.first, self._title, found, self._kind)
        self._explainer = explainer

    async def run(self) -> None:
        """Read the cluster while it is followed, until cancelled."""
        while True:
            await self._followed.wait()
            begun = time.monotonic()
            await self._reread()
            await self._search()
            gc.collect()  # commands seldom collect, which suits one answer and not many
            elapsed = time.monotonic() - begun
            await asyncio.sleep(max(self._interval, REST * elapsed))
            await self._cluster.changed()

    async def search_all(self) -> None:
        """Explain all pods that wait, which is all that changes where nothing is read again."""
        while self.feed.stale:
            await self._search()

    async def messages(self, revision: int) -> AsyncIterator[bytes]:
        """Yield server-sent events for a browser at a revision, one after each reading."""
        self._followers += 1
        self._followed.set()
        try:
            while True:
                feed, trouble, changes = self.feed, self._trouble, self._changes
                yield (
                    _event("trouble", json.dumps(trouble))
                    if trouble
                    else _event("update", feed.since(revision))
                )
                revision = revision if trouble else feed.revision
                while not await self._has_changed(changes):
                    yield b": ping\n\n"
        finally:
            self._followers -= 1
            if not self._followers:
                self._followed.clear()

    async def _has_changed(self, changes: int) -> bool:
        """Wait for a change after so many, but not for long; return whether there was one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PING), self._changed:
                await self._changed.wait_for(lambda: self._changes != changes)
        return self._changes != changes

    async def whole(self) -> bytes:
        """Return the page for a browser that has nothing yet."""
        feed = self.feed
        if self._whole[0] is not feed:
            self._whole = (feed, await asyncio.to_thread(lambda: feed.whole().encode()))
        return self._whole[1]

    async def object(self, kind: str, namespace: str, name: str) -> str:
        """Return an object and its Events as text; raise KeyError where it cannot be shown."""
        if self._show is None:
            raise KeyError(kind)
        return await self._show(kind, namespace, name)

    async def explain(self, pod: str) -> str:
        """Return HTML that explains a pod; raise KeyError where it does not wait."""
        if pod not in {one.key for one in self.feed.page.waiting}:
            raise KeyError(pod)
        found = self.feed.explanations.get(pod)
        if found is None or pod in self.feed.stale:
            async with self._searching:
                assert self._explainer is not None
                found = await asyncio.to_thread(self._explainer.explain, pod)
            await self._replace(lambda feed: feed.explained({pod: found}))
        return render.report(found)

    async def _reread(self) -> None:
        try:
            explainer, found = await self._next()
        except Unusable as error:
            self._trouble = _words(error)
            await self._replace(lambda feed: feed)
            return
        self._trouble = ""
        await self._replace(lambda feed: feed.next(found))
        if self.feed.stale:
            async with self._searching:
                self._explainer = explainer

    async def _next(self) -> tuple[Explainer, Page]:
        snapshot = await self._cluster.read()
        return await asyncio.to_thread(self._computed, snapshot)

    def _computed(self, snapshot: Snapshot) -> tuple[Explainer, Page]:
        world = parse(snapshot)
        inventory = take(world, self._profile(world))
        return Explainer(inventory, snapshot), page(inventory, snapshot)

    async def _search(self) -> None:
        """Explain pods that wait, as far as the time goes."""
        stale, known = self.feed.stale, self.feed.explanations
        pods = [one.key for one in self.feed.page.waiting if one.key in stale]
        if not pods:
            return
        pods.sort(key=lambda key: key in known)
        async with self._searching:
            explainer = self._explainer
            assert explainer is not None
            found = await asyncio.to_thread(lambda: dict(explainer.each(pods, SEARCHING)))
        await self._replace(lambda feed: feed.explained(found))

    async def _replace(self, change: Callable[[Feed], Feed]) -> None:
        """Change the feed; one change at a time, or two would make the same revision."""
        async with self._writing:
            self._feed = await asyncio.to_thread(change, self.feed)
        self._changes += 1
        async with self._changed:
            self._changed.notify_all()


_SYSTEM = re.compile(r"\[Errno -?\d+\] ")
_CALL = re.compile(r"Connect call failed \('([^']*)', (\d+)[^)]*\)")


def _words(error: Unusable) -> str:
    """Return what is wrong in the words of people, without those of Python."""
    return _CALL.sub(r"cannot connect to \1:\2", _SYSTEM.sub("", str(error)))


def _event(kind: str, data: str) -> bytes:
    return f"event: {kind}\ndata: {data}\n\n".encode()

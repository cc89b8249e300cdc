"""A manager as in controller-runtime: it runs watches and controllers, and notices their end."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from dragoman.kube.informer import Informer
from dragoman.kube.reflector import Reflector
from dragoman.kube.sharedinformer import SharedInformer, SharedInformers
from dragoman.kube.watchhealth import WatchHealth
from dragoman.logs import logger

ONCE = "start of a controller"
"""Name of the tasks that end by themselves."""

log = logger("dragoman")


class Manager:
    """Runs the components of a process until one of them ends.

    Args:
        handlers: kopf's event handlers, called by reflectors; without them kopf itself watches,
            and the informers only list.
        resync: Seconds between lists of informers that kopf feeds.

    Attributes:
        informers: The informers that events go to.
        leaders: What runs only while this process leads.
        on_leading: Called when this process becomes the leader.
        on_stop: Called once all components have stopped.
        ready_checks: Each returns why a component is not ready, or None.
        watches: When each watch last received anything.
        fault: Why the process cannot continue; empty while it can.
        stopping: Set when it cannot continue, or stops; kopf's stop flag.
        memo: kopf's memo, which the event handlers receive.
    """

    def __init__(self, handlers: Iterable[Any], resync: float) -> None:
        self.informers = SharedInformers()
        self.leaders: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self.on_leading: list[Callable[[], None]] = []
        self.on_stop: list[Callable[[], None]] = []
        self.ready_checks: list[Callable[[], str | None]] = []
        self.watches: list[WatchHealth] = []
        self.fault = ""
        self.stopping = asyncio.Event()
        self.memo: Any = None
        self._handlers = {(one.selector.group, one.selector.any_name): one.fn for one in handlers}
        self._resync = resync
        self._watched: dict[str, SharedInformer] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def kopf_watches(self) -> bool:
        """Whether kopf's own watches feed the informers."""
        return not self._handlers

    def watch(self, *informers: Informer[Any]) -> None:
        """Feed informers; one reflector feeds all those of a resource.

        Those that are given later list once, and receive what the reflector watches.
        """
        groups: dict[str, list[Informer[Any]]] = {}
        for informer in informers:
            self.informers.add(informer)
            groups.setdefault(informer.path, []).append(informer)
        for path, group in groups.items():
            self._feed(path, group)

    def spawn(self, name: str, component: Coroutine[Any, Any, None]) -> None:
        """Run a component, whose end ends the process."""
        task = asyncio.create_task(component, name=name)
        task.add_done_callback(self._component_ended)
        self._tasks.add(task)

    def spawn_once(self, start: Coroutine[Any, Any, None]) -> None:
        """Run what ends by itself, as the start of a controller whose API is not served yet."""
        self.spawn(ONCE, start)

    async def lead(self) -> None:
        """Run what only the leader runs, until cancelled."""
        for callback in self.on_leading:
            callback()
        async with asyncio.TaskGroup() as running:
            # While no controller runs, this task keeps the Lease.
            running.create_task(asyncio.Event().wait())
            for run in self.leaders:
                running.create_task(run())

    def unready(self) -> str | None:
        """Return why a component is not ready, or None."""
        reasons = (check() for check in self.ready_checks)
        return next((reason for reason in reasons if reason is not None), None)

    async def stop(self) -> None:
        """Stop every component; requests in flight are finished first."""
        self.stopping.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self.informers.clear()
        for callback in self.on_stop:
            callback()
        self.on_stop.clear()

    def _feed(self, path: str, informers: list[Informer[Any]]) -> None:
        """Feed informers of one resource: by a reflector that calls kopf's event handler, or kopf.

        kopf says neither what was deleted during an outage nor when a list ends: see `resync`.
        """
        resource = informers[0].resource
        handler = self._handlers.get((resource.group, resource.plural))
        if handler is None:
            for informer in informers:
                self.spawn(resource.plural, informer.resync_periodically(self._resync))
            return
        if (shared := self._watched.get(path)) is not None:
            shared.join(informers)
            for informer in informers:
                self.spawn_once(informer.resync_until_complete())
            return
        shared = self._watched[path] = SharedInformer(informers)

        async def feed(event: Mapping[str, Any]) -> None:
            await handler(event=event, memo=self.memo)

        reflector = Reflector(shared, feed)
        self.watches.append(reflector.health)
        self.spawn(resource.plural, reflector.run())

    def _component_ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (task.get_name() == ONCE and task.exception() is None):
            return
        error = task.exception()
        self.fault = f"{task.get_name()} ended: {error!r}"
        # Set before the line is logged: exit also where the log cannot be written, so that a
        # partly running operator is restarted.
        self.stopping.set()
        log.critical("A component ended", component=task.get_name(), exc_info=error)

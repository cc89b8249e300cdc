"""A manager as in controller-runtime: it runs watches and controllers, and notices their end."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from dragoman.kube.informer import Informer
from dragoman.kube.reflector import Reflector
from dragoman.kube.watchhealth import WatchHealth
from dragoman.logs import logger

ONCE = "start of a controller"
"""Name of the tasks that end by themselves."""

log = logger("dragoman")


class Informers:
    """The informers of a process by resource, as in client-go's SharedInformerFactory."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Informer[Any]] = {}

    def add(self, informer: Informer[Any]) -> bool:
        """Let an informer receive the events of its resource; return whether it is new.

        Raises:
            ValueError: Another informer has the resource: it would be known twice.
        """
        place = (informer.resource.group, informer.resource.plural)
        known = self._found.get(place)
        if known is not None and known is not informer:
            raise ValueError(f"{informer.resource.plural} have an informer already")
        self._found[place] = informer
        return known is None

    def has(self, group: str, plural: str, namespace: str, name: str) -> bool:
        """Whether an object is stored."""
        informer = self._found.get((group, plural))
        return informer is not None and informer.store.get(namespace, name) is not None

    def clear(self) -> None:
        """Remove all informers: later events are dropped."""
        self._found.clear()

    def handle(self, group: str, plural: str, event: Mapping[str, Any]) -> None:
        """Pass a raw event on to the informer of a resource; drop it where there is none."""
        informer = self._found.get((group, plural))
        if informer is not None:
            informer.handle(event)


class Manager:
    """Runs the components of a process until one of them ends.

    Args:
        handlers: The event handlers of kopf, called by reflectors; without them kopf itself
            watches, and the informers only list.
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
        memo: The memo of kopf, which the event handlers receive.
    """

    def __init__(self, handlers: Iterable[Any], resync: float) -> None:
        self.informers = Informers()
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
        self._tasks: dict[asyncio.Task[None], None] = {}  # In the order of their start

    def watch(self, *informers: Informer[Any]) -> None:
        """Feed informers from now on; those that are fed already stay as they are."""
        for informer in informers:
            if self.informers.add(informer):
                self._feed(informer)

    def spawn(self, name: str, component: Coroutine[Any, Any, None]) -> None:
        """Run a component, whose end ends the process."""
        task = asyncio.create_task(component, name=name)
        task.add_done_callback(self._component_ended)
        self._tasks[task] = None

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

    def _feed(self, informer: Informer[Any]) -> None:
        """Feed an informer: by a reflector that calls kopf's event handler, or by kopf itself.

        kopf says neither what was deleted during an outage nor when a list ends: see `resync`.
        """
        resource = informer.resource
        handler = self._handlers.get((resource.group, resource.plural))
        if handler is None:
            self.spawn(resource.plural, informer.resync_periodically(self._resync))
            return

        async def feed(event: Mapping[str, Any]) -> None:
            await handler(event=event, memo=self.memo)

        informer.health.begin()
        self.watches.append(informer.health)
        self.spawn(resource.plural, Reflector(informer, feed).run())

    def _component_ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or (task.get_name() == ONCE and task.exception() is None):
            return
        error = task.exception()
        self.fault = f"{task.get_name()} ended: {error!r}"
        # Set before the line is logged: exit also where the log cannot be written, so that a
        # partly running operator is restarted.
        self.stopping.set()
        log.critical("A component ended", component=task.get_name(), exc_info=error)

"""What controllers are started with."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dragoman.cluster.cluster import ClusterStores
from dragoman.controllers.context import Context
from dragoman.kube.client import Client
from dragoman.kube.events import EventRecorder
from dragoman.kube.leaderelection import LeaderElector
from dragoman.kube.manager import Manager
from dragoman.settings import Settings

Run = Callable[[], Coroutine[Any, Any, None]]
"""Runs a controller until it is cancelled."""
Shared = TypeVar("Shared")


@dataclass
class Process:
    """One process of dragoman, as its controllers see it."""

    client: Client  # The connections to the API server
    settings: Settings  # Which controllers run, and how
    manager: Manager  # Runs watches and components
    recorder: EventRecorder  # Posts the Events of the process
    # The cluster as it is known; None in the webhook's process, which writes nothing
    stored: ClusterStores | None = None
    # Says whether this process may write; None where it always may
    elector: LeaderElector | None = None
    # Each returns for how many seconds a worker has been busy with one key
    busy: list[Callable[[], float]] = field(default_factory=list)
    _shared: dict[type[Any], object] = field(default_factory=dict)

    @property
    def cluster(self) -> ClusterStores:
        """The cluster as it is known; not in the webhook's process."""
        assert self.stored is not None
        return self.stored

    @property
    def context(self) -> Context:
        """What every controller is given."""
        return Context(self.client, self.recorder, self.leading)

    def leading(self) -> bool:
        """Whether this process may write now."""
        return self.stored is not None and (self.elector is None or self.elector.leading)

    def share(self, one: object) -> None:
        """Let controllers that start later have an object of another controller."""
        self._shared[type(one)] = one

    def shared(self, kind: type[Shared]) -> Shared:
        """Return the object of a class that another controller shares; raise KeyError."""
        found = self._shared[kind]
        assert isinstance(found, kind)
        return found

"""What the controllers of one process have in common."""

from collections.abc import Callable
from dataclasses import dataclass

from dragoman.kube.client import Client
from dragoman.kube.controller import NotLeadingError
from dragoman.kube.events import EventRecorder


@dataclass(frozen=True, slots=True)
class Context:
    """How a controller reaches the API server, and whether it may write."""

    client: Client  # Where to read and write
    recorder: EventRecorder  # Where Events go
    # Whether this process leads; each write asks, since a Lease can be lost at any time
    leading: Callable[[], bool] = lambda: True

    @property
    def writing(self) -> Client:
        """The client, for one write; raise NotLeadingError where another process leads by now."""
        self.require_leading()
        return self.client

    def require_leading(self) -> None:
        """Raise NotLeadingError where another process leads by now."""
        if not self.leading():
            raise NotLeadingError

"""kopf as a shell: it starts, logs in, watches and stops, and writes nothing by itself."""

import asyncio
from typing import Any

import kopf

from dragoman.kube.backoff import EndlessBackoff
from dragoman.logs import logger

log = logger("dragoman")


def configure_kopf(settings: kopf.OperatorSettings) -> None:
    """Set kopf up as a shell that writes nothing by itself and never gives up a watch."""
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.peering.standalone = True
    # kopf removes its finalizer wherever it finds it; the default name is every kopf operator's.
    settings.persistence.finalizer = "dragoman.dev/never-set"
    settings.persistence.diffbase_storage = _NoDiffBase()
    settings.persistence.progress_storage = _NoProgress()
    settings.queueing.idle_timeout = 0.5
    settings.watching.chunk_size = 500
    settings.watching.server_timeout = 290
    settings.watching.inactivity_timeout = 70
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 5
    settings.networking.error_backoffs = EndlessBackoff()


def cancel_forgotten() -> None:
    """Cancel what kopf 1.45 forgets of a watch that is stopped in the middle: it waits for it.

    To be called when kopf's watches have ended, which is when its clean-up activities run. What
    the rest of such a watch complains about when the loop closes it is nobody's fault.
    """
    for task in asyncio.all_tasks():
        if task.get_name().startswith("pause-waiter for "):
            task.cancel()
            asyncio.get_running_loop().set_exception_handler(_mutter)


def _mutter(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    log.debug("Left behind by kopf", what=context.get("message"), error=context.get("exception"))


class _NoDiffBase(kopf.DiffBaseStorage):
    """Event handlers need no last-seen state, and copies of it are half of kopf's cost."""

    def build(self, **_: Any) -> Any:
        return {}

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        return None


class _NoProgress(kopf.ProgressStorage):
    """Event handlers have no progress to keep."""

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        return None

    def purge(self, **_: Any) -> None:
        return None

    def touch(self, **_: Any) -> None:
        return None

    def clear(self, *, essence: Any) -> Any:
        return essence

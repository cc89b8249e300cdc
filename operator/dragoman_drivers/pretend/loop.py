"""A step that is done again and again in a thread, as controllers do, until it is stopped."""

import logging
import threading
from collections.abc import Callable

from urllib3.exceptions import HTTPError

from dragoman_drivers.throwaway.api import ApiError

INTERVAL = 0.5
"""Seconds between two steps."""
log = logging.getLogger("dragoman_drivers.pretend")


class RetryLoop:
    """Repeat a step; one that fails is done again, and its error is logged once.

    Args:
        step: What is done.
        failure: What did not succeed, for the log.
        retried: Errors after which the step is done again; any other one is a fault of the step.
    """

    def __init__(
        self,
        step: Callable[[], None],
        failure: str,
        retried: tuple[type[Exception], ...] = (ApiError, HTTPError),
    ) -> None:
        self._step = step
        self._failure = failure
        self._retried = retried
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Do the step from now on."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Wait for the step that is being done, and do it no longer."""
        self._stopped.set()
        if self._thread:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        reported = ""
        while True:
            try:
                self._step()
                reported = ""
            except self._retried as error:
                if (text := str(error)) != reported:
                    log.warning("%s, retrying: %s", self._failure, text)
                reported = text
            if self._stopped.wait(INTERVAL):
                return

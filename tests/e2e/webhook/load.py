"""Requests without a pause, good ones and bad ones, each of them a dry run."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from tests.e2e.webhook.manifests import BAD, GOOD
from tests.support.controlplane.api import Api, ApiError, wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds import driverconfigs as worlds

Json = dict[str, Any]
PAUSE = 0.02


def claim(namespace: str, parameters: Json) -> Json:
    """Make a claim whose name the API server chooses."""
    made = worlds.claim(worlds.entry(parameters))
    return {**made, "metadata": {"generateName": "claim-", "namespace": namespace}}


class Load:
    """Creates objects without a pause from several threads, and counts the answers.

    Attributes:
        answers: Right answers: good claims that were `allowed`, bad ones that were `denied`.
        refused: What the API server said where it got no answer from the webhook.
        wrong: What it said where the answer was the opposite of the right one, or another error.
    """

    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self._plane = plane
        self._namespace = namespace
        self._stop = threading.Event()
        self.answers: Counter[str] = Counter()
        self.refused: list[str] = []
        self.wrong: list[str] = []

    @contextmanager
    def running(self, threads: int = 4) -> Iterator[Self]:
        """Ask until the block ends."""
        working = [threading.Thread(target=self._work) for _ in range(threads)]
        for thread in working:
            thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            for thread in working:
                thread.join()

    def astray(self) -> list[str]:
        """Return every answer that was not the right one."""
        return self.refused + self.wrong

    def goes_on(self, count: int = 50) -> None:
        """Wait for so many more right answers."""
        enough = self.answers.total() + count
        wait_for(lambda: self.answers.total() >= enough, 60, "no right answers any more")

    def recovers(self, count: int = 50) -> None:
        """Wait until so many answers in a row are right ones."""

        def in_a_row() -> bool:
            before = len(self.astray())
            self.goes_on(count)
            return len(self.astray()) == before

        wait_for(in_a_row, 60, "requests go astray all the time")

    def _work(self) -> None:
        api = self._plane.api()
        while not self._stop.wait(PAUSE):
            for parameters, expected in ((GOOD, "allowed"), (BAD, "denied")):
                seen = self._ask(api, parameters)
                if seen == expected:
                    self.answers[expected] += 1
                elif "failed calling webhook" in seen:
                    self.refused.append(seen)
                else:
                    self.wrong.append(f"{expected} was right, the answer was {seen}")

    def _ask(self, api: Api, parameters: Json) -> str:
        try:
            api.create(self._plane.served(claim(self._namespace, parameters)), dryRun="All")
        except ApiError as error:
            return "denied" if error.code == 422 else f"{error.code}: {error.message}"
        return "allowed"

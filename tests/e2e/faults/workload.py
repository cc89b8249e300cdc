"""Pods that come and go: with 1-3 claims, late templates, shared claims and claims of others."""

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self, TypeVar

from urllib3.exceptions import HTTPError

from tests.e2e.setup import ANNOTATION, NO_CLASS
from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError
from tests.support.controlplane.plane import ControlPlane

T = TypeVar("T")
FOREIGN = 4
SHARED = ("shared-0", "shared-1")
LATE = "late-"
"""How names of templates begin that are created after their pods."""
RETRIES = 200


class Workload:
    """Changes one namespace at random, step after step, in a thread of its own.

    It talks to the API server itself, not through any proxy, and tries again while that is down.

    Args:
        plane: Where.
        namespace: In which namespace.
        device_class: Of devices that exist.
        chance: What it does next.
        pause: Seconds between two steps.
        finishes: Whether pods also finish, and not only vanish.
        meddles: Whether there are claims that look generated and are not, and statuses that
            name them.
        grace: Seconds that a deleted pod has: with any, its kubelet must end it.

    Attributes:
        grace: As given.
        made: How many pods were created.
        steps: How many were done.
        foreign: The resourceVersions of claims that look generated and are nobody's, by name.
    """

    def __init__(
        self,
        plane: ControlPlane,
        namespace: str,
        device_class: str,
        chance: random.Random,
        pause: float = 0.04,
        *,
        finishes: bool = True,
        meddles: bool = True,
        grace: int = 0,
    ) -> None:
        self._plane = plane
        self._api = plane.api()
        self._namespace = namespace
        self._class = device_class
        self._chance = chance
        self._pause = pause
        self._finishes = finishes
        self._meddles = meddles
        self.grace = grace
        self.made = 0
        self._live: list[str] = []
        self._finished: list[str] = []
        self._late: list[tuple[int, str]] = []
        self.foreign: dict[str, str] = {}
        self._ending = threading.Event()
        self._error: BaseException | None = None
        self.steps = 0
        self._thread = threading.Thread(target=self._run, name="workload", daemon=True)

    def prepare(self) -> None:
        """Make the templates and the claims that pods share."""
        self._create(objects.template("devices", self._namespace, self._class))
        self._create(objects.template("nothing", self._namespace, NO_CLASS))
        for name in SHARED:
            self._create(objects.claim(name, self._namespace, self._class))

    def __enter__(self) -> Self:
        """Start."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop; templates that were to come late come now."""
        self._ending.set()
        self._thread.join(60)
        if self._error is not None:
            raise self._error

    def lasts(self, steps: int, timeout: float = 60) -> None:
        """Wait until so many more steps were done."""
        until, deadline = self.steps + steps, time.monotonic() + timeout
        while self.steps < until:
            assert time.monotonic() < deadline, "the workload is stuck"
            assert self._thread.is_alive(), "the workload has ended"
            time.sleep(0.02)

    def insist(self, action: Callable[[], T]) -> T | None:
        """Do it, again and again while the API server is away; None where the object is."""
        for _ in range(RETRIES):
            try:
                return action()
            except HTTPError:
                time.sleep(0.1)
            except ApiError as error:
                if error.code == 404:
                    return None
                if error.code < 500 and error.code not in {409, 429}:
                    raise
                time.sleep(0.1)
        raise TimeoutError("the API server does not come back")

    # Inner parts ------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._ending.wait(self._pause):
                self._step()
                self.steps += 1
            for _, name in self._late:
                self._make_template(name)
        except BaseException as error:  # noqa: BLE001 — raised by whoever waits for this thread
            self._error = error

    def _step(self) -> None:
        if self._late and self._late[0][0] <= self.steps:
            self._make_template(self._late.pop(0)[1])
        room = len(self._live) < 25
        actions: list[tuple[float, Callable[[], None]]] = [
            (6 if room else 1, self._make_pod),
            (3 if self._live and self._finishes else 0, self._finish),
            (2 if self._live else 0, lambda: self._delete(self._live)),
            (len(self._finished) / 4, lambda: self._delete(self._finished)),
            (1 if self._live else 0, self._replace),
            (1 if self._meddles and len(self.foreign) < FOREIGN else 0, self._make_foreign),
            (1 if self._live and self.foreign else 0, self._misname),
        ]
        weights = [weight for weight, _ in actions]
        self._chance.choices([action for _, action in actions], weights)[0]()

    def _make_pod(self, name: str = "") -> None:
        self.made += 1
        name = name or f"pod-{self.made}"
        templates: dict[str, str] = {}
        for number in range(self._chance.randint(1, 3)):
            templates[f"entry-{number}"] = self._some_template()
        claims = {"shared": self._chance.choice(SHARED)} if self._chance.random() < 0.3 else {}
        pod = objects.pod(name, self._namespace, templates=templates, claims=claims)
        pod["spec"]["terminationGracePeriodSeconds"] = self.grace
        self._create(pod)
        self._live.append(name)

    def _some_template(self) -> str:
        luck = self._chance.random()
        if luck < 0.1:
            name = f"{LATE}{self.made}"
            if all(name != late for _, late in self._late):
                self._late.append((self.steps + 15, name))
            return name
        return "devices" if luck < 0.6 else "nothing"

    def _make_template(self, name: str) -> None:
        self._create(objects.template(name, self._namespace, NO_CLASS))

    def _finish(self) -> None:
        name = self._take(self._live)
        phase = self._chance.choice(["Succeeded", "Failed"])
        self.insist(lambda: self._plane.finish_pod(self._namespace, name, phase))
        self._finished.append(name)

    def _delete(self, names: list[str]) -> None:
        name = self._take(names)
        self.insist(lambda: self._plane.delete_pod(self._namespace, name))

    def _replace(self) -> None:
        name = self._take(self._live)
        self.insist(lambda: self._plane.delete_pod(self._namespace, name))
        self._make_pod(name)

    def _make_foreign(self) -> None:
        """Make a claim as somebody else's controller might, for a pod that does not own it."""
        name = f"foreign-{len(self.foreign)}"
        manifest = objects.claim(name, self._namespace, NO_CLASS)
        manifest["metadata"]["annotations"] = {ANNOTATION: "entry-0"}
        self._create(manifest)
        version = self.insist(self._version_of(name))
        if version is not None:
            self.foreign[name] = version

    def _version_of(self, name: str) -> Callable[[], str]:
        def read() -> str:
            found = self._plane.api().get("resourceclaims", name, self._namespace)
            return str(found["metadata"]["resourceVersion"])

        return read

    def _misname(self) -> None:
        """Let a pod's status name a claim that is not its own."""
        name, foreign = self._chance.choice(self._live), self._chance.choice([*self.foreign])
        status = {"resourceClaimStatuses": [{"name": "entry-0", "resourceClaimName": foreign}]}
        self.insist(
            lambda: self._plane.api().patch(
                *("pods", name, self._namespace, {"status": status}),
                kind="strategic",
                subresource="status",
            )
        )

    def _take(self, names: list[str]) -> str:
        return names.pop(self._chance.randrange(len(names)))

    def _create(self, manifest: objects.Json) -> None:
        def once() -> None:
            with suppress(_AlreadyThereError):
                _create_once(self._plane, manifest)

        self.insist(once)


class _AlreadyThereError(Exception):
    """A creation that was answered late was done before."""


def _create_once(plane: ControlPlane, manifest: objects.Json) -> None:
    try:
        plane.api().create(plane.served(manifest))
    except ApiError as error:
        if error.reason == "AlreadyExists":
            raise _AlreadyThereError from error
        raise

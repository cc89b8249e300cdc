"""The kubelet that `dragoman conformance` pretends makes the calls of a real one, byte by byte."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from dragoman_drivers.kubeletplugin import client, messages, server
from dragoman_drivers.kubeletplugin.client import Endpoint, HealthStream
from dragoman_drivers.kubeletplugin.messages import ClaimReference
from dragoman_drivers.pretend.driver import RULES, Driver
from dragoman_drivers.throwaway.api import Api
from tests.e2e.node.setup import NodeSetup
from tests.support import manifests as objects
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.node.node import Node
from tests.support.controlplane.plane import ControlPlane

pytestmark = [pytest.mark.node, pytest.mark.slow]
NAME = "calls.example.com"
Call = tuple[str, str, bytes]
"""Service, method and encoded request."""


class Recorded(Driver):
    """A driver that keeps what it is asked, in order."""

    def __init__(self, api: Api, kubelet: Path, specs: Path, node: str) -> None:
        self.calls: list[Call] = []
        self.watches: list[str] = []
        super().__init__(api, kubelet, specs, node=node, devices=1, name=NAME)

    def services(self) -> Mapping[str, Mapping[str, server.Unary]]:
        return self._recorded(super().services())

    def registrar(self) -> Mapping[str, Mapping[str, server.Unary]]:
        return self._recorded(super().registrar())

    def streams(self) -> Mapping[str, Mapping[str, server.Stream]]:
        def watched(service: str, method: server.Stream) -> server.Stream:
            def answer() -> Iterable[bytes]:
                self.watches.append(service)
                return method()

            return answer

        return {
            service: {name: watched(service, method) for name, method in methods.items()}
            for service, methods in super().streams().items()
        }

    def _recorded(
        self, services: Mapping[str, Mapping[str, server.Unary]]
    ) -> Mapping[str, Mapping[str, server.Unary]]:
        def recorded(service: str, name: str, method: server.Unary) -> server.Unary:
            def answer(request: bytes, alive: server.Alive) -> bytes:
                self.calls.append((service, name, request))
                return method(request, alive)

            return answer

        return {
            service: {name: recorded(service, name, method) for name, method in methods.items()}
            for service, methods in services.items()
        }

    def count(self, method: str) -> int:
        """Return how often a method was called."""
        return sum(name == method for _, name, _ in self.calls)

    def called(self, method: str, times: int) -> None:
        """Wait until a method was called so often."""
        wait_for(lambda: self.count(method) == times, 60, f"call {times} of {method}")


@pytest.fixture
def recorded(plane: ControlPlane, node: Node) -> Iterator[Recorded]:
    """Run a driver of its own on the node, and have a class of its device."""
    plane.api().create(plane.served(objects.device_class("calls", NAME)))
    account = plane.user("calls", RULES)
    places = node.places
    with Recorded(plane.api(account), places.kubelet, places.cdi, node.name) as running:
        yield running
    plane.api().delete("deviceclasses", "calls")


def test_the_pretended_kubelet_makes_the_calls_of_the_real_one(
    setup: NodeSetup, recorded: Recorded
) -> None:
    first, second = (claim(setup, name) for name in ("one", "two"))
    recorded.called(messages.NOTIFY, 1)
    wait_for(recorded.published, 60, "the slices")
    pod(setup, "one", "one")
    recorded.called(messages.PREPARE, 1)
    setup.until("one")
    setup.node.restart_kubelet()
    recorded.called(messages.NOTIFY, 2)
    pod(setup, "again", "one")  # a kubelet that was restarted prepares the claim again
    recorded.called(messages.PREPARE, 2)
    setup.until("again")
    for name in ("one", "again"):
        setup.delete(name)
    recorded.called(messages.UNPREPARE, 1)
    setup.gone("one", "again")
    pod(setup, "two", "two")
    recorded.called(messages.PREPARE, 3)
    setup.until("two")
    setup.delete("two", gracePeriodSeconds=0)
    recorded.called(messages.UNPREPARE, 2)
    wait_for(lambda: recorded.watches, 60, "a health stream")
    wanted = pretended(setup, reference(first), reference(second))
    assert recorded.calls == wanted
    assert {*recorded.watches} <= {messages.HEALTH, messages.HEALTH_V1}


def pretended(setup: NodeSetup, first: ClaimReference, second: ClaimReference) -> list[Call]:
    """Return the calls that the pretended kubelet makes in the same story."""
    with (
        tempfile.TemporaryDirectory(prefix="calls-") as folder,  # paths of sockets are short
        Recorded(setup.api, Path(folder) / "k", Path(folder) / "cdi", setup.node.name) as driver,
    ):
        endpoint = Endpoint(driver.endpoint)

        def register() -> None:
            client.info(driver.registration, 10)
            client.notify(driver.registration, timeout=10)

        def prepare(one: ClaimReference) -> Callable[[], object]:
            return lambda: endpoint.prepare([one])

        def unprepare(one: ClaimReference) -> Callable[[], object]:
            return lambda: endpoint.unprepare([one])

        story = [
            register,
            prepare(first),
            *(register, prepare(first)),  # the kubelet restarts
            unprepare(first),
            prepare(second),
            unprepare(second),  # its pod is deleted by force
        ]
        for step in story:
            step()
        HealthStream(driver.endpoint).close()
        return [*driver.calls]


def claim(setup: NodeSetup, name: str) -> Json:
    """Create a claim for the recorded driver's device."""
    return setup.api.create(setup.plane.served(objects.claim(name, setup.namespace, "calls")))


def pod(setup: NodeSetup, name: str, claim: str) -> None:
    """Create a pod that uses a claim."""
    setup.pod(name, claims={"gpu": claim}, terminationGracePeriodSeconds=1)


def reference(made: Json) -> ClaimReference:
    """Return a claim as the kubelet names it."""
    meta = made["metadata"]
    return ClaimReference(meta["namespace"], meta["uid"], meta["name"])

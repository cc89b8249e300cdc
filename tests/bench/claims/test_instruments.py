"""The benchmark's instruments: what they see, delay and count is what happens."""

import os
import time

import pytest

from tests.bench.claims import objects
from tests.bench.claims.meter import Since, memory
from tests.bench.claims.observer import ClaimWatch, PodWatch
from tests.bench.claims.proxy import Proxy
from tests.bench.claims.traffic import Server, send
from tests.support import manifests
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane

DELAY = 4.0


@pytest.fixture
def server(plane: ControlPlane) -> Server:
    user = plane.user("bench", groups=("system:masters",))
    return Server(plane.server, plane.credentials.authority.certificate, user.token)


def test_the_watch_sees_pods_come_and_their_claims_published(
    plane: ControlPlane, namespace: str, server: Server
) -> None:
    with PodWatch(server, namespace, entries=2) as watch:
        assert send(server, objects.create_pods(namespace, 3, entries=2)) == 3
        wait_for(lambda: len(watch.created) == 3)
        pod = plane.api().get("pods", "pod-00001", namespace)
        claims = [
            objects.claim_of(pod, entry, manifests.claim_spec("gpu"))
            for entry in ("entry-0", "entry-1")
        ]
        send(server, [objects.publish(pod, claims[:1])])
        wait_for(lambda: watch.events["MODIFIED"])
        assert not watch.published, "one of two claims is not enough"
        send(server, [objects.publish(pod, claims)])
        wait_for(lambda: watch.published)
        assert list(watch.published) == ["pod-00001"]
        send(server, objects.finish_pods(namespace, 1))
        wait_for(lambda: list(watch.finished) == ["pod-00000"])
        watch.check()


def test_the_proxy_delays_watches_of_claims_and_nothing_else(
    plane: ControlPlane, namespace: str, server: Server
) -> None:
    with Proxy(plane, objects.CLAIMS, DELAY) as proxy:
        behind = Server(proxy.url, server.authority, server.token)
        with ClaimWatch(server, namespace) as direct, ClaimWatch(behind, namespace) as late:
            began = time.monotonic()
            send(behind, objects.create_pods(namespace, 1))
            pod = plane.api().get("pods", "pod-00000", namespace)
            claim = objects.claim_of(pod, "entry-0", manifests.claim_spec("gpu"))
            send(behind, [objects.create_claim(claim)])
            wait_for(lambda: direct.events["ADDED"])
            assert time.monotonic() - began > DELAY or not late.events["ADDED"]
            wait_for(lambda: late.events["ADDED"], timeout=DELAY + 30)
            assert late.last - direct.last > DELAY / 2
    assert proxy.delayed


def test_a_stopwatch_counts_from_its_start_and_survives_the_end_of_a_process() -> None:
    clock = Since(own=os.getpid(), absent=None, ended=2**22 + 1)
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    used = clock.read()
    assert sorted(used) == ["ended", "own"]
    assert 0.05 < used["own"] < 10
    assert used["ended"] == 0.0
    assert memory(os.getpid())["VmHWM"] >= memory(os.getpid())["VmRSS"] > 1

"""Probes and scrapes over HTTP on loopback."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Counter

from dragoman.metrics import REGISTRY
from dragoman.process.health import HealthServer, MetricsPage
from dragoman.settings import Address


@dataclass
class Patient:
    """An operator that says of itself how it is.

    Attributes:
        live: Its fault, or None.
        ready: Why it is not ready, or None.
    """

    live: str | None = None
    ready: str | None = None


@asynccontextmanager
async def asked(patient: Patient, *registries: CollectorRegistry) -> AsyncIterator[str]:
    """Serve; gives the URL."""
    server = HealthServer(
        "127.0.0.1:0",
        live=lambda: patient.live,
        ready=lambda: patient.ready,
        registries=registries,
    )
    address = await server.start()
    try:
        yield f"http://{address}"
    finally:
        await server.stop()


async def got(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as http, http.get(url) as response:
        return response.status, await response.text()


@pytest.mark.parametrize("path", ["livez", "healthz", "readyz"])
async def test_all_is_well(path: str) -> None:
    async with asked(Patient()) as url:
        assert await got(f"{url}/{path}") == (200, "ok")


@pytest.mark.parametrize(
    ("patient", "path", "answer"),
    [
        (Patient(live="stuck"), "livez", (503, "stuck")),
        (Patient(live="stuck"), "healthz", (503, "stuck")),
        (Patient(live="stuck"), "readyz", (200, "ok")),
        (Patient(ready="not listed"), "readyz", (503, "not listed")),
        (Patient(ready="not listed"), "livez", (200, "ok")),
    ],
)
async def test_a_probe_says_what_is_wrong_of_its_own_matter(
    patient: Patient, path: str, answer: tuple[int, str]
) -> None:
    async with asked(patient) as url:
        assert await got(f"{url}/{path}") == answer


async def test_probes_are_answered_anew_each_time() -> None:
    patient = Patient(ready="not listed")
    async with asked(patient) as url:
        before = await got(f"{url}/readyz")
        patient.ready = None
        assert (before, await got(f"{url}/readyz")) == ((503, "not listed"), (200, "ok"))


async def test_metrics_of_all_registries_are_one_page() -> None:
    other = CollectorRegistry()
    Counter("of_somebody_else", "Something.", registry=other).inc(3)
    async with asked(Patient(), REGISTRY, other) as url:
        status, text = await got(f"{url}/metrics")
    assert status == 200
    assert "of_somebody_else_total 3.0" in text
    assert "workqueue_adds_total" in text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("HEAD", "livez", 200), ("GET", "livez?verbose=1", 200), ("POST", "livez", 405)],
)
async def test_methods_and_queries(method: str, path: str, status: int) -> None:
    async with (
        asked(Patient()) as url,
        aiohttp.ClientSession() as http,
        http.request(method, f"{url}/{path}") as response,
    ):
        assert response.status == status
        assert (await response.text() == "") is (method == "HEAD")


async def test_nothing_else_is_served() -> None:
    async with asked(Patient()) as url:
        assert (await got(f"{url}/debug"))[0] == 404


def test_the_page_of_metrics_is_built_once_a_second() -> None:
    now = 100.0
    registry = CollectorRegistry()
    counter = Counter("things", "Something.", registry=registry)
    page = MetricsPage((registry,), clock=lambda: now)
    assert b"things_total 0.0" in page.read()
    counter.inc()
    now = 100.9
    assert b"things_total 0.0" in page.read()
    now = 101.0
    assert b"things_total 1.0" in page.read()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        (":8080", ("", 8080)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:8080", ("::1", 8080)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    "text", ["localhost", "8080", "", "localhost:", "localhost:http", "1.2.3.4:65536", "::1:8080"]
)
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="expected HOST:PORT, as 127") as error:
        Address.parse(text)
    assert repr(text) in str(error.value)

"""Admission reviews as an API server sends them, and a webhook to send them to."""

import io
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from dragoman.driverconfigs.registry import Registry
from dragoman_webhooks.server import PATH, Limits, WebhookServer
from tests.unit.driverconfigs import builders as worlds

Json = dict[str, Any]
REGISTRY = worlds.registry(worlds.schema(worlds.config({"level": {"type": "integer"}})))
GOOD = {**worlds.KIND, "level": 1}
BAD = {**worlds.KIND, "level": "high"}
PLURALS = {
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "DeviceClass": "deviceclasses",
    "DriverConfigSchema": "driverconfigschemas",
}


def review(
    document: Json | None, operation: str = "CREATE", old: Json | None = None, **request: Any
) -> Json:
    """Make an AdmissionReview."""
    group, _, version = str((document or old or {})["apiVersion"]).partition("/")
    kind = (document or old or {})["kind"]
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "0a1b",
            "kind": {"group": group, "version": version, "kind": kind},
            "resource": {"group": group, "version": version, "resource": PLURALS[kind]},
            "operation": operation,
            "userInfo": {"username": "user"},
            "object": document,
            "oldObject": old,
            **request,
        },
    }


def claim(parameters: Any = None) -> Json:
    """Make a claim with one config entry."""
    return worlds.claim(worlds.entry(GOOD if parameters is None else parameters))


def written(parameters: str) -> bytes:
    """Make a review of a claim whose parameters are written literally so."""
    return json.dumps(review(claim("@"))).replace('"@"', parameters).encode()


@dataclass
class Client:
    """Sends requests to one webhook.

    Attributes:
        url: Where it listens.
        session: Carries the requests.
    """

    url: str
    session: aiohttp.ClientSession

    async def post(self, body: Any, path: str = PATH, **headers: str) -> tuple[int, str]:
        """POST a body, bytes as they are; returns status and text."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Content-Type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        async with self.session.post(
            self.url + path, data=io.BytesIO(content), headers=given
        ) as response:
            return response.status, await response.text()

    async def reviewed(self, body: Any) -> Json:
        """POST a review that must be answered; returns the response in it."""
        status, text = await self.post(body)
        assert status == 200, text
        answer = json.loads(text)
        assert answer["kind"] == "AdmissionReview"
        assert answer["response"]["uid"] == "0a1b"
        response: Json = answer["response"]
        return response


@asynccontextmanager
async def serving(
    registry: Registry = REGISTRY,
    limits: Limits | None = None,
    ready: Callable[[], str | None] = lambda: None,
    **tls: Any,
) -> AsyncIterator[Client]:
    """Run a webhook on loopback, over plain HTTP."""
    server = WebhookServer(lambda: registry, ready, tls=tls.get("tls"), limits=limits)
    host, port = await server.start("127.0.0.1", 0)
    scheme = "https" if tls else "http"
    try:
        async with aiohttp.ClientSession() as session:
            yield Client(f"{scheme}://{host}:{port}", session)
    finally:
        await server.stop()


def field(response: Mapping[str, Any]) -> str:
    """Return the first path that a refusal names."""
    return str(response["status"]["details"]["causes"][0]["field"])

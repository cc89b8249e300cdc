"""Admission reviews as an API server sends them, HTTP requests, and certificates."""

import json
import ssl
from datetime import UTC, datetime, timedelta
from typing import Any

from dragoman_webhooks.server import PATH
from dragoman_webhooks.tls.authority import issue, new_ca
from dragoman_webhooks.tls.files import serve, server_context
from dragoman_webhooks.tls.rotation import KeyPair
from tests.support.worlds import driverconfigs as worlds

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


BODY = json.dumps(review(claim())).encode()
DENIED = json.dumps(review(claim(BAD))).encode()


def post(body: bytes = BODY, *headers: str, version: str = "1.1") -> bytes:
    """Write a request."""
    lines = [f"POST {PATH} HTTP/{version}", "Host: x", "Content-Type: application/json", *headers]
    if not any(header.lower().startswith("transfer-encoding") for header in headers):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def certified() -> tuple[ssl.SSLContext, KeyPair]:
    """Make the server's side of TLS, and the CA that clients trust."""
    now = datetime.now(UTC)
    ca = new_ca(now, timedelta(days=2))
    serving = issue(ca, frozenset({"127.0.0.1"}), now, timedelta(days=1))
    context = server_context()
    serve(context, serving.certificate.pem, serving.key)
    return context, ca

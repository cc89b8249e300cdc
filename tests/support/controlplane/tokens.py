"""Bearer tokens for users of any name and group, made while the API server runs.

The API server's token file is read once, at its start. An OpenID Connect issuer beside it has
no such limit: the server fetches the issuer's public key once and then accepts every
token that the key signs, whatever the user, its groups and the token's lifetime. Where the server
lives in a network of its own, so does the issuer's socket.
"""

import base64
import http.server
import json
import ssl
import threading
import time
from collections.abc import Sequence
from typing import Any, Self

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from tests.support.controlplane.certificates import Authority
from tests.support.controlplane.network import Place

AUDIENCE = "control-plane"
DAY = 24 * 3600
DOCUMENT, KEYS = "/.well-known/openid-configuration", "/keys"


class Issuer:
    """Sign tokens and serve the public key that proves them."""

    def __init__(self, authority: Authority, port: int, place: Place) -> None:
        where = (place.address, port)
        self.url = f"https://{place.address}:{port}"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._server = place.inside(lambda: http.server.ThreadingHTTPServer(where, self._handler()))
        pair = authority.serving("issuer", (place.address,))
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.certificate, pair.key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        """Serve the discovery document and the key."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving; tokens stay valid as long as the API server remembers the key."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def token(self, user: str, groups: Sequence[str] = (), lifetime: float = DAY) -> str:
        """Return a token that names the user and its groups for `lifetime` seconds."""
        now = int(time.time())
        claims = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": user,
            "groups": list(groups),
            "iat": now,
            "exp": now + int(lifetime),
        }
        body = f"{encoded({'alg': 'ES256', 'kid': 'only'})}.{encoded(claims)}"
        r, s = decode_dss_signature(self._key.sign(body.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{body}.{base64url(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    def _documents(self) -> dict[str, dict[str, Any]]:
        point = self._key.public_key().public_numbers()
        coordinates = {
            axis: base64url(value.to_bytes(32, "big"))
            for axis, value in (("x", point.x), ("y", point.y))
        }
        key = {"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "only"}
        return {
            DOCUMENT: {
                "issuer": self.url,
                "jwks_uri": f"{self.url}{KEYS}",
                "response_types_supported": ["id_token"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256"],
            },
            KEYS: {"keys": [key | coordinates]},
        }

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        documents = self._documents()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                document = documents.get(self.path)
                body = json.dumps(document).encode()
                self.send_response(200 if document else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Stay silent: the API server's log tells what went wrong."""

        return Handler


def encoded(document: dict[str, Any]) -> str:
    """Return a JSON document as one part of a token."""
    return base64url(json.dumps(document).encode())


def base64url(raw: bytes) -> str:
    """Return unpadded URL-safe base64."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

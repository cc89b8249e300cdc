"""Replicas race for the Secret: who planned from an old one must not overwrite a newer one."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast

import pytest

from dragoman.controllers.webhook import certificates
from dragoman.controllers.webhook.certificates import Home, SelfSigned
from dragoman.kube.client import Client
from dragoman.kube.errors import ApiError
from dragoman_webhooks.tls.authority import carry_out, write_secret
from dragoman_webhooks.tls.rotation import Action, Keys, Lifetimes

Json = dict[str, Any]
HOSTS = frozenset({"127.0.0.1"})


def secret(version: int, **data: str) -> Json:
    metadata = {"name": "tls", "namespace": "ns", "uid": "u", "resourceVersion": str(version)}
    return {"metadata": metadata, "data": data}


class Server:
    """Holds one Secret and no webhook configuration, and checks resourceVersions."""

    def __init__(self) -> None:
        self.stored = secret(1)

    async def get(self, path: str, **_: str) -> Json:
        if "secrets" not in path:
            raise ApiError(404, "NotFound", path)
        return self.stored

    async def put(self, _: str, body: Mapping[str, Any]) -> Json:
        version = self.stored["metadata"]["resourceVersion"]
        if body["metadata"]["resourceVersion"] != version:
            raise ApiError(409, "Conflict", "modified")
        self.stored = secret(int(version) + 1, **body["data"])
        return self.stored


async def test_a_secret_that_another_replica_fills_meanwhile_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = Server()
    lifetimes = Lifetimes.of(timedelta(days=90))
    kept = SelfSigned(cast(Client, server), Home("ns", "tls", "dragoman"), HOSTS, lifetimes)
    others: list[Json] = []

    def slow(action: Action, keys: Keys, *rest: Any) -> Keys:
        made = carry_out(action, keys, *rest)
        if not others:
            others.append(secret(2, **write_secret(carry_out(action, keys, *rest))))
            server.stored = others[0]
            kept._secret.put(others[0])  # the watch is faster than the key is made
        return made

    monkeypatch.setattr(certificates, "carry_out", slow)
    await kept._secret.read()
    await kept._configuration.read()
    await kept._act()
    assert server.stored == others[0]
    assert kept.unready() is None


async def test_an_empty_secret_is_filled_and_served() -> None:
    server = Server()
    lifetimes = Lifetimes.of(timedelta(days=90))
    kept = SelfSigned(cast(Client, server), Home("ns", "tls", "dragoman"), HOSTS, lifetimes)
    assert kept.unready() is not None
    await kept._secret.read()
    await kept._configuration.read()
    await kept._act()
    assert {"ca.crt", "ca.key", "tls.crt", "tls.key"} == server.stored["data"].keys()
    assert kept.unready() is None

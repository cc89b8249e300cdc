"""Replicas race for the Secret: who planned from an old one must not overwrite a newer one."""

from datetime import timedelta
from typing import Any, cast

import pytest

from dragoman.controllers.webhook import certificates
from dragoman.controllers.webhook.certificates import Home, SelfSigned
from dragoman.kube.client import Client
from dragoman_webhooks.tls.authority import carry_out, write_secret
from dragoman_webhooks.tls.rotation import Action, Keys, Lifetimes
from tests.support.apiserver import ApiServer

Json = dict[str, Any]
HOSTS = frozenset({"127.0.0.1"})


def secret(**data: str) -> Json:
    return {"metadata": {"name": "tls", "namespace": "ns", "uid": "u"}, "data": data}


def server_of() -> ApiServer:
    """Return a server that has one empty Secret and no webhook configuration."""
    server = ApiServer()
    server.store({"kind": "Secret", **secret()})
    return server


async def test_a_secret_that_another_replica_fills_meanwhile_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = server_of()
    lifetimes = Lifetimes.of(timedelta(days=90))
    kept = SelfSigned(cast(Client, server), Home("ns", "tls", "dragoman"), HOSTS, lifetimes)
    others: list[Json] = []

    def slow(action: Action, keys: Keys, *rest: Any) -> Keys:
        made = carry_out(action, keys, *rest)
        if not others:
            filled = secret(**write_secret(carry_out(action, keys, *rest)))
            others.append(server.store({"kind": "Secret", **filled}))
            kept._secret.put(others[0])  # the watch is faster than the key is made
        return made

    monkeypatch.setattr(certificates, "carry_out", slow)
    await kept._secret.read()
    await kept._configuration.read()
    await kept._act()
    assert server.of("secrets") == others
    assert kept.unready() is None


async def test_an_empty_secret_is_filled_and_served() -> None:
    server = server_of()
    lifetimes = Lifetimes.of(timedelta(days=90))
    kept = SelfSigned(cast(Client, server), Home("ns", "tls", "dragoman"), HOSTS, lifetimes)
    assert kept.unready() is not None
    await kept._secret.read()
    await kept._configuration.read()
    await kept._act()
    (filled,) = server.of("secrets")
    assert {"ca.crt", "ca.key", "tls.crt", "tls.key"} == filled["data"].keys()
    assert kept.unready() is None

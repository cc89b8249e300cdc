"""Credentials out of kubeconfig files as people have them, while they change or fail."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman import surroundings
from dragoman.kube import kubeconfig as module
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.kubeconfig import (
    ConnectionSettingsError,
    Credentials,
    CredentialsUnavailableError,
)
from tests.unit.dragoman.kube.virtual_time import Clock

Json = dict[str, Any]


def kubeconfig(folder: Path, user: Json, **cluster: Any) -> Path:
    """Write a kubeconfig with one context; returns its path."""
    path = folder / "config"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


def plugin(folder: Path) -> Json:
    """Return an exec plugin that gives out what is in the file `given`, and fails without it."""
    script = folder / "plugin"
    given = folder / "given"
    script.write_text(f"#!/bin/sh\nexec cat {given}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": str(script),
            "interactiveMode": "Never",
        }
    }


def give(folder: Path, token: str) -> None:
    """Let the plugin give out a token that has expired already, so that each asks anew."""
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": token, "expirationTimestamp": "2020-01-01T00:00:00Z"},
    }
    (folder / "given").write_text(json.dumps(credential))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give credentials a clock of the test's."""
    clock = Clock()
    monkeypatch.setattr(surroundings, "monotonic", clock)
    return clock


@pytest.mark.parametrize(
    ("user", "header"),
    [
        ({"token": "secret"}, "Bearer secret"),
        ({"username": "me", "password": "secret"}, "Basic bWU6c2VjcmV0"),
    ],
    ids=["a token", "a name and a password"],
)
async def test_what_a_user_has_goes_into_the_header(
    tmp_path: Path, user: Json, header: str
) -> None:
    assert (
        await Credentials(ConnectionOptions(kubeconfig(tmp_path, user))).authorization() == header
    )
    # On a port of this machine any of its users may listen, where `kubectl proxy` was.
    proxy = kubeconfig(tmp_path, user, server="http://127.0.0.1:8001")
    assert await Credentials(ConnectionOptions(proxy)).authorization() is None


async def test_nobody_asks_a_server_with_tls(tmp_path: Path) -> None:
    with pytest.raises(CredentialsUnavailableError, match="kubectl would ask for a name"):
        await Credentials(ConnectionOptions(kubeconfig(tmp_path, {}))).authorization()


async def test_a_token_file_is_read_again_after_half_a_minute(tmp_path: Path, clock: Clock) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    credentials = Credentials(ConnectionOptions(kubeconfig(tmp_path, {"tokenFile": str(token)})))
    assert await credentials.authorization() == "Bearer first"
    token.write_text("second")
    await credentials.renew()
    assert await credentials.authorization() == "Bearer second"
    token.write_text("third")
    await credentials.renew()
    assert await credentials.authorization() == "Bearer second", "once a second is enough"
    clock.seconds += 2.0
    await credentials.renew()
    assert await credentials.authorization() == "Bearer third"


async def test_a_token_file_that_is_missing_for_a_moment_costs_nothing(
    tmp_path: Path, clock: Clock
) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    credentials = Credentials(ConnectionOptions(kubeconfig(tmp_path, {"tokenFile": str(token)})))
    await credentials.authorization()
    token.unlink()
    clock.seconds += 2.0
    await credentials.renew()
    assert await credentials.authorization() == "Bearer first"
    token.write_text("second")
    clock.seconds += 2.0
    await credentials.renew()
    assert await credentials.authorization() == "Bearer second"


async def test_an_exec_plugin_is_asked_again_when_its_token_has_expired(
    tmp_path: Path, clock: Clock
) -> None:
    give(tmp_path, "first")
    credentials = Credentials(ConnectionOptions(kubeconfig(tmp_path, plugin(tmp_path))))
    assert await credentials.authorization() == "Bearer first"
    give(tmp_path, "second")
    assert await credentials.authorization() == "Bearer first"
    clock.seconds += module.REFRESH_INTERVAL + 1
    assert await credentials.authorization() == "Bearer second"
    give(tmp_path, "third")
    await credentials.renew()
    assert await credentials.authorization() == "Bearer third"


async def test_an_exec_plugin_that_fails_leaves_the_token_it_gave_before(
    tmp_path: Path, clock: Clock
) -> None:
    give(tmp_path, "first")
    credentials = Credentials(ConnectionOptions(kubeconfig(tmp_path, plugin(tmp_path))))
    await credentials.authorization()
    (tmp_path / "given").unlink()
    clock.seconds += module.REFRESH_INTERVAL + 1
    assert await credentials.authorization() == "Bearer first"
    clock.seconds += 2.0
    await credentials.renew()
    assert await credentials.authorization() == "Bearer first"


async def test_before_there_was_any_token_a_fault_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials = Credentials(ConnectionOptions(kubeconfig(tmp_path, {"token": "secret"})))

    def fail(_: Credentials) -> None:
        raise OSError("no such device")

    monkeypatch.setattr(Credentials, "_current", fail)
    with pytest.raises(CredentialsUnavailableError, match="no such device"):
        await credentials.authorization()


FOR_ANOTHER = {
    "token": "secret",
    "as": "jane@example.com",
    "as-uid": "a-1",
    "as-groups": ["one", "two"],
    "as-user-extra": {"100%": ["c"], "example.com/reason": ["a", "b"]},
}


def test_for_whom_a_user_acts_goes_into_headers(tmp_path: Path) -> None:
    assert Credentials(ConnectionOptions(kubeconfig(tmp_path, FOR_ANOTHER))).impersonation == (
        ("Impersonate-User", "jane@example.com"),
        ("Impersonate-Uid", "a-1"),
        ("Impersonate-Group", "one"),
        ("Impersonate-Group", "two"),
        ("Impersonate-Extra-100%25", "c"),
        ("Impersonate-Extra-example.com%2Freason", "a"),
        ("Impersonate-Extra-example.com%2Freason", "b"),
    )


@pytest.mark.parametrize("user", [{}, {"as": ""}, {"as": None, "as-groups": []}])
def test_who_acts_for_nobody_else_says_nothing_of_it(tmp_path: Path, user: Json) -> None:
    assert Credentials(ConnectionOptions(kubeconfig(tmp_path, user))).impersonation == ()


@pytest.mark.parametrize(
    ("user", "field"),
    [
        pytest.param({"as": 1}, "as: expected a string", id="a number"),
        pytest.param({"as": "a\r\nX: y"}, "as: expected a string of printable", id="a line's end"),
        pytest.param({"as": "a", "as-groups": "b"}, "as-groups: expected a list", id="no list"),
        pytest.param({"as": "a", "as-groups": [None]}, "as-groups: expected a string", id="null"),
        pytest.param({"as": "a", "as-user-extra": ["b"]}, "as-user-extra: expected", id="a list"),
        pytest.param(
            {"as": "a", "as-user-extra": {"b": "c"}}, r"as-user-extra\[b\]: expected", id="a text"
        ),
    ],
)
def test_whom_nobody_can_act_for_is_refused_by_the_field(
    tmp_path: Path, user: Json, field: str
) -> None:
    with pytest.raises(ConnectionSettingsError, match=rf"users\[\]\.user\.{field}"):
        Credentials(ConnectionOptions(kubeconfig(tmp_path, user)))


def test_no_kubeconfig_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConnectionSettingsError, match=r"nowhere: No such file or directory"):
        Credentials(ConnectionOptions(tmp_path / "nowhere"))


def test_a_context_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConnectionSettingsError, match="elsewhere"):
        Credentials(ConnectionOptions(kubeconfig(tmp_path, {}), "elsewhere"))


def test_a_proxy_of_the_environment_is_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example.com:3128")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example.com:3128")
    assert Credentials(ConnectionOptions(kubeconfig(tmp_path, {}))).server == "https://127.0.0.1:1"


def test_inside_a_pod_kubeconfig_of_the_environment_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("of the pod")
    monkeypatch.setattr(module, "SERVICE_ACCOUNT_TOKEN", tmp_path / "token")
    path = str(kubeconfig(tmp_path, {}))
    monkeypatch.setenv("KUBECONFIG", path)
    assert Credentials().server == "https://127.0.0.1:1"

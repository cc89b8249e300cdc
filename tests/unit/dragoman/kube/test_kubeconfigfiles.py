"""Kubeconfig files as kubectl merges and refuses them, and exec plugins, without its libraries."""

import base64
import json
import os
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.kube import kubeconfig
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.credentials.files import (
    ConnectionSettingsError,
    connection,
    content,
    load,
)
from dragoman.kube.kubeconfig import Credentials, CredentialsUnavailableError, namespace

Json = dict[str, Any]
V1 = "client.authentication.k8s.io/v1"


def write(path: Path, current: str | None, **entries: Json) -> Path:
    """Write a kubeconfig; entries are `contexts`, `clusters` and `users` by name."""
    fields = {"contexts": "context", "clusters": "cluster", "users": "user"}
    document: Json = {
        plural: [{"name": name, fields[plural]: one} for name, one in found.items()]
        for plural, found in entries.items()
    }
    path.write_text(
        yaml.safe_dump({**document, **({"current-context": current} if current else {})})
    )
    return path


def simple(folder: Path, user: Json | None = None, **cluster: Any) -> Path:
    return write(
        folder / "config",
        "here",
        contexts={"here": {"cluster": "c", "user": "u", "namespace": "ml"}},
        clusters={"c": {"server": "https://127.0.0.1:1", **cluster}},
        users={"u": user or {}},
    )


def test_of_several_files_the_first_that_says_something_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write(tmp_path / "a", None, clusters={"c": {"server": "https://first"}})
    second = write(
        tmp_path / "b",
        "two",
        clusters={"c": {"server": "https://second"}, "d": {"server": "https://d"}},
        contexts={"two": {"cluster": "c"}},
    )
    third = write(tmp_path / "c", "three", contexts={"three": {"cluster": "d"}})
    named = [tmp_path / "missing", first, second, third]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, named)))
    config = load(None)
    assert config.current == "two"
    assert connection(config, ConnectionOptions()).cluster["server"] == "https://first"
    assert connection(config, ConnectionOptions(context="three")).cluster["server"] == "https://d"


def test_paths_start_at_the_folder_of_their_file(tmp_path: Path) -> None:
    folder = tmp_path / "kube"
    folder.mkdir()
    (folder / "token").write_text(" secret \n")
    path = simple(folder, {"tokenFile": "token", "exec": {"command": "./plugin"}})
    user = connection(load(path), ConnectionOptions()).user
    assert user["tokenFile"] == str(folder / "token")
    assert user["exec"]["command"] == str(folder / "./plugin")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (ConnectionOptions(context="nope"), 'context "nope" does not exist'),
        (ConnectionOptions(context="her"), 'context "her" does not exist; did you mean here?'),
        (ConnectionOptions(cluster="nope"), 'cluster "nope" does not exist'),
        (ConnectionOptions(user="nope"), 'auth info "nope" does not exist'),
    ],
)
def test_what_does_not_exist_is_said_in_kubectls_words(
    tmp_path: Path, choice: ConnectionOptions, message: str
) -> None:
    with pytest.raises(ConnectionSettingsError, match=message.replace("?", r"\?")):
        connection(load(simple(tmp_path)), choice)


def test_without_a_current_context_the_others_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "config", None, contexts={"a": {}, "b": {}})
    with pytest.raises(ConnectionSettingsError, match=r"current-context is not set; .*: a, b"):
        Credentials(ConnectionOptions(path))


def test_a_variable_that_names_no_file_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, other = tmp_path / "gone", tmp_path / "other"
    monkeypatch.setenv("KUBECONFIG", f"{gone}{os.pathsep}{other}")
    with pytest.raises(ConnectionSettingsError) as nothing:
        Credentials(ConnectionOptions())
    assert str(nothing.value) == f"{gone}, {other} ($KUBECONFIG): no such file"
    with pytest.raises(ConnectionSettingsError) as named:
        Credentials(ConnectionOptions(context="here"))
    assert str(named.value).endswith(f"does not exist; {nothing.value}")
    write(other, "here", contexts={"here": {"cluster": "c"}})
    with pytest.raises(ConnectionSettingsError) as near:
        Credentials(ConnectionOptions(context="her"))
    assert f"{gone} ($KUBECONFIG): no such file; did you mean here?" in str(near.value)


def test_the_file_of_the_home_folder_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConnectionSettingsError) as error:
        connection(load(None), ConnectionOptions())
    assert str(error.value) == f"{tmp_path}/.kube/config: no such file"


BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
)
"""Ten lines that stand for 10⁹ values."""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clusters: [", "config"),
        ("clusters: [" * 100_000, "nested deeper than 254 levels"),
        ("{a: " * 60_000, "nested deeper than 254 levels"),
        (BOMB, "more than 100000 values"),
        ("- a", "the file: expected an object"),
        ("clusters: {}", "current-context is not set"),
        ("clusters: x", "clusters: expected a list"),
        ("users: [{user: {}}]", r"users\[\]: expected an object with a name"),
        ("users: [{name: u, user: 1}]", r"users\[\].user: expected an object"),
    ],
)
def test_a_file_of_another_form_is_refused_by_the_field(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(ConnectionSettingsError, match=message):
        Credentials(ConnectionOptions(tmp_path / "config"))


@pytest.mark.parametrize(
    ("user", "cluster", "message"),
    [
        ({"token": "a", "username": "b", "password": "c"}, {}, "more than one authentication"),
        (
            {},
            {"insecure-skip-tls-verify": True, "certificate-authority": "config"},
            "insecure flag",
        ),
        ({"client-certificate": "missing", "client-key": "config"}, {}, "no such file"),
        ({"client-certificate": "config"}, {}, "client-key must be specified for u to use"),
        ({"as-groups": ["b"]}, {}, "for u without impersonating a user"),
        ({"auth-provider": {"name": "gcp"}}, {}, "gcp auth plugin has been removed"),
        ({"auth-provider": {"name": "x"}}, {}, 'no Auth Provider found for name "x"'),
        ({"auth-provider": {"name": "oidc", "config": [1]}}, {}, "config: expected an object"),
        ({}, {"server": "https://me:pass@host"}, "user and password are not read from a URL"),
        ({}, {"certificate-authority": "/dev/zero"}, "a device, not a regular file"),
    ],
)
def test_what_kubectl_refuses_is_refused(
    tmp_path: Path, user: Json, cluster: Json, message: str
) -> None:
    with pytest.raises(ConnectionSettingsError, match=message):
        Credentials(ConnectionOptions(simple(tmp_path, user, **cluster)))


@pytest.mark.parametrize("server", ["http://10.0.0.1:8080", "http://localhost:8001", "127.0.0.1:1"])
async def test_without_tls_no_credentials_are_even_read(tmp_path: Path, server: str) -> None:
    for user in ({"token": "secret"}, {"tokenFile": "/nowhere"}, exec_plugin(tmp_path, "no json")):
        assert (
            await Credentials(
                ConnectionOptions(simple(tmp_path, user, server=server))
            ).authorization()
            is None
        )
    assert not (tmp_path / "info").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "users: [{name: u, user: {token: secret}}, {name: u}]",
            'api.AuthInfo: duplicate name "u"',
        ),
        ("kind: Pod", 'no kind "Pod" is registered for version "v1"'),
        ("apiVersion: v2", 'no kind "Config" is registered for version "v2"'),
    ],
)
def test_what_kubectl_cannot_load_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(ConnectionSettingsError) as caught:
        Credentials(ConnectionOptions(tmp_path / "config"))
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def token_of(exp: float) -> str:
    """Return an ID token that expires at a time."""
    parts = (json.dumps(one).encode() for one in ({"alg": "none"}, {"exp": exp}))
    return ".".join([*(base64.urlsafe_b64encode(one).decode().rstrip("=") for one in parts), ""])


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (token_of(4e9), "Bearer "),
        (token_of(1e9), "cannot refresh without refresh-token"),
        ("x", "not a valid JWT"),
    ],
)
async def test_an_id_token_of_oidc_is_sent_until_it_expires(
    tmp_path: Path, token: str, expected: str
) -> None:
    settings = {"idp-issuer-url": "https://i", "client-id": "c", "id-token": token}
    user = {"auth-provider": {"name": "oidc", "config": settings}}
    credentials = Credentials(ConnectionOptions(simple(tmp_path, user)))
    if expected == "Bearer ":
        assert await credentials.authorization() == f"Bearer {token}"
    else:
        with pytest.raises(CredentialsUnavailableError, match=expected):
            await credentials.authorization()


def test_the_namespace_is_that_of_the_context(tmp_path: Path) -> None:
    path = simple(tmp_path)
    assert namespace(ConnectionOptions(path)) == "ml"
    with pytest.raises(ConnectionSettingsError, match='context "nope" does not exist'):
        namespace(ConnectionOptions(path, "nope"))


def exec_plugin(folder: Path, answer: Json | str, **more: Any) -> Json:
    """Make an exec plugin that notes how it was called and prints an answer."""
    script = folder / "plugin.py"
    text = answer if isinstance(answer, str) else json.dumps(answer)
    script.write_text(
        "import os, sys\n"
        f"open({str(folder / 'info')!r}, 'w').write(os.environ['KUBERNETES_EXEC_INFO'])\n"
        f"open({str(folder / 'env')!r}, 'w').write(os.environ.get('REGION', ''))\n"
        f"print({text!r})\n"
    )
    return {
        "exec": {
            "apiVersion": V1,
            "command": sys.executable,
            "args": [str(script)],
            "interactiveMode": "Never",
            **more,
        }
    }


def issued(**status: Any) -> Json:
    return {"apiVersion": V1, "kind": "ExecCredential", "status": status}


async def test_an_exec_plugin_is_told_about_the_cluster_where_it_asks(tmp_path: Path) -> None:
    user = exec_plugin(
        tmp_path,
        issued(token="t"),
        provideClusterInfo=True,
        env=[{"name": "REGION", "value": "eu"}],
    )
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    data = base64.b64encode(b"PEM").decode()
    path = simple(tmp_path, user, extensions=[extension], **{"certificate-authority-data": data})
    assert await Credentials(ConnectionOptions(path)).authorization() == "Bearer t"
    info = json.loads((tmp_path / "info").read_text())
    assert info["apiVersion"] == V1
    assert info["spec"] == {
        "interactive": False,
        "cluster": {
            "server": "https://127.0.0.1:1",
            "certificate-authority-data": data,
            "config": {"audience": "x"},
        },
    }
    assert (tmp_path / "env").read_text() == "eu"


@pytest.mark.parametrize(
    ("answer", "more", "message"),
    [
        ("no json", {}, "did not print an ExecCredential"),
        ("[" * 100_000, {}, "did not print an ExecCredential"),
        (issued(token="t"), {"env": [{"name": "A=B", "value": "c"}]}, "illegal environment"),
        (issued(token="t"), {"command": "no\0program"}, "null byte"),
        (issued(), {}, "neither token nor clientCertificateData"),
        (issued(clientCertificateData="x"), {}, "without its key"),
        ({**issued(token="t"), "apiVersion": "v2"}, {}, "the kubeconfig says"),
        (issued(token="t"), {"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "apiVersion"),
        (issued(token="t"), {"interactiveMode": "Always"}, "no terminal"),
        (issued(token="t"), {"command": "no-such-plugin", "installHint": "see X"}, "; see X"),
        (issued(token="t"), {"args": ["-c", "raise SystemExit(3)"]}, "exit code 3"),
        (issued(token="t"), {"args": ["-c", "while True: print(' ' * 9999)"]}, "more than 1 MiB"),
    ],
)
async def test_an_exec_plugin_that_fails_is_said_and_no_request_goes_out_unnamed(
    tmp_path: Path, answer: Json | str, more: Json, message: str
) -> None:
    path = simple(tmp_path, exec_plugin(tmp_path, answer, **more))
    credentials = Credentials(ConnectionOptions(path))
    with pytest.raises(CredentialsUnavailableError, match=message):
        await credentials.authorization()


def test_reading_a_kubeconfig_needs_no_client_library(tmp_path: Path) -> None:
    path = str(simple(tmp_path))
    code = (
        "import sys; from pathlib import Path; from dragoman.kube.client import Client;"
        "from dragoman.kube.connectionoptions import ConnectionOptions;"
        "from dragoman.kube.kubeconfig import Credentials;"
        f"Credentials(ConnectionOptions(Path({path!r})));"
        "print([one for one in ('kubernetes', 'structlog', 'prometheus_client', 'aiohttp') "
        "if one in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_a_server_whose_scheme_is_in_capitals_is_asked_with_tls(tmp_path: Path) -> None:
    path = simple(tmp_path, {"token": "secret"}, server="HTTPS://192.0.2.1")
    assert isinstance(Credentials(ConnectionOptions(path)).ssl_context(), ssl.SSLContext)


@pytest.mark.parametrize(
    ("user", "cluster", "place"),
    [
        ({"token": 12345}, {}, "users[].user.token"),
        ({"exec": "plugin"}, {}, "users[].user.exec"),
        ({"exec": {"args": "login"}}, {}, "users[].user.exec.args"),
        ({"exec": {"env": [{"key": "A"}]}}, {}, "users[].user.exec.env[]"),
        ({}, {"extensions": ["x"]}, "clusters[].cluster.extensions"),
        ({}, {"insecure-skip-tls-verify": "no"}, "clusters[].cluster.insecure-skip-tls-verify"),
        ({}, {"server": "ftp://host"}, "clusters[].cluster.server"),
        ({}, {"server": "https://"}, "clusters[].cluster.server"),
    ],
)
def test_a_field_of_another_form_is_named_and_its_value_is_not(
    tmp_path: Path, user: Json, cluster: Json, place: str
) -> None:
    with pytest.raises(ConnectionSettingsError) as caught:
        Credentials(ConnectionOptions(simple(tmp_path, user, **cluster)))
    assert place in str(caught.value)
    assert "12345" not in str(caught.value)


@pytest.mark.parametrize("data", ["!!", "/////w==", "aGVsbG8="])
def test_what_is_no_certificate_is_said_by_its_field(tmp_path: Path, data: str) -> None:
    cluster: Json = {"certificate-authority-data": data}
    credentials = Credentials(ConnectionOptions(simple(tmp_path, None, **cluster)))
    with pytest.raises(OSError, match="certificate-authority of the kubeconfig"):
        credentials.ssl_context()


def test_base64_may_have_line_ends_as_in_go() -> None:
    assert content({"client-key-data": "aGVs\r\nbG8=\n"}, "client-key") == b"hello"


async def test_a_plugin_is_not_run_beside_a_certificate(tmp_path: Path) -> None:
    plugin = {"command": "./no-such-plugin", "apiVersion": V1, "interactiveMode": "Never"}
    user = {"client-certificate-data": "aGVsbG8=", "client-key-data": "aGVsbG8=", "exec": plugin}
    assert await Credentials(ConnectionOptions(simple(tmp_path, user))).authorization() is None


def test_inside_a_pod_a_kubeconfig_goes_before_the_service_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("of the pod")
    token.with_name("ca.crt").touch()
    monkeypatch.setattr(kubeconfig, "SERVICE_ACCOUNT_TOKEN", token)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "192.0.2.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    assert Credentials().server == "https://192.0.2.1:443"
    (tmp_path / ".kube").mkdir()
    simple(tmp_path / ".kube", server="https://192.0.2.2")
    assert Credentials().server == "https://192.0.2.2"

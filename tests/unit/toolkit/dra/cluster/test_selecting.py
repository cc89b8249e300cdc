"""kubectl's options that change whom a command asks, and about which objects."""

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman_toolkit.dra.cluster.source import Source
from dragoman_webhooks.tls import authority, files
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import CLASS, device_class, pod, pool

Json = dict[str, Any]
GROUPS = {"groups": [{"name": "resource.k8s.io", "versions": [{"version": "v1"}]}]}
RESOURCES = {
    "resources": [
        {"name": name}
        for name in (
            *("deviceclasses", "resourceclaims", "resourceclaims/status"),
            *("resourceclaimtemplates", "resourceslices"),
        )
    ]
}
"""As of a real API server: DeviceClasses and templates have no status."""


ENDED = "status.phase!=Succeeded,status.phase!=Failed"
"""Which pods commands leave out themselves."""


def selectors(query: dict[str, list[str]]) -> list[str]:
    """Return the selectors of a query that a user has given."""
    found = [*query.get("labelSelector", ()), *query.get("fieldSelector", ())]
    return [one.removesuffix(ENDED).removesuffix(",") for one in found if one != ENDED]


class Server(ThreadingHTTPServer):
    """An API server that lists DeviceClasses and pods, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, list[str]], str]] = []
        labelled = pod("trainer", "ml")
        self.lists: dict[str, list[Json]] = {
            "/apis/resource.k8s.io/v1/deviceclasses": [device_class(), device_class("other")],
            "/api/v1/namespaces/ml/pods": [labelled, pod("render", "ml")],
        }
        ended = pod("batch", "ml")
        self.named: dict[str, Json] = {
            "/api/v1/namespaces/ml/pods/batch": {**ended, "status": {"phase": "Succeeded"}}
        }
        """Objects that lists leave out, by path."""
        self.codes: dict[str, int] = {}
        """Failures, by path."""

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers one request of a `Server`."""

    server: Server

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        query = parse_qs(address.query)
        self.server.asked.append((address.path, query, self.headers.get("Authorization") or ""))
        found = self.answer(address.path, query)
        body = json.dumps(found).encode()
        self.send_response(self.server.codes.get(address.path) or (200 if found else 404))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self, path: str, query: dict[str, list[str]]) -> Json:
        """Return what is at a path; of a selection the first object."""
        fixed: dict[str, Json] = {
            "/version": {"gitVersion": "v1.36.3"},
            "/apis": GROUPS,
            "/apis/resource.k8s.io/v1": RESOURCES,
        }
        if path in fixed:
            return fixed[path]
        if path.endswith("devicetaintrules") or "/pods/" in path:
            return self.server.named.get(path, {})
        items = self.server.lists.get(path, [])
        chosen = items[:1] if selectors(query) else items
        return {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": chosen}

    def log_message(self, *_: object) -> None:
        """Keep standard error for the command."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Server]:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    with Server() as made:
        Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def queries(server: Server, plural: str) -> list[list[str]]:
    """Return the selectors of the queries of a kind that have any."""
    found = (selectors(query) for path, query, _ in server.asked if path.endswith(f"/{plural}"))
    return [one for one in found if one]


def test_a_server_needs_no_kubeconfig_and_gets_no_token_without_tls(server: Server) -> None:
    result = invoke("--server", server.url, "--token", "secret", "top")
    assert result.exit_code == 0, result.output
    assert CLASS in result.stdout
    assert {header for _, _, header in server.asked} == {""}


def test_server_and_token_replace_those_of_the_kubeconfig(server: Server, tmp_path: Path) -> None:
    now, lifetime = datetime.now(UTC), timedelta(days=1)
    ca = authority.new_ca(now, lifetime)
    served = authority.issue(ca, frozenset(("127.0.0.1",)), now, lifetime)
    context = files.server_context()
    files.serve(context, served.certificate.pem, served.key)
    trusted = tmp_path / "ca.crt"
    trusted.write_bytes(ca.certificate.pem)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    file = tmp_path / "config"
    file.write_text(
        "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],"
        " clusters: [{name: k, cluster: {server: 'https://127.0.0.1:1',"
        f" certificate-authority: {trusted}}}}}],"
        " users: [{name: u, user: {tokenFile: /none}}]}"
    )
    place = server.url.replace("http", "https")
    result = invoke("top", "--kubeconfig", file, "-s", place, "--token=secret")
    assert result.exit_code == 0, result.output
    assert {header for _, _, header in server.asked} == {"Bearer secret"}


def test_a_token_is_shown_nowhere() -> None:
    assert "secret" not in repr(Source(connection=ConnectionOptions(token="secret")))


def test_labels_and_fields_are_the_api_servers(server: Server) -> None:
    result = invoke(
        *("top", "pods", "-n", "ml", "-l", "app in (a, b)", "--server", server.url),
        *("--field-selector", "spec.nodeName=n"),
    )
    assert result.exit_code == 0, result.output
    assert queries(server, "pods") == [["app in (a, b)", "spec.nodeName=n"]]
    assert {path for path, _, _ in server.asked if path.endswith("/pods")} >= {
        "/api/v1/namespaces/ml/pods"
    }


def test_classes_are_selected(server: Server) -> None:
    result = invoke("top", "-l", "team=ml", "--server", server.url, "--no-headers")
    assert [line.split()[0] for line in result.stdout.splitlines()] == [CLASS]


def test_each_pod_with_a_label_is_explained(server: Server) -> None:
    result = invoke("explain", "pods", "-l", "app=x", "-n", "ml", "--server", server.url)
    assert "trainer" in result.output
    assert "render" not in result.output
    assert queries(server, "pods") == [["app=x"]]
    ended = [query for path, query, _ in server.asked if path.endswith("/pods")]
    assert all(ENDED in query["fieldSelector"][0] for query in ended)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "pod", "trainer", "-l", "a=b"], "give a kind alone, as `pods -l app=x`"),
        (["explain", "templates", "-l", "a=b"], "no resourceclaimtemplates with these labels"),
        (["explain", "-l", "a=b", "-w"], "--watch follows one object"),
    ],
)
def test_a_selection_is_of_one_kind(server: Server, arguments: list[str], message: str) -> None:
    result = invoke(*arguments, "-n", "ml", "--server", server.url)
    assert result.exit_code == 2
    assert message in result.stderr


def test_holds_are_selected_by_labels(server: Server) -> None:
    result = invoke("holds", "-A", "-l", "team=ml", "--server", server.url)
    assert "with these labels and fields keeps a device out of service" in result.stdout
    assert queries(server, "resourceclaims") == [["team=ml"]]


def test_a_pod_that_has_ended_is_named_so(server: Server) -> None:
    """Lists leave it out, but `kubectl get pods` shows it."""
    for name in ("batch", "ml/batch"):
        result = invoke("explain", name, "-n", "ml", "--server", server.url)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("Pod ml/batch has ended (Succeeded)")
    result = invoke("who", "pod/batch", "-n", "ml", "--server", server.url)
    assert "pod ml/batch has no devices" in result.stderr
    for words in (("preempt", "--dry-run"), ("defrag", "--for")):
        result = invoke(*words, "batch", "-n", "ml", "--server", server.url)
        assert "pod ml/batch has ended (Succeeded)" in result.stderr, result.output
    for command in (("explain", "batchh"), ("who", "pod/batchh")):
        result = invoke(*command, "-n", "ml", "--server", server.url)
        assert result.exit_code == 2
        assert "pod ml/batchh not found" in result.stderr
        assert "has ended" not in result.stderr


def test_a_failure_to_read_a_pod_is_not_taken_for_its_absence(server: Server) -> None:
    path = "/api/v1/namespaces/ml/pods/batch"
    for code, said in ((403, "pod ml/batch not found"), (400, "400")):
        server.codes[path] = code
        result = invoke("explain", "batch", "-n", "ml", "--server", server.url)
        assert result.exit_code == 2
        assert said in result.stderr


def test_a_name_alone_is_one_of_any_namespace_with_all_of_them(server: Server) -> None:
    """No namespace is named, so none is taken from the context."""
    server.lists["/api/v1/pods"] = [*server.named.values()]
    for command, said in (
        (("explain", "batch"), "Pod ml/batch has ended (Succeeded)"),
        (("who", "pod/batch"), "pod ml/batch has no devices"),
    ):
        server.asked.clear()
        result = invoke(*command, "-A", "--server", server.url)
        assert said in result.output + result.stderr
        assert not any("/namespaces/default/pods" in path for path, _, _ in server.asked)


def test_a_control_plane_without_pods_has_flags_that_nobody_knows(server: Server) -> None:
    arguments = ("--only", "GateRemoved", "--target", "1.38", "-n", "ml", "-o", "json")
    result = invoke("doctor", *arguments, "--server", server.url)
    said = "flags of the control plane: no pod shows them"
    assert json.loads(result.stdout)["partial"] == {"GateRemoved": [said]}
    assert result.exit_code == 2


def test_that_there_is_nothing_says_where_it_was_looked_for(server: Server) -> None:
    def said(*words: str) -> str:
        return invoke(*words, "--server", server.url).stdout.strip()

    assert said("top", "pods", "-n", "ml") == (
        "No pod in namespace ml has devices or waits for them."
    )
    assert "with these labels and fields in namespace ml" in said(
        "top", "pods", "-n", "ml", "-l", "a=b"
    )
    assert said("top", "namespaces", "-n", "ml") == "No claims found in namespace ml."
    server.lists["/apis/resource.k8s.io/v1/deviceclasses"] = []
    assert said("top", "-l", "a=b") == "No DeviceClass found with these labels and fields."
    assert "found on nodes with these labels" in said("top", "nodes", "-l", "a=b")


@pytest.mark.parametrize("option", [("--as-uid", "5"), ("--as-group", "ops")])
def test_who_acts_for_a_group_acts_for_a_user(server: Server, option: tuple[str, str]) -> None:
    result = invoke("top", "--server", server.url, *option)
    assert result.exit_code == 2
    assert result.stderr == "Error: --as-group and --as-uid need --as USER\n"


@pytest.mark.parametrize("option", ["-l", "--field-selector"])
@pytest.mark.parametrize("command", [("top",), ("holds",), ("explain", "pods")])
def test_a_snapshot_has_no_labels(tmp_path: Path, command: tuple[str, ...], option: str) -> None:
    desk = Desk(tmp_path, device_class())
    result = invoke(*command, option, "a=b", "--snapshot", desk.file)
    assert result.exit_code == 2
    assert f"{option}: a snapshot has no labels" in result.stderr


def test_a_node_is_a_target(tmp_path: Path) -> None:
    desk = Desk(tmp_path, device_class(), pool("n1", ["a"]), pool("n2", ["a", "b"]))
    said = desk.run("drain", "--node", "n2", "--dry-run")
    assert "2 devices, used by no claim" in said
    for name in ("node/n2", "nodes/n2", "no/n2"):
        assert desk.run("drain", name, "--dry-run") == said
    result = invoke("hold", "node/n1", "--node", "n2", "--dry-run", "--snapshot", desk.file)
    assert result.exit_code == 2
    assert "node/n1 and --node n2 are different nodes" in result.stderr


@pytest.mark.parametrize("command", [("explain", "pod", "x"), ("top",), ("doctor",)])
def test_ctrl_c_is_no_answer(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: tuple[str, ...]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Source, "read", interrupted)
    assert invoke(*command, "--snapshot", Desk(tmp_path).file).exit_code == 130


def test_pods_that_wait_are_counted_before_what_is_out_of_service(tmp_path: Path) -> None:
    desk = Desk(tmp_path, device_class(), pool("n", ["a"]))
    header = desk.run("top").splitlines()[0].split()
    assert header.index("PENDING") == header.index("USED") + 1
    assert header.index("PENDING") < header.index("HELD")


LOADED = """\
import sys
from click.testing import CliRunner
from dragoman.cli import cli
for words in (["top"], ["who", "pod/trainer"], ["explain", "trainer"], ["doctor"]):
    found = CliRunner().invoke(cli, [*words, "-n", "ml", "--server", sys.argv[1]])
    assert found.exit_code in (0, 1, 2) and found.stdout + found.stderr, words
print(*sys.modules)
"""


def test_live_commands_load_what_they_need(server: Server) -> None:
    """Each of these costs a tenth of a second of CPU time or more."""
    command = [sys.executable, "-c", LOADED, server.url]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "dragoman.kube.client" in loaded
    heavy = {"aiohttp", "celpy", "jsonschema", "kopf", "kubernetes", "prometheus_client", "rich"}
    assert heavy.isdisjoint(loaded)
